// Package kvtest holds what tests of kv.DB need: [Run], the conformance suite
// that every driver passes, and wrappers that make a database harder on its
// users than it is by itself: [Twice], [Fault], [Meter].
//
// It does not know any driver.
package kvtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"coffer/store/kv"
)

// Run checks that a driver keeps the contract of kv.DB. open returns an empty
// database, which Run closes.
func Run(t *testing.T, open func(t *testing.T) kv.DB) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, kv.DB)
	}{
		{"scan visits a range in order", testScan},
		{"prefix finds exactly the keys that begin with it", testPrefix},
		{"scan stops when told to", testStop},
		{"absent is not empty", testAbsent},
		{"empty keys are refused", testEmptyKey},
		{"an update reads its own writes", testOwnWrites},
		{"a scan in an update merges its writes", testMergedScan},
		{"a scan may be written to", testWriteDuringScan},
		{"a failing update writes nothing", testFailing},
		{"a failed put fails the update", testIgnoredError},
		{"a panic reaches the caller", testPanic},
		{"a view is a snapshot", testSnapshot},
		{"a view sees what was acknowledged", testReadYourWrites},
		{"concurrent updates lose nothing", testCounter},
		{"an update is seen whole or not at all", testAtomic},
		{"failures do not harm neighbours", testNeighbours},
		{"an ended context writes nothing", testEndedContext},
		{"a context that ends gives an honest answer", testHonest},
		{"bytes are not shared after a transaction", testOwnership},
		{"large values are kept", testLargeValue},
		{"everything is refused after close", testClose},
	} {
		t.Run(strings.ReplaceAll(test.name, " ", "_"), func(t *testing.T) {
			db := open(t)
			t.Cleanup(func() {
				if err := db.Close(); err != nil {
					t.Errorf("close: %v", err)
				}
			})
			test.run(t, db)
		})
	}
}

var (
	background = context.Background()
	errTest    = errors.New("refused by the test")
)

func update(t *testing.T, db kv.DB, fn func(kv.Tx) error) {
	t.Helper()
	if err := db.Update(background, fn); err != nil {
		t.Fatalf("update: %v", err)
	}
}

func view(t *testing.T, db kv.DB, fn func(kv.Reader) error) {
	t.Helper()
	if err := db.View(background, fn); err != nil {
		t.Fatalf("view: %v", err)
	}
}

// fill writes keys whose value is "v" and the key.
func fill(t *testing.T, db kv.DB, keys ...string) {
	t.Helper()
	update(t, db, func(tx kv.Tx) error { return put(tx, keys...) })
}

func put(tx kv.Tx, keys ...string) error {
	for _, k := range keys {
		if err := tx.Put([]byte(k), []byte("v"+k)); err != nil {
			return err
		}
	}
	return nil
}

// keys returns the keys that a scan of r visits. Values must be as fill wrote
// them.
func keys(r kv.Reader, g kv.Range) ([]string, error) {
	var got []string
	err := r.Scan(g, func(k, v []byte) error {
		if string(v) != "v"+string(k) {
			return fmt.Errorf("value of %q is %q", k, v)
		}
		got = append(got, string(k))
		return nil
	})
	return got, err
}

// wantKeys fails the test when db does not hold exactly these keys in g.
func wantKeys(t *testing.T, db kv.DB, g kv.Range, want ...string) {
	t.Helper()
	view(t, db, func(r kv.Reader) error {
		got, err := keys(r, g)
		if diff := cmp.Diff(want, got); err == nil && diff != "" {
			err = fmt.Errorf("keys of %+v (-want +got):\n%s", g, diff)
		}
		return err
	})
}

// value returns a copy of the value of key as a View sees it.
func value(t *testing.T, db kv.DB, key string) (v []byte, err error) {
	t.Helper()
	view(t, db, func(r kv.Reader) error {
		var b []byte
		b, err = r.Get([]byte(key))
		v = bytes.Clone(b)
		return nil
	})
	return v, err
}
