package warden

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"coffer/server/access"
	"coffer/server/forge"
	"coffer/store"
)

// For how long an answer of the code host counts. A no is shorter, for whoever
// has just been let in. Neither is ever stretched, whatever the host does.
const (
	maxRoleTTL  = 60 * time.Second
	noRoleTTL   = 15 * time.Second
	roleFlight  = 15 * time.Second // bounds one question, however many wait for it
	maxRemember = 50_000           // answers; past it, it starts over
	maxLists    = 500              // lists of repositories, which may be long
)

// found is what the code host said of a caller and a repository.
type found struct {
	role  access.Role
	repo  forge.Repository // with the names of today; zero when the caller has no role
	gone  bool             // there is no such repository any more
	asked time.Time
}

// roleCache remembers what the code host said, for a short time. An error is
// never kept. What was asked before something changed is not kept either.
type roleCache struct {
	now   func() time.Time
	ttl   time.Duration
	mu    sync.RWMutex
	epoch uint64
	roles map[roleOf]remembered[found]
	names map[nameOf]remembered[string] // of repositories that have no vault by that name, to their ids
	lists map[listOf]remembered[[]forge.Reachable]
}

type roleOf struct {
	account, repo string
	credential    [32]byte
}

type nameOf struct {
	account, name string
	credential    [32]byte
}

type listOf struct {
	account    string
	credential [32]byte
}

type remembered[T any] struct {
	value T
	until time.Time
}

func newRoleCache(now func() time.Time, ttl time.Duration) *roleCache {
	if ttl <= 0 || ttl > maxRoleTTL {
		ttl = maxRoleTTL
	}
	c := &roleCache{now: now, ttl: ttl}
	c.forget()
	return c
}

// recall is an answer that still counts, or else the epoch that a fresh one
// belongs to.
func recall[K comparable, T any](c *roleCache, in *map[K]remembered[T], k K) (T, uint64, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	r, ok := (*in)[k]
	return r.value, c.epoch, ok && c.now().Before(r.until)
}

// keep remembers an answer to a question of an epoch.
func keep[K comparable, T any](c *roleCache, in *map[K]remembered[T], k K, v T, epoch uint64, ttl time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if epoch != c.epoch {
		return
	}
	if len(*in) >= maxRemember {
		clear(*in)
	}
	(*in)[k] = remembered[T]{v, c.now().Add(ttl)}
}

// keepList is keep for a list of repositories. It counts no longer than a no: who
// is not on it may have been let in.
func (c *roleCache) keepList(k listOf, all []forge.Reachable, epoch uint64) {
	c.mu.Lock()
	if len(c.lists) >= maxLists {
		clear(c.lists)
	}
	c.mu.Unlock()
	keep(c, &c.lists, k, all, epoch, min(c.ttl, noRoleTTL))
}

// forget drops everything, and whatever is being asked at this moment: somebody's
// rights changed.
func (c *roleCache) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.epoch++
	c.roles, c.names = make(map[roleOf]remembered[found]), make(map[nameOf]remembered[string])
	c.lists = make(map[listOf]remembered[[]forge.Reachable])
}

// flight names a question: who asks while the same one is under way waits for
// its answer, unless something changed after it was asked.
func (k roleOf) flight(epoch uint64) string {
	return fmt.Sprintf("%s %s %x %d", k.account, k.repo, k.credential, epoch)
}

// role is the caller's role on a vault's repository, live at the code host or
// from the cache. A host that does not answer is an error and never a role.
func (w *Warden) role(ctx context.Context, who Caller, vault store.Vault) (found, error) {
	k := roleOf{who.user.Account, vault.RepoID, who.credential()}
	known, epoch, ok := recall(w.host.roles, &w.host.roles.roles, k)
	if ok {
		w.tallies.roleHits.Add(1)
		return known, nil
	}
	w.tallies.roleMisses.Add(1)
	flight := w.host.asked.DoChan(k.flight(epoch), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), roleFlight)
		defer cancel()
		f, err := w.askRole(ctx, who, vault)
		if err != nil {
			return f, err
		}
		ttl := w.host.roles.ttl
		if f.role == access.None {
			ttl = min(ttl, noRoleTTL)
		}
		keep(w.host.roles, &w.host.roles.roles, k, f, epoch, ttl)
		w.follow(ctx, vault, f)
		return f, nil
	})
	select {
	case got := <-flight:
		if got.Err != nil {
			return found{}, w.errForge(ctx, who, overdue(got.Err))
		}
		return got.Val.(found), nil
	case <-ctx.Done():
		return found{}, w.outward(ctx.Err())
	}
}

func (w *Warden) askRole(ctx context.Context, who Caller, vault store.Vault) (found, error) {
	asked := w.now()
	there, err := ask(ctx, w, who, func(ctx context.Context, as forge.Asker) (forge.Reachable, error) {
		return w.forge.Role(ctx, as, repositoryOf(vault))
	})
	switch {
	case errors.Is(err, forge.ErrGone):
		return found{gone: true, asked: asked}, nil
	case errors.Is(err, forge.ErrNotFound):
		return found{}, nil
	case err != nil:
		return found{}, err
	case there.Role == forge.None:
		return found{}, nil
	}
	role, err := access.ParseRole(string(there.Role))
	return found{role: role, repo: there.Repository, asked: asked}, err
}

// repositoryOf is a vault's repository as it was last seen.
func repositoryOf(v store.Vault) forge.Repository {
	return forge.Repository{
		ID: v.RepoID, Owner: v.Owner, Name: v.Name,
		OwnerKind: forge.OwnerKind(v.OwnerKind), OwnerID: v.OwnerID, AvatarURL: v.AvatarURL, Public: !v.Private,
	}
}

// organizationWith is the organization that a vault's repository is in. Where
// groups hold groups, written with colons, it is the one on top.
func organizationWith(v store.Vault) forge.Organization {
	top, _, _ := strings.Cut(v.Owner, ":")
	return forge.Organization{ID: v.OwnerID, Login: top}
}
