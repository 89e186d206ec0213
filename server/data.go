package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"coffer/store"
	"coffer/store/kv"
	"coffer/store/kv/bolt"
)

// Errors of data that cannot be worked on as it is.
var (
	ErrLocked = kv.ErrLocked   // another process works on it
	ErrOlder  = store.ErrOlder // an earlier version wrote it, and it is not upgraded yet
	ErrNewer  = store.ErrNewer // a later version wrote it
)

// openData opens the data to work on it, and upgrades it first when that is wanted.
func openData(ctx context.Context, c Config, log *slog.Logger) (*bolt.DB, *store.Store, error) {
	db, waist, err := c.openFile()
	if err != nil {
		return nil, nil, err
	}
	if c.Upgrade {
		u := upgrade{db, waist, c.Data, log, c.Store.step}
		if err := u.run(ctx); err != nil {
			return nil, nil, errors.Join(err, db.Close())
		}
	}
	st, err := store.Open(ctx, waist)
	if err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	if c.Upgrade {
		// On a full disk it must be possible to serve all the same.
		if err := st.NoteVersion(ctx, c.Version); err != nil {
			log.Warn("could not note which version serves the data", "error", err)
		}
	}
	return db, st, nil
}

// openFile opens the data file, with what tests put in front of it.
func (c Config) openFile() (*bolt.DB, kv.DB, error) {
	db, err := bolt.Open(filepath.Join(c.Data, DataFile), bolt.Options{MaxSize: c.Store.MaxSize})
	if err != nil {
		return nil, nil, err
	}
	if c.Store.TestOnlyWrap != nil {
		return db, c.Store.TestOnlyWrap(db), nil
	}
	return db, db, nil
}

// Checked is what Check looked at.
type Checked struct {
	Schema int  // of the data; 0 when nobody has set the instance up
	Older  bool // it waits for an upgrade
}

// Check looks for damage in the data of an instance that is not running. Data of an
// earlier schema is looked at as it is.
func Check(cfg Config) (*Checked, error) {
	ctx := context.Background()
	if _, err := os.Stat(filepath.Join(cfg.Data, DataFile)); err != nil {
		return nil, fmt.Errorf("there is no data in %s: %w", cfg.Data, err)
	}
	db, waist, err := cfg.openFile()
	if err != nil {
		return nil, err
	}
	c, err := check(ctx, db, waist)
	return c, errors.Join(err, db.Close())
}

func check(ctx context.Context, db *bolt.DB, waist kv.DB) (*Checked, error) {
	if err := db.Check(ctx); err != nil {
		return nil, err
	}
	h, err := store.ReadHeader(ctx, waist)
	if err != nil {
		return nil, err
	}
	st, err := store.OpenToLook(ctx, waist)
	if err != nil {
		return nil, err
	}
	return &Checked{h.Schema, h.Schema != 0 && h.Schema < store.Schema}, st.Check(ctx)
}
