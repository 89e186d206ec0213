package cli

import (
	"maps"
	"slices"

	"coffer/server/dotenv"
)

// sides are the three states of an environment that meet in a push: what file
// and vault last agreed on, what the vault holds now, and what the file holds.
type sides struct {
	agreed       marks
	theirs, mine map[string]string
	mark         func(key, value string) string
	prune        bool // a key that the file does not name is meant to go
}

// meeting is how the sides go together.
type meeting struct {
	values    map[string]string // what is pushed, conflicts left out
	kept      []string          // only the vault changed: the file is behind
	conflicts []conflict
}

// conflict is a key that changed on both sides, and not to the same.
type conflict struct {
	Key    string     `json:"key"`
	Theirs string     `json:"theirs"` // changed, added, removed
	Mine   string     `json:"mine"`   // changed, added, removed, absent
	Values *sideValue `json:"values,omitempty"`
}

// What became of a key since both sides agreed.
const (
	unchanged  = "unchanged"
	changed    = "changed"
	addedKey   = "added"
	removedKey = "removed"
	absent     = "absent"
)

func (s sides) state(values map[string]string, key string) string {
	value, there := values[key]
	old, was := s.agreed[key]
	switch {
	case !there && !was:
		return absent
	case !there:
		return removedKey
	case !was:
		return addedKey
	case old != s.mark(key, value):
		return changed
	}
	return unchanged
}

// meet joins the sides. Where only one of them changed, that change counts.
func (s sides) meet() *meeting {
	m := &meeting{values: map[string]string{}}
	all := maps.Clone(s.theirs)
	maps.Copy(all, s.mine)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		their, there := s.theirs[key]
		mine, here := s.mine[key]
		theirState, myState := s.state(s.theirs, key), s.state(s.mine, key)
		switch {
		case there && here && their == mine:
			m.values[key] = mine
		case !here && !s.prune:
			// A merge leaves it alone.
		case theirState == unchanged || theirState == absent:
			if here {
				m.values[key] = mine
			}
		case here && myState == unchanged:
			m.kept = append(m.kept, key)
			if there && s.prune {
				m.values[key] = their
			}
		default:
			m.conflicts = append(m.conflicts, conflict{Key: key, Theirs: theirState, Mine: myState})
		}
	}
	return m
}

// take settles the conflicts: by the file, or by what the vault holds.
func (s sides) take(m *meeting, mine bool) {
	for _, c := range m.conflicts {
		value, there := s.mine[c.Key]
		if !mine {
			m.kept = append(m.kept, c.Key)
			value, there = s.theirs[c.Key]
			there = there && s.prune
		}
		if there {
			m.values[c.Key] = value
		}
	}
	slices.Sort(m.kept)
	m.conflicts = nil
}

// after is what both sides agree on once values were pushed.
func (s sides) after(m *meeting, agreed marks) marks {
	next := maps.Clone(agreed)
	if next == nil {
		next = marks{}
	}
	for key := range s.theirs {
		if _, stays := m.values[key]; s.prune && !stays {
			delete(next, key)
		}
	}
	for key, mine := range s.mine {
		if value, pushed := m.values[key]; !pushed || value != mine {
			continue
		}
		if held, there := s.theirs[key]; there && dotenv.SameAfterRoundTrip(held, mine) {
			mine = held // the server takes one for the other
		}
		next[key] = s.mark(key, mine)
	}
	return next
}
