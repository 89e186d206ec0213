package warden

import (
	"errors"
	"fmt"

	"coffer/server/api"
	"coffer/server/dotenv"
)

// EnvFile is what a .env file holds: what can be stored, and what is wrong with
// the rest.
type EnvFile struct {
	Entries  []EnvEntry // in the order of the file, each key once
	Problems []EnvProblem

	Unread  bool // it cannot be read, so there are no entries
	LeftOut int  // lines that cannot be stored
}

// EnvEntry is a line that can be stored.
type EnvEntry struct {
	Key   string
	Line  int
	Value api.Secret

	read dotenv.Entry
}

// EnvProblem says what is wrong with a line. It holds no piece of the file: any
// piece may be a secret.
type EnvProblem struct {
	Line int
	Text string
}

// Values are the entries, ready for a push.
func (f *EnvFile) Values() map[string]api.Secret {
	all := make(map[string]api.Secret, len(f.Entries))
	for _, e := range f.Entries {
		all[e.Key] = e.Value
	}
	return all
}

// ReadEnvFile reads a .env file for somebody who wants to see what is in it before
// it is stored.
func ReadEnvFile(text api.Secret) *EnvFile {
	f := &EnvFile{}
	entries, err := dotenv.Parse([]byte(text.Reveal()))
	if wrong, ok := errors.AsType[*dotenv.SyntaxError](err); ok {
		f.Unread = true
		f.complain(wrong.Line, "The file cannot be read from here on, at character %d: %s.", wrong.Column, wrong.Advice)
		return f
	}
	last := make(map[string]int, len(entries))
	for i, e := range entries {
		last[e.Key] = i
	}
	for i, e := range entries {
		switch {
		case !api.ValidKey(e.Key):
			f.LeftOut++
			f.complain(e.Line, "It is left out. %s", api.KeyRule)
		case last[e.Key] != i:
			f.complain(e.Line, "%s is set again in line %d, and the later one counts.", e.Key, entries[last[e.Key]].Line)
		case len(e.Value) > api.MaxValueLarge:
			f.LeftOut++
			f.complain(e.Line, "It is left out: a value has at most %d bytes.", api.MaxValueLarge)
		default:
			f.Entries = append(f.Entries, EnvEntry{e.Key, e.Line, api.NewSecret(e.Value), e})
		}
	}
	return f
}

func (f *EnvFile) complain(line int, format string, args ...any) {
	f.Problems = append(f.Problems, EnvProblem{line, fmt.Sprintf(format, args...)})
}
