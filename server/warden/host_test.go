package warden_test

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"coffer/server/api"
	"coffer/server/forge"
	"coffer/server/warden"
)

// host is a code host that says what the test tells it to.
type host struct {
	forge.Forge // what is not told to answer

	mu       sync.Mutex
	asked    []string // every question with the token it was asked with
	slow     chan struct{}
	down     error
	repo     forge.Repository
	gone     bool
	role     forge.Role
	service  bool // the service credential reaches
	tokens   map[string]string
	logins   map[string]string // by account, where it is another than "login" and the account
	granted  string            // the access token of the grant that is good at present
	refresh  string
	refusals error // of a refresh
	renewals int
	blind    string                             // an account that sees no repository by its id
	broken   map[string]error                   // what is said of a repository, by id, or of a refresh token
	saw      func(forge.Asker, forge.Reachable) // of every answer about a role, before it is given
}

func (h *host) Kind() string { return forge.KindGitHub }

func (h *host) set(change func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	change()
}

func (h *host) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.asked)
}

func (h *host) question(name string, as forge.Asker) error {
	h.mu.Lock()
	slow := h.slow
	h.asked = append(h.asked, name+" "+as.Token)
	h.mu.Unlock()
	if slow != nil {
		<-slow
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.down != nil:
		return h.down
	case as.Token == "" && !h.service:
		return forge.ErrNoCredential
	case as.Token != "" && as.Token != h.granted && h.tokens[as.Token] == "":
		return forge.ErrToken
	}
	return nil
}

func (h *host) Bearer(_ context.Context, token string) (forge.User, error) {
	h.mu.Lock()
	h.asked = append(h.asked, "bearer "+token)
	down, slow, id := h.down, h.slow, h.tokens[token]
	login := h.logins[id]
	h.mu.Unlock()
	if slow != nil {
		<-slow
	}
	if down != nil {
		return forge.User{}, down
	}
	if id == "" {
		return forge.User{}, forge.ErrToken
	}
	return forge.User{ID: id, Login: cmp.Or(login, "login"+id)}, nil
}

func (h *host) Role(_ context.Context, as forge.Asker, _ forge.Repository) (forge.Reachable, error) {
	if err := h.question("role", as); err != nil {
		return forge.Reachable{}, err
	}
	h.mu.Lock()
	there, saw := forge.Reachable{Repository: h.repo, Role: h.role}, h.saw
	gone := h.gone
	h.mu.Unlock()
	if saw != nil {
		saw(as, there)
	}
	switch {
	case gone:
		return forge.Reachable{}, forge.ErrGone
	case there.Role == forge.None:
		return forge.Reachable{}, nil
	}
	return there, nil
}

func (h *host) Repository(_ context.Context, as forge.Asker, owner, name string) (forge.Repository, error) {
	if err := h.question("repository", as); err != nil {
		return forge.Repository{}, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.repo.FullName() != owner+"/"+name || h.role == forge.None {
		return forge.Repository{}, forge.ErrNotFound
	}
	return h.repo, nil
}

// Members is asked beside the tests, whenever somebody works in a vault.
func (h *host) Members(context.Context, forge.Asker, forge.Organization) ([]forge.Member, error) {
	return nil, &forge.Unavailable{Err: errors.New("not told")}
}

func (h *host) Refresh(_ context.Context, refresh string) (forge.Grant, error) {
	h.mu.Lock()
	slow := h.slow
	h.mu.Unlock()
	if slow != nil {
		<-slow
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.renewals++
	if err := h.broken[refresh]; err != nil {
		return forge.Grant{}, err
	}
	if h.refusals != nil {
		return forge.Grant{}, h.refusals
	}
	if refresh != h.refresh {
		return forge.Grant{}, forge.ErrGrantEnded
	}
	h.granted, h.refresh = h.granted+"'", h.refresh+"'"
	return forge.Grant{Access: h.granted, Refresh: h.refresh, Expires: time.Now().Add(time.Hour)}, nil
}

func (h *host) AuthorizeURL(string, string) string { return "" }
func (h *host) Exchange(context.Context, string, string) (forge.Grant, forge.User, error) {
	return forge.Grant{}, forge.User{}, errors.New("not told")
}
func (h *host) Self(context.Context, string) (forge.User, error) {
	return forge.User{}, errors.New("not told")
}
func (h *host) Revoke(context.Context, forge.Grant) error { return nil }

// hosted is a house whose warden is bound to a host. Time stands still but for
// sleep.
type hosted struct {
	*host
	t     testing.TB
	house *house
	w     *warden.Warden
	now   time.Time
}

const pat = "ghp_ann"

func newHosted(t testing.TB) *hosted {
	t.Helper()
	there := &host{tokens: map[string]string{pat: "7"}, broken: map[string]error{}, role: forge.Admin, repo: forge.Repository{
		ID: "1", Owner: "acme", Name: "api", OwnerKind: forge.OwnerOrg, OwnerID: "9", Public: true,
	}}
	h := &hosted{host: there, t: t, now: time.Now()}
	h.house = bareHouse(t, func(c *warden.Config) {
		c.Forge = func(forge.Directory) forge.Forge { return there }
		c.Now = func() time.Time { return h.now }
	})
	h.w = h.house.warden(h.house.db)
	must(t, second(h.w.SetUp(t.Context(), warden.Setup{KeyFile: h.house.key})))
	return h
}

// reopen is a stop and a start.
func (h *hosted) reopen() {
	h.t.Helper()
	must(h.t, h.w.Close())
	h.w = h.house.warden(h.house.db)
}

func (h *hosted) sleep(d time.Duration) { h.now = h.now.Add(d) }

func (h *hosted) caller(token string) warden.Caller {
	h.t.Helper()
	who, err := h.w.Identify(h.t.Context(), warden.Credential{Bearer: token})
	must(h.t, err)
	return who
}

func (h *hosted) vault() {
	h.t.Helper()
	must(h.t, second(h.w.CreateVault(h.t.Context(), h.caller(pat), api.CreateVault{RepoFullName: "acme/api"})))
}

// look asks for the vault and returns the code of the refusal, "" for none.
func (h *hosted) look(who warden.Caller, name string) (*api.Vault, api.Code) {
	owner, repo, _ := api.SplitRepo(name)
	v, err := h.w.Vault(h.t.Context(), who, api.Ref{Owner: owner, Repo: repo})
	if err == nil {
		return v, ""
	}
	return v, api.CodeOf(err)
}

// key makes an API key of the user with the token, and returns how to use it.
func (h *hosted) key() func() warden.Caller {
	h.t.Helper()
	h.caller(pat)
	operator, err := h.w.Identify(h.t.Context(), warden.Credential{Operator: true})
	must(h.t, err)
	made, err := h.w.IssueToken(h.t.Context(), operator, api.IssueToken{Username: "login7", Name: "k", Environment: "live", Scopes: []string{api.ReadSecrets}})
	must(h.t, err)
	return func() warden.Caller { return h.caller(string(made.Token)) }
}

// times is how often a question was asked.
func (h *host) times(name string) (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, q := range h.asked {
		if strings.HasPrefix(q, name) {
			n++
		}
	}
	return n
}

func (h *host) last() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.asked[len(h.asked)-1]
}

var errHangs = errors.New("it hangs")

func retryAfter(err error) time.Duration {
	e, _ := errors.AsType[*api.Error](err)
	return e.RetryAfter
}

// Repositories is the one repository, to whoever has a role on it.
func (h *host) Repositories(_ context.Context, as forge.Asker) ([]forge.Reachable, error) {
	if err := h.question("list", as); err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.role == forge.None {
		return nil, nil
	}
	return []forge.Reachable{{Repository: h.repo, Role: h.role}}, nil
}
