package hostingtest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi2"
	"github.com/getkin/kin-openapi/openapi2conv"
	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"
)

// descriptions is a folder node_modules with the packages that hold the
// providers' own descriptions.
func descriptions(t *testing.T, name ...string) []byte {
	t.Helper()
	dir := os.Getenv("COFFER_DESCRIPTIONS")
	if dir == "" {
		t.Skip("COFFER_DESCRIPTIONS is not set to a folder node_modules with the providers' own descriptions")
	}
	text, err := os.ReadFile(filepath.Join(append([]string{dir}, name...)...))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// netlifyDescribed holds requests and answers against Netlify's description.
type netlifyDescribed struct {
	router routers.Router

	mu    sync.Mutex
	seen  map[string]int // by operation and status
	wrong map[string]string
}

func newNetlifyDescribed(t *testing.T) *netlifyDescribed {
	var old openapi2.T
	if err := json.Unmarshal(descriptions(t, "@netlify", "open-api", "dist", "swagger.json"), &old); err != nil {
		t.Fatal(err)
	}
	doc, err := openapi2conv.ToV3(&old)
	if err != nil {
		t.Fatal(err)
	}
	for path := range doc.Paths.Map() {
		if strings.Contains(path, "/database") {
			doc.Paths.Delete(path) // two of them are the same to a router
		}
	}
	doc.Servers = openapi3.Servers{{URL: "/api/v1"}}
	router, err := legacy.NewRouter(doc)
	if err != nil {
		t.Fatal(err)
	}
	return &netlifyDescribed{router: router, seen: map[string]int{}, wrong: map[string]string{}}
}

func (d *netlifyDescribed) observe(r *http.Request, answer *httptest.ResponseRecorder) {
	if !strings.HasPrefix(r.URL.Path, "/api/v1/") {
		return // the description knows no tokens for codes
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	route, parameters, err := d.router.FindRoute(r)
	if err != nil {
		d.wrong[r.Method+" "+r.URL.Path] = err.Error()
		return
	}
	what := fmt.Sprintf("%s %s %d", r.Method, route.Path, answer.Code)
	if d.seen[what]++; d.seen[what] > 50 {
		return // more of the same
	}
	in := &openapi3filter.RequestValidationInput{
		Request: r, PathParams: parameters, Route: route,
		Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, IncludeResponseStatus: true},
	}
	if answer.Code/100 == 2 {
		if err := openapi3filter.ValidateRequest(r.Context(), in); err != nil {
			d.wrong[what] = "request: " + err.Error()
		}
	}
	out := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: in, Status: answer.Code, Header: answer.Header(),
		Body: io.NopCloser(bytes.NewReader(asDescribed(answer.Body.Bytes()))), Options: in.Options,
	}
	if err := openapi3filter.ValidateResponse(r.Context(), out); err != nil {
		d.wrong[what] = "answer: " + err.Error()
	}
}

// asDescribed spells what Netlify's own client says to be described wrongly in
// the way of the description: a scope, and what an error's text is called where
// variables are concerned.
func asDescribed(body []byte) []byte {
	body = bytes.ReplaceAll(body, []byte(`"post_processing"`), []byte(`"post-processing"`))
	return bytes.ReplaceAll(body, []byte(`"msg":`), []byte(`"message":`))
}

// TestNetlifyIsAsDescribed holds whatever the tests above ask and are answered
// against Netlify's own description.
func TestNetlifyIsAsDescribed(t *testing.T) {
	d := newNetlifyDescribed(t)
	h := newNetlify(t)
	h.fake.Observe = d.observe
	h.Foreign()
	h.fake.Set(h.Project, "all", "SHARED", "for-all-of-them")
	h.fake.Set(h.Project, "branch:next", "SHARED", "for-next-alone")
	h.fake.Hide(h.Project, "production", "SECRET", "a-long-secret-value")
	h.AddProjects(7)
	h.Fake.SetPageSize(3)
	r := h.run(t, "production")
	if all, err := r.p.Projects(t.Context(), r.c); err != nil || len(all) != 8 {
		t.Errorf("%d projects, %v", len(all), err)
	}
	r.c.Team = h.team
	if _, err := r.p.Check(t.Context(), r.c); err != nil {
		t.Error(err)
	}
	r.list(t)
	r.write(t, map[string]string{"SHARED": "for-production", "SECRET": "another-secret-value", "NEW": "", "OTHER": "new-value"})
	if _, err := r.try(t.Context(), map[string]string{"SITE_NAME": "refused-by-name"}); err != nil {
		t.Error(err)
	}
	r.remove(t, "SHARED", "NEW")
	netlifyRest(t, h)

	for what, why := range d.wrong {
		t.Errorf("%s: %s", what, why)
	}
	var seen []string
	for what := range d.seen {
		seen = append(seen, what)
	}
	slices.Sort(seen)
	t.Logf("%d: %s", len(seen), strings.Join(seen, ", "))
	for _, what := range []string{
		"GET /user 200", "GET /accounts 200", "GET /sites 200", "GET /sites/{site_id} 200", "GET /sites/{site_id} 404",
		"GET /accounts/{account_id}/env 200", "GET /accounts/{account_id}/env 401", "GET /accounts/{account_id}/env 403",
		"POST /accounts/{account_id}/env 201", "POST /accounts/{account_id}/env 403", "POST /accounts/{account_id}/env 422",
		"GET /accounts/{account_id}/env/{key} 200", "GET /accounts/{account_id}/env/{key} 404", "PATCH /accounts/{account_id}/env/{key} 201",
		"PATCH /accounts/{account_id}/env/{key} 422", "PUT /accounts/{account_id}/env/{key} 200", "DELETE /accounts/{account_id}/env/{key} 204",
		"DELETE /accounts/{account_id}/env/{key}/value/{id} 204",
	} {
		if d.seen[what] == 0 {
			t.Errorf("not seen: %s", what)
		}
	}
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
