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
	wants := func(all ...string) {
		t.Helper()
		missing := func(c string) bool {
			return !slices.ContainsFunc(b.complained(), func(got string) bool { return strings.Contains(got, c) })
		}
		for end := time.Now().Add(patience); slices.ContainsFunc(all, missing); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("the browser complained of %q, want all of %q", b.complained(), all)
			}
		}
	}
	b.scripts(false)
	b.open("/")
	wants("asked for http://192.0.2.1/a.png", "asked for http://vault.example/b.png",
		"ERR_NAME_NOT_RESOLVED (http://192.0.2.1/a.png)", "ERR_NAME_NOT_RESOLVED (http://vault.example/b.png)") // and got nothing
	if slices.Contains(b.complained(), "console.log") {
		t.Error("a script ran")
	}
	b.scripts(true)
	b.open("/")
	wants("console.log")
	b.open("/policy")
	wants("security: ")
	do(b, chromedp.Evaluate[chromedp.Void](`location.href = "/gone"`))
	wants("a page did not come: net::ERR_EMPTY_RESPONSE")
	before := len(b.complained())
	if status := b.open("/nothing"); status != http.StatusNotFound || len(b.complained()) != before {
		t.Errorf("a page with status %d is complained of: %q", status, b.complained()[before:])
	}
}
