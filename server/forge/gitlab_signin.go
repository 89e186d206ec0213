package forge

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// AuthorizeURL is GitLab's page that asks the user to let us in.
func (g *gitlab) AuthorizeURL(state, challenge string) string {
	if g.c.ClientID == "" {
		return ""
	}
	return g.c.URL + "/oauth/authorize?" + url.Values{
		"client_id": {g.c.ClientID}, "redirect_uri": {g.c.RedirectURL}, "response_type": {"code"},
		"scope": {gitlabScope}, "state": {state},
		"code_challenge": {challenge}, "code_challenge_method": {"S256"},
	}.Encode()
}

// Exchange turns a code into a grant.
func (g *gitlab) Exchange(ctx context.Context, code, verifier string) (Grant, User, error) {
	grant, scopes, err := g.grant(ctx, url.Values{
		"grant_type": {"authorization_code"}, "code": {code}, "code_verifier": {verifier},
	})
	switch {
	case errors.Is(err, ErrGrantEnded):
		return Grant{}, User{}, ErrToken
	case err != nil:
		return Grant{}, User{}, err
	case !g.reads(scopes):
		return Grant{}, User{}, missingScope
	}
	user, err := g.self(ctx, grant.Access)
	return grant, user, err
}

// Refresh gets a new pair of tokens; GitLab takes the old one once.
func (g *gitlab) Refresh(ctx context.Context, refresh string) (Grant, error) {
	grant, _, err := g.grant(ctx, url.Values{"grant_type": {"refresh_token"}, "refresh_token": {refresh}})
	return grant, err
}

// Self is the user that a grant belongs to.
func (g *gitlab) Self(ctx context.Context, access string) (User, error) { return g.self(ctx, access) }

// Revoke withdraws both tokens. One that is not valid any more is no error to
// GitLab.
func (g *gitlab) Revoke(ctx context.Context, grant Grant) error {
	for _, token := range []string{grant.Refresh, grant.Access} {
		if token == "" {
			continue
		}
		form := g.client(url.Values{"token": {token}})
		_, err := g.site.ask(ctx, question{method: http.MethodPost, path: "/oauth/revoke", form: form, oauth: true, nobody: true}, nil)
		if err != nil {
			return err
		}
	}
	return nil
}

// client adds who we are.
func (g *gitlab) client(form url.Values) url.Values {
	form.Set("client_id", g.c.ClientID)
	if g.c.ClientSecret != "" {
		form.Set("client_secret", g.c.ClientSecret)
	}
	return form
}

// grant asks for tokens. ErrGrantEnded says that what they were to be given for
// is not valid.
func (g *gitlab) grant(ctx context.Context, form url.Values) (Grant, []string, error) {
	form = g.client(form)
	form.Set("redirect_uri", g.c.RedirectURL)
	var got struct {
		Access  string `json:"access_token"`
		Refresh string `json:"refresh_token"`
		Life    int64  `json:"expires_in"`
		Scope   string `json:"scope"`
	}
	asked := g.c.Now()
	_, err := g.site.ask(ctx, question{method: http.MethodPost, path: "/oauth/token", form: form, oauth: true}, &got)
	if said, ok := errors.AsType[*statusError](err); ok && said.Status/100 == 4 {
		return Grant{}, nil, gitlabNoGrant(said)
	}
	switch {
	case err != nil:
		return Grant{}, nil, err
	case got.Access == "":
		return Grant{}, nil, errGitLabAnswer
	}
	grant := Grant{Access: got.Access, Refresh: got.Refresh}
	if got.Life > 0 {
		grant.Expires = asked.Add(time.Duration(got.Life) * time.Second)
	}
	return grant, strings.Fields(got.Scope), nil
}

// errGitLabClient says that it is the operator's to set right.
var errGitLabClient = errors.New("it does not know the sign-in application, or not by this secret; the operator can look with coffer forge check")

func gitlabNoGrant(said *statusError) error {
	var why struct{ Error string }
	_ = json.Unmarshal(said.Body, &why) // no reason is none of those below
	switch why.Error {
	case "invalid_grant":
		return ErrGrantEnded
	case "invalid_client", "unauthorized_client":
		return &Unavailable{Err: errGitLabClient}
	}
	return &Unavailable{Err: said}
}
