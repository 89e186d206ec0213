package hostingtest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"coffer/server/hosting/hostingtest"
	"coffer/server/standin"
)

// vercelOperation is where @vercel/sdk describes an operation. An answer that is
// not described beside its request has a place of its own.
type vercelOperation struct {
	File   string   `json:"file"`
	Name   string   `json:"name"`
	Answer []string `json:"answer,omitempty"`
}

var vercelOperations = map[string]vercelOperation{
	"GET /v2/user":               {File: "getauthuserop", Name: "getAuthUser"},
	"GET /v2/teams":              {File: "getteamsop", Name: "getTeams"},
	"GET /v2/teams/{team}":       {File: "getteamop", Name: "getTeam", Answer: []string{"team", "Team$inboundSchema"}},
	"GET /v10/projects":          {File: "getprojectsresponsebodyprojectsconsolidatedgitcommitstatus", Name: "getProjects", Answer: []string{"getprojectsresponsebody", "GetProjectsResponseBody$inboundSchema"}},
	"GET /v9/projects/{project}": {File: "getprojecthas2", Name: "getProject", Answer: []string{"getprojectresponsebody", "GetProjectResponseBody$inboundSchema"}},
	"GET /v9/projects/{project}/custom-environments": {File: "getprojectsbyidornamecustomenvironmentsop", Name: "getProjectsByIdOrNameCustomEnvironments"},
	"GET /v10/projects/{project}/env":                {File: "filterprojectenvsop", Name: "filterProjectEnvs"},
	"GET /v1/projects/{project}/env/{id}":            {File: "getprojectenvop", Name: "getProjectEnv"},
	"POST /v10/projects/{project}/env":               {File: "createprojectenvop", Name: "createProjectEnv"},
	"PATCH /v9/projects/{project}/env/{id}":          {File: "editprojectenvop", Name: "editProjectEnv"},
	"DELETE /v9/projects/{project}/env/{id}":         {File: "removeprojectenvop", Name: "removeProjectEnv"},
	"DELETE /v1/projects/{project}/env":              {File: "batchremoveprojectenvop", Name: "batchRemoveProjectEnv"},
}

// vercelExchange is a request with its answer.
type vercelExchange struct {
	What      string          `json:"what"`
	Operation vercelOperation `json:"operation"`
	Query     []string        `json:"query"`
	Body      json.RawMessage `json:"body,omitempty"`
	Answer    json.RawMessage `json:"answer"`
}

// vercelTape records what was asked with success, each kind of it some times.
type vercelTape struct {
	mu   sync.Mutex
	all  []vercelExchange
	seen map[string]int
}

func (v *vercelTape) observe(r *http.Request, pattern string, answer *httptest.ResponseRecorder) {
	v.mu.Lock()
	defer v.mu.Unlock()
	operation, known := vercelOperations[pattern]
	if v.seen[pattern]++; !known || answer.Code/100 != 2 || v.seen[pattern] > 200 {
		return
	}
	x := vercelExchange{What: pattern, Operation: operation, Query: []string{}, Answer: bytes.Clone(answer.Body.Bytes())}
	for _, name := range slices.Sorted(maps.Keys(r.URL.Query())) {
		// Lists of variables have a next page, but no parameter is described that
		// asks for it: it is that of all other lists.
		if name != "until" {
			x.Query = append(x.Query, name)
		}
	}
	if text := vercelBodyOf(r); text != "" {
		x.Body = json.RawMessage(text)
	}
	v.all = append(v.all, x)
}

// TestVercelIsAsDescribed holds what our client asks and what the stand-in
// answers against the schemas of Vercel's own client.
func TestVercelIsAsDescribed(t *testing.T) {
	sdk := standin.Described(t, "@vercel/sdk")
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is missing, which reads @vercel/sdk")
	}
	tape := &vercelTape{seen: map[string]int{}}
	vercelAskAll(t, tape)
	for pattern := range vercelOperations {
		if tape.seen[pattern] == 0 {
			t.Errorf("nobody asked %s", pattern)
		}
	}
	text, err := json.Marshal(tape.all)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), node, filepath.Join("testdata", "vercel.mjs"), sdk)
	cmd.Stdin = bytes.NewReader(text)
	var said, wrong bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &wrong
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, wrong.String())
	}
	seen := map[string]bool{}
	for line := range strings.Lines(said.String()) {
		if !seen[line] {
			t.Error(strings.TrimSpace(line))
		}
		seen[line] = true
	}
	t.Logf("%d requests with their answers", len(tape.all))
}

// vercelAskAll asks everything that a client has to ask, and is answered in every
// form.
func vercelAskAll(t *testing.T, tape *vercelTape) {
	for _, form := range []hostingtest.VercelForm{hostingtest.VercelPages, hostingtest.VercelWhole, hostingtest.VercelBare} {
		w := newVercel(t)
		w.Observe = tape.observe
		w.SetForm(form)
		w.token.Integration = form == hostingtest.VercelWhole
		w.Link(w.project, map[string]any{
			"type": "github", "org": "acme", "repo": "engine", "deployHooks": []any{}, "gitCredentialId": "", "productionBranch": "main",
		})
		if form == hostingtest.VercelBare {
			w.Terse(w.project)
		}
		p, c, at := w.scene(t, "production")
		for _, team := range []string{c.Team, ""} {
			c := c
			c.Team = team
			if _, err := p.Check(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			if _, err := p.Projects(t.Context(), c); err != nil {
				t.Fatal(err)
			}
		}
		vercelWrite(t, p, c, at, map[string]string{"FIRST": "1"})
		vercelList(t, p, c, at) // there is one
		w.AddRecord(w.project, vercelRecord{Key: "SHARED", Value: "s", Type: "sensitive", Targets: vercelBoth, Comment: "ours", Custom: []string{w.canary}})
		w.AddRecord(w.project, vercelRecord{Key: "BRANCH", Value: "b", Targets: []string{"preview"}, Branch: "feature"})
		w.AddRecord(w.project, vercelRecord{Key: "STORE", Value: "b", Targets: vercelBoth, Hint: true})
		w.AddRecord(w.project, vercelRecord{Key: "INTEGRATION", Value: "b", Targets: vercelBoth, Integration: "icfg_2"})
		w.AddRecord(w.project, vercelRecord{Key: "SYSTEM", Value: "VERCEL_URL", Targets: vercelBoth, Type: "system"})
		for i, environment := range []string{"production", "preview", "development", "canary"} {
			at := w.target(t, p, c, environment)
			if _, err := vercelWrite(t, p, c, at, map[string]string{"FIRST": "2", "SHARED": fmt.Sprint(i), "TZ": "x", "EMPTY": ""}); err != nil {
				t.Fatal(err)
			}
			if _, err := vercelRemove(t, p, c, at, "SHARED", "EMPTY"); err != nil {
				t.Fatal(err)
			}
		}
		vercelDeleteOne(t, w, c.Token.Reveal())
	}
}

// vercelDeleteOne asks for what our client does not need: it deletes many at once.
func vercelDeleteOne(t *testing.T, w *vercelWorld, token string) {
	id := w.AddRecord(w.project, vercelRecord{Key: "ONE", Value: "1", Targets: vercelBoth})
	req, err := http.NewRequest(http.MethodDelete, w.URL+"/v9/projects/"+w.project+"/env/"+id+"?teamId="+w.team, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if _ = res.Body.Close(); res.StatusCode != http.StatusOK {
		t.Errorf("status %d", res.StatusCode)
	}
}
