package warden

import (
	"context"
	"errors"
	"slices"
	"time"

	"coffer/server/api"
	"coffer/store"
)

// What time ends. These methods are called by jobs, for nobody: the server itself
// has no caller. Each can be stopped or killed anywhere and begun again, and
// returns how many records it removed for good.

// stepMost bounds what one transaction removes, so that no request waits for it.
// A secret in the trash counts for several, for its indexes and its record.
const (
	stepMost    = 50
	trashWeight = 8
)

// keysKept is how long the record of an API key outlives the key itself, so that
// whoever reads the activity log finds its name.
const keysKept = 90 * 24 * time.Hour

// step is one transaction of the server's own. Work says how much it removed.
func (w *Warden) step(ctx context.Context, work func(store.Tx, *journal) (int, error)) (removed int, err error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	keys, err := w.holdKeys()
	if err != nil {
		return 0, err
	}
	defer keys.users.RUnlock()
	now := w.now()
	ids := store.NewIDs(now)
	err = w.append(ctx, keys, ids, func(tx store.Tx) ([]store.Activity, error) {
		j := &journal{w: w, now: now, ids: ids}
		n, err := work(tx, j)
		removed = n
		return j.notes, err
	})
	if err != nil {
		return 0, err
	}
	return removed, nil
}

// sweep removes what was found due, in small transactions. Remove says whether a
// record was still there, and still due.
func sweep[T any](ctx context.Context, w *Warden, due []T, remove func(store.Tx, T) (bool, error)) (int, error) {
	total := 0
	for part := range slices.Chunk(due, stepMost) {
		n, err := w.step(ctx, func(tx store.Tx, _ *journal) (n int, err error) {
			for _, item := range part {
				gone, err := remove(tx, item)
				if err != nil {
					return 0, err
				}
				if gone {
					n++
				}
			}
			return n, nil
		})
		total += n
		if err != nil {
			return total, err
		}
	}
	return total, nil
}

// ExpireSessions removes the sessions that have ended, and what is remembered of
// sign-ins that nobody can come back to any more.
func (w *Warden) ExpireSessions(ctx context.Context) (int, error) {
	now := store.At(w.now())
	var due []store.Session
	var states []store.UsedState
	err := w.store.View(ctx, func(r store.Reader) (err error) {
		if due, err = r.ExpiredSessions(now, store.At(w.now().Add(-idleTime))); err != nil {
			return err
		}
		states, err = r.ExpiredStates(now)
		return err
	})
	if err != nil {
		return 0, err
	}
	ended, err := sweep(ctx, w, due, func(tx store.Tx, s store.Session) (bool, error) {
		s, err := tx.Session(s.ID)
		if errors.Is(err, store.ErrNotFound) || err == nil && !w.ended(s) {
			return false, nil
		}
		return true, errors.Join(err, tx.DeleteSession(s))
	})
	if err != nil {
		return ended, err
	}
	forgotten, err := sweep(ctx, w, states, func(tx store.Tx, s store.UsedState) (bool, error) {
		return true, tx.ForgetState(s)
	})
	return ended + forgotten, err
}

// ExpireKeys removes the API keys that ended long ago.
func (w *Warden) ExpireKeys(ctx context.Context) (int, error) {
	before := store.At(w.now().Add(-keysKept))
	var due []store.APIKey
	err := w.store.View(ctx, func(r store.Reader) (err error) {
		due, err = r.DeadKeys(before)
		return err
	})
	if err != nil {
		return 0, err
	}
	return sweep(ctx, w, due, func(tx store.Tx, k store.APIKey) (bool, error) {
		k, err := tx.APIKey(k.ID)
		if errors.Is(err, store.ErrNotFound) || err == nil && !k.DeadSince(before) {
			return false, nil
		}
		return true, errors.Join(err, tx.DeleteAPIKey(k))
	})
}

// ExpireActivity removes the activity that is not kept any longer.
func (w *Warden) ExpireActivity(ctx context.Context) (int, error) {
	before, ends, err := w.ActivityBefore(ctx)
	if err != nil || !ends {
		return 0, err
	}
	return w.PruneActivity(ctx, before)
}

// ActivityBefore is the instant before which activity is not kept any longer, or
// false when all of it is. The log is one for all accounts, so it goes by the plan
// that looks back the furthest.
func (w *Warden) ActivityBefore(ctx context.Context) (time.Time, bool, error) {
	days, err := w.longestAudit(ctx)
	before, ends := w.c.AuditRetention.Before(w.now(), days)
	return before, ends, err
}

// longestAudit is the most audit days that any account has.
func (w *Warden) longestAudit(ctx context.Context) (most api.Limit, err error) {
	err = w.store.View(ctx, func(r store.Reader) error {
		most = w.c.Plan.AuditDays
		all, err := r.Billings()
		for _, b := range all {
			if days := w.planBy(b, w.now()).AuditDays; most >= 0 && (days < 0 || days > most) {
				most = days
			}
		}
		return err
	})
	return most, err
}
