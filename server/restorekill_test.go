package server_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"coffer/server"
	"coffer/server/api"
	"coffer/server/client"
	"coffer/server/servertest"
)

// What the processes that are to be killed are told: the data directory, a file with
// the backup, and one with the recovery key.
const (
	restoreEnv = "COFFER_TEST_RESTORE"
	keyEnv     = "COFFER_TEST_RESTORE_KEY"
	fileEnv    = "COFFER_TEST_RESTORE_FILE"
)

// restoreChild restores over what is there, and says when it begins.
func restoreChild(data string) {
	text, err := os.ReadFile(os.Getenv(keyEnv))
	file, errFile := os.Open(os.Getenv(fileEnv))
	if err := errors.Join(err, errFile); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	fmt.Println("begins")
	o := server.RestoreOptions{With: key(string(text)), Force: true}
	if _, err := server.Restore(context.Background(), plain(data), file, o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// TestARestoreThatIsKilledIsFinishedOrUndone kills the process of a restore over
// other data at any moment. The next start serves either what was there, whole, or
// what was restored, whole; nothing else is left behind, and no data are lost.
func TestARestoreThatIsKilledIsFinishedOrUndone(t *testing.T) {
	rounds := 12
	if os.Getenv("COFFER_SLOW") != "" {
		rounds = 150
	}
	in := lived(t)
	for i := range 30 { // so that there is something to write
		in.Push(in.SignIn("ann"), repo, "staging", map[string]string{fmt.Sprint("BIG", i): strings.Repeat("x", 60_000)})
	}
	file, about := backedUp(t, in.Operator, api.NewBackup{})
	in.Stop()
	if err := os.Remove(in.KeyFile()); err != nil { // so that a key file comes with the data
		t.Fatal(err)
	}
	dir := t.TempDir()
	backup, recovery := filepath.Join(dir, "b.tar.age"), filepath.Join(dir, "recovery")
	if err := errors.Join(os.WriteFile(backup, file, 0o600), os.WriteFile(recovery, []byte(in.Recovery), 0o600)); err != nil {
		t.Fatal(err)
	}
	other := servertest.New(t)
	other.User("zoe")
	other.Stop()
	was, err := os.ReadFile(filepath.Join(other.Data, server.DataFile))
	if err != nil {
		t.Fatal(err)
	}
	// How long a restore takes here, to kill all along it.
	whole := time.Now()
	runRestoreChild(t, freshData(t, was), backup, recovery, time.Minute)
	took := time.Since(whole)
	undone, finished := 0, 0
	for range rounds {
		data := freshData(t, was)
		runRestoreChild(t, data, backup, recovery, time.Duration(rand.Int64N(int64(took*5/4))))
		if isRestored(t, data, about) {
			finished++
		} else {
			undone++
		}
		if t.Failed() {
			return
		}
	}
	t.Logf("%d rounds of %s: %d restored, %d as before", rounds, took, finished, undone)
}

// freshData is a directory with other data in it.
func freshData(t *testing.T, was []byte) string {
	t.Helper()
	data := filepath.Join(t.TempDir(), "data")
	if err := errors.Join(os.Mkdir(data, 0o700), os.WriteFile(filepath.Join(data, server.DataFile), was, 0o600)); err != nil {
		t.Fatal(err)
	}
	return data
}

func runRestoreChild(t *testing.T, data, backup, recovery string, live time.Duration) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	inOwnGroup(cmd)
	cmd.Env = append(os.Environ(), restoreEnv+"="+data, fileEnv+"="+backup, keyEnv+"="+recovery)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(out, make([]byte, 7)); err != nil {
		t.Fatalf("the restore did not begin: %v", err)
	}
	kill := time.AfterFunc(live, func() { _ = cmd.Process.Kill() })
	defer kill.Stop()
	_ = cmd.Wait()
}

// isRestored starts a server on the data, and reports which of the two they are.
func isRestored(t *testing.T, data string, about *api.Backup) bool {
	t.Helper()
	c := plain(data)
	s, err := server.New(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := server.Check(c); err != nil {
		t.Fatal(err)
	}
	var names []string
	entries, err := os.ReadDir(data)
	if err != nil {
		t.Fatal(err)
	}
	aside := ""
	for _, e := range entries {
		names = append(names, e.Name())
		if strings.HasPrefix(e.Name(), "replaced-") {
			aside = e.Name()
		}
	}
	all := keyspace(t, filepath.Join(data, server.DataFile))
	restored := strings.Contains(all["01"], fmt.Sprintf("%x", about.Fingerprint))
	want := []string{server.DataFile}
	if restored {
		want = []string{server.DataFile, "coffer.key", aside}
		if aside == "" {
			t.Errorf("what was there is lost: %v", names)
		} else if old := keyspace(t, filepath.Join(data, aside, server.DataFile)); len(old) == 0 || old["01"] == all["01"] {
			t.Error("what lies aside is not what was there")
		}
	}
	slices.Sort(want)
	if !slices.Equal(names, want) {
		t.Errorf("restored: %v; left are %v", restored, names)
	}
	return restored
}

// TestAKilledServerLeavesNoHalfBackup kills a server that is being backed up: what
// came of the backup does not open, what was there does, and nothing lies about.
func TestAKilledServerLeavesNoHalfBackup(t *testing.T) {
	data := t.TempDir()
	token, _ := crashSetup(t, data)
	for range 4 {
		c := startChild(t, data)
		ann := &client.Client{URL: c.url, Token: token}
		for i := range 12 {
			_, err := ann.Push(t.Context(), api.PushSecrets{RepoFullName: repo, Environment: "load0",
				Secrets: servertest.Secrets(map[string]string{fmt.Sprint("BIG", i): strings.Repeat("x", 60_000)})})
			if err != nil {
				t.Fatal(err)
			}
		}
		transport, err := server.DialOperator(data)
		if err != nil {
			t.Fatal(err)
		}
		op := &client.Client{URL: "http://operator", Transport: transport}
		var file bytes.Buffer
		stop := time.AfterFunc(time.Duration(rand.IntN(30))*time.Millisecond, func() { _ = c.cmd.Process.Kill() })
		for err == nil {
			file.Reset()
			_, err = op.Backup(t.Context(), api.NewBackup{}, func(api.Backup) (io.Writer, error) { return &file, nil })
		}
		stop.Stop()
		c.kill()
		if left, _ := filepath.Glob(filepath.Join(data, "*backup*")); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
		if _, err := server.Check(server.Config{Data: data}); err != nil {
			t.Fatal(err)
		}
	}
}
