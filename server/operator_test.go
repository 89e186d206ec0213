package server_test

import (
	"net/http"
	"strings"
	"testing"

	"coffer/server"
	"coffer/server/api"
	"coffer/server/forge"
	"coffer/server/servertest"
)

// office is an instance with a browser in which root is signed in, who may run it.
func office(t *testing.T) *first {
	t.Helper()
	in := servertest.New(t)
	_, err := in.Operator.AddLocalUser(t.Context(), api.AddLocalUser{Username: "root", Password: api.NewSecret(servertest.Password), Operator: true})
	if err != nil {
		t.Fatal(err)
	}
	f := &first{Browser: in.Browser(), in: in, t: t, clock: new(clock)}
	f.SignIn("root")
	return f
}

// does sends a form that leads to a page which says what was done.
func (f *first) does(path, page, said string, fields ...string) {
	f.t.Helper()
	expect(f.t, f.Submit(path, fields...), 303, page)
	f.contains(f.Open(page), 200, said)
}

var operatorPages = []string{"/operator", "/operator/users", "/operator/orgs", "/operator/repos"}

func TestOperatorPagesAreForOperators(t *testing.T) {
	f := office(t)
	f.contains(f.Open("/"), 200, `<a href="/operator">Operator</a>`)
	f.in.User("ann")
	ann := &first{Browser: f.in.Browser(), in: f.in, t: t}
	expect(t, ann.Open("/operator"), 303, "/login?return=%2Foperator")
	ann.SignIn("ann")
	if s := ann.Open("/"); strings.Contains(s.Text, "/operator") {
		t.Error("the way there is shown to everybody")
	}
	for _, page := range operatorPages {
		f.contains(f.Open(page), 200, `aria-current="page"`)
		ann.contains(ann.Open(page), 403, "You may not do that", "Only operators of this server")
	}
	for _, form := range []string{"/operator/users", "/operator/users/disabled", "/operator/orgs", "/operator/orgs/members", "/operator/repos", "/operator/repos/grants", "/operator/seal", "/operator/jobs/trash/run"} {
		fields := []string{"username", "eve", "password", "a password", "name", "evil", "org", "evil", "role", "admin", "repoFullName", "eve/x", "confirm", "seal", "do", "disable"}
		ann.contains(ann.Submit(form, fields...), 403, "You may not do that")
		s := f.Send("POST", form, servertest.Form(fields...), "Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site")
		f.contains(s, 403, "another site")
	}
	f.contains(f.Open("/operator/users"), 200, "root")
	if s := f.Open("/operator/users"); strings.Contains(s.Text, "<h2>eve") {
		t.Error("eve was added")
	}
}

func TestAnOperatorsSessionIsOneForTheAPIToo(t *testing.T) {
	f := office(t)
	s := f.Send("POST", "/v1/operator/orgs", `{"name":"acme"}`, "Accept", "application/json")
	f.contains(s, 201, `"acme"`)
	s = f.Send("POST", "/v1/operator/orgs", `{"name":"evil"}`, "Accept", "application/json", "Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site")
	f.contains(s, 403, "forbidden")
	s = f.Send("POST", "/v1/operator/sessions", `{"username":"root"}`, "Accept", "application/json")
	f.contains(s, 403, "it takes: operator.")
	for name, c := range map[string]string{"token": f.in.SignIn("root").Token, "key": f.in.Key("root", "live", servertest.AllScopes...).Token} {
		r, _ := http.NewRequestWithContext(t.Context(), "GET", f.in.URL+"/v1/operator/jobs", nil)
		r.Header.Set("Authorization", "Bearer "+c)
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != 403 {
			t.Errorf("%s: %d", name, res.StatusCode)
		}
	}
}

func TestAnOperatorManagesTheBuiltInCodeHost(t *testing.T) {
	f := office(t)
	f.does("/operator/users", "/operator/users", "The user can sign in now", "username", "bob", "password", "a password")
	s := f.Submit("/operator/users", "username", "b ob", "password", "canary", "operator", "true")
	f.contains(s, 422, "1 to 39 letters", "At least 8 characters", `value="b ob"`, "checked")
	if strings.Contains(s.Text, "canary") {
		t.Error("the password is in the page")
	}
	f.contains(f.Submit("/operator/users", "username", "BOB", "password", "a password"), 409, "taken already")

	f.does("/operator/orgs", "/operator/orgs", "The organization is there", "name", "acme")
	f.contains(f.Submit("/operator/orgs", "name", "<b>"), 422, "&lt;b&gt;")
	f.does("/operator/orgs/members", "/operator/orgs", "bob (owner)", "org", "acme", "username", "bob", "role", "owner")
	f.contains(f.Submit("/operator/orgs/members", "org", "none", "username", "bob", "role", "member"), 422, "There is no org")

	f.does("/operator/orgs/members", "/operator/orgs", `<span class="note">nobody</span>`, "org", "acme", "username", "bob", "role", "none")

	f.does("/operator/repos", "/operator/repos", "acme/api", "repoFullName", "acme/api", "public", "true")
	f.contains(f.Open("/operator/repos"), 200, ">public</td>")
	f.contains(f.Submit("/operator/repos", "repoFullName", "acme/api"), 409, "exists already")
	f.does("/operator/repos/grants", "/operator/repos", "root (write)", "repoFullName", "acme/api", "username", "root", "role", "write")
	f.does("/operator/repos/grants", "/operator/repos", "nobody", "repoFullName", "acme/api", "username", "root", "role", "none")
	f.contains(f.Submit("/operator/repos/grants", "repoFullName", "acme/none", "username", "bob", "role", "read"), 422, "acme/none")
	f.contains(f.Open("/operator/users?offset=1"), 200, "root", `rel="prev"`)
	f.contains(f.Open("/operator/users?offset=x"), 422, "")
}

// TestWhoLeavesIsLetInNoMore, whatever they have, and others are as before.
func TestWhoLeavesIsLetInNoMore(t *testing.T) {
	f := office(t)
	f.in.User("bob")
	f.in.User("ann")
	key, login := f.in.Key("bob", "live", servertest.AllScopes...), f.in.SignIn("bob")
	bob, ann := inBrowser(f.in, "bob"), inBrowser(f.in, "ann")
	comes := func(what, token string, want bool) {
		t.Helper()
		_, err := f.in.Client(token).Me(t.Context())
		if err == nil != want || err != nil && api.CodeOf(err) != api.Unauthorized {
			t.Errorf("with the %s: %v", what, err)
		}
	}
	comes("key", key.Token, true)
	comes("login", login.Token, true)
	expectSeen(t, bob.Open("/account"), 200, "bob")
	f.contains(f.Open("/operator/users"), 200, `aria-label="Disable now: bob"`)
	f.does("/operator/users/disabled", "/operator/users", "let in no more", "username", "BOB", "do", "disable")
	f.contains(f.Open("/operator/users"), 200, ">disabled<", `aria-label="Enable bob"`)
	comes("key", key.Token, false)
	comes("login", login.Token, false)
	expect(t, bob.Open("/account"), 303, "/login?return=%2Faccount")
	expectSeen(t, bob.Submit("/login", "username", "bob", "password", servertest.Password), 401, "This account is disabled")
	expectSeen(t, bob.Submit("/login", "username", "bob", "password", "wrong password"), 401, "This is not the right password")
	if _, err := f.in.Operator.SignIn(t.Context(), api.SignIn{Username: "bob"}); api.CodeOf(err) != api.Conflict {
		t.Errorf("signed in by the operator: %v", err)
	}
	if _, err := f.in.Operator.IssueToken(t.Context(), api.IssueToken{Username: "bob", Name: "n", Environment: "live", Scopes: []string{api.ReadSecrets}}); api.CodeOf(err) != api.Conflict {
		t.Errorf("given a key: %v", err)
	}
	expectSeen(t, ann.Open("/account"), 200, "ann")
	f.in.Restart()
	expectSeen(t, bob.Submit("/login", "username", "bob", "password", servertest.Password), 401, "This account is disabled")

	f.does("/operator/users/disabled", "/operator/users", "can sign in again", "username", "bob", "do", "enable")
	comes("key of who is back", key.Token, true)
	comes("login that had ended", login.Token, false)
	expect(t, bob.Open("/account"), 303, "/login?return=%2Faccount")
	expect(t, bob.Submit("/login", "username", "bob", "password", servertest.Password), 303, "/")

	f.contains(f.Submit("/operator/users/disabled", "username", "root", "do", "disable"), 409, "You cannot disable yourself.")
	f.contains(f.Submit("/operator/users/disabled", "username", "none", "do", "disable"), 422, "There is no username")
	f.contains(f.Submit("/operator/users/disabled", "username", "bob"), 400, "nothing that this page can do")
	if log := f.Send("GET", "/v1/activity", "", "Accept", "application/json").Text; !strings.Contains(log, `"local_user_disabled"`) || !strings.Contains(log, `"local_user_enabled"`) {
		t.Errorf("not recorded as root's: %s", log)
	}
}

// TestALostPasswordIsReplaced by an operator: the old one and all sessions are no
// good any more, API keys are, and attempts that failed are forgotten.
func TestALostPasswordIsReplaced(t *testing.T) {
	f := office(t)
	f.in.User("bob")
	key, login := f.in.Key("bob", "live", servertest.AllScopes...), f.in.SignIn("bob")
	bob := inBrowser(f.in, "bob")
	for range 20 {
		bob.Submit("/login", "username", "bob", "password", "wrong password")
	}
	expectSeen(t, bob.Submit("/login", "username", "bob", "password", servertest.Password), 429, "too many attempts")

	s := f.Submit("/operator/users/password", "username", "bob", "password", "canary")
	f.contains(s, 422, "At least 8 characters", "<details open>")
	if strings.Contains(s.Text, "canary") {
		t.Error("the password is in the page")
	}
	f.contains(f.Submit("/operator/users/password", "username", "none", "password", "the new password"), 422, "There is no username")
	f.does("/operator/users/password", "/operator/users", "signed out everywhere", "username", "BOB", "password", "the new password")
	expect(t, bob.Open("/account"), 303, "/login?return=%2Faccount")
	if _, err := f.in.Client(login.Token).Me(t.Context()); api.CodeOf(err) != api.Unauthorized {
		t.Errorf("with the login from before: %v", err)
	}
	if _, err := f.in.Client(key.Token).Me(t.Context()); err != nil {
		t.Errorf("with the key: %v", err)
	}
	expectSeen(t, bob.Submit("/login", "username", "bob", "password", servertest.Password), 401, "not the right password")
	expect(t, bob.Submit("/login", "username", "bob", "password", "the new password"), 303, "/")

	f.does("/operator/users/password", "/operator/users", "root", "username", "root", "password", "a password of root's")
	f.contains(f.Open("/operator/users"), 200, "This is you.") // still signed in here
	if log := f.Send("GET", "/v1/activity", "", "Accept", "application/json").Text; !strings.Contains(log, `"local_password_set"`) {
		t.Errorf("not recorded as root's: %s", log)
	}
}

func TestAnOperatorLooksAfterTheServer(t *testing.T) {
	f := office(t)
	f.contains(f.Open("/operator"), 200, "local (built in)", "trash", "off", "the recovery key", "and able to write")
	f.does("/operator/jobs/trash/run", "/operator", "The job was done")
	f.contains(f.Submit("/operator/jobs/none/run"), 404, "There is no job")
	f.contains(f.Submit("/operator/seal"), 422, "type seal into the field")
	f.contains(f.Open("/operator"), 200, "unsealed")
	expect(t, f.Submit("/operator/seal", "confirm", "seal"), 303, "/unseal")
	f.contains(f.Open("/unseal"), 200, "This vault is sealed")
	expect(t, f.Submit("/unseal", "key", f.in.Recovery, "return", "/operator"), 303, "/operator")
	if log := f.Send("GET", "/v1/activity", "", "Accept", "application/json").Text; !strings.Contains(log, `"system_sealed"`) || !strings.Contains(log, `"job_run"`) {
		t.Errorf("not recorded as root's: %s", log)
	}
}

func TestWithAnotherCodeHostNobodyIsManagedHere(t *testing.T) {
	in := servertest.New(t, func(c *server.Config) {
		c.Forge = server.ForgeConfig{Kind: forge.KindGitea, URL: "http://127.0.0.1:1"}
	})
	if _, err := in.Operator.AddLocalUser(t.Context(), api.AddLocalUser{Username: "root", Password: api.NewSecret("a password"), Operator: true}); api.CodeOf(err) != api.Conflict {
		t.Errorf("%v", err)
	}
}
