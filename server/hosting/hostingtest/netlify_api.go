package hostingtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"coffer/server/standin"
)

// netlifyAsk is one question, asked with a token that is good. The fake is locked
// meanwhile.
type netlifyAsk struct {
	*http.Request
	*Netlify
	rw    http.ResponseWriter
	token *netlifyToken
	user  *netlifyUser
}

// bodyAgain reads a request's body, and lets it be read a second time.
func bodyAgain(r *http.Request) func(*http.Request) {
	body, _ := io.ReadAll(r.Body) // from memory
	again := func(r *http.Request) { r.Body = io.NopCloser(bytes.NewReader(body)) }
	again(r)
	return again
}

func (n *Netlify) routes() {
	n.api("GET /user", "", (*netlifyAsk).me)
	n.api("GET /accounts", "", (*netlifyAsk).accounts)
	n.api("GET /sites", "name filter page per_page", (*netlifyAsk).list)
	n.api("GET /sites/{site}", "", (*netlifyAsk).site)
	n.api("GET /accounts/{account}/env", "site_id context_name scope", (*netlifyAsk).vars)
	n.api("POST /accounts/{account}/env", "site_id", (*netlifyAsk).create)
	n.api("GET /accounts/{account}/env/{key}", "site_id", (*netlifyAsk).variable)
	n.api("PUT /accounts/{account}/env/{key}", "site_id", (*netlifyAsk).replace)
	n.api("PATCH /accounts/{account}/env/{key}", "site_id", (*netlifyAsk).patch)
	n.api("DELETE /accounts/{account}/env/{key}", "site_id", (*netlifyAsk).remove)
	n.api("DELETE /accounts/{account}/env/{key}/value/{id}", "site_id", (*netlifyAsk).removeValue)
	n.mux.HandleFunc("POST /oauth/token", n.redeem)
	n.mux.HandleFunc("/api/v1/", func(rw http.ResponseWriter, _ *http.Request) { netlifyFail(rw, http.StatusNotFound, "Not Found") })
}

// api is a route of the API with the parameters that it takes.
func (n *Netlify) api(pattern, parameters string, handle func(*netlifyAsk)) {
	method, path, _ := strings.Cut(pattern, " ")
	n.mux.HandleFunc(method+" /api/v1"+path, func(rw http.ResponseWriter, r *http.Request) {
		n.mu.Lock()
		defer n.mu.Unlock()
		rw.Header().Set("X-Nf-Request-Id", n.number("01"))
		a := &netlifyAsk{Request: r, Netlify: n, rw: rw}
		if !a.signed() || !a.within() {
			return
		}
		for name := range r.URL.Query() {
			if !slices.Contains(strings.Fields(parameters), name) {
				a.fail(http.StatusBadRequest, "unknown parameter "+name)
				return
			}
		}
		if method != http.MethodGet && a.token.readOnly {
			a.fail(http.StatusForbidden, "You do not have permission to do that")
			return
		}
		handle(a)
	})
}

func (a *netlifyAsk) signed() bool {
	text, ok := strings.CutPrefix(a.Header.Get("Authorization"), "Bearer ")
	a.token = a.tokens[text]
	if !ok || a.token == nil || a.token.revoked || !a.token.expires.IsZero() && !a.now().Before(a.token.expires) {
		a.fail(http.StatusUnauthorized, "Access Denied")
		return false
	}
	a.user = a.users[a.token.user]
	return true
}

// within counts requests, and refuses those that are too many.
func (a *netlifyAsk) within() bool {
	if a.now().Sub(a.token.minute) >= time.Minute {
		a.token.minute, a.token.calls = a.now(), 0
	}
	a.token.calls++
	h := a.rw.Header()
	h.Set("X-Ratelimit-Limit", strconv.Itoa(a.Rate))
	h.Set("X-Ratelimit-Remaining", strconv.Itoa(max(a.Rate-a.token.calls, 0)))
	h.Set("X-Ratelimit-Reset", strconv.FormatInt(a.token.minute.Add(time.Minute).Unix()+1, 10))
	if a.token.calls > a.Rate {
		a.fail(http.StatusTooManyRequests, "API rate limit exceeded")
		return false
	}
	return true
}

// fail answers in the form that most of the API has.
func (a *netlifyAsk) fail(status int, message string) { netlifyFail(a.rw, status, message) }

func netlifyFail(rw http.ResponseWriter, status int, message string) {
	standin.Answer(rw, status, map[string]any{"code": status, "message": message})
}

// deny answers in the form that variables have for what is wrong in a request.
func (a *netlifyAsk) deny(status int, message string) {
	standin.Answer(a.rw, status, map[string]any{"code": status, "error": http.StatusText(status), "msg": message})
}

// read reads the body, and refuses what it does not know.
func (a *netlifyAsk) read(out any) bool {
	dec := json.NewDecoder(a.Body)
	dec.DisallowUnknownFields()
	if err := dec.Decode(out); err != nil || dec.More() || a.Header.Get("Content-Type") != "application/json" {
		a.deny(http.StatusBadRequest, fmt.Sprint("the body cannot be read: ", err))
		return false
	}
	return true
}

func (a *netlifyAsk) me() {
	standin.Answer(a.rw, http.StatusOK, map[string]any{
		"id": a.user.id, "uid": a.user.id, "full_name": a.user.name, "email": a.user.name + "@example.com", "site_count": len(a.sites),
	})
}

func (a *netlifyAsk) accounts() {
	teams := []any{}
	for _, id := range a.user.teams {
		t := a.teams[id]
		teams = append(teams, map[string]any{"id": t.id, "name": t.name, "slug": t.slug, "type_name": map[bool]string{false: "Free", true: "Pro"}[t.paid]})
	}
	standin.Answer(a.rw, http.StatusOK, teams)
}

// reaches reports whether the user may work on a site, and whether only on it and
// not in its team.
func (a *netlifyAsk) reaches(s *netlifySite) (reaches, guest bool) {
	member := slices.Contains(a.user.teams, s.team)
	guest = !member && slices.Contains(a.user.sites, s.id)
	return member || guest, guest
}

func (a *netlifyAsk) list() {
	query := a.URL.Query()
	var all []*netlifySite
	for _, id := range slices.Sorted(maps.Keys(a.sites)) {
		s := a.sites[id]
		reaches, guest := a.reaches(s)
		filter := query.Get("filter")
		if reaches && (filter == "all" || guest == (filter == "guest")) {
			all = append(all, s)
		}
	}
	number, _ := strconv.Atoi(query.Get("page"))
	asked, _ := strconv.Atoi(query.Get("per_page"))
	page, last := standin.Page(all, number, a.PageSize(asked, 100, 100))
	if number = max(number, 1); number < last {
		link := func(n int, rel string) string {
			query.Set("page", strconv.Itoa(n))
			return fmt.Sprintf("<http://%s%s?%s>; rel=%q", a.Host, a.URL.Path, query.Encode(), rel)
		}
		a.rw.Header().Set("Link", link(number+1, "next")+", "+link(last, "last"))
	}
	shown := []any{}
	for _, s := range page {
		shown = append(shown, a.shown(s))
	}
	standin.Answer(a.rw, http.StatusOK, shown)
}

func (a *netlifyAsk) site() {
	s := a.sites[a.PathValue("site")]
	if s == nil {
		for _, x := range a.sites { // the name in an address does as well
			if x.name+".netlify.app" == a.PathValue("site") {
				s = x
			}
		}
	}
	if s != nil {
		if reaches, _ := a.reaches(s); reaches {
			standin.Answer(a.rw, http.StatusOK, a.shown(s))
			return
		}
	}
	a.fail(http.StatusNotFound, "Not Found")
}

func (a *netlifyAsk) shown(s *netlifySite) map[string]any {
	return map[string]any{
		"id": s.id, "name": s.name, "state": "current", "url": "http://" + s.name + ".netlify.app", "ssl": true,
		"account_id": s.team, "account_name": a.teams[s.team].name, "account_slug": a.teams[s.team].slug,
		"created_at":       s.made.UTC().Format("2006-01-02T15:04:05.000Z"),
		"build_settings":   map[string]any{"provider": "github", "repo_path": s.repository, "repo_branch": "main"},
		"published_deploy": map[string]any{"id": "deploy-" + s.id, "state": "ready", "framework": "astro"},
	}
}
