package warden

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"coffer/crypto"
	"coffer/server/api"
	"coffer/server/forge"
	"coffer/store"
)

// passwords check those of the built-in code host's users.
type passwords struct {
	lockouts *lockouts
	slots    chan struct{} // held by whoever checks one: each takes 64 MiB

	// nobodys is a hash that no password opens, for names that nobody has: they
	// must cost the same work as the others. It is made with the first attempt,
	// whoever's that is.
	nobodys func() (string, error)
}

func newPasswords(now func() time.Time) *passwords {
	return &passwords{
		lockouts: newLockouts(now),
		slots:    make(chan struct{}, 2),
		nobodys:  sync.OnceValues(func() (string, error) { return crypto.HashPassword([]byte(rand.Text())) }),
	}
}

// SignInWithPassword signs a user of the built-in code host in, in a browser. An
// unknown name and a wrong password are told apart by nothing that the one who
// asks can see: not the answer, not the work, and not what follows from many
// attempts.
func (w *Warden) SignInWithPassword(ctx context.Context, c Credential, username string, password api.Secret) (*BrowserSession, error) {
	if w.keys.Load() == nil {
		return nil, w.errSealed()
	}
	if w.forge.Kind() != forge.KindLocal {
		return nil, api.Errorf(api.NotFound, "Nobody has a password here. Sign in with your account at the code host.")
	}
	account, known, err := w.accountNamed(ctx, username)
	if err != nil {
		return nil, w.outward(err)
	}
	a := arrivalOf(c, byPassword)
	a.who.user = known
	right, wait, err := w.passwords.verify(ctx, username, account.Password, password)
	switch {
	case err != nil:
		return nil, w.outward(err)
	case wait > 0:
		return nil, w.turnAway(ctx, a, "locked", errLocked(wait))
	}
	wrong := api.Errorf(api.Unauthorized, "This is not the right password, or there is no such user. Check both and try again.")
	switch {
	case account.ID == 0:
		return nil, w.turnAway(ctx, a, "unknown_name", wrong)
	case !right:
		return nil, w.turnAway(ctx, a, "password", wrong)
	case known.Disabled != 0:
		return nil, w.turnAway(ctx, a, "disabled", errDisabled())
	}
	s, err := w.begin(ctx, a, func(tx store.Tx, j *journal, _ *keyring) (store.User, error) {
		now, err := tx.LocalUser(account.ID)
		if err == nil && now.Password != account.Password {
			err = wrong // it was changed while we looked at it
		}
		if err != nil {
			return store.User{}, err
		}
		u, err := w.userAt(tx, j, strconv.FormatUint(now.ID, 10), now.Name)
		if err == nil && u.Disabled != 0 {
			err = errDisabled() // meanwhile, too
		}
		return u, err
	})
	if err == nil {
		w.passwords.lockouts.clear(username)
	}
	return s, err
}

func errLocked(wait time.Duration) *api.Error {
	return &api.Error{
		Code: api.RateLimited, RetryAfter: wait,
		Message: fmt.Sprintf("There were too many attempts for this name. Wait %d seconds, then try again.", (wait+time.Second-1)/time.Second),
	}
}

// accountNamed is the account of a name with its user, each zero if there is
// none.
func (w *Warden) accountNamed(ctx context.Context, name string) (account store.LocalUser, u store.User, err error) {
	if !api.ValidOwner(name) {
		return account, u, nil
	}
	err = w.store.View(ctx, func(r store.Reader) error {
		ns, err := r.LocalNamespace(name)
		if err != nil || ns.Kind != store.OwnerUser {
			return err
		}
		if account, err = r.LocalUser(ns.ID); err != nil {
			return err
		}
		u, err = r.UserAt(forge.KindLocal, strconv.FormatUint(ns.ID, 10))
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		err = nil
	}
	return account, u, err
}

// verify holds a password against a hash, or against nobody's if there is none. It
// counts as an attempt for the name, and if there were too many says how long to
// wait before the next. Who leaves before it is their turn made none: a name costs
// whoever sends it a hash, or many names could make another be forgotten.
func (p *passwords) verify(ctx context.Context, name, hash string, password api.Secret) (right bool, wait time.Duration, err error) {
	select {
	case p.slots <- struct{}{}:
	case <-ctx.Done():
		return false, 0, api.Errorf(api.Unavailable, "Too many people are signing in at once. Try again in a moment.")
	}
	defer func() { <-p.slots }()
	if wait := p.lockouts.attempt(name); wait > 0 {
		return false, wait, nil
	}
	nobodys, err := p.nobodys()
	if err != nil {
		return false, 0, err
	}
	if hash == "" {
		hash = nobodys
	}
	right, err = crypto.VerifyPassword(hash, []byte(password.Reveal()))
	if err != nil {
		return false, 0, errors.Join(errors.New("check a password"), err)
	}
	return right, 0, nil
}
