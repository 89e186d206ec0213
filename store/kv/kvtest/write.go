package kvtest

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"coffer/store/kv"
)

func testOwnWrites(t *testing.T, db kv.DB) {
	fill(t, db, "kept", "deleted", "changed")
	update(t, db, func(tx kv.Tx) error {
		err := errors.Join(
			tx.Put([]byte("changed"), []byte("one")),
			tx.Put([]byte("changed"), []byte("two")),
			tx.Delete([]byte("deleted")),
			tx.Put([]byte("back"), []byte("one")),
			tx.Delete([]byte("back")),
			tx.Put([]byte("back"), []byte("two")),
		)
		for k, want := range map[string]string{"kept": "vkept", "changed": "two", "back": "two"} {
			if v, e := tx.Get([]byte(k)); e != nil || string(v) != want {
				err = errors.Join(err, fmt.Errorf("%s is %q, %v", k, v, e))
			}
		}
		if _, e := tx.Get([]byte("deleted")); !errors.Is(e, kv.ErrNotFound) {
			err = errors.Join(err, fmt.Errorf("deleted key: %v", e))
		}
		return err
	})
	if v, err := value(t, db, "back"); err != nil || string(v) != "two" {
		t.Errorf("back is %q, %v", v, err)
	}
	if _, err := value(t, db, "deleted"); !errors.Is(err, kv.ErrNotFound) {
		t.Errorf("deleted key: %v", err)
	}
}

func testMergedScan(t *testing.T, db kv.DB) {
	fill(t, db, "b", "d", "x", "y")
	update(t, db, func(tx kv.Tx) error {
		err := errors.Join(put(tx, "a", "c", "e", "d"), tx.Delete([]byte("x")), tx.Delete([]byte("y")), tx.Delete([]byte("bb")))
		for _, test := range ranges {
			err = errors.Join(err, wantRange(tx, test.r, test.want))
		}
		return err
	})
	wantKeys(t, db, kv.Range{}, "a", "b", "c", "d", "e")
}

func testWriteDuringScan(t *testing.T, db kv.DB) {
	for _, reverse := range []bool{false, true} {
		var all []string
		for i := range 300 {
			all = append(all, fmt.Sprintf("k%03d", i))
		}
		fill(t, db, all[:150]...)
		update(t, db, func(tx kv.Tx) error {
			if err := put(tx, all[150:]...); err != nil {
				return err
			}
			visits := 0
			err := tx.Scan(kv.Range{Reverse: reverse}, func(k, _ []byte) error {
				visits++
				return tx.Delete(append([]byte{}, k...))
			})
			if err == nil && visits != len(all) {
				err = fmt.Errorf("%d of %d keys visited", visits, len(all))
			}
			return err
		})
		wantKeys(t, db, kv.Range{})
	}
}

func testFailing(t *testing.T, db kv.DB) {
	fill(t, db, "a", "b")
	err := db.Update(background, func(tx kv.Tx) error {
		return errors.Join(put(tx, "c"), tx.Put([]byte("a"), []byte("x")), tx.Delete([]byte("b")), errTest)
	})
	if !errors.Is(err, errTest) {
		t.Errorf("error is %v", err)
	}
	wantKeys(t, db, kv.Range{}, "a", "b")
}

func testIgnoredError(t *testing.T, db kv.DB) {
	err := db.Update(background, func(tx kv.Tx) error {
		_ = tx.Put(nil, []byte("v"))
		return put(tx, "a")
	})
	if !errors.Is(err, kv.ErrEmptyKey) {
		t.Errorf("error is %v", err)
	}
	wantKeys(t, db, kv.Range{})
}

func testPanic(t *testing.T, db kv.DB) {
	caught := func() (p any) {
		defer func() { p = recover() }()
		_ = db.Update(background, func(tx kv.Tx) error {
			_ = put(tx, "a")
			panic("told to panic")
		})
		return nil
	}()
	if !strings.Contains(fmt.Sprint(caught), "told to panic") {
		t.Errorf("the caller caught %v", caught)
	}
	caught = func() (p any) {
		defer func() { p = recover() }()
		_ = db.View(background, func(kv.Reader) error { panic("told to panic") })
		return nil
	}()
	if !strings.Contains(fmt.Sprint(caught), "told to panic") {
		t.Errorf("the caller of View caught %v", caught)
	}
	wantKeys(t, db, kv.Range{})
	fill(t, db, "b")
	wantKeys(t, db, kv.Range{}, "b")
}
