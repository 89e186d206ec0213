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
		return nil, errProviderOff(conn.Provider)
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
	keys, err := w.holdKeys()
	if err != nil {
		return conn, g, err
	}
	defer keys.users.RUnlock()
	err = w.store.View(ctx, func(r store.Reader) (err error) {
		if conn, err = r.Connection(id); err != nil {
			return err
		}
		access, err := keys.system.Open(nil, conn.Access, crypto.RecordContext(id, connectionAccess))
		if err != nil {
			return fmt.Errorf("open a connection: %w", err)
		}
		g.Access, g.Team = api.NewSecret(string(access)), conn.Team
		if conn.Expires != 0 {
			g.Expires = conn.Expires.Time()
		}
		if len(conn.Refresh) == 0 {
			return nil
		}
		refresh, err := keys.system.Open(nil, conn.Refresh, crypto.RecordContext(id, connectionRefresh))
		g.Refresh = api.NewSecret(string(refresh))
		return err
	})
	conn.Access, conn.Refresh = nil, nil
	return conn, g, err
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

// renewConnection gets a new token in place of the one that is about to end or was
// turned down. Who asks while one is being renewed gets what that brings.
func (w *Warden) renewConnection(ctx context.Context, to *reached) error {
	stale := to.cred.Token
	flight := w.syncs.renewals.DoChan(to.conn.ID.String(), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), renewTime)
		defer cancel()
		return w.renewConnectionOnce(ctx, to.conn.ID, stale)
	})
	select {
	case got := <-flight:
		if got.Err == nil {
			to.cred.Token = got.Val.(api.Secret)
		}
		return got.Err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (w *Warden) renewConnectionOnce(ctx context.Context, id store.ID, stale api.Secret) (api.Secret, error) {
	none := api.Secret{}
	conn, g, err := w.openConnection(ctx, id)
	if err != nil {
		return none, err
	}
	if g.Access != stale {
		return g.Access, nil // somebody else has renewed it, or its user connected again
	}
	host, ok := w.c.Hosting[conn.Provider].(hosting.Authorizer)
	if !ok || g.Refresh.Len() == 0 {
		return none, errors.Join(errReconnect, w.breakConnection(ctx, conn))
	}
	// What cannot be stored must not be asked for: the old pair would be dead.
	if err := w.store.Update(ctx, store.Tx.Probe); err != nil {
		return none, err
	}
	fresh, err := host.Refresh(ctx, g.Refresh)
	if errors.Is(err, hosting.ErrCredential) {
		return none, errors.Join(errReconnect, w.breakConnection(ctx, conn))
	}
	if err != nil {
		return none, err
	}
	if fresh.Refresh.Len() == 0 {
		fresh.Refresh = g.Refresh
	}
	return fresh.Access, w.keepConnection(ctx, conn, fresh)
}

// keepConnection stores a renewed pair, unless the user connected again meanwhile:
// that one is newer. It tries more than once, because the old pair is dead.
func (w *Warden) keepConnection(ctx context.Context, renewed store.Connection, fresh hosting.Grant) (err error) {
	keys, err := w.holdKeys()
	if err != nil {
		return err
	}
	defer keys.users.RUnlock()
	for try := range 3 {
		err = w.changeConnection(ctx, renewed, func(c *store.Connection) { keys.sealConnection(c, fresh) })
		if err == nil {
			return nil
		}
		select {
		case <-time.After(time.Duration(try+1) * 200 * time.Millisecond):
		case <-ctx.Done():
		}
	}
	w.log.Error("a renewed connection could not be stored: its user must connect again", "connection", renewed.ID.String(), "error", err)
	return err
}

// breakConnection notes that a connection's user has to connect again.
func (w *Warden) breakConnection(ctx context.Context, conn store.Connection) error {
	w.log.Info("a hosting provider turned a connection down", "provider", conn.Provider, "connection", conn.ID.String())
	return w.changeConnection(ctx, conn, func(c *store.Connection) { c.Broken = true })
}

// changeConnection changes a connection that has not got other tokens since it was
// read.
func (w *Warden) changeConnection(ctx context.Context, was store.Connection, change func(*store.Connection)) error {
	return w.store.Update(ctx, func(tx store.Tx) error {
		now, err := tx.Connection(was.ID)
		if errors.Is(err, store.ErrNotFound) || err == nil && now.Generation != was.Generation {
			return nil
		}
		if err != nil {
			return err
		}
		change(&now)
		now.Updated = store.At(w.now())
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
func (w *Warden) errProvider(name string, err error) error {
	if _, ok := errors.AsType[*api.Error](err); ok || err == nil {
		return err
	}
	display := w.displayName(name)
	var down *hosting.Unavailable
	switch {
	case errors.Is(err, errReconnect), errors.Is(err, hosting.ErrCredential):
		return api.Errorf(api.Conflict, "%s turned this connection's credential down. Reconnect: connect to %s again, then try once more.", display, display)
	case errors.As(err, &down):
		w.log.Warn("a hosting provider did not answer", "provider", name, "error", err, "request", down.RequestID)
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
