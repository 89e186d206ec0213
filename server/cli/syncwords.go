package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"coffer/server/api"
)

// syncWords tells in words what a sync would do, and what one did.
type syncWords struct {
	*api.SyncPreview
	here, there string // like "production of ann/app"
	display     string // what people call the provider
	pull        bool
}

func (b *bearing) words(p *api.SyncPreview) *syncWords {
	return &syncWords{
		SyncPreview: p, display: b.display, pull: b.pull,
		here:  p.KeywayEnvironment + " of " + b.repo,
		there: p.ProviderEnvironment + " of " + b.target() + " at " + b.display,
	}
}

// reason is why something happens to a key, by the contract's list.
func (w *syncWords) reason(code string) string {
	source, target := "the vault", w.display
	if w.pull {
		source, target = target, source
	}
	switch code {
	case "absent_at_target":
		return "not in " + target + " yet"
	case "absent_at_source":
		return "not in " + source
	case "differs":
		return "the values differ"
	case "unchanged":
		return "the values are the same"
	case "unchanged_unreadable":
		return "unchanged since the last sync"
	case "unreadable_changed":
		return w.display + " shows no value, and the one there may be another"
	case "unreadable":
		return w.unreadable()
	case "invalid_key":
		return target + " takes no such name"
	case "reserved_key":
		return w.display + " keeps such names for itself"
	case "too_large":
		return "too large for " + target
	case "not_owned":
		return "not set by a user at " + w.display
	case "delete_not_allowed":
		return "only in " + target + "; --delete would remove it"
	}
	return strings.ReplaceAll(code, "_", " ") // of a newer server
}

func (w *syncWords) unreadable() string {
	if w.pull {
		return w.display + " does not show its value, or it refers to others"
	}
	return "refers to other values at " + w.display + "; --references would send it"
}

// marks begin the lines of keys that something happens to.
var syncMarks = map[string]string{"create": "+ ", "update": "~ ", "delete": "- "}

// rows are what happens to each key, and why. What is the same on both sides is
// only counted: it would hide the rest.
func (w *syncWords) rows() [][]string {
	var rows [][]string
	for _, key := range slices.Sorted(maps.Keys(w.Details)) {
		if d := w.Details[key]; !same(d) {
			rows = append(rows, []string{first(syncMarks[d.Action], "= ") + key, d.Action, w.reason(d.Reason)})
		}
	}
	return rows
}

// same reports whether nothing happens to a key because both sides agree.
func same(d api.SyncDetail) bool {
	return d.Reason == "unchanged" || d.Reason == "unchanged_unreadable"
}

// changes counts what would be written and deleted.
func (w *syncWords) changes() int { return len(w.ToCreate) + len(w.ToUpdate) + len(w.ToDelete) }

// introduce says what is synced with what.
func (w *syncWords) introduce(out *console) {
	from, to := w.here, w.there
	if w.pull {
		from, to = to, from
	}
	out.note("From %s to %s:", from, to)
}

// conclude says what the table does not.
func (w *syncWords) conclude(out *console) {
	agreeing := 0
	for _, d := range w.Details {
		if same(d) {
			agreeing++
		}
	}
	if agreeing > 0 {
		out.note("The same on both sides: %s.", counted(agreeing, "key"))
	}
	for _, warning := range w.Warnings {
		out.note("%s", warning.Message)
	}
	if w.changes() == 0 {
		out.note("There is nothing to sync.")
	}
}

// review shows what would happen, and asks whether it should.
func (w *syncWords) review(ctx context.Context, out *console) error {
	w.introduce(out)
	out.noteTable(w.rows())
	w.conclude(out)
	if w.changes() == 0 {
		return nil
	}
	return out.confirm(ctx, "%s. Go ahead?", capital(w.plan()))
}

// plan is what would happen, like "create 2 and delete 1 at Vercel".
func (w *syncWords) plan() string {
	var parts []string
	for _, p := range []struct {
		verb string
		keys []string
	}{{"create", w.ToCreate}, {"update", w.ToUpdate}, {"delete", w.ToDelete}} {
		if len(p.keys) > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", p.verb, len(p.keys)))
		}
	}
	place := "at " + w.display
	if w.pull {
		place = "in " + w.here
	}
	return enumerate(parts) + " " + place
}

// enumerate joins words like "a, b and c".
func enumerate(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " and " + words[last]
}
