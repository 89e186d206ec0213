package hosting

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"time"

	"coffer/server/api"
)

// railwayOAuth is Railway with an application of the operator's that users
// authorize. A user chooses the projects that it reaches.
type railwayOAuth struct{ *railway }

// railwayScopes are the least that is enough to write variables: without email and
// profile Railway does not say what was chosen, and without offline_access a grant
// ends after an hour.
const railwayScopes = "openid email profile offline_access project:member"

// railwayLife is how long an access token lasts where Railway does not say.
const railwayLife = time.Hour

// Describe says what holds for Railway.
func (r railwayOAuth) Describe() Description {
	d := r.railway.Describe()
	d.OAuth, d.PKCE = true, true
	return d
}

// AuthorizeURL is where users choose. They are asked each time: who is waved
// through gets no refresh token.
func (r railwayOAuth) AuthorizeURL(state, challenge string) string {
	return cmp.Or(r.config.WebURL, railwayHost) + "/oauth/auth?" + url.Values{
		"response_type": {"code"}, "client_id": {r.config.ClientID}, "redirect_uri": {r.config.RedirectURL},
		"scope": {railwayScopes}, "prompt": {"consent"}, "state": {state},
		"code_challenge": {challenge}, "code_challenge_method": {"S256"},
	}.Encode()
}

// Exchange redeems what the browser came back with.
func (r railwayOAuth) Exchange(ctx context.Context, callback map[string][]string, verifier string) (Grant, error) {
	code := url.Values(callback).Get("code")
	if code == "" {
		return Grant{}, ErrCredential // the user said no
	}
	return r.grant(ctx, url.Values{
		"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {r.config.RedirectURL}, "code_verifier": {verifier},
	})
}

// Refresh renews a grant. A refresh token that is used twice ends the whole grant,
// so it is sent once.
func (r railwayOAuth) Refresh(ctx context.Context, refresh api.Secret) (Grant, error) {
	if refresh.Len() == 0 {
		return Grant{}, ErrCredential
	}
	g, err := r.grant(ctx, url.Values{"grant_type": {"refresh_token"}, "refresh_token": {refresh.Reveal()}})
	if err == nil && g.Refresh.Len() == 0 {
		g.Refresh = refresh // it goes on
	}
	return g, err
}

// grant has what the form holds redeemed. An application without a secret is a
// public one, which must not send any.
func (r railwayOAuth) grant(ctx context.Context, form url.Values) (Grant, error) {
	form.Set("client_id", r.config.ClientID)
	if r.config.ClientSecret != "" {
		form.Set("client_secret", r.config.ClientSecret)
	}
	var said struct {
		Access  api.Secret `json:"access_token"`
		Refresh api.Secret `json:"refresh_token"`
		Life    int64      `json:"expires_in"` // seconds
	}
	a, err := r.api.ask(ctx, call{method: http.MethodPost, path: "/oauth/token", form: form}, &said)
	if err != nil {
		return Grant{}, railwayNoGrant(a, err)
	}
	if said.Access.Len() == 0 {
		return Grant{}, errRailwayHollow
	}
	life := railwayLife
	if said.Life > 0 {
		life = time.Duration(said.Life) * time.Second
	}
	return Grant{Access: said.Access, Refresh: said.Refresh, Expires: r.config.Now().Add(life)}, nil
}

// railwayNoGrant tells a grant that is over from an application that is not taken:
// only the first is the user's to mend.
func railwayNoGrant(a *answer, err error) error {
	if _, silent := errors.AsType[*Unavailable](err); silent || a == nil {
		return err
	}
	var said struct{ Error string }
	if json.Unmarshal(a.Body, &said) == nil && said.Error == "invalid_grant" {
		return ErrCredential
	}
	return &Unavailable{RequestID: a.requestID(), Err: errors.New("it does not take the application; check the client's id, secret and redirect address in the configuration")}
}
