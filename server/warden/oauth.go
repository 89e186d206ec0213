package warden

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"time"

	"github.com/go-json-experiment/json"

	"coffer/crypto"
	"coffer/server/api"
	"coffer/server/forge"
	"coffer/store"
)

// Signing in at a code host elsewhere takes the browser there and back. Two things
// go along: the state, which the host hands back, and the ticket, which only this
// browser has. The state is signed, so that nobody else can make one; the ticket
// is sealed and names the same nonce, so that a state is worth nothing in another
// browser: nobody can sign somebody else in as themselves. The ticket also keeps
// PKCE's verifier, without which nobody can use the code that comes back.

// signInTime is how long somebody may take at the code host.
const signInTime = 10 * time.Minute

const nonceSize = 16

// Departure sends a browser to the code host.
type Departure struct {
	URL     string     // where to
	Ticket  api.Secret // what the browser keeps until it is back
	Expires time.Time
}

// Return is what a browser brings back from the code host, and its ticket.
type Return struct {
	State  string
	Code   api.Secret
	Error  string // the code host's word when there is no code
	Ticket api.Secret
}

// ticket is what a browser keeps while it is at the code host, sealed.
type ticket struct {
	Nonce    []byte
	Verifier string
	Page     string // where to go afterwards
	Device   string // user code of the device login that this is for, or ""
	Expires  time.Time
}

var ticketContext = crypto.RecordContext(systemKey, "sign-in/ticket")

// Depart begins a sign-in at the code host, which ends at a page of ours. When it
// is for a device login, its user code goes along.
func (w *Warden) Depart(_ context.Context, page, device string) (*Departure, error) {
	host, err := w.signInHost()
	if err != nil {
		return nil, err
	}
	keys, err := w.holdKeys()
	if err != nil {
		return nil, err
	}
	defer keys.users.RUnlock()
	t := ticket{Nonce: make([]byte, nonceSize), Verifier: rand.Text() + rand.Text(), Page: page, Device: device, Expires: w.now().Add(signInTime)}
	_, _ = rand.Read(t.Nonce) // never fails since Go 1.24
	text, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	challenge := sha256.Sum256([]byte(t.Verifier))
	to := host.AuthorizeURL(keys.state(t.Nonce), base64.RawURLEncoding.EncodeToString(challenge[:]))
	if to == "" {
		return nil, api.Errorf(api.NotFound, "Nobody can sign in with a browser here yet: the operator has to register coffer at the code host, and set forge.client_id. An access token of the code host works without that.")
	}
	return &Departure{
		URL:     to,
		Ticket:  api.NewSecret(base64.RawURLEncoding.EncodeToString(keys.under.Load().tickets.Seal(nil, text, ticketContext))),
		Expires: t.Expires,
	}, nil
}

// signInHost is the code host as a place to sign in.
func (w *Warden) signInHost() (forge.SignIn, error) {
	if host, ok := w.forge.(forge.SignIn); ok {
		return host, nil
	}
	return nil, api.Errorf(api.NotFound, "Nobody signs in at another server here. Sign in with your username and password.")
}

// state is what the code host hands back: a nonce and who made it.
func (k *keyring) state(nonce []byte) string {
	mac := hmac.New(sha256.New, k.under.Load().states[:])
	mac.Write(nonce)
	return base64.RawURLEncoding.EncodeToString(mac.Sum(append([]byte(nil), nonce...)))
}

// nonceOf is the nonce of a state of ours, or nil.
func (k *keyring) nonceOf(state string) []byte {
	raw, err := base64.RawURLEncoding.DecodeString(state)
	if err != nil || len(raw) != nonceSize+sha256.Size {
		return nil
	}
	nonce := raw[:nonceSize]
	if subtle.ConstantTimeCompare([]byte(k.state(nonce)), []byte(state)) != 1 {
		return nil
	}
	return nonce
}

func (k *keyring) openTicket(sealed api.Secret) (t ticket, ok bool) {
	raw, err := base64.RawURLEncoding.DecodeString(sealed.Reveal())
	if err != nil {
		return t, false
	}
	text, err := k.under.Load().tickets.Open(nil, raw, ticketContext)
	return t, err == nil && json.Unmarshal(text, &t) == nil
}

// Arrive ends a sign-in at the code host with a session. The page is where the
// browser was to go afterwards; it is also known when the code host's answer was
// no, and "" when this browser did not begin what it ends.
func (w *Warden) Arrive(ctx context.Context, c Credential, back Return) (s *BrowserSession, page string, err error) {
	host, err := w.signInHost()
	if err != nil {
		return nil, "", err
	}
	a := arrivalOf(c, byOAuth)
	t, refused, err := w.redeem(ctx, back)
	if err != nil {
		return nil, "", w.outward(err)
	}
	if refused != nil && refused.reason == turnedBack && t.Device != "" {
		too, err := w.RefuseDevice(ctx, a.who, t.Device)
		if err != nil {
			return nil, "", err
		}
		if too {
			refused.answer.Message += " The program that waited for you was refused, too: start its login again."
		}
	}
	if refused != nil {
		return nil, t.Page, w.turnAway(ctx, a, refused.reason, refused.answer)
	}
	grant, user, err := host.Exchange(ctx, back.Code.Reveal(), t.Verifier)
	if err != nil || user.ID == "" {
		no := w.exchangeRefused(ctx, err)
		return nil, t.Page, w.turnAway(ctx, a, no.reason, no.answer)
	}
	s, err = w.begin(ctx, a, func(tx store.Tx, j *journal, keys *keyring) (store.User, error) {
		u, err := w.seenIn(tx, j, user)
		if err != nil {
			return u, err
		}
		return u, w.putGrant(tx, keys, u.ID, grant)
	})
	return s, t.Page, err
}

// noEntry is why a browser that came back is not signed in.
type noEntry struct {
	reason string // for the audit log
	answer *api.Error
}

// redeem uses a state and its ticket up, once and for all, before anything is
// done with the code.
func (w *Warden) redeem(ctx context.Context, back Return) (t ticket, no *noEntry, err error) {
	keys, err := w.holdKeys()
	if err != nil {
		return t, nil, err
	}
	nonce := keys.nonceOf(back.State)
	t, mine := keys.openTicket(back.Ticket)
	keys.users.RUnlock()
	const again = " Begin again from the sign-in page."
	switch {
	case nonce == nil:
		return ticket{}, &noEntry{"state", api.Errorf(api.BadRequest, "This is no sign-in that began here."+again)}, nil
	case !mine || subtle.ConstantTimeCompare(nonce, t.Nonce) != 1:
		return ticket{}, &noEntry{"other_browser", api.Errorf(api.BadRequest,
			"This sign-in did not begin in this browser, or it was begun once more in another tab."+again)}, nil
	case !w.now().Before(t.Expires):
		return t, &noEntry{"expired", api.Errorf(api.BadRequest, "This sign-in took more than ten minutes."+again)}, nil
	}
	err = w.store.Update(ctx, func(tx store.Tx) error {
		return tx.UseState(store.UsedState{Nonce: nonce, Expires: store.At(t.Expires)})
	})
	switch {
	case errors.Is(err, store.ErrExists):
		return t, &noEntry{"reused", api.Errorf(api.BadRequest, "This sign-in was completed already. If you are not signed in, begin again from the sign-in page.")}, nil
	case err != nil:
		return t, nil, err
	case back.Error == turnedBack:
		return t, &noEntry{turnedBack, api.Errorf(api.Forbidden,
			"You refused at the code host, so nobody was signed in. Sign in again and allow access if that was a mistake.")}, nil
	case back.Error != "" || back.Code.Len() == 0:
		return t, &noEntry{"code_host", api.Errorf(api.BadRequest,
			"The code host did not let you sign in. Try again; if it stays, the operator should look at how coffer is registered there.")}, nil
	}
	return t, nil, nil
}

// turnedBack is the reason when somebody did not let us in at the code host.
const turnedBack = "access_denied"

// exchangeRefused says why a code brought nothing.
func (w *Warden) exchangeRefused(ctx context.Context, err error) noEntry {
	missing, lacks := errors.AsType[*forge.Missing](err)
	foreign, isForeign := errors.AsType[*forge.ForeignToken](err)
	down, unavailable := errors.AsType[*forge.Unavailable](err)
	switch {
	case lacks:
		return noEntry{"scope", api.Errorf(api.Forbidden,
			"The code host let you in without %s. Revoke coffer's access in your settings there, then sign in again and allow all that is asked for.", missing.What)}
	case isForeign:
		return noEntry{"foreign_token", api.Errorf(api.Forbidden, "This sign-in cannot be used here: %s. Sign in with your own account.", foreign.Why)}
	case errors.Is(err, forge.ErrToken):
		return noEntry{"code", api.Errorf(api.BadRequest, "The code host did not accept this sign-in: it was used already, or it took too long. Begin again from the sign-in page.")}
	case errors.Is(err, forge.ErrRefused):
		return noEntry{"code_host", api.Errorf(api.Forbidden, "The code host does not let this account sign in. Ask whoever runs it.")}
	}
	w.log.ErrorContext(ctx, "the code host did not complete a sign-in", "forge", w.forge.Kind(), "error", err)
	no := noEntry{"unavailable", api.Errorf(api.Unavailable, "The code host did not answer, so nobody was signed in. Try again in a moment.")}
	no.answer.RetryAfter = 15 * time.Second
	if unavailable && down.RetryAfter > 0 {
		no.answer.RetryAfter = down.RetryAfter
	}
	return no
}
