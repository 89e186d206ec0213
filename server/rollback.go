package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"coffer/store"
	"coffer/store/kv"
	"coffer/store/kv/bolt"
)

// Rollback is what going back to the data from before the last upgrade comes to.
type Rollback struct {
	Data     string // the data file
	Snapshot string // what takes its place
	Aside    string // the data file's name afterwards

	From, To int       // their schemas; From is 0 if the data cannot be read
	Version  string    // of the coffer that served the snapshot last; "" if that is not known
	Taken    time.Time // when the snapshot was taken

	// Lost is how many records of activity are in the data and not in the snapshot,
	// and Since the time of the first of them. Both are known only if Counted.
	Counted bool
	Lost    uint64
	Since   time.Time

	db   *bolt.DB // the data, so that nobody else works on it; nil if it is damaged
	step func(string)
}

// Errors of PlanRollback.
var (
	// ErrNoSnapshot means that there is nothing to go back to.
	ErrNoSnapshot = errors.New("there is no snapshot of the data from before an upgrade")
	// ErrRolledBack means that somebody went back already.
	ErrRolledBack = errors.New("this was done already")
)

// PlanRollback looks what going back would mean, and keeps everybody else from
// working on the data until the Rollback is closed. Damaged data is no obstacle.
func PlanRollback(ctx context.Context, cfg Config) (*Rollback, error) {
	r := &Rollback{Data: filepath.Join(cfg.Data, DataFile), step: cfg.Store.step}
	if _, err := os.Stat(r.Data); err != nil {
		return nil, fmt.Errorf("there is no data in %s: %w", cfg.Data, err)
	}
	var err error
	if r.db, err = bolt.Open(r.Data, bolt.Options{}); err != nil && !errors.Is(err, kv.ErrCorrupt) {
		return nil, err
	}
	now := time.Now
	if cfg.TestOnlyNow != nil {
		now = cfg.TestOnlyNow
	}
	if err := r.plan(ctx, cfg.Data, now()); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

func (r *Rollback) plan(ctx context.Context, dir string, now time.Time) error {
	if r.db != nil {
		h, err := store.ReadHeader(ctx, r.db)
		if err != nil && !errors.Is(err, kv.ErrCorrupt) {
			return err
		}
		r.From = h.Schema
	}
	if err := r.choose(dir); err != nil {
		return err
	}
	name := fmt.Sprintf("%s.schema-%d-set-aside-%s", DataFile, r.From, now.UTC().Format("20060102T150405Z"))
	r.Aside = filepath.Join(dir, name)
	for n := 2; exists(r.Aside); n++ {
		r.Aside = filepath.Join(dir, fmt.Sprintf("%s-%d", name, n))
	}
	info, err := os.Stat(r.Snapshot)
	if err != nil {
		return err
	}
	r.Taken = info.ModTime()
	snapshot, err := bolt.Open(r.Snapshot, bolt.Options{})
	if err != nil {
		return fmt.Errorf("the snapshot cannot be gone back to: %w", err)
	}
	err = errors.Join(r.compare(ctx, snapshot), snapshot.Close())
	// Closing it may write to it, and its time is what the next plan tells.
	return errors.Join(err, os.Chtimes(r.Snapshot, time.Time{}, r.Taken))
}

// choose finds the newest snapshot of an earlier schema than the data has.
func (r *Rollback) choose(dir string) error {
	all, err := besideData(dir, snapshotName)
	if err != nil {
		return err
	}
	for _, snapshot := range all {
		if n := schemaIn(snapshot, snapshotName); n > r.To && (n < r.From || r.From == 0) {
			r.Snapshot, r.To = snapshot, n
		}
	}
	if r.Snapshot != "" {
		return nil
	}
	set, err := besideData(dir, asideName)
	if err != nil {
		return err
	}
	for _, aside := range set {
		if n := schemaIn(aside, asideName); n > r.From {
			return fmt.Errorf("%w: the data in %s has schema %d, and what it was before it went back is in %s", ErrRolledBack, dir, r.From, aside)
		}
	}
	return fmt.Errorf("%w in %s", ErrNoSnapshot, dir)
}

// compare holds the snapshot against its name, and counts what is newer than it.
func (r *Rollback) compare(ctx context.Context, snapshot *bolt.DB) error {
	h, err := store.ReadHeader(ctx, snapshot)
	if err != nil {
		return err
	}
	if h.Schema != r.To {
		return fmt.Errorf("%w: %s has schema %d inside", kv.ErrCorrupt, r.Snapshot, h.Schema)
	}
	r.Version = h.Version
	before, err := lastRecord(ctx, snapshot)
	if err != nil || r.db == nil {
		return err
	}
	last, err := lastRecord(ctx, r.db)
	if err != nil || last < before {
		return nil // of a later version, or damaged: what is in there is not known here
	}
	r.Counted, r.Lost = true, last-before
	if r.Lost > 0 {
		r.Since, err = timeOf(ctx, r.db, before+1)
		r.Counted = err == nil
	}
	return nil
}

// lastRecord is the number of the last record of activity.
func lastRecord(ctx context.Context, db kv.DB) (n uint64, err error) {
	s, err := store.OpenToLook(ctx, db)
	if err != nil {
		return 0, err
	}
	err = s.View(ctx, func(r store.Reader) error {
		end, err := r.LogEnd()
		n = end.Number
		return err
	})
	return n, err
}

// timeOf is the time of a record of activity.
func timeOf(ctx context.Context, db kv.DB, number uint64) (at time.Time, err error) {
	s, err := store.OpenToLook(ctx, db)
	if err != nil {
		return at, err
	}
	err = s.View(ctx, func(r store.Reader) error {
		row, err := r.ActivityRow(number)
		if err != nil {
			return err
		}
		a, err := row.Activity()
		at = a.At.Time()
		return err
	})
	return at, err
}

// Do puts the snapshot in the place of the data, which goes aside. A kill before
// that leaves the data as it was, a kill after it the snapshot in its place: at no
// time is there no data.
func (r *Rollback) Do() error {
	if err := bolt.Keep(r.Data, r.Aside); err != nil {
		return fmt.Errorf("nothing was changed: %w", err)
	}
	r.step("set aside")
	if err := bolt.Rename(r.Snapshot, r.Data); err != nil {
		return fmt.Errorf("put %s in the place of %s: %w", r.Snapshot, r.Data, err)
	}
	r.step("put back")
	return nil
}

// Close lets others work on the data again.
func (r *Rollback) Close() error {
	if r.db == nil {
		return nil
	}
	return r.db.Close()
}
