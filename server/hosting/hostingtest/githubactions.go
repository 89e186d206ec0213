package hostingtest

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/nacl/box"

	"coffer/server/standin"
)

// GitHubActions is the part of GitHub that keeps the secrets of Actions, below
// /api/v3 as on Enterprise Server. It opens what is sent to it with the private
// keys that it has, and never tells a value.
type GitHubActions struct {
	*standin.Fake

	// Observe, if set, sees every request and answer of the API.
	Observe func(r *http.Request, answer *httptest.ResponseRecorder)

	mu      sync.Mutex
	clock   time.Time // moves by a second with every change: GitHub tells no less
	ids     int64
	repos   map[int64]*githubRepo
	moved   map[string]int64 // by old name
	tokens  map[string]*GitHubToken
	secrets []string
}

// GitHubToken is a token and what it reaches.
type GitHubToken struct {
	Text    string
	Login   string
	Classic bool
	Dead    bool
	Blind   bool // it may not see environments
	Repos   []int64
}

// githubRepo is a repository with its places: "" is its own secrets.
type githubRepo struct {
	id       int64
	name     string // owner/name
	places   map[string]*githubPlace
	order    []string
	archived bool
	readOnly bool
}

// githubPlace is where secrets are, with the key that they are sealed with.
type githubPlace struct {
	id              int64
	public, private *[32]byte
	keyID           string
	secrets         map[string]githubSecret
}

type githubSecret struct {
	value            string
	created, updated time.Time
}

// NewGitHubActions starts one.
func NewGitHubActions(t testing.TB) *GitHubActions {
	g := &GitHubActions{
		clock: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC), ids: 1000,
		repos: map[int64]*githubRepo{}, moved: map[string]int64{}, tokens: map[string]*GitHubToken{},
	}
	mux := http.NewServeMux()
	g.routes(mux)
	g.Fake = standin.New(t, g.all, http.StripPrefix("/api/v3", g.observed(mux)))
	return g
}

// all are the secrets that must be in no address.
func (g *GitHubActions) all() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Concat(slices.Collect(maps.Keys(g.tokens)), g.secrets)
}

func (g *GitHubActions) observed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if g.Observe == nil {
			next.ServeHTTP(rw, r)
			return
		}
		body := bodyOf(r)
		answer := httptest.NewRecorder()
		next.ServeHTTP(answer, r)
		r.Body = io.NopCloser(strings.NewReader(body))
		g.Observe(r, answer)
		maps.Copy(rw.Header(), answer.Header())
		rw.WriteHeader(answer.Code)
		_, _ = rw.Write(answer.Body.Bytes()) // a client that left is no concern of ours
	})
}

func (g *GitHubActions) id() int64 { g.ids++; return g.ids }

func (g *GitHubActions) tick() time.Time {
	g.clock = g.clock.Add(time.Second)
	return g.clock
}

// AddRepo makes a repository with environments.
func (g *GitHubActions) AddRepo(name string, environments ...string) int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	r := &githubRepo{id: g.id(), name: name, places: map[string]*githubPlace{"": g.place()}, order: environments}
	for _, e := range environments {
		r.places[e] = g.place()
	}
	g.repos[r.id] = r
	return r.id
}

func (g *GitHubActions) place() *githubPlace {
	public, private, err := box.GenerateKey(rand.Reader)
	if err != nil {
		panic(err) // no randomness
	}
	id := g.id()
	return &githubPlace{id: id, public: public, private: private, keyID: strconv.FormatInt(id*1e12, 10), secrets: map[string]githubSecret{}}
}

// Token makes a token that reaches repositories.
func (g *GitHubActions) Token(login string, classic bool, repos ...int64) *GitHubToken {
	g.mu.Lock()
	defer g.mu.Unlock()
	prefix := "github_pat_"
	if classic {
		prefix = "ghp_"
	}
	t := &GitHubToken{Text: fmt.Sprintf("%s%022d", prefix, g.id()), Login: login, Classic: classic, Repos: repos}
	g.tokens[t.Text] = t
	return t
}

// Change changes things while nobody asks.
func (g *GitHubActions) Change(run func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	run()
}

// Kill ends a token.
func (g *GitHubActions) Kill(text string) { g.Change(func() { g.tokens[text].Dead = true }) }

// GrantAll lets every token that reaches one repository reach another.
func (g *GitHubActions) GrantAll(one, other int64) {
	g.Change(func() {
		for _, t := range g.tokens {
			if slices.Contains(t.Repos, one) {
				t.Repos = append(slices.Clone(t.Repos), other)
			}
		}
	})
}

// Archive makes a repository read-only, and ReadOnly gives everybody no more
// than reading it.
func (g *GitHubActions) Archive(repo int64) { g.Change(func() { g.repos[repo].archived = true }) }

// ReadOnly see Archive.
func (g *GitHubActions) ReadOnly(repo int64) { g.Change(func() { g.repos[repo].readOnly = true }) }

// Rename gives a repository another name.
func (g *GitHubActions) Rename(repo int64, name string) {
	g.Change(func() {
		g.moved[g.repos[repo].name] = repo
		g.repos[repo].name = name
	})
}

// RemoveEnvironment takes an environment away, with its secrets.
func (g *GitHubActions) RemoveEnvironment(repo int64, name string) {
	g.Change(func() {
		r := g.repos[repo]
		delete(r.places, name)
		r.order = slices.DeleteFunc(slices.Clone(r.order), func(e string) bool { return e == name })
	})
}

// Blind keeps a token from seeing environments.
func (g *GitHubActions) Blind(text string) { g.Change(func() { g.tokens[text].Blind = true }) }

// Set is somebody else's setting of a secret: in "" for the repository's own.
func (g *GitHubActions) Set(repo int64, environment, name, value string) {
	g.Change(func() { g.set(g.repos[repo].places[environment], name, value) })
}

func (g *GitHubActions) set(p *githubPlace, name, value string) (created bool) {
	now := g.tick()
	old, had := p.secrets[name]
	if !had {
		old.created = now
	}
	p.secrets[name] = githubSecret{value: value, created: old.created, updated: now}
	return !had
}

// Unset is somebody else's deleting.
func (g *GitHubActions) Unset(repo int64, environment, name string) {
	g.Change(func() { delete(g.repos[repo].places[environment].secrets, name) })
}

// Held is what a place really holds.
func (g *GitHubActions) Held(repo int64, environment string) map[string]string {
	held := map[string]string{}
	g.Change(func() {
		for name, s := range g.repos[repo].places[environment].secrets {
			held[name] = s.value
		}
	})
	return held
}

// githubLimit is GitHub's answer to who asks too often, with a Retry-After or
// with the time at which the count begins anew, where either is told.
func githubLimit(status int, retryAfter string, reset time.Duration, left int, message string) standin.Fault {
	return func(_ *standin.Fake, rw http.ResponseWriter, _ *http.Request, _ http.Handler) {
		if retryAfter != "" {
			rw.Header().Set("Retry-After", retryAfter)
		}
		rw.Header().Set("X-RateLimit-Remaining", strconv.Itoa(left))
		rw.Header().Set("X-RateLimit-Reset", strconv.FormatInt(time.Now().Add(reset).Unix(), 10))
		standin.Answer(rw, status, map[string]any{"message": message, "documentation_url": "https://docs.github.com/rest"})
	}
}

// GitHubLimits are all ways in which GitHub says that it was asked too often.
func GitHubLimits() map[string]standin.Fault {
	const used, often = "API rate limit exceeded for user ID 1.", "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
	return map[string]standin.Fault{
		"used up, as forbidden":        githubLimit(http.StatusForbidden, "", 4*time.Second, 0, used),
		"used up, as 429":              githubLimit(http.StatusTooManyRequests, "", 4*time.Second, 0, used),
		"too often, as forbidden":      githubLimit(http.StatusForbidden, "3", time.Hour, 4711, often),
		"too often, as 429":            githubLimit(http.StatusTooManyRequests, "3", time.Hour, 4711, often),
		"too often, without a time":    githubLimit(http.StatusForbidden, "", time.Hour, 4711, often),
		"too often, 429 and no time":   githubLimit(http.StatusTooManyRequests, "", time.Hour, 4711, often),
		"a firewall's page, forbidden": firewall,
	}
}

// firewall is a page for people that stands before the API.
func firewall(_ *standin.Fake, rw http.ResponseWriter, _ *http.Request, _ http.Handler) {
	rw.Header().Set("Content-Type", "text/html; charset=utf-8")
	rw.WriteHeader(http.StatusForbidden)
	_, _ = rw.Write([]byte("<!doctype html><title>Whoa there!</title>"))
}

// openSealed opens what a client sealed for a place.
func (p *githubPlace) openSealed(text string) (string, bool) {
	sealed, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return "", false
	}
	value, ok := box.OpenAnonymous(nil, sealed, p.public, p.private)
	return string(value), ok
}

// named finds a repository that a token reaches by its name of today, in any
// case.
func (g *GitHubActions) named(t *GitHubToken, name string) *githubRepo {
	for _, id := range t.Repos {
		if r := g.repos[id]; strings.EqualFold(r.name, name) {
			return r
		}
	}
	return nil
}
