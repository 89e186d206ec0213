package browsertest

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// makesKey has somebody make an API key in the browser, and returns it.
func (b *browser) makesKey(name string, scopes ...string) string {
	b.t.Helper()
	b.open("/keys")
	b.fill("Name", name)
	for _, s := range scopes {
		b.tick(`[name="` + s + `"]`)
	}
	b.press("Create key")
	b.wants("New API key", "This is the only time that the key is shown.")
	return get(b, chromedp.Evaluate[string]("document.getElementById('token').innerText"))
}

// TestAProgramUsesAKey from its making to its end.
func TestAProgramUsesAKey(t *testing.T) {
	in := serve(t)
	in.user("ann")
	b := newBrowser(t, in.url)
	b.open("/")
	b.signIn("ann", password)
	b.fill("Repository", "ann/api")
	b.press("Create vault")
	key := b.makesKey("pipeline", "write:secrets")
	b.comes(chromedp.Reload())
	b.wants("API keys", `The key "pipeline" was made already`)
	b.looksGood("keys-again")
	c := newTerminal(t)
	c.env = []string{"COFFER_URL=" + in.url, "COFFER_TOKEN=" + key, "COFFER_REPO=ann/api"}
	c.file(".env", "DB_URL=postgres://x\nOLD=1\n")
	c.run("push", "-e", "development", "-f", ".env", "--yes")
	c.file(".env", "DB_URL=postgres://y\n")
	c.run("push", "-e", "development", "-f", ".env", "--yes", "--prune")

	b.open("/keys")
	b.wants("API keys", "pipeline", "used ")
	b.open("/vaults/ann/api/activity")
	b.wants("Activity", "ann pushed to development: 2 created", "2 writes downwards", "command line, with an API key")
	b.press("Trash")
	b.wants("Trash", "OLD in development")
	b.press("Restore OLD in development")
	b.wants("Trash", "The secret is back in its environment.", "There is nothing in the trash.")

	b.open("/keys")
	b.unfold()
	b.press("Revoke the key pipeline for good")
	b.wants("API keys", "The key is revoked.")
	if said := c.fails(2, "ls", "-e", "development"); strings.Contains(said, key) {
		t.Error(said)
	}
}

// TestEnvironmentsAreMovedByKeyboard, which stays on the button that was pressed.
func TestEnvironmentsAreMovedByKeyboard(t *testing.T) {
	in := serve(t)
	in.user("ann")
	b := newBrowser(t, in.url)
	b.open("/")
	b.signIn("ann", password)
	b.fill("Repository", "ann/api")
	b.press("Create vault")
	b.press("Environments")
	b.press("Move production up")
	b.wants("Environments", "The environment has its new place.")
	if got := b.focused(); got != "Move production up" {
		t.Errorf("the cursor is on %q", got)
	}
	b.enter()
	if got := b.focused(); got != "Move production down" {
		t.Errorf("the cursor is on %q, and production is the first", got)
	}
	b.looksGood("environments-moved")
	if rows := get(b, chromedp.Evaluate[string]("Array.from(document.querySelectorAll('tbody th'), h => h.innerText).join(' ')")); rows != "production development staging" {
		t.Errorf("the order is %s", rows)
	}
}

// TestManagingPagesLookGood with names as long as they may be.
func TestManagingPagesLookGood(t *testing.T) {
	in := serve(t)
	name := strings.Repeat("ann-", 9) + "ann"
	repo := name + "/" + strings.Repeat("repository-", 9)
	in.user(name)
	in.user("bob")
	in.operator("", "admin", "org", "add", "acme")
	in.operator("", "admin", "org", "member", "acme", name, "owner")
	in.operator("", "admin", "org", "member", "acme", "bob", "member")
	b := newBrowser(t, in.url)
	b.open("/")
	b.signIn(name, password)
	b.open("/keys")
	b.looksGood("no-keys")
	b.fill("Name", "x")
	b.tick(`[name="read:secrets"]`)
	b.fill("Allowed addresses", "10.0.0.1 nowhere")
	b.press("Create key")
	b.looksGood("keys-wrong")
	key := b.makesKey(strings.Repeat("long-name-", 10), "write:secrets", "delete:secrets")
	b.looksGood("new-key")
	b.open("/")
	b.fill("Repository", repo)
	b.press("Create vault")
	in.operator("", "admin", "repo", "grant", repo, "bob", "read")
	c := newTerminal(t)
	c.env = []string{"COFFER_URL=" + in.url, "COFFER_TOKEN=" + key, "COFFER_REPO=" + repo}
	c.file(".env", strings.Repeat("A", 256)+"=1\nDB_URL=x\n")
	c.run("push", "-e", "development", "--yes")
	c.run("ls", "-e", "development")
	c.file(".env", "C=1\n")
	c.run("push", "-e", "development", "--prune", "--yes")
	b.makesKey("second")
	b.open("/keys")
	b.unfold()
	b.looksGood("keys")
	at := "/vaults/" + repo
	for page, file := range map[string]string{
		"/activity": "activity", at + "/activity": "vault-activity", at + "/activity?actor=nobody": "vault-activity-none", at + "/environments": "environments",
		at + "/environments/production": "environment", at + "/access": "access", at + "/trash": "trash", at + "/settings": "settings", "/orgs": "orgs", "/orgs/acme": "org",
	} {
		b.open(page)
		b.looksGood(file)
	}
	b.open(at + "/settings")
	b.fill("Type "+repo+" to confirm", "x")
	b.press("Delete the vault")
	b.looksGood("settings-wrong")
	b.open(at + "/environments")
	b.fill("Name", "X")
	b.press("Create environment")
	b.looksGood("environments-wrong")
	b.open(at + "/access")
	for range 2 {
		b.enterInto("#target", "triage")
		b.press("Create override")
		b.unfold()
	}
	b.looksGood("access-wrong")
}
