package warden

import (
	"context"
	"errors"
	"fmt"
	"time"

	"coffer/crypto"
	"coffer/server/api"
	"coffer/server/hosting"
	"coffer/store"
)

// What a connection holds lets us act at a hosting provider as its user. Its
// tokens are sealed; a pair that is renewed is on disk before its access token is
// used, because at some providers the old refresh token is dead by then, and using
// it again would end the whole grant.

const (
	connectionAccess  = "connection/access"
	connectionRefresh = "connection/refresh"
)

// refreshTime is for how long a provider is waited for that renews a pair.
const refreshTime = 10 * time.Second

// errReconnect means that a connection's user has to connect again.
var errReconnect = errors.New("the connection's credential is over")

// reached is a provider together with what it is asked with for a connection.
type reached struct {
	hosting.Provider
	conn store.Connection
	cred hosting.Credential
}

// reach opens a connection: its provider, and a token that still lasts a while.
func (w *Warden) reach(ctx context.Context, id store.ID) (*reached, error) {
	conn, grant, err := w.openConnection(ctx, id)
	if err != nil {
		return nil, err
	}
	provider := w.c.Hosting[conn.Provider]
	switch {
	case provider == nil:
		return nil, api.Errorf(api.Conflict, "The operator of this server turned %s off. Ask them to turn it on again.", hosting.Display(conn.Provider))
	case conn.Broken:
		return nil, errReconnect
	}
	to := &reached{provider, conn, hosting.Credential{Token: grant.Access, Team: conn.Team, Kind: conn.Kind}}
	if grant.Expires.IsZero() || w.now().Before(grant.Expires.Add(-renewBefore)) {
		return to, nil
	}
	return to, w.renewConnection(ctx, to)
}

func errProviderOff(name string) *api.Error {
	return api.Errorf(api.NotFound, "There is no hosting provider %q here, or the operator turned it off.", name)
}

// openConnection is a connection with its tokens in the clear.
func (w *Warden) openConnection(ctx context.Context, id store.ID) (conn store.Connection, g hosting.Grant, err error) {
	err = w.withKeys(func(keys *keyring) (err error) {
		conn, g, err = w.openConnectionWith(ctx, keys, id)
		return err
	})
	return conn, g, err
}

func (w *Warden) openConnectionWith(ctx context.Context, keys *keyring, id store.ID) (conn store.Connection, g hosting.Grant, err error) {
	err = w.store.View(ctx, func(r store.Reader) (err error) {
		conn, err = r.Connection(id)
		return err
	})
	if err != nil {
		return conn, g, err
	}
	access, err := keys.system.Open(nil, conn.Access, crypto.RecordContext(id, connectionAccess))
	if err != nil {
		return conn, g, fmt.Errorf("open a connection: %w", err)
	}
	g.Access, g.Team = api.NewSecret(string(access)), conn.Team
	if conn.Expires != 0 {
		g.Expires = conn.Expires.Time()
	}
	if len(conn.Refresh) > 0 {
		refresh, err := keys.system.Open(nil, conn.Refresh, crypto.RecordContext(id, connectionRefresh))
		if err != nil {
			return conn, g, fmt.Errorf("open a connection: %w", err)
		}
		g.Refresh = api.NewSecret(string(refresh))
	}
	conn.Access, conn.Refresh = nil, nil
	return conn, g, nil
}

// sealConnection puts tokens into a connection's record.
func (k *keyring) sealConnection(c *store.Connection, g hosting.Grant) {
	c.Access = k.system.Seal(nil, []byte(g.Access.Reveal()), crypto.RecordContext(c.ID, connectionAccess))
	c.Refresh, c.Expires = nil, 0
	if g.Refresh.Len() > 0 {
		c.Refresh = k.system.Seal(nil, []byte(g.Refresh.Reveal()), crypto.RecordContext(c.ID, connectionRefresh))
	}
	if !g.Expires.IsZero() {
		c.Expires = store.At(g.Expires)
	}
	c.Generation++
}

// renewed is a connection with the token that a renewal brought.
type renewed struct {
	conn  store.Connection
	token api.Secret
}

// renewConnection gets a new token in place of the one that is about to end or was
// turned down. Who asks while one is being renewed gets what that brings.
func (w *Warden) renewConnection(ctx context.Context, to *reached) error {
	stale := to.cred.Token
	flight := w.syncs.renewals.DoChan(to.conn.ID.String(), func() (any, error) {
		return w.renewConnectionOnce(context.WithoutCancel(ctx), to.conn.ID, stale)
	})
	select {
	case got := <-flight:
		if fresh, ok := got.Val.(renewed); ok && got.Err == nil {
			to.conn, to.cred.Token = fresh.conn, fresh.token
		}
		return got.Err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// renewConnectionOnce holds the keys all the while: sealing waits for it, and the
// process does not end, because a pair that cannot be stored is lost.
func (w *Warden) renewConnectionOnce(ctx context.Context, id store.ID, stale api.Secret) (any, error) {
	keys, err := w.holdKeys()
	if err != nil {
		return nil, err
	}
	defer keys.users.RUnlock()
	conn, g, err := w.openConnectionWith(ctx, keys, id)
	if err != nil {
		return nil, err
	}
	if g.Access != stale {
		return renewed{conn, g.Access}, nil // somebody else has renewed it, or its user connected again
	}
	host, ok := w.c.Hosting[conn.Provider].(hosting.Authorizer)
	if !ok || g.Refresh.Len() == 0 {
		return nil, errors.Join(errReconnect, w.breakConnection(ctx, conn))
	}
	// What cannot be stored must not be asked for: the old pair would be dead.
	if err := w.store.Update(ctx, store.Tx.Probe); err != nil {
		return nil, err
	}
	patient, cancel := context.WithTimeout(ctx, refreshTime)
	defer cancel()
	fresh, err := host.Refresh(patient, g.Refresh)
	if errors.Is(err, hosting.ErrCredential) {
		return nil, errors.Join(errReconnect, w.breakConnection(ctx, conn))
	}
	if err != nil {
		return nil, err
	}
	if fresh.Refresh.Len() == 0 {
		fresh.Refresh = g.Refresh
	}
	if err := w.keepConnection(ctx, keys, conn, fresh); err != nil {
		return nil, err
	}
	if conn, g, err = w.openConnectionWith(ctx, keys, id); err != nil {
		return nil, err
	}
	return renewed{conn, g.Access}, nil
}

// keepConnection stores a renewed pair, unless the user connected again meanwhile:
// that one is newer. It tries more than once, because the old pair is dead.
func (w *Warden) keepConnection(ctx context.Context, keys *keyring, conn store.Connection, fresh hosting.Grant) (err error) {
	for try := range 3 {
		err = w.changeConnection(ctx, conn, func(c *store.Connection) { keys.sealConnection(c, fresh) })
		if err == nil {
			return nil
		}
		time.Sleep(time.Duration(try+1) * 200 * time.Millisecond)
	}
	w.log.ErrorContext(ctx, "a renewed connection could not be stored: its user must connect again", "connection", conn.ID.String(), "error", err)
	return err
}

// breakConnection notes that a connection's user has to connect again.
func (w *Warden) breakConnection(ctx context.Context, conn store.Connection) error {
	w.log.InfoContext(ctx, "a hosting provider turned a connection down", "provider", conn.Provider, "connection", conn.ID.String())
	return w.changeConnection(ctx, conn, func(c *store.Connection) { c.Broken = true })
}

// changeConnection changes a connection that has not got other tokens since it was
// read.
func (w *Warden) changeConnection(ctx context.Context, was store.Connection, change func(*store.Connection)) error {
	at := store.At(w.now())
	return w.store.Update(ctx, func(tx store.Tx) error {
		now, err := tx.Connection(was.ID)
		if errors.Is(err, store.ErrNotFound) || err == nil && now.Generation != was.Generation {
			return nil
		}
		if err != nil {
			return err
		}
		change(&now)
		now.Updated = at
		return tx.PutConnection(now)
	})
}

// asking asks a provider something with a connection. A credential that is turned
// down is renewed once: it may have been withdrawn alone.
func asking[T any](ctx context.Context, w *Warden, to *reached, question func(hosting.Credential) (T, error)) (T, error) {
	got, err := question(to.cred)
	if !errors.Is(err, hosting.ErrCredential) {
		return got, err
	}
	if err := w.renewConnection(ctx, to); err != nil {
		return got, err
	}
	if got, err = question(to.cred); errors.Is(err, hosting.ErrCredential) {
		err = errors.Join(errReconnect, w.breakConnection(ctx, to.conn))
	}
	return got, err
}

// errProvider turns what a provider said into what the caller may see.
func (w *Warden) errProvider(ctx context.Context, name string, err error) error {
	if _, ok := errors.AsType[*api.Error](err); ok || err == nil {
		return err
	}
	display := w.displayName(name)
	var down *hosting.Unavailable
	switch {
	case errors.Is(err, errReconnect), errors.Is(err, hosting.ErrCredential):
		return api.Errorf(api.Conflict, "%s turned this connection's credential down. Reconnect: connect to %s again, then try once more.", display, display)
	case errors.As(err, &down):
		w.log.WarnContext(ctx, "a hosting provider did not answer", "provider", name, "error", err, "their_request", down.RequestID)
		e := api.Errorf(api.ProviderFailed, "%s did not answer. Try again in a moment.", display)
		if down.Limited {
			e.Message = display + " was asked too often. Try again in some minutes."
		}
		e.RetryAfter = down.RetryAfter
		return e
	case errors.Is(err, hosting.ErrNotFound):
		return api.Errorf(api.ProviderFailed, "%s did not find what was there before. Look at its project, then try again.", display)
	}
	if f, ok := errors.AsType[*hosting.Failure](err); ok {
		return api.Errorf(api.ProviderFailed, "%s: %s", display, f.Code.Message())
	}
	return w.outward(err)
}

// displayName is what people call a provider.
func (w *Warden) displayName(name string) string {
	if p := w.c.Hosting[name]; p != nil {
		return p.Describe().Display
	}
	return name
}
