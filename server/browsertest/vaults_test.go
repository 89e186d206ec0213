package browsertest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// furnish gives ann a vault with a few secrets, from a command line that she signed
// in.
func (in *instance) furnish() *browser {
	in.t.Helper()
	in.user("ann")
	b, c := newBrowser(in.t, in.url), newTerminal(in.t)
	login := c.logsIn(in.url)
	b.open(login.link)
	b.signIn("ann", password)
	b.approve(login.code)
	login.ends(0)
	b.open("/")
	b.fill("Repository", "ann/app")
	b.press("Create vault")
	b.wants("Secrets", "The vault is there", "There is no secret in this vault yet.")
	long := "A_KEY_" + strings.Repeat("WITH_A_LONG_NAME_", 8)
	for environment, lines := range map[string]string{
		"development": "DATABASE_URL=one\nSESSION=same\nONLY_HERE=1\n" + long + "=1\n",
		"staging":     "DATABASE_URL=two\nSESSION=same\n",
		"production":  "DATABASE_URL=one\nSESSION=same\n",
	} {
		c.file(".env", lines)
		c.run("push", "--repo", "ann/app", "--env", environment)
	}
	return b
}

func TestSomebodyLooksThroughTheirVaults(t *testing.T) {
	in := serve(t)
	b := in.furnish()
	b.open("/")
	b.wants("Vaults", "ann/app", "development: 4 secrets", "8 secrets", "your role: admin")
	b.fill("Search vaults and keys", "database")
	b.press("Search")
	b.wants("Vaults", "Keys: DATABASE_URL")
	b.press("DATABASE_URL")
	b.wants("Secrets", "differs: A", "differs: B", "All (1)")
	b.press("Missing somewhere (0)")
	b.wants("Secrets", "No key is like that.")
	b.press("Show all keys")
	b.press("Missing somewhere (2)")
	b.wants("Secrets", "ONLY_HERE", "missing")
	b.fill("Search keys", "only")
	b.press("Search")
	b.wants("Secrets", "All (1)", "ONLY_HERE")
	if at := b.at(); at != "/vaults/ann/app?show=missing&q=only" {
		t.Errorf("the search leads to %s", at)
	}
	if text := b.text(); strings.Contains(text, "DATABASE_URL") {
		t.Errorf("a filter lets everything through:\n%s", text)
	}
}

// TestKeysAreFilteredWhileSomebodyTypes, where scripts run.
func TestKeysAreFilteredWhileSomebodyTypes(t *testing.T) {
	in := serve(t)
	b := in.furnish()
	b.scripts(true)
	b.open("/vaults/ann/app")
	wants := func(keys string) {
		t.Helper()
		const shown = `[...document.querySelectorAll("tbody tr")].filter((r) => r.checkVisibility()).map((r) => r.dataset.key.slice(0, 12)).join(" ")`
		for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
			got := get(b, chromedp.Evaluate[string](shown))
			if got == keys {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("the page shows %q, want %q", got, keys)
			}
		}
	}
	wants("A_KEY_WITH_A DATABASE_URL ONLY_HERE SESSION")
	b.fill("Search keys", "se")
	wants("DATABASE_URL SESSION")
	b.fill("Search keys", "zz")
	wants("")
	if said := get(b, chromedp.Evaluate[string](`document.querySelector("[role=status]").textContent`)); said != "0 of 4 keys" {
		t.Errorf("said %q", said)
	}
}

func TestPagesOfVaultsLookGood(t *testing.T) {
	in := serve(t)
	b := in.furnish()
	b.open("/?q=key")
	b.looksGood("vaults-found")
	b.open("/?q=nothing")
	b.looksGood("vaults-not-found")
	b.fill("Repository", "nonsense")
	b.press("Create vault")
	b.wants("Vaults", "Look at what is marked")
	b.looksGood("vaults-wrong")
	for i := range 3 {
		b.open("/")
		b.fill("Repository", fmt.Sprintf("ann/%s%d", strings.Repeat("repository-", i*4), i))
		b.press("Create vault")
	}
	b.looksGood("matrix-empty")
	b.open("/")
	b.looksGood("vaults")
	b.open("/vaults/ann/app")
	b.looksGood("matrix")
	b.open("/vaults/ann/none")
	b.looksGood("vault-not-found")
}
