package warden

import (
	"context"
	"errors"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"coffer/server/access"
	"coffer/server/api"
	"coffer/server/syncplan"
	"coffer/store"
)

// Links that sync by themselves are looked at when an environment has changed, and
// not before it was left alone for a moment: somebody who edits five secrets one
// after the other means one sync. What a run needs is asked for anew each time, as
// whoever saved the link: who may no longer read the environment, or has left,
// sends nothing to anybody any more.

const (
	calmTime   = 5 * time.Second  // without changes, before a link syncs
	restless   = 60 * time.Second // when the changes do not end
	lookAgain  = 15 * time.Second // for runs whose process was killed
	failPause  = time.Minute      // before the second try; doubled with each further one
	maxAtOnce  = 4                // links that sync at one time
	resumeTime = 24 * time.Hour   // for which a run that was cut short is tried
)

// backOff puts the next try of a link off.
func backOff(l *store.SyncLink, now store.Millis) {
	pause := min(failPause<<min(l.Failures, 10), maxPause)
	l.Failures++
	l.Next = store.At(now.Time().Add(pause))
}

// findSyncs finds out before unsealing whether there is anything to look after.
func (w *Warden) findSyncs(ctx context.Context) error {
	return w.store.View(ctx, func(r store.Reader) error {
		links, err := r.AutoLinks()
		if err != nil {
			return err
		}
		runs, err := r.SyncRunsUnderWay()
		w.syncs.busy.Store(len(links)+len(runs) > 0)
		return err
	})
}

// runSyncs has links sync and goes on with runs that were cut short, until ctx
// ends. Without either it sleeps.
func (w *Warden) runSyncs(ctx context.Context) {
	first := make(map[store.ID]time.Time) // when a link was first seen to be behind
	for {
		var again <-chan time.Time
		if w.syncs.busy.Load() && w.keys.Load() != nil {
			w.resumeSyncs(ctx)
			again = time.After(min(lookAgain, w.syncDue(ctx, first)))
		}
		select {
		case <-ctx.Done():
			return
		case <-w.syncs.wake:
		case <-again:
		}
	}
}

// syncDue has the links sync that are due, and says how long until the next is.
func (w *Warden) syncDue(ctx context.Context, first map[store.ID]time.Time) time.Duration {
	due, next, err := w.dueLinks(ctx, first)
	if err != nil {
		w.log.Warn("links that sync by themselves could not be read", "error", err)
		return lookAgain
	}
	var all errgroup.Group
	all.SetLimit(maxAtOnce)
	for _, l := range due {
		delete(first, l.ID)
		all.Go(func() error {
			w.autoSync(ctx, l)
			return nil
		})
	}
	_ = all.Wait()
	return next
}

// dueLinks are the links that are behind their environment and due.
func (w *Warden) dueLinks(ctx context.Context, first map[store.ID]time.Time) (due []store.SyncLink, next time.Duration, err error) {
	next = lookAgain
	now := w.now()
	err = w.store.View(ctx, func(r store.Reader) error {
		all, err := r.AutoLinks()
		if err != nil {
			return err
		}
		for _, l := range all {
			e, err := r.Environment(l.Vault, l.Environment)
			if err != nil {
				return err
			}
			if e.Revision == l.Revision && l.Synced != 0 {
				delete(first, l.ID)
				continue
			}
			if _, known := first[l.ID]; !known {
				first[l.ID] = now
			}
			at := e.Updated.Time().Add(calmTime)
			if latest := first[l.ID].Add(restless); at.After(latest) {
				at = latest
			}
			if l.Next != 0 && at.Before(l.Next.Time()) {
				at = l.Next.Time()
			}
			if wait := at.Sub(now); wait > 0 {
				next = min(next, wait)
			} else {
				due = append(due, l)
			}
		}
		return nil
	})
	return due, next, err
}

// acting is a user for whom the server does something by itself.
func (w *Warden) acting(ctx context.Context, user store.ID) (who Caller, err error) {
	who = Caller{kind: access.JWT, scopes: access.All, userAgent: "coffer/sync"}
	err = w.store.View(ctx, func(r store.Reader) (err error) {
		who.user, err = r.User(user)
		return err
	})
	if err == nil && who.user.Disabled != 0 {
		err = api.Errorf(api.Forbidden, "Whoever saved this may not use this server any more. Save the link again as somebody who may.")
	}
	return who, err
}

// targetOf is what a link syncs.
func targetOf(v store.Vault, e store.Environment, l store.SyncLink) api.SyncTarget {
	return api.SyncTarget{
		Ref: api.Ref{Owner: v.Owner, Repo: v.Name}, ConnectionID: l.Connection.String(), ProjectID: l.Project, ServiceID: l.Service,
		Environment: e.Name, ProviderEnvironment: l.Target, AllowReferences: l.References,
	}
}

// linkSides looks at both sides of a link, as whoever saved it.
func (w *Warden) linkSides(ctx context.Context, l store.SyncLink, act access.Action) (*sides, error) {
	who, err := w.acting(ctx, l.User)
	if err != nil {
		return nil, err
	}
	var v store.Vault
	var e store.Environment
	err = w.store.View(ctx, func(r store.Reader) (err error) {
		if v, err = r.Vault(l.Vault); err != nil {
			return err
		}
		e, err = r.Environment(l.Vault, l.Environment)
		return err
	})
	if err != nil {
		return nil, err
	}
	return w.compare(ctx, who, act, targetOf(v, e, l))
}

// autoSync pushes for a link, and waits for the end.
func (w *Warden) autoSync(ctx context.Context, l store.SyncLink) {
	s, err := w.linkSides(ctx, l, access.SyncPush)
	if err == nil && len(s.reveals()) == 0 {
		err = w.upToDate(ctx, l, s.env.Revision)
		if err != nil {
			w.log.Warn("a link could not be noted to be up to date", "link", l.ID.String(), "error", err)
		}
		return
	}
	if err == nil {
		var done <-chan store.SyncRun
		if _, done, err = s.begin(ctx, l.ID); err == nil {
			select {
			case <-done:
			case <-ctx.Done():
			}
			return
		}
	}
	if ctx.Err() != nil || w.keys.Load() == nil {
		return
	}
	w.noteFailedLink(ctx, l, s.outward(err))
}

// upToDate notes that a link's target holds all there is.
func (w *Warden) upToDate(ctx context.Context, l store.SyncLink, revision uint64) error {
	return w.changeLink(ctx, l, func(l *store.SyncLink) {
		now := store.At(w.now())
		l.Synced, l.Ended, l.Revision, l.Status, l.Problem, l.Failures, l.Next, l.Drift, l.Checked = now, now, revision, api.SyncSuccess, "", 0, 0, 0, now
	})
}

// noteFailedLink puts a link off that could not begin to sync, or disables it when
// that is for good: nobody asks again and again for what they may not have.
func (w *Warden) noteFailedLink(ctx context.Context, l store.SyncLink, err error) {
	e, ok := errors.AsType[*api.Error](err)
	if !ok {
		e = api.Errorf(api.Internal, "The sync could not begin. The server's log says why.")
		w.log.Error("a link could not sync", "link", l.ID.String(), "error", err)
	}
	message := e.Message
	for _, f := range e.Fields {
		message = f.Message
	}
	final := e.Code == api.Forbidden || e.Code == api.NotFound || e.Code == api.Invalid || e.Code == api.Unauthorized || w.isBroken(ctx, l.Connection)
	err = w.changeLink(ctx, l, func(l *store.SyncLink) {
		now := store.At(w.now())
		l.Status, l.Ended, l.Problem, l.Disabled = api.SyncFailed, now, message, final
		if !final {
			backOff(l, now)
		}
	})
	if err != nil {
		w.log.Warn("the failure of a link could not be noted", "link", l.ID.String(), "error", err)
	}
}

// isBroken reports whether a connection is to be made again, or gone.
func (w *Warden) isBroken(ctx context.Context, id store.ID) (broken bool) {
	err := w.store.View(ctx, func(r store.Reader) error {
		c, err := r.Connection(id)
		broken = c.Broken || errors.Is(err, store.ErrNotFound)
		return err
	})
	return broken || err != nil && errors.Is(err, store.ErrNotFound)
}

// changeLink changes a link, if it is still there. Disabling one is recorded.
func (w *Warden) changeLink(ctx context.Context, was store.SyncLink, change func(*store.SyncLink)) error {
	who, err := w.acting(ctx, was.User)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	_, err = w.step(ctx, func(tx store.Tx, j *journal) (int, error) {
		l, err := tx.SyncLink(was.Vault, was.ID)
		if errors.Is(err, store.ErrNotFound) {
			return 0, nil
		}
		if err != nil {
			return 0, err
		}
		before := l.Disabled
		change(&l)
		if l.Disabled && !before {
			if err := j.noteDisabled(tx, who, l); err != nil {
				return 0, err
			}
		}
		return 0, tx.PutSyncLink(l)
	})
	return err
}

// noteDisabled records that a link syncs by itself no more.
func (j *journal) noteDisabled(tx store.Tx, who Caller, l store.SyncLink) error {
	v, err := tx.Vault(l.Vault)
	if err != nil {
		return err
	}
	e, err := tx.Environment(l.Vault, l.Environment)
	if err != nil {
		return err
	}
	j.who, j.vault = who, v
	j.note("sync_link_saved", map[string]any{"provider": l.Provider, "environment": e.Name, "autoSync": false, "auto": true})
	return nil
}

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
		w.log.Warn("runs of syncs could not be read", "error", err)
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
	case run.Canceled, err != nil && w.now().Sub(run.Began.Time()) > resumeTime, err != nil && isFinal(s.outward(err)):
		w.abandon(ctx, run)
	case err != nil:
		w.log.Warn("a sync that was cut short cannot go on yet", "run", run.ID.String(), "error", err)
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
	who, err := w.acting(ctx, run.User)
	if err != nil {
		return nil, err
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
		return nil, err
	}
	return w.compare(ctx, who, access.SyncPush, t)
}

// again takes the lease anew and lets a run go on. What it had done already
// stays counted, and is planned no more.
func (s *sides) again(ctx context.Context, run store.SyncRun) error {
	keys, err := s.w.holdKeys()
	if err != nil {
		return err
	}
	defer keys.users.RUnlock()
	err = s.w.store.Update(ctx, func(tx store.Tx) error { return s.take(tx, run) })
	if err != nil {
		return err
	}
	// What was done, and not written down before the end came, is no step any more.
	left := 0
	for _, step := range s.plan.Of(syncplan.Create, syncplan.Update, syncplan.Delete) {
		if step.Action != syncplan.Delete || slices.Contains(run.Deletes, step.Key) {
			left++
		}
	}
	run.Skipped += max(0, run.Total-run.Created-run.Updated-run.Deleted-left)
	s.w.log.Info("a sync that was cut short goes on", "run", run.ID.String())
	s.start(run)
	return nil
}

// abandon ends a run that cannot go on, and says of its keys only how many had
// been done.
func (w *Warden) abandon(ctx context.Context, run store.SyncRun) {
	who, err := w.acting(ctx, run.User)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		w.log.Warn("a sync could not be given up", "run", run.ID.String(), "error", err)
		return
	}
	_, err = w.step(ctx, func(tx store.Tx, j *journal) (int, error) {
		now, err := tx.SyncRun(run.ID)
		if err != nil || now.Ended != 0 {
			return 0, ignoreMissing(err)
		}
		now.Ended, now.Status = store.At(j.now), api.SyncFailed
		if err := j.noteAbandoned(tx, who, now); err != nil {
			return 0, err
		}
		return 0, errors.Join(tx.PutSyncRun(now), tx.DeleteSyncLease(now.Place))
	})
	if err != nil {
		w.log.Warn("a sync could not be given up", "run", run.ID.String(), "error", err)
	}
}

// noteAbandoned records the end of a run that could not go on.
func (j *journal) noteAbandoned(tx store.Tx, who Caller, run store.SyncRun) error {
	v, err := tx.Vault(run.Vault)
	if err != nil {
		return ignoreMissing(err)
	}
	e, err := tx.Environment(run.Vault, run.Environment)
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
