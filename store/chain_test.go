package store

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"testing"

	"coffer/store/kv"
)

// testChain has no key: whoever knows the code can make its links fit.
type testChain struct{}

func (testChain) Link(previous Link, number uint64, record []byte) (Link, error) {
	return sum("link", previous, number, record), nil
}

func (testChain) End(link Link, number uint64) (Link, error) {
	return sum("end", link, number, nil), nil
}

func sum(kind string, link Link, number uint64, text []byte) Link {
	b := append([]byte(kind), link[:]...)
	return sha256.Sum256(append(binary.BigEndian.AppendUint64(b, number), text...))
}

// openLog is a store with an instance and an empty log.
func openLog(t *testing.T, db kv.DB) *Store {
	t.Helper()
	s, err := Open(ctx, db)
	must(t, err)
	must(t, s.Update(ctx, func(tx Tx) error {
		return errors.Join(tx.PutInstance(Instance{ID: id(1), Schema: Schema}), tx.BeginActivity(testChain{}, Checkpoint{}))
	}))
	return s
}

func appendTo(t *testing.T, s *Store, all ...Activity) (last uint64) {
	t.Helper()
	must(t, s.Update(ctx, func(tx Tx) (err error) {
		last, err = tx.AddActivity(testChain{}, all...)
		return err
	}))
	return last
}

// rows is the whole log.
func rows(t *testing.T, s *Store) (all []Row) {
	t.Helper()
	must(t, s.View(ctx, func(r Reader) error {
		return r.ScanActivity(0, 0, func(row Row) error {
			row.Record = append([]byte(nil), row.Record...)
			all = append(all, row)
			return nil
		})
	}))
	return all
}

func TestEveryRecordIsLinkedToTheOneBefore(t *testing.T) {
	s := openLog(t, openDB(t))
	appendTo(t, s, Activity{Action: "a"})
	if last := appendTo(t, s, Activity{Action: "b"}, Activity{Action: "c"}, Activity{Action: "d"}); last != 4 {
		t.Errorf("the last record has number %d", last)
	}
	var link Link
	for i, row := range rows(t, s) {
		ok, err := row.Proven(testChain{})
		if !ok || err != nil || row.Prev != link || row.Number != uint64(i+1) {
			t.Errorf("row %d: proven %v, %v", row.Number, ok, err)
		}
		a, err := row.Activity()
		if err != nil || a.Number != row.Number || a.Action != string(rune('a'+i)) {
			t.Errorf("row %d holds %+v, %v", row.Number, a, err)
		}
		link = row.Link
	}
	must(t, s.View(ctx, func(r Reader) error {
		end, err := r.LogEnd()
		if ok, _ := end.Holds(testChain{}); !ok || end.Number != 4 || end.Link != link {
			t.Errorf("the end is %+v", end)
		}
		return err
	}))
	must(t, s.Check(ctx))
}

type brokenChain struct{}

var errKey = errors.New("the key is gone")

func (brokenChain) Link(Link, uint64, []byte) (Link, error) { return Link{}, errKey }
func (brokenChain) End(Link, uint64) (Link, error)          { return Link{}, errKey }

func TestNothingIsAppendedWithoutAKey(t *testing.T) {
	s := openLog(t, openDB(t))
	appendTo(t, s, Activity{Action: "a"})
	err := s.Update(ctx, func(tx Tx) error {
		_, err := tx.AddActivity(brokenChain{}, Activity{Action: "b"})
		return err
	})
	if !errors.Is(err, errKey) || len(rows(t, s)) != 1 {
		t.Errorf("got %v and %d rows", err, len(rows(t, s)))
	}
}

// tampered changes the log as somebody without the key could.
func tampered(t *testing.T, s *Store, change func(tx kv.Tx) error) {
	t.Helper()
	must(t, s.db.Update(ctx, change))
}

// TestALogWhoseEndWasChangedGoesOnAndSaysSo: nobody is locked out, no record is
// overwritten, and a number is left out for good.
func TestALogWhoseEndWasChangedGoesOnAndSaysSo(t *testing.T) {
	var older []byte
	drop := func(tx kv.Tx, numbers ...uint64) error {
		for _, n := range numbers {
			if err := tx.Delete(key(tagActivity, n)); err != nil {
				return err
			}
		}
		return nil
	}
	for name, c := range map[string]struct {
		change func(tx kv.Tx) error
		next   uint64 // number of the next record
	}{
		"the end is gone":   {func(tx kv.Tx) error { return tx.Delete(key(tagActivityEnd)) }, 7},
		"the end is no end": {func(tx kv.Tx) error { return tx.Put(key(tagActivityEnd), []byte("x")) }, 7},
		"the end is a fake": {func(tx kv.Tx) error {
			return tx.Put(key(tagActivityEnd), append([]byte{endFormat}, make([]byte, endSize-1)...))
		}, 7},
		"the end is an older one":       {func(tx kv.Tx) error { return tx.Put(key(tagActivityEnd), older) }, 7},
		"the tail is gone, and the end": {func(tx kv.Tx) error { return errors.Join(tx.Delete(key(tagActivityEnd)), drop(tx, 4, 5)) }, 5},
		"all is gone":                   {func(tx kv.Tx) error { return errors.Join(tx.Delete(key(tagActivityEnd)), drop(tx, 1, 2, 3, 4, 5)) }, 2},
		// An end that holds says itself what is missing before it.
		"the tail is gone": {func(tx kv.Tx) error { return drop(tx, 5) }, 6},
	} {
		t.Run(name, func(t *testing.T) {
			s := openLog(t, openDB(t))
			appendTo(t, s, Activity{}, Activity{}, Activity{})
			must(t, s.db.View(ctx, func(r kv.Reader) error {
				b, err := r.Get(key(tagActivityEnd))
				older = append([]byte(nil), b...)
				return err
			}))
			appendTo(t, s, Activity{}, Activity{})
			before := rows(t, s)
			tampered(t, s, c.change)
			if got := appendTo(t, s, Activity{}); got != c.next {
				t.Errorf("the next record has number %d, want %d", got, c.next)
			}
			if got := appendTo(t, s, Activity{}); got != c.next+1 {
				t.Errorf("the one behind it has number %d", got)
			}
			for _, row := range rows(t, s) {
				if row.Number < c.next && row.Link != before[row.Number-1].Link {
					t.Errorf("record %d was overwritten", row.Number)
				}
			}
			if err := s.Check(ctx); !errors.Is(err, kv.ErrCorrupt) {
				t.Errorf("a check says %v", err)
			}
		})
	}
}
