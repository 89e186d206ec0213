package warden

import (
	"context"
	"errors"
	"slices"

	"coffer/server/access"
	"coffer/server/api"
	"coffer/server/syncplan"
	"coffer/store"
)

// resumeSyncs goes on with runs whose process ended before they did.
func (w *Warden) resumeSyncs(ctx context.Context) {
	var cut []store.SyncRun
	err := w.store.View(ctx, func(r store.Reader) error {
		all, err := r.SyncRunsUnderWay()
		if err != nil {
			return err
		}
		for _, run := range all {
			lease, err := r.SyncLease(run.Place)
			if err != nil && !errors.Is(err, store.ErrNotFound) {
				return err
			}
			if !w.syncs.has(run.ID) && (err != nil || !w.now().Before(lease.Until.Time())) {
				cut = append(cut, run)
			}
		}
		return nil
	})
	if err != nil {
		w.log.WarnContext(ctx, "runs of syncs could not be read", "error", err)
		return
	}
	for _, run := range cut {
		w.resume(ctx, run)
	}
}

func (s *syncState) has(run store.ID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.runs[run]
	return ok
}

// resume goes on with one run, from what both sides hold by now.
func (w *Warden) resume(ctx context.Context, run store.SyncRun) {
	s, err := w.runSides(ctx, run)
	if err == nil && !run.Canceled {
		err = s.again(ctx, run)
	}
	switch {
	case ctx.Err() != nil || w.keys.Load() == nil:
	case run.Canceled, err != nil && w.now().Sub(run.Began.Time()) > resumeTime, err != nil && isFinal(s.outward(ctx, err)):
		w.abandon(ctx, run)
	case err != nil:
		w.log.WarnContext(ctx, "a sync that was cut short cannot go on yet", "run", run.ID.String(), "error", err)
	}
}

// isFinal reports whether trying again would end the same way.
func isFinal(err error) bool {
	switch api.CodeOf(err) {
	case api.ProviderFailed, api.Unavailable, api.Internal, api.Timeout, api.Sealed, api.RateLimited:
		return false
	}
	return true
}

// runSides looks at both sides of a run, as whoever began it.
func (w *Warden) runSides(ctx context.Context, run store.SyncRun) (*sides, error) {
	s := &sides{w: w}
	who, err := w.acting(ctx, run.User)
	if err != nil {
		return s, err
	}
	if run.Test {
		who.kind, who.key.Environment = access.APIKey, "test"
	}
	var t api.SyncTarget
	err = w.store.View(ctx, func(r store.Reader) error {
		v, err := r.Vault(run.Vault)
		if err != nil {
			return err
		}
		e, err := r.Environment(run.Vault, run.Environment)
		t = targetOf(v, e, store.SyncLink{Connection: run.Connection, Project: run.Project, Service: run.Service, Target: run.Target, References: run.References})
		t.AllowDelete = len(run.Deletes) > 0
		return err
	})
	if err != nil {
		return s, err
	}
	return w.compare(ctx, who, access.SyncPush, t)
}

// again takes the lease anew and lets a run go on. What it had done already stays
// counted, and is planned no more; what it reveals by now is recorded.
func (s *sides) again(ctx context.Context, run store.SyncRun) error {
	keys, err := s.w.holdKeys()
	if err != nil {
		return err
	}
	defer keys.users.RUnlock()
	// What was done, and not written down before the end came, is no step any more.
	done, left := run.Created+run.Updated+run.Deleted, 0
	for _, step := range s.plan.Of(syncplan.Create, syncplan.Update, syncplan.Delete) {
		if step.Action != syncplan.Delete || slices.Contains(run.Deletes, step.Key) {
			left++
		}
	}
	run.Skipped += max(0, run.Total-done-left)
	run.Total = done + left
	now := s.w.now()
	err = s.w.append(ctx, keys, store.NewIDs(now), func(tx store.Tx) ([]store.Activity, error) {
		if err := s.stillThere(tx.Reader); err != nil {
			return nil, err
		}
		stored, err := tx.SyncRun(run.ID)
		if errors.Is(err, store.ErrNotFound) || err == nil && (stored.Canceled || stored.Ended != 0) {
			return nil, errGone
		}
		if err != nil {
			return nil, err
		}
		if err := s.take(tx, run); err != nil {
			return nil, err
		}
		j := s.journal(now)
		if names := s.reveals(); len(names) > 0 {
			j.note("secrets_sync_started", s.meta(map[string]any{"keys": names, "resumed": true}))
		}
		return j.notes, tx.PutSyncRun(run)
	})
	if err != nil {
		return err
	}
	s.w.log.InfoContext(ctx, "a sync that was cut short goes on", "run", run.ID.String())
	s.start(run)
	return nil
}

// abandon ends a run that cannot go on, and says of its keys only how many had
// been done.
func (w *Warden) abandon(ctx context.Context, run store.SyncRun) {
	_, err := w.step(ctx, func(tx store.Tx, j *journal) (int, error) {
		now, err := tx.SyncRun(run.ID)
		if err != nil || now.Ended != 0 {
			return 0, ignoreMissing(err)
		}
		now.Ended, now.Status = store.At(j.now), api.SyncFailed
		if now.Created+now.Updated+now.Deleted > 0 {
			now.Status = api.SyncPartial
		}
		if err := j.noteAbandoned(tx, now); err != nil {
			return 0, err
		}
		return 0, errors.Join(tx.PutSyncRun(now), release(tx, now))
	})
	if err != nil {
		w.log.WarnContext(ctx, "a sync could not be given up", "run", run.ID.String(), "error", err)
	}
}

// noteAbandoned records the end of a run that could not go on.
func (j *journal) noteAbandoned(tx store.Tx, run store.SyncRun) error {
	v, err := tx.Vault(run.Vault)
	if err != nil {
		return ignoreMissing(err)
	}
	e, err := tx.Environment(run.Vault, run.Environment)
	if ignoreMissing(err) != nil {
		return err
	}
	who, err := namesake(tx.Reader, run.User)
	if ignoreMissing(err) != nil {
		return err
	}
	j.who, j.vault = who, v
	j.note("secrets_synced", map[string]any{
		"provider": run.Provider, "direction": api.SyncPush, "environment": e.Name, "providerEnvironment": run.Target,
		"status": run.Status, "created": run.Created, "updated": run.Updated, "deleted": run.Deleted, "interrupted": true,
	})
	return nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}
