package forgetest_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"coffer/server/forge"
	"coffer/server/forge/forgetest"
	"coffer/server/standin"
)

func TestNamesMoveAndIDsStay(t *testing.T) {
	w := forgetest.NewWorld()
	ada := w.AddUser("ada")
	acme := w.AddOrg("Acme", ada)
	repo := w.AddRepo(ada, "Engine", forgetest.Private)
	w.Rename(repo, "machine")
	w.RenameUser(ada, "lovelace")
	if r, moved, ok := w.RepoNamed("ADA", "engine"); !ok || !moved || r.ID != repo {
		t.Errorf("the old path leads to %v, moved %v", r, moved)
	}
	w.Transfer(repo, acme)
	if r, moved, ok := w.RepoNamed("lovelace", "machine"); !ok || !moved || r.ID != repo || r.Owner != acme {
		t.Errorf("the path before the transfer leads to %v, moved %v", r, moved)
	}
	again := w.Recycle(ada, "engine")
	if r, moved, ok := w.RepoNamed("lovelace", "Engine"); !ok || moved || r.ID != again || again == repo {
		t.Errorf("the recycled name leads to %v, moved %v", r, moved)
	}
	other := w.RecycleUser("ada")
	if _, _, ok := w.RepoNamed("ada", "engine"); ok || other == ada {
		t.Error("a recycled login leads to what its former owner has")
	}
	w.DeleteRepo(repo)
	if _, _, ok := w.RepoNamed("acme", "machine"); ok {
		t.Error("a deleted repository is found")
	}
}

func TestTheMostOfAllRolesCounts(t *testing.T) {
	w := forgetest.NewWorld()
	owner, member, triager, outsider := w.AddUser("owner"), w.AddUser("member"), w.AddUser("triager"), w.AddUser("outsider")
	acme := w.AddOrg("acme", owner)
	repo := w.AddRepo(acme, "app", forgetest.Private)
	w.SetMember(acme, member, forge.OrgMember)
	team := w.AddTeam(forgetest.Team{Org: acme, Name: "issues", Role: forge.Triage}, triager)
	w.AddTeamRepo(team, repo)
	check := func(user int64, want forge.Role) {
		t.Helper()
		if got := w.Role(repo, user); got != want {
			t.Errorf("role %q, want %q", got, want)
		}
	}
	check(owner, forge.Admin)
	check(member, forge.None)
	check(triager, forge.Triage)
	check(outsider, forge.None)
	w.SetBase(acme, forge.Read)
	w.SetRole(repo, triager, forge.Write)
	check(member, forge.Read)
	check(triager, forge.Write)
	if n := len(w.Everyone(repo)); n != 3 {
		t.Errorf("%d people have a role, want 3", n)
	}
	w.SetMember(acme, triager, "")
	w.SetRole(repo, triager, forge.None)
	check(triager, forge.None)
	if w.Sees(repo, outsider) || !w.Sees(repo, member) {
		t.Error("a private repository is seen by an outsider, or not by a member with a role")
	}
}

func TestTokensEnd(t *testing.T) {
	w := forgetest.NewWorld()
	ada := w.AddUser("ada")
	short := w.AddToken(forgetest.Token{User: ada, Kind: forgetest.PAT, Expires: w.Now().Add(time.Hour)})
	long := w.Token(ada, forgetest.PAT, "repo")
	if k, ok := w.Live(long); !ok || !k.Has("admin", "repo") || k.User != ada {
		t.Errorf("the token is %v", k)
	}
	w.Advance(time.Hour)
	w.Revoke(long)
	_, expired := w.Live(short)
	_, revoked := w.Live(long)
	if expired || revoked {
		t.Error("a token lives on after its end")
	}
}

func TestGrantsRotateAsTheHostSays(t *testing.T) {
	w := forgetest.NewWorld()
	w.SetOAuth(forgetest.OAuthRules{AccessLife: time.Hour, SingleUse: true})
	app, ada := w.AddApp("coffer", "http://localhost/back"), w.AddUser("ada")
	code := w.Authorize(forgetest.Code{ClientID: app.ClientID, User: ada, Challenge: forgetest.Challenge("right"), Redirect: app.Redirect})
	redeem := func(verifier string) (forgetest.Pair, error) {
		return w.Redeem(app.ClientID, code, verifier, app.Redirect)
	}
	if _, err := redeem("wrong"); !errors.Is(err, forgetest.ErrVerifier) {
		t.Errorf("a wrong verifier: %v", err)
	}
	first, err := redeem("right")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := redeem("right"); !errors.Is(err, forgetest.ErrCode) {
		t.Errorf("a used code: %v", err)
	}
	second, err := w.Refresh(app.ClientID, first.Refresh)
	if err != nil || second.Access.Text == first.Access.Text {
		t.Fatalf("refresh: %v", err)
	}
	if _, err := w.Refresh(app.ClientID, first.Refresh); !errors.Is(err, forgetest.ErrRefreshUsed) {
		t.Errorf("a used refresh token: %v", err)
	}
	w.RevokeGrant(app.ClientID, ada)
	if _, err := w.Refresh(app.ClientID, second.Refresh); !errors.Is(err, forgetest.ErrRefresh) {
		t.Errorf("a revoked refresh token: %v", err)
	}
	if _, ok := w.Live(second.Access.Text); ok {
		t.Error("an access token outlives its grant")
	}
}

func TestTheFakeRemembersAndBreaks(t *testing.T) {
	w := forgetest.NewWorld()
	ada := w.AddUser("ada")
	token := w.Token(ada, forgetest.PAT)
	f := forgetest.NewFake(t, w, http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		standin.Answer(rw, http.StatusOK, map[string]int{"n": 1})
	}))
	get := func(url string) int {
		t.Helper()
		res, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		return res.StatusCode
	}
	f.Break("/api", standin.Once(standin.Status(http.StatusBadGateway)))
	if a, b, c := get(f.URL+"/other"), get(f.URL+"/api/x"), get(f.URL+"/api/x"); a != 200 || b != 502 || c != 200 {
		t.Errorf("answers %d, %d, %d", a, b, c)
	}
	if n, m := f.Calls("/api"), f.Calls("POST /"); n != 2 || m != 0 {
		t.Errorf("%d calls of the API, %d by POST", n, m)
	}
	if leaks := f.Leaks(); len(leaks) > 0 {
		t.Errorf("leaks without a token: %q", leaks)
	}
	get(f.URL + "/api?token=" + token)
	if leaks := f.Leaks(); len(leaks) != 1 {
		t.Errorf("a token in an address is seen %d times", len(leaks))
	}
	f.Break("", standin.Astray)
	f.Forget()
	get(f.URL + "/lost")
	if len(f.Log()) != 2 || f.Calls("/lost") != 1 {
		t.Errorf("the other host was not reached: %v", f.Log())
	}
}
