package browsertest

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// look is one way to look at a page.
type look struct {
	width  int64
	scheme string // light or dark
}

var looks = []look{{1280, "light"}, {1280, "dark"}, {360, "light"}, {360, "dark"}}

// flaws lists what people would stumble over on the page that is shown.
//
//go:embed flaws.js
var flaws string

// looksGood looks at the page in every way. With COFFER_SCREENSHOTS the pictures
// are kept in that directory.
func (b *browser) looksGood(name string) {
	b.t.Helper()
	lookedAt.add(b.at())
	defer do(b, chromedp.EmulateViewport(1280, 900))
	for _, l := range looks {
		do(b, chromedp.EmulateViewport(l.width, 800))
		call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: l.scheme}, {Name: "prefers-reduced-motion", Value: "reduce"}},
		})
		for _, flaw := range append(get(b, chromedp.Evaluate[[]string](flaws)), b.violations()...) {
			b.t.Errorf("%s, %d pixels wide, %s: %s", name, l.width, l.scheme, flaw)
		}
		b.keep(fmt.Sprintf("%s-%d-%s.png", name, l.width, l.scheme))
	}
}

// keep keeps a picture of the whole page, if somebody wants to see it.
func (b *browser) keep(file string) {
	b.t.Helper()
	dir := os.Getenv("COFFER_SCREENSHOTS")
	if dir == "" {
		return
	}
	picture := get(b, chromedp.FullScreenshot(100))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, file), picture, 0o644); err != nil {
		b.t.Fatal(err)
	}
}

// asksAs starts a device login as a program that calls itself like this.
func (in *instance) asksAs(program, repository string) (code string) {
	in.t.Helper()
	body := strings.NewReader(fmt.Sprintf(`{"repository": %q}`, repository))
	req, err := http.NewRequestWithContext(in.t.Context(), http.MethodPost, in.url+"/v1/auth/device/start", body)
	if err != nil {
		in.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", program)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		in.t.Fatal(err)
	}
	defer res.Body.Close()
	var started struct{ UserCode string }
	if err := json.NewDecoder(res.Body).Decode(&started); err != nil || started.UserCode == "" {
		in.t.Fatalf("%s: %v", res.Status, err)
	}
	return started.UserCode
}

func TestPagesLookGood(t *testing.T) {
	in := serve(t)
	name := strings.Repeat("ann-", 9) + "ann" // as long as names may be
	in.user(name)
	b := newBrowser(t, in.url)
	b.open("/")
	b.looksGood("sign-in")
	b.signIn(name, "wrong")
	b.looksGood("sign-in-wrong")
	b.signIn(name, password)
	other := newBrowser(t, in.url) // so that the account page has more than one session
	other.open("/")
	other.signIn(name, password)
	b.open("/account")
	b.looksGood("account")
	b.open("/device")
	b.looksGood("device")
	b.fill("Code", "ABCDE-FGH23")
	b.press("Continue")
	b.looksGood("device-wrong")

	b.fill("Code", in.asksAs("coffer/1.0.0", name+"/app"))
	b.press("Continue")
	b.looksGood("confirm")
	b.press("Refuse")
	b.looksGood("refused")
	b.open("/device")
	b.fill("Code", in.asksAs(strings.Repeat("unbroken", 12), name+"/"+strings.Repeat("repository-", 9)))
	b.press("Continue")
	b.looksGood("confirm-long")
	b.press("I started this: sign it in")
	b.looksGood("approved")
	b.open("/nowhere")
	b.looksGood("message")
	b.open("/errors/rate-limited")
	b.looksGood("error")
	in.operator("", "seal", "--yes")
	b.open("/")
	b.looksGood("sealed")
}

func TestPagesOfABoundInstanceLookGood(t *testing.T) {
	h := serveBound(t, time.Minute)
	b := newBrowser(t, h.url, h.gitea.URL)
	b.open("/")
	b.looksGood("forge-sign-in")
	b.signInThere("ann")
	b.looksGood("forge-vaults")
	b.open("/account")
	b.looksGood("forge-account")
	b.open("/login/callback?error=access_denied&state=x")
	b.looksGood("forge-not-signed-in")
}

// TestEmptyPagesLookGood where nothing was done yet, and where nothing may be.
func TestEmptyPagesLookGood(t *testing.T) {
	in := serve(t)
	in.user("ann")
	b := newBrowser(t, in.url)
	b.open("/")
	b.signIn("ann", password)
	b.wants("Vaults", "There is no vault yet that you can reach.")
	b.looksGood("no-vaults")
	for _, at := range [][2]string{{"/orgs", "no-orgs"}, {"/activity", "activity-short"}, {"/operator", "forbidden"}, {"/setup/vault", "first-vault"}} {
		b.open(at[0])
		b.looksGood(at[1])
	}
	b.press("See what it holds")
	b.looksGood("first-vault-empty")
	b.fill("Repository", "nonsense")
	b.press("Make an empty vault")
	b.looksGood("first-vault-wrong")
	b.open("/")
	b.fill("Repository", "ann/app")
	b.press("Create vault")
	for _, page := range []string{"history", "compare", "import", "raw/development", "access", "environments/staging"} {
		b.open("/vaults/ann/app/" + page)
		b.looksGood("empty-" + strings.ReplaceAll(page, "/", "-"))
	}
	b.fill("New name", "X")
	b.press("Rename")
	b.looksGood("environment-wrong")
}

// TestPagesForReadersLookGood, who are offered nothing that they may not do.
func TestPagesForReadersLookGood(t *testing.T) {
	in := serve(t)
	in.furnish()
	in.user("bob")
	in.operator("", "admin", "repo", "grant", "ann/app", "bob", "read")
	b := newBrowser(t, in.url)
	b.open("/vaults/ann/app")
	b.signIn("bob", password)
	b.looksGood("reader-matrix")
	b.press("SESSION in development: set")
	b.looksGood("reader-secret")
	for _, page := range []string{"compare", "import", "history", "trash", "environments", "access", "settings"} {
		b.open("/vaults/ann/app/" + page)
		b.looksGood("reader-" + page)
	}
}

// shows has the browser show a page that comes from nowhere.
func (b *browser) shows(page string) {
	b.t.Helper()
	var address strings.Builder
	address.WriteString("data:text/html,")
	for _, c := range []byte(page) {
		fmt.Fprintf(&address, "%%%02x", c)
	}
	do(b, chromedp.Navigate(address.String()))
}

// TestFlawsAreSeen shows a page with every flaw that looksGood looks for.
func TestFlawsAreSeen(t *testing.T) {
	b := openBrowser(t, "http://127.0.0.1")
	b.shows(`<!DOCTYPE html><html><title>x</title><body style="background:#fff">
<h1>One</h1><h1>Two</h1><h3>Three</h3><p style="color:#999">faint</p><div style="width:2000px">wide</div>
<input id="a" type="text"><button></button><a href="/" style="display:inline-block;height:5px;overflow:hidden">low</a></body></html>`)
	seen := strings.Join(get(b, chromedp.Evaluate[[]string](flaws)), "\n")
	for _, want := range []string{"language", "title", "2 headings", "h3 follows h1", "contrast", "sticks out", "no label", "no name", "too small"} {
		if !strings.Contains(seen, want) {
			t.Errorf("nothing about %q in:\n%s", want, seen)
		}
	}
}
