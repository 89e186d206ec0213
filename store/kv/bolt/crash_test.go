package bolt

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"coffer/store/kv"
)

// TestKillLosesNothingAcknowledged kills a writing process at random moments,
// over and over on the same file.
func TestKillLosesNothingAcknowledged(t *testing.T) { killAgainAndAgain(t, childWrite) }

// TestKillDuringARewriteLosesNothingAcknowledged does so while the process
// rewrites its file over and over.
func TestKillDuringARewriteLosesNothingAcknowledged(t *testing.T) { killAgainAndAgain(t, childSwap) }

func killAgainAndAgain(t *testing.T, job string) {
	t.Helper()
	rounds := 5
	if os.Getenv("COFFER_SLOW") != "" {
		rounds = 250
	}
	path := filepath.Join(t.TempDir(), "coffer.db")
	acked := [crashWriters]int{}
	for w := range acked {
		acked[w] = -1
	}
	for range rounds {
		killOnce(t, job, path, &acked)
		d, err := Open(path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		wantPairs(t, d, acked)
		wantAlone(t, d)
		if err := d.Check(background); err != nil {
			t.Error(err)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
	t.Logf("acknowledged per writer: %v", acked)
}

// killOnce lets a child write for a moment, kills it, and notes the last
// sequence number that each of its writers had acknowledged.
func killOnce(t *testing.T, job, path string, acked *[crashWriters]int) {
	t.Helper()
	c := child(t, job, path)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != "ready" {
		t.Fatalf("the child says %q", lines.Text())
	}
	timer := time.AfterFunc(time.Duration(rand.IntN(60_000))*time.Microsecond, func() { _ = c.Process.Kill() })
	defer timer.Stop()
	for lines.Scan() {
		var w, n int
		if _, err := fmt.Sscanf(lines.Text(), "%d %d", &w, &n); err != nil {
			t.Fatalf("the child says %q", lines.Text())
		}
		acked[w] = max(acked[w], n)
	}
	_ = c.Wait()
}

// wantPairs checks that every acknowledged pair is there, no pair is half there,
// and no writer is more than its one unacknowledged update ahead.
func wantPairs(t *testing.T, d *DB, acked [crashWriters]int) {
	t.Helper()
	err := d.View(background, func(r kv.Reader) error {
		for w, last := range acked {
			for n := range last + 3 {
				_, left := r.Get(pairKey("left", w, n))
				_, right := r.Get(pairKey("right", w, n))
				if (left == nil) != (right == nil) {
					t.Errorf("pair %d of writer %d is half there", n, w)
				}
				if n <= last && left != nil {
					t.Errorf("pair %d of writer %d was acknowledged and is gone", n, w)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// wantAlone checks that nothing of ours lies beside the data file but its note.
func wantAlone(t *testing.T, d *DB) {
	t.Helper()
	names, err := filepath.Glob(d.Path() + "?*")
	if err != nil || len(names) != 1 || names[0] != notePath(d.Path()) {
		t.Errorf("beside the data file lie %v, %v", names, err)
	}
}
