package warden

import (
	"context"
	"errors"
	"time"

	"coffer/crypto"
	"coffer/server/access"
	"coffer/server/api"
	"coffer/store"
)

// Signing in in a browser: whichever way somebody proves who they are, it ends
// here, in a new session or in a record of the refusal.

// Ways to sign in in a browser, as the audit log names them.
const (
	byPassword = "password"
	byOAuth    = "oauth"
)

// BrowserSession is a session of a browser that has just begun.
type BrowserSession struct {
	Token    api.Secret // what the browser shows from now on; nobody sees it again
	Username string
	Expires  time.Time
}

// browserToken is how many random characters the token of a browser's session has:
// 238 bits, like an API key.
const browserToken = 40

// newOwnToken is a token of ours for one purpose, with n random characters. It
// begins like all that are ours, so that it is never taken for one of the code
// host's, and sent there, wherever it turns up.
func newOwnToken(purpose string, n int) (string, error) {
	random, err := crypto.NewToken(n)
	return ownPrefix + purpose + "_" + random, err
}

// arrival is somebody who signs in in a browser.
type arrival struct {
	who    Caller
	before string // the token of the session that the browser had, or ""
	method string // byPassword or byOAuth
}

func arrivalOf(c Credential, method string) arrival {
	a := arrival{who: visitor(c), before: c.Cookie, method: method}
	a.who.kind = access.Session
	return a
}

// begin starts the session of whom find names. The session that the browser had
// ends, whoever's it was: a browser has one, and a token that was known before
// the sign-in must be worth nothing after it.
func (w *Warden) begin(ctx context.Context, a arrival, find func(store.Tx, *journal, *keyring) (store.User, error)) (*BrowserSession, error) {
	token, err := newOwnToken("session", browserToken)
	if err != nil {
		return nil, err
	}
	keys, err := w.holdKeys()
	if err != nil {
		return nil, err
	}
	defer keys.users.RUnlock()
	hash, now := crypto.HashToken(token), w.now()
	ids := store.NewIDs(now)
	var s store.Session
	var u store.User
	err = w.append(ctx, keys, ids, func(tx store.Tx) (_ []store.Activity, err error) {
		j := &journal{w: w, who: a.who, now: now, ids: ids}
		if u, err = find(tx, j, keys); err != nil {
			return nil, err
		}
		if err := endSessionOf(tx, a.before); err != nil {
			return nil, err
		}
		j.who.user = u
		if s, err = startSessionWith(tx, j, hash[:]); err != nil {
			return nil, err
		}
		j.note("user_login", map[string]any{"method": a.method})
		return j.notes, nil
	})
	if err != nil {
		return nil, w.outward(err)
	}
	w.tallies.signIns.note(outcomeOpened)
	return &BrowserSession{Token: api.NewSecret(token), Username: u.Login, Expires: s.Expires.Time()}, nil
}

// endSessionOf ends the session that a browser's token stands for, if any.
func endSessionOf(tx store.Tx, token string) error {
	if token == "" {
		return nil
	}
	s, err := tx.SessionByHash(crypto.HashToken(token))
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return tx.DeleteSession(s)
}

// turnAway records why somebody could not sign in, and returns what to answer. The
// record names whom it was tried for if that is known for sure.
func (w *Warden) turnAway(ctx context.Context, a arrival, reason string, answer *api.Error) error {
	w.tallies.signIns.note(outcomeRefused)
	j := journal{w: w, who: a.who, now: w.now()}
	j.note("login_refused", map[string]any{"method": a.method, "reason": reason})
	if err := w.write(ctx, j.notes); err != nil {
		return w.outward(err)
	}
	return answer
}
