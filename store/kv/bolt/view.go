package bolt

import (
	"bytes"
	"context"
	"errors"
	"runtime/debug"

	"go.etcd.io/bbolt"

	"coffer/store/kv"
)

// errEnded is the answer of a transaction that was kept longer than it lives.
var errEnded = errors.New("the transaction has ended")

// View is part of kv.DB.
func (d *DB) View(ctx context.Context, fn func(kv.Reader) error) (err error) {
	if err := d.ready(ctx); err != nil {
		return err
	}
	// A page that the disk does not give back is a fault, not an error.
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	h := d.holding()
	defer h.letGo()
	t, err := d.begin(h, false)
	if err != nil {
		return err
	}
	s := &snapshot{}
	returned := false
	defer func() {
		s.ended = true
		if !returned {
			if p := recover(); p != nil {
				if err = h.damage(p, s.inside); err == nil {
					_ = t.Rollback()
					panic(p)
				}
			}
		}
		_ = t.Rollback()
	}()
	s.inside = true
	s.bucket = t.Bucket(bucketName)
	s.inside = false
	err = fn(s)
	returned = true
	return err
}

// snapshot is a kv.Reader over bbolt.
type snapshot struct {
	base
	ended bool
}

func (s *snapshot) Get(key []byte) ([]byte, error) {
	if err := usable(s.ended, key); err != nil {
		return nil, err
	}
	if v := s.get(key); v != nil {
		return v, nil
	}
	return nil, kv.ErrNotFound
}

func (s *snapshot) Scan(r kv.Range, fn func(key, value []byte) error) error {
	if s.ended {
		return errEnded
	}
	w := walk{b: &s.base, r: r}
	w.first()
	for n := 1; w.key != nil; n++ {
		if err := fn(w.key, w.value); err != nil {
			return stopped(err)
		}
		if n == r.Limit {
			return nil
		}
		w.next()
	}
	return nil
}

func usable(ended bool, key []byte) error {
	if ended {
		return errEnded
	}
	if len(key) == 0 {
		return kv.ErrEmptyKey
	}
	return nil
}

func stopped(err error) error {
	if err == kv.Stop {
		return nil
	}
	return err
}

// base is the committed data as one transaction of bbolt sees it.
type base struct {
	bucket *bbolt.Bucket
	cursor *bbolt.Cursor // for get; kept because a new one allocates
	inside bool          // bbolt is at work: a panic now is about the data
}

// get returns the value of key, never nil when there is one.
func (b *base) get(key []byte) []byte {
	b.inside = true
	if b.cursor == nil {
		b.cursor = b.bucket.Cursor()
	}
	k, v := b.cursor.Seek(key)
	if !bytes.Equal(k, key) {
		v = nil
	} else if v == nil {
		v = []byte{}
	}
	b.inside = false
	return v
}

// walk visits the keys of a range one after the other; key is nil after the
// last one. It does not look past the key that it stands on.
type walk struct {
	b          *base
	r          kv.Range
	c          *bbolt.Cursor
	key, value []byte
}

func (w *walk) first() {
	if w.r.Empty() {
		return
	}
	w.b.inside = true
	w.c = w.b.bucket.Cursor()
	switch {
	case !w.r.Reverse && len(w.r.Start) == 0:
		w.key, w.value = w.c.First()
	case !w.r.Reverse:
		w.key, w.value = w.c.Seek(w.r.Start)
	default:
		w.key, w.value = w.last()
	}
	w.settle()
}

func (w *walk) last() (key, value []byte) {
	if w.r.End == nil {
		return w.c.Last()
	}
	if k, _ := w.c.Seek(w.r.End); k == nil {
		return w.c.Last()
	}
	return w.c.Prev()
}

func (w *walk) next() {
	w.b.inside = true
	if w.r.Reverse {
		w.key, w.value = w.c.Prev()
	} else {
		w.key, w.value = w.c.Next()
	}
	w.settle()
}

func (w *walk) settle() {
	if w.key == nil || !w.r.Contains(w.key) {
		w.key, w.value = nil, nil
	} else if w.value == nil {
		w.value = []byte{}
	}
	w.b.inside = false
}
