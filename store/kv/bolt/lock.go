package bolt

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"coffer/store/kv"
)

// gate is what a data file passes before bbolt sees it: it is locked, and
// walked for damage while nobody else can write to it.
type gate struct {
	timeout time.Duration
	f       *os.File
}

func (g *gate) open(path string, flag int, mode os.FileMode) (*os.File, error) {
	f, err := os.OpenFile(path, flag, mode)
	if err != nil {
		return nil, err
	}
	if err := g.pass(f); err != nil {
		f.Close()
		return nil, err
	}
	g.f = f
	return f, nil
}

func (g *gate) pass(f *os.File) error {
	// bbolt locks the same open file again, which is granted at once.
	if err := lockFile(f, g.timeout); err != nil {
		return err
	}
	fi, err := f.Stat()
	if err != nil || fi.Size() == 0 {
		return err
	}
	return verifyAtOpen(f, fi.Size())
}

func (g *gate) close() {
	if g.f != nil {
		g.f.Close()
	}
}

// notePath is a small file beside the data that tells who holds the lock. It
// grants nothing: a stale one is only ever read when somebody holds the lock.
func notePath(path string) string { return path + ".lock" }

// leaveNote ignores errors: on a full disk the data must open all the same.
func leaveNote(path string) {
	host, _ := os.Hostname()
	note := fmt.Sprintf("%d %s %s\n", os.Getpid(), time.Now().UTC().Format(time.RFC3339), host)
	_ = os.WriteFile(notePath(path), []byte(note), 0o600)
}

func removeNote(path string) { _ = os.Remove(notePath(path)) }

// lockedBy is the error for a data file that somebody else holds.
func lockedBy(path string) error {
	note, _ := os.ReadFile(notePath(path))
	words := strings.Fields(string(note))
	if len(words) < 2 {
		return fmt.Errorf("%s is %w", path, kv.ErrLocked)
	}
	pid, since, host := words[0], words[1], ""
	if len(words) > 2 {
		host = words[2]
	}
	here, _ := os.Hostname()
	if host != here {
		return fmt.Errorf("%s is %w: process %s on host %s since %s", path, kv.ErrLocked, pid, host, since)
	}
	if !alive(pid) {
		// The note is from before a crash, and the new holder is still opening.
		return fmt.Errorf("%s is %w (not process %s, which is gone)", path, kv.ErrLocked, pid)
	}
	return fmt.Errorf("%s is %w: process %s since %s", path, kv.ErrLocked, pid, since)
}

func alive(pid string) bool {
	n, err := strconv.Atoi(pid)
	if err != nil {
		return false
	}
	p, err := os.FindProcess(n)
	if err != nil {
		return false
	}
	err = p.Signal(syscall.Signal(0))
	return err == nil || err == syscall.EPERM
}
