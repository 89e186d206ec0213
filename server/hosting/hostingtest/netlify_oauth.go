package hostingtest

import (
	"net/http"
	"net/url"
	"time"

	"coffer/server/standin"
)

// Authorize plays a user who agrees at the page that the browser is sent to. It
// answers what the browser comes back with.
func (n *Netlify) Authorize(user, address string) map[string][]string {
	n.mu.Lock()
	defer n.mu.Unlock()
	u, err := url.Parse(address)
	if err != nil || u.Scheme+"://"+u.Host != n.URL || u.Path != "/authorize" {
		return map[string][]string{"error": {"not_found"}}
	}
	q := u.Query()
	if q.Get("response_type") != "code" || q.Get("client_id") != n.App.ClientID || q.Get("redirect_uri") != n.App.RedirectURL {
		return map[string][]string{"error": {"invalid_request"}, "state": q["state"]}
	}
	code := n.number("code")
	n.codes[code] = user
	return map[string][]string{"code": {code}, "state": q["state"]}
}

// redeem gives a token for a code, once, or for a refresh token.
func (n *Netlify) redeem(rw http.ResponseWriter, r *http.Request) {
	n.mu.Lock()
	defer n.mu.Unlock()
	refuse := func(status int, why string) {
		standin.Answer(rw, status, map[string]any{"error": why, "error_description": "It was refused."})
	}
	if err := r.ParseForm(); err != nil || r.Header.Get("Content-Type") != "application/x-www-form-urlencoded" || len(r.URL.Query()) > 0 {
		refuse(http.StatusBadRequest, "invalid_request")
		return
	}
	f := r.PostForm
	if f.Get("client_id") != n.App.ClientID || f.Get("client_secret") != n.App.ClientSecret {
		refuse(http.StatusUnauthorized, "invalid_client")
		return
	}
	user, ok := "", false
	switch f.Get("grant_type") {
	case "authorization_code":
		user, ok = n.codes[f.Get("code")]
		ok = ok && f.Get("redirect_uri") == n.App.RedirectURL
		delete(n.codes, f.Get("code"))
	case "refresh_token":
		user, ok = n.renewal[f.Get("refresh_token")]
	default:
		refuse(http.StatusBadRequest, "unsupported_grant_type")
		return
	}
	if !ok {
		refuse(http.StatusBadRequest, "invalid_grant")
		return
	}
	standin.Answer(rw, http.StatusOK, n.grant(user))
}

func (n *Netlify) grant(user string) map[string]any {
	token := n.token(user)
	grant := map[string]any{"access_token": token, "token_type": "Bearer", "scope": "", "created_at": n.now().Unix()}
	if n.App.Refreshes {
		refresh := n.number("nfr_refresh")
		n.conceal(refresh)
		n.renewal[refresh] = user
		n.tokens[token].expires = n.now().Add(time.Hour)
		grant["refresh_token"], grant["expires_in"] = refresh, 3600
	}
	return grant
}

// EndGrants ends all that a user let the application have.
func (n *Netlify) EndGrants(user string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for refresh, who := range n.renewal {
		if who == user {
			delete(n.renewal, refresh)
		}
	}
	for _, t := range n.tokens {
		t.revoked = t.revoked || t.user == user
	}
}
