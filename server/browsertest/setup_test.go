package browsertest

import (
	"encoding/json"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"coffer/server/servertest"
)

// serveFresh runs a server on empty data, and returns the address that it prints.
func serveFresh(t *testing.T) (in *instance, setup string) {
	t.Helper()
	needBrowser(t)
	address := servertest.FreeAddress()
	in = &instance{t: t, url: "http://" + address, data: filepath.Join(t.TempDir(), "data"), log: new(buffer)}
	c := exec.Command(program, "serve", "--data", in.data, "--listen", address, "--json", "--log-format", "json")
	c.Env, c.Stderr, c.WaitDelay = append(environment(t.TempDir()), "COFFER_LOG_LEVEL=warn"), in.log, time.Minute
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Signal(os.Interrupt)
		if err := c.Wait(); err != nil {
			t.Errorf("the server ended with %v, and logged:\n%s", err, in.log)
		}
	})
	var up struct{ State, SetupURL string }
	if err := json.NewDecoder(out).Decode(&up); err != nil || up.State != "uninitialized" {
		t.Fatalf("the server came up as %+v: %v\n%s", up, err, in.log)
	}
	return in, up.SetupURL
}

// claimOf is the token in the address that a fresh server prints.
func claimOf(t *testing.T, setup string) string {
	t.Helper()
	u, err := url.Parse(setup)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(u.Fragment, "claim=")
}

// saves copies the recovery key from the page that shows it.
func (b *browser) saves() string {
	b.t.Helper()
	b.wants("Save the recovery key")
	return get(b, chromedp.Value(chromedp.ID("key")))
}

// typesBack types what is asked for of a recovery key.
func (b *browser) typesBack(key string) {
	b.t.Helper()
	b.wants("Is it saved?")
	asked := regexp.MustCompile(`characters (\d+) to (\d+)`).FindStringSubmatch(b.text())
	from, _ := strconv.Atoi(asked[1])
	to, _ := strconv.Atoi(asked[2])
	b.fill("Six characters", key[from-1:to])
	b.press("Continue")
}

// TestTheFirstRun goes from an empty directory to a command with a secret, without
// scripts.
func TestTheFirstRun(t *testing.T) {
	in, setup := serveFresh(t)
	b := newBrowser(t, in.url)
	b.open("/")
	b.wants("Set up this server", "A restored one")
	b.looksGood("setup")
	b.fill("Claim token", "wrong")
	b.press("Begin")
	b.wants("Set up this server", "not the claim token")
	b.looksGood("setup-wrong")
	b.fill("Claim token", claimOf(t, setup))
	b.press("Begin")
	b.wants("How shall it be unsealed?", "somebody who is root while it runs")
	b.looksGood("setup-method")
	b.tick("#by-passphrase")
	b.fill("Passphrase", "short")
	b.press("Continue")
	b.wants("How shall it be unsealed?")
	b.unfold()
	b.looksGood("setup-method-wrong")
	b.tick("#key-file")
	b.press("Continue")
	b.looksGood("setup-key")
	b.open("/setup")
	b.press("Make another recovery key")
	key := b.saves()
	b.press("I have saved it")
	b.looksGood("setup-check")
	b.typesBack(key)
	b.wants("The first user")
	b.looksGood("setup-user")
	b.fill("Username", "ann")
	b.fill("Password", password)
	b.fill("Once more", "another")
	b.press("Finish")
	b.wants("The first user")
	b.looksGood("setup-user-wrong")
	b.fill("Username", "ann")
	b.fill("Password", password)
	b.fill("Once more", password)
	b.press("Finish")
	b.wants("A vault from your .env", "ann")
	b.looksGood("setup-vault")
	do(b, chromedp.SetValue(chromedp.ID("text"), "GREETING=\"hello there\"\nlower=1\n"))
	b.press("See what it holds")
	b.wants("A vault from your .env", "1 secret to store", "GREETING", "Line 2")
	b.looksGood("setup-vault-found")
	b.fill("Repository", "ann/app")
	b.press("Store 1 secret")
	b.wants("ann/app is ready", "coffer run --repo ann/app -e development")
	b.looksGood("setup-ready")
	b.press("Make an API key")
	b.wants("ann/app is ready", "shown this once")
	b.looksGood("setup-ready-key")
	token := get(b, chromedp.Value(chromedp.ID("token")))

	c := newTerminal(t)
	c.file("token", token)
	said := c.run("login", in.url, "--token", token)
	if out := c.run("run", "--repo", "ann/app", "-e", "development", "--", "sh", "-c", "echo $GREETING"); !strings.Contains(out, "hello there") {
		t.Errorf("%s: %s", said, out)
	}

	in.operator("", "seal", "--yes")
	b.open("/account")
	b.wants("This vault is sealed", "The recovery key")
	b.looksGood("unseal")
	do(b, chromedp.SetValue(chromedp.ID("key"), "AGE-SECRET-KEY-1"))
	b.press("Unseal")
	b.wants("This vault is sealed", "not a usable key")
	b.looksGood("unseal-wrong")
	do(b, chromedp.SetValue(chromedp.ID("key"), key))
	b.press("Unseal")
	if b.at() != "/account" {
		t.Errorf("unsealing leads to %s", b.at())
	}
}

// copies presses a button that copies something, and returns what it copied.
func (b *browser) copies(name string) string {
	b.t.Helper()
	evaluate[bool](b, `Object.defineProperty(navigator, "clipboard", { configurable: true, value: { writeText: async (text) => { window.copied = text; } } }) && true`)
	do(b, clickOn(b.find(name, button)))
	b.find("Copied", button)
	return evaluate[string](b, "window.copied")
}

// TestTheFirstRunWithScripts: the printed address fills the token in, and the
// address bar does not keep it. The recovery key is copied and printed, and a file
// is dropped.
func TestTheFirstRunWithScripts(t *testing.T) {
	in, setup := serveFresh(t)
	b := newBrowser(t, in.url)
	b.scripts(true)
	b.open(setup)
	b.wants("Set up this server")
	if at := b.at(); at != "/setup" {
		t.Errorf("the address is still %s", at)
	}
	b.press("Begin")
	b.wants("How shall it be unsealed?")
	b.press("Continue")
	key := b.saves()
	b.find("Download as a file", button)
	if copied := b.copies("Copy"); copied != key {
		t.Errorf("the key was copied as %q", copied)
	}
	evaluate[bool](b, "window.print = () => { window.printed = true; }, true")
	do(b, clickOn(b.find("Print", button)))
	if !evaluate[bool](b, "window.printed === true") {
		t.Error("nothing is printed")
	}
	b.press("I have saved it")
	b.fill("Six characters", "wrong!")
	b.press("Continue")
	b.wants("Is it saved?")
	b.looksGood("setup-check-wrong")
	b.typesBack(key)
	b.fill("Username", "ann")
	b.fill("Password", password)
	b.fill("Once more", password)
	b.press("Finish")
	b.wants("A vault from your .env")
	b.find("See what it holds", button)
	b.drops("x.env", "DROPPED=1\nALSO=2\n")
	b.wants("A vault from your .env", "2 secrets to store", "DROPPED", "ALSO")
	b.fill("Repository", "ann/app")
	b.press("Store 2 secrets")
	b.wants("ann/app is ready")
	if copied := b.copies("Copy"); !strings.HasPrefix(copied, "coffer ") && !strings.HasPrefix(copied, "export ") {
		t.Errorf("%q was copied", copied)
	}
}

// TestAnOperatorLooksAfterTheServer adds somebody to an organization, who may use
// its repository then, and seals the server.
func TestAnOperatorLooksAfterTheServer(t *testing.T) {
	in := serve(t)
	in.operator(password, "admin", "user", "add", "root", "--password-file", "-", "--operator")
	b := newBrowser(t, in.url)
	b.open("/operator")
	b.signIn("root", password)
	b.wants("Server", "unsealed, and able to write")
	b.looksGood("operator")
	b.press("Run trash now")
	b.wants("Server", "The job was done")
	b.fill("Type seal to do it", "no")
	b.press("Seal the server")
	b.wants("Server")
	b.looksGood("operator-wrong")
	b.press("Health")
	b.wants("Health", "runs since", "Ask the code host, too")
	b.looksGood("operator-health")
	b.press("Ask the code host, too")
	b.wants("Health", "The code host is the built-in one.")
	b.looksGood("operator-health-full")
	b.press("Users")
	b.fill("Username", "not a name")
	b.fill("Password", "short")
	b.press("Add")
	b.wants("Users")
	b.looksGood("operator-users-wrong")
	b.fill("Username", "bob")
	b.fill("Password", password)
	b.press("Add")
	b.wants("Users", "The user can sign in now", "bob")
	b.looksGood("operator-users")
	b.unfold()
	b.looksGood("operator-users-unfolded")
	b.press("Disable now: bob")
	b.wants("Users", "let in no more", "disabled")
	b.looksGood("operator-users-disabled")
	b.press("Enable bob")
	b.wants("Users", "The user can sign in again.")
	b.press("Repositories")
	b.fill("Repository", "root/"+strings.Repeat("long-", 12))
	b.press("Add")
	b.wants("Repositories", "The repository is there")
	b.looksGood("operator-repos")
	b.open("/operator/orgs")
	b.fill("Name", "acme")
	b.press("Add")
	b.fill("Organization", "acme")
	b.fill("Username", "bob")
	b.press("Set")
	b.wants("Organizations of this server", "bob (member)")
	b.looksGood("operator-orgs")
	b.press("Server")
	b.fill("Type seal to do it", "seal")
	b.press("Seal the server")
	b.wants("This vault is sealed")
}
