package warden

import (
	"context"
	"errors"
	"fmt"
	"time"

	"coffer/crypto"
	"coffer/server/forge"
	"coffer/store"
)

// What users let us do at the code host is asked with when no better credential
// is at hand. Its tokens are sealed; they are renewed when they are about to end,
// by one flight for each user, and a renewed pair is on disk before its access
// token is used: at most hosts the old refresh token is dead by then, so a pair
// that is lost locks the user out.

// errNoGrant means that nobody is left to ask the code host for this user: they
// have to sign in.
var errNoGrant = errors.New("no sign-in at the code host is stored for this user")

// renewBefore is how long before its end an access token is renewed.
const renewBefore = 60 * time.Second

// renewTime bounds a renewal with the storing of its result. Nobody who waits
// for it can cut it short.
const renewTime = 25 * time.Second

const (
	accessField  = "grant/access"
	refreshField = "grant/refresh"
)

// putGrant seals a grant and makes it the user's, in place of the one before.
func (w *Warden) putGrant(tx store.Tx, keys *keyring, user store.ID, g forge.Grant) error {
	before, err := tx.Grant(user)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	sealed := store.Grant{User: user, Renewed: store.At(w.now()), Generation: before.Generation + 1}
	sealed.Access = keys.system.Seal(nil, []byte(g.Access), crypto.RecordContext(user, accessField))
	if g.Refresh != "" {
		sealed.Refresh = keys.system.Seal(nil, []byte(g.Refresh), crypto.RecordContext(user, refreshField))
	}
	if !g.Expires.IsZero() {
		sealed.Expires = store.At(g.Expires)
	}
	return tx.PutGrant(sealed)
}

// openGrant is a user's grant in the clear, or errNoGrant.
func (w *Warden) openGrant(ctx context.Context, keys *keyring, user store.ID) (forge.Grant, store.Grant, error) {
	var g forge.Grant
	var sealed store.Grant
	err := w.store.View(ctx, func(r store.Reader) (err error) {
		if sealed, err = r.Grant(user); err != nil {
			return err
		}
		access, err := keys.system.Open(nil, sealed.Access, crypto.RecordContext(user, accessField))
		if err != nil {
			return fmt.Errorf("open a grant: %w", err)
		}
		g = forge.Grant{Access: string(access)}
		if sealed.Expires != 0 {
			g.Expires = sealed.Expires.Time()
		}
		if len(sealed.Refresh) == 0 {
			return nil
		}
		refresh, err := keys.system.Open(nil, sealed.Refresh, crypto.RecordContext(user, refreshField))
		g.Refresh = string(refresh)
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		err = errNoGrant
	}
	return g, store.Grant{User: sealed.User, Expires: sealed.Expires, Renewed: sealed.Renewed, Generation: sealed.Generation}, err
}

// grantToken is an access token of the user's grant that still lasts a while.
func (w *Warden) grantToken(ctx context.Context, user store.ID) (string, error) {
	keys, err := w.holdKeys()
	if err != nil {
		return "", err
	}
	g, _, err := w.openGrant(ctx, keys, user)
	keys.users.RUnlock()
	if err != nil {
		return "", err
	}
	if g.Expires.IsZero() || w.now().Before(g.Expires.Add(-renewBefore)) {
		return g.Access, nil
	}
	return w.renew(ctx, user, g.Access)
}

// renew gets a new access token for a user in place of one that is about to end
// or was turned down. Who asks while one is under way gets what that one brings.
func (w *Warden) renew(ctx context.Context, user store.ID, stale string) (string, error) {
	flight := w.host.renewals.DoChan(user.String(), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), renewTime)
		defer cancel()
		return w.renewOnce(ctx, user, stale)
	})
	select {
	case got := <-flight:
		token, _ := got.Val.(string)
		return token, got.Err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

func (w *Warden) renewOnce(ctx context.Context, user store.ID, stale string) (string, error) {
	keys, err := w.holdKeys()
	if err != nil {
		return "", err
	}
	defer keys.users.RUnlock()
	g, stored, err := w.openGrant(ctx, keys, user)
	if err != nil {
		return "", err
	}
	if g.Access != stale {
		return g.Access, nil // somebody else has renewed it, or the user signed in
	}
	host, ok := w.forge.(forge.SignIn)
	if !ok || g.Refresh == "" {
		return "", errNoGrant
	}
	// What cannot be stored must not be asked for: the old pair would be dead.
	if err := w.store.Update(ctx, store.Tx.Probe); err != nil {
		return "", err
	}
	fresh, err := host.Refresh(ctx, g.Refresh)
	if errors.Is(err, forge.ErrGrantEnded) {
		w.log.InfoContext(ctx, "the code host ended a user's sign-in there", "user", user.String())
		return "", errors.Join(errNoGrant, w.endGrant(ctx, stored))
	}
	if err != nil {
		return "", err
	}
	if fresh.Refresh == "" {
		fresh.Refresh = g.Refresh
	}
	if err := w.keepRenewed(ctx, keys, stored, fresh); err != nil {
		return "", err
	}
	return fresh.Access, nil
}

// keepRenewed stores a renewed grant, unless the user has signed in meanwhile:
// that grant is newer. It tries more than once, because the old one is dead.
func (w *Warden) keepRenewed(ctx context.Context, keys *keyring, renewed store.Grant, fresh forge.Grant) (err error) {
	for try := range 3 {
		err = w.store.Update(ctx, func(tx store.Tx) error {
			now, err := tx.Grant(renewed.User)
			if errors.Is(err, store.ErrNotFound) || err == nil && now.Generation != renewed.Generation {
				return nil
			}
			if err != nil {
				return err
			}
			return w.putGrant(tx, keys, renewed.User, fresh)
		})
		if err == nil {
			return nil
		}
		select {
		case <-time.After(time.Duration(try+1) * 200 * time.Millisecond):
		case <-ctx.Done():
		}
	}
	w.log.ErrorContext(ctx, "a renewed sign-in at the code host could not be stored: its user must sign in again", "user", renewed.User.String(), "error", err)
	return err
}

// endGrant forgets a grant that the code host ended, unless there is a newer one.
func (w *Warden) endGrant(ctx context.Context, ended store.Grant) error {
	return w.store.Update(ctx, func(tx store.Tx) error {
		now, err := tx.Grant(ended.User)
		if errors.Is(err, store.ErrNotFound) || err == nil && now.Generation != ended.Generation {
			return nil
		}
		if err != nil {
			return err
		}
		return tx.DeleteGrant(ended.User)
	})
}

// renewIdle is how long a grant may go without being renewed before a job does
// it: refresh tokens end, at the strictest hosts after a month.
const renewIdle = 7 * 24 * time.Hour

// RenewGrants renews the grants that live API keys depend on, so that they do
// not end for want of use.
func (w *Warden) RenewGrants(ctx context.Context) error {
	var due []store.ID
	err := w.store.View(ctx, func(r store.Reader) error {
		all, err := r.Grants()
		if err != nil {
			return err
		}
		for _, g := range all {
			if len(g.Refresh) == 0 || w.now().Sub(g.Renewed.Time()) < renewIdle {
				continue
			}
			live, err := w.hasLiveKey(r, g.User)
			if err != nil {
				return err
			}
			if live {
				due = append(due, g.User)
			}
		}
		return nil
	})
	if err != nil {
		return w.outward(err)
	}
	return eachAtHost(ctx, due, func(user store.ID) error {
		if err := w.renewNow(ctx, user); err != nil && !errors.Is(err, errNoGrant) {
			return w.errForge(ctx, Caller{}, err)
		}
		return nil
	})
}

func (w *Warden) renewNow(ctx context.Context, user store.ID) error {
	keys, err := w.holdKeys()
	if err != nil {
		return err
	}
	g, _, err := w.openGrant(ctx, keys, user)
	keys.users.RUnlock()
	if err != nil {
		return err
	}
	_, err = w.renew(ctx, user, g.Access)
	return err
}

func (w *Warden) hasLiveKey(r store.Reader, user store.ID) (bool, error) {
	all, err := r.APIKeys(user)
	for _, k := range all {
		if k.Revoked == 0 && !expired(k, w.now()) {
			return true, err
		}
	}
	return false, err
}
