package warden

import (
	"context"
	"errors"
	"sync"
	"time"

	"coffer/server/access"
	"coffer/server/api"
	"coffer/server/forge"
	"coffer/store"
)

// roleTTL is how long a role learned from the code host counts at most.
const roleTTL = 60 * time.Second

// maxRoles bounds the cache; past it, it starts over.
const maxRoles = 50_000

// roleCache remembers roles for a short time. It is a memory of answers only: an
// error is never kept, and nothing is used past its time.
type roleCache struct {
	now func() time.Time
	ttl time.Duration
	mu  sync.RWMutex
	of  map[roleOf]cachedRole
}

type roleOf struct{ account, repo string }

type cachedRole struct {
	role  access.Role
	until time.Time
}

func newRoleCache(now func() time.Time, ttl time.Duration) *roleCache {
	if ttl <= 0 || ttl > roleTTL {
		ttl = roleTTL
	}
	return &roleCache{now: now, ttl: ttl, of: make(map[roleOf]cachedRole)}
}

func (c *roleCache) get(k roleOf) (access.Role, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	r, ok := c.of[k]
	return r.role, ok && c.now().Before(r.until)
}

func (c *roleCache) put(k roleOf, role access.Role) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.of) >= maxRoles {
		clear(c.of)
	}
	c.of[k] = cachedRole{role, c.now().Add(c.ttl)}
}

// forget drops everything: somebody's rights changed.
func (c *roleCache) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.of)
}

// role is the user's role on a repository, live at the code host or from the
// cache. A repository that is gone gives no role; a host that does not answer is
// an error and never a role.
func (w *Warden) role(ctx context.Context, user store.User, repoID string) (access.Role, error) {
	k := roleOf{user.Account, repoID}
	if role, ok := w.roles.get(k); ok {
		return role, nil
	}
	said, err := w.forge.Role(ctx, asker(user), forge.Repository{ID: repoID})
	if err != nil && !errors.Is(err, forge.ErrNotFound) && !errors.Is(err, forge.ErrGone) {
		return access.None, w.errForge(err)
	}
	role := access.None
	if said.Role != forge.None && err == nil {
		if role, err = access.ParseRole(string(said.Role)); err != nil {
			return access.None, w.errForge(err)
		}
	}
	w.roles.put(k, role)
	return role, nil
}

func asker(u store.User) forge.Asker {
	return forge.Asker{User: forge.User{ID: u.Account, Login: u.Login}}
}

func (w *Warden) errForge(err error) error {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return w.outward(err)
	}
	w.log.Error("the code host did not answer", "forge", w.forge.Kind(), "error", err)
	return &api.Error{Code: api.Unavailable, RetryAfter: 15 * time.Second,
		Message: "The code host cannot be asked for your permissions right now. Try again in a moment."}
}
