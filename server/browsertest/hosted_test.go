package browsertest

import (
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"coffer/server/forge"
	"coffer/server/forge/forgetest"
	"coffer/server/servertest"
)

const hookSecret = "what the code host signs with"

// hosted is an instance that is bound to a Gitea, where acme/api is private, ann
// owns acme, and bob may write.
type hosted struct {
	*instance
	world *forgetest.World
	gitea *forgetest.Gitea
	bob   int64
	repo  int64
}

// serveBound binds an instance. Its address is a name, and the code host's a
// number: that makes them two sites, as they are in life.
func serveBound(t *testing.T, roleTTL time.Duration) *hosted {
	t.Helper()
	needBrowser(t)
	w := forgetest.NewWorld()
	h := &hosted{world: w, gitea: forgetest.NewGitea(t, w), bob: w.AddUser("bob")}
	h.gitea.ShowPages()
	h.repo = w.AddRepo(w.AddOrg("acme", w.AddUser("ann")), "api", forgetest.Private)
	w.SetRole(h.repo, h.bob, forge.Write)
	address := servertest.FreeAddress()
	_, port, _ := net.SplitHostPort(address)
	public := "http://localhost:" + port
	app := w.AddApp("coffer", public+"/login/callback")
	h.instance = serveAt(t, address, "PUBLIC_URL="+public, "FORGE_KIND=gitea", "FORGE_URL="+h.gitea.URL, "FORGE_CLIENT_ID="+app.ClientID,
		"FORGE_CLIENT_SECRET="+app.Secret, "FORGE_WEBHOOK_SECRET="+hookSecret, "FORGE_ROLE_TTL="+roleTTL.String())
	h.url = public
	return h
}

// signInThere goes by way of the code host, where somebody signs in and agrees.
func (b *browser) signInThere(user string) {
	b.t.Helper()
	b.press("Sign in with Gitea")
	b.wants("Sign In")
	b.fill("Username", user)
	b.press("Sign In")
	b.press("Authorize Application")
}

// terminalOf is the command line of somebody who signed in by way of the code host.
func (h *hosted) terminalOf(user string) *terminal {
	h.t.Helper()
	c, b := newTerminal(h.t), newBrowser(h.t, h.url, h.gitea.URL)
	login := c.logsIn(h.url, "--repo", "acme/api")
	b.open(login.link)
	b.signInThere(user)
	b.wants("Sign a program in")
	b.approve(login.code)
	login.ends(0)
	return c
}

func TestSomebodySignsInAtTheCodeHost(t *testing.T) {
	h := serveBound(t, time.Minute)
	b := newBrowser(t, h.url, h.gitea.URL)
	b.open("/device")
	b.wants("Sign in", "Your account at Gitea")
	b.press("Sign in with Gitea")
	b.fill("Username", "ann")
	b.press("Sign In")
	b.press("Cancel")
	b.wants("You are not signed in", "You refused at the code host")
	b.press("Sign in again")
	b.press("Sign in with Gitea")
	b.press("Authorize Application")
	b.wants("Sign a program in")
	if b.at() != "/device" {
		t.Errorf("signing in leads to %s", b.at())
	}
	b.press("coffer")
	b.press("Account")
	b.wants("Signed in as ann", "Your account at Gitea")
	b.press("Sign out")
	b.wants("Sign in")

	// An answer that nobody asked for signs nobody in, and nobody out.
	b.press("Sign in with Gitea")
	b.press("Authorize Application")
	b.wants("Vaults", "ann")
	b.open("/login/callback?code=code-1&state=made-up")
	b.wants("You are not signed in")
	b.press("coffer")
	b.wants("Vaults", "ann")
	if leaks := h.gitea.Leaks(); len(leaks) > 0 {
		t.Errorf("tokens were sent where they must not go: %q", leaks)
	}
}

func TestAccessEndsWithTheRoleAtTheCodeHost(t *testing.T) {
	h := serveBound(t, time.Second)
	ann, bob := h.terminalOf("ann"), h.terminalOf("bob")
	bob.fails(4, "vault", "create", "--repo", "acme/api")
	ann.run("vault", "create", "--repo", "acme/api")
	bob.file(".env", "A=1\n")
	bob.run("push", "--repo", "acme/api")
	ann.run("pull", "--repo", "acme/api")
	if got := ann.reads(".env"); !strings.Contains(got, "A=1") {
		t.Errorf("pulled %q", got)
	}
	ann.run("org", "ls")
	ann.run("org", "members", "acme")
	h.operator("", "forge", "check")
	h.operator("", "status")

	h.world.SetRole(h.repo, h.bob, forge.None)
	time.Sleep(1200 * time.Millisecond) // longer than what the host said before may count
	if said := bob.fails(3, "get", "A", "--repo", "acme/api"); !strings.Contains(said, "acme/api") {
		t.Errorf("it says:\n%s", said)
	}
	ann.run("get", "A", "--repo", "acme/api")
	bob.run("logout")
}

func TestAWebhookEndsAccessAtOnce(t *testing.T) {
	h := serveBound(t, time.Minute)
	ann := h.terminalOf("ann")
	ann.run("vault", "create", "--repo", "acme/api")
	ann.file(".env", "A=1\n")
	ann.run("push", "--repo", "acme/api")
	ann.run("get", "A", "--repo", "acme/api")
	for _, hook := range h.gitea.Hooks(h.repo) {
		if hook.Name != "repository deleted" {
			continue
		}
		h.world.DeleteRepo(h.repo)
		status, err := hook.Signed(hookSecret).Post(t.Context(), http.DefaultClient, h.url+"/v1/webhooks/gitea")
		if err != nil || status != http.StatusOK {
			t.Fatalf("the hook is answered with %d, %v", status, err)
		}
	}
	ann.fails(3, "get", "A", "--repo", "acme/api")
}
