package jobs_test

import (
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"coffer/server/warden"
	"coffer/store"
)

// TestAClockThatJumpsRunsNothingTwice has the clock jump a year ahead and back: what
// runs once a day runs once for each jump, and then once a day.
func TestAClockThatJumpsRunsNothingTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var jumped atomic.Int64
		h := newHouseWith(t, func(s *store.Store) warden.Config {
			return warden.Config{Store: s, Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return time.Now().Add(time.Duration(jumped.Load())) }}
		})
		var runs atomic.Int64
		r := h.runner(t, counting("backups", day, &runs))
		r.Start()
		ran := func(what string, most int64) {
			t.Helper()
			if n := runs.Swap(0); n < 1 || n > most {
				t.Errorf("%s it ran %d times", what, n)
			}
		}
		time.Sleep(time.Hour)
		ran("at first", 1)
		jumped.Store(int64(365 * day))
		time.Sleep(12 * time.Hour)
		ran("after a jump of a year", 1)
		time.Sleep(2 * day)
		ran("in two days", 2)
		jumped.Store(0)
		time.Sleep(12 * time.Hour)
		ran("after the jump back", 1)
		time.Sleep(2 * day)
		ran("in two days", 2)
		r.Close()
		jumped.Store(int64(-365 * day))
		h.runner(t, counting("backups", day, &runs)).Start()
		time.Sleep(12 * time.Hour)
		ran("started with a clock that is a year behind", 1)
	})
}
