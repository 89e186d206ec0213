package httpd

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"
)

func TestClientIP(t *testing.T) {
	tests := []struct {
		name, peer string
		forwarded  []string
		want       string
	}{
		{"no proxy", "203.0.113.7:999", nil, "203.0.113.7"},
		{"spoofed without a proxy", "203.0.113.7:999", []string{"198.51.100.1"}, "203.0.113.7"},
		{"behind a proxy", "10.0.0.1:1", []string{"203.0.113.7"}, "203.0.113.7"},
		{"the client's own entry does not count", "10.0.0.1:1", []string{"198.51.100.1, 203.0.113.7"}, "203.0.113.7"},
		{"behind two proxies", "10.0.0.1:1", []string{"198.51.100.1, 203.0.113.7, 10.0.0.2"}, "203.0.113.7"},
		{"in several headers", "10.0.0.1:1", []string{"198.51.100.1", "203.0.113.7", "10.0.0.2"}, "203.0.113.7"},
		{"only proxies", "10.0.0.1:1", []string{"10.0.0.3,10.0.0.2"}, "10.0.0.3"},
		{"nothing forwarded", "10.0.0.1:1", nil, "10.0.0.1"},
		{"an empty header", "10.0.0.1:1", []string{""}, "10.0.0.1"},
		{"nonsense", "10.0.0.1:1", []string{"203.0.113.7, unknown"}, "10.0.0.1"},
		{"an empty entry", "10.0.0.1:1", []string{"203.0.113.7,"}, "10.0.0.1"},
		{"with a port", "10.0.0.1:1", []string{"203.0.113.7:1234"}, "203.0.113.7"},
		{"IPv6", "[fd00::1]:1", []string{"2001:db8::7"}, "2001:db8::7"},
		{"IPv6 in brackets, with a port", "[fd00::1]:1", []string{"[2001:db8::7]:55"}, "2001:db8::7"},
		{"IPv6 in brackets", "[fd00::1]:1", []string{"[2001:db8::7]"}, "2001:db8::7"},
		{"IPv4 inside IPv6", "[::ffff:10.0.0.1]:1", []string{"::ffff:203.0.113.7"}, "203.0.113.7"},
		{"a proxy's range inside IPv6", "172.16.0.9:1", []string{"203.0.113.7"}, "203.0.113.7"},
		{"a zone", "[fe80::1%eth0]:1", nil, "fe80::1"},
		{"a proxy by a Unix socket", "@", []string{"198.51.100.1, 203.0.113.7"}, "203.0.113.7"},
		{"two proxies, one by a Unix socket", "@", []string{"198.51.100.1, 203.0.113.7, 10.0.0.2"}, "203.0.113.7"},
		{"a Unix socket without a proxy", "@", nil, "invalid IP"},
	}
	f := newFace(Config{TrustedProxies: []netip.Prefix{
		netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8"), netip.MustParsePrefix("::ffff:172.16.0.0/112"),
	}}, &doorman{}, false)
	for _, tt := range tests {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = tt.peer
		r.Header["X-Forwarded-For"] = tt.forwarded
		r.Header.Set("Forwarded", "for=198.51.100.1")
		r.Header.Set("X-Real-IP", "198.51.100.1")
		if got := (&exchange{face: f, r: r}).clientIP().String(); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
	r := httptest.NewRequest("GET", "/", nil)
	r.RemoteAddr = "@"
	r.Header.Set("X-Forwarded-For", "203.0.113.7")
	if got := (&exchange{face: newFace(Config{}, &doorman{}, true), r: r}).clientIP(); got.IsValid() {
		t.Errorf("the operator's socket is no proxy's: got %s", got)
	}
}

func TestBearer(t *testing.T) {
	for header, want := range map[string]string{
		"Bearer abc":   "abc",
		"bearer abc":   "abc",
		"Bearer  abc ": "abc",
		"Bearer":       "",
		"Basic abc":    "",
		"abc":          "",
		"":             "",
	} {
		if got := bearer(http.Header{"Authorization": {header}}); got != want {
			t.Errorf("%q: got %q, want %q", header, got, want)
		}
	}
	if got := bearer(http.Header{"Authorization": {"Bearer a", "Bearer b"}}); got != "" {
		t.Errorf("two headers: got %q", got)
	}
}

func TestWhatTheWardenLearnsOfARequest(t *testing.T) {
	d := &doorman{}
	call(testFace(d), "GET", "/v1/users/me", "", "Authorization", "Bearer abc", "User-Agent", strings.Repeat("a", 600))
	if d.asked.Bearer != "abc" || d.asked.Operator || d.asked.RequestID != traceID || d.asked.IP.String() != "192.0.2.1" || len(d.asked.UserAgent) != 512 {
		t.Errorf("credential %+v", d.asked)
	}
	f := newFace(Config{}, d, true)
	call(f.router(routes()), "GET", "/v1/users/me", "", "Authorization", "")
	if !d.asked.Operator {
		t.Error("whoever reaches the operator's face is the operator")
	}
}

func TestThrottleCountsByClientAndMinute(t *testing.T) {
	now := testTime
	th := newThrottle(func() time.Time { return now })
	one, other := netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("203.0.113.7")
	for range maxAttempts {
		if wait := th.count(one); wait != 0 {
			t.Fatalf("wait %v", wait)
		}
	}
	now = now.Add(20 * time.Second)
	if wait := th.count(one.Next()); wait != 40*time.Second {
		t.Errorf("the same network has to wait %v, want 40s", wait)
	}
	if wait := th.count(other); wait != 0 {
		t.Errorf("another client has to wait %v", wait)
	}
	now = now.Add(40 * time.Second)
	if wait := th.count(one); wait != 0 {
		t.Errorf("after a minute: wait %v", wait)
	}
}

func TestUnsealIsThrottled(t *testing.T) {
	h := testFace(&doorman{state: "sealed"})
	for range maxAttempts {
		// Both keys at once: refused before the warden is asked, and free.
		expectStatus(t, call(h, "POST", "/v1/sys/unseal", `{"passphrase":"a","key":"b"}`), 422)
	}
	f := newFace(Config{}, &doorman{state: "sealed"}, false)
	for range maxAttempts {
		f.unseals.count(netip.MustParseAddr("192.0.2.1"))
	}
	w := call(f.router(routes()), "POST", "/v1/sys/unseal", `{}`)
	expectStatus(t, w, 429)
	if w.Header().Get("Retry-After") != "60" && w.Header().Get("Retry-After") != "59" {
		t.Errorf("headers %v", w.Header())
	}
}
