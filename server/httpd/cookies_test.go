package httpd

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"coffer/server/api"
	"coffer/server/warden"
)

func TestACookieIsACredentialWhereNoBearerIs(t *testing.T) {
	const other = "; theme=dark"
	for name, tt := range map[string]struct{ cookie, authorization, want string }{
		"alone":                     {"coffer_session=abc", "", "abc"},
		"among others":              {"a=b; coffer_session=abc" + other, "", "abc"},
		"beside a bearer":           {"coffer_session=abc", "Bearer t", "abc"}, // the warden takes the bearer
		"beside another scheme":     {"coffer_session=abc", "Basic YTpi", "abc"},
		"twice":                     {"coffer_session=abc; coffer_session=def", "", ""},
		"another name":              {"coffer_sessions=abc; Coffer_Session=abc", "", ""},
		"the ticket":                {"coffer_login=abc", "", ""},
		"longer than any of ours":   {"coffer_session=" + strings.Repeat("a", 5000), "", ""},
		"none, but an empty header": {"", "", ""},
	} {
		d := &doorman{}
		call(testFace(d), "GET", "/v1/users/me", "", "Authorization", tt.authorization, "Cookie", tt.cookie)
		if d.asked.Cookie != tt.want || d.asked.Bearer != bearer(http.Header{"Authorization": {tt.authorization}}) {
			t.Errorf("%s: %+v", name, d.asked)
		}
	}
	d := &doorman{}
	f := newFace(Config{}, d, true)
	call(f.router(routes()), "GET", "/v1/users/me", "", "Authorization", "", "Cookie", "coffer_session=abc")
	if d.asked.Cookie != "" {
		t.Error("the operator's socket takes cookies")
	}
}

// TestAForeignPageIsRefusedBeforeItIsKnownWhoAsks: nothing tells it whether
// somebody is signed in here.
func TestAForeignPageIsRefusedBeforeItIsKnownWhoAsks(t *testing.T) {
	d := &doorman{identify: api.Errorf(api.Unauthorized, "No.")}
	for _, target := range []string{"/v1/auth/logout", "/logout", "/login"} {
		w := call(testFace(d), "POST", target, "", "Authorization", "", "Cookie", "coffer_session=abc", "Origin", "https://evil.example")
		expectStatus(t, w, 403)
		if d.asked.Cookie != "" {
			t.Errorf("%s: the warden was asked", target)
		}
	}
	w := call(testFace(d), "POST", "/v1/auth/logout", "", "Cookie", "coffer_session=abc", "Origin", "https://evil.example")
	expectStatus(t, w, 401)                                                           // the bearer's fault, and nobody else's
	for _, origin := range []string{"https://vault.example", "https://example.com"} { // ours by name, and by the Host that was asked
		w := call(testFace(d), "POST", "/v1/auth/logout", "", "Authorization", "", "Cookie", "coffer_session=abc", "Origin", origin)
		expectStatus(t, w, 401)
	}
}

// TestPlainHTTPIsAnotherOrigin: whoever sits on the line can write pages of the
// same name there.
func TestPlainHTTPIsAnotherOrigin(t *testing.T) {
	for public, want := range map[string]int{"https://vault.example": 403, "HTTPS://vault.example": 403, "http://vault.example": 401} {
		f := newFace(Config{PublicURL: public, Limits: noLimits, Now: func() time.Time { return testTime }}, &doorman{}, false)
		send := func(headers ...string) *httptest.ResponseRecorder {
			return call(f.router(routes()), "POST", "http://vault.example/v1/auth/logout", "", append(headers, "Authorization", "", "Cookie", "coffer_session=abc")...)
		}
		expectStatus(t, send("Origin", "http://vault.example"), want)
		// A browser that says more is believed: this is its own page on a tunnel's end.
		expectStatus(t, send("Origin", "http://vault.example", "Sec-Fetch-Site", "same-origin"), 401)
	}
}

// TestOurOriginIsWrittenAsBrowsersDo, however the operator wrote the public URL.
// The Host that arrives is another's, as behind a proxy.
func TestOurOriginIsWrittenAsBrowsersDo(t *testing.T) {
	for public, origin := range map[string]string{
		"https://vault.example:443": "https://vault.example", "http://vault.example:80/base": "http://vault.example",
		"https://Vault.Example": "https://vault.example", "https://vault.example:8443": "https://vault.example:8443", "http://[::1]:80": "http://[::1]",
		"https://vault.example:80": "https://vault.example:80",
	} {
		f := newFace(Config{PublicURL: public, Limits: noLimits, Now: func() time.Time { return testTime }}, &doorman{}, false)
		w := call(f.router(routes()), "POST", "http://inside/v1/auth/logout", "", "Authorization", "", "Cookie", "coffer_session=abc", "Origin", origin)
		if w.Code != 401 {
			t.Errorf("%s is not ours at %s: %d", origin, public, w.Code)
		}
	}
}

func TestCookiesFollowThePublicURL(t *testing.T) {
	for public, secure := range map[string]bool{"https://vault.example": true, "http://vault.example": false, "http://127.0.0.1:2633": false} {
		f := newFace(Config{PublicURL: public, Now: func() time.Time { return testTime }}, &doorman{}, false)
		for _, set := range []func(*exchange){
			func(x *exchange) {
				x.setCookie(sessionCookie, "/", "abc", testTime.Add(time.Hour-time.Millisecond))
			},
			func(x *exchange) { x.dropCookie(sessionCookie, "/") },
		} {
			w := httptest.NewRecorder()
			h := f.router([]route{{method: get, path: "/test", run: func(x *exchange) error { set(x); return nil }}})
			h.ServeHTTP(w, httptest.NewRequest("GET", "/test", nil))
			all := w.Result().Cookies()
			if len(all) != 1 {
				t.Fatalf("%v", all)
			}
			c := all[0]
			if c.Name != sessionCookie || c.Secure != secure || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.Domain != "" {
				t.Errorf("%s: %v", public, c)
			}
			if gone := c.Value == "" && c.MaxAge < 0; !gone && c.MaxAge != 3600 {
				t.Errorf("%s: %v", public, c)
			}
		}
	}
}

// TestASessionIsNotForTheNeighbours: what else a proxy serves beside us, below
// paths of its own, gets no cookie of ours.
func TestASessionIsNotForTheNeighbours(t *testing.T) {
	for public, want := range map[string]string{
		"https://vault.example": "/", "https://h.example/coffer": "/coffer", "https://h.example/coffer/": "/coffer",
	} {
		f := newFace(Config{PublicURL: public, Now: func() time.Time { return testTime }}, &doorman{}, false)
		for what, run := range map[string]operation{
			"begins": func(x *exchange) error {
				x.beginSession(&warden.BrowserSession{Token: api.NewSecret("abc"), Expires: testTime.Add(time.Hour)}, "/")
				return nil
			},
			"ends": func(x *exchange) error { x.dropSession(); return nil },
		} {
			h := f.router([]route{{method: get, path: "/test", run: run}})
			w := call(h, "GET", "/test", "", "Cookie", "coffer_session=abc")
			all := w.Result().Cookies()
			if len(all) != 1 || all[0].Path != want {
				t.Errorf("%s: %s with %v, want the path %s", public, what, all, want)
			}
		}
	}
}
