package warden

import (
	"fmt"
	"time"

	"coffer/server/depot"
)

// Keep says which backups stay: the newest ones, and of as many days and weeks
// before now as are named the newest of each. Days and weeks in which no backup
// was made do not count, so a clock that jumps a year ahead makes nothing old.
type Keep struct{ Newest, Days, Weeks int }

// surplus are the backups that may go. What is named in precious stays, and so does
// what seems to come from the future: a clock was wrong, and it is not known when.
// That counts for nothing either, or the backups of today would go in its place.
func (k Keep) surplus(all []depot.Object, now time.Time, precious ...string) []depot.Object {
	days, weeks := map[string]bool{}, map[string]bool{}
	stays := map[string]bool{}
	for _, name := range precious {
		stays[name] = true
	}
	newest := 0
	var gone []depot.Object
	for i := len(all) - 1; i >= 0; i-- { // the newest first
		at := all[i].Name.At.UTC()
		if at.After(now) {
			continue
		}
		year, week := at.ISOWeek()
		keep := stays[all[i].Name.String()]
		if newest < k.Newest {
			newest, keep = newest+1, true
		}
		keep = first(days, at.Format(time.DateOnly), k.Days) || keep
		keep = first(weeks, fmt.Sprint(year, week), k.Weeks) || keep
		if !keep {
			gone = append(gone, all[i])
		}
	}
	return gone
}

// first notes a period, and reports whether it is one of the first most and was not
// noted before.
func first(seen map[string]bool, period string, most int) bool {
	if seen[period] || len(seen) >= most {
		return false
	}
	seen[period] = true
	return true
}
