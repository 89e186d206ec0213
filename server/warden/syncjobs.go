package warden

import (
	"context"
	"errors"
	"time"

	"coffer/server/access"
	"coffer/server/api"
	"coffer/server/syncplan"
	"coffer/store"
)

var errNoRun = api.Errorf(api.NotFound, "There is no such run of a sync, or it is not yours. Runs are remembered for a day after their end.")

// SyncJob tells whoever began a sync how it stands.
func (w *Warden) SyncJob(ctx context.Context, who Caller, ref api.SyncJobRef) (*api.SyncJob, error) {
	var out *api.SyncJob
	err := w.self(ctx, who, access.SyncJob, func(r store.Reader) error {
		run, err := runOf(r, who, ref)
		if err == nil {
			out = w.syncJob(run)
		}
		return err
	})
	return out, err
}

// runOf is a run that the caller began.
func runOf(r store.Reader, who Caller, ref api.SyncJobRef) (store.SyncRun, error) {
	id, err := store.ParseID(ref.ID)
	if err != nil {
		return store.SyncRun{}, errNoRun
	}
	run, err := r.SyncRun(id)
	if errors.Is(err, store.ErrNotFound) || err == nil && run.User != who.user.ID {
		return run, errNoRun
	}
	return run, err
}

func (w *Warden) syncJob(run store.SyncRun) *api.SyncJob {
	out := &api.SyncJob{
		JobID: run.ID.String(), Status: run.Status, CreatedAt: api.At(run.Began.Time()), FinishedAt: instant(run.Ended),
		Progress: &api.SyncProgress{Done: run.Created + run.Updated + run.Deleted + len(run.Failed), Total: run.Total},
	}
	if run.Ended != 0 {
		out.Result = w.resultOf(run)
	}
	return out
}

// CancelSync stops a run. What was done stays done; of what is being written just
// then it may not be known whether it was.
func (w *Warden) CancelSync(ctx context.Context, who Caller, ref api.SyncJobRef) error {
	err := w.changeSelf(ctx, who, access.SyncCancel, func(tx store.Tx, _ *journal) error {
		run, err := runOf(tx.Reader, who, ref)
		if err != nil {
			return err
		}
		if run.Ended != 0 {
			return api.Errorf(api.Conflict, "This sync has ended already.")
		}
		run.Canceled = true
		return tx.PutSyncRun(run)
	})
	if err != nil {
		return err
	}
	if id, err := store.ParseID(ref.ID); err == nil {
		w.syncs.cancel(id)
	}
	return nil
}

func (s *syncState) cancel(run store.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if stop := s.runs[run]; stop != nil {
		stop(context.Canceled)
	}
}

// ExpireSyncRuns forgets runs that ended some time ago, and leases that nobody
// renews.
func (w *Warden) ExpireSyncRuns(ctx context.Context) (int, error) {
	before := store.At(w.now().Add(-runTime))
	var due []store.SyncRun
	var stale []store.Place
	err := w.store.View(ctx, func(r store.Reader) (err error) {
		if due, err = r.SyncRunsBefore(before); err != nil {
			return err
		}
		stale, err = r.SyncLeasesBefore(before)
		return err
	})
	if err != nil {
		return 0, w.outward(err)
	}
	n, err := sweep(ctx, w, due, store.Tx.DeleteSyncRun)
	if err != nil {
		return n, err
	}
	_, err = sweep(ctx, w, stale, func(tx store.Tx, at store.Place) (bool, error) { return true, tx.DeleteSyncLease(at) })
	return n, err
}

// driftTime bounds the look at one link.
const driftTime = 30 * time.Second

// CheckDrift looks, for every link that syncs by itself and holds all there is,
// whether somebody has changed what is there since. It changes nothing.
func (w *Warden) CheckDrift(ctx context.Context) error {
	var all []store.SyncLink
	err := w.store.View(ctx, func(r store.Reader) (err error) {
		all, err = r.AutoLinks()
		return err
	})
	if err != nil {
		return w.outward(err)
	}
	for _, l := range all {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := w.checkDriftOf(ctx, l); err != nil {
			w.log.WarnContext(ctx, "a link could not be looked at for drift", "link", l.ID.String(), "error", err)
		}
	}
	return nil
}

func (w *Warden) checkDriftOf(ctx context.Context, l store.SyncLink) error {
	looking, cancel := context.WithTimeout(ctx, driftTime)
	defer cancel()
	s, err := w.linkSides(looking, l, access.SyncDiff)
	if err != nil {
		if err = s.outward(ctx, err); w.endsLink(ctx, l, err) {
			w.noteFailedLink(ctx, l, err)
		}
		return err
	}
	if s.env.Revision != l.Revision {
		return nil // what differs may be ours: it is about to be synced
	}
	differing := len(s.plan.Of(syncplan.Create, syncplan.Update))
	return w.changeLink(ctx, l, func(l *store.SyncLink) {
		l.Drift, l.Checked = differing, store.At(w.now())
	})
}
