package kvtest

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"coffer/store/kv"
)

// ranges are scans of the keys a, b, c, d, e and what they visit.
var ranges = []struct {
	r    kv.Range
	want string
}{
	{kv.Range{}, "abcde"},
	{kv.Range{Reverse: true}, "edcba"},
	{kv.Range{Start: []byte("b")}, "bcde"},
	{kv.Range{Start: []byte("b"), Reverse: true}, "edcb"},
	{kv.Range{End: []byte("d")}, "abc"},
	{kv.Range{End: []byte("d"), Reverse: true}, "cba"},
	{kv.Range{Start: []byte("b"), End: []byte("d")}, "bc"},
	{kv.Range{Start: []byte("b"), End: []byte("d"), Reverse: true}, "cb"},
	{kv.Range{Start: []byte("bb"), End: []byte("dd")}, "cd"},
	{kv.Range{Start: []byte("bb"), End: []byte("dd"), Reverse: true}, "dc"},
	{kv.Range{Start: []byte("b"), End: []byte("b")}, ""},
	{kv.Range{Start: []byte("d"), End: []byte("b")}, ""},
	{kv.Range{Start: []byte("d"), End: []byte("b"), Reverse: true}, ""},
	{kv.Range{End: []byte{}}, ""},
	{kv.Range{End: []byte{}, Reverse: true}, ""},
	{kv.Range{Start: []byte("x")}, ""},
	{kv.Range{Start: []byte("x"), Reverse: true}, ""},
	{kv.Range{End: []byte("x"), Reverse: true}, "edcba"},
	{kv.Range{Limit: 2}, "ab"},
	{kv.Range{Limit: 2, Reverse: true}, "ed"},
	{kv.Range{Limit: 1, Start: []byte("c")}, "c"},
	{kv.Range{Limit: 9}, "abcde"},
}

func testScan(t *testing.T, db kv.DB) {
	wantKeys(t, db, kv.Range{})
	fill(t, db, "c", "a", "e", "b", "d")
	for _, test := range ranges {
		view(t, db, func(r kv.Reader) error { return wantRange(r, test.r, test.want) })
		update(t, db, func(tx kv.Tx) error { return wantRange(tx, test.r, test.want) })
	}
}

func wantRange(r kv.Reader, g kv.Range, want string) error {
	got, err := keys(r, g)
	if all := fmt.Sprint(got); err == nil && all != fmt.Sprint(letters(want)) {
		err = fmt.Errorf("scan of %+v visits %s, want %q", g, all, want)
	}
	return err
}

func letters(s string) (all []string) {
	for _, r := range s {
		all = append(all, string(r))
	}
	return all
}

func testPrefix(t *testing.T, db kv.DB) {
	fill(t, db, "a", "ab", "ab\x00", "aba", "ab\xff", "ab\xff\xff", "ac", "\xff", "\xff\xff", "\xff\xffz")
	wantKeys(t, db, kv.Prefix([]byte("ab")), "ab", "ab\x00", "aba", "ab\xff", "ab\xff\xff")
	wantKeys(t, db, kv.Prefix([]byte("ab\xff")), "ab\xff", "ab\xff\xff")
	wantKeys(t, db, kv.Prefix([]byte("\xff\xff")), "\xff\xff", "\xff\xffz")
	wantKeys(t, db, kv.Prefix([]byte("b")))
	r := kv.Prefix([]byte("ab"))
	r.Reverse, r.Limit = true, 2
	wantKeys(t, db, r, "ab\xff\xff", "ab\xff")
	wantKeys(t, db, kv.Prefix(nil), "a", "ab", "ab\x00", "aba", "ab\xff", "ab\xff\xff", "ac", "\xff", "\xff\xff", "\xff\xffz")
}

func testStop(t *testing.T, db kv.DB) {
	fill(t, db, "a", "b", "c")
	scan := func(r kv.Reader) error {
		for _, end := range []error{kv.Stop, errTest} {
			visits := 0
			err := r.Scan(kv.Range{}, func(_, _ []byte) error {
				if visits++; visits == 2 {
					return end
				}
				return nil
			})
			if visits != 2 || end == kv.Stop && err != nil || end != kv.Stop && err != end {
				return fmt.Errorf("%d visits and error %v after %v", visits, err, end)
			}
		}
		return nil
	}
	view(t, db, scan)
	update(t, db, func(tx kv.Tx) error { return scan(tx) })
}

func testAbsent(t *testing.T, db kv.DB) {
	check := func(r kv.Reader) error {
		if _, err := r.Get([]byte("absent")); !errors.Is(err, kv.ErrNotFound) {
			return fmt.Errorf("get of an absent key: %v", err)
		}
		for _, k := range []string{"empty", "nil"} {
			if v, err := r.Get([]byte(k)); err != nil || v == nil || len(v) != 0 {
				return fmt.Errorf("get of %s: %v, %v", k, v, err)
			}
		}
		n := 0
		err := r.Scan(kv.Range{}, func(_, v []byte) error {
			if n++; v == nil {
				return errors.New("scan gives a nil value")
			}
			return nil
		})
		if err == nil && n != 2 {
			err = fmt.Errorf("scan visits %d keys", n)
		}
		return err
	}
	update(t, db, func(tx kv.Tx) error {
		if err := errors.Join(tx.Put([]byte("empty"), []byte{}), tx.Put([]byte("nil"), nil)); err != nil {
			return err
		}
		if err := tx.Delete([]byte("absent")); err != nil {
			return err
		}
		return check(tx)
	})
	view(t, db, check)
	update(t, db, func(tx kv.Tx) error { return check(tx) })
}

func testEmptyKey(t *testing.T, db kv.DB) {
	for name, op := range map[string]func(kv.Tx) error{
		"get":    func(tx kv.Tx) error { _, err := tx.Get(nil); return err },
		"put":    func(tx kv.Tx) error { return tx.Put([]byte{}, []byte("v")) },
		"delete": func(tx kv.Tx) error { return tx.Delete(nil) },
	} {
		if err := db.Update(background, op); !errors.Is(err, kv.ErrEmptyKey) {
			t.Errorf("%s of an empty key: %v", name, err)
		}
	}
	wantKeys(t, db, kv.Range{})
}

func testOwnership(t *testing.T, db kv.DB) {
	key, val := []byte("key"), []byte("value")
	update(t, db, func(tx kv.Tx) error { return tx.Put(key, val) })
	copy(key, "xxx")
	copy(val, "xxxxx")
	got, err := value(t, db, "key")
	if diff := cmp.Diff("value", string(got)); err != nil || diff != "" {
		t.Errorf("the caller changed its bytes after Update: %v %s", err, diff)
	}
	// What Get returned may be given to Put within the same transaction.
	update(t, db, func(tx kv.Tx) error {
		v, err := tx.Get([]byte("key"))
		if err != nil {
			return err
		}
		return errors.Join(tx.Put([]byte("copy"), v), tx.Put([]byte("key"), []byte("other")))
	})
	if got, err = value(t, db, "copy"); err != nil || string(got) != "value" {
		t.Errorf("copy of a value is %q, %v", got, err)
	}
}

func testLargeValue(t *testing.T, db kv.DB) {
	large := make([]byte, 300<<10)
	for i := range large {
		large[i] = byte(i * 7)
	}
	update(t, db, func(tx kv.Tx) error { return tx.Put([]byte("large"), large) })
	got, err := value(t, db, "large")
	if err != nil || !slices.Equal(got, large) {
		t.Errorf("%d bytes came back as %d, %v", len(large), len(got), err)
	}
}
