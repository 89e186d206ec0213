package server_test

import (
	"sync/atomic"
	"testing"
	"time"

	"coffer/server"
	"coffer/server/api"
	"coffer/server/servertest"
)

// clock is a clock that a test turns on.
type clock struct{ passed atomic.Int64 }

func (c *clock) now() time.Time            { return time.Now().Add(time.Duration(c.passed.Load())) }
func (c *clock) turn(d time.Duration)      { c.passed.Add(int64(d)) }
func (c *clock) option(cfg *server.Config) { cfg.TestOnlyNow = c.now }
func versionsFor(d time.Duration) func(*server.Config) {
	return func(c *server.Config) { c.Retention.Versions = server.For(d) }
}

func TestTheOperatorHasJobsRun(t *testing.T) {
	var c clock
	in := servertest.New(t, c.option, versionsFor(24*time.Hour))
	ann := in.User("ann")
	in.Vault(ann, repo)
	in.Push(ann, repo, "production", map[string]string{"A": "1", "B": "1"})
	in.Push(ann, repo, "production", map[string]string{"A": "2"})
	c.turn(31 * 24 * time.Hour)
	jobs := map[string]int{"trash": 1, "versions": 1, "activity": 0, "sessions": 0, "keys": 0, "devices": 0, "deliveries": 0, "repositories": 0, "grants": 0, "rosters": 0,
		"syncs": 0, "drift": 0, "trials": 0}
	for name, removed := range jobs {
		j, err := in.Operator.RunJob(t.Context(), name)
		if err != nil || j.Name != name || j.Removed != removed || j.LastRunAt == nil || j.LastError != nil || j.Running {
			t.Errorf("%s: %+v, %v", name, j, err)
		}
	}
	if _, err := in.Operator.RunJob(t.Context(), "none"); api.CodeOf(err) != api.NotFound {
		t.Errorf("got %v", err)
	}
	in.Restart()
	all, err := in.Operator.Jobs(t.Context())
	if err != nil || len(all) != len(jobs) || all[0].Name != "trash" || all[0].Removed != 1 || all[0].LastRunAt == nil {
		t.Errorf("what ran is remembered: %+v, %v", all, err)
	}
	ann.URL = in.URL
	if _, err := ann.Jobs(t.Context()); api.CodeOf(err) != api.Forbidden {
		t.Errorf("a user asks: %v", err)
	}
	if _, err := ann.RunJob(t.Context(), "trash"); api.CodeOf(err) != api.Forbidden {
		t.Errorf("a user asks: %v", err)
	}
	in.Stop()
	if _, err := server.Check(server.Config{Data: in.Data}); err != nil {
		t.Error(err)
	}
}
