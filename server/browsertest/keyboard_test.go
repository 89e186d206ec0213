package browsertest

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// tab moves on to what comes next, and wants it to show that it has the keyboard.
func (b *browser) tab() string {
	b.t.Helper()
	do(b, chromedp.KeyEvent(kb.Tab))
	name := b.focused()
	ring := get(b, chromedp.Evaluate[string](`(s => s.outlineStyle + ' ' + s.outlineWidth)(getComputedStyle(document.activeElement))`))
	if ring != "solid 3px" {
		b.t.Errorf("%q at %s does not show that it has the keyboard: %s", name, b.at(), ring)
	}
	if seen := get(b, chromedp.Evaluate[bool](`(r => r.left >= 0 && r.top >= 0 && r.width > 0 && r.height > 0)(document.activeElement.getBoundingClientRect())`)); !seen {
		b.t.Errorf("%q at %s has the keyboard and cannot be seen", name, b.at())
	}
	return name
}

// comesBy moves on by what has these names, one after the other.
func (b *browser) comesBy(names ...string) {
	b.t.Helper()
	for _, want := range names {
		if got := b.tab(); got != want {
			b.t.Fatalf("at %s the keyboard comes by %q, want %q", b.at(), got, want)
		}
	}
}

// skipsPlaces moves on to the last place of the navigation.
func (b *browser) skipsPlaces() {
	b.t.Helper()
	for range b.names(link, "") {
		if b.tab() == "Account" {
			return
		}
	}
	b.t.Fatalf("the keyboard does not come by the navigation at %s", b.at())
}

// enter presses Enter and waits for the page that comes.
func (b *browser) enter() {
	b.t.Helper()
	b.comes(chromedp.KeyEvent(kb.Enter))
}

func TestTheKeyboardIsEnough(t *testing.T) {
	in := serve(t)
	in.user("ann")
	laptop, b := newTerminal(t), newBrowser(t, in.url)
	login := laptop.logsIn(in.url)
	b.open("/device")
	b.cursorIn("Username")
	do(b, chromedp.KeyEvent("ann"))
	if got := b.tab(); got != "Password" {
		t.Fatalf("after the name comes %q", got)
	}
	do(b, chromedp.KeyEvent(password))
	b.enter()

	b.wants("Sign a program in")
	b.cursorIn("Code")
	do(b, chromedp.KeyEvent(login.code))
	b.enter()

	b.wants("Is this you?", login.code)
	b.comesBy("Skip to the content", "coffer")
	b.skipsPlaces()
	b.comesBy("Sign out", "Refuse", "I started this: sign it in")
	b.enter()
	b.wants("The program is signed in")
	login.ends(0)

	b.comesBy("Skip to the content", "coffer")
	b.skipsPlaces()
	b.comesBy("Sign out", "Home")
	b.enter()
	b.wants("Vaults")
	do(b, chromedp.KeyEvent(kb.Tab))
	do(b, chromedp.KeyEvent(kb.Enter)) // skips what every page begins with
	b.comesBy("Search vaults and keys")
}
