package forge_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"coffer/server/forge"
	"coffer/server/forge/forgetest"
	"coffer/server/standin"
)

// giteaWorld is a fake Gitea: grace owns acme, which has the private engine and
// the public website; ada is a member, eve is a stranger.
type giteaWorld struct {
	*forgetest.Gitea
	t                     *testing.T
	w                     *forgetest.World
	app                   forgetest.App
	grace, ada, eve       int64
	acme, engine, website int64
	robot                 int64
	service               string
}

func newGiteaWorld(t *testing.T) *giteaWorld {
	w := forgetest.NewWorld()
	g := &giteaWorld{Gitea: forgetest.NewGitea(t, w), t: t, w: w, app: w.AddApp("coffer", "https://coffer.example/login/callback")}
	g.grace, g.ada, g.eve, g.robot = w.AddUser("grace"), w.AddUser("ada"), w.AddUser("eve"), w.AddUser("robot")
	g.acme = w.AddOrg("acme", g.grace)
	g.engine, g.website = w.AddRepo(g.acme, "engine", forgetest.Private), w.AddRepo(g.acme, "website", forgetest.Public)
	w.SetMember(g.acme, g.ada, forge.OrgMember)
	w.SetSiteAdmin(g.robot)
	g.service = g.pat(g.robot)
	return g
}

func (g *giteaWorld) pat(user int64, more ...string) string {
	return g.w.Token(user, forgetest.PAT, append(forgetest.GiteaScopes(), more...)...)
}

// client is one with the service credential, unless change takes it away.
func (g *giteaWorld) client(change ...func(*forge.Config)) *forge.Gitea {
	g.t.Helper()
	c := forge.Config{
		Kind: forge.KindGitea, URL: g.URL, Token: g.service, Now: g.w.Now,
		ClientID: g.app.ClientID, ClientSecret: g.app.Secret, RedirectURL: g.app.Redirect,
	}
	for _, f := range change {
		f(&c)
	}
	f, err := forge.New(c)
	if err != nil {
		g.t.Fatal(err)
	}
	return f.(*forge.Gitea)
}

func (g *giteaWorld) as(user int64, token string) forge.Asker {
	u, _ := g.w.User(user)
	return forge.Asker{User: forge.User{ID: fmt.Sprint(user), Login: u.Login}, Token: token}
}

func (g *giteaWorld) repo(id int64) forge.Repository {
	r, _ := g.w.Repo(id)
	owner, _ := g.w.Owner(r.Owner)
	return forge.Repository{ID: fmt.Sprint(id), Owner: owner.Login, Name: r.Name}
}

func TestGiteaNeedsAnAddress(t *testing.T) {
	if f, err := forge.New(forge.Config{Kind: forge.KindGitea}); err == nil || f != nil || !strings.Contains(err.Error(), "forge.url") {
		t.Errorf("without an address: %v, %v", f, err)
	}
}

func TestGiteaTokenForPublicThingsHasNoMoreReach(t *testing.T) {
	g := newGiteaWorld(t)
	g.w.SetOrgVisibility(g.w.AddOrg("hush", g.grace), forgetest.Private)
	f, as := g.client(), g.as(g.grace, g.pat(g.grace, "public-only"))
	if got, err := f.Role(t.Context(), as, g.repo(g.engine)); !errors.Is(err, forge.ErrNotFound) || got != (forge.Reachable{}) {
		t.Errorf("the role on a private repository: %q, %v", got.Role, err)
	}
	if got, err := f.Role(t.Context(), as, g.repo(g.website)); err != nil || got.Role != forge.Admin {
		t.Errorf("the role on a public repository: %q, %v", got.Role, err)
	}
	if all, err := f.Repositories(t.Context(), as); err != nil || len(all) != 1 || all[0].Repository.Name != "website" {
		t.Errorf("the repositories: %+v, %v", all, err)
	}
}

func TestGiteaLimitedAndPrivateOrganizations(t *testing.T) {
	g := newGiteaWorld(t)
	bob := g.w.AddUser("bob")
	g.w.SetRole(g.website, bob, forge.Read)
	for _, v := range []forgetest.Visibility{forgetest.Internal, forgetest.Private} {
		g.w.SetOrgVisibility(g.acme, v)
		for _, token := range []bool{true, false} {
			for user, want := range map[int64]forge.Role{g.eve: forge.None, g.ada: forge.Read, bob: forge.Read} {
				as := g.as(user, "")
				if token {
					as.Token = g.pat(user)
				}
				got, err := g.client().Role(t.Context(), as, g.repo(g.website))
				if errors.Is(err, forge.ErrNotFound) && user == g.eve {
					continue
				}
				if err != nil || got.Role != want || got.Repository.Public || got.Repository.OwnerKind != forge.OwnerOrg {
					t.Errorf("%s, with a token %v, %s: %+v, %v; want %q", v, token, as.User.Login, got, err, want)
				}
			}
		}
	}
}

func TestGiteaBelowASubPath(t *testing.T) {
	g := newGiteaWorld(t)
	f := g.client(func(c *forge.Config) { c.URL += "/git/" })
	before := g.repo(g.engine)
	g.w.Rename(g.engine, "machine")
	g.w.RenameOrg(g.acme, "acme-corp")
	for _, as := range []forge.Asker{g.as(g.grace, g.pat(g.grace)), g.as(g.grace, "")} {
		got, err := f.Role(t.Context(), as, before)
		if err != nil || got.Role != forge.Admin || got.Repository.FullName() != "acme-corp/machine" {
			t.Errorf("by id: %+v, %v", got, err)
		}
		if there, err := f.Repository(t.Context(), as, "acme-corp", "engine"); err != nil || there.ID != before.ID {
			t.Errorf("by the old name: %+v, %v", there, err)
		}
		if org, err := f.Organization(t.Context(), as, "acme"); err != nil || org.Login != "acme-corp" {
			t.Errorf("the organization by its old name: %+v, %v", org, err)
		}
	}
	if n := g.Calls("GET /api/"); n > 0 {
		t.Errorf("%d calls missed the sub-path", n)
	}
}

func TestGiteaAPIElsewhere(t *testing.T) {
	g := newGiteaWorld(t)
	f := g.client(func(c *forge.Config) { c.URL, c.APIURL = "https://git.example", g.URL+"/api/v1" })
	if at := f.AuthorizeURL("state", "challenge"); !strings.HasPrefix(at, "https://git.example/login/oauth/authorize?") {
		t.Errorf("the browser is sent to %s", at)
	}
	code := g.w.Authorize(forgetest.Code{ClientID: g.app.ClientID, User: g.ada, Scopes: forgetest.GiteaScopes(), Redirect: g.app.Redirect})
	if _, who, err := f.Exchange(t.Context(), code, ""); err != nil || who.Login != "ada" {
		t.Errorf("a code: %q, %v", who.Login, err)
	}
}

func TestGiteaRestrictedMembersAreNoRoster(t *testing.T) {
	g := newGiteaWorld(t)
	acme := forge.Organization{ID: fmt.Sprint(g.acme), Login: "acme"}
	as := g.as(g.ada, g.pat(g.ada))
	all, err := g.client().Members(t.Context(), as, acme)
	if err != nil || len(all) != 2 {
		t.Errorf("a member asks: %+v, %v", all, err)
	}
	g.Break("/api/v1/user", edited(func(path string, body map[string]any) { body["restricted"] = true }))
	if all, err := g.client().Members(t.Context(), as, acme); !errors.Is(err, forge.ErrNoCredential) || len(all) > 0 {
		t.Errorf("a restricted member asks: %+v, %v", all, err)
	}
}

// edited changes answers that are objects.
func edited(change func(path string, body map[string]any)) standin.Fault {
	return func(_ *standin.Fake, rw http.ResponseWriter, r *http.Request, next http.Handler) {
		right := httptest.NewRecorder()
		next.ServeHTTP(right, r)
		var body map[string]any
		if json.Unmarshal(right.Body.Bytes(), &body) == nil {
			change(r.URL.Path, body)
			standin.Answer(rw, right.Code, body)
			return
		}
		for name, values := range right.Header() {
			rw.Header()[name] = values
		}
		rw.WriteHeader(right.Code)
		_, _ = rw.Write(right.Body.Bytes())
	}
}

func TestGiteaBelievesWhatBothAnswersSay(t *testing.T) {
	g := newGiteaWorld(t)
	as := g.as(g.grace, g.pat(g.grace))
	for prefix, name := range map[string]string{"/api/v1/repositories/": "by id", "/api/v1/repos/": "by name"} {
		g.Break(prefix, edited(func(_ string, body map[string]any) {
			body["permissions"] = map[string]bool{"pull": true}
		}))
		if got, err := g.client().Role(t.Context(), as, g.repo(g.engine)); err != nil || got.Role != forge.Read {
			t.Errorf("less %s: %q, %v", name, got.Role, err)
		}
		g.Heal()
		g.Break(prefix, edited(func(_ string, body map[string]any) { body["id"] = g.website }))
		var down *forge.Unavailable
		if got, err := g.client().Role(t.Context(), as, g.repo(g.engine)); !errors.As(err, &down) || got.Role != forge.None {
			t.Errorf("another repository %s: %q, %v", name, got.Role, err)
		}
		g.Heal()
	}
}

func TestGiteaTokenOfSomebodyElse(t *testing.T) {
	g := newGiteaWorld(t)
	as := g.as(g.eve, g.pat(g.ada))
	acme := forge.Organization{ID: fmt.Sprint(g.acme), Login: "acme"}
	if got, err := g.client().Role(t.Context(), as, g.repo(g.website)); !errors.Is(err, forge.ErrToken) || got.Role != forge.None {
		t.Errorf("the role of its user: %q, %v", got.Role, err)
	}
	if got, err := g.client().Standing(t.Context(), as, acme); !errors.Is(err, forge.ErrToken) || got != "" {
		t.Errorf("the standing of its user: %q, %v", got, err)
	}
}

func TestGiteaListsSayHowLongTheyAre(t *testing.T) {
	g := newGiteaWorld(t)
	acme := forge.Organization{ID: fmt.Sprint(g.acme), Login: "acme"}
	as := g.as(g.grace, g.pat(g.grace))
	var down *forge.Unavailable
	g.Break("/api/v1/orgs/acme/members", without("X-Total-Count"))
	if all, err := g.client().Members(t.Context(), as, acme); !errors.As(err, &down) || len(all) > 0 {
		t.Errorf("a list of unknown length: %+v, %v", all, err)
	}
	g.Heal()
	g.SetPageSize(1)
	joined := 0
	g.Break("/api/v1/orgs/acme/members", func(_ *standin.Fake, rw http.ResponseWriter, r *http.Request, next http.Handler) {
		next.ServeHTTP(rw, r)
		joined++
		g.w.SetMember(g.acme, g.w.AddUser(fmt.Sprintf("late-%d", joined)), forge.OrgMember)
	})
	if all, err := g.client().Members(t.Context(), as, acme); !errors.As(err, &down) || len(all) > 0 {
		t.Errorf("a list that grows: %+v, %v", all, err)
	}
}

// without takes headers out of the host's answers, as proxies do.
func without(headers ...string) standin.Fault {
	return func(_ *standin.Fake, rw http.ResponseWriter, r *http.Request, next http.Handler) {
		next.ServeHTTP(stripped{rw, headers}, r)
	}
}

type stripped struct {
	http.ResponseWriter
	headers []string
}

func (w stripped) WriteHeader(status int) {
	for _, name := range w.headers {
		w.Header().Del(name)
	}
	w.ResponseWriter.WriteHeader(status)
}

func TestGiteaServiceCredentialThatDoesNotReach(t *testing.T) {
	g := newGiteaWorld(t)
	poor := g.w.Token(g.robot, forgetest.PAT, "read:user", "read:repository")
	for name, c := range map[string]struct{ token, lacks string }{
		"a member's token":   {g.pat(g.ada), "site administrator"},
		"one without scopes": {poor, "read:organization"},
	} {
		f := g.client(func(cfg *forge.Config) { cfg.Token = c.token })
		_, err := f.Organizations(t.Context(), g.as(g.grace, ""))
		var lacks *forge.Missing
		if !errors.As(err, &lacks) || !lacks.Service || !strings.Contains(lacks.What, c.lacks) {
			t.Errorf("%s: %v, want one that names %s", name, err, c.lacks)
		}
	}
	wide := g.as(g.ada, g.w.Token(g.ada, forgetest.PAT, "write:user", "read:repository"))
	var lacks *forge.Missing
	if _, err := g.client().Organizations(t.Context(), wide); !errors.As(err, &lacks) || lacks.Service || lacks.What != "the scope read:organization" {
		t.Errorf("a scope that holds another: %v", err)
	}
	f := g.client()
	g.w.Revoke(g.service)
	if _, err := f.Role(t.Context(), g.as(g.grace, ""), g.repo(g.engine)); !errors.Is(err, forge.ErrNoCredential) || errors.Is(err, forge.ErrToken) {
		t.Errorf("a revoked service credential: %v", err)
	}
}

func TestGiteaOperatorAsksForNobody(t *testing.T) {
	g := newGiteaWorld(t)
	f := g.client()
	if there, err := f.RepositoryByID(t.Context(), forge.Asker{}, g.repo(g.engine)); err != nil || there.Name != "engine" {
		t.Errorf("a repository: %+v, %v", there, err)
	}
	gone := g.repo(g.engine)
	g.w.DeleteRepo(g.engine)
	if _, err := f.RepositoryByID(t.Context(), forge.Asker{}, gone); !errors.Is(err, forge.ErrGone) {
		t.Errorf("a deleted repository: %v", err)
	}
	if got, _ := f.Role(t.Context(), forge.Asker{}, g.repo(g.website)); got.Role != forge.None {
		t.Errorf("nobody has the role %q", got.Role)
	}
	if all, err := f.Members(t.Context(), forge.Asker{}, forge.Organization{ID: fmt.Sprint(g.acme), Login: "acme"}); err != nil || len(all) != 2 {
		t.Errorf("members: %+v, %v", all, err)
	}
	unnamed := forge.Asker{User: forge.User{ID: fmt.Sprint(g.ada)}}
	if got, err := f.Role(t.Context(), unnamed, g.repo(g.website)); err != nil || got.Role != forge.Read {
		t.Errorf("somebody whose login was never seen: %q, %v", got.Role, err)
	}
	for _, call := range g.Log() {
		if sudo, there := call.Header["Sudo"]; there && sudo[0] == "" {
			t.Errorf("%s was asked with an empty Sudo, which is none", call.Path)
		}
	}
}

func TestGiteaLoginIsNotBelievedForLong(t *testing.T) {
	g := newGiteaWorld(t)
	f, as := g.client(), g.as(g.ada, "")
	g.w.SetRole(g.engine, g.ada, forge.Write)
	role := func() forge.Role {
		t.Helper()
		got, err := f.Role(t.Context(), as, g.repo(g.engine))
		if err != nil {
			t.Fatal(err)
		}
		return got.Role
	}
	if got := role(); got != forge.Write {
		t.Errorf("role %q", got)
	}
	g.Forget()
	if role(); g.Calls("GET /api/v1/user") > 0 {
		t.Error("the login is asked for each time")
	}
	g.w.RenameUser(g.ada, "lovelace")
	g.w.SetRole(g.engine, g.w.RecycleUser("ada"), forge.Admin)
	g.w.Advance(10e9)
	if got := role(); got != forge.Write {
		t.Errorf("after somebody else took the login, the role is %q", got)
	}
}

func TestGiteaUserWhoIsBlockedOrGoneHasNothing(t *testing.T) {
	g := newGiteaWorld(t)
	blocked, gone := g.as(g.ada, ""), g.as(g.eve, "")
	g.w.BlockUser(g.ada)
	g.w.DeleteUser(g.eve)
	for _, as := range []forge.Asker{blocked, gone} {
		f := g.client()
		if all, err := f.Repositories(t.Context(), as); err != nil || len(all) > 0 {
			t.Errorf("the repositories of %s: %+v, %v", as.User.Login, all, err)
		}
		if all, err := f.Organizations(t.Context(), as); err != nil || len(all) > 0 {
			t.Errorf("the organizations of %s: %+v, %v", as.User.Login, all, err)
		}
		if got, err := f.Standing(t.Context(), as, forge.Organization{ID: fmt.Sprint(g.acme), Login: "acme"}); err != nil || got != "" {
			t.Errorf("the standing of %s: %q, %v", as.User.Login, got, err)
		}
	}
}
