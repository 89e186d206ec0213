package hostingtest

import (
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"coffer/server/standin"
)

// Railway is a fake Railway: its API, which is GraphQL, and where users authorize
// and tokens are renewed. Its clock goes on only when it is told to, beside the
// real one.
type Railway struct {
	*standin.Fake

	// App is the application that users can authorize.
	App RailwayApp

	// OwnVariables says that Railway's own variables are told even where values
	// are wanted as they were written, and Forgiving that deleting what is not
	// there is no error: what Railway does is not known.
	OwnVariables, Forgiving bool

	mu         sync.Mutex
	ahead      time.Duration // of the real clock
	stamp      time.Time     // of the last change
	last       int           // number of whatever was made last
	workspaces []*railwayWorkspace
	users      map[string]*railwayUser
	projects   []*railwayProject
	tokens     map[string]*railwayToken
	codes      map[string]*railwayCode
	renewals   map[string]*railwayGrant // by refresh token, the used ones too
	deploys    int
	secrets    []string // texts that must not be in addresses
}

// RailwayApp is an application at Railway. Without a secret it is a public one.
type RailwayApp struct{ ClientID, ClientSecret, RedirectURL string }

type railwayWorkspace struct {
	id, name string
	locked   bool // to those who did not sign in in its own way
}

type railwayUser struct {
	id, name   string
	workspaces []string
	external   []string // projects of other workspaces, that the user was let into
}

type railwayProject struct {
	id, name, workspace string
	made                time.Time
	environments        []*railwayEnvironment
	services            []railwayService
}

type railwayService struct{ id, name, repository string }

type railwayEnvironment struct {
	id, name  string
	ephemeral bool
	vars      map[railwayKey]*railwayVar
}

// railwayKey is where a variable is: the service is "" for what all share.
type railwayKey struct{ service, name string }

type railwayVar struct {
	id, value     string
	sealed        bool
	made, changed time.Time
}

// railwayToken is a token of a user, a workspace, or one environment of a project.
type railwayToken struct {
	user, workspace      string
	project, environment string
	grant                *railwayGrant // that it is of
	viewer, dead         bool
	expires              time.Time
}

// NewRailway starts a Railway that knows nobody.
func NewRailway(t testing.TB) *Railway {
	r := &Railway{
		App:   RailwayApp{"railway-client", "railway-client-secret", "https://coffer.example/callback"},
		users: map[string]*railwayUser{}, tokens: map[string]*railwayToken{},
		codes: map[string]*railwayCode{}, renewals: map[string]*railwayGrant{},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /graphql/v2", r.graphql)
	mux.HandleFunc("POST /oauth/token", r.redeem)
	r.Fake = standin.New(t, r.concealed, mux)
	return r
}

func (r *Railway) concealed() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.secrets)
}

// Now is the time that it is there.
func (r *Railway) Now() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now()
}

func (r *Railway) now() time.Time { return time.Now().Add(r.ahead) }

// Pass lets time pass.
func (r *Railway) Pass(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ahead += d
}

// tick is the time of a change, which no other has.
func (r *Railway) tick() time.Time {
	now := r.now().UTC().Truncate(time.Millisecond)
	if !now.After(r.stamp) {
		now = r.stamp.Add(time.Millisecond)
	}
	r.stamp = now
	return now
}

func (r *Railway) id() string {
	r.last++
	return fmt.Sprintf("%08d-0000-4000-8000-%012d", r.last, r.last)
}

// token makes a text for a token, which says nothing of its kind.
func (r *Railway) token(t *railwayToken) string {
	text := "railway-token-" + r.id()
	r.tokens[text] = t
	r.secrets = append(r.secrets, text)
	return text
}

// AddWorkspace makes a workspace.
func (r *Railway) AddWorkspace(name string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	w := &railwayWorkspace{id: r.id(), name: name}
	r.workspaces = append(r.workspaces, w)
	return w.id
}

// Lock shuts a workspace to the tokens of its members.
func (r *Railway) Lock(workspace string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range r.workspaces {
		w.locked = w.locked || w.id == workspace
	}
}

// enters reports whether a user's token lets into a workspace.
func (u *railwayUser) enters(r *Railway, workspace string) bool {
	return slices.Contains(u.workspaces, workspace) &&
		!slices.ContainsFunc(r.workspaces, func(w *railwayWorkspace) bool { return w.id == workspace && w.locked })
}

// AddUser makes a user who is in workspaces.
func (r *Railway) AddUser(name string, workspaces ...string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	u := &railwayUser{id: r.id(), name: name, workspaces: workspaces}
	r.users[u.id] = u
	return u.id
}

// Invite lets a user into one project only.
func (r *Railway) Invite(user, project string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.users[user].external = append(r.users[user].external, project)
}

// AddProject makes a project with environments, and one that came with a pull
// request.
func (r *Railway) AddProject(workspace, name string, environments ...string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := &railwayProject{id: r.id(), name: name, workspace: workspace, made: r.tick()}
	for _, e := range append(environments, "shop-pr-1") {
		p.environments = append(p.environments, &railwayEnvironment{r.id(), e, strings.Contains(e, "-pr-"), map[railwayKey]*railwayVar{}})
	}
	r.projects = append(r.projects, p)
	return p.id
}

// AddService makes a service that is built from a repository, or from none.
func (r *Railway) AddService(project, name, repository string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	p, s := r.project(project), railwayService{r.id(), name, repository}
	p.services = append(p.services, s)
	return s.id
}

// RemoveProject takes a project away.
func (r *Railway) RemoveProject(project string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.projects = slices.DeleteFunc(r.projects, func(p *railwayProject) bool { return p.id == project })
}

func (r *Railway) project(id string) *railwayProject {
	for _, p := range r.projects {
		if p.id == id {
			return p
		}
	}
	return nil
}

func (p *railwayProject) environment(id string) *railwayEnvironment {
	for _, e := range p.environments {
		if e.id == id || e.name == id {
			return e
		}
	}
	return nil
}

// AccountToken makes a token of a user, who may only look if viewer.
func (r *Railway) AccountToken(user string, viewer bool) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.token(&railwayToken{user: user, viewer: viewer})
}

// WorkspaceToken makes a token of a workspace.
func (r *Railway) WorkspaceToken(workspace string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.token(&railwayToken{workspace: workspace})
}

// ProjectToken makes a token of one environment.
func (r *Railway) ProjectToken(project, environment string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.token(&railwayToken{project: project, environment: r.project(project).environment(environment).id})
}

// Revoke ends a token.
func (r *Railway) Revoke(token string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tokens[token].dead = true
}

// at runs something on an environment.
func (r *Railway) at(project, environment string, run func(*railwayEnvironment)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	run(r.project(project).environment(environment))
}

// Set is somebody else's setting of a variable. Seals stay.
func (r *Railway) Set(project, service, environment, name, value string) {
	r.at(project, environment, func(e *railwayEnvironment) { r.set(e, railwayKey{service, name}, value) })
}

func (r *Railway) set(e *railwayEnvironment, key railwayKey, value string) {
	v := e.vars[key]
	if v == nil {
		v = &railwayVar{id: r.id(), made: r.tick()}
		e.vars[key] = v
	}
	v.value, v.changed = value, r.tick()
}

// Seal is somebody else's setting of a variable that is never told again.
func (r *Railway) Seal(project, service, environment, name, value string) {
	r.at(project, environment, func(e *railwayEnvironment) {
		r.set(e, railwayKey{service, name}, value)
		e.vars[railwayKey{service, name}].sealed = true
	})
}

// Unset is somebody else's taking a variable away.
func (r *Railway) Unset(project, service, environment, name string) {
	r.at(project, environment, func(e *railwayEnvironment) { delete(e.vars, railwayKey{service, name}) })
}

// Sealed reports whether a variable is sealed.
func (r *Railway) Sealed(project, service, environment, name string) (sealed bool) {
	r.at(project, environment, func(e *railwayEnvironment) { sealed = e.vars[railwayKey{service, name}].sealed })
	return sealed
}

// Held is what users set in an environment, as they wrote it.
func (r *Railway) Held(project, service, environment string) map[string]string {
	held := map[string]string{}
	r.at(project, environment, func(e *railwayEnvironment) {
		for key, v := range e.vars {
			if key.service == service {
				held[key.name] = v.value
			}
		}
	})
	return held
}

// Deploys is how often a service was deployed because of a changed variable.
func (r *Railway) Deploys() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.deploys
}

// deploy deploys what a change is of.
func (r *Railway) deploy(p *railwayProject, service string) {
	if service != "" {
		r.deploys++
		return
	}
	r.deploys += len(p.services)
}

// own are Railway's own variables of a service.
func (p *railwayProject) own(e *railwayEnvironment) map[string]string {
	return map[string]string{"RAILWAY_PROJECT_ID": p.id, "RAILWAY_ENVIRONMENT_NAME": e.name}
}

var railwayReference = regexp.MustCompile(`\$\{\{\s*([^}]*?)\s*\}\}`)

// references are the names that a value refers to.
func (v *railwayVar) references() []string {
	names := []string{}
	for _, m := range railwayReference.FindAllStringSubmatch(v.value, -1) {
		names = append(names, m[1])
	}
	return names
}

// rendered is a value with what its references stand for.
func (p *railwayProject) rendered(e *railwayEnvironment, service, value string) string {
	return railwayReference.ReplaceAllStringFunc(value, func(text string) string {
		of, name, dotted := strings.Cut(railwayReference.FindStringSubmatch(text)[1], ".")
		key := railwayKey{service, of}
		if dotted {
			key = railwayKey{"", name}
			for _, s := range p.services {
				if s.name == of {
					key.service = s.id
				}
			}
		}
		if v := e.vars[key]; v != nil {
			return v.value
		}
		return ""
	})
}

// values are the variables of a place, as they were written or rendered. Sealed
// ones are not told.
func (r *Railway) values(p *railwayProject, e *railwayEnvironment, service string, unrendered bool) map[string]any {
	values := map[string]any{}
	if service != "" && (!unrendered || r.OwnVariables) {
		for key, value := range p.own(e) {
			values[key] = value
		}
	}
	for key, v := range e.vars {
		switch {
		case key.service != service || v.sealed:
		case unrendered:
			values[key.name] = v.value
		default:
			values[key.name] = p.rendered(e, service, v.value)
		}
	}
	return values
}

// keys are where the variables of an environment are, in the order in which they
// were made.
func (e *railwayEnvironment) keys() []railwayKey {
	return slices.SortedFunc(maps.Keys(e.vars), func(a, b railwayKey) int { return strings.Compare(e.vars[a].id, e.vars[b].id) })
}
