package bolt

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coffer/store/kv"
)

func TestSecondProcessIsToldWhoHoldsTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "coffer.db")
	c := child(t, childHold, path)
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatalf("the child says %q, %v", line, err)
	}
	_, err = Open(path, Options{Timeout: 50 * time.Millisecond})
	if !errors.Is(err, kv.ErrLocked) {
		t.Fatalf("open of a held file: %v", err)
	}
	for _, want := range []string{path, fmt.Sprintf("process %d ", c.Process.Pid)} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q does not name %q", err, want)
		}
	}
	// Open waits: the other process ends while it does.
	time.AfterFunc(100*time.Millisecond, func() { in.Close() })
	d := openAt(t, path, Options{Timeout: 10 * time.Second})
	put(t, d, "a", nil)
	if err := c.Wait(); err != nil {
		t.Error(err)
	}
}

func TestStaleNoteDoesNoHarm(t *testing.T) {
	path := filepath.Join(t.TempDir(), "coffer.db")
	if err := os.WriteFile(notePath(path), []byte("1 2020-01-01T00:00:00Z elsewhere\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d := openAt(t, path, Options{})
	_, err := Open(path, Options{Timeout: time.Millisecond})
	if want := fmt.Sprintf("process %d ", os.Getpid()); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v does not name %q", err, want)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(notePath(path)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the note is still there after close: %v", err)
	}
}

func TestFileIsForItsOwnerOnly(t *testing.T) {
	d := open(t, Options{})
	fi, err := os.Stat(d.Path())
	if err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("mode is %v, %v", fi.Mode(), err)
	}
}
