package browsertest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// scripted opens a browser whose pages run their scripts. It fails the test if one
// asks elsewhere, breaks its policy, or has a mistake in it; that the API refuses
// something is no mistake.
func scripted(t *testing.T, base string) *browser {
	t.Helper()
	b := openBrowser(t, base)
	t.Cleanup(func() {
		for _, c := range b.complained() {
			if !strings.Contains(c, "the server responded with a status of 4") {
				t.Errorf("the browser complained: %s", c)
			}
		}
	})
	return b
}

// evaluate is what an expression or its promise comes to on the page.
func evaluate[T any](b *browser, expression string) T {
	b.t.Helper()
	return get(b, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
}

// asks sends a request to the API as whoever is signed in, and returns the answer.
func (b *browser) asks(method, path string, body any) string {
	b.t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		b.t.Fatal(err)
	}
	return evaluate[string](b, fmt.Sprintf(`fetch(%q, {method: %q, body: %q}).then(r => r.text())`, path, method, text))
}

func (b *browser) pushes(environment string, values map[string]string) {
	b.t.Helper()
	got := b.asks("POST", "/v1/secrets/push", map[string]any{"repoFullName": "ann/api", "environment": environment, "mode": "merge", "secrets": values})
	if !strings.Contains(got, `"success":true`) {
		b.t.Fatalf("%s", got)
	}
}

// stored is what an environment of ann/api holds.
func (b *browser) stored(environment string) string {
	b.t.Helper()
	return evaluate[string](b, fmt.Sprintf(`fetch("/v1/secrets/pull?format=json&repo=ann%%2Fapi&environment=%s").then(r => r.json()).then(a => JSON.stringify(a.data.secrets))`, environment))
}

// click presses a button or link that leads to no other page.
func (b *browser) click(name string) {
	b.t.Helper()
	do(b, clickOn(b.find(name, button, link)))
}

// types writes into the field with a name, at once.
func (b *browser) types(name, text string) {
	b.t.Helper()
	b.drawn()
	call(b, dom.Focus, dom.FocusParams{BackendNodeID: b.find(name, textBox)})
	do(b, chromedp.KeyEvent(text))
}

// says waits until the page says something, or no longer does.
func (b *browser) says(text string, want bool) {
	b.t.Helper()
	for end := time.Now().Add(patience); strings.Contains(b.text(), text) != want; time.Sleep(50 * time.Millisecond) {
		if !time.Now().Before(end) {
			b.t.Fatalf("%q on the page: %v, want %v:\n%s", text, !want, want, b.text())
		}
	}
}

// matrix is an instance with a vault of ann's, shown to her.
func matrix(t *testing.T) (*instance, *browser) {
	t.Helper()
	in := serve(t)
	in.user("ann")
	b := scripted(t, in.url)
	b.open("/")
	b.signIn("ann", password)
	b.fill("Repository", "ann/api")
	b.press("Create vault")
	b.wants("Secrets", "There is no secret in this vault yet.")
	b.pushes("development", map[string]string{"DB_URL": "canary-dev", "LOG_LEVEL": "debug", "TOKEN": "canary\nlines\n"})
	b.pushes("staging", map[string]string{"DB_URL": "canary-staging", "LOG_LEVEL": "debug"})
	b.pushes("production", map[string]string{"DB_URL": "canary-production", "LOG_LEVEL": "debug", "TOKEN": "canary"})
	b.open("/vaults/ann/api")
	return in, b
}

// faster makes what waits on the page wait a tenth of that.
const faster = `{ const wait = window.setTimeout; window.setTimeout = (f, ms) => wait(f, ms / 10); }`

func TestAValueIsShownInTheMatrix(t *testing.T) {
	_, b := matrix(t)
	if html := evaluate[string](b, "document.documentElement.outerHTML"); strings.Contains(html, "canary") {
		t.Errorf("a value is in the page: %s", html)
	}
	b.click("TOKEN in development: differs, A")
	b.click("Show TOKEN in development")
	b.says("canary\nlines", true)
	b.looksGood("matrix-shown")
	b.click("Hide TOKEN in development")
	b.says("canary", false)
	do(b, chromedp.Evaluate[chromedp.Void](faster))
	b.click("Show TOKEN in development")
	b.says("canary", true)
	b.says("canary", false)
	b.click("DB_URL in staging: differs, B")
	if n := evaluate[int](b, "document.querySelectorAll('.tools').length"); n != 1 {
		t.Errorf("%d cells are open", n)
	}
	for range 8 {
		b.click("Show DB_URL in staging")
		b.says("canary-staging", true)
		b.says("canary-staging", false)
	}
	b.click("Show DB_URL in staging")
	b.says("Too many reads of values: 10 are possible in 1m. Wait", true)
}

func TestAValueIsCopied(t *testing.T) {
	_, b := matrix(t)
	b.click("TOKEN in development: differs, A")
	evaluate[bool](b, `Object.defineProperty(navigator, "clipboard", { configurable: true, value: { writeText: async (text) => { window.copied = text; } } }) && true`)
	b.click("Copy TOKEN in development")
	b.says("Copied", true)
	if got := evaluate[string](b, "window.copied"); got != "canary\nlines\n" {
		t.Errorf("copied %q", got)
	}
	b.says("TOKEN in development is copied. The clipboard keeps it until something else is copied.", true)
	evaluate[bool](b, `Object.defineProperty(navigator, "clipboard", { value: undefined }) && true`)
	b.click("Copy TOKEN in development")
	b.says("The browser does not let this page copy.", true)
	if got := evaluate[string](b, "getSelection().toString()"); strings.TrimSpace(got) != "canary\nlines" {
		t.Errorf("selected %q", got)
	}
	b.click("Edit TOKEN in development")
	b.looksGood("matrix-editor")
}

func TestASecretIsShownOnItsPage(t *testing.T) {
	_, b := matrix(t)
	b.click("TOKEN in development: differs, A")
	b.press("More about TOKEN in development")
	b.wants("TOKEN in development", "Version 1")
	b.looksGood("secret")
	b.click("Show the value")
	b.says("canary\nlines", true)
	b.click("Hide")
	b.says("canary", false)
	b.click("Show version 1")
	b.says("canary\nlines", true)
	b.looksGood("secret-shown")
	b.scripts(false)
	b.press("Set a new value")
	b.fill("Value", "another")
	b.looksGood("set")
	b.press("Save")
	b.wants("Secrets", "The value is set.")
	b.press("TOKEN in development: differs, A")
	b.press("Show the value")
	b.wants("TOKEN in development", "another", "Version 2")
	b.looksGood("secret-asked")
	b.press("Restore version 1")
	b.wants("TOKEN in development", "Version 3", "The old value is the current one again")
	b.press("Rename")
	b.looksGood("rename")
	b.fill("New name", "API_TOKEN")
	b.press("Rename")
	b.wants("Secrets", "API_TOKEN")
	b.press("API_TOKEN in development: set")
	b.press("Move to the trash")
	b.looksGood("remove")
	b.press("Move to the trash")
	b.wants("Secrets", "The secret is in the trash.")
	b.looksGood("matrix-undo")
	b.press("Undo")
	b.wants("Secrets", "out of the trash again", "API_TOKEN")
}

// edits types a new value into a cell and keeps it.
func (b *browser) edits(cell, name, text string) {
	b.t.Helper()
	b.click(cell)
	if !strings.HasSuffix(cell, "set it") {
		b.click("Edit " + name)
	}
	b.types("New value of "+name, text)
	b.click("Keep the new value of " + name)
}

func TestChangesAreCollectedAndSaved(t *testing.T) {
	_, b := matrix(t)
	b.edits("DB_URL in development: differs, A", "DB_URL in development", "new-dev")
	b.says("1 change in 1 environment", true)
	b.edits("TOKEN in staging: missing, set it", "TOKEN in staging", "new-token")
	b.click("Add a secret")
	b.looksGood("add")
	b.fill("Key", "lower")
	b.click("Keep")
	b.says("A key starts with A-Z", true)
	b.fill("Key", "ADDED")
	b.types("Value", "new-added")
	evaluate[bool](b, `document.querySelectorAll("dialog input[type=checkbox]").forEach((box) => { box.checked = box.value !== "production"; }) ?? true`)
	b.click("Keep")
	b.says("4 changes in 2 environments", true)
	b.looksGood("matrix-changed")
	b.click("Review")
	b.says("Take back", true)
	if text := b.text(); strings.Contains(text, "new-") || strings.Contains(text, "canary") {
		t.Errorf("values are not masked:\n%s", text)
	}
	b.click("Show new values")
	b.click("Show the old value of DB_URL in development")
	b.says("canary-dev", true)
	b.says("new-dev", true)
	if !evaluate[bool](b, `document.querySelector(".review > .choices").getBoundingClientRect().bottom <= document.querySelector(".review").getBoundingClientRect().bottom`) {
		t.Error("the buttons of the review are out of sight once a value is shown")
	}
	b.looksGood("review")
	b.click("Take back the change of ADDED in staging")
	b.says("3 changes in 2 environments", true)
	b.press("Save")
	b.wants("Secrets", "Saved. development: 1 created, 1 updated, 0 moved to trash, 0 unchanged")
	if got := b.stored("development"); got != `{"ADDED":"new-added","DB_URL":"new-dev","LOG_LEVEL":"debug","TOKEN":"canary\nlines\n"}` {
		t.Errorf("development has %s", got)
	}
	if got := b.stored("staging"); got != `{"DB_URL":"canary-staging","LOG_LEVEL":"debug","TOKEN":"new-token"}` {
		t.Errorf("staging has %s", got)
	}
	b.press("coffer") // nothing is left to ask about
	b.wants("Vaults")
}

func TestWhatSomebodyElseChangedIsNotOverwritten(t *testing.T) {
	in, b := matrix(t)
	other := scripted(t, in.url)
	other.open("/vaults/ann/api")
	other.signIn("ann", password)
	b.edits("DB_URL in development: differs, A", "DB_URL in development", "mine-1")
	b.edits("LOG_LEVEL in development: set", "LOG_LEVEL in development", "mine-2")
	b.edits("TOKEN in production: differs, B", "TOKEN in production", "mine-3")
	other.pushes("development", map[string]string{"DB_URL": "theirs-1", "LOG_LEVEL": "theirs-2", "OTHER": "theirs-3"})
	b.click("Save")
	b.says("Somebody else changed development meanwhile.", true)
	b.says("Changed besides: OTHER.", true)
	b.looksGood("conflict")
	if got := b.stored("development"); !strings.Contains(got, "theirs-1") || !strings.Contains(got, "theirs-2") {
		t.Errorf("development has %s", got)
	}
	evaluate[bool](b, `document.querySelector("[data-key=DB_URL] [value=mine]").click() ?? true`)
	b.press("Save again")
	b.wants("Secrets", "Saved. development: 0 created, 1 updated")
	if got := b.stored("development"); got != `{"DB_URL":"mine-1","LOG_LEVEL":"theirs-2","OTHER":"theirs-3","TOKEN":"canary\nlines\n"}` {
		t.Errorf("development has %s", got)
	}
	if got := b.stored("production"); !strings.Contains(got, "mine-3") {
		t.Errorf("production has %s", got)
	}
}

func TestASessionThatEndsLosesNothing(t *testing.T) {
	_, b := matrix(t)
	b.edits("DB_URL in development: differs, A", "DB_URL in development", "kept")
	evaluate[int](b, `fetch("/logout", { method: "POST", redirect: "manual" }).then((r) => r.status)`)
	b.click("Save")
	b.says("Your session has ended. What you typed stays here while this page is open", true)
	b.looksGood("session-ended")
	b.says("Save again", true)
	evaluate[int](b, `fetch("/login", { method: "POST", body: new URLSearchParams({ username: "ann", password: "`+password+`" }), redirect: "manual" }).then((r) => r.status)`)
	b.press("Save again")
	b.wants("Secrets", "Saved. development: 0 created, 1 updated")
	if got := b.stored("development"); !strings.Contains(got, `"kept"`) {
		t.Errorf("development has %s", got)
	}
}

// TestLeavingWithChangesIsAskedAbout: the browser asks, and staying keeps them.
func TestLeavingWithChangesIsAskedAbout(t *testing.T) {
	_, b := matrix(t)
	b.edits("DB_URL in development: differs, A", "DB_URL in development", "kept")
	asked := make(chan string, 1)
	if err := chromedp.Listen(b.ctx, func(event any) {
		if e, ok := event.(*page.EventJavascriptDialogOpening); ok {
			asked <- string(e.Type)
			go func() {
				_, _ = chromedp.Call(b.ctx, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: false})
			}()
		}
	}); err != nil {
		t.Fatal(err)
	}
	b.click("Account")
	select {
	case kind := <-asked:
		if kind != "beforeunload" {
			t.Errorf("it asks by %s", kind)
		}
	case <-time.After(patience):
		t.Fatal("it is left without a question")
	}
	b.wants("Secrets", "1 change in 1 environment")
}

// TestDrafts tries what the page thinks with, by itself.
func TestDrafts(t *testing.T) {
	_, b := matrix(t)
	got := evaluate[string](b, `(async () => {
		const at = performance.getEntriesByType("resource").find((r) => /draft\.[0-9a-f]+\.js$/.test(r.name)).name;
		const { Draft, masked, validKey } = await import(at);
		const d = new Draft();
		const said = [d.empty, d.summary];
		d.put("b", "Z", "1"); d.put("a", "Z", ""); d.put("b", "A", "2");
		said.push(d.summary, d.changes, d.push("o/r", "b", 7), d.clash("b", ["A", "Q"]), d.get("a", "Z"), d.get("a", "Q") ?? null);
		d.drop("a", "Z"); d.drop("a", "Z"); d.drop("none", "Z");
		said.push(d.environments, d.summary, masked(""), masked("x"), masked("longer") === masked("x"));
		const push = d.push("o/r", "b", 7);
		d.put("b", "Z", "changed again");
		d.saved(push);
		said.push(d.changes);
		d.clear();
		said.push(d.empty, validKey("A_1"), validKey("a"), validKey("A-B"), validKey("A".repeat(257)), validKey("A\nB"));
		return JSON.stringify(said);
	})()`)
	want := `[true,"0 changes in 0 environments","3 changes in 2 environments",` +
		`[{"environment":"b","key":"A","value":"2"},{"environment":"b","key":"Z","value":"1"},{"environment":"a","key":"Z","value":""}],` +
		`{"repoFullName":"o/r","environment":"b","mode":"merge","baseRevision":7,"secrets":{"Z":"1","A":"2"}},` +
		`{"both":["A"],"others":["Q"]},"",null,["b"],"2 changes in 1 environment","(empty)","••••••••",true,[{"environment":"b","key":"Z","value":"changed again"}],true,true,false,false,false,false]`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestTheMatrixNeedsNoMouse: Enter opens a cell and Escape closes it again.
func TestTheMatrixNeedsNoMouse(t *testing.T) {
	_, b := matrix(t)
	const cell = "LOG_LEVEL in staging: set"
	call(b, dom.Focus, dom.FocusParams{BackendNodeID: b.find(cell, link)})
	do(b, chromedp.KeyEvent(kb.Enter))
	b.says("More", true)
	if got := b.tab(); got != "Show LOG_LEVEL in staging" {
		t.Fatalf("the keyboard is at %q", got)
	}
	do(b, chromedp.KeyEvent(kb.Enter))
	b.says("debug", true)
	if got := fmt.Sprint([]string{b.tab(), b.tab(), b.tab()}); got != "[Copy LOG_LEVEL in staging Edit LOG_LEVEL in staging More about LOG_LEVEL in staging]" {
		t.Errorf("after it come %s", got)
	}
	do(b, chromedp.KeyEvent(kb.Escape))
	b.says("debug", false)
	if got := b.focused(); got != cell {
		t.Errorf("the keyboard is at %q", got)
	}
	call(b, dom.Focus, dom.FocusParams{BackendNodeID: b.find("TOKEN in staging: missing, set it", link)})
	do(b, chromedp.KeyEvent(kb.Enter))
	b.says("Keep", true)
	if got := b.tab(); got != "New value of TOKEN in staging" {
		t.Fatalf("the keyboard is at %q", got)
	}
	do(b, chromedp.KeyEvent("typed"))
	do(b, chromedp.KeyEvent(kb.Enter, chromedp.KeyModifiers(chromedp.ModifierCtrl)))
	b.says("1 change in 1 environment", true)
	b.press("Save")
	if got := b.stored("staging"); !strings.Contains(got, `"TOKEN":"typed"`) {
		t.Errorf("staging has %s", got)
	}
}
