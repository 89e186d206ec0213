package bolt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"coffer/store/kv"
)

// writeMeanwhile writes pairs that belong together until stop is called.
func writeMeanwhile(t *testing.T, d *DB) (stop func()) {
	done := make(chan bool)
	var wg sync.WaitGroup
	wg.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-done:
				return
			default:
			}
			if err := d.Update(background, func(tx kv.Tx) error { return putPair(tx, 0, n) }); err != nil {
				t.Errorf("update: %v", err)
				return
			}
		}
	})
	return func() { close(done); wg.Wait() }
}

func wantWholePairs(t *testing.T, d *DB) {
	t.Helper()
	sides := map[string]int{}
	err := d.View(background, func(r kv.Reader) error {
		return r.Scan(kv.Range{}, func(k, _ []byte) error {
			side, rest, _ := strings.Cut(string(k), "/")
			if sides[side]++; side == "left" {
				if _, err := r.Get([]byte("right/" + rest)); err != nil {
					return fmt.Errorf("%s has no other side", k)
				}
			}
			return nil
		})
	})
	if err != nil || sides["left"] == 0 || sides["left"] != sides["right"] {
		t.Errorf("%v, %v", sides, err)
	}
}

func TestBackupOfABusyDatabaseOpens(t *testing.T) {
	d := open(t, Options{NoSync: true})
	for n := range 200 {
		put(t, d, "old"+strconv.Itoa(n), make([]byte, 5000))
	}
	if err := d.Update(background, func(tx kv.Tx) error { return putPair(tx, 0, 0) }); err != nil {
		t.Fatal(err)
	}
	stop := writeMeanwhile(t, d)
	defer stop()
	for range 3 {
		var copied bytes.Buffer
		n, err := d.Backup(background, &copied)
		if err != nil || n != int64(copied.Len()) {
			t.Fatalf("%d of %d bytes, %v", n, copied.Len(), err)
		}
		path := filepath.Join(t.TempDir(), "restored.db")
		if err := os.WriteFile(path, copied.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		restored := openAt(t, path, Options{})
		wantWholePairs(t, restored)
		if err := restored.Check(background); err != nil {
			t.Error(err)
		}
	}
	if left, _ := filepath.Glob(d.Path() + ".backup-*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestBackupEndsWithItsContext(t *testing.T) {
	d := open(t, Options{NoSync: true})
	ctx, cancel := context.WithCancel(background)
	cancel()
	if _, err := d.Backup(ctx, new(bytes.Buffer)); !errors.Is(err, context.Canceled) {
		t.Errorf("backup: %v", err)
	}
	if err := d.Check(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("check: %v", err)
	}
	dest := filepath.Join(t.TempDir(), "dest.db")
	if err := d.Compact(ctx, dest); !errors.Is(err, context.Canceled) {
		t.Errorf("compact: %v", err)
	}
	if _, err := os.Stat(dest); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a failed compact leaves its file: %v", err)
	}
}

func TestCheckOfABusyDatabaseIsClean(t *testing.T) {
	d := open(t, Options{NoSync: true})
	stop := writeMeanwhile(t, d)
	defer stop()
	for range 30 {
		if err := d.Check(background); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCompactDropsWhatWasDeleted(t *testing.T) {
	d := open(t, Options{NoSync: true})
	secret := []byte("this was deleted long ago")
	for n := range 300 {
		put(t, d, fmt.Sprintf("k%04d", n), bytes.Repeat(secret, 200))
	}
	for n := range 290 {
		if err := d.Update(background, func(tx kv.Tx) error { return tx.Delete(fmt.Appendf(nil, "k%04d", n)) }); err != nil {
			t.Fatal(err)
		}
	}
	for n := 290; n < 300; n++ {
		put(t, d, fmt.Sprintf("k%04d", n), []byte("kept"))
	}
	dest := filepath.Join(t.TempDir(), "dest.db")
	if err := d.Compact(background, dest); err != nil {
		t.Fatal(err)
	}
	if err := d.Compact(background, dest); err == nil {
		t.Error("compact overwrites a file")
	}
	small := openAt(t, dest, Options{})
	if small.Size() > d.Size()/2 {
		t.Errorf("%d bytes became %d", d.Size(), small.Size())
	}
	for n := range 300 {
		if has(t, small, fmt.Sprintf("k%04d", n)) != (n >= 290) {
			t.Errorf("key %d is wrong", n)
		}
	}
	if err := small.Check(background); err != nil {
		t.Error(err)
	}
	if b, err := os.ReadFile(dest); err != nil || bytes.Contains(b, secret) {
		t.Errorf("the new file still holds deleted data, %v", err)
	}
}

func TestReservedAddressesCostNoMemoryAndNoDisk(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("reads /proc")
	}
	before := anonymous(t)
	d := open(t, Options{})
	put(t, d, "a", nil)
	if grown := anonymous(t) - before; grown > 8<<20 {
		t.Errorf("anonymous memory grew by %d bytes", grown)
	}
	if d.Size() > 1<<20 {
		t.Errorf("a nearly empty file has %d bytes", d.Size())
	}
}

// anonymous returns the bytes of anonymous memory of this process.
func anonymous(t *testing.T) int64 {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if f := strings.Fields(line); f[0] == "RssAnon:" {
			n, err := strconv.ParseInt(f[1], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n << 10
		}
	}
	t.Skip("the system does not tell")
	return 0
}
