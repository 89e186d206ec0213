package store

import (
	"errors"
	"math/rand/v2"
	"testing"

	"coffer/store/kv"
	"coffer/store/kv/kvtest"
)

// prune prunes up to a record, in steps of random size.
func prune(t *testing.T, s *Store, to uint64) {
	t.Helper()
	for from := base(t, s).Number; from < to; {
		next := min(to, from+1+rand.Uint64N(PruneMost))
		must(t, s.Update(ctx, func(tx Tx) error {
			row, err := tx.ActivityRow(next)
			if err != nil && !isNotFound(err) {
				return err
			}
			return tx.PruneActivity(testChain{}, from, Checkpoint{Number: next, Link: row.Link})
		}))
		from = next
	}
}

func base(t *testing.T, s *Store) (c Checkpoint) {
	t.Helper()
	must(t, s.View(ctx, func(r Reader) (err error) {
		c, err = r.ActivityBase()
		return err
	}))
	return c
}

// addPeople adds users 1 and 2 and vault 3; user 4 and vault 5 are gone.
func addPeople(t *testing.T, s *Store) {
	t.Helper()
	must(t, s.Update(ctx, func(tx Tx) error {
		v, _ := sampleVault(3)
		return errors.Join(tx.PutUser(User{ID: id(1), Account: "1"}), tx.PutUser(User{ID: id(2), Account: "2"}), tx.AddVault(v, []byte("key")))
	}))
}

func randomActivity() Activity {
	return Activity{Actor: []ID{{}, id(1), id(2), id(4)}[rand.IntN(4)], Vault: []ID{{}, id(3), id(5)}[rand.IntN(3)]}
}

// TestPrunedListsAreWhatIsLeft prunes at random points and compares all lists
// with what should be left of them.
func TestPrunedListsAreWhatIsLeft(t *testing.T) {
	for range 8 {
		meter := &kvtest.Meter{DB: openOnce(t), Max: kvtest.Small}
		s := openLog(t, kvtest.Twice(meter))
		addPeople(t, s)
		var all []Activity
		for range 1 + rand.IntN(120) {
			a := randomActivity()
			all = append(all, a)
			appendTo(t, s, a)
			if rand.IntN(20) == 0 {
				prune(t, s, base(t, s).Number+rand.Uint64N(uint64(len(all))-base(t, s).Number+1))
				must(t, s.Check(ctx))
			}
		}
		left := all[base(t, s).Number:]
		for _, who := range []ID{id(1), id(2), id(3), id(4), id(5)} {
			want := 0
			for _, a := range left {
				if a.Actor == who || a.Vault == who {
					want++
				}
			}
			must(t, s.View(ctx, func(r Reader) error {
				_, total, err := r.ActivityOf(who, 10, 0)
				if err == nil && total == 0 {
					_, total, err = r.ActivityIn(who, 10, 0)
				}
				if total != want {
					t.Errorf("%v: %d records are listed, want %d", who, total, want)
				}
				return err
			}))
		}
	}
}

// TestAListGoesOnWhereItEnded: numbers are never given out twice, also when
// nothing is left that shows the last one.
func TestAListGoesOnWhereItEnded(t *testing.T) {
	db := openDB(t)
	s := openLog(t, db)
	addPeople(t, s)
	mine := Activity{Actor: id(1), Vault: id(5)}
	appendTo(t, s, mine, mine, mine)
	prune(t, s, 3)
	appendTo(t, s, mine)
	must(t, s.Check(ctx))
	must(t, s.View(ctx, func(r Reader) error {
		page, total, err := r.ActivityOf(id(1), 10, 0)
		if total != 1 || page[0].ActorNumber != 4 || page[0].Number != 4 {
			t.Errorf("got %d, %+v", total, page)
		}
		return err
	}))
	// The vault is gone: nothing needs to remember its numbers.
	prune(t, s, 4)
	must(t, db.View(ctx, func(r kv.Reader) error {
		return r.Scan(kv.Prefix([]byte{tagActivityLast}), func(k, v []byte) error {
			if want := key(tagActivityLast, key(tagActivityActor, id(1))); string(k) != string(want) || v[7] != 4 {
				t.Errorf("%x → %x stayed", k, v)
			}
			return nil
		})
	}))
}

func TestCheckpointsLeaveWithTheirRecords(t *testing.T) {
	s := openLog(t, openDB(t))
	for range 12 {
		appendTo(t, s, Activity{})
	}
	must(t, s.Update(ctx, func(tx Tx) error {
		return errors.Join(tx.AddCheckpoint(Checkpoint{Number: 5}), tx.AddCheckpoint(Checkpoint{Number: 9}))
	}))
	prune(t, s, 5)
	must(t, s.View(ctx, func(r Reader) error {
		_, err := r.CheckpointAt(5)
		if !isNotFound(err) {
			t.Errorf("checkpoint 5: %v", err)
		}
		c, err := r.LastCheckpoint()
		if c.Number != 9 {
			t.Errorf("the last checkpoint is %+v", c)
		}
		return err
	}))
}

func TestTwoWhoPruneDoNotMeet(t *testing.T) {
	s := openLog(t, openDB(t))
	for range 4 {
		appendTo(t, s, Activity{})
	}
	prune(t, s, 2)
	err := s.Update(ctx, func(tx Tx) error { return tx.PruneActivity(testChain{}, 0, Checkpoint{Number: 2}) })
	if !errors.Is(err, ErrPruned) {
		t.Errorf("got %v", err)
	}
	must(t, s.Check(ctx))
}

// TestPruningGoesThroughAGap and through an altered record, and leaves the lists
// of others alone.
func TestPruningGoesThroughAGap(t *testing.T) {
	s := openLog(t, openDB(t))
	addPeople(t, s)
	for range 6 {
		appendTo(t, s, Activity{Actor: id(1), Vault: id(3)})
	}
	tampered(t, s, func(tx kv.Tx) error {
		b, err := tx.Get(key(tagActivity, uint64(2)))
		if err != nil {
			return err
		}
		b = append([]byte(nil), b...)
		b[40] ^= 1
		return errors.Join(tx.Put(key(tagActivity, uint64(2)), b), tx.Delete(key(tagActivity, uint64(4))))
	})
	prune(t, s, 5)
	must(t, s.Check(ctx))
	must(t, s.View(ctx, func(r Reader) error {
		page, total, err := r.ActivityOf(id(1), 10, 0)
		if total != 1 || len(page) != 1 || page[0].ActorNumber != 6 {
			t.Errorf("left are %d: %+v", total, page)
		}
		return err
	}))
}

// TestAFailureWhilePruningOrAppendingLeavesALog breaks every step in turn.
func TestAFailureWhilePruningOrAppendingLeavesALog(t *testing.T) {
	db := openOnce(t)
	s := openLog(t, db)
	addPeople(t, s)
	for range 10 {
		appendTo(t, s, randomActivity(), randomActivity())
	}
	for _, change := range []func(Tx) error{
		func(tx Tx) error {
			_, err := tx.AddActivity(testChain{}, randomActivity(), randomActivity())
			return err
		},
		func(tx Tx) error {
			row, err := tx.ActivityRow(7)
			if err != nil {
				return err
			}
			return tx.PruneActivity(testChain{}, 0, Checkpoint{Number: 7, Link: row.Link})
		},
	} {
		kvtest.EveryFault(t, db, func(db kv.DB) error {
			return (&Store{db: db}).Update(ctx, change)
		}, func(error) { must(t, s.Check(ctx)) })
	}
}
