package httpd

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"coffer/server/api"
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
	expectStatus(t, w, 401)                                                          // the bearer's fault, and nobody else's
	for _, origin := range []string{"https://vault.example", "http://example.com"} { // ours by name, and by the Host that was asked
		w := call(testFace(d), "POST", "/v1/auth/logout", "", "Authorization", "", "Cookie", "coffer_session=abc", "Origin", origin)
		expectStatus(t, w, 401)
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
