package forge

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// githubScopes are what people let an OAuth App do. A GitHub App has permissions
// instead, and GitHub passes over scopes that it is asked for.
var githubScopes = []string{"read:user", "read:org", "repo"}

// githubHolds are the scopes that will do for one of ours.
var githubHolds = map[string][]string{
	"read:user": {"read:user", "user"},
	"read:org":  {"read:org", "write:org", "admin:org"},
	"repo":      {"repo"},
}

// Bearer takes personal access tokens, and of those made for applications only
// ours. Tokens of older shapes do not tell for whom they were made, and are
// refused.
func (g *github) Bearer(ctx context.Context, token string) (User, error) {
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return User{}, ErrToken
	}
	starts := func(shapes ...string) bool {
		return slices.ContainsFunc(shapes, func(s string) bool { return strings.HasPrefix(token, s) })
	}
	switch {
	case starts("ghs_", "ghr_"):
		return User{}, &ForeignToken{"it is a machine's or a refresh token; machines use an API key"}
	case starts("gho_", "ghu_"):
		if err := g.ours(ctx, token); err != nil {
			return User{}, err
		}
	case !starts("ghp_", "github_pat_"):
		return User{}, ErrToken
	}
	return g.Self(ctx, token)
}

// ours asks whether a token was made for our application: every application's
// token answers who its user is.
func (g *github) ours(ctx context.Context, token string) error {
	if g.config.ClientID == "" {
		return &ForeignToken{"it was made for an application, and none is configured here"}
	}
	var made struct {
		App struct {
			ClientID string `json:"client_id"`
		} `json:"app"`
	}
	_, err := g.api.ask(ctx, g.application(http.MethodPost, token), &made)
	switch {
	case errors.Is(err, ErrNotFound), hasStatus(err, http.StatusUnprocessableEntity):
		return &ForeignToken{"it was made for another application"}
	case errors.Is(err, ErrToken):
		return errGitHubClient
	case err == nil && made.App.ClientID != g.config.ClientID:
		return &Unavailable{Err: errors.New("it does not say that the token was made for the sign-in application")}
	}
	return err
}

var errGitHubClient = &Unavailable{Err: errors.New("it does not know the sign-in application by the configured client id and secret")}

// application is a question about a token that our application was given.
func (g *github) application(method, token string) question {
	return question{
		method: method, path: "/applications/" + segment(g.config.ClientID) + "/token",
		basic: url.UserPassword(g.config.ClientID, g.config.ClientSecret),
		json:  map[string]string{"access_token": token},
	}
}

// Self is the user of an access token.
func (g *github) Self(ctx context.Context, access string) (User, error) {
	var me githubAccount
	_, err := g.api.get(ctx, access, "/user", nil, &me)
	switch {
	case errors.Is(err, ErrRefused), err == nil && me.SuspendedAt != "":
		return User{}, &ForeignToken{"its user may not sign in"}
	case err != nil:
		return User{}, err
	case me.Type != "User":
		return User{}, &ForeignToken{"it is not a person's"}
	}
	return me.user(), nil
}

// AuthorizeURL is where to send the browser.
func (g *github) AuthorizeURL(state, challenge string) string {
	if g.config.ClientID == "" {
		return ""
	}
	q := url.Values{
		"response_type": {"code"}, "client_id": {g.config.ClientID}, "scope": {strings.Join(githubScopes, " ")}, "state": {state},
		"code_challenge": {challenge}, "code_challenge_method": {"S256"},
	}
	if g.config.RedirectURL != "" {
		q.Set("redirect_uri", g.config.RedirectURL)
	}
	return g.config.URL + "/login/oauth/authorize?" + q.Encode()
}

// Exchange turns a code into a grant.
func (g *github) Exchange(ctx context.Context, code, verifier string) (Grant, User, error) {
	form := url.Values{"code": {code}, "code_verifier": {verifier}}
	if g.config.RedirectURL != "" {
		form.Set("redirect_uri", g.config.RedirectURL)
	}
	grant, scopes, err := g.grant(ctx, form)
	if no, ok := errors.AsType[*githubNo](err); ok {
		switch no.code {
		case "redirect_uri_mismatch":
			return Grant{}, User{}, &Unavailable{Err: errors.New("the callback address is not the one registered for the sign-in application")}
		case "unverified_user_email":
			return Grant{}, User{}, &ForeignToken{"verify the account's primary email address at GitHub first"}
		}
		return Grant{}, User{}, ErrToken
	}
	if err != nil {
		return Grant{}, User{}, err
	}
	if !strings.HasPrefix(grant.Access, "ghu_") { // an App's token has no scopes
		for _, s := range githubScopes {
			if !slices.ContainsFunc(githubHolds[s], func(s string) bool { return slices.Contains(scopes, s) }) {
				return Grant{}, User{}, &Missing{What: "the scope " + s}
			}
		}
	}
	u, err := g.Self(ctx, grant.Access)
	if err != nil {
		return Grant{}, User{}, err
	}
	return grant, u, nil
}

// Refresh gets new tokens for an App's user; the old refresh token is dead then.
// Those of an OAuth App do not expire.
func (g *github) Refresh(ctx context.Context, refresh string) (Grant, error) {
	grant, _, err := g.grant(ctx, url.Values{"grant_type": {"refresh_token"}, "refresh_token": {refresh}})
	if no, ok := errors.AsType[*githubNo](err); ok {
		if no.code == "bad_refresh_token" || no.code == "invalid_grant" {
			return Grant{}, ErrGrantEnded
		}
		return Grant{}, &Unavailable{Err: err}
	}
	return grant, err
}

// Revoke ends an access token of ours and what refreshes it.
func (g *github) Revoke(ctx context.Context, grant Grant) error {
	q := g.application(http.MethodDelete, grant.Access)
	q.nobody = true
	_, err := g.api.ask(ctx, q, nil)
	switch {
	case errors.Is(err, ErrNotFound), hasStatus(err, http.StatusUnprocessableEntity):
		return nil // it has ended before
	case errors.Is(err, ErrToken):
		return errGitHubClient
	}
	return err
}

// githubNo is a refusal of tokens, by its name.
type githubNo struct{ code string }

func (e *githubNo) Error() string { return fmt.Sprintf("it refused with %q", e.code) }

// grant asks for tokens. GitHub refuses with status 200 and a name.
func (g *github) grant(ctx context.Context, form url.Values) (Grant, []string, error) {
	form.Set("client_id", g.config.ClientID)
	form.Set("client_secret", g.config.ClientSecret)
	var answer struct {
		Error   string `json:"error"`
		Access  string `json:"access_token"`
		Refresh string `json:"refresh_token"`
		Seconds int64  `json:"expires_in"`
		Scope   string `json:"scope"`
	}
	_, err := g.web.ask(ctx, question{method: http.MethodPost, path: "/login/oauth/access_token", form: form}, &answer)
	switch {
	case hasStatus(err, http.StatusNotFound), errors.Is(err, ErrNotFound), errors.Is(err, ErrToken), answer.Error == "incorrect_client_credentials":
		return Grant{}, nil, errGitHubClient
	case err != nil:
		return Grant{}, nil, err
	case answer.Error != "":
		return Grant{}, nil, &githubNo{answer.Error}
	case answer.Access == "":
		return Grant{}, nil, &Unavailable{Err: errors.New("it answered without a token")}
	}
	grant := Grant{Access: answer.Access, Refresh: answer.Refresh}
	if answer.Seconds > 0 {
		grant.Expires = g.api.now().Add(time.Duration(answer.Seconds) * time.Second)
	}
	return grant, githubWords(answer.Scope), nil
}
