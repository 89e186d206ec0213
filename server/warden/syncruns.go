package warden

import (
	"context"
	"errors"
	"slices"
	"time"

	"coffer/server/access"
	"coffer/server/api"
	"coffer/server/syncplan"
	"coffer/store"
)

// A run does what a plan says. It is written down before the provider is told
// anything, with the names of the keys; what became of each key is written down as
// soon as that is known. So a run that is cut short at any point is gone on with
// after the next start, from what both sides hold by then, and never deletes a key
// that the plan did not name when somebody asked for it.

const (
	syncWait  = 25 * time.Second // for which a request waits for its run
	leaseTime = 2 * time.Minute  // for which nobody else may sync with a place, unless it is renewed
	runTime   = 24 * time.Hour   // for which an ended run is remembered
	pullTries = 3                // when others keep changing the environment
)

// Sync does what its preview says, and waits for the end of it for a while, or not
// at all. A pull has always ended when this returns.
func (w *Warden) Sync(ctx context.Context, who Caller, req api.StartSync) (*api.SyncResult, error) {
	t := req.Target()
	if t.Pull() {
		return w.pullSync(ctx, who, t, req.PlanHash)
	}
	timer := time.NewTimer(w.c.SyncWait)
	defer timer.Stop()
	s, err := w.compare(ctx, who, access.SyncPush, t)
	if failed, ok := s.failedEarly(ctx, err); ok {
		return failed, nil
	}
	if err != nil {
		return nil, s.outward(ctx, err)
	}
	if err := s.refuseOtherPlan(req.PlanHash); err != nil {
		return nil, err
	}
	run, done, err := s.begin(ctx, store.ID{})
	if err != nil {
		return nil, err
	}
	if req.Async {
		return w.resultOf(run), nil
	}
	select {
	case ended, ok := <-done:
		if !ok {
			ended = run // it is gone on with later
		}
		return w.resultOf(ended), nil
	case <-w.syncs.life.Done():
		return w.resultOf(run), nil
	case <-timer.C:
		return w.resultOf(run), nil
	case <-ctx.Done():
		return nil, w.outward(ctx.Err())
	}
}

// failedEarly is the result of a sync whose provider failed before anything was
// done. What the caller has to mend is an error instead.
func (s *sides) failedEarly(ctx context.Context, err error) (*api.SyncResult, bool) {
	if err == nil || s.to == nil {
		return nil, false
	}
	e, ok := errors.AsType[*api.Error](s.outward(ctx, err))
	if !ok || e.Code != api.ProviderFailed {
		return nil, false
	}
	return &api.SyncResult{Status: api.SyncFailed, Failed: []api.SyncFailure{}, Error: e.Message}, true
}

func (s *sides) refuseOtherPlan(hash string) error {
	if hash == "" || hash == s.hash() {
		return nil
	}
	return api.Errorf(api.Conflict, "Something has changed since the preview, so nothing was synced. Look at the preview again.")
}

// begin writes a run down, takes the lease of its place, and starts it. Link is
// what runs by itself. The channel gets the run when it has ended, and is closed
// without it when the run was cut short.
func (s *sides) begin(ctx context.Context, link store.ID) (store.SyncRun, <-chan store.SyncRun, error) {
	w := s.w
	keys, err := w.holdKeys()
	if err != nil {
		return store.SyncRun{}, nil, err
	}
	defer keys.users.RUnlock()
	now := w.now()
	ids := store.NewIDs(now)
	var run store.SyncRun
	err = w.append(ctx, keys, ids, func(tx store.Tx) ([]store.Activity, error) {
		run = s.newRun(ids.Next(), link, now)
		if err := s.stillThere(tx.Reader); err != nil {
			return nil, err
		}
		if err := s.take(tx, run); err != nil {
			return nil, err
		}
		j := s.journal(now)
		j.note("secrets_sync_started", s.meta(map[string]any{"keys": s.reveals()}))
		return j.notes, tx.PutSyncRun(run)
	})
	if err != nil {
		return run, nil, w.outward(err)
	}
	return run, s.start(run), nil
}

func (s *sides) newRun(id, link store.ID, now time.Time) store.SyncRun {
	return store.SyncRun{
		ID: id, Vault: s.vault.ID, Environment: s.env.ID, User: s.who.user.ID, Connection: s.to.conn.ID, SyncLink: link, Place: s.place,
		Provider: s.to.conn.Provider, Project: s.target.Project.ID, ProjectName: s.target.Project.Name, Service: s.target.Project.Service,
		Target: s.target.Environment.Name, Pull: s.asked.Pull(), References: s.asked.AllowReferences,
		Deletes: s.plan.Keys(syncplan.Delete), Skipped: len(s.plan.Of(syncplan.Skip)),
		Total:  len(s.plan.Of(syncplan.Create, syncplan.Update, syncplan.Delete)),
		Status: api.SyncRunning, Began: store.At(now), Test: s.who.isTest(),
	}
}

// reveals are the keys whose values the provider gets to see.
func (s *sides) reveals() []string {
	names := slices.Concat(s.plan.Keys(syncplan.Create), s.plan.Keys(syncplan.Update))
	slices.Sort(names)
	return names
}

// take gets the lease of a run's place, or a conflict.
func (s *sides) take(tx store.Tx, run store.SyncRun) error {
	now := s.w.now()
	lease, err := tx.SyncLease(run.Place)
	switch {
	case errors.Is(err, store.ErrNotFound):
	case err != nil:
		return err
	case lease.Run != run.ID && now.Before(lease.Until.Time()):
		return api.Errorf(api.Conflict, "A sync with %s (%s) is under way already. Wait until it has ended, then look at the preview again.", run.ProjectName, run.Target)
	}
	return tx.PutSyncLease(run.Place, store.SyncLease{Run: run.ID, Until: store.At(now.Add(leaseTime))})
}

// release gives the place of a run free, unless somebody else has it by now.
func release(tx store.Tx, run store.SyncRun) error {
	lease, err := tx.SyncLease(run.Place)
	if errors.Is(err, store.ErrNotFound) || err == nil && lease.Run != run.ID {
		return nil
	}
	return errors.Join(err, tx.DeleteSyncLease(run.Place))
}

func (s *sides) journal(now time.Time) *journal {
	return &journal{w: s.w, who: s.who, now: now, vault: s.vault}
}

// meta is what the activity log says of a sync.
func (s *sides) meta(more map[string]any) map[string]any {
	more["provider"], more["direction"] = s.to.conn.Provider, s.direction()
	more["environment"], more["providerEnvironment"] = s.env.Name, s.target.Environment.Name
	return more
}

// start lets a run go on by itself. Whoever calls holds the keys, so that the
// process does not end meanwhile.
func (s *sides) start(run store.SyncRun) <-chan store.SyncRun {
	done := make(chan store.SyncRun, 1)
	ctx, cancel := context.WithCancelCause(s.w.syncs.life)
	s.w.syncs.enter(run.ID, cancel)
	if s.w.keys.Load() == nil {
		cancel(errHalted) // it was not there yet when the others were stopped
	}
	s.w.workers.Go(func() {
		defer cancel(nil)
		defer close(done)
		x := &execution{sides: s, run: run}
		x.push(ctx)
		s.w.syncs.leave(run.ID)
		if x.run.Ended != 0 {
			done <- x.run
			return
		}
		s.w.syncs.rouse() // there may be keys again by now
	})
	return done
}

func (s *syncState) enter(run store.ID, stop context.CancelCauseFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runs[run] = stop
	s.busy.Store(true) // should it be cut short, it is looked after
}

func (s *syncState) leave(run store.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.runs, run)
}
