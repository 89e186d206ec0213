package server_test

import (
	"context"
	"fmt"
	"html"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"coffer/server"
	"coffer/server/api"
	"coffer/server/forge"
	"coffer/server/servertest"
)

// links are where the links of a page's content lead to that begin so.
func links(s *servertest.Seen, prefix string) string {
	_, main, _ := strings.Cut(s.Text, `<main id="main">`)
	var all []string
	for _, m := range regexp.MustCompile(`href="([^"]+)"`).FindAllStringSubmatch(main, -1) {
		if to := html.UnescapeString(m[1]); strings.HasPrefix(to, prefix) {
			all = append(all, to)
		}
	}
	return strings.Join(all, " ")
}

// town is an instance with two vaults of ann's, of which bob may read one.
func town(t *testing.T, options ...func(*server.Config)) *servertest.Instance {
	t.Helper()
	in := servertest.New(t, options...)
	ann := in.User("ann")
	in.User("bob")
	in.Vault(ann, "ann/api")
	in.Vault(ann, "ann/web")
	in.Grant("ann/api", "bob", "read")
	in.Push(ann, "ann/api", "development", map[string]string{"DB_URL": "canary-same", "DB_HOST": "canary-1", "LOCAL": "canary"})
	in.Push(ann, "ann/api", "staging", map[string]string{"DB_URL": "canary-same", "DB_HOST": "canary-2"})
	in.Push(ann, "ann/api", "production", map[string]string{"DB_URL": "canary-same", "DB_HOST": "canary-1", "LIVE_KEY": "canary"})
	time.Sleep(2 * time.Millisecond) // the order of two changes in one millisecond is not that of time
	in.Push(ann, "ann/web", "development", map[string]string{"COLOR": "canary"})
	return in
}

func TestTheFirstPageListsVaults(t *testing.T) {
	in := town(t)
	expect(t, in.Browser().Open("/?q=db"), 303, "/login?return=%2F%3Fq%3Ddb")
	ann, bob := inBrowser(in, "ann"), inBrowser(in, "bob")
	s := expectSeen(t, ann.Open("/"), 200, "production: 3 secrets", "staging: 2 secrets", "8 secrets", "your role: admin", "private", "just now")
	if got := links(s, "/"); got != "/vaults/ann/web /vaults/ann/api" {
		t.Errorf("latest change first: %s", got)
	}
	if got := current(s); got != "Vaults page" {
		t.Errorf("it is at %q", got)
	}
	s = expectSeen(t, bob.Open("/"), 200, "development: 3 secrets", "5 secrets", "your role: read")
	if got := links(s, "/"); got != "/vaults/ann/api" || strings.Contains(s.Text, "production") {
		t.Errorf("who may read less sees %s in %s", got, s.Text)
	}
	in.User("eve")
	expectSeen(t, inBrowser(in, "eve").Open("/"), 200, "There is no vault yet that you can reach.")
}

// TestVaultsAreFoundByTheirKeys, but only by those that somebody may read.
func TestVaultsAreFoundByTheirKeys(t *testing.T) {
	in := town(t)
	for _, tt := range []struct{ user, query, links string }{
		{"ann", "db", "/vaults/ann/api /vaults/ann/api?q=DB_HOST /vaults/ann/api?q=DB_URL"},
		{"ann", "+WEB+", "/vaults/ann/web"},
		{"ann", "NN/A", "/vaults/ann/api"},
		{"ann", "live_k", "/vaults/ann/api /vaults/ann/api?q=LIVE_KEY"},
		{"bob", "live_k", ""},
		{"bob", "color", ""},
		{"bob", "local", "/vaults/ann/api /vaults/ann/api?q=LOCAL"},
		{"ann", "canary", ""},
		{"ann", "%3Cb%3E", ""},
	} {
		s := inBrowser(in, tt.user).Open("/?q=" + tt.query)
		if got := links(s, "/vaults/"); s.Status != 200 || got != tt.links {
			t.Errorf("%s finds by %s: %s", tt.user, tt.query, got)
		}
	}
	for query, want := range map[string]int{"q=a&q=b": 400, "offset=-1": 422, "limit=0": 422, "offset=x": 422, "q=%ff": 400, "offset=5": 200} {
		if s := inBrowser(in, "ann").Open("/?" + query); s.Status != want {
			t.Errorf("%s: %d, want %d", query, s.Status, want)
		}
	}
}

func TestTheListOfVaultsHasPages(t *testing.T) {
	in := servertest.New(t, servertest.Plain)
	ann := in.User("ann")
	for i := range 27 {
		in.Vault(ann, fmt.Sprintf("ann/repo-%d", i))
	}
	b := inBrowser(in, "ann")
	s := expectSeen(t, b.Open("/?q=repo"), 200, "1 to 25 of 27")
	if got := links(s, "/?"); got != "/?offset=25&q=repo" {
		t.Errorf("on to %q", got)
	}
	s = expectSeen(t, b.Open("/?offset=25&q=repo"), 200, "26 to 27 of 27")
	if got := links(s, "/?"); got != "/?q=repo" {
		t.Errorf("back to %q", got)
	}
	if s := b.Open("/?q=repo-26"); strings.Contains(s.Text, "Pages") {
		t.Errorf("pages of a single one: %s", s.Text)
	}
}

func TestPeopleCreateVaults(t *testing.T) {
	in := servertest.New(t)
	in.User("ann")
	in.User("bob")
	b := inBrowser(in, "ann")
	expectKept(t, in.Browser().Submit("/", "repoFullName", "ann/api"))
	expect(t, b.Submit("/", "repoFullName", " ann/api "), 303, "/vaults/ann/api")
	expectSeen(t, b.Open("/vaults/ann/api"), 200, "The vault is there", "There is no secret in this vault yet.")
	for name, want := range map[string]struct {
		status int
		text   string
	}{
		"":        {422, api.RepoRule},
		"ann":     {422, api.RepoRule},
		`"><b>/x`: {422, api.RepoRule},
		"ann/api": {409, "ann/api has a vault already."},
		"bob/api": {404, "or you have no access to the repository"},
	} {
		s := expectSeen(t, b.Submit("/", "repoFullName", name), want.status, want.text, `value="`+name+`"`)
		if strings.Contains(s.Text, "<b>") || current(s) != "Vaults page" {
			t.Errorf("%q: %s", name, s.Text)
		}
	}
	s := b.Send("POST", "/", "repoFullName=ann/web", "Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example")
	expectSeen(t, s, 403, "another site")
	if s := b.Open("/vaults/ann/web"); s.Status != 404 {
		t.Errorf("another site made a vault: %d", s.Status)
	}
	// A repository without a vault is offered.
	if _, err := in.Operator.AddLocalRepo(t.Context(), api.AddLocalRepo{RepoFullName: "ann/later"}); err != nil {
		t.Fatal(err)
	}
	expectSeen(t, b.Open("/"), 200, `<option value="ann/later">`)
}

func TestPagesSayWhyAVaultIsReadOnly(t *testing.T) {
	in := servertest.New(t)
	ann := in.User("ann")
	in.Vault(ann, "ann/api")
	in.Vault(ann, "ann/web")
	in.Push(ann, "ann/web", "development", map[string]string{"A": "1"})
	in.Restart(onPlan("free"))
	b := inBrowser(in, "ann")
	s := expectSeen(t, b.Open("/"), 200, "This vault is read-only: the plan allows fewer private repositories")
	if strings.Count(s.Text, ">read-only<") != 1 {
		t.Errorf("%s", s.Text)
	}
	s = expectSeen(t, b.Open("/vaults/ann/web"), 200, "This vault is read-only")
	if strings.Count(s.Text, ">read only<") != 3 {
		t.Errorf("environments that can be written: %s", s.Text)
	}
	if s := b.Open("/vaults/ann/api"); strings.Contains(s.Text, "read-only") {
		t.Errorf("%s", s.Text)
	}
	s = expectSeen(t, b.Submit("/", "repoFullName", "ann/more"), 403, "The plan")
	if !strings.Contains(s.Text, `value="ann/more"`) {
		t.Errorf("%s", s.Text)
	}
}

// vanishing is a code host with one repository, of ann's, until that is deleted.
type vanishing struct {
	codeHost
	gone atomic.Bool
}

var annsRepo = forge.Repository{ID: "70", Owner: "ann", Name: "api", OwnerKind: forge.OwnerUser, OwnerID: annThere.ID}

func (h *vanishing) Repository(context.Context, forge.Asker, string, string) (forge.Repository, error) {
	return annsRepo, nil
}

func (h *vanishing) Role(context.Context, forge.Asker, forge.Repository) (forge.Reachable, error) {
	if h.gone.Load() {
		return forge.Reachable{}, forge.ErrGone
	}
	return forge.Reachable{Repository: annsRepo, Role: forge.Admin}, nil
}

func TestTheOwnerStillSeesTheVaultOfAGoneRepository(t *testing.T) {
	h := &vanishing{}
	in := servertest.New(t, func(c *server.Config) { c.TestOnlyForge = func(forge.Directory) forge.Forge { return h } })
	b, eve := in.Browser(), in.Browser()
	expect(t, arrive(b, h.consent(t, depart(t, b, "/"), annThere)), 303, "/")
	expect(t, arrive(eve, h.consent(t, depart(t, eve, "/"), eveThere)), 303, "/")
	expect(t, b.Submit("/", "repoFullName", "ann/api"), 303, "/vaults/ann/api")
	h.gone.Store(true)
	in.Restart()
	s := expectSeen(t, b.Open("/vaults/ann/api"), 200, "this repository is gone")
	if strings.Contains(s.Text, "Search") || current(s) != "Vaults true" {
		t.Errorf("%s", s.Text)
	}
	expectSeen(t, eve.Open("/vaults/ann/api"), 404)
}
