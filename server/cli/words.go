package cli

import (
	"fmt"
	"strings"

	"coffer/server/api"
)

// when is an instant in the time of this machine, to the minute.
func when(t api.Time) string { return t.Local().Format("2006-01-02 15:04") }

func whenOr(t *api.Time, none string) string {
	if t == nil {
		return none
	}
	return when(*t)
}

func whoIs(p *api.Person) string {
	if p == nil {
		return "-"
	}
	return p.Username
}

func whoDid(a *api.Actor) string {
	if a == nil {
		return "-"
	}
	return a.Username
}

// capital makes the first letter of an ASCII word a capital.
func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// counted is a number of things whose name takes an s.
func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
