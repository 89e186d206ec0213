package browsertest

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// holdsBack has requests to addresses like this one take a while, and counts them.
func (b *browser) holdsBack(pattern string, while time.Duration) *atomic.Int32 {
	b.t.Helper()
	return b.delays(pattern, func(goOn func()) { time.AfterFunc(while, goOn) })
}

// holdsUntil has them take until what it returns is closed.
func (b *browser) holdsUntil(pattern string) (*atomic.Int32, chan<- struct{}) {
	b.t.Helper()
	until := make(chan struct{})
	return b.delays(pattern, func(goOn func()) {
		go func() {
			<-until
			goOn()
		}()
	}), until
}

func (b *browser) delays(pattern string, wait func(goOn func())) *atomic.Int32 {
	b.t.Helper()
	sent := new(atomic.Int32)
	asked := regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(b.base+pattern), `\*`, ".*") + "$")
	if err := chromedp.Listen(b.ctx, func(event any) {
		if e, ok := event.(*fetch.EventRequestPaused); ok && asked.MatchString(e.Request.URL) {
			sent.Add(1)
			wait(func() {
				// A page that was left waits for it no more.
				_, _ = chromedp.Call(b.ctx, fetch.ContinueRequest, fetch.ContinueRequestParams{RequestID: e.RequestID})
			})
		}
	}); err != nil {
		b.t.Fatal(err)
	}
	call(b, fetch.Enable, fetch.EnableParams{Patterns: []*fetch.RequestPattern{{URLPattern: b.base + pattern}}})
	return sent
}

// busy is what a page shows while something takes long: its forms and buttons that
// wait, and what it says.
const busy = `[...[...document.querySelectorAll("form[aria-busy=true], button[aria-disabled=true]")].map((e) => e.getAttribute("action") ?? e.textContent), document.querySelector(".busy")?.textContent].filter((text) => text).join(", ")`

// watches has the page note what it shows while it waits for the next one: until
// that is there, nobody can ask it. It does what it is told 1.5 s after a form is sent.
func (b *browser) watches(then string) {
	b.t.Helper()
	evaluate[bool](b, fmt.Sprintf(`(() => {
		let began;
		const seen = [];
		addEventListener("submit", () => setTimeout(() => { %s }, 1500), { once: true });
		addEventListener("submit", () => { began = performance.now(); }, { once: true });
		setInterval(() => {
			const now = %s;
			if (now !== (seen.at(-1) ?? "")) {
				seen.push(now);
				sessionStorage.setItem("seen", JSON.stringify(seen));
				sessionStorage.setItem("after", performance.now() - began);
			}
		}, 20);
		return true;
	})()`, then, busy))
}

// saw is what it noted, and how long after the form was sent the last of it came.
func (b *browser) saw() (seen []string, after float64) {
	b.t.Helper()
	if err := json.Unmarshal([]byte(evaluate[string](b, `sessionStorage.getItem("seen") ?? "[]"`)), &seen); err != nil {
		b.t.Fatal(err)
	}
	return seen, evaluate[float64](b, `Number(sessionStorage.getItem("after"))`)
}

// TestLongWorkIsTold after a second, and not sent a second time meanwhile.
func TestLongWorkIsTold(t *testing.T) {
	in := serve(t)
	in.user("ann")
	b := scripted(t, in.url)
	b.open("/login")
	b.fill("Username", "ann")
	b.fill("Password", password)
	b.watches(`document.querySelector("main button").click(); document.querySelector("main form").requestSubmit()`)
	sent := b.holdsBack("/login", 3*time.Second)
	b.press("Sign in")
	b.wants("Vaults")
	seen, after := b.saw()
	if want := []string{"/login, Sign in", "/login, Sign in, Checking the password. This can take a few seconds."}; !slices.Equal(seen, want) || after < 1000 {
		t.Errorf("the page shows %q, the last after %v ms", seen, after)
	}
	if n := sent.Load(); n != 1 {
		t.Errorf("it is sent %d times", n)
	}
	if got := evaluate[string](b, busy); got != "" {
		t.Errorf("the next page is busy with %s", got)
	}
}

// TestABusyPageIsFreeAgain when somebody stops, or comes back to it, and can be
// sent once more.
func TestABusyPageIsFreeAgain(t *testing.T) {
	_, b := matrix(t)
	const told = "/, Create vault, Asking the code host about the repository. This can take a few seconds."
	sent := b.holdsBack("/", 3*time.Second)
	for i, free := range []string{`window.stop()`, `dispatchEvent(new PageTransitionEvent("pageshow", { persisted: true }))`} {
		b.open("/")
		before := sent.Load()
		b.fill("Repository", fmt.Sprintf("ann/other-%d", i))
		b.watches(free)
		b.click("Create vault")
		for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
			if seen, _ := b.saw(); len(seen) > 0 && seen[len(seen)-1] == "" {
				break
			}
		}
		if seen, _ := b.saw(); !slices.Equal(seen, []string{"/, Create vault", told, ""}) {
			t.Errorf("%s: the page shows %q", free, seen)
		}
		if i == 0 {
			b.press("Create vault")
			if n := sent.Load() - before; n != 2 {
				t.Errorf("it is sent %d times", n)
			}
			evaluate[bool](b, `(sessionStorage.clear(), true)`)
		}
		b.says("The vault is there", true)
	}
}

// TestStayingFreesAForm: the browser asks whether to leave changes behind.
func TestStayingFreesAForm(t *testing.T) {
	_, b := matrix(t)
	b.edits("DB_URL in development: differs, A", "DB_URL in development", "kept")
	if err := chromedp.Listen(b.ctx, func(event any) {
		if _, ok := event.(*page.EventJavascriptDialogOpening); ok {
			go func() {
				_, _ = chromedp.Call(b.ctx, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: false})
			}()
		}
	}); err != nil {
		t.Fatal(err)
	}
	evaluate[bool](b, `(addEventListener("submit", () => { window.sent = true; }), true)`)
	b.click("Sign out")
	for end := time.Now().Add(patience / 2); !evaluate[bool](b, "window.sent === true && "+busy+` === ""`); time.Sleep(50 * time.Millisecond) {
		if !time.Now().Before(end) {
			t.Fatalf("the page shows %s", evaluate[string](b, busy))
		}
	}
	b.wants("Secrets", "1 change in 1 environment")
}

// TestBusyButtonsAreSent: what a form does may depend on the one that was pressed.
func TestBusyButtonsAreSent(t *testing.T) {
	_, b := matrix(t)
	b.open("/vaults/ann/api/secrets/remove?environment=development&key=TOKEN")
	b.press("Move to the trash")
	b.open("/vaults/ann/api/trash")
	b.watches("")
	b.holdsBack("/vaults/ann/api/trash", 1500*time.Millisecond)
	b.press("Restore TOKEN in development")
	b.wants("Trash", "The secret is back in its environment.")
	if seen, _ := b.saw(); len(seen) != 2 || !strings.HasSuffix(seen[1], ", Restore, Working. This can take a few seconds.") {
		t.Errorf("the page shows %q", seen)
	}
}

// TestADownloadIsNotBusyForEver: nothing tells the page when it is there.
func TestADownloadIsNotBusyForEver(t *testing.T) {
	_, b := matrix(t)
	b.open("/vaults/ann/api/import")
	b.watches(`sessionStorage.setItem("later", "")`)
	sent := b.holdsBack("/vaults/ann/api/raw/staging/export", 2*time.Second)
	b.click("Download .env of staging")
	for end := time.Now().Add(patience); !evaluate[bool](b, `sessionStorage.getItem("later") !== null`); time.Sleep(50 * time.Millisecond) {
		if !time.Now().Before(end) {
			t.Fatal("it is not sent")
		}
	}
	if seen, _ := b.saw(); len(seen) > 0 || sent.Load() != 1 {
		t.Errorf("the page shows %q, and sent %d", seen, sent.Load())
	}
}

// TestALongSaveIsTold where a page asks the API itself, over a dialog, too.
func TestALongSaveIsTold(t *testing.T) {
	_, b := matrix(t)
	b.edits("DB_URL in development: differs, A", "DB_URL in development", "new")
	sent, answer := b.holdsUntil("/v1/secrets/push")
	b.click("Review")
	press := `(document.querySelector("dialog .choices button").click(), true)`
	evaluate[bool](b, press)
	b.says("Saving. This can take a few seconds.", true)
	evaluate[bool](b, press)
	if got := evaluate[string](b, busy); got != "Save, Saving. This can take a few seconds." {
		t.Errorf("the page shows %q", got)
	}
	b.looksGood("busy")
	close(answer)
	b.says("Saved. development: 0 created, 1 updated", true)
	if got := evaluate[string](b, busy); got != "" || sent.Load() != 1 {
		t.Errorf("the page shows %q, and sent %d", got, sent.Load())
	}

	b.holdsBack("/v1/vaults/*/value", 2*time.Second)
	b.click("LOG_LEVEL in staging: set")
	b.click("Show LOG_LEVEL in staging")
	b.says("Fetching the value. This can take a few seconds.", true)
	b.says("debug", true)
	b.says("This can take", false)
}
