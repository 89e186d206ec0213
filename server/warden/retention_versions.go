package warden

import (
	"context"
	"errors"
	"time"

	"coffer/server/billing"
	"coffer/store"
)

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
