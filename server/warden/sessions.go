package warden

import (
	"context"
	"errors"
	"strconv"
	"time"

	"coffer/crypto"
	"coffer/server/access"
	"coffer/server/api"
	"coffer/server/forge"
	"coffer/store"
)

// MaxSessionTTL is the longest that a session may last, and the default.
const MaxSessionTTL = 30 * 24 * time.Hour

// idleTime is how long a browser may stay away and still be signed in.
const idleTime = 7 * 24 * time.Hour

const tokenIssuer = "coffer"

// identifySession finds out whose service token this is. A token whose session
// was ended is as good as none.
func (w *Warden) identifySession(ctx context.Context, who Caller, token string) (Caller, error) {
	keys, err := w.holdKeys()
	if err != nil {
		return Caller{}, err
	}
	claims, err := keys.tokens.Verify(tokenIssuer, token, w.now())
	keys.users.RUnlock()
	expired := errUnauthorized("This login is not valid, or no longer. Sign in again.")
	if err != nil {
		return Caller{}, expired
	}
	id, err := store.ParseID(claims.ID)
	if err != nil {
		return Caller{}, expired
	}
	err = w.store.View(ctx, func(r store.Reader) (err error) {
		if who.session, err = r.Session(id); err != nil {
			return err
		}
		who.user, err = r.User(who.session.User)
		return err
	})
	switch {
	case errors.Is(err, store.ErrNotFound), err == nil && who.user.ID.String() != claims.Subject:
		return Caller{}, expired
	case err != nil:
		return Caller{}, w.outward(err)
	}
	who.kind, who.scopes = access.JWT, access.All
	w.uses.note(who.session.ID, w.now())
	return who, nil
}

// identifyBrowser finds out whose session the cookie of a browser stands for.
func (w *Warden) identifyBrowser(ctx context.Context, who Caller, token string) (Caller, error) {
	hash := crypto.HashToken(token)
	err := w.store.View(ctx, func(r store.Reader) (err error) {
		if who.session, err = r.SessionByHash(hash); err != nil {
			return err
		}
		if who.user, err = r.User(who.session.User); err != nil {
			return err
		}
		who.operator, err = w.runsInstance(r, who.user)
		return err
	})
	switch {
	case errors.Is(err, store.ErrNotFound), err == nil && w.ended(who.session):
		return Caller{}, errUnauthorized("You are not signed in here any more. Sign in again.")
	case err != nil:
		return Caller{}, w.outward(err)
	}
	who.kind, who.scopes = access.Session, access.All
	w.uses.note(who.session.ID, w.now())
	return who, nil
}

// runsInstance reports whether a user has an account of the built-in code host that
// may run the instance.
func (w *Warden) runsInstance(r store.Reader, u store.User) (bool, error) {
	if w.builtIn() != nil || u.Forge != forge.KindLocal {
		return false, nil
	}
	id, err := strconv.ParseUint(u.Account, 10, 64)
	if err != nil {
		return false, nil
	}
	account, err := r.LocalUser(id)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return account.Operator, err
}

// ended reports whether a session's time is over: all of it, or that of a
// browser which stayed away for too long.
func (w *Warden) ended(s store.Session) bool {
	now := w.now()
	if !s.Expires.Time().After(now) {
		return true
	}
	return s.Idle(store.At(now.Add(-idleTime))) && w.uses.pending(s.ID).count == 0
}

// SignIn gives the operator a service token in the name of a user.
func (w *Warden) SignIn(ctx context.Context, who Caller, req api.SignIn) (*api.SignedIn, error) {
	var s store.Session
	var u store.User
	err := w.changeSelf(ctx, who, access.SignIn, func(tx store.Tx, j *journal) (err error) {
		if u, err = w.userNamed(tx, j, req.Username); err != nil {
			return err
		}
		j.who.user = u
		s, err = startSession(tx, j)
		j.note("user_login", map[string]any{"method": "operator"})
		return err
	})
	if err != nil {
		return nil, err
	}
	token, err := w.tokenOf(s, u)
	return &api.SignedIn{Token: api.Revealed(token), Username: u.Login, ExpiresAt: api.At(s.Expires.Time())}, err
}

// startSession begins a session of the caller that a service token stands for.
func startSession(tx store.Tx, j *journal) (store.Session, error) {
	return startSessionWith(tx, j, nil)
}

// startSessionWith begins a session of the caller that a browser's token with
// this hash stands for.
func startSessionWith(tx store.Tx, j *journal, hash []byte) (store.Session, error) {
	s := store.Session{
		ID: j.ids.Next(), User: j.who.user.ID, Created: store.At(j.now),
		Expires: store.At(j.now.Add(j.w.c.SessionTTL)), UserAgent: j.who.userAgent, Hash: hash,
	}
	if j.who.ip.IsValid() {
		s.IP = j.who.ip.String()
	}
	return s, tx.PutSession(s)
}

// tokenOf is the service token that stands for a session.
func (w *Warden) tokenOf(s store.Session, u store.User) (string, error) {
	keys, err := w.holdKeys()
	if err != nil {
		return "", err
	}
	defer keys.users.RUnlock()
	return keys.tokens.Sign(tokenIssuer, crypto.Claims{
		ID: s.ID.String(), Subject: u.ID.String(), Username: u.Login, ForgeType: u.Forge,
		IssuedAt: s.Created.Time(), ExpiresAt: s.Expires.Time(),
	})
}

// Sessions lists the caller's sessions that have not ended.
func (w *Warden) Sessions(ctx context.Context, who Caller, _ api.Empty) (*api.Sessions, error) {
	out := &api.Sessions{}
	err := w.self(ctx, who, access.SessionList, func(r store.Reader) error {
		all, err := r.Sessions(who.user.ID)
		out.Sessions = make([]api.Session, 0, len(all))
		for _, s := range all {
			if !w.ended(s) {
				out.Sessions = append(out.Sessions, w.shownSession(s, who))
			}
		}
		return err
	})
	return out, err
}

func (w *Warden) shownSession(s store.Session, who Caller) api.Session {
	if use := w.uses.pending(s.ID); use.count > 0 {
		s.LastUsed = store.At(use.last)
	}
	return api.Session{
		ID: s.ID.String(), CreatedAt: api.At(s.Created.Time()), LastUsedAt: api.AtOrNull(s.LastUsed.Time()),
		ExpiresAt: api.At(s.Expires.Time()), IP: orNull(s.IP), UserAgent: orNull(s.UserAgent), Current: s.ID == who.session.ID,
	}
}

// EndSession ends one of the caller's sessions at once.
func (w *Warden) EndSession(ctx context.Context, who Caller, ref api.IDRef) error {
	return w.changeSelf(ctx, who, access.SessionRevoke, func(tx store.Tx, j *journal) error {
		missing := api.Errorf(api.NotFound, "You have no such session.")
		id, err := store.ParseID(ref.ID)
		if err != nil {
			return missing
		}
		s, err := tx.Session(id)
		if errors.Is(err, store.ErrNotFound) || err == nil && s.User != who.user.ID {
			return missing
		}
		if err != nil {
			return err
		}
		j.note("session_revoked", map[string]any{"sessionId": s.ID.String()})
		return tx.DeleteSession(s)
	})
}

// Logout ends the session that is asking.
func (w *Warden) Logout(ctx context.Context, who Caller, _ api.Empty) error {
	return w.changeSelf(ctx, who, access.Logout, func(tx store.Tx, j *journal) error {
		j.note("user_logout", nil)
		return tx.DeleteSession(who.session)
	})
}
