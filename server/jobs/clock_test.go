package jobs_test

import (
	"bytes"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"coffer/server/jobs"
	"coffer/server/warden"
	"coffer/store"
	"coffer/store/kv/bolt"
)

const year = 365 * day

// turned is a house whose wall clock can be set apart from the process's own.
func turned(t *testing.T, by *atomic.Int64) *house {
	t.Helper()
	db, err := bolt.Open(filepath.Join(t.TempDir(), "data.db"), bolt.Options{NoSync: true})
	must(t, err)
	s, err := store.Open(t.Context(), db)
	must(t, err)
	h := &house{}
	now := func() time.Time { return time.Now().Add(time.Duration(by.Load())) }
	h.Warden = warden.New(warden.Config{Store: s, Log: slog.New(slog.DiscardHandler), Now: now})
	t.Cleanup(func() { must(t, errors.Join(h.Warden.Close(), s.Close())) })
	_, err = h.SetUp(t.Context(), warden.Setup{KeyFile: filepath.Join(t.TempDir(), "key")})
	must(t, err)
	return h
}

// TestAClockAYearAheadRemovesNothingForADay sets the clock ahead while the server
// runs, restarts it, and sets the clock right.
func TestAClockAYearAheadRemovesNothingForADay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var by, removing, keeping atomic.Int64
		h := turned(t, &by)
		keeps := counting("keeps", time.Hour, &keeping)
		keeps.Keeps = true
		all := []jobs.Job{counting("removes", time.Hour, &removing), keeps}
		r := h.runner(t, all...)
		r.Start()
		time.Sleep(90 * time.Minute)
		if removing.Load() != 2 {
			t.Fatalf("%d runs before", removing.Load())
		}
		by.Store(int64(year))
		time.Sleep(12 * time.Hour)
		if removing.Load() != 2 || keeping.Load() < 12 || r.Leap() <= 11*time.Hour {
			t.Errorf("after the leap: %d removed, %d kept, %s to wait", removing.Load(), keeping.Load(), r.Leap())
		}
		if l := list(t, r)["removes"]; l.NextRunAt.Before(h.Now().Add(11 * time.Hour)) {
			t.Errorf("it says that it runs at %s", l.NextRunAt)
		}
		r.Close()
		if !strings.Contains(h.log.String(), "the clock leapt ahead") {
			t.Errorf("the log says %s", h.log.String())
		}
		h.log = bytes.Buffer{}
		r = h.runner(t, all...)
		r.Start()
		time.Sleep(12 * time.Hour)
		if removing.Load() != 2 || r.Leap() == 0 {
			t.Error("a restart makes the clock be believed")
		}
		by.Store(0)
		time.Sleep(2 * time.Hour)
		if removing.Load() != 4 || r.Leap() != 0 {
			t.Errorf("after it was set right: %d runs", removing.Load())
		}
		r.Close()
		if !strings.Contains(h.log.String(), "remove again") {
			t.Errorf("the log says %s", h.log.String())
		}
	})
}

func TestALongAbsenceIsBelievedAfterADayOrAtOnceByHand(t *testing.T) {
	for _, byHand := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var by, runs atomic.Int64
			h := turned(t, &by)
			job := counting("removes", time.Hour, &runs)
			r := h.runner(t, job)
			r.Start()
			time.Sleep(5 * time.Minute)
			r.Close()
			by.Store(int64(60 * day)) // it was off
			r = h.runner(t, job)
			r.Start()
			time.Sleep(23 * time.Hour)
			if runs.Load() != 1 {
				t.Errorf("%d runs within the day", runs.Load())
			}
			if byHand {
				_, err := r.RunNow(t.Context(), "removes")
				must(t, err)
				if runs.Load() != 2 || r.Leap() != 0 {
					t.Errorf("by hand: %d runs, %s to wait", runs.Load(), r.Leap())
				}
			}
			time.Sleep(2*time.Hour + time.Minute)
			if runs.Load() < 3 {
				t.Errorf("%d runs after the day", runs.Load())
			}
		})
	}
}

func TestAClockBehindKeepsNobodyWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var by, runs atomic.Int64
		h := turned(t, &by)
		r := h.runner(t, counting("removes", time.Hour, &runs))
		r.Start()
		time.Sleep(5 * time.Minute)
		by.Store(int64(-year))
		time.Sleep(5 * time.Hour)
		if runs.Load() < 3 || r.Leap() != 0 {
			t.Errorf("%d runs, %s to wait", runs.Load(), r.Leap())
		}
	})
}
