package web

import (
	"strings"
	"time"
)

// Account is about whoever is signed in.
type Account struct {
	Frame
	Forge    string // name of the code host, or "" for the built-in one
	Server   string // address for the command line
	Plan     string
	Usage    []Usage
	Limited  bool // there are limits to speak of
	Paid     bool // higher plans are paid for
	Sessions []Session
}

// Usage is how much there is of something that a plan limits.
type Usage struct {
	Name  string
	Used  int
	Limit string // a number or "unlimited"
}

// Session is one sign-in of whom an [Account] is of.
type Session struct {
	ID                 string
	Where, With        string // address and program, "" when not known
	Created, Used, End time.Time
	Current            bool
}

// Name is what a session is called. What browsers say of themselves is too long
// for that, and more or less the same in all of them.
func (s Session) Name() string {
	switch {
	case s.Current:
		return "This browser"
	case s.With == "":
		return "Another program"
	case strings.HasPrefix(s.With, "Mozilla/"):
		return "Another browser"
	}
	return s.With
}

func (Account) file() string { return "account.html" }

// Title is the page's title.
func (Account) Title() string { return "Account" }
