package browsertest

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"coffer/server/hosting/hostingtest"
	"coffer/server/standin"
)

// vercelBeside is a stand-in for Vercel where somebody has a team with a project,
// and an instance that knows it. Ann is signed in there with a vault.
func vercelBeside(t *testing.T, project string) (v *hostingtest.Vercel, id, token string, in *instance) {
	t.Helper()
	needBrowser(t)
	v = hostingtest.NewVercel(t, time.Now)
	user := v.AddUser("ann-there")
	id = v.AddProject(v.AddTeam("Acme", user), project)
	token = v.Token(hostingtest.VercelToken{User: user})
	in = serve(t, "HOSTING_VERCEL_API_URL="+v.URL)
	in.user("ann")
	return v, id, token, in
}

// connects pastes a token.
func (b *browser) connects(token string) {
	b.t.Helper()
	b.open("/connections")
	b.press("Connect to Vercel")
	b.fill("Token", token)
	b.press("Connect")
	b.wants("Connections", "You are connected.", "Vercel: ann-there", "active")
}

// comesToHold waits until a project holds a value.
func comesToHold(t *testing.T, v *hostingtest.Vercel, project, key, value string) {
	t.Helper()
	for end := time.Now().Add(2 * patience); v.Held(project, "production")[key] != value; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s never came to hold the new %s", project, key)
		}
	}
}

// waits loads the page again until it says something.
func (b *browser) waits(path, text string) {
	b.t.Helper()
	for end := time.Now().Add(2 * patience); ; time.Sleep(200 * time.Millisecond) {
		b.open(path)
		if strings.Contains(b.text(), text) {
			return
		}
		if time.Now().After(end) {
			b.t.Fatalf("the page at %s never says %q:\n%s", path, text, b.text())
		}
	}
}

// TestSecretsAreSyncedWithAProvider from the first connection on, without a script.
func TestSecretsAreSyncedWithAProvider(t *testing.T) {
	v, project, token, in := vercelBeside(t, "site")
	v.Put(project, "production", "OLD", "theirs")
	v.Put(project, "production", "MODE", "another")
	b := newBrowser(t, in.url)
	b.open("/")
	b.signIn("ann", password)
	b.fill("Repository", "ann/api")
	b.press("Create vault")
	key := b.makesKey("terminal", "write:secrets")
	c := newTerminal(t)
	c.env = []string{"COFFER_URL=" + in.url, "COFFER_TOKEN=" + key, "COFFER_REPO=ann/api"}
	c.file(".env", "DB_URL=first\nMODE=live\n")
	c.run("push", "-e", "production", "--yes")

	b.open("/connections")
	b.looksGood("no-connections")
	b.press("Connect to Vercel")
	b.looksGood("connect")
	b.fill("Token", "wrong")
	b.press("Connect")
	b.wants("Connect to Vercel", "Vercel turned this token down.")
	b.looksGood("connect-wrong")
	b.connects(token)
	b.looksGood("connections")
	b.press("Vercel: ann-there")
	b.wants("Vercel: ann-there active", "site", "production, preview, development")
	b.looksGood("connection")

	at := "/vaults/ann/api/syncs"
	b.open(at)
	b.looksGood("no-syncs")
	b.press("New sync")
	b.looksGood("new-sync")
	b.press("Continue")
	b.looksGood("new-sync-project")
	b.press("Continue")
	b.looksGood("new-sync-target")
	b.press("Preview")
	b.wants("What would change at Vercel", "1 to create, 1 to update, 0 to delete, 0 to skip, 1 to keep", "DB_URL", "+ create", "OLD", "keep")
	b.unfold()
	b.looksGood("sync-preview")
	v.Put(project, "production", "MODE", "meanwhile")
	v.Put(project, "production", "DB_URL", "meanwhile")
	b.press("Sync")
	b.wants("What would change at Vercel", "Something has changed since the preview", "2 to update")
	b.looksGood("sync-preview-again")
	b.press("Sync")
	b.wants("production to site (production) at Vercel done", "All is done: 0 created, 2 updated")
	b.looksGood("sync-done")
	if got := v.Held(project, "production"); got["DB_URL"] != "first" || got["MODE"] != "live" || got["OLD"] != "theirs" {
		t.Errorf("Vercel has %v", got)
	}

	b.press("Preview it again")
	b.press("Save, and sync by itself")
	b.wants("Integrations", "The sync is saved.", "by itself", "production to site (production) at Vercel")
	b.open("/vaults/ann/api/secrets/set?key=DB_URL&environment=production")
	b.fill("Value", "second")
	b.press("Save")
	comesToHold(t, v, project, "DB_URL", "second")
	b.waits(at, "by ann, by itself")
	b.unfold()
	b.looksGood("syncs")

	v.Revoke(token)
	b.open("/vaults/ann/api/secrets/set?key=DB_URL&environment=production")
	b.fill("Value", "third")
	b.press("Save")
	b.waits(at, "stopped")
	b.wants("Integrations", "Vercel turned this connection's credential down", "Connect again")
	b.looksGood("syncs-stopped")
	b.press("Connect again")
	b.wants("Vercel: ann-there connect again")
	b.press("Connect again")
	b.wants("Connect to Vercel")
	b.open("/connections")
	b.wants("Connections", "connect again", "Vercel turned it down.")
	b.looksGood("connections-broken")
	b.press("Vercel: ann-there")
	b.wants("Vercel: ann-there connect again", "Reconnect", "This saved sync goes with it", "ann/api, production, with site (production)")
	b.unfold()
	b.looksGood("connection-broken")
	b.press("Remove the connection and 1 sync")
	b.wants("Connections", "The connection is gone", "You are connected to no hosting provider.")
	if leaks := v.Leaks(); len(leaks) > 0 {
		t.Errorf("in addresses: %q", leaks)
	}
}

// TestALongSyncIsWatchedAndStopped, with names as long as they may be.
func TestALongSyncIsWatchedAndStopped(t *testing.T) {
	v, _, token, in := vercelBeside(t, strings.Repeat("long-name-", 10))
	b := scripted(t, in.url)
	b.open("/")
	b.signIn("ann", password)
	b.fill("Repository", "ann/api")
	b.press("Create vault")
	b.pushes("production", map[string]string{strings.Repeat("A", 256): "1", "DB_URL": "2"})
	b.connects(token)
	at := "/vaults/ann/api/syncs"
	b.open(at + "/new")
	b.press("Continue")
	b.press("Continue")
	b.press("Preview")
	b.looksGood("sync-preview-long")
	preview := b.at()
	b.press("Save as link")
	b.wants("Integrations", "The sync is saved.", "not synced yet")

	open := make(chan struct{})
	v.Break("/", func(_ *standin.Fake, rw http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method != http.MethodGet {
			<-open
		}
		next.ServeHTTP(rw, r)
	})
	started := scripted(t, in.url)
	started.open(preview)
	started.signIn("ann", password)
	started.click("Sync")
	b.waits(at, "running")
	b.looksGood("syncs-running")
	b.open(evaluate[string](b, "document.querySelector('ol.rows a').getAttribute('href')"))
	b.looksGood("sync-running")
	b.comes(func(context.Context, *chromedp.Target) (none chromedp.Void, err error) { // without anybody's loading it again
		close(open)
		return none, nil
	})
	b.says("All is done: 2 created", true)
	v.Heal()

	b.open("/vaults/ann/api")
	b.pushes("production", map[string]string{"DB_URL": "3", "OTHER": "4"})
	v.Break("/", func(f *standin.Fake, rw http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method != http.MethodGet {
			standin.Status(http.StatusForbidden)(f, rw, r, next)
			return
		}
		next.ServeHTTP(rw, r)
	})
	b.open(at)
	b.press("Sync now, production to " + strings.Repeat("long-name-", 10) + " (production) at Vercel")
	b.says("What was not done", true)
	b.looksGood("sync-failed")
	b.open(at)
	b.looksGood("syncs-long")
	v.Heal()
	v.Break("/", standin.Status(http.StatusInternalServerError))
	b.open(preview)
	b.wants("Preview of a sync", "Vercel did not answer.")
	b.looksGood("sync-preview-down")
}
