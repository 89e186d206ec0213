package hostingtest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"coffer/server/api"
	"coffer/server/hosting"
	"coffer/server/standin"
)

func hasOAuth(h *Host) bool { return h.OAuth != nil }

func refreshes(h *Host) bool { return h.OAuth != nil && h.OAuth.Refreshes }

var oauthRules = []Rule{
	{"the browser is sent with what it needs", hasOAuth, checkAuthorizeURL},
	{"a code is exchanged once", hasOAuth, checkExchange},
	{"a browser that comes back with nothing brings nothing", hasOAuth, checkBadCallback},
	{"a grant that was taken back is over", hasOAuth, checkRevokedGrant},
	{"a provider that fails at an exchange is unavailable", hasOAuth, checkExchangeFaults},
	{"a refresh brings a grant that works", refreshes, checkRefresh},
	{"a provider that fails does not end a grant", refreshes, checkRefreshFaults},
}

const verifier = "a-verifier-of-more-than-forty-three-characters-0123456789"

// challenge is the S256 challenge of the verifier.
const challenge = "KqzFVVoj1xIeRMaYoKBsIWuO4_VBBpZdnQDgP3WuG_k"

func (h *Host) authorizer() (hosting.Authorizer, error) {
	a, ok := h.Provider().(hosting.Authorizer)
	if !ok {
		return nil, errors.New("nobody can authorize at the client")
	}
	return a, nil
}

// grant has a user agree.
func (h *Host) grant(ctx context.Context) (hosting.Authorizer, hosting.Grant, error) {
	a, err := h.authorizer()
	if err != nil {
		return nil, hosting.Grant{}, err
	}
	g, err := a.Exchange(ctx, h.OAuth.Authorize(a.AuthorizeURL("the-state", challenge)), verifier)
	h.remember(g)
	return a, g, err
}

func (h *Host) remember(g hosting.Grant) {
	for _, t := range []api.Secret{g.Access, g.Refresh} {
		if t.Len() > 0 {
			h.keep(&h.tokens, t.Reveal())
		}
	}
}

// works wants a grant's access token to be let in, or to be turned down.
func (h *Host) works(ctx context.Context, g hosting.Grant, want bool) error {
	_, err := h.Provider().Find(ctx, hosting.Credential{Token: g.Access, Team: g.Team}, h.Project, h.Service)
	if want && err != nil || !want && !errors.Is(err, hosting.ErrCredential) {
		return fmt.Errorf("the access token is let in with error %w, want let in %v", orNone(err), want)
	}
	return h.clean(err)
}

func checkAuthorizeURL(_ context.Context, h *Host) error {
	a, err := h.authorizer()
	if err != nil {
		return err
	}
	address := a.AuthorizeURL("the state&more", challenge)
	u, err := url.Parse(address)
	if err != nil {
		return fmt.Errorf("the address: %w", err)
	}
	var p problems
	if !strings.HasPrefix(address, h.Fake.URL+"/") {
		p.add("the browser is sent to %s", u.Host)
	}
	q := u.Query()
	if q.Get("state") != "the state&more" {
		p.add("the state is %q", q.Get("state"))
	}
	if h.OAuth.PKCE && (q.Get("code_challenge") != challenge || q.Get("code_challenge_method") != "S256") {
		p.add("the challenge is %q by %q", q.Get("code_challenge"), q.Get("code_challenge_method"))
	}
	if h.OAuth.Secret != "" && strings.Contains(address, h.OAuth.Secret) {
		p.add("the address holds the application's secret")
	}
	back := h.OAuth.Authorize(address)
	if got := url.Values(back).Get("state"); got != "the state&more" {
		p.add("the browser comes back with the state %q", got)
	}
	return p.err()
}

func checkExchange(ctx context.Context, h *Host) error {
	a, err := h.authorizer()
	if err != nil {
		return err
	}
	back := h.OAuth.Authorize(a.AuthorizeURL("the-state", challenge))
	var p problems
	if h.OAuth.PKCE {
		g, err := a.Exchange(ctx, h.OAuth.Authorize(a.AuthorizeURL("the-state", challenge)), "another-"+verifier)
		p = append(p, turnedDown("another verifier", g, err), h.clean(err))
	}
	g, err := a.Exchange(ctx, back, verifier)
	h.remember(g)
	if err != nil || g.Access.Len() == 0 {
		p.add("the access token has %d characters, error %w", g.Access.Len(), orNone(err))
	}
	if (g.Refresh.Len() > 0) != h.OAuth.Refreshes || g.Expires.IsZero() == h.OAuth.Refreshes {
		p.add("it can be refreshed: %v, and ends %v; want that it does: %v", g.Refresh.Len() > 0, g.Expires, h.OAuth.Refreshes)
	}
	p = append(p, h.works(ctx, g, true))
	again, err := a.Exchange(ctx, back, verifier)
	return append(p, turnedDown("a used code", again, err), h.clean(err)).err()
}

// turnedDown wants no grant, and that it is final.
func turnedDown(what string, g hosting.Grant, err error) error {
	if !errors.Is(err, hosting.ErrCredential) || g.Access.Len() > 0 || g.Refresh.Len() > 0 {
		return fmt.Errorf("%s: error %w, access token of %d characters, want %v", what, orNone(err), g.Access.Len(), hosting.ErrCredential)
	}
	return nil
}

func checkBadCallback(ctx context.Context, h *Host) error {
	a, err := h.authorizer()
	if err != nil {
		return err
	}
	var p problems
	for name, back := range map[string]map[string][]string{
		"nothing": nil, "no code": {"state": {"the-state"}}, "an empty code": {"code": {""}, "state": {"the-state"}},
		"a refusal": {"error": {"access_denied"}, "state": {"the-state"}}, "a code that never was": {"code": {"never-was"}, "state": {"the-state"}},
	} {
		g, err := a.Exchange(ctx, back, verifier)
		p = append(p, turnedDown(name, g, err), h.clean(err))
	}
	return p.err()
}

func checkRevokedGrant(ctx context.Context, h *Host) error {
	a, g, err := h.grant(ctx)
	if err != nil {
		return err
	}
	p := problems{h.works(ctx, g, true)}
	if h.OAuth.Refreshes {
		h.OAuth.Expire(g)
		p = append(p, because("ended", h.works(ctx, g, false)))
	}
	h.OAuth.Revoke(g)
	p = append(p, because("revoked", h.works(ctx, g, false)))
	if h.OAuth.Refreshes {
		renewed, err := a.Refresh(ctx, g.Refresh)
		p = append(p, turnedDown("a revoked grant", renewed, err), h.clean(err))
		renewed, err = a.Refresh(ctx, api.NewSecret("never-was-a-refresh-token"))
		p = append(p, turnedDown("a refresh token that never was", renewed, err))
	}
	return p.err()
}

// failures are ways to fail that say nothing of a code or a grant. The last two
// say that we are not who we say.
func failures() map[string]standin.Fault {
	all := map[string]standin.Fault{
		"502": standin.Status(http.StatusBadGateway), "429": standin.TooMany("3"), "lost on the way": drop,
		"400 without a reason": standin.Status(http.StatusBadRequest),
		"another application":  oauthError(http.StatusUnauthorized, "invalid_client"),
		"a wrong request":      oauthError(http.StatusBadRequest, "invalid_request"),
	}
	for name, fault := range spoils {
		if name != "half of the JSON" && name != "hollow JSON" && name != "a broken connection" { // which use a code up
			all[name] = fault
		}
	}
	return all
}

func oauthError(status int, code string) standin.Fault {
	return func(_ *standin.Fake, rw http.ResponseWriter, _ *http.Request, _ http.Handler) {
		standin.Answer(rw, status, map[string]any{"error": code})
	}
}

// failed wants no grant and an error that leaves the old one.
func (h *Host) failed(what string, g hosting.Grant, err error) error {
	if err == nil || errors.Is(err, hosting.ErrCredential) || g.Access.Len() > 0 {
		return fmt.Errorf("%s: error %w, access token of %d characters, want that it failed", what, orNone(err), g.Access.Len())
	}
	return h.clean(err)
}

func checkExchangeFaults(ctx context.Context, h *Host) error {
	var p problems
	for name, fault := range failures() {
		h.Fake.Break("", fault)
		_, g, err := h.grant(ctx)
		h.Fake.Heal()
		p = append(p, h.failed(name, g, err))
	}
	for _, name := range []string{"half of the JSON", "hollow JSON"} {
		h.Fake.Break("", spoils[name])
		_, g, err := h.grant(ctx)
		h.Fake.Heal()
		p = append(p, h.failed(name, g, err))
	}
	return p.err()
}

func checkRefresh(ctx context.Context, h *Host) error {
	a, g, err := h.grant(ctx)
	if err != nil {
		return err
	}
	first := g
	var p problems
	for range 3 {
		h.OAuth.Expire(g)
		renewed, err := a.Refresh(ctx, g.Refresh)
		h.remember(renewed)
		if err != nil {
			return errors.Join(append(p, err)...)
		}
		if renewed.Access == g.Access || renewed.Refresh.Len() == 0 || renewed.Expires.IsZero() || renewed.Team != g.Team && renewed.Team != "" {
			p.add("renewed are access %v, refresh %v, until %v, team %q", renewed.Access != g.Access, renewed.Refresh.Len() > 0, renewed.Expires, renewed.Team)
		}
		if h.OAuth.Rotates && renewed.Refresh == g.Refresh {
			p.add("the refresh token is the old one")
		}
		if err := h.works(ctx, renewed, true); err != nil {
			return errors.Join(append(p, err)...)
		}
		g = renewed
	}
	if h.OAuth.Rotates {
		again, err := a.Refresh(ctx, first.Refresh)
		p = append(p, turnedDown("a refresh token that was used", again, err))
		again, err = a.Refresh(ctx, g.Refresh)
		p = append(p, turnedDown("the last one, after another was used twice", again, err))
	}
	return p.err()
}

func checkRefreshFaults(ctx context.Context, h *Host) error {
	a, g, err := h.grant(ctx)
	if err != nil {
		return err
	}
	h.OAuth.Expire(g)
	var p problems
	for name, fault := range failures() {
		h.Fake.Break("", fault)
		renewed, err := a.Refresh(ctx, g.Refresh)
		h.Fake.Heal()
		p = append(p, h.failed(name, renewed, err))
	}
	renewed, err := a.Refresh(ctx, g.Refresh)
	h.remember(renewed)
	if err != nil {
		return errors.Join(append(p, err)...)
	}
	return append(p, h.works(ctx, renewed, true)).err()
}
