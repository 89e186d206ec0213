package hostingtest

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"coffer/server/standin"
)

// railwayCode is what a user agreed to, to be redeemed once.
type railwayCode struct {
	grant     *railwayGrant
	challenge string
	used      bool
}

// railwayGrant is what a user let the application have: the projects, or all of
// the workspaces, that they chose.
type railwayGrant struct {
	user                 string
	projects, workspaces []string
	viewer               bool
	offline              bool   // it has refresh tokens
	current              string // refresh token; another one ends the grant
	over                 bool
}

// Authorize plays a user who agrees at the page that the browser is sent to, and
// chooses all that there is to choose from. It answers what the browser comes
// back with.
func (r *Railway) Authorize(user, address string) map[string][]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	u, err := url.Parse(address)
	if err != nil || u.Scheme+"://"+u.Host != r.URL || u.Path != "/oauth/auth" {
		return map[string][]string{"error": {"not_found"}}
	}
	q := u.Query()
	scopes := strings.Fields(q.Get("scope"))
	has := func(scope string) bool { return slices.Contains(scopes, scope) }
	switch {
	case q.Get("client_id") != r.App.ClientID, q.Get("redirect_uri") != r.App.RedirectURL:
		return map[string][]string{"error": {"invalid_client"}}
	case q.Get("response_type") != "code", !has("openid"), q.Get("code_challenge_method") != "S256", len(q.Get("code_challenge")) != 43:
		return map[string][]string{"error": {"invalid_request"}, "state": q["state"]}
	}
	g := &railwayGrant{user: user, offline: has("offline_access") && q.Get("prompt") == "consent"}
	if named := has("email") && has("profile"); named && (has("project:member") || has("project:viewer")) {
		g.viewer = !has("project:member")
		for _, p := range r.projects {
			if (railwayRun{r: r, who: &railwayToken{user: user}}).reaches(p, "") {
				g.projects = append(g.projects, p.id)
			}
		}
	} else if named && (has("workspace:member") || has("workspace:admin") || has("workspace:viewer")) {
		g.viewer = !has("workspace:member") && !has("workspace:admin")
		g.workspaces = r.users[user].workspaces
	}
	code := "railway-code-" + r.id()
	r.codes[code] = &railwayCode{grant: g, challenge: q.Get("code_challenge")}
	return map[string][]string{"code": {code}, "state": q["state"], "iss": {r.URL}}
}

// redeem gives tokens for a code, or for a refresh token.
func (r *Railway) redeem(rw http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	refuse := func(status int, why string) {
		standin.Answer(rw, status, map[string]any{"error": why, "error_description": "It was refused."})
	}
	if err := req.ParseForm(); err != nil || req.Header.Get("Content-Type") != "application/x-www-form-urlencoded" || len(req.URL.Query()) > 0 {
		refuse(http.StatusBadRequest, "invalid_request")
		return
	}
	f := req.PostForm
	if f.Get("client_id") != r.App.ClientID || f.Get("client_secret") != r.App.ClientSecret || r.App.ClientSecret == "" && f.Has("client_secret") {
		refuse(http.StatusUnauthorized, "invalid_client")
		return
	}
	var g *railwayGrant
	switch f.Get("grant_type") {
	case "authorization_code":
		g = r.redeemed(f)
	case "refresh_token":
		g = r.renewals[f.Get("refresh_token")]
		if g != nil && g.current != f.Get("refresh_token") {
			g.over = true // used twice: one of the two who have it is a thief
		}
	default:
		refuse(http.StatusBadRequest, "unsupported_grant_type")
		return
	}
	if g == nil || g.over {
		refuse(http.StatusBadRequest, "invalid_grant")
		return
	}
	standin.Answer(rw, http.StatusOK, r.granted(g))
}

// redeemed is what a code is good for. A code that is used twice ends what it
// brought.
func (r *Railway) redeemed(f url.Values) *railwayGrant {
	c := r.codes[f.Get("code")]
	if c == nil {
		return nil
	}
	sum := sha256.Sum256([]byte(f.Get("code_verifier")))
	c.grant.over = c.grant.over || c.used || f.Get("redirect_uri") != r.App.RedirectURL ||
		base64.RawURLEncoding.EncodeToString(sum[:]) != c.challenge
	c.used = true
	return c.grant
}

// granted gives new tokens, and has the old refresh token die.
func (r *Railway) granted(g *railwayGrant) map[string]any {
	access := r.token(&railwayToken{user: g.user, grant: g, viewer: g.viewer, expires: r.now().Add(time.Hour)})
	out := map[string]any{"access_token": access, "expires_in": 3600, "token_type": "Bearer", "scope": "openid"}
	if g.offline {
		g.current = "railway-refresh-" + r.id()
		r.renewals[g.current] = g
		r.secrets = append(r.secrets, g.current)
		out["refresh_token"] = g.current
	}
	return out
}

// EndGrant ends a grant by any of its refresh tokens.
func (r *Railway) EndGrant(refresh string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.renewals[refresh].over = true
}
