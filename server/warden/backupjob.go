package warden

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"coffer/server/api"
	"coffer/server/depot"
	"coffer/store"
)

// Backups say where and when the server makes backups by itself.
type Backups struct {
	Depot      depot.Depot            // nil for none
	Every      time.Duration          // how often one is made
	DrillEvery time.Duration          // how often the newest one is tried
	Keep       Keep                   // which ones stay
	Passphrase func() (string, error) // what opens them in place of keys; nil for keys
	Scratch    string                 // directory of the data, where copies of them are made too
	DataSize   func() int64           // how large such a copy is

	// OpenData opens the data in a directory, which are to be closed, and what looks
	// for damage in them.
	OpenData func(ctx context.Context, dir string) (data *store.Store, check func(context.Context) error, err error)
}

// BackupPlan is what is configured about backups.
func (w *Warden) BackupPlan() Backups { return w.c.Backups }

// BackUp puts a backup where they are kept, and then removes those that need not
// stay: never before the new one is there.
func (w *Warden) BackUp(ctx context.Context) (removed int, err error) {
	d := w.c.Backups.Depot
	if d == nil {
		return 0, errNoDepot()
	}
	run := store.BackupRun{ID: store.NewIDs(w.now()).Next(), Started: store.At(w.now()), Where: d.Where()}
	about, size, err := w.putBackup(ctx, d)
	if errors.Is(err, context.Canceled) {
		return 0, err // the server stops, which says nothing about backups
	}
	if err == nil {
		run.Name, run.Size, run.AuditNumber, run.AuditLink = about.Name, size, about.AuditNumber, about.AuditLink
		var kept error
		if removed, kept = w.thinOut(ctx, d, run); kept != nil {
			// The backup itself is good, and the next one tries this again.
			w.log.Warn("old backups could not be removed", "error", kept)
			run.Left = kept.Error()
		}
	} else {
		run.Error = failureOf(err).Message
	}
	run.Ended = store.At(w.now())
	var last store.Drill
	noted := w.store.Update(context.WithoutCancel(ctx), func(tx store.Tx) (err error) {
		if last, err = tx.Drill(); err != nil {
			return err
		}
		return tx.AddBackupRun(run)
	})
	if err == nil && noted == nil && last.Reason != "" {
		// The one before did not restore: whether this one does is worth knowing now.
		// It is no failure of the backup if that cannot be found out.
		if failed := w.Drill(ctx); failed != nil {
			w.log.Warn("the new backup could not be tried", "error", failed)
		}
	}
	return removed, errors.Join(err, noted)
}

func errNoDepot() *api.Error {
	return api.Errorf(api.Conflict, "There is no place for backups. Name one with backup.to.")
}

// failureOf puts why there is no backup into words that may be shown.
func failureOf(err error) *api.Error {
	if shown, ok := errors.AsType[*api.Error](err); ok {
		return shown
	}
	return api.Errorf(api.Internal, "It failed; the server's log says why.")
}

// errDepot is a failure of the place of backups, whose errors are sentences for an
// operator.
func errDepot(what string, err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	return api.Errorf(api.Unavailable, "%s: %v.", what, err)
}

// ownName is what the names of this instance's backups have in common.
func (w *Warden) ownName(ctx context.Context) (own string, err error) {
	err = w.store.View(ctx, func(r store.Reader) error {
		i, err := r.Instance()
		own = ownName(i)
		return err
	})
	return own, err
}

func ownName(i store.Instance) string {
	id := i.ID.String()
	return id[len(id)-8:]
}

// putBackup makes a backup, and has it put while it is made.
func (w *Warden) putBackup(ctx context.Context, d depot.Depot) (*api.Backup, int64, error) {
	own, err := w.ownName(ctx)
	if err != nil {
		return nil, 0, err
	}
	if err := d.Clean(ctx, own); err != nil {
		w.log.Warn("what unfinished backups left could not be removed", "where", d.Where(), "error", err)
	}
	if err := d.Check(ctx, own); err != nil {
		return nil, 0, errDepot("There is no new backup", err)
	}
	if err := w.roomForCopy(); err != nil {
		return nil, 0, err
	}
	req, err := w.backupRequest()
	if err != nil {
		return nil, 0, err
	}
	p := &putting{d: d}
	about, err := w.WriteBackup(ctx, req, func(b api.Backup) (io.Writer, error) { return p.begin(ctx, b) })
	size, err := p.finish(err)
	return about, size, err
}

// roomForCopy wants room for a copy of the data beside it, and for what is written
// meanwhile: a backup must not be what fills the disk.
func (w *Warden) roomForCopy() error {
	b := w.c.Backups
	if b.DataSize == nil {
		return nil
	}
	free, known := depot.Free(b.Scratch)
	if need := roomFor(b.DataSize()); known && free < need {
		return api.Errorf(api.Unavailable, "There is no new backup: it takes %d MiB in %s for a moment, and %d MiB are free. Make room there.", need>>20, b.Scratch, free>>20)
	}
	return nil
}

// roomFor is what a copy of data takes, with something for what is written beside it.
func roomFor(size int64) uint64 { return uint64(size + size/8 + 16<<20) }

// backupRequest is what opens the backup: the passphrase that is configured, or keys.
func (w *Warden) backupRequest() (req api.NewBackup, err error) {
	if w.c.Backups.Passphrase == nil {
		return req, nil
	}
	text, err := w.c.Backups.Passphrase()
	if err != nil {
		return req, api.Errorf(api.Unavailable, "There is no new backup: the passphrase of backups cannot be read: %v. Look at backup.passphrase_file.", err)
	}
	secret := api.NewSecret(text)
	req.Passphrase = &secret
	var f api.Fields
	if req.Check(&f); f.Err() != nil {
		return req, api.Errorf(api.Invalid, "There is no new backup: the passphrase in backup.passphrase_file is too weak. %s", f.Err().Message)
	}
	return req, nil
}

// putting is a backup on its way: made at one end of a pipe, and put at the other.
type putting struct {
	d    depot.Depot
	out  *io.PipeWriter
	done chan struct{}
	size int64
	err  error
}

// cutShort is what the place is told when making a backup failed.
type cutShort struct{ error }

func (p *putting) begin(ctx context.Context, b api.Backup) (io.Writer, error) {
	name, ok := depot.ParseName(b.Name)
	if !ok {
		return nil, fmt.Errorf("%s is no name of a backup", b.Name)
	}
	if free, known := p.d.Free(); known && free < uint64(b.DataSize)+1<<20 {
		return nil, api.Errorf(api.Unavailable, "There is no new backup: it takes %d MiB in %s, and %d MiB are free. Make room there, or keep fewer backups.", (b.DataSize>>20)+1, p.d.Where(), free>>20)
	}
	in, out := io.Pipe()
	p.out, p.done = out, make(chan struct{})
	go func() {
		defer close(p.done)
		p.size, p.err = p.d.Put(ctx, name, in)
		_ = in.CloseWithError(errors.Join(errPut, p.err))
	}()
	return out, nil
}

// errPut ends the making of a backup that is not taken any more.
var errPut = errors.New("the backup is not taken any more")

// finish waits for the end of what was begun. failed is why making it failed, nil
// when it did not.
func (p *putting) finish(failed error) (int64, error) {
	if p.out == nil {
		return 0, failed
	}
	if failed != nil {
		_ = p.out.CloseWithError(cutShort{failed})
	} else {
		_ = p.out.Close()
	}
	<-p.done
	if _, ours := errors.AsType[cutShort](p.err); ours || p.err == nil {
		return p.size, failed
	}
	return 0, errDepot("There is no new backup", p.err)
}

// thinOut removes what need not stay, once the new backup is seen to be there whole.
func (w *Warden) thinOut(ctx context.Context, d depot.Depot, made store.BackupRun) (removed int, err error) {
	name, _ := depot.ParseName(made.Name)
	all, err := d.List(ctx, name.Instance)
	if err != nil {
		return 0, err
	}
	there := false
	for _, o := range all {
		there = there || o.Name == name && o.Size == made.Size
	}
	if !there {
		return 0, fmt.Errorf("%s does not list the backup that was put there; no other was removed", d.Where())
	}
	var last store.Drill
	if err := w.store.View(ctx, func(r store.Reader) (err error) { last, err = r.Drill(); return err }); err != nil {
		return 0, err
	}
	for _, o := range w.c.Backups.Keep.surplus(all, w.now(), made.Name, last.Good) {
		if err := d.Delete(ctx, o.Name); err != nil {
			return removed, err
		}
		removed++
		w.log.Info("an old backup was removed", "name", o.Name.String(), "where", d.Where())
	}
	return removed, nil
}
