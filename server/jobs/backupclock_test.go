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

// TestAClockThatJumpsMakesNoHundredBackups has the clock jump a year ahead and back:
// what runs once a day goes on to run about once a day.
func TestAClockThatJumpsMakesNoHundredBackups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var jumped atomic.Int64
		h := newHouseWith(t, func(s *store.Store) warden.Config {
			return warden.Config{Store: s, Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return time.Now().Add(time.Duration(jumped.Load())) }}
		})
		var runs atomic.Int64
		r := h.runner(t, counting("backups", day, &runs))
		r.Start()
		ran := func(what string, least, most int64) {
			t.Helper()
			if n := runs.Swap(0); n < least || n > most {
				t.Errorf("%s it ran %d times", what, n)
			}
		}
		time.Sleep(time.Hour)
		ran("at first", 1, 1)
		jumped.Store(int64(365 * day))
		time.Sleep(12 * time.Hour)
		ran("after a jump of a year", 0, 1)
		time.Sleep(3 * day)
		ran("in three days", 2, 4)
		jumped.Store(0)
		time.Sleep(12 * time.Hour)
		ran("after the jump back", 0, 1)
		time.Sleep(3 * day)
		ran("in three days", 2, 4)
		r.Close()
		jumped.Store(int64(-365 * day))
		h.runner(t, counting("backups", day, &runs)).Start()
		time.Sleep(12 * time.Hour)
		ran("started with a clock that is a year behind", 1, 1)
	})
}
