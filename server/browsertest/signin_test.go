package browsertest

import (
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// signIn signs somebody in on the page that is open, with their password.
func (b *browser) signIn(user, password string) {
	b.t.Helper()
	b.fill("Username", user)
	b.fill("Password", password)
	b.press("Sign in")
}

func TestSomebodySignsInWithAPassword(t *testing.T) {
	in := serve(t)
	in.user("ann")
	b := newBrowser(t, in.url)
	const wanted = "/device?user_code=ABCDE-FGH23"
	b.open(wanted)
	b.wants("Sign in")
	b.signIn("ann", "wrong")
	b.wants("Sign in", "not the right password")
	if got := get(b, chromedp.Value(chromedp.ID("username"))); got != "ann" {
		t.Errorf("the name was %q afterwards", got)
	}
	b.cursorIn("Password")
	b.fill("Password", password)
	b.press("Sign in")
	if b.at() != wanted {
		t.Errorf("signing in leads to %s, want %s", b.at(), wanted)
	}
}

func TestSomebodyEndsSessions(t *testing.T) {
	in := serve(t)
	in.user("ann")
	here, there := newBrowser(t, in.url), newBrowser(t, in.url)
	for _, b := range []*browser{there, here} {
		b.open("/")
		b.signIn("ann", password)
		b.press("Account")
		b.wants("Signed in as ann", "This browser")
	}
	if n := strings.Count(here.text(), "Address\n127.0.0.1"); n != 2 {
		t.Errorf("there are %d sessions, want 2:\n%s", n, here.text())
	}
	here.press(here.names(button, "End the session that began")[0])
	here.wants("Signed in as ann", "The session has ended.")
	if more := here.names(button, "End the session that began"); len(more) > 0 {
		t.Errorf("there are still other sessions: %q", more)
	}
	there.press("coffer")
	there.wants("Sign in")

	here.press("Sign out")
	here.wants("Sign in")
	do(here, chromedp.NavigateBack())
	if strings.Contains(here.text(), "ann") {
		t.Errorf("going back shows who was signed in:\n%s", here.text())
	}
	here.open("/")
	here.wants("Sign in")
}

func TestAnAddressWithoutAPageLeadsHome(t *testing.T) {
	in := serve(t)
	in.user("ann")
	b := newBrowser(t, in.url)
	if status := b.open("/nowhere"); status != http.StatusNotFound {
		t.Errorf("status %d", status)
	}
	b.wants("There is nothing here", "There is nothing at this address")
	b.press("Home")
	b.signIn("ann", password)
	b.wants("Vaults", "ann")
}
