package hosting

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"coffer/server/api"
)

// vercelOAuth is Vercel with an integration of the operator's that users can
// install. Vercel's other way to sign in gives no access to projects.
type vercelOAuth struct{ *vercel }

// AuthorizeURL is where users install the integration. Vercel takes no challenge.
func (v vercelOAuth) AuthorizeURL(state, _ string) string {
	web := v.config.WebURL
	if web == "" {
		web = "https://vercel.com"
	}
	return web + "/integrations/" + segment(v.config.Slug) + "/new?" + url.Values{"state": {state}}.Encode()
}

// Exchange redeems the code of an installation. The token is good until the
// integration is removed.
func (v vercelOAuth) Exchange(ctx context.Context, callback map[string][]string, _ string) (Grant, error) {
	code := url.Values(callback).Get("code")
	if code == "" {
		return Grant{}, ErrCredential
	}
	var said struct {
		Token api.Secret `json:"access_token"`
		Team  string     `json:"team_id"` // null is the personal account
	}
	a, err := v.api.ask(ctx, call{method: http.MethodPost, path: "/v2/oauth/access_token", form: url.Values{
		"client_id": {v.config.ClientID}, "client_secret": {v.config.ClientSecret},
		"code": {code}, "redirect_uri": {v.config.RedirectURL},
	}}, &said)
	if vercelSaid(a).Code == "invalid_grant" {
		return Grant{}, ErrCredential // the code was used, is too old, or is another's
	}
	if _, silent := errors.AsType[*Unavailable](err); err != nil && !silent {
		return Grant{}, &Unavailable{RequestID: a.requestID(), Err: errors.New("it did not accept the integration; are client id, secret and redirect address right?")}
	}
	if err != nil {
		return Grant{}, err
	}
	if said.Token.Len() == 0 {
		return Grant{}, a.senseless()
	}
	return Grant{Access: said.Token, Team: said.Team}, nil
}

// Refresh renews nothing: a token that has ended was taken away.
func (v vercelOAuth) Refresh(context.Context, api.Secret) (Grant, error) {
	return Grant{}, ErrCredential
}
