package server_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"coffer/crypto/cryptotest"
	"coffer/server"
	"coffer/server/api"
	"coffer/server/client"
)

// childEnv names the data directory in a process that is to be killed.
const childEnv = "COFFER_TEST_SERVE"

func TestMain(m *testing.M) {
	cryptotest.CheapKDF()
	if data := os.Getenv(childEnv); data != "" {
		serveChild(data)
		return
	}
	if data := os.Getenv(restoreEnv); data != "" {
		restoreChild(data)
		return
	}
	if data := os.Getenv(rollbackEnv); data != "" {
		rollBackChild(data)
		return
	}
	os.Exit(m.Run())
}

// serveChild serves until it is killed, and prints its address.
func serveChild(data string) {
	s, err := server.New(server.Config{
		Listen: "127.0.0.1:0", Data: data, Limits: server.NoLimits(), Log: server.LogConfig{Level: os.Getenv(levelEnv)},
		Upgrade: true, Store: server.StoreConfig{TestOnlyStep: dieAfter, TestOnlyWrap: killedAt(os.Getenv(childKillEnv))}, Hosting: nowhere(),
		Unseal: server.UnsealConfig{KeyFile: os.Getenv(keyFileEnv)},
		Backup: server.BackupConfig{To: os.Getenv(keptEnv), Keep: server.KeepBackups{Newest: 2}},
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	go func() {
		<-s.Ready()
		fmt.Println(s.Addr())
	}()
	if err := s.Run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// child is a server process.
type child struct {
	cmd *exec.Cmd
	url string
}

func startChild(t *testing.T, data string) *child {
	t.Setenv(levelEnv, "error")
	return startChildBy(t, data)
}

// startChildBy starts a server process by way of another program.
func startChildBy(t *testing.T, data string, by ...string) *child {
	t.Helper()
	return startChildWith(t, data, os.Stderr, by...)
}

// startChildLogging starts a server process whose log goes to a file.
func startChildLogging(t *testing.T, data, log string) *child {
	t.Helper()
	f, err := os.Create(log)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	return startChildWith(t, data, f)
}

func startChildWith(t *testing.T, data string, log *os.File, by ...string) *child {
	t.Helper()
	line := append(by, os.Args[0])
	cmd := exec.Command(line[0], line[1:]...)
	inOwnGroup(cmd)
	cmd.Env = append(os.Environ(), childEnv+"="+data)
	cmd.Stderr = log
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		_ = cmd.Wait()
		t.Fatalf("the server did not start: %v", err)
	}
	return &child{cmd, "http://" + strings.TrimSpace(address)}
}

func (c *child) kill() {
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
}

// writer pushes ever higher numbers into an environment of its own: every value
// of a push is the push's number.
type writer struct {
	environment  string
	tried, acked atomic.Int64
}

var crashKeys = []string{"A", "B", "C", "D", "E", "F", "G", "H"}

func (w *writer) run(c *client.Client) {
	for {
		n := w.tried.Add(1)
		values := make(map[string]api.Secret)
		for _, k := range crashKeys[:2+n%7] {
			values[k] = api.NewSecret(strconv.FormatInt(n, 10))
		}
		_, err := c.Push(context.Background(), api.PushSecrets{
			RepoFullName: repo, Environment: w.environment, Secrets: values, Mode: new(api.ModeReplace),
		})
		if err != nil {
			return
		}
		w.acked.Store(n)
	}
}

// check holds what is there against what was acknowledged.
func (w *writer) check(t *testing.T, c *client.Client) {
	t.Helper()
	got, err := c.Pull(t.Context(), api.PullSecrets{Repo: repo, Environment: w.environment, Format: api.FormatJSON})
	if err != nil {
		t.Fatal(err)
	}
	seen := int64(-1)
	for _, k := range crashKeys {
		text, there := got.Secrets[k]
		if !there {
			continue
		}
		n, err := strconv.ParseInt(string(text), 10, 64)
		if err != nil || seen != -1 && n != seen {
			t.Errorf("%s: a push is half there: %s is %q beside %d", w.environment, k, string(text), seen)
		}
		seen = n
	}
	if seen == -1 {
		seen = 0
	} else if want := int(2 + seen%7); len(got.Secrets) != want {
		t.Errorf("%s: push %d left %d keys, not %d", w.environment, seen, len(got.Secrets), want)
	}
	if acked, tried := w.acked.Load(), w.tried.Load(); seen < acked || seen > tried {
		t.Errorf("%s: holds push %d; acknowledged were %d of %d", w.environment, seen, acked, tried)
	}
	w.tried.Store(max(seen, w.acked.Load()))
}

func TestWhatWasAcknowledgedSurvivesAKill(t *testing.T) {
	rounds := 5
	if os.Getenv("COFFER_SLOW") != "" {
		rounds = 200
	}
	data := t.TempDir()
	token, writers := crashSetup(t, data)
	for range rounds {
		c := startChild(t, data)
		ann := &client.Client{URL: c.url, Token: token}
		proveLog(t, data)
		var wg sync.WaitGroup
		for _, w := range writers {
			w.check(t, ann)
			wg.Go(func() { w.run(ann) })
		}
		time.Sleep(time.Duration(20+rand.IntN(180)) * time.Millisecond)
		c.kill()
		wg.Wait()
		if _, err := server.Check(server.Config{Data: data}); err != nil {
			t.Fatal(err)
		}
		if t.Failed() {
			return
		}
	}
	pushes := int64(0)
	for _, w := range writers {
		pushes += w.acked.Load()
	}
	t.Logf("%d rounds, about %d acknowledged pushes", rounds, pushes)
}

// proveLog wants the audit log of a running server to be whole.
func proveLog(t *testing.T, data string) {
	t.Helper()
	transport, err := server.DialOperator(data)
	if err != nil {
		t.Fatal(err)
	}
	r, err := (&client.Client{URL: "http://operator", Transport: transport}).VerifyAudit(t.Context(), nil)
	if err != nil || !r.Intact || !r.Complete {
		t.Errorf("the audit log: %+v, %v", r, err)
	}
}

func crashSetup(t *testing.T, data string) (token string, writers []*writer) {
	t.Helper()
	s, err := server.New(server.Config{Listen: "127.0.0.1:0", Data: data, Log: server.LogConfig{Level: "error"}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Initialize(t.Context(), server.InitOptions{KeyFile: data + ".key"})
	op := &client.Client{URL: "http://operator", Transport: s.Operator()}
	_, errUser := op.AddLocalUser(t.Context(), api.AddLocalUser{Username: "ann", Password: api.NewSecret("a password")})
	_, errRepo := op.AddLocalRepo(t.Context(), api.AddLocalRepo{RepoFullName: repo})
	k, errKey := op.IssueToken(t.Context(), api.IssueToken{Username: "ann", Name: "k", Environment: "live",
		Scopes: []string{api.ReadSecrets, api.WriteSecrets, api.DeleteSecrets}})
	if err := errors.Join(err, errUser, errRepo, errKey); err != nil {
		t.Fatal(err)
	}
	ann := &client.Client{URL: "http://in.process", Token: string(k.Token), Transport: s.Operator()}
	if _, err := ann.CreateVault(t.Context(), repo); err != nil {
		t.Fatal(err)
	}
	for i := range 8 {
		w := &writer{environment: fmt.Sprintf("load%d", i)}
		if _, err := ann.CreateEnvironment(t.Context(), repo, w.environment, ""); err != nil {
			t.Fatal(err)
		}
		writers = append(writers, w)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return string(k.Token), writers
}
