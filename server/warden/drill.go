package warden

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"coffer/server/api"
	"coffer/server/depot"
	"coffer/store"
	"coffer/store/kv"
)

// scratch is how files and directories are named that a drill makes beside the data.
const scratch = "coffer.drill-*"

// dataFile is what the file with the data is called in their directory.
const dataFile = "coffer.db"

// Drill fetches the newest backup back and finds out whether it restores: with the
// key that the instance has for that, or with the passphrase of backups. What came
// of it is remembered and recorded. A backup that does not restore is no error of
// the drill; not to be able to find out is one.
func (w *Warden) Drill(ctx context.Context) error {
	d := w.c.Backups.Depot
	if d == nil {
		return errNoDepot()
	}
	drill := store.Drill{At: store.At(w.now()), Where: d.Where()}
	open, stop := w.whileUnsealed(ctx)
	name, said, err := w.tryNewest(open, d)
	stop()
	if errors.Is(err, context.Canceled) || api.CodeOf(err) == api.Sealed {
		return err // nothing was found out
	}
	drill.Name, drill.Said = name, said
	if err != nil {
		drill.Reason = failureOf(err).Message
		w.log.Error("the restore drill failed: look at the backups", "name", name, "where", d.Where(), "error", err)
	}
	if noted := w.noteDrill(context.WithoutCancel(ctx), drill); noted != nil {
		return noted
	}
	if found, ok := errors.AsType[*api.Error](err); ok && (found.Code == api.Invalid || found.Code == api.Forbidden) {
		return nil // another try finds the same
	}
	return err
}

// whileUnsealed is a context that ends soon after the instance was sealed: a drill
// has the root key as well.
func (w *Warden) whileUnsealed(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	keys := w.keys.Load()
	go func() {
		defer cancel()
		for keys == w.keys.Load() {
			select {
			case <-ctx.Done():
				return
			case <-time.After(sealedLook):
			}
		}
	}()
	return ctx, cancel
}

const sealedLook = 300 * time.Millisecond

// noteDrill remembers what came of a drill, and records it.
func (w *Warden) noteDrill(ctx context.Context, drill store.Drill) error {
	return w.withKeys(func(keys *keyring) error {
		now := w.now()
		return w.append(ctx, keys, store.NewIDs(now), func(tx store.Tx) ([]store.Activity, error) {
			before, err := tx.Drill()
			if err != nil {
				return nil, err
			}
			drill.Good, drill.GoodAt = before.Good, before.GoodAt
			if drill.Reason == "" {
				drill.Good, drill.GoodAt = drill.Name, drill.At
			}
			j := journal{w: w, now: now}
			meta := map[string]any{"name": drill.Name, "restores": drill.Reason == ""}
			if drill.Reason != "" {
				meta["reason"] = drill.Reason
			}
			j.note("backup_drill", meta)
			return j.notes, tx.PutDrill(drill)
		})
	})
}

// tryNewest restores the newest backup into a directory beside the data, looks at
// it, and removes it again.
func (w *Warden) tryNewest(ctx context.Context, d depot.Depot) (name, said string, err error) {
	own, err := w.ownName(ctx)
	if err != nil {
		return "", "", err
	}
	all, err := d.List(ctx, own)
	if err != nil {
		return "", "", errDepot("The backup could not be fetched back", err)
	}
	if len(all) == 0 {
		return "", "", api.Errorf(api.Conflict, "There is no backup in %s to try.", d.Where())
	}
	newest := lastMade(all, w.now())
	w.cleanScratch()
	dir, err := os.MkdirTemp(w.c.Backups.Scratch, scratch)
	if err != nil {
		return newest.String(), "", err
	}
	defer os.RemoveAll(dir)
	t := &trial{w: w, path: filepath.Join(dir, dataFile)}
	opened, err := t.fetch(ctx, d, newest)
	if err == nil {
		said, err = t.examine(ctx, opened)
	}
	return newest.String(), said, err
}

// lastMade is the newest of some backups. One that seems to come from the future,
// because a clock was wrong, would be tried for ever in the place of those made since.
func lastMade(all []depot.Object, now time.Time) depot.Name {
	for _, o := range slices.Backward(all) {
		if !o.Name.At.After(now) {
			return o.Name
		}
	}
	return all[len(all)-1].Name
}

// cleanScratch removes what a drill left that was killed.
func (w *Warden) cleanScratch() {
	left, _ := filepath.Glob(filepath.Join(w.c.Backups.Scratch, scratch)) // the pattern is sound
	for _, path := range left {
		if err := os.RemoveAll(path); err != nil {
			w.log.Warn("what a restore drill left could not be removed", "path", path, "error", err)
		}
	}
}

// trial is one backup that is tried.
type trial struct {
	w    *Warden
	path string // of the data in it
}

// fetch reads the backup to its end, and keeps its data.
func (t *trial) fetch(ctx context.Context, d depot.Depot, name depot.Name) (*OpenedBackup, error) {
	in, err := d.Get(ctx, name)
	if err != nil {
		return nil, errDepot("The backup could not be fetched back", err)
	}
	defer in.Close()
	f, err := os.OpenFile(t.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	source := &fetched{ctx: ctx, r: in}
	sink := BackupSink{Data: f, Begin: t.room}
	var opened *OpenedBackup
	if t.w.c.Backups.Passphrase != nil {
		var req api.NewBackup
		if req, err = t.w.backupRequest(); err == nil {
			opened, err = ReadBackup(source, api.OpenBackup{Passphrase: req.Passphrase}, sink)
		}
	} else {
		opened, err = t.w.ReadOwnBackup(ctx, source, sink)
	}
	if source.err != nil {
		err = errDepot("The backup could not be fetched back", source.err)
	}
	return opened, errors.Join(err, f.Close())
}

// room wants the data in a backup to fit, with what is written meanwhile.
func (t *trial) room(b api.Backup) error {
	free, known := depot.Free(filepath.Dir(t.path))
	if need := roomFor(b.DataSize); known && free < need {
		return api.Errorf(api.Unavailable, "The backup could not be tried: it takes %d MiB in %s for a moment, and %d MiB are free. Make room there.", need>>20, t.w.c.Backups.Scratch, free>>20)
	}
	return nil
}

// fetched is what comes from a depot, until its context ends. It keeps errors apart
// from what a reader makes of them.
type fetched struct {
	ctx context.Context
	r   io.Reader
	err error
}

func (f *fetched) Read(b []byte) (int, error) {
	if err := f.ctx.Err(); err != nil {
		f.err = err
		return 0, err
	}
	n, err := f.r.Read(b)
	if err != nil && err != io.EOF {
		f.err = err
	}
	return n, err
}

// examine opens the data of a backup, as restoring it would.
func (t *trial) examine(ctx context.Context, opened *OpenedBackup) (said string, err error) {
	data, check, err := t.w.c.Backups.OpenData(ctx, filepath.Dir(t.path))
	if err != nil {
		return "", t.unsound(err)
	}
	defer func() { err = errors.Join(err, data.Close()) }()
	if err := check(ctx); err != nil {
		return "", t.unsound(err)
	}
	return t.prove(ctx, opened, data)
}

// unsound is about data that do not open or do not agree.
func (t *trial) unsound(err error) error {
	if errors.Is(err, kv.ErrCorrupt) || errors.Is(err, store.ErrNewer) {
		return api.Errorf(api.Invalid, "The data in the backup are damaged: %v.", err)
	}
	return fmt.Errorf("try the data of a backup: %w", err)
}

// prove opens everything that is sealed in the data, and judges the audit log.
func (t *trial) prove(ctx context.Context, opened *OpenedBackup, data *store.Store) (string, error) {
	s, err := opened.Examine(ctx, data, t.w.now, t.w.log)
	if err != nil {
		return t.replacedKeys(ctx, opened, err)
	}
	defer s.Close()
	p, err := s.Prove(ctx)
	if err != nil {
		return "", t.unsound(err)
	}
	if !p.Good {
		return "", api.Errorf(api.Invalid, "The backup is not as it should be: %s", p.Faults[0])
	}
	return fmt.Sprintf("%s, %s and %s of the audit log", counted(p.Vaults, "vault"), counted(p.Values, "value"), counted(int(p.Log.Records), "record")), nil
}

// replacedKeys is about data that the root key does not open. Where the keys were
// replaced since, that is as it should be, and the rest was found in order; the next
// backup can be tried whole again.
func (t *trial) replacedKeys(ctx context.Context, opened *OpenedBackup, err error) (string, error) {
	if api.CodeOf(err) != api.Internal || ctx.Err() != nil {
		return "", err // not about keys: a header that contradicts the data, say
	}
	now, failed := t.w.instance(ctx)
	if failed == nil && now.Fingerprint != opened.About.Fingerprint {
		return "the data, but no values, because the keys were replaced since", nil
	}
	if errors.Is(err, errHalfReplaced) {
		return "the data, but no values, because the keys were being replaced when it was made", nil
	}
	return "", api.Errorf(api.Invalid, "The keys of the instance do not open the backup: %v.", err)
}

// counted is a number with what it counts.
func counted(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}
