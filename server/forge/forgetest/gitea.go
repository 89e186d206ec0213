package forgetest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"coffer/server/standin"
)

// Gitea is a fake Gitea, or a fake Forgejo. It answers below its address, and
// below the sub-path /git of it.
type Gitea struct {
	*Fake

	forgejo bool
	mux     *http.ServeMux

	mu      sync.Mutex
	browser int64 // the user who is signed in there
	pages   bool  // people sign in and agree by themselves
}

// NewGitea listens as a Gitea.
func NewGitea(t testing.TB, w *World) *Gitea { return newGitea(t, w, false) }

// NewForgejo listens as a Forgejo.
func NewForgejo(t testing.TB, w *World) *Gitea { return newGitea(t, w, true) }

func newGitea(t testing.TB, w *World, forgejo bool) *Gitea {
	g := &Gitea{forgejo: forgejo, mux: http.NewServeMux()}
	w.Shape(giteaShape)
	w.SetOAuth(OAuthRules{AccessLife: time.Hour, RefreshLife: 730 * time.Hour, SingleUse: forgejo, Frozen: true})
	g.routes()
	g.Fake = NewFake(t, w, http.HandlerFunc(g.serve))
	return g
}

// GiteaScopes are the scopes that suffice for reading everything.
func GiteaScopes() []string { return []string{"read:user", "read:repository", "read:organization"} }

// giteaShape is 40 digits without any prefix, but a JWT for an application.
func giteaShape(t Token) string {
	if t.Kind != OAuth {
		return t.Random
	}
	part := func(v any) string {
		text, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		return base64.RawURLEncoding.EncodeToString(text)
	}
	head := part(map[string]string{"alg": "RS256", "typ": "JWT"})
	claims := part(map[string]any{"gnt": 1, "tt": 0, "exp": t.Expires.Unix(), "iat": t.Made.Unix()})
	return head + "." + claims + "." + base64.RawURLEncoding.EncodeToString([]byte(t.Random))
}

// ghost is the account that CI jobs act as.
const ghost = -2

// giteaDoer is who asks, as the host sees it: after Sudo, whom the administrator
// asks for.
type giteaDoer struct {
	id     int64 // 0 is a stranger
	login  string
	admin  bool
	org    bool // Sudo takes an organization's name as well
	token  Token
	scoped bool
}

// giteaAsk is one question.
type giteaAsk struct {
	*http.Request
	rw   http.ResponseWriter
	doer giteaDoer
	base string // of the address: "" or "/git"
}

func (g *Gitea) serve(rw http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/git/") {
		http.StripPrefix("/git", g.mux).ServeHTTP(rw, r)
		return
	}
	g.mux.ServeHTTP(rw, r)
}

// api is a route of the API. Scopes "user" means that a token needs read:user;
// those after a semicolon are asked for on their own.
func (g *Gitea) api(path string, open bool, scopes string, handle func(a *giteaAsk)) {
	g.mux.HandleFunc("GET /api/v1"+path, func(rw http.ResponseWriter, r *http.Request) {
		a := &giteaAsk{Request: r, rw: rw, base: giteaBase(r)}
		if !g.authenticate(a) || !g.sudo(a) {
			return
		}
		for group := range strings.SplitSeq(scopes, ";") {
			if !a.scoped(group) {
				return
			}
		}
		if open || a.signed() {
			handle(a)
		}
	})
}

// signed refuses strangers.
func (a *giteaAsk) signed() bool {
	if a.doer.id == 0 {
		a.fail(http.StatusUnauthorized, "token is required")
	}
	return a.doer.id != 0
}

// giteaBase is what http.StripPrefix took away.
func giteaBase(r *http.Request) string {
	if strings.HasPrefix(r.RequestURI, "/git/") {
		return "/git"
	}
	return ""
}

func (g *Gitea) authenticate(a *giteaAsk) bool {
	text := a.Header.Get("Authorization")
	for _, word := range []string{"token ", "Bearer ", "bearer "} {
		text = strings.TrimPrefix(text, word)
	}
	if in := a.URL.Query().Get("token"); in != "" && !g.forgejo {
		text = in
	}
	if text == "" {
		return true
	}
	token, live := g.World.Live(text)
	user, known := g.World.User(token.User)
	switch {
	case live && token.Kind == CI:
		a.doer = giteaDoer{id: ghost, login: "gitea-actions"}
		return true
	case !live || !known || token.Kind != PAT && token.Kind != OAuth:
		a.fail(http.StatusUnauthorized, "invalid username, password or token")
		return false
	case user.Blocked:
		a.fail(http.StatusForbidden, "This account is prohibited from signing in, please contact your site administrator.")
		return false
	}
	a.doer = giteaDoer{id: user.ID, login: user.Login, admin: user.SiteAdmin, token: token, scoped: true}
	return true
}

// sudo lets administrators ask for others: for the blocked as well, by names of
// today only, and an empty name is nobody.
func (g *Gitea) sudo(a *giteaAsk) bool {
	login := a.Header.Get("Sudo")
	if login == "" {
		return true
	}
	if !a.doer.admin {
		standin.Answer(a.rw, http.StatusForbidden, map[string]any{"message": "Only administrators allowed to sudo."})
		return false
	}
	user, moved, known := g.World.UserNamed(login)
	if known && !moved {
		a.doer.id, a.doer.login, a.doer.admin = user.ID, user.Login, user.SiteAdmin
		return true
	}
	org, moved, known := g.World.OrgNamed(login)
	if known && !moved {
		a.doer.id, a.doer.login, a.doer.admin, a.doer.org = org.ID, org.Login, false, true
		return true
	}
	a.notFound()
	return false
}

// scoped refuses a token that lacks a scope. One of an application that asked for
// none has all of them.
func (a *giteaAsk) scoped(needs string) bool {
	has := a.doer.token.Scopes
	all := !a.doer.scoped || slices.Contains(has, "all") || a.doer.token.Kind == OAuth && len(giteaAccess(has)) == 0
	var required []string
	short := false
	for _, need := range strings.Fields(needs) {
		required = append(required, "read:"+need)
		short = short || !all && !a.doer.token.Has("read:"+need, "write:"+need)
	}
	if short {
		a.fail(http.StatusForbidden, fmt.Sprintf("token does not have at least one of required scope(s), required=%v, token scope=%s", required, strings.Join(has, ",")))
	}
	return !short
}

// giteaAccess drops the scopes that are about sign-in alone.
func giteaAccess(scopes []string) []string {
	return slices.DeleteFunc(slices.Clone(scopes), func(s string) bool {
		return s == "" || s == "openid" || s == "profile" || s == "email" || s == "groups"
	})
}

// publicOnly refuses what is not public to a token for public things only.
func (a *giteaAsk) publicOnly(public bool, what string) bool {
	if public || !a.doer.token.Has("public-only") {
		return true
	}
	a.fail(http.StatusForbidden, "token scope is limited to public "+what)
	return false
}

func (a *giteaAsk) fail(status int, message string) {
	standin.Answer(a.rw, status, map[string]any{"message": message, "url": "http://" + a.Host + a.base + "/api/swagger"})
}

func (a *giteaAsk) notFound() {
	standin.Answer(a.rw, http.StatusNotFound, map[string]any{"errors": nil, "message": "not found", "url": "http://" + a.Host + a.base + "/api/swagger"})
}

// moved redirects from a name of old to one of today.
func (a *giteaAsk) moved(status int, from, to string) {
	at := strings.Replace(a.URL.EscapedPath(), from, to, 1)
	if a.URL.RawQuery != "" {
		at += "?" + a.URL.RawQuery
	}
	http.Redirect(a.rw, a.Request, a.base+at, status)
}

// giteaPages answers with one page. Some lists have no Link header.
func giteaPages[T any](g *Gitea, a *giteaAsk, all []T, link bool, show func(T) any) {
	query := a.URL.Query()
	number, _ := strconv.Atoi(query.Get("page"))
	limit, _ := strconv.Atoi(query.Get("limit"))
	page, last := standin.Page(all, number, g.PageSize(limit, 30, 50))
	shown := []any{}
	for _, item := range page {
		if v := show(item); v != nil {
			shown = append(shown, v)
		}
	}
	if number = max(number, 1); link && number < last {
		query.Set("page", strconv.Itoa(number+1))
		a.rw.Header().Set("Link", fmt.Sprintf("<http://%s%s?%s>; rel=\"next\"", a.Host, a.base+a.URL.Path, query.Encode()))
	}
	a.rw.Header().Set("X-Total-Count", strconv.Itoa(len(all)))
	standin.Answer(a.rw, http.StatusOK, shown)
}

func (g *Gitea) routes() {
	g.api("/version", true, "", g.version)
	g.api("/settings/api", true, "", g.settings)
	g.api("/user", false, "user", g.user)
	g.api("/user/repos", false, "user;repository", g.userRepos)
	g.api("/user/orgs", false, "user organization", g.userOrgs)
	g.api("/users/search", true, "user", g.search)
	g.api("/users/{login}/orgs/{org}/permissions", true, "user organization", g.orgPermissions)
	g.api("/repositories/{id}", false, "repository", g.repoByID)
	g.api("/repos/{owner}/{repo}", true, "repository", g.inRepo(g.repoByName))
	g.api("/repos/{owner}/{repo}/teams", true, "repository", g.inRepo(signedIn(g.repoTeams)))
	g.api("/repos/{owner}/{repo}/collaborators", true, "repository", g.inRepo(signedIn(g.collaborators)))
	g.api("/repos/{owner}/{repo}/collaborators/{login}", true, "repository", g.inRepo(signedIn(g.isCollaborator)))
	g.api("/repos/{owner}/{repo}/collaborators/{login}/permission", true, "repository", g.inRepo(signedIn(g.permission)))
	g.api("/orgs/{org}", true, "organization", g.inOrg(g.org))
	g.api("/orgs/{org}/repos", true, "organization", g.inOrg(g.orgRepos))
	g.api("/orgs/{org}/members", false, "organization", g.inOrg(g.orgMembers))
	g.api("/orgs/{org}/members/{login}", false, "organization", g.inOrg(g.isMember))
	g.api("/orgs/{org}/public_members/{login}", true, "organization", g.inOrg(g.isPublicMember))
	g.api("/orgs/{org}/teams", false, "organization", g.inOrg(g.orgTeams))
	g.api("/teams/{id}/members", false, "organization", g.teamMembers)
	g.api("/admin/orgs", false, "admin", g.adminOrgs)
	g.mux.HandleFunc("GET /user/login", g.signInPage)
	g.mux.HandleFunc("POST /user/login", g.signInThere)
	g.mux.HandleFunc("GET /login/oauth/authorize", g.authorize)
	g.mux.HandleFunc("POST /login/oauth/grant", g.consent)
	g.mux.HandleFunc("POST /login/oauth/access_token", g.accessToken)
	g.mux.HandleFunc("POST /login/oauth/introspect", g.introspect)
}

func (g *Gitea) version(a *giteaAsk) {
	version := "1.26.0"
	if g.forgejo {
		version = "12.0.1+gitea-1.22.0"
	}
	standin.Answer(a.rw, http.StatusOK, map[string]string{"version": version})
}

func (g *Gitea) settings(a *giteaAsk) {
	standin.Answer(a.rw, http.StatusOK, map[string]int{"max_response_items": g.PageSize(50, 30, 50), "default_paging_num": 30})
}

// Forgejo reports whether this is a Forgejo.
func (g *Gitea) Forgejo() bool { return g.forgejo }
