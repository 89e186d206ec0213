package server_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"coffer/server"
	"coffer/server/api"
	"coffer/server/client"
	"coffer/store"
	"coffer/store/kv"
	"coffer/store/kv/kvtest"
)

// TestDataOfEverySchemaComesOutWhole opens what earlier versions kept, and asks for
// everything that they answered.
func TestDataOfEverySchemaComesOutWhole(t *testing.T) {
	for _, schema := range schemas {
		o := openOld(t, schema)
		var log bytes.Buffer
		s, err := server.New(o.config(&log))
		o.must(err)
		op := &client.Client{URL: "http://operator", Transport: s.Operator()}
		if st, err := op.Status(t.Context()); err != nil || st.Sealed {
			t.Fatalf("it is sealed: %+v, %v", st, err)
		}
		if got := auditOf(t, op); got != o.Audit {
			t.Errorf("the audit log is %+v and was %+v", got, o.Audit)
		}
		o.holdsAll(s.Operator(), "http://in.process")
		o.must(s.Close())
		_, err = server.Check(server.Config{Data: o.dir})
		o.must(err)
		snapshot := fmt.Sprintf("%s.schema-%d", server.DataFile, schema)
		if got := o.header(snapshot); got.Schema != schema {
			t.Errorf("the snapshot has the header %+v", got)
		}
		if got, want := o.header(server.DataFile), (store.Header{Schema: store.Schema, Version: "9.9.9"}); got != want {
			t.Errorf("the data has the header %+v", got)
		}
		for _, want := range []string{"upgraded the data", snapshot, "coffer rollback-upgrade --data " + o.dir} {
			if !strings.Contains(log.String(), want) {
				t.Errorf("the log does not say %q:\n%s", want, &log)
			}
		}
		if fi, err := os.Stat(filepath.Join(o.dir, snapshot)); err != nil || fi.Mode().Perm() != 0o600 {
			t.Errorf("the snapshot: %v, %v", fi.Mode(), err)
		}
	}
}

// TestDataIsUpgradedOnce starts a second time, with the recovery key's way of
// opening still there.
func TestDataIsUpgradedOnce(t *testing.T) {
	o := openOld(t, 1)
	var log bytes.Buffer
	for range 2 {
		log.Reset()
		s, err := server.New(o.config(&log))
		o.must(err)
		o.must(s.Close())
	}
	if strings.Contains(log.String(), "upgrading") || !strings.Contains(log.String(), "from before the last upgrade is there") {
		t.Errorf("the second start says:\n%s", &log)
	}
	recovery, err := os.ReadFile("testdata/schema1/recovery.key")
	o.must(err)
	c := o.config(&log)
	c.Unseal.KeyFile = filepath.Join(o.dir, "none")
	s, err := server.New(c)
	o.must(err)
	key := api.NewSecret(strings.TrimSpace(string(recovery)))
	op := &client.Client{URL: "http://operator", Transport: s.Operator()}
	o.must(op.Unseal(t.Context(), api.Unseal{Key: &key}))
	o.must(s.Close())
}

// TestOnlyAServerUpgrades: whatever else opens old data leaves it as it is.
func TestOnlyAServerUpgrades(t *testing.T) {
	o := openOld(t, 1)
	c := o.config(io.Discard)
	c.Upgrade = false
	if _, err := server.New(c); !errors.Is(err, server.ErrOlder) {
		t.Errorf("%v", err)
	}
	checked, err := server.Check(server.Config{Data: o.dir})
	if err != nil || *checked != (server.Checked{Schema: 1, Older: true}) {
		t.Errorf("%+v, %v", checked, err)
	}
	if _, err := server.PlanRollback(t.Context(), c); !errors.Is(err, server.ErrNoSnapshot) {
		t.Errorf("%v", err)
	}
	if got := o.header(server.DataFile); got.Schema != 1 {
		t.Errorf("it has %+v", got)
	}
	if got := o.files(); got != "coffer.db coffer.key" {
		t.Errorf("there are %s", got)
	}
}

// TestLaterDataIsRefused opens data of a schema that is not known yet.
func TestLaterDataIsRefused(t *testing.T) {
	o := &old{T: t, dir: t.TempDir()}
	o.unpack("testdata/schema99")
	for _, upgrade := range []bool{true, false} {
		c := o.config(io.Discard)
		c.Upgrade = upgrade
		if _, err := server.New(c); !errors.Is(err, server.ErrNewer) || !strings.Contains(err.Error(), "schema 99") {
			t.Errorf("serve: %v", err)
		}
	}
	if _, err := server.Check(server.Config{Data: o.dir}); !errors.Is(err, server.ErrNewer) {
		t.Errorf("check: %v", err)
	}
	if got, want := o.header(server.DataFile), (store.Header{Schema: 99, Version: "99.0.0"}); got != want {
		t.Errorf("it has %+v", got)
	}
	if got := o.files(); got != "coffer.db" {
		t.Errorf("there are %s", got)
	}
}

// TestWithoutRoomForASnapshotNothingIsUpgraded fills a real disk, so that there is
// less room than the snapshot takes.
func TestWithoutRoomForASnapshotNothingIsUpgraded(t *testing.T) {
	disk := kvtest.SmallDisk(t, 2<<20)
	o := openOld(t, 1)
	dir := filepath.Join(disk.Path, "data")
	o.must(os.CopyFS(dir, os.DirFS(o.dir)))
	o.dir = dir
	disk.Fill(t, 100<<10)
	_, err := server.New(o.config(io.Discard))
	if !errors.Is(err, kv.ErrFull) || !strings.Contains(err.Error(), "nothing was changed") || !strings.Contains(err.Error(), "it takes 1 MB") {
		t.Errorf("%v", err)
	}
	disk.Empty(t)
	if got := o.header(server.DataFile); got.Schema != 1 || o.files() != "coffer.db coffer.key" {
		t.Errorf("it has %+v, and there are %s", got, o.files())
	}
	s, err := server.New(o.config(io.Discard))
	o.must(err)
	o.holdsAll(s.Operator(), "http://in.process")
	o.must(s.Close())
}

// killed runs a process of this test until it kills itself after a step, and
// returns what it said.
func (o *old) killed(env, step string) string {
	o.Helper()
	said, err := o.runs(env, step)
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		o.Fatalf("after %q: %v\n%s", step, err, said)
	}
	return said
}

func (o *old) runs(env, step string) (string, error) {
	cmd := exec.CommandContext(o.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), env+"="+o.dir, killEnv+"="+step, keyFileEnv+"="+o.key, levelEnv+"=info")
	said, err := cmd.CombinedOutput()
	return string(said), err
}

// TestAKilledUpgradeIsFinishedAtTheNextStart kills a server after each step.
func TestAKilledUpgradeIsFinishedAtTheNextStart(t *testing.T) {
	for step, then := range map[string]struct {
		schema int
		said   string
	}{
		"copied":   {1, "unfinished copy is removed"},
		"kept":     {1, "was interrupted before it changed anything; it begins anew"},
		"upgraded": {store.Schema, "a snapshot of the data from before the last upgrade is there"},
	} {
		t.Run(step, func(t *testing.T) {
			o := openOld(t, 1)
			o.killed(childEnv, step)
			if got := o.header(server.DataFile); got.Schema != then.schema {
				t.Errorf("after the kill it has %+v", got)
			}
			var log bytes.Buffer
			s, err := server.New(o.config(&log))
			o.must(err)
			if !strings.Contains(log.String(), then.said) {
				t.Errorf("the next start does not say %q:\n%s", then.said, &log)
			}
			o.holdsAll(s.Operator(), "http://in.process")
			o.must(s.Close())
			if got := o.header("coffer.db.schema-1"); got.Schema != 1 {
				t.Errorf("the snapshot has %+v", got)
			}
			if got := o.header(server.DataFile); got.Schema != store.Schema {
				t.Errorf("it has %+v", got)
			}
			if got := o.files(); got != "coffer.db coffer.db.schema-1 coffer.key" {
				t.Errorf("there are %s", got)
			}
		})
	}
}
