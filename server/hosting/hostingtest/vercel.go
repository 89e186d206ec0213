package hostingtest

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
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

// Vercel stands in for vercel.com. It keeps records as Vercel does, for several
// targets, branches and custom environments, and refuses what it does not know.
type Vercel struct {
	*standin.Fake

	// Observe is shown every request with its answer, unless it is nil.
	Observe func(*http.Request, string, *httptest.ResponseRecorder)

	mu       sync.Mutex
	now      func() time.Time
	ids      int
	ticks    int64 // of updatedAt
	users    []*vercelUser
	teams    []*vercelTeam
	projects []*vercelProject
	tokens   map[string]*VercelToken
	app      VercelApp
	codes    map[string]*vercelCode
	form     VercelForm
}

type vercelUser struct {
	id, name string
	created  int64
}

type vercelTeam struct {
	id, slug, name string
	members        []string // ids of users
	created        int64
	sensitive      bool // its policy makes records sensitive
}

type vercelProject struct {
	id, name, owner string // owner is the id of a team or user
	created         int64
	link            map[string]any
	custom          []vercelCustom
	records         []*VercelRecord
	bare            bool // it leaves out its environments
}

type vercelCustom struct{ id, slug string }

// VercelToken says what a token may do.
type VercelToken struct {
	User        string // id
	Team        string // id of the one team that it is limited to, or ""
	Integration bool   // of an installation: lists tell it no values
	StepUp      bool   // its user is to confirm who they are before reading values
	Blind       bool   // its user may not see what production has
	Expires     time.Time
}

// VercelForm is one of the forms that lists of variables have.
type VercelForm int

// Forms of lists.
const (
	VercelPages VercelForm = iota // with pagination
	VercelWhole                   // with a count of what is hidden
	VercelBare                    // a record that is alone stands bare
)

// NewVercel listens until the test ends.
func NewVercel(t testing.TB, now func() time.Time) *Vercel {
	v := &Vercel{now: now, tokens: map[string]*VercelToken{}, codes: map[string]*vercelCode{}}
	v.Fake = standin.New(t, v.secrets, v.routes())
	return v
}

func (v *Vercel) secrets() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	var all []string
	for token := range v.tokens {
		all = append(all, token)
	}
	if v.app.Secret != "" {
		all = append(all, v.app.Secret)
	}
	return all
}

// id makes an id of Vercel's form.
func (v *Vercel) id(prefix string) string {
	v.ids++
	return fmt.Sprintf("%s%012d", prefix, v.ids)
}

func (v *Vercel) tick() int64 {
	v.ticks++
	return v.now().UnixMilli() + v.ticks
}

// AddUser adds a user with a personal account.
func (v *Vercel) AddUser(name string) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	u := &vercelUser{v.id("user_"), name, v.tick()}
	v.users = append(v.users, u)
	return u.id
}

// AddTeam adds a team.
func (v *Vercel) AddTeam(name string, members ...string) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	team := &vercelTeam{id: v.id("team_"), slug: strings.ToLower(name), name: name, members: members, created: v.tick()}
	v.teams = append(v.teams, team)
	return team.id
}

// MakeSensitive gives a team the policy that what is written is sensitive.
func (v *Vercel) MakeSensitive(team string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.team(team).sensitive = true
}

// AddProject adds a project of a team's or a user's.
func (v *Vercel) AddProject(owner, name string) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	p := &vercelProject{id: v.id("prj_"), name: name, owner: owner, created: v.tick()}
	v.projects = append(v.projects, p)
	return p.id
}

// AddEnvironment adds an environment of a project's own making.
func (v *Vercel) AddEnvironment(project, slug string) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	p := v.project(project)
	c := vercelCustom{v.id("env_"), slug}
	p.custom = append(p.custom, c)
	return c.id
}

// Link says what a project is built from, in Vercel's words.
func (v *Vercel) Link(project string, link map[string]any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.project(project).link = link
}

// Terse has answers about a project leave out its environments.
func (v *Vercel) Terse(project string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.project(project).bare = true
}

// RemoveProject deletes a project.
func (v *Vercel) RemoveProject(project string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.projects = slices.DeleteFunc(v.projects, func(p *vercelProject) bool { return p.id == project })
}

// Token makes a token.
func (v *Vercel) Token(k VercelToken) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.token(k)
}

func (v *Vercel) token(k VercelToken) string {
	token := v.id("vercel-token-")
	v.tokens[token] = &k
	return token
}

// Revoke ends a token.
func (v *Vercel) Revoke(token string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.tokens[token].Expires = v.now().Add(-time.Second)
}

// SetForm sets the form of lists of variables.
func (v *Vercel) SetForm(form VercelForm) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.form = form
}

func (v *Vercel) team(id string) *vercelTeam {
	i := slices.IndexFunc(v.teams, func(t *vercelTeam) bool { return t.id == id || t.slug == id })
	if i < 0 {
		return nil
	}
	return v.teams[i]
}

func (v *Vercel) user(id string) *vercelUser {
	i := slices.IndexFunc(v.users, func(u *vercelUser) bool { return u.id == id })
	return v.users[i]
}

func (v *Vercel) project(id string) *vercelProject {
	i := slices.IndexFunc(v.projects, func(p *vercelProject) bool { return p.id == id })
	if i < 0 {
		return nil
	}
	return v.projects[i]
}

// asked is a request with who asks.
type vercelAsked struct {
	*http.Request
	token *VercelToken
	owner string // whose things it is about: a team or a user
}

// vercelRefusal is an answer that is no success.
type vercelRefusal struct {
	status int
	fields map[string]any // of error
}

func refuse(status int, code, message string) *vercelRefusal {
	return &vercelRefusal{status, map[string]any{"code": code, "message": message}}
}

func (x *vercelRefusal) with(name string, value any) *vercelRefusal {
	x.fields[name] = value
	return x
}

var errVercelPath = refuse(http.StatusNotFound, "not_found", "The requested resource does not exist.")

type vercelHandler func(*vercelAsked) (int, any, *vercelRefusal)

func (v *Vercel) routes() http.Handler {
	mux := http.NewServeMux()
	for _, route := range []struct {
		pattern string
		query   []string // that it knows, beside the scope
		handler vercelHandler
	}{
		{"GET /v2/user", nil, v.getUser},
		{"GET /v2/teams", []string{"limit", "since", "until"}, v.getTeams},
		{"GET /v2/teams/{team}", nil, v.getTeam},
		{"GET /v10/projects", []string{"limit", "from", "search", "repoUrl"}, v.scoped(v.getProjects)},
		{"GET /v9/projects/{project}", nil, v.scoped(v.getProject)},
		{"GET /v9/projects/{project}/custom-environments", []string{"gitBranch"}, v.scoped(v.getEnvironments)},
		{"GET /v10/projects/{project}/env", []string{"decrypt", "gitBranch", "source", "until", "limit"}, v.scoped(v.getRecords)},
		{"GET /v1/projects/{project}/env/{id}", nil, v.scoped(v.getRecord)},
		{"POST /v10/projects/{project}/env", []string{"upsert"}, v.scoped(v.postRecords)},
		{"PATCH /v9/projects/{project}/env/{id}", nil, v.scoped(v.patchRecord)},
		{"DELETE /v9/projects/{project}/env/{id}", nil, v.scoped(v.deleteRecord)},
		{"DELETE /v1/projects/{project}/env", nil, v.scoped(v.deleteRecords)},
	} {
		known := append([]string{"teamId", "slug"}, route.query...)
		mux.HandleFunc(route.pattern, func(rw http.ResponseWriter, r *http.Request) {
			v.serve(rw, r, route.pattern, v.signed(known, route.handler))
		})
	}
	mux.HandleFunc("POST /v2/oauth/access_token", func(rw http.ResponseWriter, r *http.Request) {
		v.serve(rw, r, "POST /v2/oauth/access_token", v.redeem)
	})
	mux.HandleFunc("/", func(rw http.ResponseWriter, r *http.Request) {
		v.serve(rw, r, "", func(*vercelAsked) (int, any, *vercelRefusal) { return 0, nil, errVercelPath })
	})
	return mux
}

// serve answers with what a handler says.
func (v *Vercel) serve(rw http.ResponseWriter, r *http.Request, pattern string, h vercelHandler) {
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client left
	}
	r.Body = io.NopCloser(bytes.NewReader(text))
	v.mu.Lock()
	status, body, refusal := h(&vercelAsked{Request: r})
	v.mu.Unlock()
	if refusal != nil {
		status, body = refusal.status, map[string]any{"error": refusal.fields}
	}
	rec := httptest.NewRecorder()
	standin.Answer(rec, status, body)
	if v.Observe != nil {
		r.Body = io.NopCloser(bytes.NewReader(text))
		v.Observe(r, pattern, rec)
	}
	rw.Header().Set("Content-Type", rec.Header().Get("Content-Type"))
	rw.Header().Set("X-Vercel-Id", "fra1::stand-in")
	rw.WriteHeader(status)
	_, _ = rw.Write(rec.Body.Bytes()) // a client that left is no concern of ours
}

// signed wants a token that is good, and no parameter that is not known.
func (v *Vercel) signed(known []string, h vercelHandler) vercelHandler {
	return func(r *vercelAsked) (int, any, *vercelRefusal) {
		text, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if !ok {
			return 0, nil, refuse(http.StatusForbidden, "forbidden", "The request is missing an authentication token").with("missingToken", true)
		}
		r.token = v.tokens[text]
		if r.token == nil || !r.token.Expires.IsZero() && !v.now().Before(r.token.Expires) {
			return 0, nil, refuse(http.StatusForbidden, "forbidden", "Not authorized").with("invalidToken", true)
		}
		for name := range r.URL.Query() {
			if !slices.Contains(known, name) {
				return 0, nil, refuse(http.StatusBadRequest, "bad_request", "Invalid request: unknown parameter "+name)
			}
		}
		return h(r)
	}
}

// scoped works out whose things a request is about.
func (v *Vercel) scoped(h vercelHandler) vercelHandler {
	return func(r *vercelAsked) (int, any, *vercelRefusal) {
		q := r.URL.Query()
		named := cmp.Or(q.Get("teamId"), q.Get("slug"))
		r.owner = r.token.User
		if named != "" {
			team := v.team(named)
			if team == nil || !slices.Contains(team.members, r.token.User) {
				return 0, nil, refuse(http.StatusForbidden, "forbidden", "Not authorized: Trying to access resource under scope")
			}
			r.owner = team.id
		}
		if r.token.Team != "" && r.token.Team != r.owner {
			return 0, nil, refuse(http.StatusForbidden, "forbidden", "Not authorized: the token is limited to another scope")
		}
		return h(r)
	}
}

// pageOf cuts a page out of a list, from the item that the last page named.
func pageOf[T any](v *Vercel, q url.Values, on string, all []T, usual int) ([]T, map[string]any) {
	from, _ := strconv.Atoi(q.Get(on))
	from = min(max(from, 0), len(all))
	asked, _ := strconv.Atoi(q.Get("limit"))
	size := v.PageSize(asked, usual, 100)
	page := all[from:min(from+size, len(all))]
	about := map[string]any{"count": len(page), "next": nil, "prev": nil}
	if from+size < len(all) {
		about["next"] = from + size
	}
	return page, about
}
