package kv

import "bytes"

// Range says which keys a Scan visits, in which order, and how many at most.
// The zero Range is everything, ascending.
type Range struct {
	Start   []byte // first key that belongs to the range; nil or empty: from the very first
	End     []byte // first key that no longer belongs to it; nil: no upper bound
	Limit   int    // most keys to visit; 0: no limit
	Reverse bool   // descending, from the last key before End down to Start
}

// Prefix is the range of all keys that begin with p. It refers to p, which must
// not be modified while the range is in use.
func Prefix(p []byte) Range {
	return Range{Start: p, End: after(p)}
}

// Contains reports whether key lies between Start and End.
func (r Range) Contains(key []byte) bool {
	return bytes.Compare(key, r.Start) >= 0 && (r.End == nil || bytes.Compare(key, r.End) < 0)
}

// Empty reports whether no key at all can lie in the range.
func (r Range) Empty() bool {
	return r.End != nil && bytes.Compare(r.Start, r.End) >= 0
}

// after returns the smallest key larger than all that begin with p; nil when
// there is none, because p is empty or nothing but 0xff.
func after(p []byte) []byte {
	for i := len(p) - 1; i >= 0; i-- {
		if p[i] != 0xff {
			end := bytes.Clone(p[:i+1])
			end[i]++
			return end
		}
	}
	return nil
}
