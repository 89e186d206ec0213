package warden

import (
	"context"
	"errors"
	"slices"
	"time"

	"coffer/server/api"
	"coffer/server/billing"
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
	err = w.store.Update(ctx, func(tx store.Tx) error {
		ids.Rewind()
		j := &journal{w: w, now: now, ids: ids}
		n, err := work(tx, j)
		removed = n
		if err != nil {
			return err
		}
		return addNotes(tx, j.notes, ids)
	})
	if err != nil {
		return 0, err
	}
	return removed, nil
}

// ExpireTrash removes the secrets that were in the trash for their time.
func (w *Warden) ExpireTrash(ctx context.Context) (int, error) {
	total := 0
	for more := true; more; {
		n, err := w.step(ctx, func(tx store.Tx, j *journal) (n int, err error) {
			n, more, err = expireSome(tx, j)
			return n, err
		})
		total += n
		if err != nil {
			return total, err
		}
	}
	return total, nil
}

// expireSome removes as many due secrets as fit into one transaction, and of a
// secret with a long history a piece of that.
func expireSome(tx store.Tx, j *journal) (removed int, more bool, err error) {
	due, err := tx.DueTrash(store.At(j.now), stepMost)
	if err != nil {
		return 0, false, err
	}
	room := stepMost
	for _, s := range due {
		history, err := tx.ReplacedBefore(s.Version, store.At(j.now))
		if err != nil {
			return 0, false, err
		}
		if len(history.Versions) > stepMost {
			piece, _ := history.Split(stepMost)
			_, err := tx.CutHistory(piece)
			return removed, true, err
		}
		if room -= trashWeight + len(history.Versions); room < 0 && removed > 0 {
			return removed, true, nil
		}
		if err := expireSecret(tx, j, s); err != nil {
			return 0, false, err
		}
		removed++
	}
	return removed, len(due) == stepMost, nil
}

func expireSecret(tx store.Tx, j *journal, s store.Secret) error {
	vault, err := tx.Vault(s.Vault)
	if err != nil {
		return err
	}
	e, err := tx.Environment(s.Vault, s.Environment)
	if err != nil {
		return err
	}
	j.vault = vault
	j.note("secret_permanently_deleted", map[string]any{
		"secretId": s.ID.String(), "key": s.Key, "environment": e.Name, "retention": true,
	})
	e.Expired = store.At(j.now)
	return errors.Join(tx.DestroySecret(&e, s), tx.PutEnvironment(e))
}

// versionsFrom is the instant before which values that were replaced are not kept
// any longer, or false when all are.
func (w *Warden) versionsFrom(r store.Reader, v store.Vault, now time.Time) (store.Millis, bool, error) {
	plan, err := w.planOf(r, v.Account())
	before, ends := w.c.VersionRetention.Before(now, plan.VersionDays)
	return store.At(before), ends, err
}

// ExpireVersions removes the versions that were replaced too long ago, never a
// current one, and what is remembered of revisions from before.
func (w *Warden) ExpireVersions(ctx context.Context) (int, error) {
	if w.c.VersionRetention == (billing.Retention{}) {
		return 0, nil
	}
	var vaults []store.ID
	err := w.store.View(ctx, func(r store.Reader) (err error) {
		vaults, err = r.VaultIDs()
		return err
	})
	total := 0
	for _, id := range vaults {
		if err == nil {
			err = w.expireVault(ctx, id, &total)
		}
	}
	return total, err
}

func (w *Warden) expireVault(ctx context.Context, id store.ID, total *int) error {
	var envs []store.Environment
	var before store.Millis
	err := w.store.View(ctx, func(r store.Reader) error {
		v, err := r.Vault(id)
		if err != nil {
			return err
		}
		var ends bool
		if before, ends, err = w.versionsFrom(r, v, w.now()); err != nil || !ends {
			return err
		}
		envs, err = r.Environments(id)
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		return nil // deleted since
	}
	for _, e := range envs {
		if err == nil {
			err = w.expireEnvironment(ctx, e, before, total)
		}
	}
	return err
}

func (w *Warden) expireEnvironment(ctx context.Context, e store.Environment, before store.Millis, total *int) error {
	var cuts []store.Cut
	var oldest uint64
	err := w.store.View(ctx, func(r store.Reader) (err error) {
		if cuts, err = oldHistory(r, e, before); err != nil {
			return err
		}
		oldest, err = r.OldestNeeded(e, before)
		return err
	})
	if err != nil {
		return err
	}
	for len(cuts) > 0 {
		var now []store.Cut
		now, cuts = portion(cuts)
		n, err := w.step(ctx, func(tx store.Tx, j *journal) (int, error) { return cutSome(tx, j, e, now) })
		*total += n
		if err != nil {
			return err
		}
	}
	for n := stepMost; oldest > 0 && n == stepMost; {
		n, err = w.step(ctx, func(tx store.Tx, j *journal) (int, error) {
			n, err := tx.ForgetRevisions(e, oldest, stepMost)
			return n, errors.Join(err, markExpired(tx, j, e, n))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// oldHistory lists what is to be cut off the histories of an environment's
// secrets, active and trashed.
func oldHistory(r store.Reader, e store.Environment, before store.Millis) ([]store.Cut, error) {
	newest, err := r.Newest(e)
	if err != nil {
		return nil, err
	}
	trashed, err := r.Trash(e.Vault)
	if err != nil {
		return nil, err
	}
	last := make([]store.ID, 0, len(newest))
	for _, n := range newest {
		last = append(last, n.Version)
	}
	for _, s := range trashed {
		if s.Environment == e.ID {
			last = append(last, s.Version)
		}
	}
	var cuts []store.Cut
	for _, id := range last {
		c, err := r.ReplacedBefore(id, before)
		if err != nil {
			return nil, err
		}
		if len(c.Versions) > 0 {
			cuts = append(cuts, c)
		}
	}
	return cuts, nil
}

// portion takes as many cuts as one transaction may make, and leaves the rest.
func portion(cuts []store.Cut) (now, rest []store.Cut) {
	room := stepMost
	for i, c := range cuts {
		if len(c.Versions) > room {
			piece, left := c.Split(max(room, 1))
			return append(now, piece), append([]store.Cut{left}, cuts[i+1:]...)
		}
		now = append(now, c)
		if room -= len(c.Versions); room <= 0 {
			return now, cuts[i+1:]
		}
	}
	return now, nil
}

func cutSome(tx store.Tx, j *journal, e store.Environment, cuts []store.Cut) (int, error) {
	total := 0
	for _, c := range cuts {
		n, err := tx.CutHistory(c)
		if err != nil {
			return 0, err
		}
		total += n
	}
	return total, markExpired(tx, j, e, total)
}

// markExpired notes in an environment, if it is still there, that what it was in
// the past can no longer be told as it could before.
func markExpired(tx store.Tx, j *journal, e store.Environment, removed int) error {
	if removed == 0 {
		return nil
	}
	e, err := tx.Environment(e.Vault, e.ID)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	e.Expired = store.At(j.now)
	return tx.PutEnvironment(e)
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

// ExpireSessions removes the sessions that have ended.
func (w *Warden) ExpireSessions(ctx context.Context) (int, error) {
	now := store.At(w.now())
	var due []store.Session
	err := w.store.View(ctx, func(r store.Reader) (err error) {
		due, err = r.ExpiredSessions(now)
		return err
	})
	if err != nil {
		return 0, err
	}
	return sweep(ctx, w, due, func(tx store.Tx, s store.Session) (bool, error) {
		s, err := tx.Session(s.ID)
		if errors.Is(err, store.ErrNotFound) || err == nil && s.Expires > now {
			return false, nil
		}
		return true, errors.Join(err, tx.DeleteSession(s))
	})
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

// ActivityBefore is the instant before which activity is not kept any longer, or
// false when all of it is. The log is one for all accounts, so it goes by the plan
// that looks back the furthest.
func (w *Warden) ActivityBefore() (time.Time, bool) {
	return w.c.AuditRetention.Before(w.now(), w.longestAudit())
}

// longestAudit is the most audit days that any account has: while billing is off,
// those of everybody's plan.
func (w *Warden) longestAudit() api.Limit { return w.c.Plan.AuditDays }
