package store

import "sync"

// memos remember what the records that nearly every request reads decode to:
// decoding one costs ten times more than finding it.
type memos struct {
	vaults       memo[Vault]
	environments memo[Environment]
	users        memo[User]
	apiKeys      memo[APIKey]
}

// maxRemembered bounds each memo, at about half a kilobyte a record.
const maxRemembered = 4096

// memo can be incomplete but never wrong, whatever was written meanwhile and by
// whom: what it remembers counts only for the very bytes that it was decoded
// from, and those come from the transaction each time. It hands out the same
// slices again and again, so nobody may write to what a slice in T refers to.
type memo[T any] struct {
	mu sync.RWMutex
	of map[string]remembered[T]
}

type remembered[T any] struct {
	bytes string
	value T
}

// decode is what t.decode makes of b, the record at key k.
func (m *memo[T]) decode(t table[T], k, b []byte) (T, error) {
	m.mu.RLock()
	known, ok := m.of[string(k)]
	m.mu.RUnlock()
	if ok && known.bytes == string(b) {
		return known.value, nil
	}
	v, err := t.decode(b)
	if err == nil {
		m.keep(string(k), remembered[T]{string(b), v})
	}
	return v, err
}

func (m *memo[T]) keep(k string, r remembered[T]) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.of == nil {
		m.of = make(map[string]remembered[T])
	}
	if _, known := m.of[k]; !known && len(m.of) >= maxRemembered {
		for other := range m.of {
			delete(m.of, other)
			break
		}
	}
	m.of[k] = r
}

// get is t.get from memory if it can be.
func (m *memo[T]) get(r Reader, t table[T], id ID) (T, error) {
	k := make([]byte, 1, 1+len(id))
	k[0] = t.tag
	k = append(k, id[:]...)
	b, err := r.kv.Get(k)
	if err != nil {
		var zero T
		return zero, err
	}
	return m.decode(t, k, b)
}
