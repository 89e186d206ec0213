package forgetest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"coffer/server/forge"
	"coffer/server/standin"
)

func hasOAuth(h *Host) bool { return h.OAuth != nil }

func refreshes(h *Host) bool { return h.OAuth != nil && h.Refreshes }

var signInRules = []Rule{
	{"the browser is sent with state, challenge and scopes", hasOAuth, checkAuthorizeURL},
	{"a code is exchanged once, with its verifier", hasOAuth, checkExchange},
	{"a code that ended or is another's is turned down", hasOAuth, checkBadCodes},
	{"a grant without the scopes we need names them", func(h *Host) bool { return hasOAuth(h) && len(h.OAuth.Scopes) > 0 }, checkPoorGrant},
	{"a grant's access token is its user's", hasOAuth, checkSelf},
	{"a refresh brings new tokens", refreshes, checkRefresh},
	{"a refresh token that is over ends the grant", refreshes, checkRefreshOver},
	{"a host that fails does not end a grant", refreshes, checkRefreshFaults},
	{"a host that fails does not spoil a code", func(h *Host) bool { return hasOAuth(h) && hasFake(h) }, checkExchangeFaults},
	{"a grant can be ended", hasOAuth, checkRevokeGrant},
}

const verifier = "a-verifier-of-more-than-forty-three-characters-0123456789"

func (h *Host) signIn() (forge.SignIn, error) {
	s, ok := h.Forge(Options{}).(forge.SignIn)
	if !ok {
		return nil, errors.New("the client has no sign-in")
	}
	return s, nil
}

func (h *Host) code(user int64) Code {
	return Code{
		ClientID: h.OAuth.App.ClientID, Redirect: h.OAuth.App.Redirect, User: user,
		Scopes: h.OAuth.Scopes, Challenge: Challenge(verifier),
	}
}

// signedIn is a grant of a user, through the client.
func (h *Host) signedIn(ctx context.Context, user int64) (forge.SignIn, forge.Grant, error) {
	s, err := h.signIn()
	if err != nil {
		return nil, forge.Grant{}, err
	}
	g, _, err := s.Exchange(ctx, h.World.Authorize(h.code(user)), verifier)
	return s, g, err
}

func checkAuthorizeURL(_ context.Context, h *Host) error {
	s, err := h.signIn()
	if err != nil {
		return err
	}
	u, err := url.Parse(s.AuthorizeURL("the state&more", "the-challenge"))
	if err != nil {
		return fmt.Errorf("the address: %w", err)
	}
	var p problems
	if h.Fake != nil && !strings.HasPrefix(u.String(), h.Fake.URL+"/") {
		p.add("the browser is sent to %s", u.Host)
	}
	q := u.Query()
	for name, want := range map[string]string{
		"state": "the state&more", "code_challenge": "the-challenge", "code_challenge_method": "S256",
		"client_id": h.OAuth.App.ClientID, "redirect_uri": h.OAuth.App.Redirect, "response_type": "code",
	} {
		if q.Get(name) != want {
			p.add("%s is %q, want %q", name, q.Get(name), want)
		}
	}
	asked := strings.Fields(q.Get("scope"))
	for _, scope := range h.OAuth.Scopes {
		if !slices.Contains(asked, scope) {
			p.add("the scope %s is not asked for in %q", scope, asked)
		}
	}
	if strings.Contains(u.String(), h.OAuth.App.Secret) {
		p.add("the address holds the application's secret")
	}
	return p.err()
}

func checkExchange(ctx context.Context, h *Host) error {
	s, err := h.signIn()
	if err != nil {
		return err
	}
	ada := h.World.AddUser("Ada")
	var p problems
	code := h.World.Authorize(h.code(ada))
	if _, who, err := s.Exchange(ctx, code, "another-"+verifier); !errors.Is(err, forge.ErrToken) || who.ID != "" {
		p.add("another verifier: user %q, error %w, want %v", who.ID, orNone(err), forge.ErrToken)
	}
	code = h.World.Authorize(h.code(ada))
	g, who, err := s.Exchange(ctx, code, verifier)
	if err != nil || who.ID != id(ada) || who.Login != "Ada" {
		p.add("the grant is %q's (%w), want %d", who.ID, orNone(err), ada)
	}
	token, ok := h.World.Live(g.Access)
	if !ok || token.User != ada || !g.Expires.Equal(token.Expires) {
		p.add("the access token is of %d until %v, and the grant says until %v", token.User, token.Expires, g.Expires)
	}
	if (g.Refresh != "") != h.Refreshes {
		p.add("the grant has a refresh token: %v, want %v", g.Refresh != "", h.Refreshes)
	}
	_, who, err = s.Exchange(ctx, code, verifier)
	p = append(p, want(err, forge.ErrToken, "a used code"), h.clean(err))
	if who.ID != "" {
		p.add("a used code is said to be user %s's", who.ID)
	}
	return p.err()
}

func checkBadCodes(ctx context.Context, h *Host) error {
	s, err := h.signIn()
	if err != nil {
		return err
	}
	ada := h.World.AddUser("ada")
	other := h.World.AddApp("other", h.OAuth.App.Redirect)
	foreign := h.code(ada)
	foreign.ClientID = other.ClientID
	bad := map[string]string{
		"an unknown code": "never-made", "another application's code": h.World.Authorize(foreign),
		"an expired code": h.World.Authorize(h.code(ada)),
	}
	h.World.Advance(11 * time.Minute)
	var p problems
	for what, code := range bad {
		g, who, err := s.Exchange(ctx, code, verifier)
		p = append(p, want(err, forge.ErrToken, what), h.clean(err))
		if who.ID != "" || g.Access != "" {
			p.add("%s has an answer", what)
		}
	}
	return p.err()
}

// checkPoorGrant leaves every scope out in turn.
func checkPoorGrant(ctx context.Context, h *Host) error {
	s, err := h.signIn()
	if err != nil {
		return err
	}
	var p problems
	for i, scope := range h.OAuth.Scopes {
		code := h.code(h.World.AddUser(fmt.Sprintf("user-%d", i)))
		code.Scopes = slices.Delete(slices.Clone(code.Scopes), i, i+1)
		_, _, err := s.Exchange(ctx, h.World.Authorize(code), verifier)
		missing, ok := errors.AsType[*forge.Missing](err)
		if !ok || missing.Service || !strings.Contains(missing.What, scope) {
			p.add("without the scope %s: error %w", scope, orNone(err))
		}
	}
	return p.err()
}

func checkSelf(ctx context.Context, h *Host) error {
	ada := h.World.AddUser("ada")
	s, g, err := h.signedIn(ctx, ada)
	if err != nil {
		return err
	}
	var p problems
	h.World.RenameUser(ada, "lovelace")
	if who, err := s.Self(ctx, g.Access); err != nil || who.ID != id(ada) || who.Login != "lovelace" {
		p.add("the access token is %q's (%w)", who.Login, orNone(err))
	}
	h.World.BlockUser(ada)
	_, err = s.Self(ctx, g.Access)
	p = append(p, want(err, forge.ErrToken, "a blocked user"), h.clean(err))
	bob := h.World.AddUser("bob")
	if s, g, err = h.signedIn(ctx, bob); err != nil {
		return errors.Join(p.err(), err)
	}
	h.World.RevokeGrant(h.OAuth.App.ClientID, bob)
	_, err = s.Self(ctx, g.Access)
	return errors.Join(p.err(), want(err, forge.ErrToken, "a withdrawn grant"))
}

func checkRefresh(ctx context.Context, h *Host) error {
	ada := h.World.AddUser("ada")
	s, first, err := h.signedIn(ctx, ada)
	if err != nil {
		return err
	}
	h.World.Advance(first.Expires.Sub(h.World.Now()))
	var p problems
	_, err = s.Self(ctx, first.Access)
	p = append(p, want(err, forge.ErrToken, "an expired access token"))
	second, err := s.Refresh(ctx, first.Refresh)
	if err != nil {
		return errors.Join(p.err(), because("refresh", err))
	}
	token, ok := h.World.Live(second.Access)
	if !ok || token.User != ada || second.Access == first.Access || !second.Expires.Equal(token.Expires) {
		p.add("the new access token is of %d until %v, and the grant says until %v", token.User, token.Expires, second.Expires)
	}
	if second.Refresh == "" || h.SingleUse && second.Refresh == first.Refresh {
		p.add("there is no new refresh token")
	}
	_, err = s.Refresh(ctx, second.Refresh)
	return errors.Join(p.err(), because("refresh with the new token", err))
}

func checkRefreshOver(ctx context.Context, h *Host) error {
	ada := h.World.AddUser("ada")
	s, g, err := h.signedIn(ctx, ada)
	if err != nil {
		return err
	}
	_, err = s.Refresh(ctx, "never-made")
	p := problems{want(err, forge.ErrGrantEnded, "an unknown refresh token")}
	next, err := s.Refresh(ctx, g.Refresh)
	p = append(p, because("refresh", err))
	_, err = s.Refresh(ctx, g.Refresh)
	if h.SingleUse {
		p = append(p, want(err, forge.ErrGrantEnded, "a used refresh token"), h.clean(err))
	} else {
		p = append(p, because("a refresh token that may be used again", err))
	}
	h.World.RevokeGrant(h.OAuth.App.ClientID, ada)
	got, err := s.Refresh(ctx, next.Refresh)
	p = append(p, want(err, forge.ErrGrantEnded, "a withdrawn grant"), h.clean(err))
	if !empty(got) {
		p.add("a withdrawn grant has tokens")
	}
	return p.err()
}

func answerFaults() map[string]standin.Fault {
	return map[string]standin.Fault{
		"429": standin.TooMany(""), "500": standin.Status(http.StatusInternalServerError), "502": standin.Status(http.StatusBadGateway),
		"503": standin.Status(http.StatusServiceUnavailable), "half of the JSON": standin.Truncated, "a page for people": standin.HTML,
		"a redirect to another host": standin.Astray, "too much": standin.Huge, "a broken connection": standin.CutOff,
	}
}

func checkRefreshFaults(ctx context.Context, h *Host) error {
	var p problems
	for name, fault := range answerFaults() {
		s, g, err := h.signedIn(ctx, h.World.AddUser(strings.ReplaceAll("user of "+name, " ", "-")))
		if err != nil {
			return err
		}
		h.Fake.Break("", fault)
		got, err := s.Refresh(ctx, g.Refresh)
		h.Fake.Heal()
		if errors.Is(err, forge.ErrGrantEnded) {
			p.add("%s ends the grant", name)
		}
		p = append(p, because(name, h.unavailable(got, err, 0)))
	}
	return p.err()
}

func checkExchangeFaults(ctx context.Context, h *Host) error {
	ada := h.World.AddUser("ada")
	s, err := h.signIn()
	if err != nil {
		return err
	}
	var p problems
	for name, fault := range answerFaults() {
		code := h.World.Authorize(h.code(ada))
		h.Fake.Break("", fault)
		g, who, err := s.Exchange(ctx, code, verifier)
		h.Fake.Heal()
		p = append(p, because(name, h.unavailable(g, err, 0)))
		if who.ID != "" {
			p.add("%s: it is said to be user %s's", name, who.ID)
		}
	}
	return p.err()
}

func checkRevokeGrant(ctx context.Context, h *Host) error {
	s, g, err := h.signedIn(ctx, h.World.AddUser("ada"))
	if err != nil {
		return err
	}
	if err := s.Revoke(ctx, g); err != nil {
		return fmt.Errorf("revoke: %w", err)
	}
	if _, alive := h.World.Live(g.Access); alive && h.Revokes {
		return errors.New("the access token outlives its grant")
	}
	return nil
}
