package store

import (
	"errors"
	"slices"
	"sort"

	"coffer/store/kv"
)

// Revision is one change of an environment's active keys or values. Numbers of
// an environment's revisions have no gaps; their times never fall.
type Revision struct {
	Number uint64   `cbor:"1,keyasint"`
	At     Millis   `cbor:"2,keyasint"`
	By     ID       `cbor:"3,keyasint"`
	Keys   []string `cbor:"4,keyasint"` // names of what changed, sorted
}

var revisions = table[Revision]{tagRevision, "revision"}

// AddRevision counts a change of an environment and notes what it changed. The
// time becomes that of the revision before if that is later: a clock that jumps
// back must not make history fold.
func (tx Tx) AddRevision(e *Environment, rev Revision) error {
	if e.Revision > 0 {
		last, err := tx.Revision(*e, e.Revision)
		if err != nil && !isNotFound(err) {
			return err
		}
		rev.At = max(rev.At, last.At)
	}
	e.Revision++
	rev.Number = e.Revision
	slices.Sort(rev.Keys)
	rev.Keys = slices.Compact(rev.Keys)
	return revisions.put(tx.kv, rev, e.Vault, e.ID, rev.Number)
}

// Revision is one revision of an environment.
func (r Reader) Revision(e Environment, number uint64) (Revision, error) {
	return revisions.get(r.kv, e.Vault, e.ID, number)
}

// Revisions is a page of the revisions of an environment that are remembered, newest
// first, and how many there are.
func (r Reader) Revisions(e Environment, limit, offset int) ([]Revision, int, error) {
	first, err := firstNumber(r.kv, key(tagRevision, e.Vault, e.ID))
	if err != nil || first == 0 {
		return nil, 0, err
	}
	total := int(e.Revision - first + 1)
	if offset >= total || limit <= 0 {
		return nil, total, nil
	}
	last := e.Revision - uint64(offset)
	page := kv.Range{
		Start: key(tagRevision, e.Vault, e.ID, first), End: key(tagRevision, e.Vault, e.ID, last+1),
		Limit: limit, Reverse: true,
	}
	var all []Revision
	err = r.kv.Scan(page, func(_, b []byte) error {
		rev, err := revisions.decode(b)
		all = append(all, rev)
		return err
	})
	return all, total, err
}

// ChangedSince names the keys that changed after a revision, sorted. It is
// ErrNotFound when that history is gone.
func (r Reader) ChangedSince(e Environment, revision uint64) ([]string, error) {
	if revision >= e.Revision {
		return nil, nil
	}
	if _, err := r.Revision(e, revision+1); err != nil {
		return nil, err
	}
	span := kv.Prefix(key(tagRevision, e.Vault, e.ID))
	span.Start = key(tagRevision, e.Vault, e.ID, revision+1)
	var names []string
	err := r.kv.Scan(span, func(_, b []byte) error {
		rev, err := revisions.decode(b)
		names = append(names, rev.Keys...)
		return err
	})
	slices.Sort(names)
	return slices.Compact(names), err
}

// RevisionAt is the revision that was current at an instant. It is ErrNotFound
// when the history of that time is gone.
func (r Reader) RevisionAt(e Environment, at Millis) (uint64, error) {
	first, err := firstNumber(r.kv, key(tagRevision, e.Vault, e.ID))
	if err != nil || e.Revision == 0 {
		return 0, err
	}
	if first == 0 {
		return 0, ErrNotFound
	}
	// Numbers have no gaps and times never fall, so the first revision after the
	// instant can be searched for.
	after := sort.Search(int(e.Revision-first+1), func(i int) bool {
		rev, e := r.Revision(e, first+uint64(i))
		err = errors.Join(err, e)
		return rev.At > at
	})
	if err != nil {
		return 0, err
	}
	if after == 0 && first > 1 {
		return 0, ErrNotFound
	}
	return first + uint64(after) - 1, nil
}

// Span is a stretch of revisions: From and those after it, up to but without To.
type Span struct {
	From uint64 `cbor:"1,keyasint"`
	To   uint64 `cbor:"2,keyasint"`
}

// Holds reports whether the revision is in the span.
func (s Span) Holds(revision uint64) bool { return s.From <= revision && revision < s.To }

// addSpan adds a span to sorted spans that do not touch.
func addSpan(spans []Span, s Span) []Span {
	if s.From >= s.To {
		return spans
	}
	var all []Span
	for _, old := range spans {
		if old.To < s.From || s.To < old.From {
			all = append(all, old)
			continue
		}
		s = Span{min(s.From, old.From), max(s.To, old.To)}
	}
	all = append(all, s)
	slices.SortFunc(all, func(a, b Span) int { return int(a.From) - int(b.From) })
	return all
}

// SecretsOf lists all secrets of an environment, active and trashed.
func (r Reader) SecretsOf(e Environment) ([]Secret, error) {
	all, err := secrets.list(r.kv, e.Vault)
	return slices.DeleteFunc(all, func(s Secret) bool { return s.Environment != e.ID }), err
}

// VersionAt is the version that was a secret's value at a revision, looking back
// from last. It is ErrNotFound when that version is gone.
func (r Reader) VersionAt(last ID, revision uint64) (Version, error) {
	for id := last; !id.IsZero(); {
		v, err := r.Version(id)
		if err != nil || v.Revision <= revision {
			return v, err
		}
		id = v.Previous
	}
	return Version{}, ErrNotFound
}
