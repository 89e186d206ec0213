package server

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"coffer/server/api"
	"coffer/server/datadir"
	"coffer/server/warden"
	"coffer/store"
	"coffer/store/kv"
	"coffer/store/kv/bolt"
)

// openRecovered opens the data, after a restore that was cut short was finished or
// undone. No other begins before they are open.
func (s *Server) openRecovered(ctx context.Context) (err error) {
	found, release, err := datadir.Recover(s.c.Data)
	if err != nil {
		return explainDirectory(err, s.c.Data)
	}
	defer release()
	if text := found.String(); text != "" {
		s.log.Error(text) // at this level every command shows it
	}
	s.db, s.store, err = openData(ctx, s.c, s.log)
	return err
}

// RestorePending reports whether a restore into a data directory was cut short so
// late that opening the data finishes it.
func RestorePending(data string) bool { return datadir.Pending(data) }

func explainDirectory(err error, dir string) error {
	switch {
	case errors.Is(err, datadir.ErrUnfinished):
		return api.Errorf(api.Unavailable, "The backup is restored and could not be moved into its place in %s (%v). Mend that: the next start of the server or coffer restore finishes it.", dir, err)
	case errors.Is(err, datadir.ErrBusy):
		return api.Errorf(api.Conflict, "A backup is being restored into %s by another process. Wait until it is done.", dir)
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, kv.ErrFull):
		return api.Errorf(api.Unavailable, "There is not enough room on the disk of %s. Nothing was changed. Make room, or use another disk.", dir)
	case errors.Is(err, syscall.EROFS), errors.Is(err, os.ErrPermission):
		return api.Errorf(api.Forbidden, "Nothing can be written in %s (%v). Nothing was changed.", dir, err)
	}
	return err
}

// LookAtBackup says of a backup what it says to everybody, without a key.
func LookAtBackup(file io.Reader) (*api.BackupProof, error) { return warden.LookAtBackup(file) }

// VerifyBackup reads a whole backup, checks its data, opens every value in it and
// judges its audit log. It needs room for the data in a temporary directory; below
// temp if that is given.
func VerifyBackup(ctx context.Context, cfg Config, file io.Reader, with api.OpenBackup, temp string, progress func(done, total int64)) (*api.BackupProof, error) {
	dir, err := os.MkdirTemp(temp, "coffer-verify-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	b, err := unpack(ctx, cfg, dir, file, with, progress)
	if err != nil {
		return nil, err
	}
	defer b.close()
	return b.proof, nil
}

// unpacked is a backup whose data were written to a directory and checked.
type unpacked struct {
	store    *store.Store
	specimen *warden.Specimen
	proof    *api.BackupProof
}

func (b *unpacked) close() error {
	b.specimen.Close()
	return b.store.Close()
}

// unpack writes the data of a backup into a directory, and checks them.
func unpack(ctx context.Context, cfg Config, dir string, file io.Reader, with api.OpenBackup, progress func(done, total int64)) (*unpacked, error) {
	read := &counted{ctx: ctx, r: file}
	opened, err := writeData(filepath.Join(dir, DataFile), read, with, progress)
	if err != nil {
		return nil, explainDirectory(err, dir)
	}
	// Data of an earlier version are brought up to date. The backup is what there is
	// to go back to.
	cfg.Data, cfg.Store.MaxSize, cfg.Upgrade = dir, 0, true
	db, st, err := openData(ctx, cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, explainData(err, dir)
	}
	b, err := examine(ctx, cfg, opened, db, st)
	if err != nil {
		return nil, errors.Join(explainData(err, dir), st.Close())
	}
	b.proof.Size = read.n
	return b, nil
}

func explainData(err error, dir string) error {
	if errors.Is(err, kv.ErrCorrupt) {
		return api.Errorf(api.Invalid, "The data in the backup is damaged: %v", err)
	}
	return explainDirectory(err, dir)
}

func writeData(path string, file io.Reader, with api.OpenBackup, progress func(done, total int64)) (_ *warden.OpenedBackup, err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	to := &written{f: f, progress: progress}
	opened, err := warden.ReadBackup(file, with, warden.BackupSink{Data: to, Begin: func(about api.Backup) error {
		to.total = about.DataSize
		return nil
	}})
	if err != nil {
		return nil, err
	}
	return opened, f.Sync()
}

// examine checks the data in all ways there are.
func examine(ctx context.Context, cfg Config, opened *warden.OpenedBackup, db *bolt.DB, st *store.Store) (*unpacked, error) {
	if err := db.Check(ctx); err != nil {
		return nil, err
	}
	now := cfg.TestOnlyNow
	if now == nil {
		now = time.Now
	}
	s, err := opened.Examine(ctx, st, now, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	proof, err := s.Prove(ctx)
	if err != nil {
		s.Close()
		return nil, err
	}
	if err := st.Check(ctx); err != nil {
		proof.Good = false
		proof.Faults = append(proof.Faults, err.Error())
	}
	return &unpacked{st, s, proof}, nil
}

// counted counts what is read, and ends with its context.
type counted struct {
	ctx context.Context
	r   io.Reader
	n   int64
}

func (c *counted) Read(b []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := c.r.Read(b)
	c.n += int64(n)
	return n, err
}

// written tells how far the writing is.
type written struct {
	f           *os.File
	done, total int64
	progress    func(done, total int64)
}

func (w *written) Write(b []byte) (int, error) {
	n, err := w.f.Write(b)
	w.done += int64(n)
	if w.progress != nil {
		w.progress(w.done, w.total)
	}
	return n, err
}

// RestoreOptions say how a backup is restored.
type RestoreOptions struct {
	With         api.OpenBackup
	KeyFile      string   // the file that With.Key was read from, if that is a key file
	NoKeyFile    bool     // make no key file where nothing here unseals the data
	Force        bool     // move aside what is in the directory
	AcceptFaults bool     // restore what is not as it should be all the same
	Ignore       []string // files that may lie in the directory: the backup, keys

	Progress func(done, total int64)

	// Found is told what became of a restore that was cut short before.
	Found func(text string)

	// Ready is called when everything is prepared and nothing was changed: the last
	// moment to show a new recovery key.
	Ready func(*api.Restored) error
}

// Restore puts a backup into the data directory of an instance that is not running.
// Until everything is written and checked nothing there changes; then it is there at
// once, and a process that is killed in between leaves one or the other.
func Restore(ctx context.Context, cfg Config, file io.Reader, o RestoreOptions) (*api.Restored, error) {
	place, err := datadir.Begin(cfg.Data)
	if err != nil {
		return nil, explainDirectory(err, cfg.Data)
	}
	defer place.Abandon()
	if text := place.Recovered().String(); text != "" && o.Found != nil {
		o.Found(text)
	}
	old, keep, err := holdOld(ctx, cfg, o)
	if err != nil {
		return nil, explainDirectory(err, cfg.Data)
	}
	defer old.close()
	restored, err := prepare(ctx, cfg, place, file, o)
	if err != nil {
		return nil, err
	}
	if restored.Aside, err = place.Commit(time.Now(), keep); err != nil {
		return nil, explainDirectory(err, cfg.Data)
	}
	return restored, nil
}

// prepare makes everything ready in its place.
func prepare(ctx context.Context, cfg Config, place *datadir.Restore, file io.Reader, o RestoreOptions) (*api.Restored, error) {
	b, err := unpack(ctx, cfg, place.Place(), file, o.With, o.Progress)
	if err != nil {
		return nil, err
	}
	restored, err := adopt(ctx, cfg, place, b, o)
	if err := errors.Join(err, b.close()); err != nil {
		return nil, explainDirectory(err, cfg.Data)
	}
	if o.Ready != nil {
		err = o.Ready(restored)
	}
	return restored, err
}

func adopt(ctx context.Context, cfg Config, place *datadir.Restore, b *unpacked, o RestoreOptions) (*api.Restored, error) {
	if !b.proof.Good && !o.AcceptFaults {
		return nil, api.Errorf(api.Invalid, "Something is wrong with this backup; nothing was changed. Restore an older one, or this one all the same with --accept-faults.\n- %s", strings.Join(b.proof.Faults, "\n- "))
	}
	data, err := filepath.Abs(cfg.Data)
	if err != nil {
		return nil, err
	}
	restored, err := b.specimen.Adopt(ctx, warden.Adoption{
		Start: warden.Start{
			KeyFile: cfg.Unseal.KeyFile, Sources: cfg.Unseal.sources(), NewKeyFile: filepath.Join(data, keyFileName),
		},
		Staged: filepath.Join(place.Place(), keyFileName), KeyFile: o.KeyFile, NoKeyFile: o.NoKeyFile, WorkFactor: cfg.Unseal.WorkFactor,
	})
	if err == nil {
		restored.Data = data
	}
	return restored, err
}

// holder keeps a data file from being used.
type holder struct{ db *bolt.DB }

func (h holder) close() {
	if h.db != nil {
		_ = h.db.Close()
	}
}

// holdOld looks at what is in the data directory, and keeps servers away from it.
// It reports whether there is something to keep.
func holdOld(ctx context.Context, cfg Config, o RestoreOptions) (old holder, keep bool, err error) {
	names, err := datadir.Occupied(cfg.Data, o.Ignore...)
	if err != nil {
		return old, false, err
	}
	path := filepath.Join(cfg.Data, DataFile)
	if _, err := os.Stat(path); err == nil {
		old.db, err = bolt.Open(path, bolt.Options{})
		switch {
		case errors.Is(err, kv.ErrLocked):
			return old, false, api.Errorf(api.Conflict, "A server is running on %s. Stop it first.", cfg.Data)
		case err != nil && !errors.Is(err, kv.ErrCorrupt):
			return old, false, err
		case err == nil && isBlank(ctx, old.db):
			names = without(names, DataFile)
		}
	}
	if len(names) > 0 && !o.Force {
		old.close()
		return holder{}, false, api.Errorf(api.Conflict, "%s is not empty: it holds %s. Nothing was changed. Restore into another directory, or add --force: it moves the data there aside.", cfg.Data, strings.Join(names, ", "))
	}
	return old, len(names) > 0, nil
}

// isBlank reports whether nobody has set the instance up yet.
func isBlank(ctx context.Context, db *bolt.DB) bool {
	st, err := store.Open(ctx, db)
	if err != nil {
		return false
	}
	err = st.View(ctx, func(r store.Reader) error {
		_, err := r.Instance()
		return err
	})
	return errors.Is(err, store.ErrNotFound)
}

func without(names []string, name string) []string {
	var rest []string
	for _, n := range names {
		if n != name {
			rest = append(rest, n)
		}
	}
	return rest
}
