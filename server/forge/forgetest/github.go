package forgetest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"coffer/server/standin"
)

// GitHub is an Enterprise Server: the API is below /api/v3, people sign in below
// /login. What it says is also what github.com says, except where a field
// promises otherwise.
type GitHub struct {
	*Fake
	App GitHubApp // see Register

	// TellSuspended has suspended people shown with the time of it, as Enterprise
	// Server does; github.com hides them.
	TellSuspended bool

	// Observe, if set, sees every answer of the API.
	Observe func(r *http.Request, answer *httptest.ResponseRecorder)

	state      sync.Mutex
	installed  map[int64]*AppInstallation // by account
	everywhere bool
	enterprise int64
	issued     map[string]appKey // by installation token
	sso        map[int64]bool
	authorized map[ssoKey]bool
	invited    map[invitation]bool
}

type ssoKey struct {
	org   int64
	token string
}

type invitation struct{ org, user int64 }

// NewGitHub starts a GitHub over a world.
func NewGitHub(t testing.TB, w *World) *GitHub {
	g := &GitHub{
		installed: map[int64]*AppInstallation{}, issued: map[string]appKey{},
		sso: map[int64]bool{}, authorized: map[ssoKey]bool{}, invited: map[invitation]bool{},
	}
	w.Shape(g.shape)
	api := http.NewServeMux()
	g.routes(api)
	root := http.NewServeMux()
	root.HandleFunc("POST /login/oauth/access_token", g.accessToken)
	root.Handle("/api/v3/", http.StripPrefix("/api/v3", g.observed(api)))
	g.Fake = NewFake(t, w, root)
	return g
}

// shape makes tokens look like GitHub's: those of installations are long.
func (g *GitHub) shape(t Token) string {
	switch t.Kind {
	case FineGrained:
		return "github_pat_" + t.Random[:22] + "_" + t.Random
	case OAuth:
		if t.App != "" && t.App == g.App.ClientID {
			return "ghu_" + t.Random
		}
		return "gho_" + t.Random
	case Installation, CI:
		return "ghs_1234_eyJhbGciOiJSUzI1NiJ9." + strings.Repeat(t.Random, 8) + "." + strings.Repeat("A", 342)
	}
	return "ghp_" + t.Random
}

func (g *GitHub) observed(api http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if g.Observe == nil {
			api.ServeHTTP(rw, r)
			return
		}
		answer := httptest.NewRecorder()
		api.ServeHTTP(answer, r)
		g.Observe(r, answer)
		for name, values := range answer.Header() {
			rw.Header()[name] = values
		}
		rw.WriteHeader(answer.Code)
		_, _ = rw.Write(answer.Body.Bytes()) // a client that left is no concern of ours
	})
}

func (g *GitHub) routes(api *http.ServeMux) {
	at := func(pattern string, answer func(*githubCall)) { api.HandleFunc(pattern, g.call(answer)) }
	at("/", func(c *githubCall) { c.fail(http.StatusNotFound, "Not Found") })
	at("GET /{$}", g.root)
	at("GET /user", g.currentUser)
	at("GET /user/{id}", g.userByID)
	at("GET /users/{login}", g.userByLogin)
	at("GET /user/repos", g.ownRepos)
	at("GET /user/orgs", g.ownOrgs)
	at("GET /user/memberships/orgs", g.ownMemberships)
	at("GET /user/memberships/orgs/{org}", g.ownMembership)
	for _, repo := range []string{"/repos/{owner}/{repo}", "/repositories/{id}"} {
		at("GET "+repo, g.repo)
		at("GET "+repo+"/collaborators", g.collaborators)
		at("GET "+repo+"/collaborators/{login}", g.isCollaborator)
		at("GET "+repo+"/collaborators/{login}/permission", g.permission)
		at("GET "+repo+"/installation", g.repoInstallation)
	}
	for _, org := range []string{"/orgs/{org}", "/organizations/{id}"} {
		at("GET "+org, g.org)
		at("GET "+org+"/members", g.members)
		at("GET "+org+"/memberships/{login}", g.membership)
	}
	at("GET /orgs/{login}/installation", g.accountInstallation)
	at("GET /users/{login}/installation", g.accountInstallation)
	at("GET /app", g.theApp)
	at("GET /app/installations", g.installations)
	at("POST /app/installations/{id}/access_tokens", g.newInstallationToken)
	at("POST /applications/{client}/token", g.checkToken)
	at("DELETE /applications/{client}/token", g.deleteToken)
}

// githubCall is one request and who made it.
type githubCall struct {
	g    *GitHub
	rw   http.ResponseWriter
	r    *http.Request
	user int64   // 0 for strangers, installations and the App itself
	key  Token   // zero for strangers and the App itself
	app  *appKey // of an installation
	jwt  bool    // the App itself
}

// call identifies who asks, and refuses as GitHub does.
func (g *GitHub) call(answer func(*githubCall)) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		c := &githubCall{g: g, rw: rw, r: r}
		reset := strconv.FormatInt(g.World.Now().Add(time.Hour).Unix(), 10)
		for name, value := range map[string]string{
			"X-GitHub-Media-Type": "github.v3; format=json", "X-RateLimit-Limit": "5000",
			"X-RateLimit-Remaining": "4999", "X-RateLimit-Used": "1", "X-RateLimit-Reset": reset,
		} {
			rw.Header().Set(name, value)
		}
		switch version := r.Header.Get("X-GitHub-Api-Version"); {
		case r.Header.Get("User-Agent") == "":
			c.fail(http.StatusForbidden, "Request forbidden by administrative rules. Please make sure your request has a User-Agent header.")
		case version != "" && version != "2022-11-28" && version != "2026-03-10":
			c.fail(http.StatusBadRequest, fmt.Sprintf("%q is not a supported version", version))
		case c.identify():
			answer(c)
		}
	}
}

// identify fills in who asks, or answers that nobody may ask so.
func (c *githubCall) identify() bool {
	auth := c.r.Header.Get("Authorization")
	scheme, text, _ := strings.Cut(auth, " ")
	if auth == "" || strings.EqualFold(scheme, "basic") {
		return true
	}
	if strings.Count(text, ".") == 2 && strings.HasPrefix(text, "eyJ") {
		c.jwt = c.g.verifyJWT(text) == nil
	} else {
		c.key, _ = c.g.World.Live(text)
	}
	switch {
	case c.jwt:
		return true
	case c.key.Text == "":
		c.fail(http.StatusUnauthorized, "Bad credentials")
		return false
	case c.key.Kind == Installation || c.key.Kind == CI:
		return c.identifyApp()
	}
	if c.key.Kind != FineGrained {
		c.rw.Header().Set("X-OAuth-Scopes", strings.Join(c.key.Scopes, ", "))
	}
	u, _ := c.g.World.User(c.key.User)
	if u.Blocked {
		c.fail(http.StatusForbidden, "Sorry. Your account was suspended.")
		return false
	}
	c.user = u.ID
	return true
}

func (c *githubCall) json(status int, body any) { standin.Answer(c.rw, status, body) }

func (c *githubCall) fail(status int, message string) {
	c.json(status, map[string]any{
		"message": message, "documentation_url": "https://docs.github.com/rest", "status": strconv.Itoa(status),
	})
}

func (c *githubCall) notFound() { c.fail(http.StatusNotFound, "Not Found") }

// notForApps is what tokens of installations, and of an App's users, hear where
// the App was not let in.
func (c *githubCall) notForApps() {
	c.fail(http.StatusForbidden, "Resource not accessible by integration")
}

// notPermitted is what a fine-grained token hears that lacks a permission.
func (c *githubCall) notPermitted(permission string) {
	c.rw.Header().Set("X-Accepted-GitHub-Permissions", permission)
	c.fail(http.StatusForbidden, "Resource not accessible by personal access token")
}

// scoped reports whether a classic or an OAuth App's token has one of these
// scopes; other tokens have none, and need none.
func (c *githubCall) scoped(scopes ...string) bool {
	return c.key.Kind == FineGrained || c.ofApp() || c.key.Has(scopes...)
}

// ofApp reports whether the token is of a GitHub App's user.
func (c *githubCall) ofApp() bool {
	return c.key.Kind == OAuth && c.key.App != "" && c.key.App == c.g.App.ClientID
}

// blockedBySSO answers 403 where an organization wants its own sign-in, and the
// token was not let in.
func (c *githubCall) blockedBySSO(org int64) bool {
	if !c.lacksSSO(org) {
		return false
	}
	o, _ := c.g.World.Org(org)
	c.rw.Header().Set("X-GitHub-SSO", "required; url="+c.g.URL+"/orgs/"+o.Login+"/sso?authorization_request=abc")
	c.fail(http.StatusForbidden, "Resource protected by organization SAML enforcement. You must grant your token access to this organization.")
	return true
}

func (c *githubCall) lacksSSO(org int64) bool {
	c.g.state.Lock()
	defer c.g.state.Unlock()
	return c.user != 0 && c.g.sso[org] && !c.g.authorized[ssoKey{org, c.key.Text}]
}

// RequireSSO lets only tokens into an organization that were authorized for it.
func (g *GitHub) RequireSSO(org int64) {
	g.state.Lock()
	defer g.state.Unlock()
	g.sso[org] = true
}

// AuthorizeSSO authorizes a token for an organization.
func (g *GitHub) AuthorizeSSO(org int64, token string) {
	g.state.Lock()
	defer g.state.Unlock()
	g.authorized[ssoKey{org, token}] = true
}

// Invite makes a user a member of an organization who has not accepted yet.
func (g *GitHub) Invite(org, user int64) {
	g.state.Lock()
	defer g.state.Unlock()
	g.invited[invitation{org, user}] = true
}

func (c *githubCall) pathID(name string) int64 {
	n, _ := strconv.ParseInt(c.r.PathValue(name), 10, 64) // no number is no id
	return n
}

// githubPages answers with one page, and says in the Link header where the
// others are: at an address by id, as GitHub does.
func githubPages[T any](c *githubCall, at string, all []T, show func(T) any) {
	q := c.r.URL.Query()
	asked, _ := strconv.Atoi(q.Get("per_page")) // nonsense is the default
	n, _ := strconv.Atoi(q.Get("page"))
	page, last := standin.Page(all, n, c.g.PageSize(asked, 30, 100))
	var links []string
	link := func(rel string, to int) {
		q := cloned(q)
		q.Set("page", strconv.Itoa(to))
		links = append(links, fmt.Sprintf(`<%s/api/v3%s?%s>; rel="%s"`, c.g.URL, at, q.Encode(), rel))
	}
	n = max(n, 1)
	if n > 1 {
		link("prev", n-1)
	}
	if n < last {
		link("next", n+1)
		link("last", last)
	}
	if n > 1 {
		link("first", 1)
	}
	if len(links) > 0 {
		c.rw.Header().Set("Link", strings.Join(links, ", "))
	}
	body := make([]any, len(page))
	for i, item := range page {
		body[i] = show(item)
	}
	c.json(http.StatusOK, body)
}

func cloned(q url.Values) url.Values {
	copied := url.Values{}
	for name, values := range q {
		copied[name] = slices.Clone(values)
	}
	return copied
}

// Exhausted is GitHub's answer when the rate limit is used up until a time.
func Exhausted(until time.Time) standin.Fault {
	return func(_ *standin.Fake, rw http.ResponseWriter, _ *http.Request, _ http.Handler) {
		rw.Header().Set("X-RateLimit-Limit", "5000")
		rw.Header().Set("X-RateLimit-Remaining", "0")
		rw.Header().Set("X-RateLimit-Reset", strconv.FormatInt(until.Unix(), 10))
		standin.Answer(rw, http.StatusForbidden, map[string]any{"message": "API rate limit exceeded for user ID 1.", "documentation_url": "https://docs.github.com/rest"})
	}
}

// Secondary is GitHub's answer to too many requests at a time, with a
// Retry-After unless that is "".
func Secondary(retryAfter string) standin.Fault {
	return func(_ *standin.Fake, rw http.ResponseWriter, _ *http.Request, _ http.Handler) {
		if retryAfter != "" {
			rw.Header().Set("Retry-After", retryAfter)
		}
		rw.Header().Set("X-RateLimit-Remaining", "4711")
		standin.Answer(rw, http.StatusForbidden, map[string]any{
			"message": "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.", "documentation_url": "https://docs.github.com/rest",
		})
	}
}
