package warden

import (
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"coffer/server/access"
	"coffer/server/api"
	"coffer/server/depot"
	"coffer/store"
)

// KeptBackups says how it stands with the backups that the server makes by itself.
func (w *Warden) KeptBackups(ctx context.Context, who Caller, req api.ListBackups) (*api.KeptBackups, error) {
	var out *api.KeptBackups
	var runs []store.BackupRun
	var own string
	err := w.self(ctx, who, access.BackupList, func(r store.Reader) (err error) {
		i, err := r.Instance()
		if err != nil {
			return err
		}
		own = ownName(i)
		out, runs, err = w.backupState(r)
		return err
	})
	if err != nil || req.Brief || w.c.Backups.Depot == nil {
		return out, err
	}
	all, err := w.c.Backups.Depot.List(ctx, own)
	if err != nil {
		out.Problem = new(errDepot("What is there is not known", err).Error())
		return out, nil
	}
	for _, o := range slices.Backward(all) {
		out.Backups = append(out.Backups, keptBackup(o, runs))
	}
	return out, nil
}

// BackupState is what is known of backups without asking where they are kept.
func (w *Warden) BackupState(ctx context.Context) (out *api.KeptBackups, err error) {
	err = w.store.View(ctx, func(r store.Reader) (err error) {
		out, _, err = w.backupState(r)
		return err
	})
	return out, err
}

func (w *Warden) backupState(r store.Reader) (*api.KeptBackups, []store.BackupRun, error) {
	b := w.c.Backups
	out := &api.KeptBackups{Passphrase: b.Passphrase != nil, Backups: []api.KeptBackup{}}
	if b.Depot != nil {
		out.Where, out.Keep, out.KeepDays, out.KeepWeeks = b.Depot.Where(), b.Keep.Newest, b.Keep.Days, b.Keep.Weeks
		out.EverySeconds, out.DrillEverySeconds = int64(b.Every/time.Second), int64(b.DrillEvery/time.Second)
	}
	runs, err := r.BackupRuns()
	if err != nil {
		return nil, nil, err
	}
	for _, run := range runs {
		out.Last = shownRun(run)
		if run.Error == "" {
			out.LastGood = out.Last
		}
	}
	drill, err := r.Drill()
	if drill.At != 0 {
		out.Drill = shownDrill(drill)
	}
	return out, runs, err
}

func shownRun(run store.BackupRun) *api.BackupRun {
	return &api.BackupRun{
		StartedAt: api.At(run.Started.Time()), EndedAt: api.At(run.Ended.Time()), Where: run.Where, Name: orNull(run.Name),
		Size: run.Size, AuditNumber: run.AuditNumber, AuditLink: run.AuditLink, Error: orNull(run.Error), NotThinned: orNull(run.Left),
	}
}

func shownDrill(d store.Drill) *api.BackupDrill {
	return &api.BackupDrill{
		At: api.At(d.At.Time()), Where: d.Where, Name: orNull(d.Name), Restores: d.Reason == "", Reason: orNull(d.Reason),
		Found: d.Said, LastGood: orNull(d.Good), GoodAt: api.AtOrNull(d.GoodAt.Time()),
	}
}

func keptBackup(o depot.Object, runs []store.BackupRun) api.KeptBackup {
	b := api.KeptBackup{Name: o.Name.String(), CreatedAt: api.At(o.Name.At), Size: o.Size}
	for _, run := range runs {
		if run.Name == b.Name {
			b.AuditNumber = new(run.AuditNumber)
		}
	}
	return b
}

// FetchBackup hands over a backup from where they are kept. begin is told its size,
// and says where it goes. It is recorded before the first byte leaves.
func (w *Warden) FetchBackup(ctx context.Context, who Caller, req api.BackupRef, begin func(api.KeptBackup) (io.Writer, error)) error {
	if err := admit(who, access.BackupFetch); err != nil {
		return w.settle(ctx, who, access.BackupFetch, store.Vault{}, err)
	}
	found, in, err := w.openKept(ctx, req.Name)
	if err != nil {
		return w.outward(err)
	}
	defer in.Close()
	j := journal{w: w, who: who, now: w.now()}
	j.note("backup_downloaded", map[string]any{"name": req.Name})
	if err := w.write(ctx, j.notes); err != nil {
		return w.outward(err)
	}
	out, err := begin(keptBackup(found, nil))
	if err == nil {
		_, err = io.Copy(out, &fetched{ctx: ctx, r: in})
	}
	return w.outward(err)
}

// openKept opens a backup of this instance.
func (w *Warden) openKept(ctx context.Context, name string) (found depot.Object, in io.ReadCloser, err error) {
	d := w.c.Backups.Depot
	if d == nil {
		return found, nil, api.Errorf(api.NotFound, "There is no backup %q: backups are kept nowhere. Name a place with backup.to.", name)
	}
	own, err := w.ownName(ctx)
	if err != nil {
		return found, nil, err
	}
	all, err := d.List(ctx, own)
	if err != nil {
		return found, nil, errDepot("The backup could not be fetched back", err)
	}
	absent := api.Errorf(api.NotFound, "There is no backup %q in %s.", name, d.Where())
	i := slices.IndexFunc(all, func(o depot.Object) bool { return o.Name.String() == name })
	if i < 0 {
		return found, nil, absent
	}
	in, err = d.Get(ctx, all[i].Name)
	switch {
	case errors.Is(err, depot.ErrAbsent):
		err = absent
	case err != nil:
		err = errDepot("The backup could not be fetched back", err)
	}
	return all[i], in, err
}
