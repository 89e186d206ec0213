package server

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strconv"

	"coffer/store"
	"coffer/store/kv"
	"coffer/store/kv/bolt"
)

// Beside the data file lie the snapshot that was taken of it before an upgrade, with
// the schema that it has, and what a rollback set aside.
var (
	snapshotName = regexp.MustCompile(`^coffer\.db\.schema-(\d+)$`)
	asideName    = regexp.MustCompile(`^coffer\.db\.schema-(\d+)-set-aside-[0-9TZ]+(-\d+)?$`)
	partName     = regexp.MustCompile(`^coffer\.db\.schema-[0-9a-zTZ-]+\.part$`)
)

func snapshotPath(dir string, schema int) string {
	return filepath.Join(dir, fmt.Sprintf("%s.schema-%d", DataFile, schema))
}

// besideData lists the files in a data directory whose names match, by their paths.
func besideData(dir string, name *regexp.Regexp) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, e := range entries {
		if name.MatchString(e.Name()) {
			all = append(all, filepath.Join(dir, e.Name()))
		}
	}
	return all, nil
}

// schemaIn is the schema in a file's name, or 0.
func schemaIn(path string, name *regexp.Regexp) int {
	found := name.FindStringSubmatch(filepath.Base(path))
	if found == nil {
		return 0
	}
	n, _ := strconv.Atoi(found[1])
	return n
}

// upgrade brings data of an earlier schema to the present one. A kill at any moment
// leaves either the data as it was, and the next upgrade begins anew, or upgraded
// data with the snapshot beside it.
type upgrade struct {
	db    *bolt.DB
	waist kv.DB
	dir   string
	log   *slog.Logger
	step  func(string) // after each; of tests
}

func (u *upgrade) run(ctx context.Context) error {
	u.may("remove what an interrupted upgrade left behind", u.tidy)
	h, err := store.ReadHeader(ctx, u.waist)
	if err != nil {
		return err
	}
	if h.Schema == 0 || h.Schema >= store.Schema {
		u.may("look for snapshots", func() error { return u.remind(h) })
		return nil
	}
	snapshot := snapshotPath(u.dir, h.Schema)
	if exists(snapshot) {
		u.log.Warn("an earlier upgrade of the data was interrupted before it changed anything; it begins anew", "snapshot", snapshot)
	}
	u.log.Info("upgrading the data: first a snapshot of it", "schema", h.Schema, "to", store.Schema, "snapshot", snapshot)
	if err := u.keep(ctx, snapshot); err != nil {
		return fmt.Errorf("the data is not upgraded, and nothing was changed: no snapshot of it could be taken: %w", err)
	}
	if _, err := store.Upgrade(ctx, u.waist); err != nil {
		return fmt.Errorf("the data stays as it was: %w", err)
	}
	u.step("upgraded")
	u.log.Info("upgraded the data", "schema", store.Schema, "before", h.Schema, "snapshot", snapshot, "to_go_back", goBack(u.dir))
	u.may("remove the snapshots from before earlier upgrades", func() error { return u.drop(h.Schema) })
	return nil
}

// may does what is no reason not to serve if it fails.
func (u *upgrade) may(what string, do func() error) {
	if err := do(); err != nil {
		u.log.Warn("could not "+what, "error", err)
	}
}

func goBack(dir string) string { return "stop the server, then: coffer rollback-upgrade --data " + dir }

// keep takes the snapshot.
func (u *upgrade) keep(ctx context.Context, snapshot string) error {
	part := snapshot + ".part"
	if err := u.db.CopyTo(ctx, part); err != nil {
		return err
	}
	u.step("copied")
	if err := bolt.Rename(part, snapshot); err != nil {
		return err
	}
	u.step("kept")
	return nil
}

// tidy removes what an upgrade or a rollback left behind that was killed: copies
// that were not finished, and a second name of the data file.
func (u *upgrade) tidy() error {
	parts, err := besideData(u.dir, partName)
	if err != nil {
		return err
	}
	for _, part := range parts {
		u.log.Warn("an earlier upgrade or rollback was interrupted before it changed anything; its unfinished copy is removed", "file", part)
		if err := os.Remove(part); err != nil {
			return err
		}
	}
	set, err := besideData(u.dir, asideName)
	if err != nil {
		return err
	}
	for _, aside := range set {
		if !sameFile(aside, u.db.Path()) {
			continue
		}
		u.log.Warn("a rollback of the last upgrade was interrupted before it changed anything", "to_try_again", goBack(u.dir))
		if err := os.Remove(aside); err != nil {
			return err
		}
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func sameFile(a, b string) bool {
	first, errFirst := os.Stat(a)
	second, errSecond := os.Stat(b)
	return errFirst == nil && errSecond == nil && os.SameFile(first, second)
}

// remind tells of a snapshot that is still there. It holds all that was in the
// data then, also what was deleted since.
func (u *upgrade) remind(h store.Header) error {
	all, err := besideData(u.dir, snapshotName)
	if err != nil {
		return err
	}
	for _, snapshot := range all {
		if schemaIn(snapshot, snapshotName) < h.Schema {
			u.log.Info("a snapshot of the data from before the last upgrade is there; remove it when you will not go back", "snapshot", snapshot, "to_go_back", goBack(u.dir))
		}
	}
	return nil
}

// drop removes the snapshots from before earlier upgrades: there is one that is
// newer.
func (u *upgrade) drop(schema int) error {
	all, err := besideData(u.dir, snapshotName)
	if err != nil {
		return err
	}
	for _, old := range all {
		if schemaIn(old, snapshotName) >= schema {
			continue
		}
		u.log.Info("removing the snapshot from before an earlier upgrade", "snapshot", old)
		if err := os.Remove(old); err != nil {
			return err
		}
	}
	return nil
}
