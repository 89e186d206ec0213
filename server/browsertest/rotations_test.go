package browsertest

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestAnOperatorReplacesKeys of a vault, of all, and the master key with the recovery
// key; what was stored before is there afterwards.
func TestAnOperatorReplacesKeys(t *testing.T) {
	in := serve(t)
	in.operator(password, "admin", "user", "add", "root", "--password-file", "-", "--operator")
	b := newBrowser(t, in.url)
	b.open("/")
	b.signIn("root", password)
	b.fill("Repository", "root/api")
	b.press("Create vault")
	key := b.makesKey("pipeline", "write:secrets")
	c := newTerminal(t)
	c.env = []string{"COFFER_URL=" + in.url, "COFFER_TOKEN=" + key, "COFFER_REPO=root/api"}
	c.file(".env", "DB_URL=postgres://x\n")
	c.run("push", "-e", "development", "-f", ".env", "--yes")

	b.open("/operator/keys")
	b.wants("Keys", "The master key", "Its fingerprint is")
	b.looksGood("operator-keys-master")
	b.fill("Vault, as owner/name", "root/none")
	b.press("Replace its key")
	b.wants("Keys", "There is no vault for root/none")
	b.looksGood("operator-keys-no-vault")
	b.fill("Vault, as owner/name", "root/api")
	b.press("Replace its key")
	b.wants("Keys", "New values are sealed under a new key from now on.")
	b.press("Replace those of all vaults")
	b.wants("Keys", "New values are sealed under a new key from now on.")

	before := b.fingerprint()
	b.fill("Type rekey to do it", "no")
	b.press("Replace the master key")
	b.wants("Keys", "Type exactly rekey")
	b.looksGood("operator-keys-rekey-wrong")
	b.fill("Type rekey to do it", "rekey")
	b.press("Replace the master key")
	b.wants("Keys", "The master key is replaced.")
	if after := b.fingerprint(); after == before {
		t.Errorf("the master key is still %s", after)
	}
	in.operator("", "rotate", "--status")
	b.tick(`[name="newRecoveryKey"]`)
	b.fill("Type rekey to do it", "rekey")
	b.press("Replace the master key")
	b.wants("New key", "This key is shown this once")
	b.looksGood("operator-keys-new-recovery")
	if got := c.run("get", "DB_URL", "-e", "development"); !strings.Contains(got, "postgres://x") {
		t.Errorf("the value is %q", got)
	}
}

// fingerprint is the one of the master key, on the page of keys.
func (b *browser) fingerprint() string {
	b.t.Helper()
	return get(b, chromedp.Evaluate[string]("document.querySelector('#master-key + p code').innerText"))
}
