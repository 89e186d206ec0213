package web

import "time"

// Compare shows by key how two states of a vault's environments differ. It holds no
// value.
type Compare struct {
	Frame
	Environments []string
	Form         Form // left and right, at and rightAt
	Compared     bool // there is something to show
	Left, Right  ComparedSide
	Swap         string // path of the same with its sides swapped

	OnlyLeft, OnlyRight, Different, Same []string
}

// ComparedSide is one side of a comparison.
type ComparedSide struct {
	Name       string    // in words
	At         time.Time // that was asked for, or zero
	Incomplete bool      // some of it is gone for good
}

func (Compare) file() string { return "compare.html" }

// Title is the page's title.
func (c Compare) Title() string { return "Compare · " + c.Inside.Name }

// Alike says that both sides hold the same.
func (c Compare) Alike() bool { return len(c.OnlyLeft)+len(c.OnlyRight)+len(c.Different) == 0 }

// Groups are the keys of a comparison, what differs first.
func (c Compare) Groups() []KeyGroup {
	return []KeyGroup{
		{"Different values", "different", c.Different},
		{"Only in " + c.Left.Name, "leftonly", c.OnlyLeft},
		{"Only in " + c.Right.Name, "rightonly", c.OnlyRight},
		{"The same", "same", c.Same},
	}
}

// KeyGroup is keys that have something in common.
type KeyGroup struct {
	Name string
	ID   string // of its heading
	Keys []string
}
