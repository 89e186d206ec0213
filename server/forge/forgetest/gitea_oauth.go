package forgetest

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"coffer/server/standin"
)

// SignIn makes a user the one who is signed in there in the browser, and consents
// to everything.
func (g *Gitea) SignIn(user int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.browser = user
}

// authorize is the page of consent. Without [Gitea.ShowPages] the user agrees to
// it at once.
func (g *Gitea) authorize(rw http.ResponseWriter, r *http.Request) {
	user, shown := g.visitor(r)
	q := r.URL.Query()
	app, err := g.World.App(q.Get("client_id"), "")
	switch {
	case user == 0 && shown:
		http.Redirect(rw, r, giteaBase(r)+"/user/login?redirect_to="+url.QueryEscape(r.URL.RequestURI()), http.StatusSeeOther)
	case user == 0:
		http.Redirect(rw, r, giteaBase(r)+"/user/login", http.StatusSeeOther)
	case err != nil, q.Get("redirect_uri") != app.Redirect:
		http.Error(rw, "Unregistered Redirect URI", http.StatusBadRequest)
	case shown:
		g.askConsent(rw, app, q)
	default:
		g.grant(rw, r, user, app, q)
	}
}

// grant sends the browser back with what the user agreed to.
func (g *Gitea) grant(rw http.ResponseWriter, r *http.Request, user int64, app App, q url.Values) {
	back := url.Values{"state": {q.Get("state")}}
	switch {
	case q.Get("response_type") != "code":
		back.Set("error", "unsupported_response_type")
	case q.Get("code_challenge_method") != "S256" && q.Get("code_challenge_method") != "":
		back.Set("error", "invalid_request")
	default:
		back.Set("code", g.World.Authorize(Code{
			ClientID: app.ClientID, User: user, Challenge: q.Get("code_challenge"),
			Scopes: strings.Fields(q.Get("scope")), Redirect: app.Redirect,
		}))
	}
	http.Redirect(rw, r, app.Redirect+"?"+back.Encode(), http.StatusSeeOther)
}

// accessToken says of codes and refresh tokens that are no good what others say
// of clients.
func (g *Gitea) accessToken(rw http.ResponseWriter, r *http.Request) {
	deny := func(code, description string) {
		standin.Answer(rw, http.StatusBadRequest, map[string]string{"error": code, "error_description": description})
	}
	app, err := g.World.App(r.FormValue("client_id"), "")
	if err != nil {
		deny("invalid_client", "cannot load client with client id: \""+r.FormValue("client_id")+"\"")
		return
	}
	secret := r.FormValue("client_secret") == app.Secret
	var pair Pair
	switch r.FormValue("grant_type") {
	case "authorization_code":
		if !secret {
			deny("unauthorized_client", "invalid client secret")
			return
		}
		pair, err = g.World.Redeem(app.ClientID, r.FormValue("code"), r.FormValue("code_verifier"), r.FormValue("redirect_uri"))
	case "refresh_token":
		if !secret {
			deny("invalid_client", "invalid client secret")
			return
		}
		pair, err = g.World.Refresh(app.ClientID, r.FormValue("refresh_token"))
	default:
		deny("unsupported_grant_type", "Only refresh_token or authorization_code grant type is supported")
		return
	}
	switch {
	case errors.Is(err, ErrCode):
		deny("unauthorized_client", "client is not authorized")
	case errors.Is(err, ErrRedirect):
		deny("unauthorized_client", "unexpected redirect URI")
	case errors.Is(err, ErrVerifier):
		deny("unauthorized_client", "failed PKCE code challenge")
	case errors.Is(err, ErrRefreshUsed):
		deny("unauthorized_client", "token was already used")
	case errors.Is(err, ErrRefresh) && !strings.HasPrefix(r.FormValue("refresh_token"), "refresh-"):
		deny("unauthorized_client", "unable to parse refresh token")
	case errors.Is(err, ErrRefresh):
		deny("invalid_grant", "grant does not exist")
	default:
		standin.Answer(rw, http.StatusOK, map[string]any{
			"access_token": pair.Access.Text, "token_type": "bearer", "expires_in": 3600, "refresh_token": pair.Refresh,
		})
	}
}

// introspect says whose a token is and for whom it was made, to every application
// that authenticates. Gitea takes the token that it is asked about for the
// asker's, and turns a dead one down before it looks at the application.
func (g *Gitea) introspect(rw http.ResponseWriter, r *http.Request) {
	text := r.FormValue("token")
	token, live := g.World.Live(text)
	if text != "" && !live && !g.forgejo {
		http.Error(rw, "Failed to authenticate user", http.StatusUnauthorized)
		return
	}
	id, secret, _ := r.BasicAuth()
	app, err := g.World.App(id, "")
	if err != nil || app.Secret != secret {
		rw.Header().Set("WWW-Authenticate", `Basic realm="Gitea OAuth2"`)
		http.Error(rw, "no valid authorization", http.StatusUnauthorized)
		return
	}
	user, known := g.World.User(token.User)
	if !live || !known || token.Kind != OAuth {
		standin.Answer(rw, http.StatusOK, map[string]any{"active": false})
		return
	}
	standin.Answer(rw, http.StatusOK, map[string]any{
		"active": true, "scope": strings.Join(token.Scopes, " "), "username": user.Login,
		"iss": g.URL + giteaBase(r), "sub": strconv.FormatInt(user.ID, 10), "aud": []string{token.App},
	})
}
