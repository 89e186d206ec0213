package forge_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"coffer/server/forge"
	"coffer/server/forge/forgetest"
	"coffer/server/standin"
)

// github is a world with a GitHub, and how its client is configured; with the App
// if it is put on an account.
func github(t *testing.T) (*forgetest.World, *forgetest.GitHub, forge.Config) {
	w := forgetest.NewWorld()
	g := forgetest.NewGitHub(t, w)
	app := g.Register(w.AddApp("coffer", "https://coffer.example/back"))
	return w, g, forge.Config{
		Kind: forge.KindGitHub, URL: g.URL, Now: w.Now, App: &forge.App{ID: app.ClientID, Sign: g.Sign},
		ClientID: app.ClientID, ClientSecret: app.Secret, RedirectURL: app.Redirect, WebhookSecret: "the secret of all webhooks",
	}
}

func pat(w *forgetest.World, user int64) string {
	return w.Token(user, forgetest.PAT, "repo", "read:org", "read:user")
}

func recorded(w *forgetest.World, repo int64) forge.Repository {
	r, _ := w.Repo(repo)
	o, _ := w.Owner(r.Owner)
	return forge.Repository{ID: number(repo), Owner: o.Login, Name: r.Name, OwnerKind: o.Kind, OwnerID: number(o.ID), Public: r.Visibility == forgetest.Public}
}

// roleBy wants a role, or an error where want is "!", from the App.
func roleBy(t *testing.T, f forge.Forge, w *forgetest.World, user1, repo int64, want forge.Role) {
	t.Helper()
	got, err := f.Role(t.Context(), forge.Asker{User: user(w, user1)}, recorded(w, repo))
	if want == "!" {
		if !errors.Is(err, forge.ErrNoCredential) || got.Role != forge.None {
			t.Errorf("role %q (%v), want that no credential reaches it", got.Role, err)
		}
		return
	}
	if err != nil || got.Role != want {
		t.Errorf("role %q (%v), want %q", got.Role, err, want)
	}
}

func TestGitHubAppReachesWhereItIsInstalled(t *testing.T) {
	w, g, c := github(t)
	owner, ada := w.AddUser("grace"), w.AddUser("ada")
	org, other := w.AddOrg("acme", owner), w.AddOrg("umbrella", owner)
	given, hidden, open := w.AddRepo(org, "engine", forgetest.Private), w.AddRepo(org, "attic", forgetest.Private), w.AddRepo(org, "website", forgetest.Public)
	elsewhere := w.AddRepo(other, "engine", forgetest.Private)
	for _, r := range []int64{given, hidden, open, elsewhere} {
		w.SetRole(r, ada, forge.Triage)
	}
	g.Install(forgetest.AppInstallation{Account: org, Selected: []int64{given}})
	f := dial(t, c)
	roleBy(t, f, w, ada, given, forge.Triage)
	roleBy(t, f, w, ada, hidden, "!")
	roleBy(t, f, w, ada, open, "!")
	roleBy(t, f, w, ada, elsewhere, "!")
	g.Suspend(org)
	roleBy(t, f, w, ada, given, "!")
	roleBy(t, dial(t, c), w, ada, given, "!")
	g.Install(forgetest.AppInstallation{Account: org})
	w.Advance(3 * time.Minute)
	roleBy(t, f, w, ada, hidden, forge.Triage)
	g.Uninstall(org)
	roleBy(t, f, w, ada, given, "!")
	if leaks := g.Leaks(); len(leaks) > 0 {
		t.Errorf("leaks: %q", leaks)
	}
}

func TestGitHubAppWithoutMembersGuessesNothing(t *testing.T) {
	w, g, c := github(t)
	owner, ada := w.AddUser("grace"), w.AddUser("ada")
	org := w.AddOrg("acme", owner)
	open, closed := w.AddRepo(org, "website", forgetest.Public), w.AddRepo(org, "engine", forgetest.Private)
	w.SetRole(closed, ada, forge.Read)
	w.SetMember(org, ada, forge.OrgMember)
	g.Install(forgetest.AppInstallation{Account: org, Permissions: map[string]string{"metadata": "read"}})
	f := dial(t, c)
	roleBy(t, f, w, ada, closed, forge.Read)
	roleBy(t, f, w, owner, open, forge.Admin)
	roleBy(t, f, w, ada, open, "!")
	as, acme := forge.Asker{User: user(w, ada)}, forge.Organization{ID: number(org), Login: "acme"}
	if s, err := f.Standing(t.Context(), as, acme); !errors.Is(err, forge.ErrNoCredential) || !strings.Contains(err.Error(), "Members: read") {
		t.Errorf("standing %q (%v)", s, err)
	}
	if m, err := f.Members(t.Context(), as, acme); !errors.Is(err, forge.ErrNoCredential) || len(m) > 0 {
		t.Errorf("%d members (%v)", len(m), err)
	}
}

func TestGitHubEnterpriseIsNoAccount(t *testing.T) {
	w, g, c := github(t)
	owner := w.AddUser("grace")
	org := w.AddOrg("acme", owner)
	repo := w.AddRepo(org, "engine", forgetest.Private)
	g.InstallOnEnterprise(org)
	roleBy(t, dial(t, c), w, owner, repo, "!")
	g.Install(forgetest.AppInstallation{Account: org})
	roleBy(t, dial(t, c), w, owner, repo, forge.Admin)
}

func TestGitHubAppMakesFewTokens(t *testing.T) {
	w, g, c := github(t)
	owner := w.AddUser("grace")
	org := w.AddOrg("acme", owner)
	repo := w.AddRepo(org, "engine", forgetest.Private)
	g.Install(forgetest.AppInstallation{Account: org})
	f := dial(t, c)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() { roleBy(t, f, w, owner, repo, forge.Admin) })
	}
	wg.Wait()
	made := func() int { return g.Calls("POST /api/v3/app/installations/") }
	if n, listed := made(), g.Calls("GET /api/v3/app/installations"); n != 1 || listed != 1 {
		t.Errorf("%d tokens and %d lists of installations for 20 questions at once", n, listed)
	}
	w.Advance(54 * time.Minute)
	roleBy(t, f, w, owner, repo, forge.Admin)
	if n := made(); n != 1 {
		t.Errorf("%d tokens after 54 minutes", n)
	}
	w.Advance(2 * time.Minute)
	roleBy(t, f, w, owner, repo, forge.Admin)
	if n := made(); n != 2 {
		t.Errorf("%d tokens after 56 minutes", n)
	}
}

func TestGitHubAppHearsOfItsInstallation(t *testing.T) {
	w, g, c := github(t)
	hooks := g.Hooks()
	r, _, _ := w.RepoNamed("hook-org", "hook-repo")
	boss, _, _ := w.UserNamed("hook-boss")
	f := dial(t, c)
	standing := func() string {
		s, err := f.Standing(t.Context(), forge.Asker{User: user(w, boss.ID)}, forge.Organization{ID: number(r.Owner)})
		if err != nil && !errors.Is(err, forge.ErrNoCredential) {
			t.Fatal(err)
		}
		return s
	}
	before := standing()
	g.Install(forgetest.AppInstallation{Account: r.Owner})
	if believed := standing(); before != "" || believed != "" {
		t.Errorf("standing %q, and %q while the list of installations is believed", before, believed)
	}
	i := slices.IndexFunc(hooks, func(h forgetest.Hook) bool { return h.Name == "installation created" })
	if _, err := f.(forge.Hooks).Event(hooks[i].Signed(c.WebhookSecret).Delivery(w.Now())); err != nil {
		t.Fatal(err)
	}
	if s := standing(); s != forge.OrgOwner {
		t.Errorf("standing %q after the delivery", s)
	}
}

func TestGitHubCustomRoles(t *testing.T) {
	w, g, c := github(t)
	ada := w.AddUser("ada")
	org := w.AddOrg("acme", w.AddUser("grace"))
	repo := w.AddRepo(org, "engine", forgetest.Private)
	g.InstallEverywhere()
	for _, role := range []struct{ base, app, own forge.Role }{
		{forge.Read, forge.Read, forge.Read}, {forge.Triage, forge.Read, forge.Triage}, {forge.Write, forge.Write, forge.Write},
		{forge.Maintain, forge.Write, forge.Maintain}, {forge.Admin, forge.Admin, forge.Admin},
	} {
		w.SetCustomRole(repo, ada, role.base, "releaser")
		roleBy(t, dial(t, c), w, ada, repo, role.app)
		got, err := dial(t, c).Role(t.Context(), forge.Asker{User: user(w, ada), Token: pat(w, ada)}, recorded(w, repo))
		if err != nil || got.Role != role.own {
			t.Errorf("a role made of %s is %q with the own token (%v)", role.base, got.Role, err)
		}
	}
}

func TestGitHubSuspendedUsersHaveNoRole(t *testing.T) {
	for _, tells := range []bool{false, true} {
		w, g, c := github(t)
		g.TellSuspended = tells
		g.InstallEverywhere()
		ada := w.AddUser("ada")
		repo := w.AddRepo(ada, "notes", forgetest.Private)
		roleBy(t, dial(t, c), w, ada, repo, forge.Admin)
		w.BlockUser(ada)
		roleBy(t, dial(t, c), w, ada, repo, forge.None)
	}
}

func TestGitHubInvitedIsNoMember(t *testing.T) {
	w, g, c := github(t)
	ada := w.AddUser("ada")
	org := w.AddOrg("acme", w.AddUser("grace"))
	open := w.AddRepo(org, "website", forgetest.Public)
	g.InstallEverywhere()
	g.Invite(org, ada)
	f, acme := dial(t, c), forge.Organization{ID: number(org), Login: "acme"}
	for _, as := range []forge.Asker{{User: user(w, ada)}, {User: user(w, ada), Token: pat(w, ada)}} {
		if s, err := f.Standing(t.Context(), as, acme); s != "" || err != nil {
			t.Errorf("standing %q (%v)", s, err)
		}
		if got, err := f.Role(t.Context(), as, recorded(w, open)); got.Role != forge.None || err != nil {
			t.Errorf("role %q (%v)", got.Role, err)
		}
	}
	if all, err := f.Organizations(t.Context(), forge.Asker{User: user(w, ada), Token: pat(w, ada)}); len(all) > 0 || err != nil {
		t.Errorf("organizations %v (%v)", all, err)
	}
}

func TestGitHubNamesSingleSignOn(t *testing.T) {
	w, g, c := github(t)
	ada := w.AddUser("ada")
	org := w.AddOrg("acme", ada)
	repo := w.AddRepo(org, "engine", forgetest.Private)
	open := w.AddRepo(org, "website", forgetest.Public)
	member := w.AddUser("bob")
	w.SetMember(org, member, forge.OrgMember)
	g.RequireSSO(org)
	f := dial(t, c)
	lacking := func(what string, err error) {
		t.Helper()
		if m, ok := errors.AsType[*forge.Missing](err); !ok || m.Service || !strings.Contains(m.What, "single sign-on") {
			t.Errorf("%s: %v", what, err)
		}
	}
	as := forge.Asker{User: user(w, ada), Token: pat(w, ada)}
	_, err := f.Role(t.Context(), as, recorded(w, repo))
	lacking("role", err)
	_, err = f.Members(t.Context(), as, forge.Organization{ID: number(org), Login: "acme"})
	lacking("members", err)
	_, err = f.Role(t.Context(), forge.Asker{User: user(w, member), Token: pat(w, member)}, recorded(w, open))
	lacking("a member's role on what is public", err)
	g.AuthorizeSSO(org, as.Token)
	if got, err := f.Role(t.Context(), as, recorded(w, repo)); got.Role != forge.Admin || err != nil {
		t.Errorf("role %q with an authorized token (%v)", got.Role, err)
	}
}

func TestGitHubAppUsersTokensReachWhereTheAppIs(t *testing.T) {
	w, g, c := github(t)
	ada := w.AddUser("ada")
	org := w.AddOrg("acme", ada)
	repo, open := w.AddRepo(org, "engine", forgetest.Private), w.AddRepo(org, "website", forgetest.Public)
	bob := w.AddUser("bob")
	w.SetMember(org, bob, forge.OrgMember)
	c.App = nil
	f := dial(t, c)
	as := func(id int64) forge.Asker {
		return forge.Asker{User: user(w, id), Token: w.AddToken(forgetest.Token{User: id, Kind: forgetest.OAuth, App: c.ClientID})}
	}
	if _, err := f.RepositoryByID(t.Context(), as(ada), recorded(w, repo)); !errors.Is(err, forge.ErrNotFound) {
		t.Errorf("a repository where the App is not: %v", err)
	}
	if got, err := f.Role(t.Context(), as(bob), recorded(w, open)); got.Role != forge.None || err != nil {
		t.Errorf("role %q (%v) where membership cannot be asked", got.Role, err)
	}
	g.Install(forgetest.AppInstallation{Account: org})
	if got, err := f.RepositoryByID(t.Context(), as(ada), recorded(w, repo)); err != nil || got.ID != number(repo) {
		t.Errorf("a repository where the App is: %v", err)
	}
	if got, err := f.Role(t.Context(), as(bob), recorded(w, open)); got.Role != forge.Read || err != nil {
		t.Errorf("role %q (%v) of a member", got.Role, err)
	}
}

func TestGitHubRateLimits(t *testing.T) {
	w, g, c := github(t)
	ada := w.AddUser("ada")
	f, token := dial(t, c), pat(w, ada)
	for name, limit := range map[string]struct {
		fault standin.Fault
		wait  time.Duration
	}{
		"used up":             {forgetest.Exhausted(w.Now().Add(11 * time.Minute)), 11 * time.Minute},
		"used up for long":    {forgetest.Exhausted(w.Now().Add(26 * time.Hour)), time.Hour},
		"secondary":           {forgetest.Secondary("30"), 30 * time.Second},
		"secondary, untimed":  {forgetest.Secondary(""), time.Minute},
		"too many, by status": {standin.TooMany("9"), 9 * time.Second},
	} {
		g.Break("", limit.fault)
		_, err := f.Bearer(t.Context(), token)
		g.Heal()
		if u, ok := errors.AsType[*forge.Unavailable](err); !ok || u.RetryAfter != limit.wait {
			t.Errorf("%s: %v, want to wait %v", name, err, limit.wait)
		}
	}
}

func TestGitHubRefusesMachinesUnasked(t *testing.T) {
	w, g, c := github(t)
	f := dial(t, c)
	machine := w.AddToken(forgetest.Token{Kind: forgetest.CI})
	for _, token := range []string{machine, "ghr_" + strings.Repeat("a", 76), strings.Repeat("a1", 20), "", "ghp_with blank", "ghp_\nX: y", "coffer_abc", "eyJhbGciOiJSUzI1NiJ9.e30.AA"} {
		if u, err := f.Bearer(t.Context(), token); !errors.Is(err, forge.ErrToken) || u.ID != "" {
			t.Errorf("%.12q: %v", token, err)
		}
	}
	if calls := g.Log(); len(calls) > 0 {
		t.Errorf("GitHub was asked %d times", len(calls))
	}
	bot := w.AddUser("robot")
	w.SetBot(bot)
	if _, err := f.Bearer(t.Context(), pat(w, bot)); !errors.Is(err, forge.ErrToken) {
		t.Errorf("a bot's token: %v", err)
	}
	c.ClientID = ""
	if _, err := dial(t, c).Bearer(t.Context(), w.AddToken(forgetest.Token{User: w.AddUser("ada"), Kind: forgetest.OAuth, App: "another"})); !errors.Is(err, forge.ErrToken) {
		t.Errorf("an application's token without an application: %v", err)
	}
}

// TestGitHubListsGoOnWithoutALink has a proxy take away what says that a list goes
// on: a full page is not taken for the last one.
func TestGitHubListsGoOnWithoutALink(t *testing.T) {
	w, g, c := github(t)
	ada := w.AddUser("ada")
	acme := w.AddOrg("acme", ada)
	for i := range 149 {
		w.SetMember(acme, w.AddUser(fmt.Sprintf("user-%d", i)), forge.OrgMember)
	}
	g.Break("", without("Link"))
	as := forge.Asker{User: user(w, ada), Token: pat(w, ada)}
	all, err := dial(t, c).Members(t.Context(), as, forge.Organization{ID: number(acme), Login: "acme"})
	if err != nil || len(all) != 150 {
		t.Errorf("%d members are listed, want 150 (%v)", len(all), err)
	}
}

// TestGitHubSaysForWhomATokenWasMade has everything but that said of another
// application's token: a success alone is no word on it.
func TestGitHubSaysForWhomATokenWasMade(t *testing.T) {
	w, g, c := github(t)
	token := w.AddToken(forgetest.Token{User: w.AddUser("ada"), Kind: forgetest.OAuth, App: "another"})
	for name, fault := range map[string]standin.Fault{
		"a page": standin.HTML, "an empty object": saying("{}"), "null": saying("null"), "another application": saying(`{"app":{"client_id":"another"}}`),
	} {
		g.Break("/api/v3/applications/", fault)
		if u, err := dial(t, c).Bearer(t.Context(), token); err == nil || u != (forge.User{}) {
			t.Errorf("after %s it is taken for %s's", name, u.Login)
		}
		g.Heal()
	}
}

func TestGitHubSaysThatTheApplicationIsWrong(t *testing.T) {
	w, _, c := github(t)
	ada := w.AddUser("ada")
	right := dial(t, c).(forge.SignIn)
	c.ClientSecret = "not the secret"
	wrong := dial(t, c).(forge.SignIn)
	code := w.Authorize(forgetest.Code{ClientID: c.ClientID, User: ada, Challenge: forgetest.Challenge("v"), Redirect: c.RedirectURL})
	_, _, exchange := wrong.Exchange(t.Context(), code, "v")
	grant, _, err := right.Exchange(t.Context(), code, "v")
	if err != nil {
		t.Fatal(err)
	}
	_, refresh := wrong.Refresh(t.Context(), grant.Refresh)
	_, bearer := wrong.(forge.Forge).Bearer(t.Context(), grant.Access)
	for what, err := range map[string]error{"exchange": exchange, "refresh": refresh, "bearer": bearer, "revoke": wrong.Revoke(t.Context(), grant)} {
		if u, ok := errors.AsType[*forge.Unavailable](err); !ok || !strings.Contains(u.Error(), "client id") || strings.Contains(u.Error(), c.ClientSecret) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := right.Refresh(t.Context(), grant.Refresh); err != nil {
		t.Errorf("a wrong secret used the refresh token up: %v", err)
	}
	c.ClientSecret = ""
	c.RedirectURL = "https://elsewhere.example/back"
	if err := right.Revoke(t.Context(), forge.Grant{Access: "gho_ended"}); err != nil {
		t.Errorf("to revoke what has ended: %v", err)
	}
}

// findings is a check's result as a map from what was tried to its level.
func githubFindings(t *testing.T, c forge.Config) (map[string]string, string) {
	levels, text := map[string]string{}, ""
	for _, f := range dial(t, c).(forge.Checker).Check(t.Context()) {
		levels[f.What] = f.Level
		text += f.What + ": " + f.Level + ": " + f.Detail + "\n"
	}
	return levels, text
}

func TestGitHubCheck(t *testing.T) {
	w, g, base := github(t)
	org, suspended, poor := w.AddOrg("acme"), w.AddOrg("umbrella"), w.AddOrg("initech")
	ok, warn, bad := forge.FindingOK, forge.FindingWarning, forge.FindingFailed
	check := func(name string, change func(*forge.Config), want map[string]string, says ...string) {
		t.Helper()
		c := base
		change(&c)
		got, text := githubFindings(t, c)
		for what, level := range want {
			if got[what] != level {
				t.Errorf("%s: %s is %q, want %q\n%s", name, what, got[what], level, text)
			}
		}
		for _, s := range append(says, "") {
			if !strings.Contains(text, s) || strings.Contains(text, base.ClientSecret) || strings.Contains(text, base.WebhookSecret) {
				t.Errorf("%s: %q is not said, or a secret is\n%s", name, s, text)
			}
		}
	}
	nothing := func(*forge.Config) {}
	check("installed nowhere", nothing, map[string]string{"address": ok, "sign-in application": ok, "GitHub App": ok, "installations of the App": warn, "webhooks": ok})
	g.Install(forgetest.AppInstallation{Account: org})
	g.Install(forgetest.AppInstallation{Account: suspended})
	g.Suspend(suspended)
	for _, id := range []int64{org, suspended, poor} {
		w.AddRepo(id, "engine", forgetest.Private)
	}
	g.Install(forgetest.AppInstallation{Account: poor, Permissions: map[string]string{"metadata": "read"}})
	check("installed", nothing, map[string]string{"App on acme": ok, "App on umbrella": bad, "App on initech": bad, "events of the App": ""}, "suspended", "Members: read")
	g.App.Events = []string{"repository"}
	check("events", nothing, map[string]string{"events of the App": warn}, "member, membership, organization, team")
	check("secret", func(c *forge.Config) { c.ClientSecret = "wrong" }, map[string]string{"sign-in application": bad, "GitHub App": ok})
	check("no application", func(c *forge.Config) { c.ClientID = "" }, map[string]string{"sign-in application": warn})
	check("no App", func(c *forge.Config) { c.App = nil }, map[string]string{"GitHub App": warn})
	check("App's id", func(c *forge.Config) { c.App = &forge.App{ID: "another", Sign: g.Sign} }, map[string]string{"GitHub App": bad}, "could not be tried: the GitHub App was turned down: its id or private key is wrong")
	check("App's key", func(c *forge.Config) {
		c.App = &forge.App{ID: "x", Sign: func(string, time.Time, time.Time) (string, error) { return "", errors.New("no key") }}
	}, map[string]string{"GitHub App": bad}, "no key")
	check("no webhook secret", func(c *forge.Config) { c.WebhookSecret = "" }, map[string]string{"webhooks": warn})
	check("another address", func(c *forge.Config) { c.APIURL = g.URL + "/api/v4" }, map[string]string{"address": bad, "webhooks": ""}, "/api/v4")
	g.Break("", standin.HTML)
	check("a page for people", nothing, map[string]string{"address": bad})
	g.Heal()
	w.Advance(-time.Hour)
	check("the clock", nothing, map[string]string{"address": warn}, "clock")
}

func TestGitHubTakesFormsAsDeliveries(t *testing.T) {
	w, g, c := github(t)
	hook := g.Hooks()[0]
	want := hook.Want
	hook.Body = []byte(url.Values{"payload": {string(hook.Body)}}.Encode())
	hook = hook.With("Content-Type", "application/x-www-form-urlencoded").Signed(c.WebhookSecret)
	got, err := dial(t, c).(forge.Hooks).Event(hook.Delivery(w.Now()))
	if err != nil || got.Topic != want.Topic || got.User != want.User {
		t.Errorf("the event is %+v (%v), want %+v", got, err, want)
	}
}

// TestGitHubExamples reads GitHub's own examples of deliveries.
func TestGitHubExamples(t *testing.T) {
	text, err := os.ReadFile(standin.Described(t, "@octokit/webhooks-examples", "api.github.com", "index.json"))
	if err != nil {
		t.Fatal(err)
	}
	var kinds []struct {
		Name     string
		Examples []json.RawMessage
	}
	if err := json.Unmarshal(text, &kinds); err != nil {
		t.Fatal(err)
	}
	w, _, c := github(t)
	f := dial(t, c).(forge.Hooks)
	topics := map[forge.Topic]int{}
	for _, kind := range kinds {
		for _, body := range kind.Examples {
			h := http.Header{}
			h.Set("X-GitHub-Event", kind.Name)
			h.Set("X-GitHub-Delivery", "1")
			h.Set("X-Hub-Signature-256", "sha256="+forgetest.HMAC(c.WebhookSecret, body))
			e, err := f.Event(forge.Delivery{Header: h.Get, Body: body, At: w.Now()})
			if err != nil {
				t.Errorf("%s: %v", kind.Name, err)
			}
			topics[e.Topic]++
			named := map[forge.Topic]string{
				forge.RosterChange: e.Org, forge.RepoChanged: e.Repo, forge.RepoDeleted: e.Repo, forge.UserChanged: e.User,
				forge.AppInstalled: e.Org, forge.AppRemoved: e.Org, forge.RolesChanged: e.Repo + e.Org, forge.Ignored: "-",
			}
			if named[e.Topic] == "" || (e.Org == "") != (e.Login == "") {
				t.Errorf("%s does not say what it is about: %+v", e.Name, e)
			}
		}
	}
	for _, topic := range []forge.Topic{forge.RosterChange, forge.RepoChanged, forge.UserChanged, forge.AppInstalled, forge.AppRemoved, forge.RolesChanged} {
		if topics[topic] == 0 {
			t.Errorf("no example is about %q", topic)
		}
	}
	t.Logf("topics: %v", topics)
}

// FuzzGitHubHook signs whatever comes.
func FuzzGitHubHook(f *testing.F) {
	const secret = "the secret of all webhooks"
	w := forgetest.NewWorld()
	for _, hook := range (&forgetest.GitHub{Fake: &forgetest.Fake{Fake: new(standin.Fake), World: w}}).Hooks() {
		f.Add(hook.Header.Get("X-GitHub-Event"), "application/json", hook.Body)
	}
	f.Add("repository", "application/x-www-form-urlencoded", []byte("payload=%7B%22action%22%3A%22deleted%22%7D"))
	f.Add("member", "", []byte(`{"action":"added","repository":{"id":-1},"member":{"id":9223372036854775808}}`))
	client, err := forge.New(forge.Config{Kind: forge.KindGitHub, WebhookSecret: secret})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, event, contentType string, body []byte) {
		header := map[string]string{
			"X-GitHub-Event": event, "X-GitHub-Delivery": "1", "Content-Type": contentType,
			"X-Hub-Signature-256": "sha256=" + forgetest.HMAC(secret, body),
		}
		d := forge.Delivery{Header: func(name string) string { return header[name] }, Body: body, At: w.Now()}
		e, err := client.(forge.Hooks).Event(d)
		switch {
		case err != nil && e != forge.Event{}:
			t.Errorf("an event beside the error: %+v", e)
		case err == nil && e.Topic != forge.Ignored && e.Repo == "" && e.Org == "" && e.User == "":
			t.Errorf("an event about everything: %+v", e)
		}
		d.Body = append(slices.Clone(body), ' ')
		if e, err := client.(forge.Hooks).Event(d); err == nil || e != (forge.Event{}) {
			t.Errorf("a longer body is the event %+v", e)
		}
	})
}

func TestGitHubSaysWhereItsAppIsInstalled(t *testing.T) {
	w, g, c := github(t)
	ada := w.AddUser("ada")
	seen, hidden := w.AddRepo(ada, "engine", forgetest.Private), w.AddRepo(w.AddUser("bob"), "other", forgetest.Private)
	g.Install(forgetest.AppInstallation{Account: ada, Permissions: map[string]string{"metadata": "read"}})
	f := dial(t, c).(forge.Installer)
	g.Break("/api/v3/app", standin.Status(http.StatusInternalServerError))
	if url := f.InstallURL(t.Context()); url != "" {
		t.Errorf("while GitHub does not say: %q", url)
	}
	g.Heal()
	w.Advance(time.Minute)
	for range 3 {
		if url := f.InstallURL(t.Context()); url != g.URL+"/apps/coffer/installations/new" {
			t.Errorf("the App is installed at %q", url)
		}
	}
	if n := g.Calls("GET /api/v3/app"); n > 3 {
		t.Errorf("GitHub was asked %d times", n)
	}
	if id, err := f.InstallationID(t.Context(), recorded(w, seen)); err != nil || id == "" {
		t.Errorf("the installation is %q, %v", id, err)
	}
	if id, err := f.InstallationID(t.Context(), recorded(w, hidden)); !errors.Is(err, forge.ErrNotFound) {
		t.Errorf("where it is not installed: %q, %v", id, err)
	}
	c.App = nil
	f = dial(t, c).(forge.Installer)
	if url := f.InstallURL(t.Context()); url != "" {
		t.Errorf("without an App: %q", url)
	}
}
