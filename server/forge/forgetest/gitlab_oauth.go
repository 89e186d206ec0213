package forgetest

import (
	"errors"
	"net/http"
	"strings"

	"coffer/server/standin"
)

// token is where applications get tokens.
func (g *GitLab) token(rw http.ResponseWriter, r *http.Request) {
	id, ok := g.application(rw, r, http.StatusUnauthorized, "invalid_client")
	if !ok {
		return
	}
	var p Pair
	var err error
	switch r.PostFormValue("grant_type") {
	case "authorization_code":
		p, err = g.World.Redeem(id, r.PostFormValue("code"), r.PostFormValue("code_verifier"), r.PostFormValue("redirect_uri"))
	case "refresh_token":
		p, err = g.World.Refresh(id, r.PostFormValue("refresh_token"))
	default:
		standin.Answer(rw, http.StatusBadRequest, map[string]any{"error": "unsupported_grant_type", "error_description": "The authorization grant type is not supported by the authorization server."})
		return
	}
	if err != nil {
		standin.Answer(rw, http.StatusBadRequest, map[string]any{"error": "invalid_grant", "error_description": "The provided authorization grant is invalid, expired, revoked, does not match the redirection URI used in the authorization request, or was issued to another client."})
		return
	}
	standin.Answer(rw, http.StatusOK, map[string]any{
		"access_token": p.Access.Text, "token_type": "Bearer", "refresh_token": p.Refresh,
		"expires_in": int(p.Access.Expires.Sub(g.World.Now()).Seconds()), "created_at": g.World.Now().Unix(),
		"scope": strings.Join(p.Access.Scopes, " "),
	})
}

// application is the client id of a form, if the secret is right as well.
func (g *GitLab) application(rw http.ResponseWriter, r *http.Request, status int, code string) (string, bool) {
	id, secret := r.PostFormValue("client_id"), r.PostFormValue("client_secret")
	if name, password, ok := r.BasicAuth(); ok {
		id, secret = name, password
	}
	_, err := g.World.App(id, secret)
	if secret == "" {
		err = errors.Join(err, ErrClient) // only public applications have none
	}
	if err != nil {
		standin.Answer(rw, status, map[string]any{"error": code, "error_description": "Client authentication failed due to unknown client, no client authentication included, or unsupported authentication method."})
	}
	return id, err == nil
}

// revoke ends a token of the application, and says nothing about one that is
// none. An access token and its refresh token end together.
func (g *GitLab) revoke(rw http.ResponseWriter, r *http.Request) {
	id, ok := g.application(rw, r, http.StatusForbidden, "unauthorized_client")
	if !ok {
		return
	}
	text := r.PostFormValue("token")
	g.World.mu.RLock()
	user, known := int64(0), false
	if t, ok := g.World.tokens[text]; ok && t.App == id {
		user, known = t.User, true
	}
	if t, ok := g.World.refreshes[text]; ok && t.client == id {
		user, known = t.user, true
	}
	g.World.mu.RUnlock()
	if known {
		g.World.RevokeGrant(id, user)
	}
	standin.Answer(rw, http.StatusOK, map[string]any{})
}

// tokenInfo says for whom and by which application an OAuth token was made.
func (g *GitLab) tokenInfo(rw http.ResponseWriter, r *http.Request) {
	t, ok := g.World.Live(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
	if !ok || t.Kind != OAuth {
		standin.Answer(rw, http.StatusUnauthorized, map[string]any{"error": "invalid_token", "error_description": "The access token is invalid", "state": "unauthorized"})
		return
	}
	standin.Answer(rw, http.StatusOK, map[string]any{
		"resource_owner_id": t.User, "scope": t.Scopes, "expires_in": int(t.Expires.Sub(g.World.Now()).Seconds()),
		"application": map[string]any{"uid": t.App}, "created_at": t.Made.Unix(),
	})
}
