package bolt

import (
	"bytes"
	"slices"
	"sync"
)

// notes are the keys that were written behind the back of a copy that goes
// through all keys in order: those that it has passed already. What is written
// ahead of it, it will meet.
type notes struct {
	mu      sync.Mutex
	passed  []byte // everything below is copied
	all     bool   // everything is
	copying bool   // a step is under way, and how far it goes is not known yet
	behind  map[string]struct{}
	ahead   map[string]struct{} // written since the step began; may turn out to be behind
}

// begin says that a step is about to take its snapshot.
func (n *notes) begin() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.copying = true
}

// end says that everything below next is copied, or everything with nil.
func (n *notes) end(next []byte) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.passed, n.all, n.copying = next, next == nil, false
	for k := range n.ahead {
		if n.isBehind([]byte(k)) {
			n.note(&n.behind, []byte(k))
		}
	}
	n.ahead = nil
}

// add notes what a group of updates wrote, after it was committed.
func (n *notes) add(o *overlay) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, block := range o.blocks {
		for _, e := range block {
			if n.isBehind(e.key) {
				n.note(&n.behind, e.key)
			} else if n.copying {
				n.note(&n.ahead, e.key)
			}
		}
	}
}

func (n *notes) isBehind(key []byte) bool { return n.all || bytes.Compare(key, n.passed) < 0 }

func (*notes) note(m *map[string]struct{}, key []byte) {
	if *m == nil {
		*m = map[string]struct{}{}
	}
	(*m)[string(key)] = struct{}{}
}

func (n *notes) len() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.behind)
}

// take returns the keys noted so far, in order, and forgets them.
func (n *notes) take() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	keys := make([]string, 0, len(n.behind))
	for k := range n.behind {
		keys = append(keys, k)
	}
	n.behind = nil
	slices.Sort(keys)
	return keys
}
