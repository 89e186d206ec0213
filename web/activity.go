package web

import (
	"strings"
	"time"
)

// Activity lists what was done: by whoever is signed in, or in a vault.
type Activity struct {
	Frame
	Filter *ActivityFilter // of a vault's, or nil
	Chart  Chart
	Deeds  []Deed
	Pager  Pager
	Export string // path of the whole list as a file, or ""
	Now    time.Time
}

// ActivityFilter says which part of a vault's activity is shown.
type ActivityFilter struct {
	At                         string // path of the list
	Action, Environment, Actor string // what is let through, or ""
	Actions, Environments      []string
}

// On reports whether only a part is shown.
func (f ActivityFilter) On() bool { return f.Action+f.Environment+f.Actor != "" }

// Words are an action's name as words.
func (ActivityFilter) Words(action string) string { return strings.ReplaceAll(action, "_", " ") }

// Deed is one record of what was done.
type Deed struct {
	Action string
	Meta   map[string]any
	When   time.Time
	Who    string // "" is the server itself
	Vault  string // repository's name, or ""
	At     string // path of the vault, or "" when it is gone
	Means  string // what kind of program did it
	With   string // what the program calls itself, or ""
	From   string // address, or ""
	Key    bool   // an API key did it
}

// Chart is how much was read and written by day.
type Chart struct {
	Days []ChartDay // without gaps
	Cut  bool       // there was too much to count: early days are too low
}

// ChartDay is a day.
type ChartDay struct {
	Day           time.Time
	Reads, Writes int
}

// Bar is how a day is drawn: reads upwards from the middle line, writes downwards.
type Bar struct {
	ChartDay
	X, Up, Down int
	Top         int // where the bar of reads begins
}

// Measures of the drawing, which the page stretches to its width.
const (
	barStep = 20
	barHalf = 100 // height of each half
)

// Width and height of the drawing, and the middle line.
func (c Chart) Width() int { return len(c.Days) * barStep }

// Height is of the whole drawing.
func (Chart) Height() int { return 2 * barHalf }

// Middle is where the line between reads and writes is.
func (Chart) Middle() int { return barHalf }

// Bars are the days as they are drawn, both halves to one scale.
func (c Chart) Bars() []Bar {
	most := 1
	for _, d := range c.Days {
		most = max(most, d.Reads, d.Writes)
	}
	length := func(n int) int {
		if n == 0 {
			return 0
		}
		return max(3, n*barHalf/most) // even one of very many is to be seen
	}
	bars := make([]Bar, len(c.Days))
	for i, d := range c.Days {
		up := length(d.Reads)
		bars[i] = Bar{ChartDay: d, X: i * barStep, Up: up, Down: length(d.Writes), Top: barHalf - up}
	}
	return bars
}

// Sum is all days together.
func (c Chart) Sum() (sum ChartDay) {
	for _, d := range c.Days {
		sum.Reads += d.Reads
		sum.Writes += d.Writes
	}
	return sum
}

// Shows reports whether there is anything to draw.
func (c Chart) Shows() bool { return c.Cut || c.Sum() != ChartDay{} }

// First and last day.
func (c Chart) First() time.Time { return c.Days[0].Day }

// Last is the last day.
func (c Chart) Last() time.Time { return c.Days[len(c.Days)-1].Day }

func (Activity) file() string { return "activity.html" }

// Title is the page's title.
func (a Activity) Title() string {
	if a.Inside != nil {
		return "Activity · " + a.Inside.Name
	}
	return "Activity"
}
