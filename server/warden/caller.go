package warden

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"sync"
	"time"

	"coffer/crypto"
	"coffer/server/access"
	"coffer/server/api"
	"coffer/store"
)

// Credential is what a request brings along to say who asks.
type Credential struct {
	Bearer    string     // the bearer token, or ""
	Cookie    string     // the token of a browser's session, or ""; a bearer token comes before it
	Operator  bool       // came through the operator socket of the data directory
	IP        netip.Addr // of the client, behind trusted proxies
	UserAgent string
	RequestID string

	// Exhausted reports whether so many wrong credentials came from this address
	// lately that an unknown token is not worth asking the code host about. Nil
	// is never.
	Exhausted func() bool
}

// Empty reports whether a request brought nothing along that could be right or
// wrong.
func (c Credential) Empty() bool { return c.Bearer == "" && c.Cookie == "" }

// Caller is who is asking. Only [Warden.Identify] and [Warden.Stranger] make one.
type Caller struct {
	kind      access.Kinds  // exactly one
	operator  bool          // of access.Session: the account may run the instance
	user      store.User    // zero for the operator
	key       store.APIKey  // of access.APIKey
	session   store.Session // of access.JWT and access.Session
	token     api.Secret    // of access.PAT: for questions to the code host, and for nothing else
	scopes    access.Scopes
	misplaced bool // the key is used from an address it may not be used from
	ip        netip.Addr
	userAgent string
}

// Kind names the kind of credential, for logs.
func (c Caller) Kind() string {
	if c.kind == 0 {
		return "none"
	}
	return c.kind.String()
}

// ID is what the caller's requests are counted by: the id of the API key, or the
// user's for every other kind of credential. Nobody's and the operator's is zero.
func (c Caller) ID() [16]byte {
	if c.kind == access.APIKey {
		return c.key.ID
	}
	return c.user.ID
}

// Username is what the caller is called at the code host, or "" for the operator.
func (c Caller) Username() string { return c.user.Login }

// SessionID is the id of the browser's session that is asking, or zero.
func (c Caller) SessionID() [16]byte {
	if !c.InBrowser() {
		return [16]byte{}
	}
	return c.session.ID
}

// IsOperator reports whether the caller may run the instance.
func (c Caller) IsOperator() bool { return c.kinds()&access.Operators != 0 }

// kinds is everything that the credential is.
func (c Caller) kinds() access.Kinds {
	if c.operator {
		return c.kind | access.OperatorSession
	}
	return c.kind
}

// InBrowser reports whether somebody is asking who is signed in to the web UI.
func (c Caller) InBrowser() bool { return c.kind == access.Session }

// isTest reports whether an API key of the test environment is asking.
func (c Caller) isTest() bool { return c.kind == access.APIKey && c.key.Environment == "test" }

// platform is what kind of program asks, as the activity log shows it.
func (c Caller) platform() string {
	switch ua := c.userAgent; {
	case strings.Contains(ua, "keyway-cli"), strings.HasPrefix(ua, "coffer"):
		return "cli"
	case strings.Contains(ua, "keyway-mcp"):
		return "mcp"
	case c.kind == access.Session, strings.HasPrefix(ua, "Mozilla/"):
		return "web"
	default:
		return "api"
	}
}

// ownPrefix begins every token of ours that has no other form.
const ownPrefix = "coffer_"

func errUnauthorized(reason string) *api.Error {
	return api.Errorf(api.Unauthorized, "%s", reason)
}

// visitor is somebody of whom nothing is known but where they ask from.
func visitor(c Credential) Caller {
	return Caller{ip: c.IP.Unmap().WithZone(""), userAgent: clip(c.UserAgent, 256)}
}

// Identify finds out who a credential belongs to. Whatever it is, it is worth
// nothing while its owner is kept out.
func (w *Warden) Identify(ctx context.Context, c Credential) (Caller, error) {
	who, err := w.owner(ctx, c)
	if err == nil && who.user.Disabled != 0 {
		return Caller{}, errDisabled()
	}
	return who, err
}

// owner is whom a credential was given to.
func (w *Warden) owner(ctx context.Context, c Credential) (Caller, error) {
	who := visitor(c)
	if c.Operator && c.Empty() {
		who.kind = access.Operator
		return who, nil // nothing that is sealed tells who that is
	}
	if w.keys.Load() == nil {
		return Caller{}, w.errSealed()
	}
	switch {
	case c.Empty():
		return Caller{}, errUnauthorized("This needs a token: send it as \"Authorization: Bearer <token>\".")
	case c.Bearer == "":
		return w.identifyBrowser(ctx, who, c.Cookie)
	case strings.HasPrefix(c.Bearer, ownPrefix):
		return w.identifyKey(ctx, who, c.Bearer)
	case crypto.LooksLikeJWT(c.Bearer):
		return w.identifySession(ctx, who, c.Bearer)
	default:
		return w.identifyBearer(ctx, who, c)
	}
}

// Stranger is somebody who showed no credential, for the few operations that need
// none. No action admits a stranger.
func (w *Warden) Stranger(c Credential) (Caller, error) {
	if w.keys.Load() == nil {
		return Caller{}, w.errSealed()
	}
	return visitor(c), nil
}

func (w *Warden) identifyKey(ctx context.Context, who Caller, token string) (Caller, error) {
	if !crypto.ValidAPIKey(token) {
		return Caller{}, errUnauthorized("This API key is malformed: was it copied whole?")
	}
	hash := crypto.HashToken(token)
	err := w.store.View(ctx, func(r store.Reader) (err error) {
		if who.key, err = r.APIKeyByHash(hash); err != nil {
			return err
		}
		who.user, err = r.User(who.key.User)
		return err
	})
	now := w.now()
	switch {
	case errors.Is(err, store.ErrNotFound):
		return Caller{}, errUnauthorized("This API key is not known here. Is it for another server?")
	case err != nil:
		return Caller{}, w.outward(err)
	case who.key.Revoked != 0:
		return Caller{}, errUnauthorized("This API key was revoked. Create a new one.")
	case expired(who.key, now):
		return Caller{}, errUnauthorized("This API key has expired. Create a new one.")
	}
	who.kind = access.APIKey
	who.scopes = access.Scopes(who.key.Scopes)
	who.misplaced = !allowsSource(who.key, who.ip)
	if !who.misplaced {
		w.uses.note(who.key.ID, now)
	}
	return who, nil
}

func expired(k store.APIKey, now time.Time) bool {
	return k.Expires != 0 && !now.Before(k.Expires.Time())
}

func allowsSource(k store.APIKey, ip netip.Addr) bool {
	if len(k.Sources) == 0 {
		return true
	}
	for _, s := range k.Sources {
		if p, err := netip.ParsePrefix(s); err == nil && p.Contains(ip) {
			return true
		}
	}
	return false
}

// clip cuts s to at most n bytes of valid UTF-8.
func clip(s string, n int) string {
	if len(s) > n {
		s = s[:n]
	}
	return strings.ToValidUTF8(s, "")
}

// keyUses gathers when and how often API keys were used, to be written every
// few seconds instead of with every request.
type keyUses struct {
	mu sync.Mutex
	of map[store.ID]keyUse
}

type keyUse struct {
	last  time.Time
	count uint64
}

func newKeyUses() *keyUses { return &keyUses{of: make(map[store.ID]keyUse)} }

func (u *keyUses) note(id store.ID, now time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	use := u.of[id]
	u.of[id] = keyUse{now, use.count + 1}
}

// pending is what was gathered for a key and not written yet.
func (u *keyUses) pending(id store.ID) keyUse {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.of[id]
}

// take empties the gathering.
func (u *keyUses) take() map[store.ID]keyUse {
	u.mu.Lock()
	defer u.mu.Unlock()
	taken := u.of
	u.of = make(map[store.ID]keyUse)
	return taken
}

// giveBack returns what was taken and could not be written.
func (u *keyUses) giveBack(taken map[store.ID]keyUse) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for id, use := range taken {
		now := u.of[id]
		if now.count == 0 {
			now.last = use.last
		}
		u.of[id] = keyUse{now.last, now.count + use.count}
	}
}

const usesEvery = 10 * time.Second

// flushUses writes the gathered uses until ctx ends, and once more then.
func (w *Warden) flushUses(ctx context.Context) {
	tick := time.NewTicker(usesEvery)
	defer tick.Stop()
	for open := true; open; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			open = false
		}
		if err := w.writeUses(context.WithoutCancel(ctx)); err != nil {
			w.log.WarnContext(ctx, "could not note the use of API keys", "error", err)
		}
	}
}

// writeUse notes the use of an API key or a session, if it is still there.
func writeUse(tx store.Tx, id store.ID, use keyUse) error {
	k, err := tx.APIKey(id)
	if err == nil {
		k.LastUsed = store.At(use.last)
		k.Uses += use.count
		return tx.PutAPIKey(k)
	}
	if !errors.Is(err, store.ErrNotFound) {
		return err
	}
	s, err := tx.Session(id)
	if err == nil {
		s.LastUsed = store.At(use.last)
		return tx.PutSession(s)
	}
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

func (w *Warden) writeUses(ctx context.Context) error {
	taken := w.uses.take()
	if len(taken) == 0 {
		return nil
	}
	err := w.store.Update(ctx, func(tx store.Tx) error {
		for id, use := range taken {
			if err := writeUse(tx, id, use); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		w.uses.giveBack(taken)
	}
	return err
}
