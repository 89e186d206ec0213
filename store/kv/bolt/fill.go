package bolt

import (
	"context"

	"go.etcd.io/bbolt"

	"coffer/store/kv"
)

// fillBytes is about how much one transaction of fill holds in memory.
const fillBytes = 4 << 20

// fill copies everything in r, in key order, into an empty file that nobody
// else uses yet.
func (d *DB) fill(ctx context.Context, r kv.Reader) error {
	var t *bbolt.Tx
	var b *bbolt.Bucket
	size := 0
	// Ends the last transaction in every case; committed ones do not mind.
	defer func() { d.rollback(t) }()
	next := func() (err error) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if t != nil {
			if err := t.Commit(); err != nil {
				return err
			}
		}
		if t, err = d.b.Begin(true); err != nil {
			return err
		}
		d.growBy(t.Size())
		b = t.Bucket(bucketName)
		b.FillPercent = 0.95
		size = 0
		return nil
	}
	if err := next(); err != nil {
		return err
	}
	err := r.Scan(kv.Range{}, func(key, value []byte) error {
		if size += len(key) + len(value); size > fillBytes {
			if err := next(); err != nil {
				return err
			}
		}
		return b.Put(key, value)
	})
	if err != nil {
		return err
	}
	return t.Commit()
}
