package bolt

import (
	"bytes"
	"context"
	"errors"

	"go.etcd.io/bbolt"

	"coffer/store/kv"
)

// loadBytes is about how much one transaction of load and renew writes.
const loadBytes = 4 << 20

// fill copies everything in r, in key order, into an empty file that nobody
// else uses yet.
func (d *DB) fill(ctx context.Context, r kv.Reader) error {
	for from := []byte(nil); ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		next, err := d.load(r, from)
		if err != nil || next == nil {
			return err
		}
		from = next
	}
}

// load copies what r holds at and behind the key from, in key order, until it is
// enough for one transaction. It returns the key to go on with, or nil at the end.
func (d *DB) load(r kv.Reader, from []byte) (next []byte, err error) {
	size := 0
	err = d.direct(0.95, func(b *bbolt.Bucket) error {
		return r.Scan(kv.Range{Start: from}, func(key, value []byte) error {
			if size > loadBytes {
				next = bytes.Clone(key)
				return kv.Stop
			}
			size += len(key) + len(value)
			return b.Put(key, value)
		})
	})
	return next, err
}

// renew makes the given keys what r says that they are, as many as fit into one
// transaction. It returns how many those were.
func (d *DB) renew(r kv.Reader, keys []string) (n int, err error) {
	size := 0
	err = d.direct(fill, func(b *bbolt.Bucket) error {
		for _, k := range keys {
			if size > loadBytes {
				return nil
			}
			n++
			key := []byte(k)
			value, err := r.Get(key)
			switch {
			case errors.Is(err, kv.ErrNotFound):
				err = b.Delete(key)
			case err == nil:
				size += len(key) + len(value)
				err = b.Put(key, value)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	return n, err
}

// direct runs one transaction of bbolt past the queue, in a file that nobody else
// uses yet.
func (d *DB) direct(percent float64, fn func(*bbolt.Bucket) error) error {
	h := d.file.Load()
	t, err := d.begin(h, true)
	if err != nil {
		return err
	}
	// Ends it in every case; a committed one does not mind.
	defer func() { d.rollback(t) }()
	h.growBy(t.Size())
	return guard(func() error {
		b := t.Bucket(bucketName)
		b.FillPercent = percent
		if err := fn(b); err != nil {
			return err
		}
		return t.Commit()
	})
}
