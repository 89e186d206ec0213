package forgetest

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"coffer/server/standin"
)

// accessToken refuses with status 200 and an error's name, and answers as a form
// unless JSON is asked for.
func (g *GitHub) accessToken(rw http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		http.Error(rw, "bad form", http.StatusBadRequest)
		return
	}
	answer := g.exchange(r.PostForm)
	if strings.Contains(r.Header.Get("Accept"), "application/json") {
		standin.Answer(rw, http.StatusOK, answer)
		return
	}
	form := url.Values{}
	for name, value := range answer {
		text, _ := json.Marshal(value) // strings and numbers
		form.Set(name, strings.Trim(string(text), `"`))
	}
	rw.Header().Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
	_, _ = rw.Write([]byte(form.Encode())) // a client that left is no concern of ours
}

func (g *GitHub) exchange(form url.Values) object {
	no := func(code, description string) object {
		return object{"error": code, "error_description": description, "error_uri": "https://docs.github.com/apps"}
	}
	client, secret := form.Get("client_id"), form.Get("client_secret")
	if _, err := g.World.App(client, secret); err != nil || secret == "" {
		return no("incorrect_client_credentials", "The client_id and/or client_secret passed are incorrect.")
	}
	var p Pair
	var err error
	switch form.Get("grant_type") {
	case "", "authorization_code":
		p, err = g.World.Redeem(client, form.Get("code"), form.Get("code_verifier"), form.Get("redirect_uri"))
	case "refresh_token":
		p, err = g.World.Refresh(client, form.Get("refresh_token"))
	default:
		return no("unsupported_grant_type", "The grant_type is not supported.")
	}
	switch {
	case errors.Is(err, ErrRedirect):
		return no("redirect_uri_mismatch", "The redirect_uri MUST match the registered callback URL for this application.")
	case errors.Is(err, ErrRefresh), errors.Is(err, ErrRefreshUsed):
		return no("bad_refresh_token", "The refresh token passed is incorrect or expired.")
	case err != nil:
		return no("bad_verification_code", "The code passed is incorrect or expired.")
	}
	answer := object{"access_token": p.Access.Text, "token_type": "bearer", "scope": strings.Join(p.Access.Scopes, ",")}
	if p.Refresh != "" {
		answer["scope"] = "" // an App's token has none, whatever was asked for
		answer["refresh_token"], answer["refresh_token_expires_in"] = p.Refresh, 15897600
		answer["expires_in"] = int(p.Access.Expires.Sub(g.World.Now()).Seconds())
	}
	return answer
}

// ownToken is the token that an application asks about with its own name and
// secret, or answers why not. Another's is as unknown as one that never was.
func (c *githubCall) ownToken() (Token, App, bool) {
	client, secret, _ := c.r.BasicAuth()
	app, err := c.g.World.App(client, secret)
	var body struct {
		Token string `json:"access_token"`
	}
	switch {
	case err != nil, secret == "":
		c.fail(http.StatusUnauthorized, "Bad credentials")
		return Token{}, App{}, false
	case json.NewDecoder(c.r.Body).Decode(&body) != nil || body.Token == "":
		c.fail(http.StatusUnprocessableEntity, "Invalid request. \"access_token\" wasn't supplied.")
		return Token{}, App{}, false
	}
	t, ok := c.g.World.Live(body.Token)
	if !ok || t.App != client || c.r.PathValue("client") != client || t.Kind != OAuth {
		c.notFound()
		return Token{}, App{}, false
	}
	return t, app, true
}

func (g *GitHub) checkToken(c *githubCall) {
	t, app, ok := c.ownToken()
	if !ok {
		return
	}
	u, _ := g.World.User(t.User)
	now, made := stamp(g.World.Now()), stamp(t.Made)
	body := object{
		"id": 1, "url": g.at("/authorizations/1"), "scopes": append([]string{}, slices.Clone(t.Scopes)...), "token": t.Text,
		"token_last_eight": t.Text[len(t.Text)-8:], "hashed_token": strings.Repeat("0", 64), "note": nil, "note_url": nil,
		"app":        object{"client_id": app.ClientID, "name": app.Name, "url": "https://coffer.example"},
		"updated_at": now, "created_at": made, "fingerprint": nil, "expires_at": nil, "user": g.simple(u),
	}
	if !t.Expires.IsZero() {
		body["expires_at"] = stamp(t.Expires)
	}
	c.json(http.StatusOK, body)
}

func (g *GitHub) deleteToken(c *githubCall) {
	if t, _, ok := c.ownToken(); ok {
		g.World.Revoke(t.Text)
		c.rw.WriteHeader(http.StatusNoContent)
	}
}
