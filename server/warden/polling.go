package warden

import (
	"context"
	"sync"
	"time"

	"coffer/server/forge"
	"coffer/store"
)

// What code hosts do not tell by webhooks is found by asking now and then.

const (
	lookAgainUsed = time.Hour      // vaults used within the last day, where no webhook tells
	lookAgainAny  = 24 * time.Hour // every vault
)

// confirmed remembers when the host was last asked for what it then said of a
// vault's repository.
type confirmed struct {
	mu sync.Mutex
	at map[store.ID]time.Time
}

func (c *confirmed) note(v store.ID, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.at == nil || len(c.at) >= maxRemember {
		c.at = make(map[store.ID]time.Time)
	}
	if at.After(c.at[v]) {
		c.at[v] = at
	}
}

func (c *confirmed) last(v store.ID) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at[v]
}

// FollowRepositories asks about the repositories that no answer has shown for a
// while, so that renames, transfers and visibility are followed where no webhook
// tells of them.
func (w *Warden) FollowRepositories(ctx context.Context) error {
	if w.forge.Kind() == forge.KindLocal {
		return nil
	}
	var due []store.Vault
	err := w.store.View(ctx, func(r store.Reader) error {
		all, err := r.Vaults()
		if err != nil {
			return err
		}
		for _, v := range all {
			every, err := w.lookEvery(r, v)
			if err != nil {
				return err
			}
			if w.now().Sub(w.host.confirmed.last(v.ID)) >= every {
				due = append(due, v)
			}
		}
		return nil
	})
	if err != nil {
		return w.outward(err)
	}
	return eachAtHost(ctx, due, func(v store.Vault) error {
		asked := w.now()
		if err := w.lookAgain(ctx, v.RepoID, false); err != nil {
			return w.errForge(ctx, Caller{}, err)
		}
		w.host.confirmed.note(v.ID, asked)
		return nil
	})
}

// lookEvery is how often a vault's repository is asked about. GitHub tells of
// changes; elsewhere used vaults are looked after more closely.
func (w *Warden) lookEvery(r store.Reader, v store.Vault) (time.Duration, error) {
	if w.forge.Kind() == forge.KindGitHub {
		return lookAgainAny, nil
	}
	last, _, err := r.ActivityIn(v.ID, 1, 0)
	if err != nil || len(last) == 0 || w.now().Sub(last[0].At.Time()) > lookAgainAny {
		return lookAgainAny, err
	}
	return lookAgainUsed, nil
}
