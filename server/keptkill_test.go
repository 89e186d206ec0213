package server_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coffer/crypto"
	"coffer/server"
	"coffer/server/api"
	"coffer/server/backup"
	"coffer/server/client"
	"coffer/server/servertest"
)

// keptEnv tells the process that is to be killed where it keeps backups.
const keptEnv = "COFFER_TEST_KEPT"

// TestAKilledBackupOrDrill kills a server at any moment of its backups and drills:
// what is named like a backup then restores, what was good is still there, and the
// next backup and drill clear up.
func TestAKilledBackupOrDrill(t *testing.T) {
	rounds := 6
	if os.Getenv("COFFER_SLOW") != "" {
		rounds = 60
	}
	data, kept := t.TempDir(), t.TempDir()
	t.Setenv(keptEnv, kept)
	token, _ := crashSetup(t, data)
	key, err := os.ReadFile(data + ".key")
	must(t, err)
	whole := 0
	for round := range rounds {
		c := startChild(t, data)
		ann := &client.Client{URL: c.url, Token: token}
		_, err := ann.Push(t.Context(), api.PushSecrets{RepoFullName: repo, Environment: "load0",
			Secrets: servertest.Secrets(map[string]string{fmt.Sprint("BIG", round): strings.Repeat("x", 60_000)})})
		must(t, err)
		transport, err := server.DialOperator(data)
		must(t, err)
		op := &client.Client{URL: "http://operator", Transport: transport}
		stop := time.AfterFunc(time.Duration(rand.IntN(1200))*time.Millisecond, func() { _ = c.cmd.Process.Kill() })
		for err == nil {
			if _, err = op.RunJob(t.Context(), "backups"); err == nil {
				_, err = op.RunJob(t.Context(), "drill")
			}
		}
		stop.Stop()
		c.kill()
		files, err := filepath.Glob(filepath.Join(kept, "*.tar.age"))
		must(t, err)
		if len(files) < min(whole, 2) {
			t.Errorf("of at least %d backups %d are left", whole, len(files))
		}
		whole = len(files)
		for _, name := range files {
			readsWhole(t, name, key)
		}
	}
	c := startChild(t, data)
	transport, err := server.DialOperator(data)
	must(t, err)
	op := &client.Client{URL: "http://operator", Transport: transport}
	if failed := runs(t, op, "backups") + runs(t, op, "drill"); failed != "" {
		t.Error(failed)
	}
	c.kill()
	for _, pattern := range []string{filepath.Join(kept, "*.partial"), filepath.Join(data, "coffer.drill-*"), filepath.Join(data, "*.backup-*")} {
		if left, _ := filepath.Glob(pattern); len(left) > 0 {
			t.Errorf("left: %q", left)
		}
	}
	_, err = server.Check(server.Config{Data: data})
	must(t, err)
}

// readsWhole reads a backup to its end.
func readsWhole(t *testing.T, name string, key []byte) {
	t.Helper()
	f, err := os.Open(name)
	must(t, err)
	defer f.Close()
	id, err := crypto.ParseIdentity(key)
	must(t, err)
	plain, err := id.Decrypt(f)
	if err == nil {
		_, err = backup.Read(plain, backup.Sink{})
	}
	if err != nil {
		t.Errorf("%s is half a backup: %v", name, err)
	}
}
