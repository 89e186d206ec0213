package warden

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"time"

	"github.com/go-json-experiment/json"

	"coffer/crypto"
	"coffer/server/access"
	"coffer/server/api"
	"coffer/server/hosting"
	"coffer/store"
)

// Authorizing at a hosting provider takes the browser there and back, guarded as a
// sign-in at the code host is: a signed state that the provider hands back, and a
// sealed ticket that only this browser has. The ticket says for whom it is.
//
// A program that wants its user to connect opens a browser that may not be signed
// in here. It gets a connect ticket for that, which is good for a minute and once.

const connectTicketTime = 60 * time.Second

// voyage is what a browser keeps while it is at a hosting provider, sealed.
type voyage struct {
	Nonce    []byte
	Verifier string
	Provider string
	From     origin
	Page     string // where to go afterwards
	Expires  time.Time
}

// connectPass lets a browser begin that is not signed in, sealed.
type connectPass struct {
	Nonce    []byte
	Provider string
	From     origin
	Expires  time.Time
}

// origin is who set out to connect, and with which credential of ours: a session,
// an API key, or neither.
type origin struct {
	User, Session, Key store.ID
}

func originOf(who Caller) origin { return origin{who.user.ID, who.session.ID, who.key.ID} }

// caller makes of who asks now, of whom only the address is known, who set out.
// It answers ErrNotFound if they may not come in any more, or if what they came in
// with has ended since.
func (o origin) caller(w *Warden, r store.Reader, who Caller) (_ Caller, err error) {
	if who.user, err = r.User(o.User); err != nil {
		return who, err
	}
	over := who.user.Disabled != 0
	if !o.Session.IsZero() {
		if who.session, err = r.Session(o.Session); err != nil {
			return who, err
		}
		over = over || w.ended(who.session)
	}
	if !o.Key.IsZero() {
		if who.key, err = r.APIKey(o.Key); err != nil {
			return who, err
		}
		over = over || who.key.Revoked != 0 || expired(who.key, w.now())
		who.misplaced = !allowsSource(who.key, who.ip)
	}
	if over {
		return who, store.ErrNotFound
	}
	who.kind, who.scopes = access.JWT, access.All
	return who, nil
}

var (
	voyageContext = crypto.RecordContext(systemKey, "connect/voyage")
	passContext   = crypto.RecordContext(systemKey, "connect/pass")
)

// ConnectTicket makes a ticket with which one browser may begin to connect.
func (w *Warden) ConnectTicket(ctx context.Context, who Caller, ref api.ProviderRef) (*api.ConnectTicket, error) {
	if err := admit(who, access.ConnectionTicket); err != nil {
		return nil, w.settle(ctx, who, access.ConnectionTicket, store.Vault{}, err)
	}
	if _, err := w.provider(ref.Provider); err != nil {
		return nil, err
	}
	keys, err := w.holdKeys()
	if err != nil {
		return nil, err
	}
	defer keys.users.RUnlock()
	p := connectPass{
		Nonce: randomNonce(), Provider: ref.Provider, From: originOf(who),
		Expires: w.now().Add(connectTicketTime),
	}
	sealed, err := keys.sealTicket(p, passContext)
	return &api.ConnectTicket{Ticket: api.Revealed(sealed.Reveal()), ExpiresIn: int(connectTicketTime / time.Second)}, err
}

func randomNonce() []byte {
	nonce := make([]byte, nonceSize)
	_, _ = rand.Read(nonce) // never fails since Go 1.24
	return nonce
}

// sealTicket seals something that a browser keeps.
func (k *keyring) sealTicket(ticket any, context []byte) (api.Secret, error) {
	text, err := json.Marshal(ticket)
	return api.NewSecret(base64.RawURLEncoding.EncodeToString(k.under.Load().tickets.Seal(nil, text, context))), err
}

// openInto opens what sealTicket sealed, and reports whether it is one of ours.
func (k *keyring) openInto(ticket any, sealed api.Secret, context []byte) bool {
	raw, err := base64.RawURLEncoding.DecodeString(sealed.Reveal())
	if err != nil {
		return false
	}
	text, err := k.under.Load().tickets.Open(nil, raw, context)
	return err == nil && json.Unmarshal(text, ticket) == nil
}

// ByConnectTicket is whoever had a connect ticket made, once. What they signed in
// with then has to be good still.
func (w *Warden) ByConnectTicket(ctx context.Context, c Credential, provider string, sealed api.Secret) (Caller, error) {
	who, err := w.Stranger(c)
	if err != nil {
		return who, err
	}
	keys, err := w.holdKeys()
	if err != nil {
		return who, err
	}
	var p connectPass
	mine := keys.openInto(&p, sealed, passContext)
	keys.users.RUnlock()
	bad := errUnauthorized("This link to connect is not valid, was used already, or is more than a minute old. Start again where it came from.")
	if !mine || p.Provider != provider || !w.now().Before(p.Expires) {
		return Caller{}, bad
	}
	err = w.store.Update(ctx, func(tx store.Tx) (err error) {
		if who, err = p.From.caller(w, tx.Reader, who); err != nil {
			return err
		}
		return tx.UseState(store.UsedState{Nonce: p.Nonce, Expires: store.At(p.Expires)})
	})
	if errors.Is(err, store.ErrExists) || errors.Is(err, store.ErrNotFound) {
		return Caller{}, bad
	}
	return who, w.outward(err)
}

// DepartToProvider sends a browser to a hosting provider, for whoever asks. Without
// an application there it answers nil: the caller has to paste a token.
func (w *Warden) DepartToProvider(ctx context.Context, who Caller, provider, page string) (*Departure, error) {
	const act = access.ConnectionAuthorize
	if err := admit(who, act); err != nil {
		return nil, w.settle(ctx, who, act, store.Vault{}, err)
	}
	p, err := w.provider(provider)
	if err != nil {
		return nil, err
	}
	err = w.self(ctx, who, act, func(r store.Reader) error {
		all, err := r.ConnectionsOf(who.user.ID)
		for _, c := range all {
			if c.Provider == provider {
				return nil // it may be the one that is renewed
			}
		}
		if err != nil {
			return err
		}
		return w.checkConnections(r, who)
	})
	if err != nil {
		return nil, err
	}
	host, ok := p.(hosting.Authorizer)
	if !ok || !p.Describe().OAuth {
		return nil, nil
	}
	keys, err := w.holdKeys()
	if err != nil {
		return nil, err
	}
	defer keys.users.RUnlock()
	v := voyage{
		Nonce: randomNonce(), Verifier: rand.Text() + rand.Text(), Provider: provider, From: originOf(who), Page: page,
		Expires: w.now().Add(signInTime),
	}
	sealed, err := keys.sealTicket(v, voyageContext)
	if err != nil {
		return nil, err
	}
	challenge := sha256.Sum256([]byte(v.Verifier))
	return &Departure{
		URL:    host.AuthorizeURL(keys.state(v.Nonce), base64.RawURLEncoding.EncodeToString(challenge[:])),
		Ticket: sealed, Expires: v.Expires,
	}, nil
}

// ArriveFromProvider connects whoever the browser left for. The page is where it
// was to go afterwards, or "" when this browser did not begin what it ends. A
// browser that is signed in as somebody else by now connects nobody.
func (w *Warden) ArriveFromProvider(ctx context.Context, c Credential, provider string, query map[string][]string, ticket api.Secret) (page string, err error) {
	p, err := w.provider(provider)
	if err != nil {
		return "", err
	}
	host, ok := p.(hosting.Authorizer)
	if !ok {
		return "", errProviderOff(provider)
	}
	v, who, err := w.redeemVoyage(ctx, c, provider, query, ticket)
	if err != nil {
		return v.Page, err
	}
	g, err := host.Exchange(ctx, query, v.Verifier)
	if errors.Is(err, hosting.ErrCredential) {
		return v.Page, api.Errorf(api.BadRequest, "%s did not accept this authorization: it was used already, or it took too long. Begin again.", p.Describe().Display)
	}
	if err != nil {
		return v.Page, w.errProvider(ctx, provider, err)
	}
	_, err = w.connect(ctx, who, p, g)
	return v.Page, err
}

func (w *Warden) redeemVoyage(ctx context.Context, c Credential, provider string, query map[string][]string, ticket api.Secret) (v voyage, who Caller, err error) {
	keys, err := w.holdKeys()
	if err != nil {
		return v, who, err
	}
	nonce := keys.nonceOf(one(query, "state"))
	mine := keys.openInto(&v, ticket, voyageContext)
	keys.users.RUnlock()
	const again = " Begin again from the connections page."
	switch {
	case nonce == nil || !mine || v.Provider != provider || subtle.ConstantTimeCompare(nonce, v.Nonce) != 1:
		return voyage{}, who, api.Errorf(api.BadRequest, "This authorization did not begin in this browser."+again)
	case !w.now().Before(v.Expires):
		return v, who, api.Errorf(api.BadRequest, "This authorization took more than ten minutes."+again)
	}
	if who, err = w.Stranger(c); err != nil {
		return v, who, err
	}
	if c.Cookie != "" {
		if now, err := w.Identify(ctx, Credential{Cookie: c.Cookie, IP: c.IP, UserAgent: c.UserAgent}); err == nil && now.user.ID != v.From.User {
			return v, who, api.Errorf(api.Forbidden, "This authorization was begun for another account than the one that is signed in here. Sign in with that one, and begin again.")
		}
	}
	err = w.store.Update(ctx, func(tx store.Tx) (err error) {
		if who, err = v.From.caller(w, tx.Reader, who); err != nil {
			return err
		}
		return tx.UseState(store.UsedState{Nonce: nonce, Expires: store.At(v.Expires)})
	})
	switch {
	case errors.Is(err, store.ErrNotFound):
		return v, who, api.Errorf(api.BadRequest, "What you were signed in with when this began has ended since. Sign in, and begin again.")
	case errors.Is(err, store.ErrExists):
		return v, who, api.Errorf(api.BadRequest, "This authorization was completed already."+again)
	case err != nil:
		return v, who, w.outward(err)
	case one(query, "error") == turnedBack:
		return v, who, api.Errorf(api.Forbidden, "You refused at the provider, so nothing was connected.")
	case one(query, "error") != "" || one(query, "code") == "":
		return v, who, api.Errorf(api.BadRequest, "The provider did not authorize coffer."+again)
	}
	return v, who, nil
}

// one is a query's only value of a name, or "".
func one(query map[string][]string, name string) string {
	if all := query[name]; len(all) == 1 {
		return all[0]
	}
	return ""
}
