package hostingtest_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi2"
	"github.com/getkin/kin-openapi/openapi2conv"
	"github.com/getkin/kin-openapi/openapi3"

	"coffer/server/hosting/hostingtest"
	"coffer/server/standin"
)

// netlifyDescription is Netlify's own.
func netlifyDescription(t *testing.T) *openapi3.T {
	t.Helper()
	text, err := os.ReadFile(standin.Described(t, "@netlify/open-api", "dist", "swagger.json"))
	if err != nil {
		t.Fatal(err)
	}
	var old openapi2.T
	if err := json.Unmarshal(text, &old); err != nil {
		t.Fatal(err)
	}
	doc, err := openapi2conv.ToV3(&old)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// observeNetlify spells what Netlify's own client says to be described wrongly in
// the way of the description: a scope, and what an error's text is called where
// variables are concerned.
func (d *described) observeNetlify(r *http.Request, answer *httptest.ResponseRecorder) {
	if !strings.HasPrefix(r.URL.Path, "/api/v1/") {
		return // it knows no tokens for codes
	}
	body := bytes.ReplaceAll(answer.Body.Bytes(), []byte(`"post_processing"`), []byte(`"post-processing"`))
	body = bytes.ReplaceAll(body, []byte(`"msg":`), []byte(`"message":`))
	d.observe(r, &httptest.ResponseRecorder{Code: answer.Code, Body: bytes.NewBuffer(body)})
}

// TestNetlifyIsAsDescribed holds every request and answer that the rules get to
// see against Netlify's own description, and what the client has no need to ask.
func TestNetlifyIsAsDescribed(t *testing.T) {
	d := newDescribed(netlifyDescription(t))
	d.rewrite = func(path string) string { return strings.TrimPrefix(path, "/api/v1") }
	observed := func(t *testing.T) *netlifyHost {
		h := newNetlify(t)
		h.fake.Observe = d.observeNetlify
		return h
	}
	for _, rule := range hostingtest.Rules() {
		if !slices.Contains(slow, rule.Name) {
			hostingtest.Broken(t, func(t *testing.T) *hostingtest.Host { return observed(t).Host }, rule.Name)
		}
	}
	h := observed(t)
	h.fake.Set(h.Project, "production", "OTHER", "some-value")
	netlifyRest(t, h)
	d.report(t,
		"GET /user 200", "GET /accounts 200", "GET /sites 200", "GET /sites/{site_id} 200", "GET /sites/{site_id} 404",
		"GET /accounts/{account_id}/env 200", "GET /accounts/{account_id}/env 401", "GET /accounts/{account_id}/env 403",
		"POST /accounts/{account_id}/env 201", "POST /accounts/{account_id}/env 403", "POST /accounts/{account_id}/env 422",
		"GET /accounts/{account_id}/env/{key} 200", "GET /accounts/{account_id}/env/{key} 404", "PATCH /accounts/{account_id}/env/{key} 201",
		"PATCH /accounts/{account_id}/env/{key} 422", "PUT /accounts/{account_id}/env/{key} 200", "DELETE /accounts/{account_id}/env/{key} 204",
		"DELETE /accounts/{account_id}/env/{key}/value/{id} 204",
	)
}

// netlifyRest asks what the client has no need to ask.
func netlifyRest(t *testing.T, h *netlifyHost) {
	token := h.Credential().Token.Reveal()
	guest := h.fake.AddUser("guest")
	h.fake.Invite(guest, h.Project)
	env, site := "/accounts/"+h.team+"/env", "?site_id="+h.Project
	for _, ask := range []struct {
		token, method, path, body string
		status                    int
	}{
		{"", "GET", env, "", 401},
		{h.fake.Token(guest), "GET", env, "", 403},
		{token, "GET", "/sites/nowhere", "", 404},
		{token, "GET", env + "/nothing" + site, "", 404},
		{token, "POST", env + site, `[{"key":"SCOPED","scopes":["builds"],"values":[{"context":"all","value":"x"}]}]`, 403},
		{token, "POST", env + site, `{"key":"ALONE","values":[{"context":"all","value":"x"}]}`, 400},
		{token, "POST", env + site, `[{"key":"OTHER","values":[{"context":"all","value":"x"}]}]`, 422},
		{token, "POST", env + site, `[{"key":"HERE","values":[{"context":"local","value":"x"}]}]`, 422},
		{token, "POST", env + site, `[{"key":"ODD","values":[{"context":"all","value":1}]}]`, 400},
		{token, "POST", env + site, `[{"key":"ODD","value":"x"}]`, 400},
		{token, "POST", env + site, `[{"key":"HIDDEN","is_secret":true,"scopes":["builds","functions","runtime"],"values":[{"context":"all","value":"x"}]}]`, 422},
		{token, "POST", env + site, `[{"key":"HIDDEN","is_secret":true,"scopes":["builds","functions","runtime"],"values":[{"context":"dev","value":"x"}]}]`, 422},
		{token, "POST", env + site, `[{"key":"HIDDEN","is_secret":true,"values":[{"context":"production","value":"x"}]}]`, 422},
		{token, "POST", env + site, `[{"key":"HIDDEN","is_secret":true,"scopes":["runtime","builds","functions"],"values":[{"context":"production","value":"x"}]}]`, 201},
		{token, "PATCH", env + "/HIDDEN" + site, `{"context":"all","value":"x"}`, 422},
		{token, "PATCH", env + "/HIDDEN" + site, `{"context":"branch","value":"x"}`, 422},
		{token, "PATCH", env + "/HIDDEN" + site, `{"context":"branch","context_parameter":"next","value":"x"}`, 201},
		{token, "PATCH", env + "/HIDDEN" + site, `{"context":"dev","value":"x"}`, 201},
		{token, "PUT", env + "/HIDDEN" + site, `{"key":"HIDDEN","values":[{"context":"production","value":"x"}]}`, 422},
		{token, "PUT", env + "/OTHER" + site, `{"key":"OTHER","values":[{"context":"dev","value":"x"}]}`, 200},
		{token, "GET", env + "/OTHER" + site, "", 200},
		{token, "DELETE", env + "/OTHER/value/nothing" + site, "", 404},
		{token, "DELETE", env + "/OTHER" + site, "", 204},
	} {
		req, err := http.NewRequest(ask.method, h.Fake.URL+"/api/v1"+ask.path, strings.NewReader(ask.body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		if ask.token != "" {
			req.Header.Set("Authorization", "Bearer "+ask.token)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != ask.status {
			t.Errorf("%s %s %s: status %d, want %d", ask.method, ask.path, ask.body, res.StatusCode, ask.status)
		}
	}
	h.values(t, "HIDDEN", map[string]string{"production": "x", "branch:next": "x", "dev": "x"})
}

// TestNetlifyIsStrict asks it what a client must not rely on.
func TestNetlifyIsStrict(t *testing.T) {
	h := newNetlify(t)
	h.fake.Set(h.Project, "production", "OTHER", "some-value")
	netlifyRest(t, h)
}
