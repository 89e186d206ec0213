package contracttest

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"coffer/server"
	"coffer/server/api"
	"coffer/server/client"
	"coffer/server/servertest"
)

// boot starts an instance on a data directory as it is found, and returns how
// to stop it.
func boot(t *testing.T, cfg server.Config) (*site, *server.Server, func()) {
	t.Helper()
	needsItsOwn(t)
	log := new(servertest.Log)
	cfg.Listen, cfg.PublicURL, cfg.Version = "127.0.0.1:0", ourPublicURL, "test"
	cfg.Log = server.LogConfig{Level: "debug", Format: "json", Output: log}
	srv, err := server.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- srv.Run(ctx) }()
	select {
	case <-srv.Ready():
	case err := <-ended:
		t.Fatal(err)
	}
	in := &servertest.Instance{URL: "http://" + srv.Addr(), Data: cfg.Data, Log: log,
		Operator: &client.Client{URL: "http://operator", Transport: srv.Operator()}}
	transport := &http.Transport{}
	stop := func() {
		transport.CloseIdleConnections()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := srv.Close(); err != nil {
			t.Error(err)
		}
	}
	return siteOf(in, transport), srv, stop
}

// says wants the instance to be in this state and to tell so everywhere.
func (s *site) says(t *testing.T, state string) {
	t.Helper()
	serving := map[bool]int{true: 200, false: 503}[state == "ok"]
	nobody := s.nobody()
	nobody.do(t, "GET /health", "").is(200, fmt.Sprintf(`{"status":%q,"version":"test"}`, state))
	nobody.do(t, "HEAD /health", "").ok(200)
	nobody.do(t, "GET /v1/health", "").is(serving, fmt.Sprintf(`{"version":"v1","status":%q,"timestamp":"<time>"}`, state))
	nobody.do(t, "HEAD /v1/health", "").ok(serving)
	nobody.do(t, "GET /ready", "").ok(serving)
	a := nobody.do(t, "GET /v1/sys/status", "").ok(200)
	a.same(fmt.Sprintf(`[%t,%t,"test"]`, state != "uninitialized", state != "ok"), []any{a.at("data.initialized"), a.at("data.sealed"), a.at("data.version")})
	nobody.do(t, "GET /errors/sealed", "").ok(200)
}

// isShut wants every other path of the API to answer 503, whoever asks for what.
func (s *site) isShut(t *testing.T, v *sample, callers ...*caller) {
	t.Helper()
	extra := []route{{call: "GET /v1/nowhere"}, {call: "PUT /v1/secrets/push"}, {call: "GET /v1"}, {call: "GET /v1/"}, {call: "GET /v1/vaults/a%2Fb/c"},
		{call: "POST /v1/secrets/push", body: strings.Repeat("x", maxBody+1)}, {call: "GET /v1/vaults?limit=0&limit=0"}}
	for _, r := range slices.Concat(extra, routes, integrationRoutes) {
		for _, c := range append(callers, s.nobody()) {
			a := c.do(t, v.fill(r.call), v.fill(r.body)).fails(503, "sealed")
			if got := a.header.Get("Retry-After"); got != "5" {
				t.Errorf("%s: Retry-After %q", r.call, got)
			}
		}
	}
}

func TestASealedInstanceAnswersNothingElse(t *testing.T) {
	t.Parallel()
	s := ownSite(t)
	ann := s.user(t, "ann")
	v := ann.sample(t)
	s.nobody().do(t, "POST /v1/sys/seal", "").fails(401, "unauthorized")
	ann.do(t, "POST /v1/sys/seal", "").fails(403, "forbidden")
	s.says(t, "ok")
	if err := s.Operator.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.says(t, "sealed")
	s.isShut(t, v, ann)
	ann.do(t, "POST /v1/sys/seal", "").fails(503, "sealed")
	ann.do(t, "POST /v1/sys/init", `{"claimToken":"x","keyFile":true}`).fails(409, "conflict")

	s.nobody().do(t, "POST /v1/sys/unseal", `{"key":"`+s.Recovery+`","passphrase":"x"}`).fails(422, "validation-error", "key:not_allowed")
	s.nobody().do(t, "POST /v1/sys/unseal", `{`).fails(400, "bad-request")
	s.says(t, "sealed")
	s.nobody().do(t, "POST /v1/sys/unseal", `{"key":"`+s.Recovery+`"}`).ok(204)
	s.says(t, "ok")
	ann.pull(t, v, "development", "").ok(200)
	s.nobody().do(t, "POST /v1/sys/unseal", "").ok(204)
	if err := s.Operator.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.nobody().do(t, "POST /v1/sys/unseal", "{}").ok(204) // with the key file that init recorded
	ann.pull(t, v, "development", "").ok(200)
}

func TestUnsealingFailsInThreeDifferentWays(t *testing.T) {
	t.Parallel()
	dir, keys := t.TempDir(), t.TempDir()
	keyFile := filepath.Join(keys, "coffer.key")
	details := make(map[string]string)
	failed := func(name string, s *site, body string) {
		a := s.nobody().do(t, "POST /v1/sys/unseal", body).fails(403, "forbidden")
		details[name] = a.text("detail")
		st := s.nobody().do(t, "GET /v1/sys/status", "")
		if st.text("data.lastError") != details[name] {
			t.Errorf("%s: status says %q, the error %q", name, st.text("data.lastError"), details[name])
		}
		s.says(t, "sealed")
	}

	_, srv, stop := boot(t, server.Config{Data: dir})
	if _, err := srv.Initialize(t.Context(), server.InitOptions{KeyFile: keyFile}); err != nil {
		t.Fatal(err)
	}
	stop()
	right, err := os.ReadFile(keyFile)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(keyFile); err != nil {
		t.Fatal(err)
	}
	s, _, stop := boot(t, server.Config{Data: dir})
	failed("missing", s, "")
	other := ownSite(t)
	failed("of another instance", s, `{"key":"`+other.Recovery+`"}`)
	if err := os.WriteFile(keyFile, right, 0o600); err != nil {
		t.Fatal(err)
	}
	s.nobody().do(t, "POST /v1/sys/unseal", "").ok(204)
	s.says(t, "ok")
	stop()

	s, srv, stop = boot(t, server.Config{Data: t.TempDir()})
	defer stop()
	if _, err := srv.Initialize(t.Context(), server.InitOptions{Passphrase: "the right passphrase"}); err != nil {
		t.Fatal(err)
	}
	if err := s.Operator.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	failed("wrong passphrase", s, `{"passphrase":"the wrong passphrase"}`)
	s.nobody().do(t, "POST /v1/sys/unseal", `{"passphrase":"the right passphrase"}`).ok(204)

	for name, word := range map[string]string{"missing": "missing", "of another instance": "another instance", "wrong passphrase": "rong passphrase"} {
		if !strings.Contains(details[name], word) {
			t.Errorf("%s: %q", name, details[name])
		}
	}
}

func TestAnInstanceIsInitializedOnceByWhoHasTheClaimToken(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, srv, stop := boot(t, server.Config{Data: dir})
	claim := srv.ClaimToken()
	s.says(t, "uninitialized")
	s.isShut(t, &sample{repo: "ann/api", secret: someID, version: someID, trashed: someID, key: someID}, s.nobody())
	init := func(body string) *answer { return s.nobody().do(t, "POST /v1/sys/init", body) }
	s.nobody().do(t, "POST /v1/sys/unseal", "").fails(503, "sealed")
	init("").fails(400, "bad-request")
	init(`{}`).fails(422, "validation-error", "claimToken:required", "passphrase:required")
	init(`{"claimToken":"x","passphrase":"short","admin":{"username":"a b","password":"short"}}`).
		fails(422, "validation-error", "passphrase:too_short", "admin.username:invalid_format", "admin.password:too_short")
	good := `{"claimToken":%q,"passphrase":"a long passphrase","admin":{"username":"root","password":"a long password"}}`
	init(fmt.Sprintf(good, "not the claim token")).fails(403, "forbidden")
	s.says(t, "uninitialized")
	a := init(fmt.Sprintf(good, claim)).holds(200, `{"recoveryKey":"<text>","fingerprint":"<text>"}`)
	s.says(t, "ok")
	init(fmt.Sprintf(good, claim)).fails(409, "conflict")
	root := api.IssueToken{Username: "root", Name: "n", Environment: "live", Scopes: []string{"read:secrets"}}
	if _, err := s.Operator.IssueToken(t.Context(), root); err != nil {
		t.Error(err)
	}
	stop()

	s, srv, stop = boot(t, server.Config{Data: dir})
	defer stop()
	s.says(t, "sealed")
	if srv.ClaimToken() != "" {
		t.Error("an initialised instance has a claim token")
	}
	s.nobody().do(t, "POST /v1/sys/init", fmt.Sprintf(good, claim)).fails(409, "conflict")
	s.nobody().do(t, "POST /v1/sys/unseal", `{"key":"`+a.text("data.recoveryKey")+`"}`).ok(204)
	s.says(t, "ok")
}
