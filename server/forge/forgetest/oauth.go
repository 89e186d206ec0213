package forgetest

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"time"
)

// App is an OAuth application.
type App struct {
	ClientID string
	Secret   string
	Name     string
	Redirect string
}

// Code is what a user's consent gives to an application.
type Code struct {
	ClientID  string
	User      int64
	Challenge string // S256
	Scopes    []string
	Redirect  string
	Expires   time.Time // zero is in ten minutes
	Used      bool
}

// OAuthRules is how a host deals with its grants.
type OAuthRules struct {
	AccessLife  time.Duration // 0 is for ever, and no refresh tokens
	RefreshLife time.Duration // 0 is for ever
	SingleUse   bool          // a refresh token works once; otherwise until it expires
	Frozen      bool          // the scopes of the first consent stay, whatever is asked later
	Kind        Kind          // of access tokens; "" is OAuth
}

// Pair is what a code or a refresh token is exchanged for.
type Pair struct {
	Access  Token
	Refresh string // "" where access tokens do not expire
}

// Why an application gets no tokens. Each host has its own words for these.
var (
	ErrClient      = errors.New("forgetest: there is no such application, or its secret is wrong")
	ErrCode        = errors.New("forgetest: the code is unknown, used or expired, or another application's")
	ErrVerifier    = errors.New("forgetest: the verifier is not the challenge's")
	ErrRedirect    = errors.New("forgetest: the code was made for another redirect address")
	ErrRefresh     = errors.New("forgetest: the refresh token is unknown, revoked or expired, or another application's")
	ErrRefreshUsed = errors.New("forgetest: the refresh token was already used")
)

type refresh struct {
	client  string
	user    int64
	scopes  []string
	expires time.Time
	used    bool
	revoked bool
}

type consent struct {
	client string
	user   int64
}

// SetOAuth says how the host deals with grants from now on.
func (w *World) SetOAuth(rules OAuthRules) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rules = rules
}

// AddApp registers an application.
func (w *World) AddApp(name, redirect string) App {
	w.mu.Lock()
	defer w.mu.Unlock()
	a := App{ClientID: "client-" + random()[:12], Secret: "secret-" + random(), Name: name, Redirect: redirect}
	w.apps[a.ClientID] = a
	return a
}

// App finds an application, and checks its secret unless that is "".
func (w *World) App(clientID, secret string) (App, error) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	a, ok := w.apps[clientID]
	if !ok || secret != "" && secret != a.Secret {
		return App{}, ErrClient
	}
	return a, nil
}

// Authorize is a user's consent in the browser. It makes the code which the host
// would send the browser back with.
func (w *World) Authorize(c Code) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.apps[c.ClientID]; !ok {
		panic(fmt.Sprintf("forgetest: there is no application %q", c.ClientID))
	}
	must(w.users, "user", c.User)
	if c.Expires.IsZero() {
		c.Expires = w.clock.Add(10 * time.Minute)
	}
	by := consent{c.ClientID, c.User}
	if first, ok := w.consents[by]; ok && w.rules.Frozen {
		c.Scopes = first
	}
	w.consents[by] = c.Scopes
	code := "code-" + random()
	w.codes[code] = c
	return code
}

// Redeem turns a code into tokens, once.
func (w *World) Redeem(clientID, code, verifier, redirect string) (Pair, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c, ok := w.codes[code]
	if !ok || c.Used || c.ClientID != clientID || !w.clock.Before(c.Expires) {
		return Pair{}, ErrCode
	}
	if c.Redirect != redirect {
		return Pair{}, ErrRedirect
	}
	if c.Challenge != "" && c.Challenge != Challenge(verifier) {
		return Pair{}, ErrVerifier
	}
	c.Used = true
	w.codes[code] = c
	return w.pair(refresh{client: clientID, user: c.User, scopes: c.Scopes}), nil
}

// Refresh turns a refresh token into new tokens.
func (w *World) Refresh(clientID, text string) (Pair, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	old, ok := w.refreshes[text]
	if !ok || old.revoked || old.client != clientID || !old.expires.IsZero() && !w.clock.Before(old.expires) {
		return Pair{}, ErrRefresh
	}
	if old.used && w.rules.SingleUse {
		return Pair{}, ErrRefreshUsed
	}
	old.used = true
	w.refreshes[text] = old
	return w.pair(old), nil
}

func (w *World) pair(to refresh) Pair {
	kind := w.rules.Kind
	if kind == "" {
		kind = OAuth
	}
	t := Token{User: to.user, Kind: kind, Scopes: slices.Clone(to.scopes), App: to.client}
	if w.rules.AccessLife > 0 {
		t.Expires = w.clock.Add(w.rules.AccessLife)
	}
	p := Pair{Access: w.addToken(t)}
	if w.rules.AccessLife > 0 {
		p.Refresh = "refresh-" + random()
		to.used, to.expires = false, time.Time{}
		if w.rules.RefreshLife > 0 {
			to.expires = w.clock.Add(w.rules.RefreshLife)
		}
		w.refreshes[p.Refresh] = to
	}
	return p
}

// RevokeGrant ends everything that a user let an application do.
func (w *World) RevokeGrant(clientID string, user int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.revokeAll(func(t Token) bool { return t.App == clientID && t.User == user })
	for text, r := range w.refreshes {
		if r.client == clientID && r.user == user {
			r.revoked = true
			w.refreshes[text] = r
		}
	}
	delete(w.consents, consent{clientID, user})
}

// Challenge is the S256 challenge of a verifier.
func Challenge(verifier string) string {
	sum := sha256.Sum256([]byte(verifier))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}
