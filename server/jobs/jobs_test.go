package jobs_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"coffer/server/api"
	"coffer/server/jobs"
	"coffer/server/metrics"
	"coffer/server/warden"
	"coffer/store"
	"coffer/store/kv/bolt"
	"coffer/store/kv/kvtest"
)

const day = 24 * time.Hour

// house is an unsealed warden with nothing in it.
type house struct {
	*warden.Warden
	key string
	log bytes.Buffer
}

func newHouse(t *testing.T) *house {
	t.Helper()
	return newHouseWith(t, func(s *store.Store) warden.Config {
		return warden.Config{Store: s, Log: slog.New(slog.DiscardHandler)}
	})
}

func newHouseWith(t *testing.T, config func(*store.Store) warden.Config) *house {
	t.Helper()
	db, err := bolt.Open(filepath.Join(t.TempDir(), "data.db"), bolt.Options{NoSync: true})
	must(t, err)
	s, err := store.Open(t.Context(), kvtest.Twice(db))
	must(t, err)
	h := &house{key: filepath.Join(t.TempDir(), "key")}
	h.Warden = warden.New(config(s))
	t.Cleanup(func() { must(t, errors.Join(h.Warden.Close(), s.Close())) })
	_, err = h.SetUp(t.Context(), warden.Setup{KeyFile: h.key})
	must(t, err)
	return h
}

func (h *house) runner(t *testing.T, all ...jobs.Job) *jobs.Runner {
	t.Helper()
	r := jobs.New(h.Warden, slog.New(slog.NewTextHandler(&h.log, nil)), all)
	t.Cleanup(r.Close)
	return r
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// counting is a job that counts its runs.
func counting(name string, every time.Duration, runs *atomic.Int64) jobs.Job {
	return jobs.Job{Name: name, Every: every, Run: func(context.Context) (int, error) { return int(runs.Add(1)), nil }}
}

func list(t *testing.T, r *jobs.Runner) map[string]api.Job {
	t.Helper()
	all, err := r.List(t.Context())
	must(t, err)
	byName := make(map[string]api.Job)
	for _, j := range all {
		byName[j.Name] = j
	}
	return byName
}

func TestJobsRunWhenTheyAreDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		var hourly, daily atomic.Int64
		all := []jobs.Job{counting("hourly", time.Hour, &hourly), counting("daily", day, &daily)}
		r := h.runner(t, all...)
		if l := list(t, r)["daily"]; l.LastRunAt != nil || l.Running || l.LastError != nil || l.NextRunAt.Sub(h.Now()).Round(time.Second) != time.Minute {
			t.Errorf("before the first run: %+v", l)
		}
		r.Start()
		time.Sleep(2 * time.Minute)
		if hourly.Load() != 1 || daily.Load() != 1 {
			t.Errorf("soon after the start: %d and %d", hourly.Load(), daily.Load())
		}
		time.Sleep(30 * day)
		if hourly.Load() != 721 || daily.Load() != 31 {
			t.Errorf("after 30 days: %d and %d", hourly.Load(), daily.Load())
		}
		l := list(t, r)["daily"]
		if l.Removed != 31 || l.EverySeconds != 86400 || l.LastRunAt == nil || l.NextRunAt.Sub(l.LastRunAt.Time) != day {
			t.Errorf("after 30 days: %+v", l)
		}
		r.Close()
		// Another process goes on with what this one left.
		r = h.runner(t, all...)
		r.Start()
		time.Sleep(12 * time.Hour)
		if daily.Load() != 31 || hourly.Load() < 732 {
			t.Errorf("after a restart: %d and %d", hourly.Load(), daily.Load())
		}
		time.Sleep(12 * time.Hour)
		if daily.Load() != 32 {
			t.Errorf("a day after: %d", daily.Load())
		}
	})
}

func TestAFailedJobIsTriedAgainSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		n := 0
		r := h.runner(t, jobs.Job{Name: "trash", Every: day, Run: func(context.Context) (int, error) {
			if n++; n < 3 {
				return 5, errors.New("c4n4ry")
			}
			return 1, nil
		}})
		r.Start()
		time.Sleep(2 * time.Minute)
		if l := list(t, r)["trash"]; l.LastError == nil || strings.Contains(*l.LastError, "c4n4ry") || l.Removed != 5 {
			t.Errorf("got %+v", l)
		}
		time.Sleep(30 * time.Minute)
		r.Close()
		if !strings.Contains(h.log.String(), "c4n4ry") {
			t.Error("the log says nothing")
		}
		if l := list(t, r)["trash"]; l.LastError != nil || n != 3 {
			t.Errorf("after %d runs: %+v", n, l)
		}
		all := metrics.New()
		all.Add(r.Measure)
		text, err := all.Text()
		must(t, err)
		for _, want := range []string{
			`coffer_job_runs_total{name="trash"} 3`, `coffer_job_errors_total{name="trash"} 2`, `coffer_job_removed_total{name="trash"} 11`,
			`coffer_job_last_removed{name="trash"} 1`, `coffer_job_last_failed{name="trash"} 0`, `coffer_job_last_run_timestamp_seconds{name="trash"} 9.4668`, `coffer_job_last_success_timestamp_seconds{name="trash"} 9.4668`,
		} {
			if !strings.Contains(string(text), want) {
				t.Errorf("no %s in\n%s", want, text)
			}
		}
	})
}

func TestOneJobRunsAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		inside := 0
		slow := func(ctx context.Context) (int, error) {
			if inside++; inside != 1 {
				t.Error("two jobs run at once")
			}
			time.Sleep(15 * time.Second)
			inside--
			return 0, nil
		}
		r := h.runner(t, jobs.Job{Name: "a", Every: time.Hour, Run: slow}, jobs.Job{Name: "b", Every: time.Hour, Run: slow},
			jobs.Job{Name: "c", Every: time.Hour, Run: slow})
		r.Start()
		time.Sleep(time.Minute + time.Second)
		if l := list(t, r); !l["a"].Running || l["b"].Running {
			t.Errorf("got %+v", l)
		}
		got, err := r.RunNow(t.Context(), "b") // waits for a, perhaps for b, and then not for itself
		if err != nil && api.CodeOf(err) != api.Conflict {
			t.Errorf("got %+v, %v", got, err)
		}
		time.Sleep(time.Hour / 2)
		if got, err = r.RunNow(t.Context(), "c"); err != nil || got.Running || got.LastRunAt == nil {
			t.Errorf("got %+v, %v", got, err)
		}
		if _, err := r.RunNow(t.Context(), "d"); api.CodeOf(err) != api.NotFound {
			t.Errorf("got %v", err)
		}
		time.Sleep(5 * time.Hour)
	})
}

func TestAJobStopsWithTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		forever := func(ctx context.Context) (int, error) {
			<-ctx.Done()
			return 7, ctx.Err()
		}
		r := h.runner(t, jobs.Job{Name: "long", Every: time.Hour, Run: forever})
		r.Start()
		asked := make(chan *api.Job, 1)
		go func() {
			got, err := r.RunNow(context.Background(), "long")
			if err != nil {
				t.Error(err)
			}
			asked <- got
		}()
		time.Sleep(time.Minute)
		if got := <-asked; !got.Running {
			t.Errorf("whoever asked waits no longer than %+v", got)
		}
		began := time.Now()
		r.Close()
		if took := time.Since(began); took > time.Second {
			t.Errorf("stopping took %s", took)
		}
		l := list(t, r)["long"]
		if l.Running || l.LastError == nil || !strings.Contains(*l.LastError, "goes on") || l.Removed != 7 {
			t.Errorf("got %+v", l)
		}
		if _, err := r.RunNow(t.Context(), "long"); api.CodeOf(err) != api.Unavailable {
			t.Errorf("after the end: %v", err)
		}
	})
}

func TestNothingRunsWhileSealed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		var runs atomic.Int64
		r := h.runner(t, counting("a", time.Hour, &runs))
		operator, err := h.Identify(t.Context(), warden.Credential{Operator: true})
		must(t, err)
		must(t, h.Seal(t.Context(), operator))
		r.Start()
		time.Sleep(day)
		if runs.Load() != 0 {
			t.Errorf("%d runs", runs.Load())
		}
		must(t, h.Unseal(t.Context(), api.Unseal{}))
		time.Sleep(time.Minute)
		if runs.Load() != 1 {
			t.Errorf("%d runs after unsealing", runs.Load())
		}
	})
}

// TestTheTableRuns has every job there is run once.
func TestTheTableRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		all := jobs.Table(h.Warden)
		r := h.runner(t, all...)
		r.Start()
		time.Sleep(2 * time.Minute)
		l := list(t, r)
		for _, j := range all {
			if ran := l[j.Name]; ran.LastRunAt == nil || ran.LastError != nil {
				t.Errorf("%s: %+v", j.Name, ran)
			}
		}
	})
}
