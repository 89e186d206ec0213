package hostingtest_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"coffer/server/api"
	"coffer/server/hosting"
	"coffer/server/hosting/hostingtest"
	"coffer/server/standin"
)

func TestRailwayTellsTheKindsOfTokensApart(t *testing.T) {
	h := newRailway(t)
	second := h.fake.AddWorkspace("second")
	many := h.fake.AddUser("grace", h.workspace, second)
	production := h.find(t, h.Credential(), "", "production").Environment.ID
	account, workspace, one := h.fake.AccountToken(many, false), h.fake.WorkspaceToken(h.workspace), h.fake.ProjectToken(h.Project, "production")
	for name, c := range map[string]struct {
		token, team string
		want        hosting.Account
		err         error
	}{
		"an account's":                          {account, "", hosting.Account{UserID: many, UserName: "grace", Kind: "account"}, nil},
		"an account's, for a workspace":         {account, second, hosting.Account{UserID: many, UserName: "grace", TeamID: second, TeamName: "second", Kind: "account"}, nil},
		"an account's, for no workspace of its": {account, production, hosting.Account{}, hosting.ErrNotFound},
		"a workspace's":                         {workspace, "", hosting.Account{TeamID: h.workspace, TeamName: "acme", Kind: "workspace"}, nil},
		"a workspace's, for itself":             {workspace, h.workspace, hosting.Account{TeamID: h.workspace, TeamName: "acme", Kind: "workspace"}, nil},
		"a workspace's, for another":            {workspace, second, hosting.Account{}, hosting.ErrNotFound},
		"a project's":                           {one, "", hosting.Account{TeamID: production, TeamName: "shop (production)", Kind: "project"}, nil},
		"a project's, for its workspace":        {one, h.workspace, hosting.Account{}, hosting.ErrNotFound},
		"nobody's":                              {"never-was", "", hosting.Account{}, hosting.ErrCredential},
	} {
		got, err := h.Provider().Check(t.Context(), hosting.Credential{Token: api.NewSecret(c.token), Team: c.team})
		if got != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: %+v, error %v, want %+v, error %v", name, got, err, c.want, c.err)
		}
		if err != nil {
			continue
		}
		again, err := h.Provider().Check(t.Context(), hosting.Credential{Token: api.NewSecret(c.token), Team: got.TeamID, Kind: got.Kind})
		if again != got || err != nil {
			t.Errorf("%s, as it is kept: %+v, error %v", name, again, err)
		}
	}
}

func TestRailwayProjectsTokenReachesOneEnvironment(t *testing.T) {
	h := newRailway(t)
	h.Put("production", "KEY", "here")
	h.Put("staging", "KEY", "there")
	c := h.known(t, h.fake.ProjectToken(h.Project, "production"), "")
	h.Fake.Forget()
	p := h.Provider()
	all, err := p.Projects(t.Context(), c)
	if err != nil || len(all) != 3 {
		t.Fatalf("listed are %v, error %v, want what is shared and two services", all, err)
	}
	for _, one := range all {
		if len(one.Environments) != 1 || one.Environments[0].Name != "production" {
			t.Errorf("%q %q has the environments %v, want production", one.Name, one.ServiceName, one.Environments)
		}
	}
	here := h.find(t, c, h.Service, "production")
	listed, err := p.List(t.Context(), c, here)
	if err != nil || len(listed) != 1 || listed[0].Value.Reveal() != "here" {
		t.Errorf("listed are %v, error %v", listed, err)
	}
	done := func(o hosting.Outcome) error { return o.Err }
	if err := p.Write(t.Context(), c, here, []hosting.Write{{Key: "KEY", Value: api.NewSecret("new")}}, done); err != nil {
		t.Error(err)
	}
	there := here
	there.Environment = h.find(t, h.Credential(), h.Service, "staging").Environment
	if _, err := p.List(t.Context(), c, there); !errors.Is(err, hosting.ErrNotFound) {
		t.Errorf("listing the other environment: error %v, want %v", err, hosting.ErrNotFound)
	}
	err = p.Write(t.Context(), c, there, []hosting.Write{{Key: "KEY", Value: api.NewSecret("new")}}, done)
	if f := hosting.FailureOf(err); err == nil || f.Code != hosting.CodeForbidden {
		t.Errorf("writing to the other environment: error %v, want %s", err, hosting.CodeForbidden)
	}
	if got := h.Held("staging")["KEY"]; got != "there" {
		t.Errorf("the other environment holds %q", got)
	}
	for _, call := range h.Fake.Log() {
		asked := call.Header.Get("Authorization") != ""
		if token := call.Header.Get("Project-Access-Token"); token == c.Token.Reveal() && asked || token == "" && !asked {
			t.Errorf("%s was asked for with both headers or none", call.Query)
		}
	}
	h.Revoke(c)
	if _, err := p.List(t.Context(), c, here); !errors.Is(err, hosting.ErrCredential) {
		t.Errorf("after the token's end: error %v, want %v", err, hosting.ErrCredential)
	}
}

func TestRailwayListsEveryPageOfEveryList(t *testing.T) {
	h := newRailway(t)
	h.addProjects(3)
	elsewhere := h.fake.AddWorkspace("neighbours")
	shared := h.fake.AddProject(elsewhere, "together", "production", "staging")
	h.fake.AddService(shared, "both", "neighbours/both")
	h.fake.AddProject(elsewhere, "theirs", "production")
	h.fake.Invite(h.user, shared)
	for _, size := range []int{1, 2, 0} {
		h.Fake.SetPageSize(size)
		all, err := h.Provider().Projects(t.Context(), h.Credential())
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range all {
			var names []string
			for _, e := range p.Environments {
				names = append(names, e.Name)
			}
			got = append(got, strings.Join([]string{p.Name, p.ServiceName, p.Repository, strings.Join(names, "+")}, "|"))
		}
		want := []string{"shop|||production+staging", "shop|web|acme/shop|production+staging", "shop|worker||production+staging"}
		for _, name := range []string{"more-0", "more-1", "more-2"} {
			for _, service := range []string{"", "service-0", "service-1", "service-2"} {
				want = append(want, name+"|"+service+"||production+staging+development+preview")
			}
		}
		want = append(want, "together|||production+staging", "together|both|neighbours/both|production+staging")
		if !slices.Equal(got, want) {
			t.Errorf("in pages of %d, listed are\n%q, want\n%q", size, got, want)
		}
	}
	c := h.Credential()
	c.Team = elsewhere
	all, err := h.Provider().Projects(t.Context(), c)
	if err != nil || len(all) != 2 || all[0].ID != shared {
		t.Errorf("of the neighbours' workspace are listed %v, error %v", all, err)
	}
	c.Team = "another"
	if p, err := h.Provider().Find(t.Context(), c, h.Project, ""); !errors.Is(err, hosting.ErrNotFound) {
		t.Errorf("in another workspace %q is found, error %v", p.Name, err)
	}
}

// names are the names of projects, each once.
func names(all []hosting.Project) []string {
	var found []string
	for _, p := range all {
		if !slices.Contains(found, p.Name) {
			found = append(found, p.Name)
		}
	}
	return found
}

func TestRailwayWorkspaceThatIsLockedHidesNoOther(t *testing.T) {
	h := newRailway(t)
	locked, last := h.fake.AddWorkspace("locked"), h.fake.AddWorkspace("last")
	h.fake.AddProject(locked, "hidden", "production")
	h.fake.AddProject(last, "open", "production")
	h.user = h.fake.AddUser("grace", locked, h.workspace, last)
	h.fake.Lock(locked)
	all, err := h.Provider().Projects(t.Context(), h.Credential())
	if got := names(all); err != nil || !slices.Equal(got, []string{"shop", "open"}) {
		t.Errorf("listed are %q, error %v", got, err)
	}
}

// A token that ends in the middle of a list is no token that reaches less.
func TestRailwayTokenThatEndsEndsItsList(t *testing.T) {
	h := newRailway(t)
	for n := range 3 { // whose it is, what is in the workspace, what is in others
		c := h.Credential()
		h.Fake.Break("", standin.After(n, standin.Once(func(_ *standin.Fake, rw http.ResponseWriter, r *http.Request, next http.Handler) {
			h.Revoke(c)
			next.ServeHTTP(rw, r)
		})))
		all, err := h.Provider().Projects(t.Context(), c)
		h.Fake.Heal()
		if !errors.Is(err, hosting.ErrCredential) || all != nil {
			t.Errorf("at request %d: listed are %q, error %v", n+1, names(all), err)
		}
	}
}

func TestRailwayGrantForWorkspacesHasTheirProjects(t *testing.T) {
	h := newRailway(t)
	a := h.Provider().(hosting.Authorizer)
	address := strings.Replace(a.AuthorizeURL("state", railwayChallenge), "project%3Amember", "workspace%3Amember", 1)
	g, err := a.Exchange(t.Context(), h.OAuth.Authorize(address), railwayVerifier)
	if err != nil {
		t.Fatal(err)
	}
	all, err := a.Projects(t.Context(), h.known(t, g.Access.Reveal(), ""))
	if got := names(all); err != nil || !slices.Equal(got, []string{"shop"}) {
		t.Errorf("listed are %q, error %v", got, err)
	}
}

func TestRailwayGrantLastsForAnHour(t *testing.T) {
	for name, secret := range map[string]string{"an application with a secret": "railway-client-secret", "a public one": ""} {
		h := newRailway(t)
		h.fake.App.ClientSecret = secret
		a := h.Provider().(hosting.Authorizer)
		g, err := a.Exchange(t.Context(), h.OAuth.Authorize(a.AuthorizeURL("state", railwayChallenge)), railwayVerifier)
		if err != nil {
			t.Fatal(name, err)
		}
		if left := g.Expires.Sub(h.fake.Now()); left > time.Hour || left < time.Hour-time.Minute {
			t.Errorf("%s: a grant ends after %v", name, left)
		}
		c := h.known(t, g.Access.Reveal(), "")
		if all, err := a.Projects(t.Context(), c); err != nil || len(all) != 3 || c.Kind != "account" {
			t.Errorf("%s: the projects of a grant of kind %q are %v, error %v", name, c.Kind, all, err)
		}
		h.fake.Pass(time.Hour)
		if _, err := a.Projects(t.Context(), c); !errors.Is(err, hosting.ErrCredential) {
			t.Errorf("%s: after an hour: error %v, want %v", name, err, hosting.ErrCredential)
		}
		if g, err = a.Refresh(t.Context(), g.Refresh); err != nil {
			t.Fatal(name, err)
		}
		c.Token = g.Access
		if _, err := a.Projects(t.Context(), c); err != nil {
			t.Errorf("%s: after a refresh: %v", name, err)
		}
	}
}

const (
	railwayVerifier  = "a-verifier-of-more-than-forty-three-characters-0123456789"
	railwayChallenge = "KqzFVVoj1xIeRMaYoKBsIWuO4_VBBpZdnQDgP3WuG_k"
)

// A refresh token that is sent twice ends the grant, so it must not be, even if
// nobody knows what became of it.
func TestRailwayRefreshTokenIsSentOnce(t *testing.T) {
	h := newRailway(t)
	a := h.Provider().(hosting.Authorizer)
	g, err := a.Exchange(t.Context(), h.OAuth.Authorize(a.AuthorizeURL("state", railwayChallenge)), railwayVerifier)
	if err != nil {
		t.Fatal(err)
	}
	h.Fake.Forget()
	h.Fake.Break("/oauth", standin.CutOff)
	_, err = a.Refresh(t.Context(), g.Refresh)
	if _, silent := errors.AsType[*hosting.Unavailable](err); !silent || h.Fake.Calls("POST /oauth/token") != 1 {
		t.Errorf("it was sent %d times, error %v", h.Fake.Calls("POST /oauth/token"), err)
	}
}

func TestRailwayWithoutAnApplicationOffersNoAuthorization(t *testing.T) {
	p, err := hosting.New(hosting.Config{Name: hosting.Railway})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := p.(hosting.Authorizer); ok || p.Describe().OAuth || p.Describe().PKCE {
		t.Error("it says that users can authorize")
	}
}

// The stand-in must be as strict as the server, or it proves nothing.
func TestRailwayStandInRefusesWhatTheServerRefuses(t *testing.T) {
	h := newRailway(t)
	token := h.Credential().Token.Reveal()
	input := map[string]any{"projectId": h.Project, "environmentId": "x", "variables": map[string]any{}}
	with := func(name string, value any) map[string]any {
		return map[string]any{"input": map[string]any{"projectId": h.Project, "environmentId": "x", "variables": map[string]any{}, name: value}}
	}
	const upsert = `mutation o($input: VariableCollectionUpsertInput!) { variableCollectionUpsert(input: $input) }`
	for name, c := range map[string]struct {
		text      string
		variables map[string]any
		status    int
		code      string
	}{
		"a field that is none":       {`query o { me { id nickname } }`, nil, 400, "GRAPHQL_VALIDATION_FAILED"},
		"an object without a choice": {`query o { me }`, nil, 400, "GRAPHQL_VALIDATION_FAILED"},
		"an argument that is none":   {`query o { project(id: "x", name: "y") { id } }`, nil, 400, "GRAPHQL_VALIDATION_FAILED"},
		"no text":                    {`query o {`, nil, 400, "GRAPHQL_PARSE_FAILED"},
		"a member that is none":      {upsert, with("deploy", true), 400, "BAD_USER_INPUT"},
		"a wrong type":               {upsert, with("replace", "no"), 400, "BAD_USER_INPUT"},
		"a variable that is missing": {upsert, nil, 400, "BAD_USER_INPUT"},
		"a place that is none":       {upsert, map[string]any{"input": input}, 200, "INTERNAL_SERVER_ERROR"},
	} {
		status, code := railwayPost(t, h.Fake.URL+"/graphql/v2?query=o", token, c.text, c.variables)
		if status != c.status || code != c.code {
			t.Errorf("%s: %d %q, want %d %q", name, status, code, c.status, c.code)
		}
	}
	if status, _ := railwayPost(t, h.Fake.URL+"/graphql/v2", token, `query o { me { id } }`, nil); status != 429 {
		t.Errorf("an address without a query: %d, want 429", status)
	}
	if _, code := railwayPost(t, h.Fake.URL+"/graphql/v2?query=o", h.fake.WorkspaceToken(h.workspace), `query o { me { id } }`, nil); code == "" {
		t.Error("a workspace's token is somebody's")
	}
	if hostingtest.RailwaySchema.Types["Variable"] == nil {
		t.Error("the schema has no variables")
	}
}
