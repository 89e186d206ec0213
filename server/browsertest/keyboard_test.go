package browsertest

import (
	"slices"
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

// tabs is what the keyboard comes by, one after the other, from the start of the
// page on.
func (b *browser) tabs(n int) []string {
	b.t.Helper()
	var names []string
	for range n {
		names = append(names, b.tab())
	}
	return names
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
	if got := b.focused(); got != "Username" {
		t.Fatalf("the cursor is in %q", got)
	}
	do(b, chromedp.KeyEvent("ann"))
	if got := b.tab(); got != "Password" {
		t.Fatalf("after the name comes %q", got)
	}
	do(b, chromedp.KeyEvent(password))
	b.enter()

	b.wants("Sign a program in")
	if got := b.focused(); got != "Code" {
		t.Fatalf("the cursor is in %q", got)
	}
	do(b, chromedp.KeyEvent(login.code))
	b.enter()

	b.wants("Is this you?", login.code)
	want := []string{"Skip to the content", "coffer", "Sign out", "Refuse", "I started this: sign it in"}
	if got := b.tabs(len(want)); !slices.Equal(got, want) {
		t.Fatalf("the keyboard comes by %q, want %q", got, want)
	}
	b.enter()
	b.wants("The program is signed in")
	login.ends(0)

	want = []string{"Skip to the content", "coffer", "Sign out", "Home"}
	if got := b.tabs(len(want)); !slices.Equal(got, want) {
		t.Fatalf("the keyboard comes by %q, want %q", got, want)
	}
	b.enter()
	b.wants("Signed in as ann")
	do(b, chromedp.KeyEvent(kb.Tab))
	do(b, chromedp.KeyEvent(kb.Enter)) // skips what every page begins with
	if got := b.tab(); got == "coffer" || got == "Sign out" {
		t.Errorf("after skipping to the content comes %q", got)
	}
}
