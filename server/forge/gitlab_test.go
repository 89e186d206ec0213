package forge_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"coffer/server/forge"
	"coffer/server/forge/forgetest"
	"coffer/server/standin"
)

// gitlab is a world with a GitLab, and how its client is configured.
func gitlab(t *testing.T) (*forgetest.World, *forgetest.GitLab, forge.Config) {
	w := forgetest.NewWorld()
	fake := forgetest.NewGitLab(t, w)
	app := w.AddApp("coffer", "https://coffer.example/back")
	return w, fake, forge.Config{
		Kind: forge.KindGitLab, URL: fake.URL, Now: w.Now,
		ClientID: app.ClientID, ClientSecret: app.Secret, RedirectURL: app.Redirect,
	}
}

func dial(t *testing.T, c forge.Config) forge.Forge {
	t.Helper()
	f, err := forge.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func user(w *forgetest.World, id int64) forge.User {
	u, _ := w.User(id)
	return forge.User{ID: number(id), Login: u.Login}
}

func number(id int64) string { return strconv.FormatInt(id, 10) }

// asking is a user with a token of their own.
func asking(w *forgetest.World, id int64) forge.Asker {
	return forge.Asker{User: user(w, id), Token: w.Token(id, forgetest.PAT, "read_api")}
}

func byID(id int64) forge.Repository { return forge.Repository{ID: number(id)} }

func TestGitLabLevels(t *testing.T) {
	w, fake, c := gitlab(t)
	owner, ada := w.AddUser("grace"), w.AddUser("ada")
	org := w.AddOrg("acme", owner)
	repo := w.AddRepo(org, "engine", forgetest.Public)
	lowered := c
	lowered.AdminLevel = 40
	usual, lower := dial(t, c), dial(t, lowered)
	tomorrow := w.Now().Add(24 * time.Hour)
	for _, tt := range []struct {
		of    int64
		is    forgetest.Membership
		usual forge.Role
		lower forge.Role
	}{
		{repo, forgetest.Membership{Level: forgetest.MinimalAccess}, forge.None, forge.None},
		{repo, forgetest.Membership{Level: forgetest.Guest}, forge.None, forge.None},
		{repo, forgetest.Membership{Level: forgetest.Planner}, forge.None, forge.None},
		{repo, forgetest.Membership{Level: forgetest.Reporter}, forge.Read, forge.Read},
		{repo, forgetest.Membership{Level: forgetest.SecurityManager}, forge.Read, forge.Read},
		{repo, forgetest.Membership{Level: 30}, forge.Write, forge.Write},
		{repo, forgetest.Membership{Level: 40}, forge.Maintain, forge.Admin},
		{repo, forgetest.Membership{Level: 50}, forge.Admin, forge.Admin},
		{repo, forgetest.Membership{Level: 60}, forge.Admin, forge.Admin},
		{org, forgetest.Membership{Level: 30}, forge.Write, forge.Write},
		{repo, forgetest.Membership{Level: 30, Expires: tomorrow}, forge.Write, forge.Write},
		{repo, forgetest.Membership{Level: 30, Expires: w.Now().Add(-48 * time.Hour)}, forge.None, forge.None},
		{repo, forgetest.Membership{Level: 30, Waiting: true}, forge.None, forge.None},
	} {
		t.Run(fmt.Sprintf("%+v", tt.is), func(t *testing.T) {
			fake.SetMembership(tt.of, ada, tt.is)
			for f, want := range map[forge.Forge]forge.Role{usual: tt.usual, lower: tt.lower} {
				got, err := f.Role(t.Context(), asking(w, ada), byID(repo))
				if err != nil || got.Role != want {
					t.Errorf("role %q, want %q (%v)", got.Role, want, err)
				}
				if tt.is.Expires.IsZero() && !tt.is.Waiting { // lists do not tell
					checkListed(t, f, asking(w, ada), repo, want)
				}
			}
			fake.SetMembership(tt.of, ada, forgetest.Membership{})
		})
	}
}

// checkListed wants the lists to say the same as Role.
func checkListed(t *testing.T, f forge.Forge, as forge.Asker, repo int64, want forge.Role) {
	t.Helper()
	all, err := f.Repositories(t.Context(), as)
	listed := forge.None
	for _, r := range all {
		if r.Repository.ID == number(repo) {
			listed = r.Role
		}
	}
	people, peopleErr := f.Collaborators(t.Context(), as, byID(repo))
	i := slices.IndexFunc(people, func(c forge.Collaborator) bool { return c.User.ID == as.User.ID })
	collaborates := forge.None
	if i >= 0 {
		collaborates = people[i].Role
	}
	if listed != want || collaborates != want || err != nil || peopleErr != nil {
		t.Errorf("listed with %q and as collaborator with %q, want %q (%v, %v)", listed, collaborates, want, err, peopleErr)
	}
}

func TestGitLabCustomRolesCountByTheirBase(t *testing.T) {
	w, _, c := gitlab(t)
	ada, bob := w.AddUser("ada"), w.AddUser("bob")
	repo := w.AddRepo(ada, "notes", forgetest.Private)
	w.SetCustomRole(repo, bob, forge.Write, "auditor")
	got, err := dial(t, c).Role(t.Context(), asking(w, bob), byID(repo))
	if err != nil || got.Role != forge.Write {
		t.Errorf("role %q (%v)", got.Role, err)
	}
}

func TestGitLabSubgroups(t *testing.T) {
	w, fake, c := gitlab(t)
	owner, ada, bob := w.AddUser("grace"), w.AddUser("ada"), w.AddUser("bob")
	org := w.AddOrg("acme", owner)
	repo := w.AddRepo(org, "engine", forgetest.Private)
	sub := fake.AddSubgroup(org, "backend")
	deep := fake.AddSubgroup(sub, "core")
	fake.Place(repo, deep)
	fake.SetMembership(sub, ada, forgetest.Membership{Level: 40}) // inherited
	w.SetRole(repo, bob, forge.Write)                             // of the project alone
	f := dial(t, c)
	want := forge.Repository{
		ID: number(repo), Owner: "acme:backend:core", Name: "engine", OwnerKind: forge.OwnerOrg, OwnerID: number(org),
	}
	for id, role := range map[int64]forge.Role{owner: forge.Admin, ada: forge.Maintain, bob: forge.Write} {
		as := asking(w, id)
		named, err := f.Repository(t.Context(), as, "ACME:Backend:core", "Engine")
		if err != nil || named != want {
			t.Errorf("by name: %+v (%v), want %+v", named, err, want)
		}
		got, err := f.Role(t.Context(), as, byID(repo))
		if err != nil || got.Role != role || got.Repository != want {
			t.Errorf("role %q on %+v (%v), want %q", got.Role, got.Repository, err, role)
		}
		all, err := f.Repositories(t.Context(), as)
		if err != nil || len(all) != 1 || all[0] != got {
			t.Errorf("listed: %+v (%v), want %+v", all, err, got)
		}
	}
	for _, wrong := range []string{"acme", "acme:core", "acme:backend", "acme:backend:core:more", "acme/backend"} {
		if got, err := f.Repository(t.Context(), asking(w, owner), wrong, "engine"); !errors.Is(err, forge.ErrNotFound) {
			t.Errorf("%s: %+v (%v)", wrong, got, err)
		}
	}
	if got, err := f.Organization(t.Context(), asking(w, owner), "acme/backend"); !errors.Is(err, forge.ErrNotFound) {
		t.Errorf("a subgroup is the organization %+v (%v)", got, err)
	}
	orgs, err := f.Organizations(t.Context(), asking(w, ada))
	if err != nil || len(orgs) != 0 {
		t.Errorf("a member of a subgroup is a member of %+v (%v)", orgs, err)
	}
}

func TestGitLabTakesANameOfDigitsForAName(t *testing.T) {
	w, _, c := gitlab(t)
	ada := w.AddUser("ada")
	org := w.AddOrg("acme", ada)
	if got, err := dial(t, c).Organization(t.Context(), asking(w, ada), number(org)); !errors.Is(err, forge.ErrNotFound) {
		t.Errorf("the number of an organization is taken for its name: %+v (%v)", got, err)
	}
}

func TestGitLabGroupTokenReachesItsGroup(t *testing.T) {
	w, fake, c := gitlab(t)
	grace, ada := w.AddUser("grace"), w.AddUser("ada")
	acme, other := w.AddOrg("acme", grace), w.AddOrg("other", grace)
	ours, theirs := w.AddRepo(acme, "engine", forgetest.Private), w.AddRepo(other, "secret", forgetest.Private)
	open := w.AddRepo(other, "website", forgetest.Public)
	w.SetRole(ours, ada, forge.Write)
	w.SetRole(open, grace, forge.Maintain)
	c.Token = fake.GroupToken(acme, "read_api")
	f := dial(t, c)
	ctx, as := t.Context(), forge.Asker{User: user(w, ada)}

	if got, err := f.Role(ctx, as, byID(ours)); err != nil || got.Role != forge.Write {
		t.Errorf("on a project of the group: %q (%v)", got.Role, err)
	}
	if got, err := f.Role(ctx, forge.Asker{User: forge.User{ID: number(other)}}, byID(ours)); err != nil || got.Role != forge.None {
		t.Errorf("of a stranger on a project of the group: %q (%v)", got.Role, err)
	}
	if members, err := f.Members(ctx, as, forge.Organization{ID: number(acme)}); err != nil || len(members) != 2 {
		t.Errorf("members of the group: %+v (%v)", members, err)
	}
	for what, ask := range map[string]func() error{
		"a project elsewhere": func() error { _, err := f.Role(ctx, as, byID(theirs)); return err },
		"no role on what is public elsewhere, where members may be hidden": func() error { _, err := f.Role(ctx, as, byID(open)); return err },
		"an unknown project": func() error { _, err := f.RepositoryByID(ctx, as, byID(77)); return err },
		"a name elsewhere":   func() error { _, err := f.Repository(ctx, as, "other", "secret"); return err },
		"an unknown group":   func() error { _, err := f.Organization(ctx, as, "nobody"); return err },
		"standing elsewhere": func() error {
			_, err := f.Standing(ctx, as, forge.Organization{ID: number(other)})
			return err
		},
		"members elsewhere":                   func() error { _, err := f.Members(ctx, as, forge.Organization{ID: number(other)}); return err },
		"a list of projects of somebody else": func() error { _, err := f.Repositories(ctx, as); return err },
		"a list of groups of somebody else":   func() error { _, err := f.Organizations(ctx, as); return err },
	} {
		if err := ask(); !errors.Is(err, forge.ErrNoCredential) {
			t.Errorf("%s: %v, want %v", what, err, forge.ErrNoCredential)
		}
	}
}

func TestGitLabServiceTokenIsToBlameForItself(t *testing.T) {
	w, fake, c := gitlab(t)
	ada := w.AddUser("ada")
	repo := w.AddRepo(w.AddOrg("acme", ada), "engine", forgetest.Private)
	acme, _, _ := w.OrgNamed("acme")
	revoked := fake.GroupToken(acme.ID, "read_api")
	w.Revoke(revoked)
	for what, token := range map[string]string{"scope": fake.GroupToken(acme.ID, "read_user"), "validity": revoked} {
		c.Token = token
		_, err := dial(t, c).Role(t.Context(), forge.Asker{User: user(w, ada)}, byID(repo))
		missing, ok := errors.AsType[*forge.Missing](err)
		if !ok || !missing.Service || !strings.Contains(missing.What, what) || errors.Is(err, forge.ErrToken) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestGitLabOnlyAdministratorsSayThatSomethingIsGone(t *testing.T) {
	w, _, c := gitlab(t)
	root, ada := w.AddUser("root"), w.AddUser("ada")
	w.SetSiteAdmin(root)
	repo := w.AddRepo(ada, "notes", forgetest.Private)
	w.DeleteRepo(repo)
	c.Token = w.Token(root, forgetest.PAT, "read_api")
	f := dial(t, c)
	if _, err := f.RepositoryByID(t.Context(), forge.Asker{User: user(w, ada)}, byID(repo)); !errors.Is(err, forge.ErrGone) {
		t.Errorf("an administrator's token: %v", err)
	}
	if _, err := f.RepositoryByID(t.Context(), asking(w, ada), byID(repo)); !errors.Is(err, forge.ErrNotFound) || errors.Is(err, forge.ErrGone) {
		t.Errorf("a user's token: %v", err)
	}
}

func TestGitLabRefusesMachinesUnasked(t *testing.T) {
	w, fake, c := gitlab(t)
	ada := w.AddUser("ada")
	f := dial(t, c)
	for _, prefix := range []string{"", "acme-"} {
		fake.SetTokenPrefix(prefix)
		if who, err := f.Bearer(t.Context(), w.Token(ada, forgetest.PAT, "api")); err != nil || who.ID != number(ada) {
			t.Errorf("a personal token with prefix %q: %+v (%v)", prefix, who, err)
		}
		fake.Forget()
		for _, kind := range []forgetest.Kind{forgetest.CI, forgetest.Deploy, forgetest.Runner} {
			if _, err := f.Bearer(t.Context(), w.Token(ada, kind, "api")); !errors.Is(err, forge.ErrToken) {
				t.Errorf("a token of kind %s with prefix %q: %v", kind, prefix, err)
			}
		}
		if calls := fake.Calls("/"); calls != 0 {
			t.Errorf("GitLab was asked %d times about tokens that are a machine's by their looks", calls)
		}
	}
	if _, err := f.Bearer(t.Context(), fake.GroupToken(w.AddOrg("acme", ada), "read_api")); !errors.Is(err, forge.ErrToken) {
		t.Errorf("a group access token: %v", err)
	}
}

func TestGitLabNeverLooksAtPermissions(t *testing.T) {
	w, fake, c := gitlab(t)
	grace, ada := w.AddUser("grace"), w.AddUser("ada")
	org := w.AddOrg("acme", grace)
	repo := w.AddRepo(org, "engine", forgetest.Private)
	w.AddTeamRepo(w.AddTeam(forgetest.Team{Org: w.AddOrg("guests", grace), Name: "invited", Role: forge.Write}, ada), repo)
	got, err := dial(t, c).Role(t.Context(), asking(w, ada), byID(repo))
	if err != nil || got.Role != forge.Write {
		t.Errorf("the role of somebody who came by an invited group is %q (%v)", got.Role, err)
	}
	if fake.Calls("POST ") != 0 {
		t.Error("a question is no GET")
	}
}

func TestGitLabLimits(t *testing.T) {
	w, fake, c := gitlab(t)
	ada := w.AddUser("ada")
	repo := w.AddRepo(ada, "notes", forgetest.Private)
	fake.Break("", func(_ *standin.Fake, rw http.ResponseWriter, _ *http.Request, _ http.Handler) {
		rw.Header().Set("RateLimit-Remaining", "0")
		rw.Header().Set("RateLimit-Reset", strconv.FormatInt(w.Now().Add(42*time.Second).Unix(), 10))
		rw.WriteHeader(http.StatusTooManyRequests)
	})
	_, err := dial(t, c).Role(t.Context(), asking(w, ada), byID(repo))
	if down, ok := errors.AsType[*forge.Unavailable](err); !ok || down.RetryAfter != 42*time.Second {
		t.Errorf("%v", err)
	}
}

func TestGitLabListsSayWhereTheyGoOn(t *testing.T) {
	w, fake, c := gitlab(t)
	ada := w.AddUser("ada")
	acme := w.AddOrg("acme", ada)
	w.SetMember(acme, w.AddUser("bob"), forge.OrgMember)
	for _, size := range []int{1, 20} {
		fake.SetPageSize(size)
		fake.Break("", without("X-Page", "X-Next-Page"))
		all, err := dial(t, c).Members(t.Context(), asking(w, ada), forge.Organization{ID: number(acme), Login: "acme"})
		if _, down := errors.AsType[*forge.Unavailable](err); !down || len(all) > 0 {
			t.Errorf("a list that does not say whether it goes on: %+v, %v", all, err)
		}
		fake.Heal()
	}
}

func TestGitLabSaysThatTheApplicationIsWrong(t *testing.T) {
	_, _, c := gitlab(t)
	c.ClientSecret = "wrong"
	_, err := dial(t, c).(forge.SignIn).Refresh(t.Context(), "refresh")
	if errors.Is(err, forge.ErrGrantEnded) || err == nil || !strings.Contains(err.Error(), "sign-in application") {
		t.Errorf("%v", err)
	}
}

func TestGitLabConfiguration(t *testing.T) {
	for what, c := range map[string]forge.Config{
		"a level for admins that is none": {AdminLevel: 30},
		"a signing token without a key":   {WebhookSecret: "whsec_"},
		"a signing token that is none":    {WebhookSecret: "whsec_!"},
		"an address that is none":         {URL: "gitlab.example"},
	} {
		c.Kind = forge.KindGitLab
		if f, err := forge.New(c); err == nil || f != nil {
			t.Errorf("%s is accepted", what)
		}
	}
	f := dial(t, forge.Config{Kind: forge.KindGitLab})
	if at := f.(forge.SignIn).AuthorizeURL("s", "c"); at != "" {
		t.Errorf("nobody registered us, and people sign in at %s", at)
	}
	f = dial(t, forge.Config{Kind: forge.KindGitLab, ClientID: "id"})
	if at := f.(forge.SignIn).AuthorizeURL("s", "c"); !strings.HasPrefix(at, "https://gitlab.com/oauth/authorize?") {
		t.Errorf("people sign in at %s", at)
	}
}

// saying has the host say something else at a path.
func saying(body string) standin.Fault {
	return func(_ *standin.Fake, rw http.ResponseWriter, _ *http.Request, _ http.Handler) {
		rw.Header().Set("Content-Type", "application/json")
		_, _ = rw.Write([]byte(body)) // a client that left is no concern of ours
	}
}

func TestGitLabIsNotBelievedAboutSomethingElse(t *testing.T) {
	w, fake, c := gitlab(t)
	ada := w.AddUser("ada")
	repo := byID(w.AddRepo(ada, "notes", forgetest.Private))
	as, f := asking(w, ada), dial(t, c)
	role := func() error { _, err := f.Role(t.Context(), as, repo); return err }
	bearer := func() error { _, err := f.Bearer(t.Context(), as.Token); return err }
	const project, member, self = "/api/v4/projects/", "/members/all/", "/api/v4/personal_access_tokens/self"
	named := `,"path_with_namespace":"ada/notes","visibility":"private","namespace":{"kind":"user"}`
	for what, tt := range map[string]struct {
		ask      func() error
		at, body string
	}{
		"another project":            {role, project + repo.ID, `{"id":7` + named + `,"owner":{"id":7}}`},
		"a project without an owner": {role, project + repo.ID, `{"id":` + repo.ID + named + `}`},
		"another member":             {role, project + repo.ID + member + as.User.ID, `{"id":7,"state":"active","access_level":50}`},
		"another user":               {bearer, "/api/v4/user", `{"id":7,"username":"eve","state":"active"}`},
		"nobody":                     {bearer, "/api/v4/user", `{}`},
	} {
		fake.Break(tt.at, saying(tt.body))
		err := tt.ask()
		fake.Heal()
		if _, ok := errors.AsType[*forge.Unavailable](err); !ok {
			t.Errorf("%s: %v", what, err)
		}
	}
	fake.Break("/api/v4/user", saying(`{"id":`+as.User.ID+`,"username":"ada","state":"deactivated"}`))
	if err := bearer(); !errors.Is(err, forge.ErrToken) {
		t.Errorf("an account that is not active: %v", err)
	}
	fake.Heal()
	alive := `{"user_id":` + as.User.ID + `,"scopes":["read_api"],"active":true,"revoked":false,"expires_at":null}`
	for body, taken := range map[string]bool{
		alive: true,
		strings.Replace(alive, `"active":true`, `"active":false`, 1):                   false,
		strings.Replace(alive, `"revoked":false`, `"revoked":true`, 1):                 false,
		strings.Replace(alive, `null`, `"`+w.Now().UTC().Format(time.DateOnly)+`"`, 1): false,
		strings.Replace(alive, `null`, `"soon"`, 1):                                    false,
	} {
		fake.Break(self, saying(body))
		err := bearer()
		fake.Heal()
		if taken != (err == nil) || !taken && !errors.Is(err, forge.ErrToken) {
			t.Errorf("%s: %v", body, err)
		}
	}
}

func TestGitLabOutsidersAreNotToldOfAllMembers(t *testing.T) {
	w, _, c := gitlab(t)
	grace, eve := w.AddUser("grace"), w.AddUser("eve")
	org := forge.Organization{ID: number(w.AddOrg("acme", grace))}
	if all, err := dial(t, c).Members(t.Context(), asking(w, eve), org); !errors.Is(err, forge.ErrNoCredential) || len(all) > 0 {
		t.Errorf("an outsider is told of %d members (%v)", len(all), err)
	}
}
