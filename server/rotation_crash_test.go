package server_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
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
	"coffer/store/kv"
)

// Of a process that is to be killed: how much it logs, and after how many writes it
// kills itself. "-3" is before the third reaches the disk.
const (
	childLogEnv  = "COFFER_TEST_LOG"
	childKillEnv = "COFFER_TEST_KILL_AT"
)

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
	t.Setenv(childLogEnv, "info")
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
			data, token, before := rotationHouse(t, 90)
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
				if err := server.Check(server.Config{Data: data}); err != nil {
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
			if killed < 5 || resumed < 3 {
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
		if err := server.Check(server.Config{Data: data}); err != nil {
			t.Fatal(err)
		}
		if t.Failed() {
			return
		}
	}
}

// TestAFullDiskOnlyDelaysARotation gives the data no more room in the middle.
func TestAFullDiskOnlyDelaysARotation(t *testing.T) {
	data, token, before := rotationHouse(t, 200)
	file, err := os.Stat(filepath.Join(data, server.DataFile))
	if err != nil {
		t.Fatal(err)
	}
	open := func(most int64) (*server.Server, *client.Client) {
		s, err := server.New(server.Config{Listen: "127.0.0.1:0", Data: data, Log: server.LogConfig{Level: "error", Output: new(bytes.Buffer)},
			Store: server.StoreConfig{MaxSize: most}})
		if err != nil {
			t.Fatal(err)
		}
		return s, &client.Client{URL: "http://operator", Transport: s.Operator()}
	}
	s, op := open(file.Size())
	refused := 0
	for range 20 {
		_, errRekey := op.Rekey(t.Context(), api.Rekey{})
		_, errRotate := op.Rotate(t.Context(), api.Rotate{RepoFullName: repo})
		for _, err := range []error{errRekey, errRotate} {
			var e *api.Error
			if errors.As(err, &e) && e.Code == api.Unavailable && strings.Contains(e.Message, "full") {
				refused++
			}
		}
		ann := &client.Client{URL: "http://in.process", Token: token, Transport: s.Operator()}
		if _, err := ann.Secrets(t.Context(), repo, "production", api.Page{}); err != nil {
			t.Errorf("nobody can read while the disk is full: %v", err)
		}
	}
	t.Logf("%d were refused for want of room", refused)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s, op = open(0)
	settled(t, op)
	ann := &client.Client{URL: "http://in.process", Token: token, Transport: s.Operator()}
	if diff := cmp.Diff(texts(before), texts(production(t, ann))); diff != "" {
		t.Error(diff)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
