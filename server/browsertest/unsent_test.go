package browsertest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

// besides is the window that a step opens, of the same browser.
func (b *browser) besides(step chromedp.Action[chromedp.Void]) *browser {
	b.t.Helper()
	there := make(map[target.ID]bool)
	for _, info := range b.windows() {
		there[info.TargetID] = true
	}
	do(b, step)
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		for _, info := range b.windows() {
			if !there[info.TargetID] && strings.HasSuffix(info.Title, " · coffer") {
				ctx, leave := chromedp.NewContext(b.ctx, chromedp.WithTargetID(info.TargetID))
				b.t.Cleanup(leave)
				if err := chromedp.Listen(ctx, b.watch); err != nil {
					b.t.Fatal(err)
				}
				return &browser{t: b.t, base: b.base, ctx: ctx}
			}
		}
	}
	b.t.Fatal("no window opens")
	return nil
}

// windows are those of all browsers.
func (b *browser) windows() []*target.Info {
	b.t.Helper()
	all, err := chromedp.Targets(b.ctx)
	if err != nil {
		b.t.Fatal(err)
	}
	return slices.DeleteFunc(all, func(info *target.Info) bool { return info.Type != "page" })
}

// endsSessions has ann end all her sessions from a new browser, but for that one.
func (in *instance) endsSessions() {
	in.t.Helper()
	other := newBrowser(in.t, in.url)
	other.open("/account")
	other.signIn("ann", password)
	for all := other.names(button, "End the session"); len(all) > 0; all = other.names(button, "End the session") {
		other.press(all[0])
		other.wants("Signed in as ann", "The session has ended.")
	}
}

// TestWhatWasTypedOutlivesTheSession, in the editor of a file, without scripts.
func TestWhatWasTypedOutlivesTheSession(t *testing.T) {
	in := serve(t)
	b := in.furnish()
	b.open("/vaults/ann/app/raw/staging")
	b.press("Show and edit")
	b.fill("Keys and values of staging", "DATABASE_URL=two\rSESSION=same\rNOTE=\"</form><b>100%\"\r")

	in.endsSessions()
	b.press("See what would change")
	b.wants("Your session has ended", "Nothing was stored, and nothing is lost")
	b.looksGood("unsent")
	b.press("Send again")
	b.wants("Your session has ended")
	beside := b.besides(clickOn(b.find("Sign in in a new window", link)))
	beside.wants("Sign in")
	beside.signIn("ann", password)
	beside.wants("You are signed in", "Close this window")
	beside.looksGood("signed-in-beside")
	call(b, page.BringToFront, cdp.Empty{})
	b.press("Send again")
	b.wants("What would change in staging", "1 to create, 0 to update, 2 unchanged", "NOTE")
	b.press("Save")
	b.wants("Secrets", "What you chose is stored.")
	b.open("/vaults/ann/app/raw/staging")
	b.press("Show and edit")
	if got := get(b, chromedp.Value(chromedp.ID("text"))); !strings.Contains(got, "</form><b>100%") {
		t.Errorf("staging holds %s", got)
	}
}

// TestAFileOutlivesTheSession that was chosen to be imported, with its line ends.
func TestAFileOutlivesTheSession(t *testing.T) {
	in := serve(t)
	b := in.furnish()
	b.open("/vaults/ann/app/import")
	b.wants("Import and export")
	path := filepath.Join(t.TempDir(), "old.env")
	if err := os.WriteFile(path, []byte("A=1\rB=2\r"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.choose(path)
	in.endsSessions()
	b.press("See what would change")
	b.wants("Your session has ended")
	beside := b.besides(clickOn(b.find("Sign in in a new window", link)))
	beside.signIn("ann", password)
	call(b, page.BringToFront, cdp.Empty{})
	b.press("Send again")
	b.wants("Import and export", "a carriage return in the middle of a line")
}
