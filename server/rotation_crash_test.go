package server_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"coffer/server"
	"coffer/server/api"
	"coffer/server/client"
	"coffer/store"
	"coffer/store/kv"
	"coffer/store/kv/bolt"
)

// childKillEnv says after how many writes a process kills itself; "-3" is before the
// third reaches the disk.
const childKillEnv = "COFFER_TEST_KILL_AT"

// killedAt makes a process kill itself, as kill -9 does, at a write to its data.
func killedAt(text string) func(kv.DB) kv.DB {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return nil
	}
	return func(db kv.DB) kv.DB { return &suicidal{DB: db, at: n} }
}

type suicidal struct {
	kv.DB
	at     int64
	writes atomic.Int64
}

func (s *suicidal) Update(ctx context.Context, fn func(kv.Tx) error) error {
	n := s.writes.Add(1)
	if n == -s.at {
		killSelf()
	}
	err := s.DB.Update(ctx, fn)
	if n == s.at {
		killSelf()
	}
	return err
}

func killSelf() {
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Kill()
	}
	fmt.Fprintln(os.Stderr, "kill:", err)
	select {}
}

// startRotating starts a process on the data, which may be going to kill itself.
func startRotating(t *testing.T, data, killAt string) (c *child, op *client.Client, log *logFile) {
	t.Helper()
	log = &logFile{filepath.Join(t.TempDir(), "log")}
	t.Setenv(levelEnv, "info")
	t.Setenv(childKillEnv, killAt)
	c = startChildLogging(t, data, log.path)
	transport, err := server.DialOperator(data)
	if err != nil {
		t.Fatal(err)
	}
	return c, &client.Client{URL: "http://operator", Transport: transport}, log
}

type logFile struct{ path string }

func (l *logFile) holds(text string) bool {
	all, _ := os.ReadFile(l.path)
	return bytes.Contains(all, []byte(text))
}

// settled waits until no keys are being replaced.
func settled(t *testing.T, op *client.Client) {
	t.Helper()
	var r *api.Rotations
	for range 1000 {
		var err error
		r, err = op.Rotations(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(r.UnderWay) == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("the replacement of keys does not end: %+v", r.UnderWay)
}

// rotationHouse is data with a vault of some values and versions, and many others.
func rotationHouse(t *testing.T, vaults int) (data, token string, before map[string]api.Revealed) {
	t.Helper()
	data = t.TempDir()
	token, _ = crashSetup(t, data)
	s, err := server.New(server.Config{Listen: "127.0.0.1:0", Data: data, Log: server.LogConfig{Level: "error"}})
	if err != nil {
		t.Fatal(err)
	}
	ann := &client.Client{URL: "http://in.process", Token: token, Transport: s.Operator()}
	for i := range vaults {
		if _, err := ann.CreateVault(t.Context(), fmt.Sprintf("ann/v%d", i)); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 30 {
		values := make(map[string]api.Secret)
		for i := range 5 {
			values[fmt.Sprintf("K%d", i)] = api.NewSecret(fmt.Sprintf("value %d of %d", n, i))
		}
		if _, err := ann.Push(t.Context(), api.PushSecrets{RepoFullName: repo, Environment: "production", Secrets: values}); err != nil {
			t.Fatal(err)
		}
	}
	before = production(t, ann)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return data, token, before
}

func production(t *testing.T, c *client.Client) map[string]api.Revealed {
	t.Helper()
	got, err := c.Pull(t.Context(), api.PullSecrets{Repo: repo, Environment: "production", Format: api.FormatJSON})
	if err != nil {
		t.Fatal(err)
	}
	return got.Secrets
}

func TestKeysAreReplacedAcrossKills(t *testing.T) {
	for name, ask := range map[string]func(context.Context, *client.Client) error{
		"rotate": func(ctx context.Context, op *client.Client) error {
			_, err := op.Rotate(ctx, api.Rotate{RepoFullName: repo})
			return err
		},
		"rekey": func(ctx context.Context, op *client.Client) error {
			_, err := op.Rekey(ctx, api.Rekey{})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			data, token, before := rotationHouse(t, 170)
			killed, resumed := 0, 0
			for n := 1; n < 40; n++ {
				at := strconv.Itoa(n)
				if n%2 == 0 {
					at = "-" + at
				}
				c, op, _ := startRotating(t, data, at)
				ended := make(chan error, 1)
				go func() { ended <- c.cmd.Wait() }()
				begun := ask(t.Context(), op)
				died := false
				if begun == nil {
					died = endsOrSettles(op, ended)
				} else {
					select {
					case <-ended:
						died = true
					case <-time.After(20 * time.Second):
						t.Fatalf("refused: %v", begun)
					}
				}
				if died {
					killed++
				} else {
					_ = c.cmd.Process.Kill()
					<-ended
				}
				if _, err := server.Check(server.Config{Data: data}); err != nil {
					t.Fatal(err)
				}
				c, op, log := startRotating(t, data, "")
				settled(t, op)
				if log.holds("was cut short; it goes on") {
					resumed++
				}
				if diff := cmp.Diff(texts(before), texts(production(t, &client.Client{URL: c.url, Token: token}))); diff != "" {
					t.Errorf("killed at %s: %s", at, diff)
				}
				proveLog(t, data)
				c.kill()
				if t.Failed() || !died {
					break
				}
			}
			t.Logf("killed %d times, of which the next start went on %d times", killed, resumed)
			if killed < 4 || resumed < 3 {
				t.Errorf("it was killed %d times, and went on %d times: too few to prove anything", killed, resumed)
			}
		})
	}
}

// endsOrSettles waits until the process dies, or has nothing left to do.
func endsOrSettles(op *client.Client, ended chan error) (died bool) {
	for {
		select {
		case <-ended:
			return true
		case <-time.After(5 * time.Millisecond):
		}
		r, err := op.Rotations(context.Background())
		if err == nil && len(r.UnderWay) == 0 {
			return false
		}
	}
}

func texts(all map[string]api.Revealed) map[string]string {
	out := make(map[string]string, len(all))
	for k, v := range all {
		out[k] = string(v)
	}
	return out
}

// TestKeysAreReplacedAcrossKillsUnderLoad kills at any time, while many write.
func TestKeysAreReplacedAcrossKillsUnderLoad(t *testing.T) {
	rounds := 6
	if os.Getenv("COFFER_SLOW") != "" {
		rounds = 30
	}
	data := t.TempDir()
	token, writers := crashSetup(t, data)
	for round := range rounds {
		c, op, _ := startRotating(t, data, "")
		ann := &client.Client{URL: c.url, Token: token}
		settled(t, op)
		proveLog(t, data)
		var group sync.WaitGroup
		for _, w := range writers {
			w.check(t, ann)
			group.Go(func() { w.run(ann) })
		}
		time.Sleep(time.Duration(rand.IntN(60)) * time.Millisecond)
		_, err := op.Rotate(t.Context(), api.Rotate{All: true})
		if err == nil && round%2 == 0 {
			_, err = op.Rekey(t.Context(), api.Rekey{})
		}
		if err != nil {
			t.Errorf("round %d: %v", round, err)
		}
		time.Sleep(time.Duration(rand.IntN(80)) * time.Millisecond)
		c.kill()
		group.Wait()
		if _, err := server.Check(server.Config{Data: data}); err != nil {
			t.Fatal(err)
		}
		if t.Failed() {
			return
		}
	}
}

// growingDisk is a file system of some kilobytes, and how to make it larger.
func growingDisk(t *testing.T, kilobytes int) (dir string, enlarge func()) {
	t.Helper()
	dir = t.TempDir()
	mount := func(options string) error {
		return exec.CommandContext(context.WithoutCancel(t.Context()), "mount", "-t", "tmpfs", "-o", options, "tmpfs", dir).Run()
	}
	if err := mount(fmt.Sprintf("size=%dk,mode=700", kilobytes)); err != nil {
		t.Skipf("no small file system can be mounted here: %v", err)
	}
	t.Cleanup(func() { _ = exec.Command("umount", dir).Run() })
	return dir, func() {
		if err := mount("remount,size=256m"); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAFullDiskOnlyDelaysARotation rotates and rekeys on a disk that has no room left.
func TestAFullDiskOnlyDelaysARotation(t *testing.T) {
	data, enlarge := growingDisk(t, 12<<10)
	ballast := filepath.Join(data, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 200<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	token, _ := crashSetup(t, data)
	open := func() (*server.Server, *client.Client, *client.Client) {
		s, err := server.New(server.Config{Listen: "127.0.0.1:0", Data: data, Log: server.LogConfig{Level: "error", Output: new(bytes.Buffer)}})
		if err != nil {
			t.Fatal(err)
		}
		return s, &client.Client{URL: "http://operator", Transport: s.Operator()}, &client.Client{URL: "http://in.process", Token: token, Transport: s.Operator()}
	}
	s, op, ann := open()
	before := fillUp(t, ann)
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	_, errRotate := op.Rotate(t.Context(), api.Rotate{RepoFullName: repo})
	_, errRekey := op.Rekey(t.Context(), api.Rekey{})
	time.Sleep(300 * time.Millisecond)
	if diff := cmp.Diff(before, texts(production(t, ann))); diff != "" {
		t.Errorf("while the disk is full: %s", diff)
	}
	r, err := op.Rotations(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("rotate: %v; rekey: %v; under way: %+v", errRotate, errRekey, r.UnderWay)
	if errRotate == nil && errRekey == nil && len(r.UnderWay) == 0 {
		t.Error("there was room enough: this proves nothing")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	enlarge()
	s, op, ann = open()
	settled(t, op)
	if _, err := op.Rekey(t.Context(), api.Rekey{}); err != nil {
		t.Error(err)
	}
	settled(t, op)
	if diff := cmp.Diff(before, texts(production(t, ann))); diff != "" {
		t.Error(diff)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := server.Check(server.Config{Data: data}); err != nil {
		t.Error(err)
	}
}

// fillUp pushes until the disk is full, and returns what was acknowledged.
func fillUp(t *testing.T, ann *client.Client) map[string]string {
	t.Helper()
	for n := range 10_000 {
		values := make(map[string]api.Secret)
		for i := range 4 {
			values[fmt.Sprintf("K%d", i)] = api.NewSecret(strings.Repeat(strconv.Itoa(n%10), 20_000))
		}
		_, err := ann.Push(t.Context(), api.PushSecrets{RepoFullName: repo, Environment: "production", Secrets: values})
		if api.CodeOf(err) == api.Unavailable {
			return texts(production(t, ann))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Fatal("the disk is never full")
	return nil
}

// TestABackupFromTheMiddleOfARekeyRestores: both root keys are in it, and what was
// restored goes on with the replacement.
func TestABackupFromTheMiddleOfARekeyRestores(t *testing.T) {
	data, token, before := rotationHouse(t, 170)
	keyFile := data + ".key"
	for n := 1; !halfway(t, data); n++ {
		if n == 20 {
			t.Fatal("no kill leaves a rekey under way")
		}
		c, op, _ := startRotating(t, data, strconv.Itoa(n))
		_, _ = op.Rekey(t.Context(), api.Rekey{})
		_ = c.cmd.Wait()
	}
	if err := os.Rename(keyFile, keyFile+".away"); err != nil {
		t.Fatal(err)
	}
	s, err := server.New(plain(data)) // sealed, so that it stays as it is
	if err != nil {
		t.Fatal(err)
	}
	file, _ := backedUp(t, &client.Client{URL: "http://operator", Transport: s.Operator()}, api.NewBackup{})
	err = s.Close()
	text, errKey := os.ReadFile(keyFile + ".away")
	if err := errors.Join(err, errKey, os.Rename(keyFile+".away", keyFile)); err != nil {
		t.Fatal(err)
	}
	there := filepath.Join(t.TempDir(), "data")
	if _, err := server.Restore(t.Context(), plain(there), bytes.NewReader(file), server.RestoreOptions{With: key(string(text)), KeyFile: keyFile}); err != nil {
		t.Fatal(err)
	}
	if !halfway(t, there) {
		t.Error("the backup is not from the middle")
	}
	back, err := server.New(plain(there))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := back.Close(); err != nil {
			t.Error(err)
		}
	}()
	settled(t, &client.Client{URL: "http://operator", Transport: back.Operator()})
	got := production(t, &client.Client{URL: "http://in.process", Token: token, Transport: back.Operator()})
	if diff := cmp.Diff(texts(before), texts(got)); diff != "" {
		t.Error(diff)
	}
}

// halfway reports whether data of nobody's has two root keys.
func halfway(t *testing.T, data string) bool {
	t.Helper()
	db, err := bolt.Open(filepath.Join(data, server.DataFile), bolt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	st, err := store.OpenToLook(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	two := false
	err = st.View(t.Context(), func(r store.Reader) error {
		i, err := r.Instance()
		two = len(i.OldRootKey) > 0
		return err
	})
	if err := errors.Join(err, st.Close()); err != nil {
		t.Fatal(err)
	}
	return two
}
