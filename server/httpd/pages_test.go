package httpd

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"coffer/server/access"
	"coffer/server/api"
	"coffer/web"
)

const browser = "text/html,application/xhtml+xml,*/*;q=0.8"

// expectPage wants a page with the headers that every page has.
func expectPage(t *testing.T, h http.Header) {
	t.Helper()
	for name, want := range map[string]string{
		"Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin",
		"Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; script-src 'self'; connect-src 'self'",
	} {
		if got := h.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

func TestTheSignInPageIsForEverybody(t *testing.T) {
	h := testFace(&doorman{identify: api.Errorf(api.Unauthorized, "No.")})
	w := call(h, "GET", "/login?return=%2Fdevice%3Fuser_code%3DA", "", "Authorization", "")
	expectStatus(t, w, 200)
	expectPage(t, w.Header())
	expectOwnPage(t, w)
	if want := `<input type="hidden" name="return" value="/device?user_code=A">`; !strings.Contains(w.Body.String(), want) {
		t.Errorf("no %s: %s", want, w.Body)
	}
}

// TestAWayBackIsNamedOnce: who looks at an address first may take another one of two.
func TestAWayBackIsNamedOnce(t *testing.T) {
	for _, page := range []string{"/login", "/login/forge", "/unseal"} {
		for _, ways := range []string{"return=/a&return=/a", "return=/a&return=//evil.example", "return=%2F%2Fevil.example&return=/a", "return=&%72eturn=/a", "return=/%zz", "return=%00"} {
			w := call(testFace(&doorman{}), "GET", page+"?"+ways, "", "Authorization", "")
			if w.Code != 400 && w.Code != 422 || w.Header().Get("Location") != "" || strings.Contains(w.Body.String(), "evil") {
				t.Errorf("%s?%s: %d %v %s", page, ways, w.Code, w.Header(), w.Body)
			}
		}
	}
	w := call(testFace(&doorman{}), "GET", "/unseal?return=%2Fa%3Fb", "", "Authorization", "")
	if expectStatus(t, w, 303); w.Header().Get("Location") != "/a?b" {
		t.Errorf("it leads to %s", w.Header().Get("Location"))
	}
	w = call(testFace(&doorman{}), "GET", "/unseal?return=%2F%2Fevil.example", "", "Authorization", "")
	if expectStatus(t, w, 303); w.Header().Get("Location") != "/" {
		t.Errorf("it leads to %s", w.Header().Get("Location"))
	}
}

func TestAssetsAreKeptForEver(t *testing.T) {
	h := testFace(&doorman{state: api.StateSealed})
	page := call(h, "GET", "/errors/sealed", "").Body.String()
	found := regexp.MustCompile(`href="(/static/[^"]+)"`).FindAllStringSubmatch(page, -1)
	if len(found) != 2 {
		t.Fatalf("assets %q", found)
	}
	for _, m := range found {
		w := call(h, "GET", m[1], "", "Authorization", "")
		expectStatus(t, w, 200)
		if got := w.Header().Get("Cache-Control"); got != "public, max-age=31536000, immutable" || w.Body.Len() == 0 {
			t.Errorf("%s: %q, %d bytes", m[1], got, w.Body.Len())
		}
		expectStatus(t, call(h, "HEAD", m[1], ""), 200)
	}
	w := call(h, "GET", "/static/coffer.0000000000000000.css", "")
	if expectStatus(t, w, 404); w.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("what is not there: %v", w.Header())
	}
}

func TestBrowsersAreLedToTheSignIn(t *testing.T) {
	d := &doorman{identify: api.Errorf(api.Unauthorized, "No.")}
	w := call(testFace(d), "GET", "/", "", "Accept", browser, "Authorization", "")
	if expectStatus(t, w, 303); w.Header().Get("Location") != "/login?return=%2F" {
		t.Errorf("to %q", w.Header().Get("Location"))
	}
	w = call(testFace(d), "GET", "/", "", "Accept", "*/*")
	if expectStatus(t, w, 200); !strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") {
		t.Errorf("a program gets %s", w.Header().Get("Content-Type"))
	}
	f := newFace(Config{PublicURL: "https://h.example/base", Limits: noLimits}, d, false)
	w = call(f.router(routes()), "GET", "/", "", "Accept", browser)
	if got := w.Header().Get("Location"); got != "/base/login?return=%2F" {
		t.Errorf("below a base: to %q", got)
	}
}

func TestPeopleReadErrorsAsPages(t *testing.T) {
	h := testFace(&doorman{})
	w := call(h, "GET", "/nowhere", "", "Accept", browser)
	expectStatus(t, w, 404)
	expectPage(t, w.Header())
	expectOwnPage(t, w)
	if !strings.Contains(w.Body.String(), "<code>"+traceID+"</code>") {
		t.Errorf("no trace: %s", w.Body)
	}
	for _, path := range []string{"/v1/nowhere", "/v1"} {
		w = call(h, "GET", path, "", "Accept", browser)
		if expectStatus(t, w, 404); w.Header().Get("Content-Type") != "application/json; charset=utf-8" {
			t.Errorf("%s: %s", path, w.Header().Get("Content-Type"))
		}
	}
	w = call(h, "GET", "/device/approve", "", "Accept", browser)
	expectStatus(t, w, 405)
	expectPage(t, w.Header())
	if w.Header().Get("Allow") != "POST" || !strings.Contains(w.Body.String(), "one of our forms") {
		t.Errorf("the address of a form: %v %s", w.Header(), w.Body)
	}
	failing := func(err error) route {
		return route{get, "/failing", access.UserMe, inGeneral, screen(func(*exchange) error { return err })}
	}
	w = call(testFace(&doorman{}, failing(&api.Error{Code: api.Internal, Message: "the disk is on fire"})), "GET", "/failing", "")
	if expectStatus(t, w, 500); strings.Contains(w.Body.String(), "fire") {
		t.Errorf("inside: %s", w.Body)
	}
	for address, want := range map[string]bool{"https://vault.example/upgrade": true, "https://vault.example/errors/plan-limit": false, "": false} {
		w = call(testFace(&doorman{}, failing(&api.Error{Code: api.PlanLimit, Message: "Too many.", UpgradeURL: address})), "GET", "/failing", "")
		if expectStatus(t, w, 403); strings.Contains(w.Body.String(), `href="/upgrade">See the plans</a>`) != want {
			t.Errorf("with %q: %s", address, w.Body)
		}
	}
	w = call(testFace(&doorman{}, failing(api.Errorf(api.Sealed, "The vault is sealed."))), "GET", "/failing", "")
	if expectStatus(t, w, 503); w.Header().Get("Retry-After") != "5" || !strings.Contains(w.Body.String(), "The vault is sealed.") {
		t.Errorf("%v %s", w.Header(), w.Body)
	}
}

func TestTheWayBackLeadsToOurPagesOnly(t *testing.T) {
	for text, want := range map[string]string{
		"/":                             "/",
		"/device?user_code=BCDFG-HJK23": "/device?user_code=BCDFG-HJK23",
		"/device?a=//evil.example":      "/device?a=//evil.example",
		"/a/b%20c":                      "/a/b%20c",
		"/device#evil":                  "/device",

		"":                              "/",
		"device":                        "/",
		"//evil.example":                "/",
		"///evil.example":               "/",
		`/\evil.example`:                "/",
		`\\evil.example`:                "/",
		`/a\..\evil`:                    "/",
		"/\t/evil.example":              "/",
		"/\n/evil.example":              "/",
		"\t//evil.example":              "/",
		" //evil.example":               "/",
		"/%2f/evil.example":             "/",
		"/%5cevil.example":              "/",
		"/.//evil.example":              "/",
		"/a/..//evil.example":           "/",
		"/./evil":                       "/",
		"http://evil.example":           "/",
		"https:evil.example":            "/",
		"javascript:alert(1)":           "/",
		"data:text/html,x":              "/",
		"/é":                            "/",
		"/%zz":                          "/",
		"/\x00":                         "/",
		"/login":                        "/",
		"/login?return=/x":              "/",
		"/login/forge":                  "/",
		"@evil.example":                 "/",
		"/" + strings.Repeat("a", 3000): "/",
	} {
		if got := ownPage(text); got != want {
			t.Errorf("%q leads to %q, want %q", text, got, want)
		}
	}
}

// TestTheListOfPages keeps the list that the stories in a browser are held against.
func TestTheListOfPages(t *testing.T) {
	forPrograms := []string{"/health", "/ready", "/metrics", web.StaticPath + ":name"}
	var list []string
	for _, r := range slices.Concat(routes(), pages()) {
		if r.method == get && !strings.HasPrefix(r.path, "/v1/") && !slices.Contains(forPrograms, r.path) {
			list = append(list, r.path+"\n")
		}
	}
	slices.Sort(list)
	golden(t, "testdata/pages.golden", []byte(strings.Join(list, "")))
}

func TestEveryPageIsInItsBucket(t *testing.T) {
	want := map[string]string{"POST /login": "10", "GET /login/callback": "10", "GET /static/:name": "",
		// These have the throttle of whatever tries a key.
		"POST /setup/claim": "", "POST /setup/method": "", "POST /setup/another": "", "POST /setup/check": "",
		"POST /setup/user": "", "POST /setup/leave": "", "POST /setup/restore": "", "POST /unseal": ""}
	for _, r := range pages() {
		limit, special := want[r.method+" "+r.path]
		if !special {
			limit = "100"
		}
		f := newFace(Config{Now: func() time.Time { return testTime }}, &doorman{identify: api.Errorf(api.Unauthorized, "No.")}, false)
		w := call(f.router(pages()), r.method, r.address(), "a=1&a=2", "Authorization", "")
		if got := w.Header().Get("X-RateLimit-Limit"); got != limit {
			t.Errorf("%s %s: limit %q, want %q", r.method, r.path, got, limit)
		}
	}
}
