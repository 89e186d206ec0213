package browsertest

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestWaysToUnsealAreManagedInTheBrowser from the first page to a server that two
// people open together, without scripts and with.
func TestWaysToUnsealAreManagedInTheBrowser(t *testing.T) {
	in := serve(t)
	in.operator(password, "admin", "user", "add", "root", "--password-file", "-", "--operator")
	b := newBrowser(t, in.url)
	b.open("/")
	b.signIn("root", password)
	b.open("/operator")
	b.press("Keys")
	b.wants("Keys", "What opens this server", "Protects from", "coffer unseal-method add plugin")
	b.unfold()
	b.looksGood("unseal-methods")

	b.enterInto("#passphrase", "short")
	b.enterInto("#again", "short")
	b.press("Add the passphrase")
	b.wants("Keys", "At least 8 characters")
	b.looksGood("unseal-methods-wrong")
	b.enterInto("#passphrase", "correct horse battery")
	b.enterInto("#again", "correct horse battery")
	b.enterInto("#label-passphrase", strings.Repeat("night-shift-", 5))
	b.press("Add the passphrase")
	b.wants("Keys", "It opens the server from now on.", "night-shift-")

	b.scripts(true) // which copy and print
	b.press("Make a recovery key")
	b.wants("New key", "shown this once")
	b.looksGood("new-recovery-key")
	recovery := get(b, chromedp.Value(chromedp.ID("key")))
	if copied := b.copies("Copy"); copied != recovery {
		t.Errorf("the key was copied as %q", copied)
	}
	b.find("Print", button)
	b.press("I have saved it")
	b.enterInto("#keyFile", "/etc/coffer/"+strings.Repeat("somewhere/", 12)+"second.key")
	b.press("Make a key file")
	b.wants("New key", "Put the file at")
	b.looksGood("new-key-file")
	b.press("I have saved it")
	b.press("Make shares")
	b.wants("New shares", "Share 3 of 3")
	b.looksGood("new-shares")
	share := func(id string) string {
		return get(b, chromedp.Evaluate[string]("document.getElementById('"+id+"').innerText"))
	}
	first, second := share("share-1"), share("share-3")
	if copied := b.copies("Copy share 3"); copied != second {
		t.Errorf("the share was copied as %q", copied)
	}
	b.press("I have saved them")
	b.wants("Keys", "2 of 3 shares")
	b.unfold()
	b.looksGood("unseal-methods-many")

	b.scripts(false)
	in.operator("", "seal", "--yes")
	b.open("/")
	b.wants("This vault is sealed", "2 of 3 shares")
	b.fill("A share", first[:40])
	b.press("Give this share")
	b.wants("This vault is sealed", "the first mistake is in group")
	b.fill("A share", first)
	b.press("Give this share")
	b.wants("This vault is sealed", "1 of 2 given", "1 more needed")
	b.looksGood("sealed-shares")
	b.fill("A share", second)
	b.press("Give this share")
	b.wants("Vaults")

	in.operator("", "seal", "--yes")
	b.open("/")
	b.fill("Passphrase", "correct horse battery")
	b.press("Unseal")
	b.wants("Vaults")
	in.operator("", "seal", "--yes")
	b.open("/")
	b.enterInto("#key", recovery)
	b.comes(chromedp.Evaluate[chromedp.Void]("document.getElementById('key').form.requestSubmit()"))
	b.wants("Vaults")
}
