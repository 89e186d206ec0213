package hostingtest

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"coffer/server/standin"
)

// Netlify is a fake Netlify: its API, and the page where users authorize. Its
// clock goes on only when it is told to, beside the real one.
type Netlify struct {
	*standin.Fake

	// Observe sees each request, which can be read again, and its answer.
	Observe func(r *http.Request, answer *httptest.ResponseRecorder)

	// App is the application that users can authorize.
	App NetlifyApp

	// Splits says what setting a value does to a variable that has one for all
	// contexts: which of these Netlify does is not known.
	Splits NetlifySplit

	// Rate is how many requests a minute each token has.
	Rate int

	mux *http.ServeMux

	mu      sync.Mutex
	ahead   time.Duration // of the real clock
	last    int           // number of whatever was made last
	teams   map[string]*netlifyTeam
	users   map[string]*netlifyUser
	sites   map[string]*netlifySite
	tokens  map[string]*netlifyToken
	codes   map[string]string // who authorized, by code
	renewal map[string]string // users by refresh token
	secrets []string          // texts that must not be in addresses
}

// NetlifySplit is what becomes of a value for all contexts.
type NetlifySplit int

// The ways: it stays beside the new value, its place is taken by one value for
// each context, or it is gone.
const (
	NetlifyKeeps NetlifySplit = iota
	NetlifyExpands
	NetlifyDrops
)

// NetlifyApp is an application at Netlify.
type NetlifyApp struct {
	ClientID, ClientSecret, RedirectURL string

	Refreshes bool // its grants end after an hour, and can be renewed
}

type netlifyTeam struct {
	id, name, slug string
	paid           bool // its plan has scopes
	vars           netlifyVars
}

type netlifyUser struct {
	id, name string
	teams    []string
	sites    []string // of other teams, that the user works on
}

type netlifySite struct {
	id, name, team, repository string
	made                       time.Time
	vars                       netlifyVars
}

type netlifyToken struct {
	user     string
	expires  time.Time // zero: never
	revoked  bool
	readOnly bool

	minute time.Time // when its current minute began
	calls  int       // in it
}

// NewNetlify listens as Netlify.
func NewNetlify(t testing.TB) *Netlify {
	n := &Netlify{
		App:   NetlifyApp{ClientID: "coffer-client-id", ClientSecret: "netlify-client-secret", RedirectURL: "https://coffer.example/callback"},
		Rate:  500,
		mux:   http.NewServeMux(),
		teams: map[string]*netlifyTeam{}, users: map[string]*netlifyUser{}, sites: map[string]*netlifySite{},
		tokens: map[string]*netlifyToken{}, codes: map[string]string{}, renewal: map[string]string{},
	}
	n.secrets = []string{n.App.ClientSecret}
	n.routes()
	n.Fake = standin.New(t, n.secret, http.HandlerFunc(n.serve))
	return n
}

func (n *Netlify) serve(rw http.ResponseWriter, r *http.Request) {
	if n.Observe == nil {
		n.mux.ServeHTTP(rw, r)
		return
	}
	body := bodyAgain(r)
	answer := httptest.NewRecorder()
	n.mux.ServeHTTP(answer, r)
	body(r)
	n.Observe(r, answer)
	maps.Copy(rw.Header(), answer.Header())
	rw.WriteHeader(answer.Code)
	_, _ = rw.Write(answer.Body.Bytes()) // a client that left is no concern of ours
}

func (n *Netlify) secret() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.secrets)
}

// conceal notes a text that must not be in addresses. Short ones are in some by
// chance.
func (n *Netlify) conceal(text string) {
	if len(text) >= 8 {
		n.secrets = append(n.secrets, text)
	}
}

// Now is the time there.
func (n *Netlify) Now() time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.now()
}

func (n *Netlify) now() time.Time { return time.Now().Add(n.ahead) }

// Pass lets time pass.
func (n *Netlify) Pass(d time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ahead += d
}

// number makes an id that nothing else has.
func (n *Netlify) number(kind string) string {
	n.last++
	return fmt.Sprintf("%s-%06x", kind, n.last)
}

// AddTeam makes a team, on a plan with scopes or without, and answers its id.
func (n *Netlify) AddTeam(name string, paid bool) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	id := n.number("team")
	n.teams[id] = &netlifyTeam{id: id, name: name, slug: name + "-slug", paid: paid, vars: netlifyVars{}}
	return id
}

// AddUser makes a member of teams, and answers their id.
func (n *Netlify) AddUser(name string, teams ...string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	id := n.number("user")
	n.users[id] = &netlifyUser{id: id, name: name, teams: teams}
	return id
}

// AddSite makes a site of a team, and answers its id.
func (n *Netlify) AddSite(team, name string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	id := n.number("site")
	n.sites[id] = &netlifySite{id: id, name: name, team: team, repository: "acme/" + name, made: n.now(), vars: netlifyVars{}}
	return id
}

// Invite lets a user work on a site of a team that they are no member of. Such a
// one does not get to see what the team's sites share.
func (n *Netlify) Invite(user, site string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.users[user].sites = append(n.users[user].sites, site)
}

// Token makes a personal access token without an end.
func (n *Netlify) Token(user string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.token(user)
}

func (n *Netlify) token(user string) string {
	token := n.number("nfp_token")
	n.tokens[token] = &netlifyToken{user: user}
	n.conceal(token)
	return token
}

// Revoke ends a token.
func (n *Netlify) Revoke(token string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.tokens[token].revoked = true
}

// Expire has a token end now.
func (n *Netlify) Expire(token string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.tokens[token].expires = n.now()
}

// ReadOnly takes the right to change anything from a token.
func (n *Netlify) ReadOnly(token string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.tokens[token].readOnly = true
}
