package server_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"coffer/server"
	"coffer/server/api"
	"coffer/server/servertest"
	"coffer/store/kv/kvtest"
)

// ready is what a load balancer is told.
func ready(t *testing.T, url string) (int, string) {
	t.Helper()
	res, err := http.Get(url + "/ready")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(body)
}

func TestAFullDiskIsNotReady(t *testing.T) {
	disk := kvtest.SmallDisk(t, 4<<20).Path
	in := servertest.New(t, servertest.Plain, func(c *server.Config) { c.Data = filepath.Join(disk, "data") })
	ann := in.User("ann")
	in.Vault(ann, repo)
	if status, body := ready(t, in.URL); status != 200 || !strings.Contains(body, `"ready"`) {
		t.Fatalf("at first: %d %s", status, body)
	}
	// What is free of the disk goes first, then what is free within the data file.
	ballast := filepath.Join(disk, "ballast")
	f, err := os.Create(ballast)
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	_ = f.Close()
	for i := 0; ; i++ {
		value := strings.Repeat("x", max(200, 60_000>>(i/20)))
		_, err := ann.Push(t.Context(), api.PushSecrets{RepoFullName: repo, Environment: "production", Mode: new(api.ModeMerge),
			Secrets: servertest.Secrets(map[string]string{fmt.Sprintf("KEY_%d", i): value})})
		if api.CodeOf(err) == api.Unavailable && len(value) == 200 {
			break
		}
		if err != nil && api.CodeOf(err) != api.Unavailable || i > 1000 {
			t.Fatalf("push %d: %v", i, err)
		}
	}
	time.Sleep(1100 * time.Millisecond)
	if status, body := ready(t, in.URL); status != 503 || !strings.Contains(body, `"unavailable"`) {
		t.Errorf("on a full disk: %d %s", status, body)
	}
	if _, err := ann.Vault(t.Context(), repo); err != nil {
		t.Errorf("what needs no writing: %v", err)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	time.Sleep(1100 * time.Millisecond)
	if status, body := ready(t, in.URL); status != 200 {
		t.Errorf("with room again: %d %s", status, body)
	}
	in.Push(ann, repo, "production", map[string]string{"A": "1"})
}

// TestAReadOnlyDirectoryIsSaidAtStart has data on a disk that takes no writes.
func TestAReadOnlyDirectoryIsSaidAtStart(t *testing.T) {
	disk := kvtest.SmallDisk(t, 16<<20).Path
	data := filepath.Join(disk, "data")
	in := servertest.New(t, servertest.Plain, func(c *server.Config) { c.Data = data })
	in.Stop()
	if err := syscall.Mount("none", disk, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Skipf("it cannot be mounted read-only: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Mount("none", disk, "tmpfs", syscall.MS_REMOUNT, ""); err != nil {
			t.Error(err)
		}
	})
	s, err := server.New(server.Config{Data: data, Listen: "127.0.0.1:0"})
	if err == nil {
		_ = s.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "read-only") || !strings.Contains(err.Error(), data) {
		t.Errorf("got %v", err)
	}
}

func TestReadyFollowsTheSeal(t *testing.T) {
	in := servertest.New(t)
	if err := in.Operator.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	if status, body := ready(t, in.URL); status != 503 || !strings.Contains(body, `"sealed"`) {
		t.Errorf("sealed: %d %s", status, body)
	}
	fresh, _ := servertest.Fresh(t)
	if status, body := ready(t, fresh.URL); status != 503 || !strings.Contains(body, `"uninitialized"`) {
		t.Errorf("not set up: %d %s", status, body)
	}
}

func TestAnExaminationSeesASmallDisk(t *testing.T) {
	disk := kvtest.SmallDisk(t, 16<<20).Path
	in := servertest.New(t, servertest.Plain, func(c *server.Config) { c.Data = filepath.Join(disk, "data") })
	finding(t, examined(t, in), "problem", "disk", "writing is about to fail")
	disk = kvtest.SmallDisk(t, 200<<20).Path
	in = servertest.New(t, servertest.Plain, func(c *server.Config) { c.Data = filepath.Join(disk, "data") })
	finding(t, examined(t, in), "warning", "disk", "free")
}
