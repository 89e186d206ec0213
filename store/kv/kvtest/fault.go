package kvtest

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"coffer/store/kv"
)

// ErrFault is what a Fault injects.
var ErrFault = errors.New("kvtest: injected fault")

// maxFaults is when EveryFault gives up on an operation that never succeeds.
const maxFaults = 10_000

// Fault is a kv.DB that fails once: at its operation number At. Operations are
// every Get, Scan, Put and Delete, and the commit of every Update, counted over
// all transactions. An operation that fails has no effect.
type Fault struct {
	kv.DB
	At int64 // counts from 1; 0 never fails

	count atomic.Int64
}

// Fired reports whether the fault was injected.
func (f *Fault) Fired() bool { return f.At > 0 && f.count.Load() >= f.At }

func (f *Fault) step() error {
	if f.count.Add(1) == f.At {
		return ErrFault
	}
	return nil
}

// View is part of kv.DB.
func (f *Fault) View(ctx context.Context, fn func(kv.Reader) error) error {
	return f.DB.View(ctx, func(r kv.Reader) error { return fn(faultReader{r, f}) })
}

// Update is part of kv.DB.
func (f *Fault) Update(ctx context.Context, fn func(kv.Tx) error) error {
	return f.DB.Update(ctx, func(tx kv.Tx) error {
		if err := fn(faultTx{faultReader{tx, f}, tx}); err != nil {
			return err
		}
		return f.step()
	})
}

type faultReader struct {
	r kv.Reader
	f *Fault
}

func (r faultReader) Get(key []byte) ([]byte, error) {
	if err := r.f.step(); err != nil {
		return nil, err
	}
	return r.r.Get(key)
}

func (r faultReader) Scan(g kv.Range, fn func(key, value []byte) error) error {
	if err := r.f.step(); err != nil {
		return err
	}
	return r.r.Scan(g, fn)
}

type faultTx struct {
	faultReader
	tx kv.Tx
}

func (t faultTx) Put(key, value []byte) error {
	if err := t.f.step(); err != nil {
		return err
	}
	return t.tx.Put(key, value)
}

func (t faultTx) Delete(key []byte) error {
	if err := t.f.step(); err != nil {
		return err
	}
	return t.tx.Delete(key)
}

// EveryFault runs op over and over: the first time its first operation on the
// database fails, the next time its second, until op ran through without one.
// After each run it calls check with what op returned, so that the test can see
// that nothing half-done is visible. The last run is the one without a fault,
// and must succeed.
//
//	kvtest.EveryFault(t, db, func(db kv.DB) error { return rename(ctx, db, "a", "b") },
//		func(after error) { mustHaveExactlyOneOf(t, db, "a", "b") })
func EveryFault(t testing.TB, db kv.DB, op func(kv.DB) error, check func(after error)) {
	t.Helper()
	for at := int64(1); at <= maxFaults; at++ {
		f := &Fault{DB: db, At: at}
		err := op(f)
		check(err)
		if !f.Fired() {
			if err != nil {
				t.Fatalf("without a fault: %v", err)
			}
			return
		}
		if t.Failed() {
			t.Fatalf("the fault at operation %d was not handled", at)
		}
	}
	t.Fatalf("the operation still fails after %d faults", maxFaults)
}
