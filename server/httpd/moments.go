package httpd

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"coffer/server/api"
)

// moment is when in its past an environment is asked about: a revision, an instant,
// or neither, which is now.
type moment struct {
	revision *int
	at       time.Time
}

// momentRule says how a moment is written, in a complaint about one that is not.
const momentRule = "A revision like 41, or a time like 2026-11-20 09:15, which is taken as UTC."

// momentLayouts are the ways to write a time, that of our own pages among them.
var momentLayouts = []string{
	"2006-01-02 15:04", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02T15:04:05", time.DateOnly,
	time.RFC3339, "2 January 2006, 15:04 UTC",
}

var revisionNumber = regexp.MustCompile(`^\d{1,15}$`)

// readMoment reads what a field of an address or a form says.
func readMoment(field, text string) (m moment, err error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return m, nil
	}
	if revisionNumber.MatchString(text) {
		n, err := strconv.Atoi(text)
		m.revision = &n
		return m, err
	}
	for _, layout := range momentLayouts {
		if m.at, err = time.Parse(layout, text); err == nil {
			return m, nil
		}
	}
	return m, api.InvalidField(field, api.InvalidFormat, momentRule)
}
