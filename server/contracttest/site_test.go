// Package contracttest holds a running instance against the wire contract, from
// outside: raw HTTP in, exact statuses, headers and JSON out. It knows nothing
// of what the server is made of.
//
// Names in requests and expected answers are written @ann: each site gives them
// an ending of its own, so that the same tables run against any instance.
//
// Each test starts an instance in this process, unless
//
//	COFFER_TEST_URL=http://127.0.0.1:2633 COFFER_TEST_DATA=/var/lib/coffer
//
// name one that runs: then all of them ask that one, with the operator's socket
// in its data directory to make users with, and tests that need an instance of
// their own skip. It must be on this machine, unsealed and
// without limits, and it keeps what the tests leave behind.
//
//	COFFER_TEST_BINARY=build go test ./server/contracttest
//
// builds the program, serves throw-away data with it, and asks that.
package contracttest

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"coffer/server"
	"coffer/server/api"
	"coffer/server/httpd/openapitest"
	"coffer/server/servertest"
)

func TestMain(m *testing.M) {
	if os.Getenv("COFFER_TEST_BINARY") == "build" {
		os.Exit(testBinary())
	}
	servertest.Main(m)
}

// ourPublicURL is what the instances that tests start call themselves.
const ourPublicURL = "https://vault.example"

// site is the instance under test, and the names that stand for its people.
type site struct {
	*servertest.Instance
	http   *http.Client
	public string // its public URL
	ending string
	ended  *regexp.Regexp // a name with the ending

	mu    sync.Mutex
	names []string
}

// newSite is an instance for a test that shares it as well as it owns it.
func newSite(t *testing.T) *site {
	t.Helper()
	url := os.Getenv("COFFER_TEST_URL")
	if url == "" {
		return ownSite(t)
	}
	s := siteOf(servertest.At(t, url, os.Getenv("COFFER_TEST_DATA")), newTransport(t))
	s.public = publicURL(t, s.URL)
	return s
}

// ownSite is an instance that the test may configure, seal and restart.
func ownSite(t *testing.T, options ...func(*server.Config)) *site {
	t.Helper()
	needsItsOwn(t)
	return siteOf(servertest.New(t, options...), newTransport(t))
}

// needsItsOwn skips a test that cannot be told by asking just any instance.
func needsItsOwn(t *testing.T) {
	t.Helper()
	if os.Getenv("COFFER_TEST_BINARY") != "" { // asked in a test, so that the go command does not answer from its cache
		t.Fatal("COFFER_TEST_BINARY is build, or it is not set")
	}
	if os.Getenv("COFFER_TEST_URL") != "" {
		t.Skip("needs an instance of its own, to configure it, seal it, restart it or leave it unsafe")
	}
}

// newTransport also holds every answer against the OpenAPI document.
func newTransport(t *testing.T) http.RoundTripper {
	transport := &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 16}
	t.Cleanup(transport.CloseIdleConnections)
	return openapitest.Transport(t, transport)
}

// publicURL is what an instance that we did not configure calls itself.
func publicURL(t *testing.T, url string) string {
	t.Helper()
	res, err := http.Get(url + "/v1/nowhere")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var p struct{ Type string }
	if err := json.NewDecoder(res.Body).Decode(&p); err != nil {
		t.Fatal(err)
	}
	public, ok := strings.CutSuffix(p.Type, "/errors/not-found")
	if !ok {
		t.Fatalf("the type of an error is %q", p.Type)
	}
	return public
}

func siteOf(in *servertest.Instance, transport http.RoundTripper) *site {
	ending := fmt.Sprintf("-%06x", rand.Uint32N(1<<24))
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &site{
		Instance: in,
		public:   ourPublicURL,
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

// plain puts @names for the names of this site, and our public URL for its.
func (s *site) plain(text string) string {
	return s.ended.ReplaceAllString(strings.ReplaceAll(text, s.public+"/", ourPublicURL+"/"), "@$1")
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

// signIn is somebody with a service token, as people have.
func (s *site) signIn(t testing.TB, user string) *caller {
	t.Helper()
	made, err := s.Operator.SignIn(t.Context(), api.SignIn{Username: s.real("@" + user)})
	if err != nil {
		t.Fatal(err)
	}
	return &caller{s, user, string(made.Token)}
}

// by is the caller with a credential of a kind that the route takes.
func (c *caller) by(t testing.TB, r route) *caller {
	t.Helper()
	if r.scopes == "U" || r.scopes == "S" {
		return c.signIn(t, c.name)
	}
	return c
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
		s.Member(s.real("@"+name), s.real("@"+user), role)
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
