package browsertest

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"coffer/server/servertest"
)

// realGitea is a real Gitea for tests. COFFER_TEST_GITEA names a JSON file with
// what it holds; here the site administrator root1 matters, with the password and
// the token root1_all. What the walk makes there has names of its own, and is
// removed in the end. Webhooks to loopback must be allowed.
type realGitea struct {
	t         *testing.T
	URL       string
	Passwords map[string]string
	Tokens    map[string]struct{ Token string }
	walk      string // begins every name
}

func openRealGitea(t *testing.T) *realGitea {
	file := os.Getenv("COFFER_TEST_GITEA")
	if file == "" {
		t.Skip("COFFER_TEST_GITEA names no real host")
	}
	needBrowser(t)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	g := &realGitea{t: t, walk: "walk-" + strings.ToLower(rand.Text()[:6]) + "-"}
	if err := json.Unmarshal(text, g); err != nil {
		t.Fatal(err)
	}
	return g
}

// api asks the host as its administrator, who may act as somebody else, and wants
// a good answer.
func (g *realGitea) api(as, method, path string, body, answer any) {
	g.t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		g.t.Fatal(err)
	}
	req, err := http.NewRequest(method, g.URL+"/api/v1"+path, bytes.NewReader(text))
	if err != nil {
		g.t.Fatal(err)
	}
	if as != "" {
		req.Header.Set("Sudo", as)
	}
	req.Header.Set("Authorization", "token "+g.Tokens["root1_all"].Token)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		g.t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode/100 != 2 {
		g.t.Fatalf("%s %s: %s", method, path, res.Status)
	}
	if answer != nil {
		if err := json.NewDecoder(res.Body).Decode(answer); err != nil {
			g.t.Fatalf("%s %s: %v", method, path, err)
		}
	}
}

// person makes an account, and returns its name.
func (g *realGitea) person(name string) string {
	g.t.Helper()
	name = g.walk + name
	g.api("", "POST", "/admin/users", map[string]any{"username": name, "email": name + "@example.test", "password": password, "must_change_password": false}, nil)
	g.t.Cleanup(func() { g.api("", "DELETE", "/admin/users/"+name+"?purge=true", nil, nil) })
	return name
}

// signInThere signs somebody in on the host's own page, which is open.
func (g *realGitea) signInThere(b *browser, user, password string) {
	b.t.Helper()
	b.enterInto("#user_name", user)
	b.enterInto("#password", password)
	b.press("Sign In")
}

// enterInto types into a field of a page that is not ours. Those are not all
// labelled, so the test must know them.
func (b *browser) enterInto(css, text string) {
	b.t.Helper()
	b.drawn()
	focus := fmt.Sprintf(`(e => { e?.focus(); return e !== null && e === document.activeElement })(document.querySelector(%q))`, css)
	if !get(b, chromedp.Evaluate[bool](focus)) {
		b.t.Fatalf("the page at %s has no %s that takes keys:\n%s", b.at(), css, b.text())
	}
	do(b, chromedp.KeyEvent(text))
}

// tick changes a box of a page.
func (b *browser) tick(css string) {
	b.t.Helper()
	b.enterInto(css, " ")
}

// unfold opens all that is folded up on a page.
func (b *browser) unfold() {
	b.t.Helper()
	do(b, chromedp.Evaluate[chromedp.Void]("document.querySelectorAll('details').forEach(d => { d.open = true })"))
}

// holds is what a field of a page holds that is not ours.
func (b *browser) holds(css string) string {
	b.t.Helper()
	return get(b, chromedp.Evaluate[string](fmt.Sprintf("document.querySelector(%q).value", css)))
}

// application makes the sign-in application by the steps of docs/forges.md.
func (g *realGitea) application(b *browser, public string) (id, secret string) {
	b.t.Helper()
	b.open(g.URL + "/-/admin/applications")
	b.unfold()
	b.enterInto("#application-name", g.walk+"coffer")
	b.enterInto("#redirect-uris", public+"/login/callback")
	b.press("Create Application")
	regenerate := get(b, chromedp.Evaluate[string](`document.querySelector("form[action$='/regenerate_secret']").action`))
	g.t.Cleanup(func() {
		remove := fmt.Sprintf("fetch(%q, {method: 'POST'}).then(r => r.status)", strings.Replace(regenerate, "/regenerate_secret", "/delete", 1))
		if status := get(b, chromedp.Evaluate[int](remove, chromedp.EvalAwaitPromise)); status != http.StatusOK {
			g.t.Errorf("the application is still there: %d", status)
		}
	})
	return b.holds("#client-id"), b.holds("#client-secret")
}

// service makes the service credential by the steps of docs/forges.md.
func (g *realGitea) service(admin *browser) (token string) {
	admin.t.Helper()
	name := g.walk + "coffer-service"
	admin.open(g.URL + "/-/admin/users/new")
	admin.enterInto("form[action$='/users/new'] #user_name", name)
	admin.enterInto("#email", name+"@example.test")
	admin.enterInto("form[action$='/users/new'] #password", password)
	admin.tick("[name=must_change_password]")
	admin.press("Create User Account")
	g.t.Cleanup(func() { g.api("", "DELETE", "/admin/users/"+name+"?purge=true", nil, nil) })
	admin.open(strings.TrimSuffix(admin.at(), "/edit") + "/edit")
	admin.tick("[name=admin]")
	admin.press("Update User Account")

	b := newBrowser(g.t, "http://none.invalid", g.URL)
	b.open(g.URL + "/user/login?redirect_to=%2fuser%2fsettings%2fapplications")
	g.signInThere(b, name, password)
	b.unfold()
	b.enterInto("form[action='/user/settings/applications'] #name", "coffer")
	for _, scope := range []string{"repository", "user", "organization"} {
		b.tick(fmt.Sprintf("[name=scope-%s][value='read:%s']", scope, scope))
	}
	b.press("Generate Token")
	token = regexp.MustCompile(`\b[0-9a-f]{40}\b`).FindString(b.text())
	if token == "" {
		g.t.Fatalf("no token:\n%s", b.text())
	}
	return token
}

// webhook makes the webhook by the steps of docs/forges.md.
func (g *realGitea) webhook(b *browser, public, secret string) {
	b.t.Helper()
	b.open(g.URL + "/-/admin/system-hooks/gitea/new")
	b.enterInto("#payload_url", public+"/v1/webhooks/gitea")
	b.enterInto("[name=secret]", secret)
	b.tick("[name=events][value=choose_events]")
	b.tick("[name=repository]")
	b.press("Add Webhook")
	var all []struct {
		ID     int64
		Config struct{ URL string }
	}
	g.api("", "GET", "/admin/hooks?type=system&limit=50", nil, &all)
	for _, h := range all {
		if h.Config.URL == public+"/v1/webhooks/gitea" {
			g.t.Cleanup(func() { g.api("", "DELETE", fmt.Sprintf("/admin/hooks/%d", h.ID), nil, nil) })
			return
		}
	}
	b.t.Fatalf("the webhook is not there: %+v\n%s", all, b.text())
}

// file writes a file that an operator would have.
func file(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestANewUserWalksToARealGitea follows docs/forges.md to the letter, and then
// does what its readers would do next.
func TestANewUserWalksToARealGitea(t *testing.T) {
	g := openRealGitea(t)
	address := servertest.FreeAddress()
	_, port, _ := net.SplitHostPort(address)
	public := "http://localhost:" + port

	admin := newBrowser(t, public, g.URL)
	admin.open(g.URL + "/user/login")
	g.signInThere(admin, "root1", g.Passwords["root1"])
	id, secret := g.application(admin, public)
	token := g.service(admin)
	hook := strings.ToLower(rand.Text())
	g.webhook(admin, public, hook)

	etc := t.TempDir()
	config := file(t, etc, "coffer.yaml", fmt.Sprintf(`public_url: %s
forge:
  kind: gitea
  url: %s
  client_id: %s
  client_secret_file: %s
  token_file: %s
  webhook_secret_file: %s
`, public, g.URL, id, file(t, etc, "gitea.secret", secret), file(t, etc, "gitea.token", token+"\n"), file(t, etc, "webhook.secret", hook+"\n")))
	newTerminal(t).run("forge", "check", "--config", config, "--data", t.TempDir())

	in := serveAt(t, address, "CONFIG="+config, "LOG_LEVEL=info")
	in.url = public
	in.operator("", "forge", "check")
	in.operator("", "status")

	ann, bob := g.person("ann"), g.person("bob")
	repo := ann + "/app"
	g.api(ann, "POST", "/user/repos", map[string]any{"name": "app", "private": true}, nil)
	hooks := in.hooks(1)
	g.api(ann, "PUT", "/repos/"+repo+"/collaborators/"+bob, map[string]any{"permission": "write"}, nil)
	g.cancels(in, bob)
	atAnn, atBob := g.login(in, ann, repo), g.login(in, bob, repo)
	atBob.fails(4, "vault", "create", "--repo", repo)
	atAnn.run("vault", "create", "--repo", repo)
	atAnn.file(".env", "A=1\nB='two words'\n")
	atAnn.run("push", "--repo", repo)
	atBob.run("pull", "--repo", repo)
	if got := atBob.run("get", "B", "--repo", repo); got != "two words" {
		t.Errorf("bob reads %q", got)
	}
	atAnn.run("org", "ls")

	g.api(ann, "DELETE", "/repos/"+repo+"/collaborators/"+bob, nil, nil)
	removed := time.Now()
	for atBob.start("get", "B", "--repo", repo).exits() == 0 {
		if time.Since(removed) > 65*time.Second {
			t.Fatal("who was removed more than a minute ago still reads")
		}
		time.Sleep(2 * time.Second)
	}
	t.Logf("bob was removed; %s later:", time.Since(removed).Round(time.Second))
	atBob.fails(3, "get", "B", "--repo", repo)

	atAnn.run("get", "B", "--repo", repo) // what the host said counts for a minute from here
	g.api(ann, "DELETE", "/repos/"+repo, nil, nil)
	in.hooks(hooks + 1)
	atAnn.fails(3, "get", "B", "--repo", repo)
}

// login signs somebody in on a command line, by way of the host's real pages.
func (g *realGitea) login(in *instance, user, repo string) *terminal {
	g.t.Helper()
	c, b := newTerminal(g.t), newBrowser(g.t, in.url, g.URL)
	login := c.logsIn(in.url, "--repo", repo)
	b.open(login.link)
	b.wants("Sign in", "Your account at Gitea")
	b.press("Sign in with Gitea")
	g.signInThere(b, user, password)
	b.press("Authorize Application")
	b.wants("Sign a program in")
	b.approve(login.code)
	login.ends(0)
	return c
}

// cancels goes to the host's page of consent, and does not agree.
func (g *realGitea) cancels(in *instance, user string) {
	g.t.Helper()
	b := newBrowser(g.t, in.url, g.URL)
	b.open("/")
	b.press("Sign in with Gitea")
	g.signInThere(b, user, password)
	b.press("Cancel")
	b.wants("You are not signed in", "You refused at the code host")
}

// hooks waits until the server has taken so many webhooks, and says how many.
func (in *instance) hooks(n int) int {
	in.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		taken := 0
		for line := range strings.Lines(in.log.String()) {
			if strings.Contains(line, `"/v1/webhooks/gitea"`) && strings.Contains(line, `"status":200`) {
				taken++
			}
		}
		if taken >= n {
			return taken
		}
		if time.Now().After(end) {
			in.t.Fatalf("the server took %d webhooks, want %d:\n%s", taken, n, in.log)
		}
	}
}
