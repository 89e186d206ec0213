package forgetest

import (
	"cmp"
	"coffer/server/standin"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"coffer/server/forge"
)

// GitLab stands in for a GitLab. An organization of the World is a group on top,
// its members are guests unless it has a base role, and a team is a group that
// its projects are shared with. What the World has no words for is set here:
// subgroups, other levels, and memberships that end or wait.
type GitLab struct {
	*Fake

	mu      sync.Mutex
	prefix  string // of the whole instance, before that of a kind of tokens
	groups  map[int64]subgroup
	places  map[int64]int64 // subgroups of projects that are not in the group on top
	special map[memberOf]Membership
	bots    map[string]User // by token
}

type subgroup struct {
	ID, Parent int64
	Name       string
}

type memberOf struct{ of, user int64 }

// Membership is a user's in a group or a project.
type Membership struct {
	Level   int       // GitLab's number
	Expires time.Time // a day; zero is never
	Waiting bool      // for approval
}

// Levels of GitLab that no role of the World stands for.
const (
	MinimalAccess   = 5
	Guest           = 10
	Planner         = 15
	Reporter        = 20
	SecurityManager = 25
)

// NewGitLab listens until the test ends.
func NewGitLab(t testing.TB, w *World) *GitLab {
	g := &GitLab{
		groups: map[int64]subgroup{}, places: map[int64]int64{},
		special: map[memberOf]Membership{}, bots: map[string]User{},
	}
	w.Shape(g.shape)
	w.SetOAuth(OAuthRules{AccessLife: 2 * time.Hour, SingleUse: true})
	mux := http.NewServeMux()
	for at, answer := range map[string]func(http.ResponseWriter, *http.Request, session){
		"GET /api/v4/user":                             g.user,
		"GET /api/v4/version":                          g.version,
		"GET /api/v4/application/statistics":           g.statistics,
		"GET /api/v4/projects":                         g.listProjects,
		"/api/v4/projects/{id}":                        g.project,
		"GET /api/v4/projects/{id}/members/all":        g.projectMembers,
		"GET /api/v4/projects/{id}/members/all/{user}": g.projectMember,
		"GET /api/v4/groups":                           g.listGroups,
		"GET /api/v4/groups/{id}":                      g.group,
		"GET /api/v4/groups/{id}/members/all":          g.groupMembers,
		"GET /api/v4/groups/{id}/members/all/{user}":   g.groupMember,
	} {
		mux.HandleFunc(at, func(rw http.ResponseWriter, r *http.Request) { g.enter(rw, r, answer) })
	}
	mux.HandleFunc("GET /api/v4/personal_access_tokens/self", g.pat)
	mux.HandleFunc("POST /oauth/token", g.token)
	mux.HandleFunc("POST /oauth/revoke", g.revoke)
	mux.HandleFunc("GET /oauth/token/info", g.tokenInfo)
	mux.HandleFunc("/", func(rw http.ResponseWriter, _ *http.Request) {
		standin.Answer(rw, http.StatusNotFound, map[string]any{"error": "404 Not Found"})
	})
	g.Fake = NewFake(t, w, mux)
	return g
}

// SetTokenPrefix has every token made from now on begin with something of the
// operator's own: "acme-".
func (g *GitLab) SetTokenPrefix(prefix string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.prefix = prefix
}

func (g *GitLab) shape(t Token) string {
	if t.Kind == OAuth {
		sum := sha256.Sum256([]byte(t.Random))
		return hex.EncodeToString(sum[:])
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	begins := map[Kind]string{CI: "glcbt-", Deploy: "gldt-", Runner: "glrt-"}
	return g.prefix + cmp.Or(begins[t.Kind], "glpat-") + t.Random
}

// AddSubgroup makes a group in a group, and returns its id.
func (g *GitLab) AddSubgroup(parent int64, name string) int64 {
	g.World.mu.Lock()
	id := g.World.next()
	g.World.mu.Unlock()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.groups[id] = subgroup{id, parent, name}
	return id
}

// Place moves a project of an organization into one of its subgroups.
func (g *GitLab) Place(repo, group int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.places[repo] = group
}

// SetMembership makes a user a member of a group, a subgroup or a project, beside
// what they are by the World.
func (g *GitLab) SetMembership(of, user int64, m Membership) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.special[memberOf{of, user}] = m
}

// GroupToken makes a group access token with the role Reporter: its user is a bot
// that is a member of the group.
func (g *GitLab) GroupToken(group int64, scopes ...string) string {
	bot := g.World.AddUser(fmt.Sprintf("group_%d_bot_%s", group, random()[:12]))
	g.World.SetBot(bot)
	g.SetMembership(group, bot, Membership{Level: Reporter})
	return g.World.Token(bot, Bot, scopes...)
}

// session is who asks, with what.
type session struct {
	token Token
	user  User
}

// enter lets a request in whose token may read the API.
func (g *GitLab) enter(rw http.ResponseWriter, r *http.Request, answer func(http.ResponseWriter, *http.Request, session)) {
	s, ok := g.session(rw, r)
	if !ok {
		return
	}
	scopes := []string{"api", "read_api"}
	if r.URL.Path == "/api/v4/user" || r.URL.Path == "/api/v4/version" {
		scopes = append(scopes, "read_user")
	}
	if !s.token.Has(scopes...) {
		standin.Answer(rw, http.StatusForbidden, map[string]any{
			"error": "insufficient_scope", "error_description": "The request requires higher privileges than provided by the access token.",
			"scope": strings.Join(scopes, " "),
		})
		return
	}
	answer(rw, r, s)
}

// session finds who asks, or answers that it is nobody. Tokens of jobs, runners
// and deployments are of no use here.
func (g *GitLab) session(rw http.ResponseWriter, r *http.Request) (session, bool) {
	text := r.Header.Get("PRIVATE-TOKEN")
	if text == "" {
		text = strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	}
	token, ok := g.World.Live(text)
	if !ok || slices.Contains([]Kind{CI, Deploy, Runner}, token.Kind) {
		standin.Answer(rw, http.StatusUnauthorized, map[string]any{"message": "401 Unauthorized"})
		return session{}, false
	}
	s := session{token: token, user: g.account(token)}
	if s.user.ID == 0 {
		standin.Answer(rw, http.StatusUnauthorized, map[string]any{"message": "401 Unauthorized"})
		return session{}, false
	}
	if s.user.Blocked {
		standin.Answer(rw, http.StatusForbidden, map[string]any{"message": "403 Forbidden - Your account has been blocked."})
		return session{}, false
	}
	return s, true
}

// account is whom a token acts for. One of a project has an account of its own.
func (g *GitLab) account(t Token) User {
	u, _ := g.World.User(t.User)
	if t.Kind != Bot || u.Bot {
		return u
	}
	g.mu.Lock()
	bot, known := g.bots[t.Text]
	g.mu.Unlock()
	if known {
		return bot
	}
	g.World.mu.Lock()
	id := g.World.next()
	g.World.mu.Unlock()
	g.mu.Lock()
	defer g.mu.Unlock()
	bot = User{ID: id, Login: "project_1_bot_" + t.Random, Bot: true}
	g.bots[t.Text] = bot
	return bot
}

func (g *GitLab) basic(u User) map[string]any {
	state := "active"
	if u.Blocked {
		state = "blocked"
	}
	return map[string]any{
		"id": u.ID, "username": u.Login, "name": u.Login, "state": state, "locked": false,
		"avatar_url": g.URL + "/uploads/-/system/user/avatar/" + strconv.FormatInt(u.ID, 10) + "/avatar.png", "web_url": g.URL + "/" + u.Login,
	}
}

func (g *GitLab) user(rw http.ResponseWriter, _ *http.Request, s session) {
	about := g.basic(s.user)
	maps.Copy(about, map[string]any{
		"created_at": "2012-05-23T08:00:58.000Z", "bio": "", "bot": s.user.Bot, "email": s.user.Email, "external": false,
		"public_email": nil, "confirmed_at": "2012-05-23T08:00:58.000Z", "two_factor_enabled": true,
	})
	if s.user.SiteAdmin {
		about["is_admin"] = true
	}
	standin.Answer(rw, http.StatusOK, about)
}

func (g *GitLab) version(rw http.ResponseWriter, _ *http.Request, _ session) {
	standin.Answer(rw, http.StatusOK, map[string]any{"version": "18.5.1-ee", "revision": "3f2a1b0c9d8"})
}

func (g *GitLab) statistics(rw http.ResponseWriter, _ *http.Request, s session) {
	if !s.user.SiteAdmin {
		standin.Answer(rw, http.StatusForbidden, map[string]any{"message": "403 Forbidden"})
		return
	}
	standin.Answer(rw, http.StatusOK, map[string]any{"projects": "1,234", "users": "56"})
}

// pat answers about personal access tokens and their like, whatever they may do.
func (g *GitLab) pat(rw http.ResponseWriter, r *http.Request) {
	s, ok := g.session(rw, r)
	if !ok {
		return
	}
	if s.token.Kind == OAuth {
		standin.Answer(rw, http.StatusBadRequest, map[string]any{"message": "400 Bad request - This endpoint requires token type to be a personal access token"})
		return
	}
	standin.Answer(rw, http.StatusOK, map[string]any{
		"id": s.user.ID + 1, "name": "token", "description": nil, "revoked": false, "active": true, "user_id": s.user.ID,
		"created_at": s.token.Made.UTC().Format(gitlabTime), "last_used_at": nil,
		"scopes": s.token.Scopes, "expires_at": day(s.token.Expires),
	})
}

const gitlabTime = "2006-01-02T15:04:05.000Z07:00"

// day is the first one on which something is over: GitLab knows no hours.
func day(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.Add(24*time.Hour - 1).UTC().Format(time.DateOnly)
}

// page answers with a page of a list and says in headers where it goes on.
func page[T any](g *GitLab, rw http.ResponseWriter, r *http.Request, all []T, describe func(T) map[string]any) {
	asked, _ := strconv.Atoi(r.FormValue("per_page"))
	n, _ := strconv.Atoi(r.FormValue("page"))
	n, size := max(n, 1), g.PageSize(asked, 20, 100)
	some, last := standin.Page(all, n, size)
	h := rw.Header()
	next := ""
	if n < last {
		next = strconv.Itoa(n + 1)
		more := r.URL.Query()
		more.Set("page", next)
		h.Set("Link", fmt.Sprintf("<%s%s?%s>; rel=\"next\"", g.URL, r.URL.EscapedPath(), more.Encode()))
	}
	h.Set("X-Next-Page", next)
	h.Set("X-Page", strconv.Itoa(n))
	h.Set("X-Per-Page", strconv.Itoa(size))
	h.Set("X-Total", strconv.Itoa(len(all)))
	h.Set("X-Total-Pages", strconv.Itoa(last))
	described := make([]map[string]any, 0, len(some))
	for _, item := range some {
		described = append(described, describe(item))
	}
	standin.Answer(rw, http.StatusOK, described)
}

func absent(rw http.ResponseWriter, what string) {
	standin.Answer(rw, http.StatusNotFound, map[string]any{"message": strings.TrimSpace("404 " + what + " Not Found")})
}

var gitlabLevels = map[forge.Role]int{
	forge.Read: Reporter, forge.Triage: Reporter, forge.Write: 30, forge.Maintain: 40, forge.Admin: 50,
}
