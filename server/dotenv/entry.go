package dotenv

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
)

// Entry is one variable of a file. It prints as its key and line only.
type Entry struct {
	Key   string
	Value string
	Line  int // of the key, from 1
	// Text is what stood after "=" on the key's own line, quotes and comment
	// included, blanks around it not.
	Text string
	// Ambiguous reports that Text has a second honest reading: one with all
	// escapes that dotenv libraries know, one as Encode writes it.
	Ambiguous bool
}

// Encodes reports whether the entry's text is exactly what Encode writes for
// the stored value. Where two values share one text, this is how a reader who
// knows the stored value recognises it.
func (e Entry) Encodes(stored string) bool { return e.Text == EncodeValue(stored) }

// String names the entry without its value.
func (e Entry) String() string { return fmt.Sprintf("%s (line %d)", e.Key, e.Line) }

// GoString names the entry without its value.
func (e Entry) GoString() string { return e.String() }

// LogValue names the entry without its value.
func (e Entry) LogValue() slog.Value { return slog.StringValue(e.String()) }

// MarshalJSON names the entry without its value.
func (e Entry) MarshalJSON() ([]byte, error) { return json.Marshal(e.String()) }

// Entries returns the values as entries sorted by key, ready for Write.
func Entries(values map[string]string) []Entry {
	entries := make([]Entry, 0, len(values))
	for _, key := range slices.Sorted(maps.Keys(values)) {
		entries = append(entries, Entry{Key: key, Value: values[key]})
	}
	return entries
}

// Values returns the entries as a map; of two with one key the later counts,
// as with every tool that reads such files.
func Values(entries []Entry) map[string]string {
	values := make(map[string]string, len(entries))
	for _, e := range entries {
		values[e.Key] = e.Value
	}
	return values
}

// Duplicate is a key that a file sets more than once.
type Duplicate struct {
	Key   string
	Lines []int // in file order; the last one counts
}

// Duplicates returns the keys that occur more than once, by first occurrence.
func Duplicates(entries []Entry) []Duplicate {
	lines := make(map[string][]int, len(entries))
	for _, e := range entries {
		lines[e.Key] = append(lines[e.Key], e.Line)
	}
	var found []Duplicate
	for _, e := range entries {
		if at := lines[e.Key]; len(at) > 1 {
			found = append(found, Duplicate{Key: e.Key, Lines: at})
			delete(lines, e.Key)
		}
	}
	return found
}
