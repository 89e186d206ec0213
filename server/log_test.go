package server_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"coffer/server"
	"coffer/server/api"
	"coffer/server/servertest"
)

// TestTheLogHoldsNoSecretAndTellsRequestsApart runs a story full of canaries, with
// everything logged that can be.
func TestTheLogHoldsNoSecretAndTellsRequestsApart(t *testing.T) {
	in := servertest.New(t, func(c *server.Config) { c.Metrics.Token = "c4n4ry-metrics" })
	ann := in.User("ann")
	in.Vault(ann, repo)
	in.Push(ann, repo, "production", map[string]string{"KEY": "c4n4ry-value"})
	in.Pull(ann, repo, "production")
	session := in.SignIn("ann")
	_, _ = session.Me(t.Context())
	_, _ = in.Client("c4n4ry-token-coffer_live_c4n4ry").Me(t.Context())
	_, _ = in.Client("coffer_live_c4n4ry0c4n4ry0c4n4ry0c4n4ry0c4n4").Me(t.Context())
	passphrase, key := api.NewSecret("c4n4ry passphrase"), api.NewSecret("AGE-SECRET-KEY-PQ-1C4N4RY")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{
		"/setup#claim=c4n4ry", "/v1/secrets/pull?token=c4n4ry", "/login/callback?code=c4n4ry&state=c4n4ry", "/c4n4ry", "/metrics", "/login",
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, in.URL+path, nil)
		must(err)
		r.Header.Set("Cookie", "coffer_session=c4n4ry; coffer_login=c4n4ry")
		r.Header.Set("Authorization", "Bearer c4n4ry-bearer")
		r.Header.Set("X-Api-Key", "c4n4ry")
		res, err := http.DefaultClient.Do(r)
		must(err)
		_ = res.Body.Close()
	}
	must(in.Operator.Seal(t.Context()))
	_ = in.Client("").Unseal(t.Context(), api.Unseal{Passphrase: &passphrase})
	_ = in.Client("").Unseal(t.Context(), api.Unseal{Key: &key})
	must(in.Operator.Unseal(t.Context(), api.Unseal{}))

	log := in.Log.String()
	for _, secret := range []string{"c4n4ry", ann.Token, session.Token, in.Recovery, servertest.Password} {
		if strings.Contains(strings.ToLower(log), strings.ToLower(secret)) {
			t.Errorf("the log holds %s:\n%s", secret, log)
		}
	}
	ids := make(map[string]bool)
	for line := range strings.Lines(log) {
		var l struct {
			Msg, Request string
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if l.Msg != "request" {
			continue
		}
		if l.Request == "" || ids[l.Request] {
			t.Errorf("a request without an id of its own: %s", line)
		}
		ids[l.Request] = true
	}
	if len(ids) < 10 {
		t.Errorf("only %d requests were logged", len(ids))
	}
}

// TestWhatIsSaidOnBehalfOfARequestHasItsID asks a code host that does not answer.
func TestWhatIsSaidOnBehalfOfARequestHasItsID(t *testing.T) {
	in := servertest.New(t, func(c *server.Config) { c.Forge = server.ForgeConfig{Kind: "gitea", URL: "http://127.0.0.1:1"} })
	if _, err := in.Client("0123456789012345678901234567890123456789").Me(t.Context()); api.CodeOf(err) != api.Unavailable {
		t.Fatalf("got %v", err)
	}
	said := make(map[string]string)
	for line := range strings.Lines(in.Log.String()) {
		var l struct{ Msg, Request string }
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		said[l.Msg] = l.Request
	}
	if id := said["the code host did not answer"]; id == "" || id != said["request"] {
		t.Errorf("%v", said)
	}
}

// TestAnsweredProbesAreNoNews at the level that people run with.
func TestAnsweredProbesAreNoNews(t *testing.T) {
	in := servertest.New(t, func(c *server.Config) { c.Log.Level = "info" })
	ask := func(path string) {
		t.Helper()
		res, err := http.Get(in.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
	}
	for _, path := range []string{"/health", "/ready", "/v1/health"} {
		ask(path)
	}
	if log := in.Log.String(); strings.Contains(log, `"route":"/`) {
		t.Errorf("they fill the log: %s", log)
	}
	if err := in.Operator.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	ask("/ready")
	if log := in.Log.String(); !strings.Contains(log, `"route":"/ready","status":503`) {
		t.Errorf("a refused one is not there: %s", log)
	}
}
