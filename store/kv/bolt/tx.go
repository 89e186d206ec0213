package bolt

import (
	"bytes"
	"fmt"

	"go.etcd.io/bbolt"

	"coffer/store/kv"
)

// update is the kv.Tx of one call: what the group has written, over what is
// committed.
type update struct {
	base  *base
	over  *overlay
	err   error // of the first Put or Delete that failed
	met   bool  // read something that is not committed yet
	ended bool
}

func (u *update) Get(key []byte) ([]byte, error) {
	if err := usable(u.ended, key); err != nil {
		return nil, err
	}
	v, ok := u.over.get(key)
	if ok {
		u.met = true
	} else {
		v = u.base.get(key)
	}
	if v == nil {
		return nil, kv.ErrNotFound
	}
	return v, nil
}

func (u *update) Put(key, value []byte) error {
	if err := u.writable(key, value); err != nil {
		return err
	}
	if value == nil {
		value = []byte{}
	}
	u.over.put(key, value)
	return nil
}

func (u *update) Delete(key []byte) error {
	if err := u.writable(key, nil); err != nil {
		return err
	}
	u.over.put(key, nil)
	return nil
}

// writable refuses here what bbolt would refuse later, when the refusal would
// hit the whole group.
func (u *update) writable(key, value []byte) error {
	err := usable(u.ended, key)
	switch {
	case err != nil:
	case len(key) > bbolt.MaxKeySize:
		err = fmt.Errorf("%w: a key of %d bytes", kv.ErrTooLarge, len(key))
	case len(value) > bbolt.MaxValueSize:
		err = fmt.Errorf("%w: a value of %d bytes", kv.ErrTooLarge, len(value))
	}
	if err != nil && u.err == nil {
		u.err = err
	}
	return err
}

// Scan merges the overlay into the committed keys. Where both have a key, the
// overlay is right.
func (u *update) Scan(r kv.Range, fn func(key, value []byte) error) error {
	if u.ended {
		return errEnded
	}
	w := walk{b: u.base, r: r}
	w.first()
	c := cursor{o: u.over, r: r}
	if !r.Empty() {
		c.first()
	}
	for n := 0; ; {
		side := ahead(&w, &c)
		if side == 0 && w.key == nil {
			return nil
		}
		key, value := w.key, w.value
		if side >= 0 {
			key, value, u.met = c.cur.key, c.cur.value, true
		}
		if value != nil {
			if err := fn(key, value); err != nil {
				return stopped(err)
			}
			if n++; n == r.Limit {
				return nil
			}
		}
		if side <= 0 {
			w.next()
		}
		// Writes of fn may have moved entries, or added some right ahead.
		if side >= 0 || c.version != u.over.version {
			c.next(key)
		}
	}
}

// ahead says which side comes next: the committed keys (-1), the overlay (1), or
// both with the same key, or neither (0).
func ahead(w *walk, c *cursor) int {
	switch {
	case w.key == nil && c.cur == nil:
		return 0
	case c.cur == nil:
		return -1
	case w.key == nil:
		return 1
	}
	order := bytes.Compare(w.key, c.cur.key)
	if w.r.Reverse {
		return -order
	}
	return order
}
