package warden

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/errgroup"

	"coffer/server/access"
	"coffer/server/api"
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
		w.log.WarnContext(ctx, "links that sync by themselves could not be read", "error", err)
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

// acting is a user for whom the server does something by itself, if they may still
// come in.
func (w *Warden) acting(ctx context.Context, user store.ID) (who Caller, err error) {
	err = w.store.View(ctx, func(r store.Reader) (err error) {
		who, err = namesake(r, user)
		return err
	})
	if errors.Is(err, store.ErrNotFound) || err == nil && who.user.Disabled != 0 {
		err = api.Errorf(api.Forbidden, "Whoever saved this may not use this server any more. Save the link again as somebody who may.")
	}
	return who, err
}

// namesake is a user in whose name the server does something, whatever has become
// of them.
func namesake(r store.Reader, user store.ID) (who Caller, err error) {
	who = Caller{kind: access.JWT, scopes: access.All, userAgent: "coffer/sync"}
	who.user, err = r.User(user)
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
	s := &sides{w: w}
	who, err := w.acting(ctx, l.User)
	if err != nil {
		return s, err
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
		return s, err
	}
	return w.compare(ctx, who, act, targetOf(v, e, l))
}

// autoSync pushes for a link, and waits for the end.
func (w *Warden) autoSync(ctx context.Context, l store.SyncLink) {
	s, err := w.linkSides(ctx, l, access.SyncPush)
	if err == nil && len(s.reveals()) == 0 {
		err = w.upToDate(ctx, l, s.env.Revision)
		if err != nil {
			w.log.WarnContext(ctx, "a link could not be noted to be up to date", "link", l.ID.String(), "error", err)
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
		if api.CodeOf(err) == api.Conflict {
			return // somebody syncs with that place just now; the link is looked at again
		}
	}
	if ctx.Err() != nil || w.keys.Load() == nil {
		return
	}
	w.noteFailedLink(ctx, l, s.outward(ctx, err))
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
		w.log.ErrorContext(ctx, "a link could not sync", "link", l.ID.String(), "error", err)
	}
	message := e.Message
	for _, f := range e.Fields {
		message = f.Message
	}
	final := w.endsLink(ctx, l, e)
	err = w.changeLink(ctx, l, func(l *store.SyncLink) {
		now := store.At(w.now())
		l.Status, l.Ended, l.Problem, l.Disabled = api.SyncFailed, now, message, final
		if !final {
			backOff(l, now)
		}
	})
	if err != nil {
		w.log.WarnContext(ctx, "the failure of a link could not be noted", "link", l.ID.String(), "error", err)
	}
}

// endsLink reports whether an error means that a link may not or cannot sync any
// more until somebody does something about it.
func (w *Warden) endsLink(ctx context.Context, l store.SyncLink, err error) bool {
	switch api.CodeOf(err) {
	case api.Forbidden, api.NotFound, api.Invalid, api.Unauthorized:
		return true
	}
	return w.isBroken(ctx, l.Connection)
}

// isBroken reports whether a connection is to be made again, or gone.
func (w *Warden) isBroken(ctx context.Context, id store.ID) bool {
	var c store.Connection
	err := w.store.View(ctx, func(r store.Reader) (err error) {
		c, err = r.Connection(id)
		return err
	})
	return c.Broken || errors.Is(err, store.ErrNotFound)
}

// changeLink changes a link, unless it has gone or somebody has saved it anew
// meanwhile. Disabling one is recorded.
func (w *Warden) changeLink(ctx context.Context, was store.SyncLink, change func(*store.SyncLink)) error {
	_, err := w.step(ctx, func(tx store.Tx, j *journal) (int, error) {
		l, err := tx.SyncLink(was.Vault, was.ID)
		if errors.Is(err, store.ErrNotFound) {
			return 0, nil
		}
		if err != nil {
			return 0, err
		}
		if l.User != was.User || l.Connection != was.Connection || l.Auto != was.Auto || l.Disabled != was.Disabled {
			return 0, nil
		}
		change(&l)
		if l.Disabled {
			if err := j.noteDisabled(tx, l); err != nil {
				return 0, err
			}
		}
		return 0, tx.PutSyncLink(l)
	})
	return err
}

// noteDisabled records that a link syncs by itself no more.
func (j *journal) noteDisabled(tx store.Tx, l store.SyncLink) error {
	who, err := namesake(tx.Reader, l.User)
	if ignoreMissing(err) != nil {
		return err
	}
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
