package store

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBackupRunsAreBounded(t *testing.T) {
	s, err := Open(ctx, openDB(t))
	must(t, err)
	n := 0
	add := func(failed string) {
		t.Helper()
		n++
		run := BackupRun{ID: ID{0: byte(n >> 8), 1: byte(n)}, Started: Millis(n), Error: failed}
		must(t, s.Update(ctx, func(tx Tx) error { return tx.AddBackupRun(run) }))
	}
	started := func() (all []Millis) {
		t.Helper()
		must(t, s.View(ctx, func(r Reader) error {
			runs, err := r.BackupRuns()
			for _, run := range runs {
				all = append(all, run.Started)
			}
			return err
		}))
		return all
	}
	for _, failed := range []string{"", "down", "down", "full", "", "down", ""} {
		add(failed)
	}
	if diff := cmp.Diff([]Millis{1, 4, 5, 6, 7}, started()); diff != "" {
		t.Error(diff)
	}
	for range 300 {
		add("")
	}
	if all := started(); len(all) != maxBackupRuns || all[len(all)-1] != 307 {
		t.Errorf("%d are kept, the last of them %d", len(all), all[len(all)-1])
	}
}

func TestThereWasNoDrill(t *testing.T) {
	s, err := Open(ctx, openDB(t))
	must(t, err)
	must(t, s.View(ctx, func(r Reader) error {
		d, err := r.Drill()
		if d != (Drill{}) {
			t.Errorf("got %+v", d)
		}
		return err
	}))
}
