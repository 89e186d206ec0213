package hostingtest

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"coffer/server/standin"
)

// VercelApp is an integration that is known at Vercel.
type VercelApp struct {
	Slug, ClientID, Secret, Redirect string
}

type vercelCode struct {
	user, team string
	expires    time.Time
}

// AddApp makes the integration known.
func (v *Vercel) AddApp(app VercelApp) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.app = app
}

// Install is what the browser comes back with after the user installed the
// integration in a team, or in the personal account where team is "".
func (v *Vercel) Install(address, user, team string) url.Values {
	v.mu.Lock()
	defer v.mu.Unlock()
	at, err := url.Parse(address)
	if err != nil || at.Path != "/integrations/"+v.app.Slug+"/new" || at.Query().Get("state") == "" {
		return url.Values{}
	}
	code := v.id("code-")
	v.codes[code] = &vercelCode{user, team, v.now().Add(30 * time.Minute)}
	back := url.Values{"code": {code}, "configurationId": {"icfg_1"}, "next": {"https://vercel.com/done"}, "state": {at.Query().Get("state")}}
	if team != "" {
		back.Set("teamId", team)
	}
	return back
}

// redeem gives a token for a code, once.
func (v *Vercel) redeem(r *vercelAsked) (int, any, *vercelRefusal) {
	if kind := r.Header.Get("Content-Type"); kind != "application/x-www-form-urlencoded" || r.Header.Get("Authorization") != "" {
		return 0, nil, refuse(http.StatusBadRequest, "bad_request", "Invalid request: a form and no token")
	}
	text, _ := io.ReadAll(r.Body)
	form, err := url.ParseQuery(string(text))
	if err != nil {
		return 0, nil, refuse(http.StatusBadRequest, "bad_request", "Invalid request: no form")
	}
	for name := range form {
		if !slices.Contains([]string{"client_id", "client_secret", "code", "redirect_uri"}, name) {
			return 0, nil, refuse(http.StatusBadRequest, "bad_request", "Invalid request: unknown field "+name)
		}
	}
	if form.Get("client_id") != v.app.ClientID || form.Get("client_secret") != v.app.Secret || form.Get("redirect_uri") != v.app.Redirect {
		return http.StatusUnauthorized, map[string]any{"error": "invalid_client", "error_description": "Invalid client"}, nil
	}
	code := v.codes[form.Get("code")]
	delete(v.codes, form.Get("code"))
	if code == nil || v.now().After(code.expires) {
		return http.StatusBadRequest, map[string]any{"error": "invalid_grant", "error_description": "Invalid grant: authorization code is invalid"}, nil
	}
	said := map[string]any{
		"token_type": "Bearer", "installation_id": "icfg_1", "user_id": code.user, "team_id": nil,
		"access_token": v.token(VercelToken{User: code.user, Team: code.team, Integration: true}),
	}
	if code.team != "" {
		said["team_id"] = code.team
	}
	return http.StatusOK, said, nil
}

// Limits are the ways in which Vercel says that it was asked too often, each
// asking for a wait of three seconds where it can.
func (v *Vercel) Limits() map[string]standin.Fault {
	limited := func(headers func(http.Header), body bool) standin.Fault {
		return func(_ *standin.Fake, rw http.ResponseWriter, _ *http.Request, _ http.Handler) {
			said := map[string]any{"code": "rate_limited", "message": "Too many requests."}
			if body {
				said["limit"] = map[string]any{"total": 100, "remaining": 0, "reset": v.now().Add(3 * time.Second).Unix()}
			}
			headers(rw.Header())
			standin.Answer(rw, http.StatusTooManyRequests, map[string]any{"error": said})
		}
	}
	page := func(status int) standin.Fault {
		return func(_ *standin.Fake, rw http.ResponseWriter, _ *http.Request, _ http.Handler) {
			rw.Header().Set("Content-Type", "text/html; charset=utf-8")
			rw.WriteHeader(status)
			_, _ = io.WriteString(rw, "<!doctype html><title>Vercel Security Checkpoint</title>")
		}
	}
	reset := func(h http.Header) { h.Set("X-RateLimit-Reset", fmt.Sprint(v.now().Add(3*time.Second).Unix())) }
	return map[string]standin.Fault{
		"in the body":      limited(func(http.Header) {}, true),
		"in a header":      limited(reset, false),
		"in both":          limited(reset, true),
		"by Retry-After":   limited(func(h http.Header) { h.Set("Retry-After", "3") }, false),
		"without a time":   limited(func(http.Header) {}, false),
		"by a firewall":    page(http.StatusTooManyRequests),
		"by a firewall, 2": page(http.StatusForbidden),
	}
}

// VercelWriting reports whether a request changes variables.
func VercelWriting(c standin.Call) bool {
	return c.Method != http.MethodGet && strings.Contains(c.Path, "/env")
}
