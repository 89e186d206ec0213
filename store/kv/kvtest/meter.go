package kvtest

import (
	"context"
	"fmt"
	"sync"

	"coffer/store/kv"
)

// Usage is what one run of a function given to Update used.
type Usage struct {
	Keys  int // different keys that were read, found by a scan, written or deleted
	Bytes int // keys and values of all writes
}

// Small is what every driver can take by default: etcd allows 128 operations and
// 1.5 MiB in a transaction, and keeps some for its guards.
var Small = Usage{Keys: 120, Bytes: 1 << 20}

// Meter is a kv.DB that measures Updates, and refuses those that use more than
// Max with kv.ErrTooLarge. A zero field of Max is no limit.
type Meter struct {
	kv.DB
	Max Usage

	mu      sync.Mutex
	largest Usage
}

// Largest returns the largest usage of any Update so far, field by field.
func (m *Meter) Largest() Usage {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.largest
}

// Update is part of kv.DB.
func (m *Meter) Update(ctx context.Context, fn func(kv.Tx) error) error {
	return m.DB.Update(ctx, func(tx kv.Tx) error {
		t := meterTx{tx: tx, max: m.Max, keys: map[string]bool{}}
		defer func() { m.note(Usage{len(t.keys), t.bytes}) }()
		if err := fn(&t); err != nil {
			return err
		}
		return t.err
	})
}

func (m *Meter) note(u Usage) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.largest.Keys = max(m.largest.Keys, u.Keys)
	m.largest.Bytes = max(m.largest.Bytes, u.Bytes)
}

type meterTx struct {
	tx    kv.Tx
	max   Usage
	keys  map[string]bool
	bytes int
	err   error
}

func (t *meterTx) touch(key []byte, bytes int) error {
	t.keys[string(key)] = true
	t.bytes += bytes
	if t.max.Keys > 0 && len(t.keys) > t.max.Keys {
		t.err = fmt.Errorf("%w: the transaction touches more than %d keys", kv.ErrTooLarge, t.max.Keys)
	}
	if t.max.Bytes > 0 && t.bytes > t.max.Bytes {
		t.err = fmt.Errorf("%w: the transaction writes more than %d bytes", kv.ErrTooLarge, t.max.Bytes)
	}
	return t.err
}

func (t *meterTx) Get(key []byte) ([]byte, error) {
	if err := t.touch(key, 0); err != nil {
		return nil, err
	}
	return t.tx.Get(key)
}

func (t *meterTx) Scan(r kv.Range, fn func(key, value []byte) error) error {
	return t.tx.Scan(r, func(key, value []byte) error {
		if err := t.touch(key, 0); err != nil {
			return err
		}
		return fn(key, value)
	})
}

func (t *meterTx) Put(key, value []byte) error {
	if err := t.touch(key, len(key)+len(value)); err != nil {
		return err
	}
	return t.tx.Put(key, value)
}

func (t *meterTx) Delete(key []byte) error {
	if err := t.touch(key, len(key)); err != nil {
		return err
	}
	return t.tx.Delete(key)
}
