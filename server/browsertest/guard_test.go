package browsertest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// complains waits until the browser has complained of all of this.
func (b *browser) complains(all ...string) {
	b.t.Helper()
	missing := func(c string) bool {
		return !slices.ContainsFunc(b.complained(), func(got string) bool { return strings.Contains(got, c) })
	}
	for end := time.Now().Add(patience); slices.ContainsFunc(all, missing); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			b.t.Fatalf("the browser complained of %q, want all of %q", b.complained(), all)
		}
	}
}

// TestTheBrowserComplains shows a page with all that a page of ours must not do.
func TestTheBrowserComplains(t *testing.T) {
	needBrowser(t)
	bad := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/":
			fmt.Fprint(w, `<h1>Bad</h1><img src="http://192.0.2.1/a.png"><img src="http://vault.example/b.png"><script>console.log("here"); document.title = "changed"</script>`)
		case "/gone":
			panic(http.ErrAbortHandler)
		case "/policy":
			w.Header().Set("Content-Security-Policy", "default-src 'none'")
			fmt.Fprint(w, `<h1>Refused</h1><style>h1 { color: red }</style>`)
		default:
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `<h1>Not found</h1>`)
		}
	}))
	defer bad.Close()
	b := openBrowser(t, bad.URL)
	b.scripts(false)
	b.open("/")
	b.complains("asked for http://192.0.2.1/a.png", "asked for http://vault.example/b.png",
		"ERR_NAME_NOT_RESOLVED (http://192.0.2.1/a.png)", "ERR_NAME_NOT_RESOLVED (http://vault.example/b.png)") // and got nothing
	if slices.Contains(b.complained(), "console.log") {
		t.Error("a script ran")
	}
	b.scripts(true)
	b.open("/")
	b.complains("console.log")
	b.open("/policy")
	b.complains("security: ")
	do(b, chromedp.Evaluate[chromedp.Void](`location.href = "/gone"`))
	b.complains("a page did not come: net::ERR_EMPTY_RESPONSE")
	before := len(b.complained())
	if status := b.open("/nothing"); status != http.StatusNotFound || len(b.complained()) != before {
		t.Errorf("a page with status %d is complained of: %q", status, b.complained()[before:])
	}
}

// TestARequestThatLeavesIsSeen, even when it stays on this machine. Every story
// fails by it.
func TestARequestThatLeavesIsSeen(t *testing.T) {
	needBrowser(t)
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	bad := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `<title>Bad</title><link rel="icon" href="data:,"><h1>Bad</h1><img alt="" src="data:image/gif;base64,R0lGODlhAQABAAAAACw=">
<img alt="" src="%[1]s/a.png"><a href="%[1]s/page">Elsewhere</a><script>new WebSocket("%[1]s/socket".replace("http", "ws"))</script>`, other.URL)
	}))
	defer bad.Close()
	b := openBrowser(t, bad.URL)
	b.open("/")
	b.complains("asked for "+other.URL+"/a.png", "asked for ws"+strings.TrimPrefix(other.URL, "http")+"/socket")
	b.press("Elsewhere")
	b.complains("asked for " + other.URL + "/page")

	signsIn := openBrowser(t, bad.URL, other.URL)
	signsIn.scripts(false)
	signsIn.open("/")
	signsIn.press("Elsewhere")
	signsIn.complains("asked for " + other.URL + "/a.png")
	if got := slices.DeleteFunc(signsIn.complained(), func(c string) bool { return !strings.HasPrefix(c, "asked for ") }); len(got) != 1 {
		t.Errorf("where people may go, the browser complained of %q", got)
	}
}
