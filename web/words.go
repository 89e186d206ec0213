package web

import (
	"fmt"
	"time"
)

// day is an instant as people read it.
func day(t time.Time) string { return t.UTC().Format("2 January 2006, 15:04 UTC") }

// date is a day as people read it.
func date(t time.Time) string { return t.UTC().Format("2 January 2006") }

// moment is an instant of today as people compare it with a clock.
func moment(t time.Time) string { return t.UTC().Format("15:04:05 UTC") }

// iso is an instant as programs read it.
func iso(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// ago is how long before now something was, to the minute.
func ago(now, then time.Time) string {
	switch minutes := int(now.Sub(then).Minutes()); {
	case minutes < 1:
		return "less than a minute ago"
	case minutes == 1:
		return "a minute ago"
	default:
		return fmt.Sprintf("%d minutes ago", minutes)
	}
}

// since is about how long before now something was.
func since(now, then time.Time) string {
	switch passed := now.Sub(then); {
	case passed < time.Minute:
		return "just now"
	case passed < time.Hour:
		return ago(now, then)
	case passed < 2*time.Hour:
		return "an hour ago"
	case passed < 24*time.Hour:
		return fmt.Sprintf("%d hours ago", int(passed.Hours()))
	case passed < 48*time.Hour:
		return "yesterday"
	case passed < 60*24*time.Hour:
		return fmt.Sprintf("%d days ago", int(passed.Hours()/24))
	default:
		return "on " + then.UTC().Format("2 January 2006")
	}
}

// count is a number of things: "1 secret", "2 secrets".
func count(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}
