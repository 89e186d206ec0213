package forgetest_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"coffer/server/forge"
	"coffer/server/forge/forgetest"
	"coffer/server/standin"
)

// TestGitHubAnswersAsDescribed holds every answer that the rules get to see
// against GitHub's own description, of github.com and of Enterprise Server.
func TestGitHubAnswersAsDescribed(t *testing.T) {
	for _, name := range []string{"api.github.com", "ghes-3.19"} {
		t.Run(name, func(t *testing.T) {
			doc, err := openapi3.NewLoader().LoadFromFile(standin.Described(t, "@octokit/openapi", "generated", name+".json"))
			if err != nil {
				t.Fatal(err)
			}
			d := described{mu: &sync.Mutex{}, doc: doc, seen: map[string]int{}, wrong: map[string]string{}}
			observed := func(t *testing.T) *forgetest.Host {
				h, g := newGitHub(t, true)
				g.Observe = d.observe
				return h
			}
			for _, rule := range forgetest.Rules() {
				if !strings.Contains(rule.Name, "ten thousand") {
					forgetest.Broken(t, observed, rule.Name)
				}
			}
			d.observeRest(t)
			for what, why := range d.wrong {
				t.Errorf("%s: %s", what, why)
			}
			for what, n := range d.seen {
				t.Logf("%5d %s", n, what)
			}
		})
	}
}

// described compares answers with a description.
type described struct {
	mu    *sync.Mutex
	doc   *openapi3.T
	seen  map[string]int // by operation and status
	wrong map[string]string
}

// aliases are addresses that GitHub redirects to, and does not describe.
var aliases = [][2]string{{"/repositories/", "/repos/o/"}, {"/organizations/", "/orgs/"}}

func (d described) observe(r *http.Request, answer *httptest.ResponseRecorder) {
	path := r.URL.Path
	for _, a := range aliases {
		if rest, ok := strings.CutPrefix(path, a[0]); ok {
			path = a[1] + rest
		}
	}
	template := standin.Template(maps.Keys(d.doc.Paths.Map()), path)
	d.mu.Lock()
	defer d.mu.Unlock()
	what := fmt.Sprintf("%s %s %d", r.Method, template, answer.Code)
	d.seen[what]++
	if d.seen[what] > 50 {
		return // more of the same
	}
	if why := d.fault(r.Method, template, answer); why != "" {
		d.wrong[what] = why
	}
}

func (d described) fault(method, template string, answer *httptest.ResponseRecorder) string {
	item := d.doc.Paths.Value(template)
	if item == nil || item.GetOperation(method) == nil {
		return "there is no such operation"
	}
	responses := item.GetOperation(method).Responses
	response := responses.Status(answer.Code)
	switch {
	case response == nil && answer.Code == http.StatusUnauthorized:
		return "" // a bad token may meet every operation, and only some are described with it
	case response == nil:
		return "there is no such status"
	}
	media := response.Value.Content.Get("application/json")
	if media == nil {
		if answer.Body.Len() > 0 && answer.Code != http.StatusNotFound {
			return "there should be no body"
		}
		return ""
	}
	var body any
	if err := json.Unmarshal(answer.Body.Bytes(), &body); err != nil {
		return err.Error()
	}
	schema := media.Schema.Value
	if template == "/app/installations" {
		// There the description wants the account to be a user and an enterprise
		// at once; everywhere else it is one of them.
		schema = openapi3.NewArraySchema()
		schema.Items = d.doc.Components.Schemas["installation"]
	}
	err := schema.VisitJSON(body, openapi3.VisitAsResponse(), openapi3.EnableFormatValidation())
	if wrong, ok := errors.AsType[*openapi3.SchemaError](err); ok {
		for inner, ok := errors.AsType[*openapi3.SchemaError](wrong.Origin); ok; inner, ok = errors.AsType[*openapi3.SchemaError](wrong.Origin) {
			wrong = inner
		}
		return fmt.Sprintf("at /%s: %s", strings.Join(wrong.JSONPointer(), "/"), wrong.Reason)
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// observeRest asks what the client has no need to ask.
func (d described) observeRest(t *testing.T) {
	_, g := newGitHub(t, true)
	g.Observe = d.observe
	w := g.World
	ada := w.AddUser("ada")
	org := w.AddOrg("acme", ada)
	repo := w.AddRepo(org, "engine", forgetest.Internal)
	w.SetCustomRole(repo, w.AddUser("bob"), forge.Maintain, "releaser")
	g.InstallOnEnterprise(77)
	g.Suspend(ada)
	token, fine := w.Token(ada, forgetest.PAT, "repo", "read:org"), w.Token(ada, forgetest.FineGrained)
	jwt, err := g.Sign(g.App.ClientID, w.Now(), w.Now().Add(9*60e9))
	if err != nil {
		t.Fatal(err)
	}
	for path, with := range map[string]string{
		"/": "", "/user": token, "/users/ada": "", "/users/nobody": "", "/user/orgs": fine, "/user/repos": token, "/orgs/acme": token,
		"/app": jwt, "/app/installations": jwt, "/orgs/acme/installation": jwt, "/users/ada/installation": jwt,
		"/repos/acme/engine/installation": jwt, "/repos/acme/engine/collaborators": token, "/repos/acme/engine/collaborators/bob/permission": token,
		"/repos/acme/engine": token, "/user/memberships/orgs/acme": token,
	} {
		req, err := http.NewRequest(http.MethodGet, g.URL+"/api/v3"+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if with != "" {
			req.Header.Set("Authorization", "Bearer "+with)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if want := http.StatusOK; res.StatusCode != want && path != "/users/nobody" {
			t.Errorf("%s: status %d", path, res.StatusCode)
		}
	}
}
