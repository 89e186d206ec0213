package forge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
)

// giteaNeeds are the scopes we need. They are always asked for: without any, the
// host gives an application all rights of its user.
const giteaNeeds = "read:user read:repository read:organization"

var giteaPAT = regexp.MustCompile(`^[0-9a-f]{40}$`)

// Bearer is the user that a token belongs to. Access tokens of the sign-in are
// JWTs, and the host takes those of every application: ours are told by asking
// for whom it was made.
func (g *Gitea) Bearer(ctx context.Context, token string) (User, error) {
	owner := ""
	switch {
	case giteaPAT.MatchString(token):
	case strings.HasPrefix(token, "eyJ"):
		var err error
		if owner, err = g.ours(ctx, token); err != nil {
			return User{}, err
		}
	default:
		return User{}, ErrToken
	}
	u, err := g.Self(ctx, token)
	if err == nil && owner != "" && owner != u.ID {
		err = ErrToken
	}
	return u, err
}

// ours is the id of the user who gave this token to our application.
func (g *Gitea) ours(ctx context.Context, token string) (string, error) {
	if g.config.ClientID == "" || g.config.ClientSecret == "" {
		return "", &ForeignToken{Why: "it was made for an application, and this server has none at the code host"}
	}
	about, err := g.introspect(ctx, token)
	switch {
	case err != nil:
		return "", err
	case !about.Active:
		return "", ErrToken
	case !slices.Contains(about.Audience, g.config.ClientID):
		return "", &ForeignToken{Why: "it was made for another application"}
	}
	return about.Subject, nil
}

type giteaToken struct {
	Active   bool
	Subject  string   `json:"sub"`
	Audience audience `json:"aud"`
}

// audience is one name or several.
type audience []string

func (a *audience) UnmarshalJSON(text []byte) error {
	var one string
	if json.Unmarshal(text, &one) == nil {
		*a = audience{one}
		return nil
	}
	return json.Unmarshal(text, (*[]string)(a))
}

// introspect asks what a token is. The host answers 401 in plain words to a dead
// token as well as to an application that it does not know, and only the latter is
// asked to authenticate.
func (g *Gitea) introspect(ctx context.Context, token string) (giteaToken, error) {
	var about giteaToken
	_, err := g.wire.ask(ctx, question{
		oauth: true, method: http.MethodPost, path: g.root + "/login/oauth/introspect",
		basic: url.UserPassword(g.config.ClientID, g.config.ClientSecret), form: url.Values{"token": {token}},
	}, &about)
	if said, ok := errors.AsType[*statusError](err); ok && said.Status == http.StatusUnauthorized {
		err = ErrToken
		if said.Header.Get("WWW-Authenticate") != "" {
			err = errGiteaClient
		}
	}
	return about, err
}

// errGiteaClient is the operator's to mend, and says nothing about any user.
var errGiteaClient = &Unavailable{Err: errors.New("it does not know this server's sign-in application: are its client id, secret and redirect URI right?")}

// AuthorizeURL is where to send the browser.
func (g *Gitea) AuthorizeURL(state, challenge string) string {
	if g.config.ClientID == "" {
		return ""
	}
	return g.config.URL + "/login/oauth/authorize?" + url.Values{
		"client_id": {g.config.ClientID}, "redirect_uri": {g.config.RedirectURL}, "response_type": {"code"},
		"scope": {giteaNeeds}, "state": {state},
		"code_challenge": {challenge}, "code_challenge_method": {"S256"},
	}.Encode()
}

// Exchange turns a code into a grant. The host keeps to the scopes of a user's
// first consent, whatever is asked for later, so the grant is tried.
func (g *Gitea) Exchange(ctx context.Context, code, verifier string) (Grant, User, error) {
	grant, err := g.token(ctx, url.Values{
		"grant_type": {"authorization_code"}, "code": {code}, "code_verifier": {verifier}, "redirect_uri": {g.config.RedirectURL},
	})
	if errors.Is(err, ErrGrantEnded) {
		err = ErrToken
	}
	if err != nil {
		return Grant{}, User{}, err
	}
	u, err := g.Self(ctx, grant.Access)
	if err == nil {
		err = g.suffices(ctx, voice{token: grant.Access})
	}
	if lacks, ok := errors.AsType[*Missing](err); ok {
		err = &Missing{What: fmt.Sprintf("%s (it keeps to what you agreed to the first time: revoke this application at %s/user/settings/applications)",
			lacks.What, g.config.URL)}
	}
	if err != nil {
		return Grant{}, User{}, err
	}
	return grant, u, nil
}

// suffices tries what a credential must be able to do, and is a *Missing if it
// cannot.
func (g *Gitea) suffices(ctx context.Context, v voice) error {
	for _, path := range []string{"/user", "/user/orgs", "/user/repos"} {
		var page json.RawMessage
		if _, err := g.get(ctx, v, path, url.Values{"limit": {"1"}}, &page); err != nil {
			return err
		}
	}
	return nil
}

// Refresh gets a new access token.
func (g *Gitea) Refresh(ctx context.Context, refresh string) (Grant, error) {
	grant, err := g.token(ctx, url.Values{"grant_type": {"refresh_token"}, "refresh_token": {refresh}})
	if err == nil && grant.Refresh == "" {
		grant.Refresh = refresh
	}
	return grant, err
}

// token asks for tokens. A refusal that is no fault of ours is ErrGrantEnded.
func (g *Gitea) token(ctx context.Context, form url.Values) (Grant, error) {
	form.Set("client_id", g.config.ClientID)
	form.Set("client_secret", g.config.ClientSecret)
	var got struct {
		Access  string `json:"access_token"`
		Refresh string `json:"refresh_token"`
		Seconds int64  `json:"expires_in"`
	}
	asked := g.config.Now()
	_, err := g.wire.ask(ctx, question{method: http.MethodPost, path: g.root + "/login/oauth/access_token", form: form, oauth: true}, &got)
	if status, ok := errors.AsType[*statusError](err); ok && status.Status == http.StatusBadRequest {
		return Grant{}, giteaDenial(status)
	}
	if err != nil {
		return Grant{}, err
	}
	if got.Access == "" {
		return Grant{}, &Unavailable{Err: errors.New("it gave out no token and no reason")}
	}
	grant := Grant{Access: got.Access, Refresh: got.Refresh}
	if got.Seconds > 0 {
		grant.Expires = asked.Add(time.Duration(got.Seconds) * time.Second)
	}
	return grant, nil
}

// giteaDenial is why there are no tokens. The host says unauthorized_client of
// codes and refresh tokens that are used, garbled or expired, and once, at a
// code, of our own secret.
func giteaDenial(said *statusError) error {
	var why struct {
		Error       string
		Description string `json:"error_description"`
	}
	_ = json.Unmarshal(said.Body, &why) // what is no JSON has no known reason
	switch {
	case why.Error == "invalid_client", strings.Contains(why.Description, "client secret"), strings.Contains(why.Description, "redirect URI"):
		return errGiteaClient
	case why.Error == "invalid_grant", why.Error == "unauthorized_client":
		return ErrGrantEnded
	}
	return &Unavailable{Err: said}
}

// Self is the user that an access token belongs to. A CI job has the host's own
// account, which is no person.
func (g *Gitea) Self(ctx context.Context, access string) (User, error) {
	u, err := g.self(ctx, voice{token: access})
	if err != nil {
		return User{}, err
	}
	if u.ID <= 0 {
		return User{}, &ForeignToken{Why: "it belongs to a CI job"}
	}
	if !u.Active || u.ProhibitLogin {
		return User{}, &ForeignToken{Why: "its account may not sign in at the code host now"}
	}
	return u.user(), nil
}

// Revoke does nothing: only users themselves can revoke an application there.
func (g *Gitea) Revoke(context.Context, Grant) error { return nil }
