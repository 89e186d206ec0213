package httpd

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"coffer/server/access"
	"coffer/server/api"
)

// clock is one that tests set.
type clock struct{ time.Time }

func (c *clock) now() time.Time { return c.Time }

// limitedFace is a face with the default limits, its clock, and a few routes
// more than the table's.
func limitedFace(d *doorman, more ...route) (http.Handler, *clock) {
	c := &clock{testTime}
	f := newFace(Config{Now: c.now, TrustedProxies: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}}, d, false)
	return f.router(append(routes(), more...)), c
}

// shown is what an answer says about limits: limit, remaining, seconds until the
// reset, and Retry-After.
func shown(w *httptest.ResponseRecorder, now time.Time) string {
	h := w.Header()
	text := h.Get("X-RateLimit-Limit") + " " + h.Get("X-RateLimit-Remaining")
	if reset, err := strconv.ParseInt(h.Get("X-RateLimit-Reset"), 10, 64); err == nil {
		text += " " + time.Unix(reset, 0).Sub(now.Truncate(time.Second)).String()
	}
	return strings.TrimSpace(text + " " + h.Get("Retry-After"))
}

func expectShown(t *testing.T, w *httptest.ResponseRecorder, c *clock, status int, want string) {
	t.Helper()
	expectStatus(t, w, status)
	if got := shown(w, c.Time); got != want {
		t.Errorf("%d: got limits %q, want %q", w.Code, got, want)
	}
}

// exempted is the contract's list, and what has a throttle of its own.
var exempted = []string{"/health", "/v1/health", "/ready", "/metrics", "/errors/:slug", openAPIPath, "/v1/sys/init", "/v1/sys/unseal",
	"/v1/github/webhook", "/v1/webhooks/github", "/v1/webhooks/gitea", "/v1/webhooks/gitlab", "/v1/billing/webhook"}

func TestEveryRouteIsInItsBucket(t *testing.T) {
	special := map[string]string{
		"/v1/secrets/push": "30", "/v1/secrets/pull": "30", "/v1/auth/device/poll": "30", "/v1/auth/device/verify": "5",
		"/v1/vaults/:owner/:repo/secrets/:secretId/value":                     "10",
		"/v1/vaults/:owner/:repo/secrets/:secretId/versions/:versionId/value": "10",
	}
	for _, r := range routes() {
		want := "100"
		if s, ok := special[r.path]; ok {
			want = s
		}
		if slices.Contains(exempted, r.path) {
			want = ""
		}
		h, _ := limitedFace(&doorman{refuse: api.Errorf(api.Forbidden, "No.")})
		if got := call(h, r.method, r.address(), "{").Header().Get("X-RateLimit-Limit"); got != want {
			t.Errorf("%s %s: limit %q, want %q", r.method, r.path, got, want)
		}
		if r.method != get {
			continue
		}
		if got := call(h, "HEAD", r.address(), "").Header().Get("X-RateLimit-Limit"); got != want {
			t.Errorf("HEAD %s: limit %q, want %q", r.path, got, want)
		}
	}
}

func TestAFullBucketRefusesUntilItsWindowEnds(t *testing.T) {
	h, c := limitedFace(&doorman{}, route{get, "/v1/test", access.Pull, inBulk, give(&api.Empty{})})
	for n := range 30 {
		expectShown(t, call(h, "GET", "/v1/test", ""), c, 200, "30 "+strconv.Itoa(29-n)+" 15m1s")
	}
	w := call(h, "GET", "/v1/test", "")
	expectShown(t, w, c, 429, "30 0 15m1s 900")
	if body := w.Body.String(); !strings.Contains(body, `/errors/rate-limited","title":"Too Many Requests","status":429,"detail":"Too many pushes and pulls: 30 are possible in 15m. Wait 900 seconds."`) {
		t.Errorf("body %s", body)
	}
	c.Time = c.Add(15*time.Minute - time.Millisecond)
	expectShown(t, call(h, "GET", "/v1/test", ""), c, 429, "30 0 1s 1")
	c.Time = c.Add(time.Millisecond)
	expectShown(t, call(h, "GET", "/v1/test", ""), c, 200, "30 29 15m1s")
	c.Time = c.Add(-time.Hour)
	expectShown(t, call(h, "GET", "/v1/test", ""), c, 200, "30 28 15m1s")
}

func TestBucketsDoNotDrainEachOther(t *testing.T) {
	h, c := limitedFace(&doorman{},
		route{get, "/v1/bulk", access.Pull, inBulk, give(&api.Empty{})},
		route{get, "/v1/value", access.SecretValue, inValue, give(&api.Empty{})},
		route{get, "/v1/view", access.SecretView, inGeneral, give(&api.Empty{})})
	for range 5 {
		call(h, "GET", "/v1/bulk", "")
		call(h, "GET", "/v1/view", "")
	}
	expectShown(t, call(h, "GET", "/v1/value", ""), c, 200, "10 9 1m1s")
	expectShown(t, call(h, "GET", "/v1/bulk", ""), c, 200, "30 24 15m1s")
	expectShown(t, call(h, "GET", "/v1/view", ""), c, 200, "100 94 15m1s")
}

func TestErrorsAreCountedAndSaySo(t *testing.T) {
	d := &doorman{}
	h, c := limitedFace(d,
		route{get, "/v1/missing", access.UserMe, inGeneral, refuse(api.Errorf(api.NotFound, "No."))},
		route{get, "/v1/broken", access.UserMe, inGeneral, func(*exchange) error { panic("x") }},
		route{post, "/v1/test", access.UserMe, inGeneral, refuse(nil)})
	expectShown(t, call(h, "GET", "/v1/missing", ""), c, 404, "100 99 15m1s")
	expectShown(t, call(h, "POST", "/v1/test", "{"), c, 400, "100 98 15m1s")
	expectShown(t, call(h, "POST", "/v1/test", ""), c, 204, "100 97 15m1s")
	d.refuse = api.Errorf(api.Forbidden, "No.")
	expectShown(t, call(h, "POST", "/v1/test", ""), c, 403, "100 96 15m1s")

	// What comes before the rate limit in the order of checks is not counted.
	expectShown(t, call(h, "GET", "/v1/broken", ""), c, 500, "")
	expectShown(t, call(h, "GET", "/v1/nowhere", ""), c, 404, "")
	expectShown(t, call(h, "PUT", "/v1/test", ""), c, 405, "")
	expectShown(t, call(h, "POST", "/v1/test", strings.Repeat(" ", api.MaxBody+1)), c, 413, "")
	d.state = api.StateSealed
	expectShown(t, call(h, "POST", "/v1/test", ""), c, 503, "5")
	d.state = ""
	expectShown(t, call(h, "POST", "/v1/test", ""), c, 403, "100 95 15m1s")
}

func TestTheLimitComesBeforeTheScope(t *testing.T) {
	d := &doorman{}
	h, c := limitedFace(d, route{post, "/v1/test", access.SecretValue, inValue, refuse(nil)})
	for range 10 {
		call(h, "POST", "/v1/test", "")
	}
	d.refuse, d.admitted = api.Errorf(api.Forbidden, "No."), ""
	expectShown(t, call(h, "POST", "/v1/test", "{"), c, 429, "10 0 1m1s 60")
	if d.admitted != "" {
		t.Errorf("asked whether %q is allowed", d.admitted)
	}
}

func TestWrongCredentialsAreCountedByAddress(t *testing.T) {
	d := &doorman{identify: api.Errorf(api.Unauthorized, "Unknown.")}
	h, c := limitedFace(d)
	for n := range 10 {
		w := call(h, "POST", "/v1/secrets/push", "")
		expectShown(t, w, c, 401, "10 "+strconv.Itoa(9-n)+" 1m1s")
	}
	w := call(h, "GET", "/v1/users/me", "")
	expectShown(t, w, c, 429, "10 0 1m1s 60")
	if w.Header().Get("WWW-Authenticate") != "" || !strings.Contains(w.Body.String(), "Too many attempts to sign in: 10 are possible in 1m.") {
		t.Errorf("%v %s", w.Header(), w.Body)
	}
	expectShown(t, call(h, "GET", "/v1/users/me", "", "X-Forwarded-For", "203.0.113.7"), c, 401, "10 9 1m1s")
	d.identify = nil
	expectShown(t, call(h, "GET", "/v1/users/me?x=1&x=2", ""), c, 400, "100 99 15m1s")
	d.identify = api.Errorf(api.Unavailable, "Nobody knows.")
	expectShown(t, call(h, "GET", "/v1/users/me", ""), c, 503, "5")
	c.Time = c.Add(time.Minute)
	d.identify = api.Errorf(api.Unauthorized, "Unknown.")
	expectShown(t, call(h, "GET", "/v1/users/me", ""), c, 401, "10 9 1m1s")
}

func TestWhoBringsNoCredentialIsCountedAsAStranger(t *testing.T) {
	h, c := limitedFace(&doorman{})
	for n := range 100 {
		expectShown(t, call(h, "GET", "/v1/secrets/pull", "", "Authorization", ""), c, 401, "100 "+strconv.Itoa(99-n)+" 15m1s")
	}
	for _, path := range []string{"/v1/users/me", "/v1/sys/status", "/"} {
		expectShown(t, call(h, "GET", path, "", "Authorization", ""), c, 429, "100 0 15m1s 900")
	}
	expectStatus(t, call(h, "GET", "/health", "", "Authorization", ""), 200)
	expectShown(t, call(h, "GET", "/", "", "X-Forwarded-For", "2001:db8::1"), c, 200, "100 99 15m1s")
	expectShown(t, call(h, "GET", "/", "", "X-Forwarded-For", "2001:db8::2"), c, 200, "100 98 15m1s")
}

func TestARefundedRequestWasNeverCounted(t *testing.T) {
	b := newBinder(reflect.TypeFor[api.Empty]())
	unchanged := func(x *exchange) error {
		if _, err := ask[api.Empty](x, b); err != nil {
			return err
		}
		x.refund()
		x.refund()
		x.write(http.StatusNotModified, nil)
		return nil
	}
	h, c := limitedFace(&doorman{},
		route{get, "/v1/kept", access.Pull, inBulk, unchanged},
		route{get, "/v1/test", access.Pull, inBulk, give(&api.Empty{})})
	for n := range 29 {
		expectShown(t, call(h, "GET", "/v1/test", ""), c, 200, "30 "+strconv.Itoa(29-n)+" 15m1s")
	}
	for range 50 {
		expectShown(t, call(h, "GET", "/v1/kept", ""), c, 304, "30 1 15m1s")
	}
	expectShown(t, call(h, "GET", "/v1/test", ""), c, 200, "30 0 15m1s")
	expectShown(t, call(h, "GET", "/v1/kept", ""), c, 429, "30 0 15m1s 900")
}

func TestEachBucketCanBeOffOrDifferent(t *testing.T) {
	f := newFace(Config{Limits: Limits{Bulk: Rate{Off: true}, Value: Rate{Requests: 2}, General: Rate{Requests: 7, Window: time.Second}}}, &doorman{}, false)
	for b, want := range map[bucket]string{inBulk: "", inValue: "2", inGeneral: "7"} {
		h := f.router([]route{{get, "/v1/test", access.UserMe, b, give(&api.Empty{})}})
		for range 2 {
			w := call(h, "GET", "/v1/test", "")
			expectStatus(t, w, 200)
			if got := w.Header().Get("X-RateLimit-Limit"); got != want {
				t.Errorf("got limit %q, want %q", got, want)
			}
		}
	}
	if c := f.limits.counters[inValue]; c.window != time.Minute {
		t.Errorf("a window that nobody set is %v", c.window)
	}
}

func TestTheOperatorIsNotLimited(t *testing.T) {
	h := newFace(Config{}, &doorman{}, true).router([]route{{get, "/v1/test", access.UserMe, inValue, give(&api.Empty{})}})
	for range 20 {
		w := call(h, "GET", "/v1/test", "", "Authorization", "")
		expectStatus(t, w, 200)
		if got := w.Header().Get("X-RateLimit-Limit"); got != "" {
			t.Errorf("limit %q", got)
		}
	}
}

func TestOnlyTheGeneralBucketIsAnotherInTheBrowser(t *testing.T) {
	for b := range exempt + 1 {
		want := b
		if b == inGeneral {
			want = inUI
		}
		if got := b.seenBy(true); got != want {
			t.Errorf("%d in the browser is %d", b, got)
		}
		if got := b.seenBy(false); got != b {
			t.Errorf("%d elsewhere is %d", b, got)
		}
	}
}

func TestShortDurations(t *testing.T) {
	for d, want := range map[time.Duration]string{
		15 * time.Minute: "15m", time.Minute: "1m", 30 * time.Second: "30s", 90 * time.Second: "1m30s",
		10 * time.Hour: "10h", time.Hour + time.Second: "1h0m1s", 90 * time.Minute: "1h30m",
	} {
		if got := short(d); got != want {
			t.Errorf("%v: got %s, want %s", d, got, want)
		}
	}
}
