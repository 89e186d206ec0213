package warden_test

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"coffer/server/api"
	"coffer/server/warden"
	"coffer/store/kv"
	"coffer/store/kv/kvtest"
)

// clock is a clock that only moves when it is told to.
type clock struct{ unix atomic.Int64 }

func aClock() *clock {
	c := new(clock)
	c.unix.Store(time.Now().Add(time.Hour).Unix())
	return c
}

func (c *clock) Now() time.Time       { return time.Unix(c.unix.Load(), 0) }
func (c *clock) set(w *warden.Config) { w.Now = c.Now }
func (c *clock) ago(days int) time.Time {
	return c.Now().Add(-time.Duration(days) * 24 * time.Hour)
}

// days moves the clock, back too.
func (c *clock) days(n int) { c.unix.Add(int64(n) * 24 * 60 * 60) }

func checkpoints(c *warden.Config)     { c.TestOnlyCheckpoints = 3 }
func number(key []byte) uint64         { return binary.BigEndian.Uint64(key[1:]) }
func last(rows [][2][]byte) [2][]byte  { return rows[len(rows)-1] }
func first(rows [][2][]byte) [2][]byte { return rows[0] }

// settled waits until the last few records have their checkpoint.
func (h *house) settled() {
	h.t.Helper()
	eventually(h.t, func() bool {
		rows, c := h.rows(tagRow), h.rows(tagCheckpoint)
		marked := number(first(rows)[0]) - 1
		if len(c) > 0 {
			marked = number(last(c)[0])
		}
		return number(last(rows)[0]) < marked+3
	})
}

func TestOldRecordsGoAndTheLogStaysWhole(t *testing.T) {
	h := newHouse(t)
	c := aClock()
	w := h.wardenWith(kvtest.Twice(h.db), c.set, checkpoints)
	for range 10 {
		h.use(w, 7)
		h.settled()
		c.days(1)
	}
	for _, days := range []int{20, 8, 5, 5, 1, 0} {
		before := len(h.rows(tagRow))
		removed, err := w.PruneActivity(t.Context(), c.ago(days))
		must(t, err)
		left := h.rows(tagRow)
		noted := 0
		if removed > 0 {
			noted = 1
		}
		if len(left) != before-removed+noted {
			t.Errorf("%d days: %d of %d removed, %d left", days, removed, before, len(left))
		}
		if got := verdict(verify(t, w)); got != sound {
			t.Errorf("%d days, the data: %s", days, got)
		}
		r := verifyFile(t, w, export(t, w))
		if verdict(r) != sound || r.First != number(first(left)[0]) || r.Begins.Number != r.First-1 {
			t.Errorf("%d days, the file: %s %+v", days, verdict(r), r)
		}
		r = verifyFile(t, w, exportVault(t, w, h.ann(w)))
		if verdict(r) != sound {
			t.Errorf("%d days, the vault's file: %s", days, verdict(r))
		}
	}
	// Nothing that is younger goes, and all that is older by more than a segment.
	l, err := w.VaultActivity(t.Context(), h.ann(w), api.ListVaultActivity{PageRef: api.PageRef{Ref: api.Ref{Owner: "ann", Repo: "api"}}})
	must(t, err)
	if l.Total < 1 || l.Total > 10 {
		t.Errorf("the vault's list has %d records", l.Total)
	}
	must(t, w.Close())
	w = h.wardenWith(h.db, c.set, checkpoints)
	h.use(w, 5)
	if got := verdict(verify(t, w)); got != sound {
		t.Errorf("after a restart: %s", got)
	}
}

func TestPruningIsRecorded(t *testing.T) {
	h := newHouse(t)
	c := aClock()
	w := h.wardenWith(h.db, c.set, checkpoints)
	h.use(w, 30)
	h.settled()
	c.days(3)
	must(t, second(w.PruneActivity(t.Context(), c.ago(1))))
	l := exportLines(t, export(t, w))
	if a := l[len(l)-3]; a["action"] != "activity_pruned" || a["actor"] != nil || a["metadata"].(map[string]any)["intact"] != true {
		t.Errorf("got %v", a)
	}
}

// TestAClockThatJumpedPrunesRight: once fast keeps nothing for ever, once slow
// removes nothing young.
func TestAClockThatJumpedPrunesRight(t *testing.T) {
	h := newHouse(t)
	c := aClock()
	w := h.wardenWith(h.db, c.set, checkpoints)
	h.use(w, 9)
	h.settled()
	c.days(3650)
	h.use(w, 9)
	h.settled()
	c.days(-3650)
	h.use(w, 9)
	h.settled()
	young := number(last(h.rows(tagRow))[0])
	c.days(5)
	h.use(w, 9)
	h.settled()
	must(t, second(w.PruneActivity(t.Context(), c.ago(2))))
	if got := number(first(h.rows(tagRow))[0]); got < young-6 || got > young+1 {
		t.Errorf("the log begins with %d; %d was the last old one", got, young)
	}
	c.days(-3650)
	h.use(w, 9)
	h.settled()
	c.days(3650)
	before := number(first(h.rows(tagRow))[0])
	must(t, second(w.PruneActivity(t.Context(), c.ago(2))))
	if got := number(first(h.rows(tagRow))[0]); got > before+6 {
		t.Errorf("young records went: the log begins with %d", got)
	}
	if got := verdict(verify(t, w)); got != sound {
		t.Error(got)
	}
}

// TestPruningThatFailsAnywhereLeavesAWholeLog also goes on where it ended.
func TestPruningThatFailsAnywhereLeavesAWholeLog(t *testing.T) {
	h := newHouse(t)
	c := aClock()
	w := h.wardenWith(h.db, c.set, checkpoints)
	h.use(w, 60)
	h.settled()
	c.days(3)
	must(t, w.Close())
	sightings := 0
	kvtest.EveryFault(t, h.db, func(db kv.DB) error {
		broken := h.wardenBy(db, c.set)
		if broken == nil {
			return kvtest.ErrFault
		}
		defer broken.Close()
		return second(broken.PruneActivity(context.Background(), c.ago(1)))
	}, func(error) {
		sightings++
		w := h.wardenWith(h.db, c.set)
		defer w.Close()
		if got := verdict(verify(t, w)); got != sound {
			t.Errorf("sighting %d: %s", sightings, got)
		}
	})
	if got := len(h.rows(tagRow)); got > 12 {
		t.Errorf("%d records are left", got)
	}
}

// TestPruningCanBeStopped: what it did until then stays done.
func TestPruningCanBeStopped(t *testing.T) {
	h := newHouse(t)
	c := aClock()
	w := h.wardenWith(h.db, c.set, checkpoints)
	h.use(w, 100)
	h.settled()
	c.days(3)
	all := len(h.rows(tagRow))
	ctx, cancel := context.WithCancel(t.Context())
	stopping := h.wardenWith(stopAfter{h.db, cancel, new(int)}, c.set)
	removed, err := stopping.PruneActivity(ctx, c.ago(1))
	if err == nil || removed == 0 || removed > 60 {
		t.Errorf("removed %d, %v", removed, err)
	}
	if got := verdict(verify(t, w)); got != sound {
		t.Error(got)
	}
	rest, err := w.PruneActivity(t.Context(), c.ago(1))
	must(t, err)
	if removed+rest < all-6 {
		t.Errorf("%d and %d of %d removed", removed, rest, all)
	}
}

// stopAfter cancels after three updates.
type stopAfter struct {
	kv.DB
	cancel  context.CancelFunc
	updates *int
}

func (s stopAfter) Update(ctx context.Context, fn func(kv.Tx) error) error {
	if *s.updates++; *s.updates == 3 {
		defer s.cancel()
	}
	return s.DB.Update(ctx, fn)
}

// TestPruningAtRandomPoints while the log is used and judged.
func TestPruningAtRandomPoints(t *testing.T) {
	h := newHouse(t)
	c := aClock()
	w := h.wardenWith(kvtest.Twice(h.db), c.set, checkpoints)
	for range 25 {
		h.use(w, 1+rand.IntN(12))
		h.settled()
		c.days(rand.IntN(3))
		must(t, second(w.PruneActivity(t.Context(), c.ago(rand.IntN(6)))))
		if got := verdict(verify(t, w)); got != sound {
			t.Fatal(got)
		}
	}
}

// TestWhatWasTamperedWithGoesInItsTime, and the record says so.
func TestWhatWasTamperedWithGoesInItsTime(t *testing.T) {
	for name, change := range map[string]func(*house, kv.Tx) error{
		"altered": func(h *house, tx kv.Tx) error {
			row := h.rows(tagRow)[8]
			row[1][100] ^= 1
			return tx.Put(row[0], row[1])
		},
		"missing":            func(_ *house, tx kv.Tx) error { return tx.Delete(at(tagRow, 9)) },
		"missing at its end": func(h *house, tx kv.Tx) error { return tx.Delete(at(tagRow, number(h.rows(tagCheckpoint)[0][0]))) },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t)
			c := aClock()
			w := h.wardenWith(h.db, c.set, checkpoints)
			h.use(w, 30)
			h.settled()
			c.days(3)
			h.use(w, 10)
			h.settled()
			h.change(func(tx kv.Tx) error { return change(h, tx) })
			if got := verdict(verify(t, w)); got == sound {
				t.Error("it is not seen")
			}
			must(t, second(w.PruneActivity(t.Context(), c.ago(1))))
			if got := verdict(verify(t, w)); got != sound {
				t.Errorf("what is left: %s", got)
			}
			l := exportLines(t, export(t, w))
			if a := l[len(l)-3]; a["metadata"].(map[string]any)["intact"] != false {
				t.Errorf("got %v", a)
			}
			h.values() // lists can be read
		})
	}
}
