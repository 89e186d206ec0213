// Package contracttest holds a running instance against the wire contract, from
// outside: raw HTTP in, exact statuses, headers and JSON out. It knows nothing
// of what the server is made of.
//
// Names in requests and expected answers are written @ann: each site gives them
// an ending of its own, so that the same tables run against any instance.
package contracttest

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"coffer/server"
	"coffer/server/api"
	"coffer/server/servertest"
)

func TestMain(m *testing.M) { servertest.Main(m) }

// site is the instance under test, and the names that stand for its people.
type site struct {
	*servertest.Instance
	http   *http.Client
	ending string
	ended  *regexp.Regexp // a name with the ending

	mu    sync.Mutex
	names []string
}

func newSite(t *testing.T, options ...func(*server.Config)) *site {
	t.Helper()
	in := servertest.New(t, options...)
	transport := &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 16}
	t.Cleanup(transport.CloseIdleConnections)
	return siteOf(in, transport)
}

func siteOf(in *servertest.Instance, transport http.RoundTripper) *site {
	ending := fmt.Sprintf("-%06x", rand.Uint32N(1<<24))
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &site{
		Instance: in,
		http:     &http.Client{Transport: transport, CheckRedirect: stay, Timeout: time.Minute},
		ending:   ending,
		ended:    regexp.MustCompile(`([A-Za-z]+)` + ending),
	}
}

// behindProxy lets a test choose the client's address with X-Forwarded-For.
func behindProxy(c *server.Config) {
	c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
}

func (s *site) know(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.names = append(s.names, name)
	return name + s.ending
}

var marked = regexp.MustCompile(`@([a-z]+)\b`)

// real puts the names of this site for @names.
func (s *site) real(text string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return marked.ReplaceAllStringFunc(text, func(m string) string {
		for _, name := range s.names {
			if m == "@"+name {
				return name + s.ending
			}
		}
		return m
	})
}

// plain puts @names for the names of this site.
func (s *site) plain(text string) string {
	return s.ended.ReplaceAllString(text, "@$1")
}

// caller is somebody with a token.
type caller struct {
	*site
	name  string
	token string
}

// user adds a person with a live key of all scopes.
func (s *site) user(t testing.TB, name string) *caller {
	t.Helper()
	_, err := s.Operator.AddLocalUser(t.Context(), api.AddLocalUser{Username: s.know(name), Password: api.NewSecret("a password")})
	if err != nil {
		t.Fatal(err)
	}
	return s.key(t, name, "live", servertest.AllScopes...)
}

// users adds people with live keys of all scopes.
func (s *site) users(t testing.TB, names ...string) map[string]*caller {
	t.Helper()
	all := make(map[string]*caller)
	for _, name := range names {
		all[name] = s.user(t, name)
	}
	return all
}

// key is somebody with another key.
func (s *site) key(t testing.TB, user, environment string, scopes ...string) *caller {
	t.Helper()
	return s.issue(t, api.IssueToken{Username: user, Environment: environment, Scopes: scopes})
}

func (s *site) issue(t testing.TB, k api.IssueToken) *caller {
	t.Helper()
	name := k.Username
	k.Username, k.Name = s.real("@"+name), "test"
	made, err := s.Operator.IssueToken(t.Context(), k)
	if err != nil {
		t.Fatal(err)
	}
	return &caller{s, name, string(made.Token)}
}

// org adds an organization with an owner and plain members.
func (s *site) org(t testing.TB, name, owner string, members ...string) {
	t.Helper()
	if _, err := s.Operator.AddLocalOrg(t.Context(), api.AddLocalOrg{Name: s.know(name)}); err != nil {
		t.Fatal(err)
	}
	for i, user := range append([]string{owner}, members...) {
		role := "member"
		if i == 0 {
			role = "owner"
		}
		m := api.SetLocalMember{Org: s.real("@" + name), Username: s.real("@" + user), Role: role}
		if err := s.Operator.SetLocalMember(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
}

// repo adds a repository.
func (s *site) repo(t testing.TB, name string, public bool) {
	t.Helper()
	r := api.AddLocalRepo{RepoFullName: s.real(name), Public: public}
	if _, err := s.Operator.AddLocalRepo(t.Context(), r); err != nil {
		t.Fatal(err)
	}
}

// grant gives users roles on a repository: "bob=read".
func (s *site) grant(t testing.TB, repo string, roles ...string) {
	t.Helper()
	for _, r := range roles {
		user, role, _ := strings.Cut(r, "=")
		s.Grant(s.real(repo), s.real("@"+user), role)
	}
}

// nobody is a caller without a credential.
func (s *site) nobody() *caller { return &caller{site: s} }

// do sends one request, "METHOD /path", with pairs of headers. Whatever comes back is held against the conventions that every
// answer keeps.
func (c *caller) do(t testing.TB, call, body string, headers ...string) *answer {
	t.Helper()
	method, target, _ := strings.Cut(c.real(call), " ")
	var content io.Reader
	if body != "" {
		content = strings.NewReader(c.real(body))
	}
	r, err := http.NewRequestWithContext(t.Context(), method, c.URL+target, content)
	if err != nil {
		t.Fatal(err)
	}
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Del(headers[i])
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	res, err := c.http.Do(r)
	if err != nil {
		t.Fatalf("%s: %v", call, err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatalf("%s: %v", call, err)
	}
	a := &answer{t: t, s: c.site, call: call, sent: r, status: res.StatusCode, header: res.Header, raw: raw}
	a.keepsConventions()
	return a
}
