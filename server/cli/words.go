package cli

import (
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
