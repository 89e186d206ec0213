package web

import "time"

// Health is what the server found when it examined itself.
type Health struct {
	Frame
	Tabs               []Place
	At                 time.Time
	Full               bool // others were asked, too
	Problems, Warnings int
	Findings           []HealthFinding // worst first
}

// HealthFinding is one thing that was examined.
type HealthFinding struct {
	Area, Level, Text string
	Next              string // what to do, or ""
}

func (Health) file() string { return "health.html" }

// Title is the page's title.
func (Health) Title() string { return "Health" }
