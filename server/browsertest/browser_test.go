package browsertest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// patience is how long a page may take. A machine may be busy with more than us.
const patience = 30 * time.Second

// browser is one person's browser: a window with cookies of its own.
type browser struct {
	t    *testing.T
	base string   // address of the instance
	host []string // that of its code host, if people sign in there
	ctx  context.Context

	scripted     bool // whether the scripts of pages run
	clicks, keys int  // how often the mouse and the keyboard were used so far

	mu         sync.Mutex
	documents  map[string]bool // addresses of pages that came
	complaints []string
}

// newBrowser opens a browser without scripts. It fails the test if a page of the
// instance asks anybody else for something, breaks its own policy, or writes to
// the console. It may lead to the code host only where one is named.
func newBrowser(t *testing.T, base string, host ...string) *browser {
	t.Helper()
	b := openBrowser(t, base, host...)
	b.scripts(false)
	t.Cleanup(func() {
		for _, c := range b.complained() {
			t.Errorf("the browser complained: %s", c)
		}
	})
	return b
}

func openBrowser(t *testing.T, base string, host ...string) *browser {
	t.Helper()
	needBrowser(t)
	ctx, end := chromedp.NewContext(chromium, chromedp.WithNewBrowserContext())
	t.Cleanup(end)
	b := &browser{t: t, base: base, host: host, ctx: ctx, scripted: true, documents: map[string]bool{}}
	if err := chromedp.Listen(ctx, b.watch); err != nil {
		t.Fatal(err)
	}
	do(b, chromedp.EmulateViewport(1280, 900))
	return b
}

// do runs a step that has to work.
func do(b *browser, step chromedp.Action[chromedp.Void]) { get(b, step) }

// get is what a step that has to work returns.
func get[T any](b *browser, step chromedp.Action[T]) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, step)
	if err != nil {
		b.t.Fatalf("in the browser: %v", err)
	}
	return v
}

// call sends a command that has to work.
func call[P, R any](b *browser, c cdp.Command[P, R], params P) R {
	b.t.Helper()
	return get(b, func(ctx context.Context, t *chromedp.Target) (R, error) { return cdp.Call(ctx, t, c, params) })
}

// scripts switches the scripts of pages on or off.
func (b *browser) scripts(on bool) {
	b.t.Helper()
	b.scripted = on
	b.allowScripts(on)
}

func (b *browser) allowScripts(on bool) {
	b.t.Helper()
	call(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !on})
}

// watch notes what a page should not have done.
func (b *browser) watch(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		if b.strays(e) {
			b.complaints = append(b.complaints, "asked for "+e.Request.URL)
		}
	case *network.EventWebSocketCreated:
		b.complaints = append(b.complaints, "asked for "+e.URL)
	case *network.EventResponseReceived:
		if e.Type == network.ResourceTypeDocument {
			b.documents[e.Response.URL] = true
		}
	case *network.EventLoadingFailed:
		if e.Type == network.ResourceTypeDocument && !e.Canceled {
			b.complaints = append(b.complaints, "a page did not come: "+e.ErrorText)
		}
	case *log.EventEntryAdded:
		// That a page itself came with an error's status is no mistake of the page.
		ofPage := e.Entry.Source == log.EntrySourceNetwork && b.documents[e.Entry.URL]
		if !ofPage && !b.atHost(e.Entry.URL) {
			b.complaints = append(b.complaints, fmt.Sprintf("%s: %s (%s)", e.Entry.Source, e.Entry.Text, e.Entry.URL))
		}
	case *runtime.EventConsoleAPICalled:
		b.complaints = append(b.complaints, fmt.Sprintf("console.%s", e.Type))
	case *runtime.EventExceptionThrown:
		b.complaints = append(b.complaints, e.ExceptionDetails.Text)
	}
}

// strays reports whether a request leaves the instance. Somebody who signs in may
// go to a page of the code host, and what that asks for is not ours to mend.
func (b *browser) strays(e *network.EventRequestWillBeSent) bool {
	to := e.Request.URL
	return !inside(b.base, to) && !strings.HasPrefix(to, "data:") && !b.atHost(e.DocumentURL)
}

// atHost reports whether an address is one of the code host.
func (b *browser) atHost(address string) bool {
	return slices.ContainsFunc(b.host, func(h string) bool { return inside(h, address) })
}

// inside reports whether an address has the origin of a server.
func inside(server, address string) bool { return strings.HasPrefix(address+"/", server+"/") }

// complained is what was noted so far.
func (b *browser) complained() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.complaints)
}

// open goes to a page of the instance, or to a whole address, and returns the
// status of what came in the end.
func (b *browser) open(to string) int64 {
	b.t.Helper()
	if strings.HasPrefix(to, "/") {
		to = b.base + to
	}
	for range 3 {
		// A page that was still coming when this one was asked for may be taken for it.
		if came := get(b, chromedp.NavigateResponse(to)); came != nil {
			return came.Status
		}
	}
	b.t.Fatalf("nothing comes from %s", to)
	return 0
}

// at is the page that is shown: path and query, and the whole address if it is
// elsewhere.
func (b *browser) at() string {
	b.t.Helper()
	return strings.TrimPrefix(get(b, chromedp.Location()), b.base)
}

// text is what can be read on the page.
func (b *browser) text() string {
	b.t.Helper()
	return get(b, chromedp.Evaluate[string]("document.body?.innerText ?? ''"))
}

// heading is the page's heading.
func (b *browser) heading() string {
	b.t.Helper()
	return get(b, chromedp.Evaluate[string]("Array.from(document.querySelectorAll('h1'), h => h.innerText).join(' | ')"))
}

// wants fails the test unless the page has this heading and says all of this.
func (b *browser) wants(heading string, says ...string) {
	b.t.Helper()
	text := b.text()
	if got := b.heading(); got != heading {
		b.t.Fatalf("the page at %s is headed %q, want %q:\n%s", b.at(), got, heading, text)
	}
	for _, s := range says {
		if !strings.Contains(text, s) {
			b.t.Fatalf("the page at %s does not say %q:\n%s", b.at(), s, text)
		}
	}
}

// find waits for what has a name, in one of these roles.
func (b *browser) find(name string, roles ...accessibilityRole) cdp.BackendNodeID {
	b.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		root := call(b, dom.GetDocument, dom.GetDocumentParams{}).Root.BackendNodeID
		for _, role := range roles {
			found := call(b, accessibility.QueryAXTree, accessibility.QueryAXTreeParams{BackendNodeID: root, AccessibleName: name, Role: string(role)})
			for _, n := range found.Nodes {
				if !n.Ignored {
					return n.BackendDOMNodeID
				}
			}
		}
		if at := b.at(); strings.HasPrefix(at, "chrome-error:") {
			b.t.Fatalf("instead of a page with %v %q the browser shows %s, and complained: %q\n%s", roles, name, at, b.complained(), b.text())
		}
		if !time.Now().Before(end) {
			b.t.Fatalf("the page at %s has no %v %q:\n%s", b.at(), roles, name, b.text())
		}
	}
}

type accessibilityRole string

// Roles of what pages consist of.
const (
	textBox   accessibilityRole = "textbox"
	searchBox accessibilityRole = "searchbox"
	comboBox  accessibilityRole = "combobox" // a text box with suggestions, too
	button    accessibilityRole = "button"
	link      accessibilityRole = "link"
)

// fill types into the field with a name, in place of what is there.
func (b *browser) fill(name, text string) {
	b.t.Helper()
	b.drawn()
	call(b, dom.Focus, dom.FocusParams{BackendNodeID: b.find(name, textBox, searchBox, comboBox)})
	do(b, chromedp.KeyEvent("a", chromedp.KeyModifiers(chromedp.ModifierCtrl)))
	do(b, chromedp.KeyEvent("\b"+text))
	b.clicks, b.keys = b.clicks+1, b.keys+len(text)
}

// press clicks on a button or link and waits for the page that comes.
func (b *browser) press(name string) {
	b.t.Helper()
	b.comes(clickOn(b.find(name, button, link)))
	b.clicks++
}

// clickOn clicks on the middle of something.
func clickOn(node cdp.BackendNodeID) chromedp.Action[chromedp.Void] {
	return func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		var none chromedp.Void
		if _, err := cdp.Call(ctx, t, dom.ScrollIntoViewIfNeeded, dom.ScrollIntoViewIfNeededParams{BackendNodeID: node}); err != nil {
			return none, err
		}
		box, err := cdp.Call(ctx, t, dom.GetBoxModel, dom.GetBoxModelParams{BackendNodeID: node})
		if err != nil {
			return none, err
		}
		q := box.Model.Content
		return chromedp.MouseClickXY((q[0]+q[4])/2, (q[1]+q[5])/2)(ctx, t)
	}
}

// comes does what leads to another page, and waits for that.
func (b *browser) comes(step chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	get(b, chromedp.WaitEvent(page.LoadEventFired, nil, step))
}

// drawn waits until a page that gives the keyboard to a field has done so, which it
// does when it is first drawn. Browsers complain where somebody else was faster.
func (b *browser) drawn() {
	b.t.Helper()
	const given = `document.activeElement !== document.body || location.hash !== '' ||
		!document.querySelector('[autofocus]')?.checkVisibility()`
	for end := time.Now().Add(patience); !get(b, chromedp.Evaluate[bool](given)); time.Sleep(20 * time.Millisecond) {
		if !time.Now().Before(end) {
			b.t.Fatalf("at %s no field gets the keyboard", b.at())
		}
	}
}

// cursorIn waits until what has this name has the keyboard: a page gives it away
// after it came.
func (b *browser) cursorIn(name string) {
	b.t.Helper()
	for end := time.Now().Add(patience); b.focused() != name; time.Sleep(20 * time.Millisecond) {
		if !time.Now().Before(end) {
			b.t.Fatalf("at %s the cursor is in %q, want %q", b.at(), b.focused(), name)
		}
	}
}

// focused is the name of what has the keyboard.
func (b *browser) focused() string {
	b.t.Helper()
	return get(b, func(ctx context.Context, t *chromedp.Target) (string, error) {
		active, err := cdp.Call(ctx, t, runtime.Evaluate, runtime.EvaluateParams{Expression: "document.activeElement"})
		if err != nil {
			return "", err
		}
		found, err := cdp.Call(ctx, t, accessibility.GetPartialAXTree, accessibility.GetPartialAXTreeParams{ObjectID: active.Result.ObjectID, FetchRelatives: new(false)})
		if err != nil || len(found.Nodes) == 0 {
			return "", err
		}
		return nameOf(found.Nodes[0]), nil
	})
}

// names lists the names in a role that begin like this.
func (b *browser) names(role accessibilityRole, prefix string) []string {
	b.t.Helper()
	root := call(b, dom.GetDocument, dom.GetDocumentParams{}).Root.BackendNodeID
	var names []string
	for _, n := range call(b, accessibility.QueryAXTree, accessibility.QueryAXTreeParams{BackendNodeID: root, Role: string(role)}).Nodes {
		if name := nameOf(n); !n.Ignored && strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	return names
}

// nameOf is how assistive technology calls something.
func nameOf(n *accessibility.Node) string {
	var name string
	if n.Name != nil {
		_ = json.Unmarshal(n.Name.Value, &name) // what is no text is no name
	}
	return name
}
