package kvtest_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"coffer/store/kv"
	"coffer/store/kv/bolt"
	"coffer/store/kv/kvtest"
)

var background = context.Background()

func open(t *testing.T) kv.DB {
	t.Helper()
	db, err := bolt.Open(filepath.Join(t.TempDir(), "test.db"), bolt.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func get(t *testing.T, db kv.DB, key string) (v string) {
	t.Helper()
	err := db.View(background, func(r kv.Reader) error {
		b, err := r.Get([]byte(key))
		v = string(b)
		return err
	})
	if err != nil && !errors.Is(err, kv.ErrNotFound) {
		t.Fatal(err)
	}
	return v
}

func TestMeterConforms(t *testing.T) {
	kvtest.Run(t, func(t *testing.T) kv.DB { return &kvtest.Meter{DB: open(t)} })
}

func TestFaultThatNeverFailsConforms(t *testing.T) {
	kvtest.Run(t, func(t *testing.T) kv.DB { return &kvtest.Fault{DB: open(t)} })
}

func TestTwiceFindsEffectsOutsideOfTheTransaction(t *testing.T) {
	db := kvtest.Twice(open(t))
	runs := 0
	err := db.Update(background, func(tx kv.Tx) error {
		runs++
		return tx.Put(fmt.Appendf(nil, "run%d", runs), []byte("v"))
	})
	if err != nil || runs != 2 || get(t, db, "run1") != "" || get(t, db, "run2") != "v" {
		t.Errorf("%d runs, %v; the first left %q, the second %q", runs, err, get(t, db, "run1"), get(t, db, "run2"))
	}
}

func TestTwiceSpoilsBytesThatAreKept(t *testing.T) {
	db := kvtest.Twice(open(t))
	var kept []byte
	err := db.Update(background, func(tx kv.Tx) error {
		return tx.Put([]byte("a"), []byte("value"))
	})
	if err != nil {
		t.Fatal(err)
	}
	err = db.View(background, func(r kv.Reader) (err error) { kept, err = r.Get([]byte("a")); return err })
	if err != nil || string(kept) == "value" {
		t.Errorf("bytes kept after a view are still %q, %v", kept, err)
	}
}

// move is an operation of several steps that must be all or nothing.
func move(db kv.DB) error {
	return db.Update(background, func(tx kv.Tx) error {
		v, err := tx.Get([]byte("from"))
		if err != nil {
			return err
		}
		return errors.Join(tx.Put([]byte("to"), v), tx.Delete([]byte("from")))
	})
}

func TestEveryFaultWalksAllOperations(t *testing.T) {
	db := open(t)
	if err := db.Update(background, func(tx kv.Tx) error { return tx.Put([]byte("from"), []byte("v")) }); err != nil {
		t.Fatal(err)
	}
	faults := 0
	kvtest.EveryFault(t, db, move, func(after error) {
		if after != nil {
			if faults++; !errors.Is(after, kvtest.ErrFault) {
				t.Errorf("unexpected error: %v", after)
			}
		}
		from, to := get(t, db, "from"), get(t, db, "to")
		if moved := after == nil; moved != (from == "") || moved != (to == "v") {
			t.Errorf("after %v: from %q, to %q", after, from, to)
		}
	})
	if faults != 4 { // get, put, delete, commit
		t.Errorf("%d faults", faults)
	}
}

func TestMeterRefusesLargeTransactions(t *testing.T) {
	db := &kvtest.Meter{DB: open(t), Max: kvtest.Usage{Keys: 10, Bytes: 1000}}
	write := func(n, size int) error {
		return db.Update(background, func(tx kv.Tx) error {
			for i := range n {
				if err := tx.Put(fmt.Appendf(nil, "%04d", i), make([]byte, size)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := write(10, 90); err != nil {
		t.Errorf("a transaction within the limits: %v", err)
	}
	if got, want := db.Largest(), (kvtest.Usage{Keys: 10, Bytes: 940}); got != want {
		t.Errorf("largest is %+v, want %+v", got, want)
	}
	for _, err := range []error{write(11, 1), write(1, 1000)} {
		if !errors.Is(err, kv.ErrTooLarge) {
			t.Errorf("a transaction beyond the limits: %v", err)
		}
	}
}
