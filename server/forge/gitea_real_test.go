package forge_test

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"coffer/server/forge"
)

// realGitea is what a real Gitea or Forgejo for tests holds. COFFER_TEST_GITEA
// names a JSON file in this form; without it these tests are skipped. They only
// read, but for people signing in through the applications. The host has:
//
//   - the site administrator root1, whose token root1_service has the scopes
//     read:repository, read:user and read:organization;
//   - the organization acme, which ann owns, with the private repository api and
//     the public repository open; ann's private repository own;
//   - on api the teams writers (code: write; bob) and triagers (issues: read and
//     nothing else; dora);
//   - carl, collaborator on open with read; eve, a stranger;
//   - a token with all read scopes for each of them, and bob_user_only with
//     read:user alone;
//   - two confidential OAuth applications with the redirect URI
//     http://127.0.0.1:2633/login/callback. Carl must not have agreed to more
//     than read:user for the other one.
type realGitea struct {
	URL     string
	UserIDs map[string]int64 `json:"user_ids"`
	Org     struct {
		Name string
		ID   int64
	}
	RepoIDs map[string]int64 `json:"repo_ids"`
	Tokens  map[string]struct{ Token string }
	OAuth   realApp `json:"oauth2"`
	Other   realApp `json:"oauth2_other"`

	Passwords map[string]string
}

type realApp struct {
	ClientID     string `json:"client_id"`
	ClientSecret string `json:"client_secret"`
}

const realVerifier = "a-verifier-of-more-than-forty-three-characters-0123456789"

func realChallenge() string {
	sum := sha256.Sum256([]byte(realVerifier))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

const realRedirect = "http://127.0.0.1:2633/login/callback"

func openRealGitea(t *testing.T) *realGitea {
	file := os.Getenv("COFFER_TEST_GITEA")
	if file == "" {
		t.Skip("COFFER_TEST_GITEA names no real host")
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	r := &realGitea{}
	if err := json.Unmarshal(text, r); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *realGitea) forge(t *testing.T, service string) forge.Forge {
	t.Helper()
	f, err := forge.New(forge.Config{
		Kind: forge.KindGitea, URL: r.URL, Token: r.Tokens[service].Token,
		ClientID: r.OAuth.ClientID, ClientSecret: r.OAuth.ClientSecret, RedirectURL: realRedirect,
	})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func (r *realGitea) user(login string) forge.User {
	return forge.User{ID: fmt.Sprint(r.UserIDs[login]), Login: login}
}

func (r *realGitea) repo(name string) forge.Repository {
	owner, repo, _ := strings.Cut(name, "/")
	return forge.Repository{ID: fmt.Sprint(r.RepoIDs[name]), Owner: owner, Name: repo}
}

// askers are the two ways to ask for somebody.
func (r *realGitea) askers(login string) map[string]forge.Asker {
	return map[string]forge.Asker{
		"token":   {User: r.user(login), Token: r.Tokens[login].Token},
		"service": {User: r.user(login)},
	}
}

func TestRealGiteaRoles(t *testing.T) {
	r := openRealGitea(t)
	f := r.forge(t, "root1_service")
	want := map[string]map[string]forge.Role{
		"acme/api":  {"ann": forge.Admin, "bob": forge.Write, "carl": "hidden", "dora": forge.None, "eve": "hidden"},
		"acme/open": {"ann": forge.Admin, "bob": forge.Read, "carl": forge.Read, "dora": forge.Read, "eve": forge.None},
		"ann/own":   {"ann": forge.Admin, "bob": "hidden"},
	}
	for name, people := range want {
		for login, role := range people {
			for how, as := range r.askers(login) {
				got, err := f.Role(t.Context(), as, r.repo(name))
				if role == "hidden" && how == "token" {
					if !errors.Is(err, forge.ErrNotFound) {
						t.Errorf("%s of %s by %s: %q, %v", login, name, how, got.Role, err)
					}
					continue
				}
				if err != nil || got.Role != role && role != "hidden" || role == "hidden" && got.Role != forge.None {
					t.Errorf("%s of %s by %s: %q, %v; want %q", login, name, how, got.Role, err, role)
				}
				if got.Repository.FullName() != name || (got.Repository.OwnerKind == forge.OwnerOrg) != strings.HasPrefix(name, "acme/") ||
					got.Repository.Public != strings.HasSuffix(name, "/open") {
					t.Errorf("%s by %s: %+v", name, how, got.Repository)
				}
			}
		}
	}
}

func TestRealGiteaSudoHoldsTheLoginAgainstTheID(t *testing.T) {
	r := openRealGitea(t)
	f := r.forge(t, "root1_service")
	stale := forge.Asker{User: r.user("bob")}
	stale.User.Login = "ann" // whom bob's former login belongs to now
	if got, err := f.Role(t.Context(), stale, r.repo("acme/api")); err != nil || got.Role != forge.Write {
		t.Errorf("a login that is another's: %q, %v", got.Role, err)
	}
	nobody := forge.Asker{User: forge.User{ID: "99999999", Login: "ann"}}
	if got, err := f.Role(t.Context(), nobody, r.repo("acme/api")); err != nil || got.Role != forge.None {
		t.Errorf("an account that is gone: %q, %v", got.Role, err)
	}
	if _, err := r.forge(t, "bob").Role(t.Context(), stale, r.repo("acme/api")); err == nil {
		t.Error("a service credential that is no administrator's has a role")
	}
	gone := forge.Repository{ID: "99999999", Owner: "acme", Name: "api"}
	if _, err := f.RepositoryByID(t.Context(), forge.Asker{User: r.user("ann")}, gone); !errors.Is(err, forge.ErrGone) {
		t.Errorf("a repository that is gone: %v", err)
	}
}

func TestRealGiteaLists(t *testing.T) {
	r := openRealGitea(t)
	f := r.forge(t, "root1_service")
	acme := forge.Organization{ID: fmt.Sprint(r.Org.ID), Login: r.Org.Name}
	for how, as := range r.askers("bob") {
		all, err := f.Repositories(t.Context(), as)
		var repos []string
		for _, one := range all {
			repos = append(repos, one.Repository.FullName()+" "+string(one.Role))
		}
		same(t, "repositories by "+how, err, repos, "acme/api write", "acme/open read")

		mine, err := f.Organizations(t.Context(), as)
		var orgs []string
		for _, one := range mine {
			orgs = append(orgs, one.Organization.Login+" "+one.Standing)
		}
		same(t, "organizations by "+how, err, orgs, "acme member")

		members, err := f.Members(t.Context(), as, acme)
		var people []string
		for _, one := range members {
			people = append(people, one.User.Login+" "+one.Standing)
		}
		same(t, "members by "+how, err, people, "ann owner", "bob member", "dora member")
	}
	for how, as := range r.askers("ann") {
		all, err := f.Collaborators(t.Context(), as, r.repo("acme/api"))
		same(t, "collaborators by "+how, err, roles(all), "ann admin", "bob write")
		all, err = f.Collaborators(t.Context(), as, r.repo("acme/open"))
		same(t, "collaborators of the public one by "+how, err, roles(all), "ann admin", "bob read", "carl read", "dora read")
	}
	eve := r.askers("eve")["token"]
	if _, err := f.Members(t.Context(), eve, acme); !errors.Is(err, forge.ErrNoCredential) {
		t.Errorf("a stranger asks for members: %v", err)
	}
	if standing, err := f.Standing(t.Context(), eve, acme); err != nil || standing != "" {
		t.Errorf("a stranger's standing: %q, %v", standing, err)
	}
	if _, err := f.Collaborators(t.Context(), r.askers("bob")["token"], r.repo("acme/api")); !errors.Is(err, forge.ErrNoCredential) {
		t.Errorf("a member asks for collaborators: %v", err)
	}
}

func roles(all []forge.Collaborator) (text []string) {
	for _, one := range all {
		text = append(text, one.User.Login+" "+string(one.Role))
	}
	return text
}

func same(t *testing.T, what string, err error, got []string, want ...string) {
	t.Helper()
	slices.SortFunc(got, cmp.Compare[string])
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%s: %q, %v; want %q", what, got, err, want)
	}
}

func TestRealGiteaBearersAndCheck(t *testing.T) {
	r := openRealGitea(t)
	f := r.forge(t, "root1_service")
	if u, err := f.Bearer(t.Context(), r.Tokens["bob"].Token); err != nil || u.ID != r.user("bob").ID || u.Login != "bob" {
		t.Errorf("bob's token: %+v, %v", u, err)
	}
	for _, bad := range []string{strings.Repeat("0", 40), "eyJhbGciOiJSUzI1NiJ9.e30.c2ln", "gto_secret", ""} {
		if _, err := f.Bearer(t.Context(), bad); !errors.Is(err, forge.ErrToken) {
			t.Errorf("token %q: %v", bad, err)
		}
	}
	var lacks *forge.Missing
	narrow := forge.Asker{User: r.user("bob"), Token: r.Tokens["bob_user_only"].Token}
	if _, err := f.Role(t.Context(), narrow, r.repo("acme/api")); !errors.As(err, &lacks) || lacks.What != "the scope read:repository" {
		t.Errorf("a token without read:repository: %v", err)
	}
	for _, finding := range f.(forge.Checker).Check(t.Context()) {
		if finding.Level != forge.FindingOK && finding.What != "webhook secret" {
			t.Errorf("%s: %s: %s", finding.What, finding.Level, finding.Detail)
		}
	}
	for _, finding := range r.forge(t, "bob").(forge.Checker).Check(t.Context()) {
		if finding.What == "service credential" && finding.Level != forge.FindingFailed {
			t.Errorf("a service credential that is no administrator's: %s", finding.Detail)
		}
	}
}

// signIn signs somebody in at the host, agrees to what is asked for, and returns
// the code that the browser is sent back with.
func (r *realGitea) signIn(t *testing.T, login, authorize string) string {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	open := func(res *http.Response, err error) (page, location string) {
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		return string(text), res.Header.Get("Location")
	}
	open(browser.PostForm(r.URL+"/user/login", url.Values{"user_name": {login}, "password": {r.Passwords[login]}}))
	page, location := open(browser.Get(authorize))
	if location == "" { // the page that asks for consent
		form := url.Values{"granted": {"true"}}
		for _, field := range regexp.MustCompile(`<input type="hidden" name="(\w+)" value="([^"]*)"`).FindAllStringSubmatch(page, -1) {
			form.Set(field[1], html.UnescapeString(field[2]))
		}
		_, location = open(browser.PostForm(r.URL+"/login/oauth/grant", form))
	}
	back, err := url.Parse(location)
	if err != nil || back.Query().Get("code") == "" {
		t.Fatalf("%s is sent to %q: %v", login, location, err)
	}
	return back.Query().Get("code")
}

func TestRealGiteaSignIn(t *testing.T) {
	r := openRealGitea(t)
	f := r.forge(t, "root1_service").(forge.SignIn)
	code := r.signIn(t, "dora", f.AuthorizeURL("state", realChallenge()))
	if _, _, err := f.Exchange(t.Context(), code, "another-"+realVerifier); !errors.Is(err, forge.ErrToken) {
		t.Errorf("a wrong verifier: %v", err)
	}
	grant, who, err := f.Exchange(t.Context(), r.signIn(t, "dora", f.AuthorizeURL("state", realChallenge())), realVerifier)
	if err != nil || who.ID != r.user("dora").ID || grant.Refresh == "" || time.Until(grant.Expires) < time.Second {
		t.Fatalf("dora signs in: %+v, until %v, %v", who, grant.Expires, err)
	}
	again, err := f.Refresh(t.Context(), grant.Refresh)
	if err != nil || again.Access == "" {
		t.Fatalf("refresh: %v", err)
	}
	if who, err := f.Self(t.Context(), again.Access); err != nil || who.Login != "dora" {
		t.Errorf("whose the new token is: %q, %v", who.Login, err)
	}
	if _, err := f.Refresh(t.Context(), "eyJhbGciOiJSUzI1NiJ9.e30.c2ln"); !errors.Is(err, forge.ErrGrantEnded) {
		t.Errorf("a garbled refresh token: %v", err)
	}
	if who, err := f.(forge.Forge).Bearer(t.Context(), again.Access); err != nil || who.Login != "dora" {
		t.Errorf("a token of our application: %q, %v", who.Login, err)
	}
	if _, err := f.(forge.Forge).Bearer(t.Context(), again.Refresh); !errors.Is(err, forge.ErrToken) {
		t.Errorf("a refresh token as a bearer: %v", err)
	}
	var foreign *forge.ForeignToken
	if _, err := r.application(t, r.Other).(forge.Forge).Bearer(t.Context(), again.Access); !errors.As(err, &foreign) {
		t.Errorf("a token of another application: %v", err)
	}
}

// application is the host with another of its applications.
func (r *realGitea) application(t *testing.T, app realApp) forge.SignIn {
	t.Helper()
	f, err := forge.New(forge.Config{Kind: forge.KindGitea, URL: r.URL, ClientID: app.ClientID, ClientSecret: app.ClientSecret, RedirectURL: realRedirect})
	if err != nil {
		t.Fatal(err)
	}
	return f.(forge.SignIn)
}

func TestRealGiteaKeepsToTheFirstConsent(t *testing.T) {
	r := openRealGitea(t)
	f := r.application(t, r.Other)
	narrow := strings.Replace(f.AuthorizeURL("state", realChallenge()), "scope=read%3Auser+read%3Arepository+read%3Aorganization", "scope=read%3Auser", 1)
	r.signIn(t, "carl", narrow)
	_, _, err := f.Exchange(t.Context(), r.signIn(t, "carl", f.AuthorizeURL("state", realChallenge())), realVerifier)
	var lacks *forge.Missing
	if !errors.As(err, &lacks) || !strings.Contains(lacks.What, "read:organization") || !strings.Contains(lacks.What, "/user/settings/applications") {
		t.Errorf("a grant for less: %v", err)
	}
	wrong := r.OAuth
	wrong.ClientSecret += "x"
	if _, err := r.application(t, wrong).Refresh(t.Context(), "eyJhbGciOiJSUzI1NiJ9.e30.c2ln"); err == nil || errors.Is(err, forge.ErrGrantEnded) {
		t.Errorf("a wrong secret of ours: %v", err)
	}
	for _, finding := range r.application(t, wrong).(forge.Checker).Check(t.Context()) {
		if finding.What == "sign-in application" && finding.Level != forge.FindingFailed {
			t.Errorf("a wrong secret of ours: %s", finding.Detail)
		}
	}
}
