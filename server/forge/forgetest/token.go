package forgetest

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"slices"
	"time"
)

// Kind is what a token is, whatever it looks like.
type Kind string

// The kinds. Those after OAuth are not a person's.
const (
	PAT          Kind = "pat"
	FineGrained  Kind = "fine-grained" // GitHub: a PAT with permissions instead of scopes
	OAuth        Kind = "oauth"        // given to an application, on behalf of a user
	Installation Kind = "installation" // GitHub: of an App
	CI           Kind = "ci"
	Deploy       Kind = "deploy"
	Runner       Kind = "runner"
	Bot          Kind = "bot" // GitLab: of a project or a group
)

// Token is an access token.
type Token struct {
	Text    string
	Random  string // 40 hexadecimal digits that a shape can use
	User    int64  // whom it acts for; of a machine's, its creator or 0
	Kind    Kind
	Scopes  []string
	App     string    // client id of the application it was made for, or ""
	Made    time.Time // so a JWT can say it
	Expires time.Time // zero is never
	Revoked bool
}

// Has reports whether a token has one of these scopes.
func (t Token) Has(scopes ...string) bool {
	return slices.ContainsFunc(scopes, func(s string) bool { return slices.Contains(t.Scopes, s) })
}

type tokenState struct {
	shape     func(Token) string
	tokens    map[string]Token
	apps      map[string]App
	codes     map[string]Code
	refreshes map[string]refresh
	rules     OAuthRules
	consents  map[consent][]string
}

func newTokenState() tokenState {
	return tokenState{
		shape:  func(t Token) string { return t.Random },
		tokens: map[string]Token{}, apps: map[string]App{}, codes: map[string]Code{},
		refreshes: map[string]refresh{}, consents: map[consent][]string{},
	}
}

// Shape says what this host's tokens look like. It is called without the
// token's Text, and must make of another Random another text.
func (w *World) Shape(shape func(Token) string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.shape = shape
}

// Token makes a token which does not expire.
func (w *World) Token(user int64, kind Kind, scopes ...string) string {
	return w.AddToken(Token{User: user, Kind: kind, Scopes: scopes})
}

// AddToken makes a token and fills in its Text.
func (w *World) AddToken(t Token) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.addToken(t).Text
}

func (w *World) addToken(t Token) Token {
	t.Random, t.Made = random(), w.clock
	t.Text = w.shape(t)
	if _, taken := w.tokens[t.Text]; taken {
		panic(fmt.Sprintf("forgetest: the shape makes the same token twice for kind %s", t.Kind))
	}
	w.tokens[t.Text] = t
	return t
}

// Live finds a token that is neither revoked nor expired. Whether its user may
// still use it is the fake's to say: see [User.Blocked].
func (w *World) Live(text string) (Token, bool) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	t, ok := w.tokens[text]
	if !ok || t.Revoked || !t.Expires.IsZero() && !w.clock.Before(t.Expires) {
		return Token{}, false
	}
	return t, true
}

// Revoke ends an access token.
func (w *World) Revoke(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.revokeAll(func(t Token) bool { return t.Text == text })
}

func (w *World) revokeAll(match func(Token) bool) {
	for text, t := range w.tokens {
		if match(t) {
			t.Revoked = true
			w.tokens[text] = t
		}
	}
}

// secrets are all texts that must never be seen in an address or a message.
func (w *World) secrets() []string {
	w.mu.RLock()
	defer w.mu.RUnlock()
	var all []string
	for text := range w.tokens {
		all = append(all, text)
	}
	for text := range w.refreshes {
		all = append(all, text)
	}
	for _, a := range w.apps {
		all = append(all, a.Secret)
	}
	return all
}

func random() string {
	b := make([]byte, 20)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}
