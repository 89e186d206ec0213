package server_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coffer/server"
	"coffer/server/api"
	"coffer/server/servertest"
	"coffer/store/kv"
	"coffer/store/kv/kvtest"
)

// onDisk starts an instance whose data lie on a small disk.
func onDisk(t *testing.T, size int64) (*servertest.Instance, *kvtest.Disk, string) {
	t.Helper()
	disk := kvtest.SmallDisk(t, size)
	data := filepath.Join(disk.Path, "data")
	in := servertest.New(t, servertest.Plain, func(c *server.Config) { c.Data = data })
	in.Data = data
	return in, disk, data
}

func wantUnavailable(t *testing.T, err error, says ...string) {
	t.Helper()
	e, ok := errors.AsType[*api.Error](err)
	if !ok || e.Code != api.Unavailable {
		t.Errorf("got %v", err)
		return
	}
	for _, text := range says {
		if !strings.Contains(e.Message, text) {
			t.Errorf("%q does not say %q", e.Message, text)
		}
	}
}

func TestAFullDiskRefusesWritesAndServesReads(t *testing.T) {
	in, disk, data := onDisk(t, 24<<20)
	ann := in.User("ann")
	in.Vault(ann, "ann/api")
	in.Push(ann, "ann/api", "staging", map[string]string{"A": "1"})
	disk.Fill(t, 0)
	var err error
	for n := 0; err == nil && n < 500; n++ {
		_, err = ann.Push(t.Context(), api.PushSecrets{RepoFullName: "ann/api", Environment: "production",
			Secrets: servertest.Secrets(map[string]string{"BIG": strings.Repeat(fmt.Sprint(n), 20_000)}), Mode: new(api.ModeMerge)})
	}
	wantUnavailable(t, err, "storage is full", "make room")
	// Reads of names go on; reads of values need a record, so they tell why not.
	if _, err := ann.Environments(t.Context(), "ann/api"); err != nil {
		t.Errorf("reading: %v", err)
	}
	wantUnavailable(t, second(in.Operator.Compact(t.Context())), "Nothing was changed", "make room first")
	s, err := in.Operator.Storage(t.Context())
	must(t, err)
	if s.RoomBytes == nil || *s.RoomBytes > 1<<20 {
		t.Errorf("%+v", s)
	}

	disk.Empty(t)
	in.Push(ann, "ann/api", "staging", map[string]string{"A": "2"})
	must(t, second(in.Operator.Compact(t.Context())))
	if got := in.Pull(ann, "ann/api", "staging"); got["A"] != "2" {
		t.Errorf("%v", got)
	}
	in.Stop()
	must(t, second(server.Check(server.Config{Data: data})))
}

// TestAnErasureOnAFullDiskIsFinishedWhenThereIsRoom: the keys are destroyed at
// once, what is left in the file goes later.
func TestAnErasureOnAFullDiskIsFinishedWhenThereIsRoom(t *testing.T) {
	in, disk, _ := onDisk(t, 24<<20)
	ann := in.User("ann")
	for _, repo := range []string{"ann/old", "ann/kept"} {
		in.Vault(ann, repo)
		for n := range 12 {
			in.Push(ann, repo, "staging", map[string]string{"BIG": strings.Repeat(fmt.Sprint(n%10), 60_000)})
		}
	}
	disk.Fill(t, 512<<10)
	e, err := in.Operator.Erase(t.Context(), "ann/old")
	must(t, err)
	if e.Receipt != nil {
		t.Error("there is a receipt though the data could not be compacted")
	}
	if _, err := ann.Vault(t.Context(), "ann/old"); err == nil {
		t.Error("the vault is still there")
	}
	s, err := in.Operator.Storage(t.Context())
	must(t, err)
	if s.Last == nil || s.Last.Error == nil || !strings.Contains(*s.Last.Error, "make room first") {
		t.Errorf("%+v", s.Last)
	}
	disk.Empty(t)
	must(t, second(in.Operator.RunJob(t.Context(), "erasures")))
	e, err = in.Operator.Erasure(t.Context(), e.ID)
	must(t, err)
	if e.Receipt == nil {
		t.Fatal("there is no receipt though there is room")
	}
	must(t, second(server.VerifyReceipt([]byte(*e.Receipt), "")))
	if got := in.Pull(ann, "ann/kept", "staging"); len(got["BIG"]) != 60_000 {
		t.Error("another vault lost something")
	}
	in.Stop()
}

func TestAReadOnlyDataDirectorySaysSo(t *testing.T) {
	in, disk, data := onDisk(t, 24<<20)
	ann := in.User("ann")
	in.Vault(ann, "ann/api")
	undo := disk.NoNewFiles(t, data)
	wantUnavailable(t, second(in.Operator.Compact(t.Context())), "Nothing was changed", "read-only", "make it writable")
	if _, err := ann.Vault(t.Context(), "ann/api"); err != nil {
		t.Error(err)
	}
	undo()
	in.Stop()
	disk.ReadOnly(t, true)
	defer disk.ReadOnly(t, false)
	for what, dir := range map[string]string{"data": data, "no data": filepath.Join(disk.Path, "new")} {
		_, err := server.New(server.Config{Data: dir, Log: server.LogConfig{Level: "error", Output: os.Stderr}})
		if err == nil || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "read-only") {
			t.Errorf("%s: %v", what, err)
		}
		if what == "data" && !errors.Is(err, kv.ErrReadOnly) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
