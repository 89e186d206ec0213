package server_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coffer/server"
	"coffer/server/api"
	"coffer/server/client"
	"coffer/store"
	"coffer/store/kv"
)

// upgraded is data that was upgraded, and changed since.
func upgraded(t *testing.T) *old {
	t.Helper()
	o := openOld(t, 1)
	c := o.config(io.Discard)
	c.TestOnlyNow = func() time.Time { return o.Made.Add(time.Hour) }
	s, err := server.New(c)
	o.must(err)
	ann := &client.Client{URL: "http://in.process", Transport: s.Operator(), Token: o.Tokens["ann"]}
	_, err = ann.Push(t.Context(), api.PushSecrets{
		RepoFullName: "ann/app", Environment: "production", Secrets: map[string]api.Secret{"SINCE": api.NewSecret("new")}, Mode: new(api.ModeMerge),
	})
	o.must(err)
	o.must(s.Close())
	return o
}

func TestGoingBackTellsWhatIsLost(t *testing.T) {
	o := upgraded(t)
	c := o.config(io.Discard)
	taken := o.Made.Add(-time.Hour)
	o.must(os.Chtimes(filepath.Join(o.dir, "coffer.db.schema-1"), time.Time{}, taken))
	r, err := server.PlanRollback(t.Context(), c)
	o.must(err)
	o.must(r.Close()) // whoever was asked said no
	r, err = server.PlanRollback(t.Context(), c)
	o.must(err)
	if !r.Taken.Equal(taken) {
		t.Errorf("the snapshot was taken at %s", r.Taken)
	}
	if _, err := server.PlanRollback(t.Context(), c); !errors.Is(err, server.ErrLocked) {
		t.Errorf("somebody else may work on it: %v", err)
	}
	aside := "coffer.db.schema-2-set-aside-" + o.Made.Format("20060102T150405Z")
	if r.From != store.Schema || r.To != 1 || filepath.Base(r.Aside) != aside || filepath.Base(r.Snapshot) != "coffer.db.schema-1" {
		t.Errorf("%+v", r)
	}
	// What came since: it was unsealed, and somebody pushed.
	if !r.Counted || r.Lost < 1 || r.Lost > 2 || !r.Since.Equal(o.Made.Add(time.Hour)) {
		t.Errorf("lost are %d records since %s (%t)", r.Lost, r.Since, r.Counted)
	}
	o.must(r.Do())
	o.must(r.Close())
	if got, want := o.files(), "coffer.db "+aside+" coffer.key"; got != want {
		t.Errorf("there are %s", got)
	}
	if got := o.header(aside); got.Schema != store.Schema {
		t.Errorf("aside is %+v", got)
	}
	if got := o.header(server.DataFile); got.Schema != 1 {
		t.Errorf("in place is %+v", got)
	}
	if _, err := server.PlanRollback(t.Context(), c); !errors.Is(err, server.ErrRolledBack) || !strings.Contains(err.Error(), aside) {
		t.Errorf("once more: %v", err)
	}
	s, err := server.New(c)
	o.must(err)
	o.holdsAll(s.Operator(), "http://in.process")
	o.must(s.Close())
}

// TestAKilledRollbackHappenedOrNot kills it after each step.
func TestAKilledRollbackHappenedOrNot(t *testing.T) {
	for step, schema := range map[string]int{"set aside": store.Schema, "put back": 1} {
		t.Run(step, func(t *testing.T) {
			o := upgraded(t)
			o.killed(rollbackEnv, step)
			if got := o.header(server.DataFile); got.Schema != schema {
				t.Errorf("it has %+v", got)
			}
			var log bytes.Buffer
			s, err := server.New(o.config(&log))
			o.must(err)
			o.must(s.Close())
			if said := strings.Contains(log.String(), "a rollback of the last upgrade was interrupted"); said != (schema == store.Schema) {
				t.Errorf("the next start says:\n%s", &log)
			}
			if aside := strings.Contains(o.files(), "set-aside"); aside != (schema == 1) {
				t.Errorf("there are %s", o.files())
			}
			if said, err := o.runs(rollbackEnv, ""); err != nil {
				t.Errorf("it cannot be done again: %v\n%s", err, said)
			}
		})
	}
}

// TestDamagedDataIsNoObstacleToGoingBack: that is when one wants to.
func TestDamagedDataIsNoObstacleToGoingBack(t *testing.T) {
	o := upgraded(t)
	path := filepath.Join(o.dir, server.DataFile)
	o.must(os.WriteFile(path, bytes.Repeat([]byte("x"), 40<<10), 0o600))
	r, err := server.PlanRollback(t.Context(), o.config(io.Discard))
	o.must(err)
	if r.Counted || r.From != 0 || r.To != 1 {
		t.Errorf("%+v", r)
	}
	o.must(errors.Join(r.Do(), r.Close()))
	s, err := server.New(o.config(io.Discard))
	o.must(err)
	o.holdsAll(s.Operator(), "http://in.process")
	o.must(s.Close())
}

// TestADamagedSnapshotIsNotGoneBackTo cuts it off.
func TestADamagedSnapshotIsNotGoneBackTo(t *testing.T) {
	o := upgraded(t)
	o.must(os.Truncate(filepath.Join(o.dir, "coffer.db.schema-1"), 100<<10))
	if _, err := server.PlanRollback(t.Context(), o.config(io.Discard)); !errors.Is(err, kv.ErrCorrupt) {
		t.Errorf("%v", err)
	}
	if got := o.header(server.DataFile); got.Schema != store.Schema {
		t.Errorf("it has %+v", got)
	}
}

// TestGoingBackFromLaterDataIsPossible: only what is lost cannot be counted.
func TestGoingBackFromLaterDataIsPossible(t *testing.T) {
	o := upgraded(t)
	o.must(os.Remove(filepath.Join(o.dir, server.DataFile)))
	o.unpack("testdata/schema99")
	r, err := server.PlanRollback(t.Context(), o.config(io.Discard))
	o.must(err)
	if r.Counted || r.From != 99 || r.To != 1 {
		t.Errorf("%+v", r)
	}
	o.must(errors.Join(r.Do(), r.Close()))
	s, err := server.New(o.config(io.Discard))
	o.must(err)
	o.holdsAll(s.Operator(), "http://in.process")
	o.must(s.Close())
}
