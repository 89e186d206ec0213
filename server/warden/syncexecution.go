package warden

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"coffer/server/api"
	"coffer/server/hosting"
	"coffer/server/syncplan"
	"coffer/store"
)

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
		x.w.log.ErrorContext(ctx, "the end of a sync could not be written down; it is gone on with later", "run", x.run.ID.String(), "error", err)
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
		x.w.log.WarnContext(ctx, "the lease of a sync could not be given back; it goes on when that has run out", "error", err)
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
					x.w.log.WarnContext(ctx, "the lease of a sync could not be renewed", "error", err)
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
		x.w.log.InfoContext(ctx, "the marks of what a sync wrote are not known", "run", x.run.ID.String(), "error", err)
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
	x.w.tallies.syncs.note(x.run.Status)
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
