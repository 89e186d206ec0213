package cli

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"coffer/server/offline"
)

func copiesIn(t *testing.T, r *ring) *copies {
	t.Helper()
	dir := t.TempDir()
	return &copies{dir: filepath.Join(dir, "offline"), keyFile: filepath.Join(dir, "config", "offline.key"), ring: r}
}

var annsApp = offline.Place{Server: vault, Repository: "ann/app", Environment: "production", User: "ann"}

func TestTheKeyOfCopiesIsInTheKeyring(t *testing.T) {
	r, kept := memoryRing()
	s := copiesIn(t, r)
	held := map[string]string{"A": "canary"}
	if err := s.keep(offline.Label{Place: annsApp, Revision: 1}, held); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(s.keyFile); err == nil || len(kept) != 1 {
		t.Errorf("the keyring holds %d keys, the file: %v", len(kept), err)
	}
	if _, values, err := s.open(annsApp); err != nil || values["A"] != "canary" {
		t.Errorf("got %v, %v", values, err)
	}
	delete(kept, copyKey)
	if _, _, err := s.open(annsApp); !errors.Is(err, offline.ErrKey) {
		t.Errorf("without its key: %v", err)
	}
}

func TestALockedKeyringDoesNotLoseCopies(t *testing.T) {
	r, _ := memoryRing()
	s := copiesIn(t, r)
	keep := func(revision uint64) {
		t.Helper()
		if err := s.keep(offline.Label{Place: annsApp, Revision: revision}, nil); err != nil {
			t.Fatal(err)
		}
	}
	keep(1)
	s.ring = brokenRing(func() error { return errors.New("locked") })
	if _, _, err := s.open(annsApp); !errors.Is(err, offline.ErrKey) {
		t.Errorf("locked: %v", err)
	}
	keep(2)
	s.ring = r
	if l, _, err := s.open(annsApp); err != nil || l.Revision != 2 {
		t.Errorf("unlocked again: %v, %v", l, err)
	}
}

func TestAgesAreSaidInOneUnit(t *testing.T) {
	now := time.Now()
	for age, want := range map[time.Duration]string{
		0: "less than a minute", time.Minute: "1 minute", 119 * time.Minute: "119 minutes",
		2 * time.Hour: "2 hours", 47 * time.Hour: "47 hours", 50 * time.Hour: "2 days", 240 * time.Hour: "10 days",
	} {
		if got := since(now.Add(-age), now); got != want {
			t.Errorf("%v: got %s, want %s", age, got, want)
		}
	}
}
