// Package servertest runs an instance for tests: real data in a temporary
// directory, real handlers on a loopback address, our real client. Tests read
// as usage.
//
// A test binary that uses it calls [Main] from TestMain.
package servertest

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"coffer/crypto/cryptotest"
	"coffer/server"
	"coffer/server/api"
	"coffer/server/client"
	"coffer/server/httpd/openapitest"
	"coffer/store/kv/kvtest"
)

// Main runs a package's tests with passphrases and passwords that cost nothing.
func Main(m *testing.M) {
	cryptotest.CheapKDF()
	os.Exit(m.Run())
}

// Instance is a running, unsealed instance with nobody in it.
type Instance struct {
	URL      string
	Data     string
	Recovery string         // the recovery key
	Operator *client.Client // with the powers of the operator
	Metrics  string         // where metrics have a listener of their own
	Log      *Log           // everything the server logged

	t        testing.TB
	config   server.Config
	keyFile  string
	stop     func()
	validate bool
	pinned   http.RoundTripper // to an instance that nobody vouches for
}

// Plain is an option: transactions run once, as they do in production. Without
// it every one runs twice and its first run is dropped, so that what must not
// have side effects is caught having some.
func Plain(c *server.Config) { c.Store.TestOnlyWrap = nil }

// Limited is an option: requests are limited as they are in production. Without
// it none is.
func Limited(c *server.Config) { c.Limits = server.LimitsConfig{} }

// New starts an instance that ends with the test. Each option may change its
// configuration.
func New(t testing.TB, options ...func(*server.Config)) *Instance {
	t.Helper()
	in := instance(t, options)
	s := in.open()
	in.keyFile = filepath.Join(t.TempDir(), "coffer.key")
	made, err := s.Initialize(t.Context(), server.InitOptions{KeyFile: in.keyFile})
	if err != nil {
		t.Fatal(err)
	}
	in.Recovery = string(made.RecoveryKey)
	in.serve(s)
	t.Cleanup(func() { in.stop() })
	return in
}

// Fresh starts an instance that nobody has set up, with the token to claim it.
func Fresh(t testing.TB, options ...func(*server.Config)) (in *Instance, claim string) {
	t.Helper()
	in = instance(t, options)
	s := in.open()
	in.serve(s)
	t.Cleanup(func() { in.stop() })
	return in, s.ClaimToken()
}

// instance is one that does not run yet.
func instance(t testing.TB, options []func(*server.Config)) *Instance {
	in := &Instance{t: t, Data: t.TempDir(), Log: new(Log)}
	in.config = server.Config{
		Listen: "127.0.0.1:0", PublicURL: "https://vault.example", Data: in.Data, Version: "test",
		Store:  server.StoreConfig{TestOnlyWrap: kvtest.Twice},
		Limits: server.NoLimits(),
		Log:    server.LogConfig{Level: "debug", Format: "json", Output: in.Log},
	}
	for _, o := range options {
		o(&in.config)
	}
	in.Data = in.config.Data
	return in
}

// KeyFile is the key file that an instance made by New is unsealed with.
func (in *Instance) KeyFile() string { return in.keyFile }

// Serving runs an instance that was made without this package, until the test ends.
func Serving(t testing.TB, s *server.Server, data string) *Instance {
	t.Helper()
	in := &Instance{t: t, Data: data, Log: new(Log)}
	in.serve(s)
	t.Cleanup(func() { in.stop() })
	return in
}

// At is an instance of another process: where it listens, and its data
// directory, for the operator's socket. It is not ours to stop, and its log is
// not ours to read.
func At(t testing.TB, url, data string) *Instance {
	t.Helper()
	transport, err := server.DialOperator(data)
	if err != nil {
		t.Fatal(err)
	}
	return &Instance{
		URL: strings.TrimRight(url, "/"), Data: data, Log: new(Log), t: t,
		Operator: &client.Client{URL: "http://operator", Transport: transport, Version: "test"},
		stop:     func() { t.Fatal("this instance is not the test's to stop") },
	}
}

func (in *Instance) open() *server.Server {
	in.t.Helper()
	s, err := server.New(in.config)
	if err != nil {
		in.t.Fatal(err)
	}
	return s
}

func (in *Instance) serve(s *server.Server) {
	in.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	in.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			in.t.Errorf("serve: %v", err)
		}
		if err := s.Close(); err != nil {
			in.t.Errorf("close: %v", err)
		}
		if _, err := server.Check(server.Config{Data: in.Data}); err != nil {
			in.t.Errorf("what the test left behind: %v", err)
		}
	})
	select {
	case <-s.Ready():
	case err := <-ended:
		in.t.Fatalf("serve: %v", err)
	}
	in.URL, in.Metrics = s.LocalURL(), "http://"+s.MetricsAddr()
	if print := s.Fingerprint(); print != "" {
		pin, err := client.ParsePin(print)
		if err != nil {
			in.t.Fatal(err)
		}
		in.pinned = pin.Transport()
	}
	in.Operator = &client.Client{URL: "http://operator", Transport: in.through(s.Operator()), Version: "test"}
}

// Validate holds everything that a client of this instance sends from now on,
// and every answer, against the OpenAPI document, and returns the instance.
// Clients that were made before, and those of the test's own, can be held
// against it with [openapitest.Transport].
func (in *Instance) Validate() *Instance {
	if !in.validate {
		in.validate = true
		in.Operator.Transport = in.through(in.Operator.Transport)
	}
	return in
}

// way is how clients reach the instance.
func (in *Instance) way() http.RoundTripper {
	if in.pinned != nil {
		return in.pinned
	}
	return http.DefaultTransport
}

func (in *Instance) through(t http.RoundTripper) http.RoundTripper {
	if !in.validate {
		return t
	}
	return openapitest.Transport(in.t, t)
}

// Stop ends the instance; its data stays.
func (in *Instance) Stop() { in.stop() }

// Restart ends the instance and starts it again on its data. Each option may
// change its configuration.
func (in *Instance) Restart(options ...func(*server.Config)) {
	in.t.Helper()
	in.stop()
	for _, o := range options {
		o(&in.config)
	}
	in.serve(in.open())
	in.t.Cleanup(func() { in.stop() })
}

// AllScopes are the scopes that keys made by User have.
var AllScopes = []string{api.ReadSecrets, api.WriteSecrets, api.DeleteSecrets, api.AdminAPIKeys}

// User adds a user and signs in with a live key of all scopes.
func (in *Instance) User(name string) *client.Client {
	in.t.Helper()
	_, err := in.Operator.AddLocalUser(in.t.Context(), api.AddLocalUser{Username: name, Password: api.NewSecret(Password)})
	if err != nil {
		in.t.Fatal(err)
	}
	return in.Key(name, "live", AllScopes...)
}

// Key signs a user in with a key of these scopes.
func (in *Instance) Key(user, environment string, scopes ...string) *client.Client {
	in.t.Helper()
	k, err := in.Operator.IssueToken(in.t.Context(), api.IssueToken{
		Username: user, Name: "test", Environment: environment, Scopes: scopes,
	})
	if err != nil {
		in.t.Fatal(err)
	}
	return in.Client(string(k.Token))
}

// SignIn signs a user in with a service token, as people do.
func (in *Instance) SignIn(user string) *client.Client {
	in.t.Helper()
	s, err := in.Operator.SignIn(in.t.Context(), api.SignIn{Username: user})
	if err != nil {
		in.t.Fatal(err)
	}
	return in.Client(string(s.Token))
}

// Client asks the instance with a token.
func (in *Instance) Client(token string) *client.Client {
	return &client.Client{URL: in.URL, Token: token, Version: "test", Transport: in.through(in.way())}
}

// Grant gives a user a role on a repository.
func (in *Instance) Grant(repo, user, role string) {
	in.t.Helper()
	err := in.Operator.GrantLocalRepo(in.t.Context(), api.GrantLocalRepo{RepoFullName: repo, Username: user, Role: role})
	if err != nil {
		in.t.Fatal(err)
	}
}

// Member gives a user a role in an organization.
func (in *Instance) Member(org, user, role string) {
	in.t.Helper()
	if err := in.Operator.SetLocalMember(in.t.Context(), api.SetLocalMember{Org: org, Username: user, Role: role}); err != nil {
		in.t.Fatal(err)
	}
}

// Vault makes a vault that c's user may create.
func (in *Instance) Vault(c *client.Client, repo string) {
	in.t.Helper()
	if _, err := c.CreateVault(in.t.Context(), repo); err != nil {
		in.t.Fatal(err)
	}
}

// Push makes an environment hold exactly these values.
func (in *Instance) Push(c *client.Client, repo, environment string, values map[string]string) *api.Pushed {
	in.t.Helper()
	done, err := c.Push(in.t.Context(), api.PushSecrets{
		RepoFullName: repo, Environment: environment, Secrets: Secrets(values), Mode: new(api.ModeReplace),
	})
	if err != nil {
		in.t.Fatal(err)
	}
	return done
}

// Secrets wraps values for a push.
func Secrets(values map[string]string) map[string]api.Secret {
	all := make(map[string]api.Secret, len(values))
	for k, v := range values {
		all[k] = api.NewSecret(v)
	}
	return all
}

// Pull is the exact values of an environment.
func (in *Instance) Pull(c *client.Client, repo, environment string) map[string]string {
	in.t.Helper()
	got, err := c.Pull(in.t.Context(), api.PullSecrets{Repo: repo, Environment: environment, Format: api.FormatJSON})
	if err != nil {
		in.t.Fatal(err)
	}
	all := make(map[string]string, len(got.Secrets))
	for k, v := range got.Secrets {
		all[k] = string(v)
	}
	return all
}

// Log gathers what a server logs.
type Log struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write implements io.Writer.
func (l *Log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(b)
}

// String is all that was logged.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}
