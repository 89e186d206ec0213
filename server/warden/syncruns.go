package warden

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"coffer/server/access"
	"coffer/server/api"
	"coffer/server/hosting"
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

// Sync does what its preview says, and waits for the end of it for a while.
func (w *Warden) Sync(ctx context.Context, who Caller, req api.StartSync) (*api.SyncResult, error) {
	t := req.Target()
	if t.Pull() {
		return w.pullSync(ctx, who, t, req.PlanHash)
	}
	timer := time.NewTimer(cmp.Or(w.c.TestOnlySyncWait, syncWait))
	defer timer.Stop()
	s, err := w.compare(ctx, who, access.SyncPush, t)
	if failed, ok := s.failedEarly(err); ok {
		return failed, nil
	}
	if err != nil {
		return nil, s.outward(err)
	}
	if err := s.refuseOtherPlan(req.PlanHash); err != nil {
		return nil, err
	}
	run, done, err := s.begin(ctx, store.ID{})
	if err != nil {
		return nil, err
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
func (s *sides) failedEarly(err error) (*api.SyncResult, bool) {
	if err == nil || s.to == nil {
		return nil, false
	}
	e, ok := errors.AsType[*api.Error](s.outward(err))
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

// execution is a push under way.
type execution struct {
	*sides
	run  store.SyncRun
	told map[string]bool // keys that it is known of what became of them
	dim  map[string]bool // keys that were written and whose marks are not known
}

// push does the plan: creates and updates first, and deletes last, if all of those
// went well.
func (x *execution) push(ctx context.Context) {
	x.told, x.dim = make(map[string]bool), make(map[string]bool)
	x.run.Failed = nil
	beat := x.keepLease(ctx, x.run)
	err := x.persevere(ctx, x.write)
	if err == nil && len(x.run.Failed) == 0 {
		err = x.persevere(ctx, x.remove)
	}
	if err == nil && len(x.dim) > 0 {
		x.learnMarks(ctx)
	}
	beat()
	if x.halted(ctx) {
		x.letGo(context.WithoutCancel(ctx))
		return
	}
	x.leftOver(ctx, err)
	if err := x.end(context.WithoutCancel(ctx)); err != nil {
		x.w.log.Error("the end of a sync could not be written down; it is gone on with later", "run", x.run.ID.String(), "error", err)
		x.run.Ended = 0
	}
}

// halted reports whether a run is to be gone on with later.
func (x *execution) halted(ctx context.Context) bool {
	return x.w.syncs.life.Err() != nil || x.w.keys.Load() == nil || errors.Is(context.Cause(ctx), errHalted)
}

// letGo leaves the rest of a run to whoever has the keys next.
func (x *execution) letGo(ctx context.Context) {
	err := x.w.store.Update(ctx, func(tx store.Tx) error { return release(tx, x.run) })
	if err != nil {
		x.w.log.Warn("the lease of a sync could not be given back; it goes on when that has run out", "error", err)
	}
}

// keepLease renews the lease while calls take their time, until what it returns is
// called.
func (x *execution) keepLease(ctx context.Context, run store.SyncRun) func() {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(leaseTime / 4)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				if err := x.w.store.Update(ctx, func(tx store.Tx) error { return x.take(tx, run) }); err != nil && ctx.Err() == nil {
					x.w.log.Warn("the lease of a sync could not be renewed", "error", err)
				}
			}
		}
	}()
	return func() { cancel(); <-ended }
}

// persevere does a part of the plan, and what is left of it once more when the
// credential ended in the middle and could be renewed.
func (x *execution) persevere(ctx context.Context, part func(context.Context) error) error {
	err := part(ctx)
	if errors.Is(err, hosting.ErrCredential) {
		if err = x.w.renewConnection(ctx, x.to); err == nil {
			err = part(ctx)
		}
	}
	return x.renounce(ctx, err)
}

// write creates and updates.
func (x *execution) write(ctx context.Context) error {
	var all []hosting.Write
	for _, step := range x.plan.Of(syncplan.Create, syncplan.Update) {
		if x.told[step.Key] {
			continue
		}
		one := hosting.Write{Key: step.Key, Value: step.Value, Was: step.Was}
		if step.Action == syncplan.Create {
			one.Was = nil
		}
		all = append(all, one)
	}
	if len(all) == 0 {
		return nil
	}
	return x.to.Write(ctx, x.to.cred, x.target, all, func(o hosting.Outcome) error { return x.done(ctx, o) })
}

// renounce notes that a credential is over.
func (x *execution) renounce(ctx context.Context, err error) error {
	if errors.Is(err, hosting.ErrCredential) {
		return errors.Join(err, x.w.breakConnection(context.WithoutCancel(ctx), x.to.conn))
	}
	return err
}

// remove deletes what the plan says, and nothing that it did not say when somebody
// asked for it.
func (x *execution) remove(ctx context.Context) error {
	var all []hosting.Variable
	for _, step := range x.plan.Of(syncplan.Delete) {
		if slices.Contains(x.run.Deletes, step.Key) && !x.told[step.Key] {
			all = append(all, *step.Was)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return x.to.Delete(ctx, x.to.cred, x.target, all, func(o hosting.Outcome) error { return x.done(ctx, o) })
}

// step is the plan's step for a key.
func (x *execution) step(name string) syncplan.Step {
	for _, s := range x.plan.Steps {
		if s.Key == name {
			return s
		}
	}
	return syncplan.Step{Key: name, Action: syncplan.Keep}
}

// done writes down what became of one variable.
func (x *execution) done(ctx context.Context, o hosting.Outcome) error {
	if x.told[o.Key] {
		return nil
	}
	x.told[o.Key] = true
	step := x.step(o.Key)
	if o.Err != nil {
		x.fail(step, o.Err)
		return ctx.Err()
	}
	switch step.Action {
	case syncplan.Create:
		x.run.Created++
	case syncplan.Update:
		x.run.Updated++
	case syncplan.Delete:
		x.run.Deleted++
	}
	hidden := x.to.Describe().WriteOnly || step.Was != nil && !step.Was.Readable
	if hidden && o.Mark == "" && step.Action != syncplan.Delete {
		x.dim[step.Key] = true
	}
	// What is done is known, even if nobody waits for it any more.
	err := x.w.store.Update(context.WithoutCancel(ctx), func(tx store.Tx) error { return x.remember(tx, step, o.Mark) })
	switch {
	case err != nil:
		return err
	case x.run.Canceled:
		return context.Canceled
	case x.halted(ctx):
		return errHalted
	}
	return ctx.Err()
}

// remember writes what a key is known to hold, and how far the run has come.
func (x *execution) remember(tx store.Tx, step syncplan.Step, mark string) error {
	if err := x.take(tx, x.run); err != nil {
		return err
	}
	stored, err := tx.SyncRun(x.run.ID)
	if errors.Is(err, store.ErrNotFound) {
		return errGone // with the vault
	}
	if err != nil {
		return err
	}
	if err := x.stillThere(tx.Reader); err != nil {
		return err
	}
	x.run.Canceled = x.run.Canceled || stored.Canceled
	if step.Action == syncplan.Delete {
		err = tx.DeleteLedgerEntry(x.env, x.place, step.Key)
	} else {
		err = tx.PutLedgerEntry(x.env, x.place, step.Key, store.LedgerEntry{
			Fingerprint: x.fingerprint(step.Key, step.Value), Mark: mark, Revision: x.env.Revision, At: store.At(x.w.now()),
		})
	}
	return errors.Join(err, tx.PutSyncRun(x.run))
}

// learnMarks looks once more at variables whose values are never given back, to
// know what was written just now by the marks that it got. Without them it is
// written once more than need be, at worst.
func (x *execution) learnMarks(ctx context.Context) {
	all, err := x.to.List(ctx, x.to.cred, x.target)
	if err == nil {
		err = x.w.store.Update(ctx, func(tx store.Tx) error { return x.putMarks(tx, all) })
	}
	if err != nil {
		x.w.log.Info("the marks of what a sync wrote are not known", "run", x.run.ID.String(), "error", err)
	}
}

func (x *execution) putMarks(tx store.Tx, all []hosting.Variable) error {
	known, err := tx.Ledger(x.env, x.place)
	if err != nil {
		return err
	}
	for _, v := range all {
		entry, ok := known[v.Key]
		if !ok || v.Mark == "" || !x.dim[v.Key] {
			continue
		}
		entry.Mark = v.Mark
		if err := tx.PutLedgerEntry(x.env, x.place, v.Key, entry); err != nil {
			return err
		}
	}
	return nil
}

// fail notes why one variable could not be written or deleted.
func (x *execution) fail(step syncplan.Step, err error) {
	f := hosting.FailureOf(err)
	x.run.Failed = append(x.run.Failed, store.SyncFailure{
		Key: step.Key, Operation: string(step.Action), Code: string(f.Code), RequestID: f.RequestID,
	})
}

// leftOver notes what the run did not come to, and why.
func (x *execution) leftOver(ctx context.Context, err error) {
	why := error(&hosting.Failure{Code: hosting.CodeNotReached})
	switch {
	case ctx.Err() != nil, x.run.Canceled, errors.Is(err, errGone):
		x.run.Canceled = true
		why = &hosting.Failure{Code: hosting.CodeCancelled}
	case errors.Is(err, errReconnect):
		why = hosting.ErrCredential
	case api.CodeOf(err) == api.Conflict: // somebody else has the place by now
		why = &hosting.Failure{Code: hosting.CodeConflict}
	case err != nil:
		why = err
	}
	for _, step := range x.plan.Of(syncplan.Create, syncplan.Update, syncplan.Delete) {
		if x.told[step.Key] || step.Action == syncplan.Delete && !slices.Contains(x.run.Deletes, step.Key) {
			continue
		}
		x.fail(step, why)
	}
	slices.SortFunc(x.run.Failed, func(a, b store.SyncFailure) int { return strings.Compare(a.Key, b.Key) })
}

// end writes down how the run ended, gives its place free, and tells its link.
func (x *execution) end(ctx context.Context) error {
	keys, err := x.w.holdKeys()
	if err != nil {
		return err
	}
	defer keys.users.RUnlock()
	now := x.w.now()
	x.run.Ended, x.run.Status = store.At(now), statusOf(x.run)
	ids := store.NewIDs(now)
	return x.w.append(ctx, keys, ids, func(tx store.Tx) ([]store.Activity, error) {
		if _, err := tx.SyncRun(x.run.ID); err != nil {
			if errors.Is(err, store.ErrNotFound) { // the vault went, and all that is known of it
				return nil, release(tx, x.run)
			}
			return nil, err
		}
		j := x.journal(now)
		meta := x.meta(map[string]any{
			"status": x.run.Status, "created": x.run.Created, "updated": x.run.Updated, "deleted": x.run.Deleted, "failed": len(x.run.Failed),
		})
		if !x.run.SyncLink.IsZero() {
			meta["auto"] = true
		}
		j.note("secrets_synced", meta)
		return j.notes, errors.Join(tx.PutSyncRun(x.run), release(tx, x.run), x.w.tellLinks(tx, x.run, x.env.Revision, x.place))
	})
}
