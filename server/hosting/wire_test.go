package hosting

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"coffer/server/api"
	"coffer/server/standin"
)

// noon is when the tests of the wire take place.
var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// line is a wire to a server of the test's, with the pauses that it made.
type line struct {
	*wire
	fake   *standin.Fake
	pauses []time.Duration
}

const canary = "canary-of-the-wire"

func newLine(t *testing.T, answer http.HandlerFunc) *line {
	t.Helper()
	l := &line{fake: standin.New(t, func() []string { return []string{canary} }, answer)}
	w, err := newWire(Config{
		APIURL: l.fake.URL + "/api", Now: func() time.Time { return noon }, Sleep: func(d time.Duration) { l.pauses = append(l.pauses, d) },
	}, "")
	if err != nil {
		t.Fatal(err)
	}
	l.wire = w
	return l
}

var somebody = Credential{Token: api.NewSecret(canary + "-token")}

// says answers with a status and a body.
func says(status int, kind, body string, header ...string) http.HandlerFunc {
	return func(rw http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(header); i += 2 {
			rw.Header().Set(header[i], header[i+1])
		}
		rw.Header().Set("Content-Type", kind)
		rw.WriteHeader(status)
		_, _ = io.WriteString(rw, body) // a client that left is no concern of ours
	}
}

const (
	asJSON = "application/json; charset=utf-8"
	asHTML = "text/html; charset=utf-8"
)

func cut(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// kind is what an error stands for, in a word.
func kind(err error) string {
	f, failed := errors.AsType[*Failure](err)
	u, silent := errors.AsType[*Unavailable](err)
	word := ""
	switch {
	case err == nil:
		return "done"
	case errors.Is(err, ErrCredential):
		word = "credential"
	case errors.Is(err, ErrNotFound):
		word = "not found"
	case failed:
		word = string(f.Code)
	case silent && u.Limited:
		word = "limited"
	case silent:
		word = "unavailable"
	default:
		word = "unknown: " + err.Error()
	}
	if errors.Is(err, errAmbiguous) {
		word += ", ambiguous"
	}
	return word
}

// TestTheTableOfRetries is the table of what is asked again: by the answer, for
// calls that may be repeated and for those that may not.
func TestTheTableOfRetries(t *testing.T) {
	const body = `{"message":"` + canary + `"}`
	type row struct {
		name           string
		answer         http.HandlerFunc
		again, not     string // what becomes of either kind of call
		tries, notMore int
	}
	var table []row
	status := func(status int, word string) {
		table = append(table, row{strconv.Itoa(status), says(status, asJSON, body), word, word, 1, 1})
	}
	for _, n := range []int{200, 201, 202} {
		status(n, "done")
	}
	for _, n := range []int{302, 303, 304, 307, 308, 500, 501, 505} {
		status(n, "unavailable")
	}
	for n, word := range map[int]string{
		400: "refused", 401: "credential", 402: "plan_required", 403: "forbidden", 404: "not found", 405: "refused", 409: "conflict",
		410: "not found", 413: "too_large", 415: "refused", 422: "refused", 423: "conflict", 451: "refused",
	} {
		status(n, word)
	}
	for _, n := range []int{400, 401, 402, 404, 405, 409, 410, 413, 422, 423} { // not the provider's own words
		table = append(table, row{fmt.Sprint(n, " of a proxy"), says(n, asHTML, canary), "unavailable", "unavailable", 1, 1})
	}
	for _, n := range []int{502, 503, 504} {
		table = append(table, row{strconv.Itoa(n), says(n, asJSON, body), "unavailable", "unavailable, ambiguous", tries, 1},
			row{fmt.Sprint(n, " of a proxy"), says(n, asHTML, canary), "unavailable", "unavailable, ambiguous", tries, 1})
	}
	table = append(table,
		row{"429", says(429, asJSON, body), "limited", "limited", tries, tries},
		row{"429 of a firewall", says(429, asHTML, canary), "limited", "limited", tries, tries},
		row{"403 of a firewall", says(403, asHTML, canary), "limited", "limited", tries, tries},
		row{"broken connection", cut, "unavailable", "unavailable, ambiguous", tries, 1},
	)
	for _, r := range table {
		t.Run(r.name, func(t *testing.T) {
			for _, c := range []struct {
				call  call
				want  string
				tries int
			}{
				{call{}, r.again, r.tries},
				{call{method: http.MethodDelete}, r.again, r.tries},
				{call{method: http.MethodPost, json: 1, again: true}, r.again, r.tries},
				{call{method: http.MethodPost, json: 1}, r.not, r.notMore},
				{call{method: http.MethodPatch, form: url.Values{"a": {"b"}}}, r.not, r.notMore},
				{call{method: http.MethodPut, json: 1}, r.not, r.notMore},
			} {
				l := newLine(t, r.answer)
				c.call.path, c.call.cred = "/x", somebody
				_, err := l.do(t.Context(), c.call)
				if got := kind(err); got != c.want || len(l.fake.Log()) != c.tries {
					t.Errorf("%s: %s after %d tries, want %s after %d", c.call.method, got, len(l.fake.Log()), c.want, c.tries)
				}
				if err != nil && (strings.Contains(fmt.Sprintf("%v %+v", err, err), canary) || strings.Contains(err.Error(), "127.0.0.1")) {
					t.Errorf("the error tells what it should not: %v", err)
				}
			}
		})
	}
}

// TestNobodyListens is the one broken connection after which nothing can have
// been done.
func TestNobodyListens(t *testing.T) {
	l := newLine(t, says(200, asJSON, "{}"))
	l.fake.Close()
	_, err := l.do(t.Context(), call{method: http.MethodPost, path: "/x", json: 1})
	if got := kind(err); got != "unavailable" || len(l.pauses) != tries-1 {
		t.Errorf("%s after %d pauses, want unavailable after %d", got, len(l.pauses), tries-1)
	}
}

// TestWhatPasses has failures end before the tries do.
func TestWhatPasses(t *testing.T) {
	for name, fault := range map[string]standin.Fault{
		"502": standin.Status(502), "503": standin.Status(503), "504": standin.Status(504), "429": standin.TooMany(""),
		"cut": func(*standin.Fake, http.ResponseWriter, *http.Request, http.Handler) { panic(http.ErrAbortHandler) },
	} {
		l := newLine(t, says(200, asJSON, `{"a":7}`))
		var n atomic.Int64
		l.fake.Break("", func(f *standin.Fake, rw http.ResponseWriter, r *http.Request, next http.Handler) {
			if n.Add(1) < tries {
				fault(f, rw, r, next)
				return
			}
			next.ServeHTTP(rw, r)
		})
		var got struct{ A int }
		if _, err := l.ask(t.Context(), call{path: "/x"}, &got); err != nil || got.A != 7 || len(l.pauses) != tries-1 {
			t.Errorf("%s: %+v after the pauses %v, error %v", name, got, l.pauses, err)
		}
	}
}

// TestPausesGrow holds the pauses of our own against their bounds.
func TestPausesGrow(t *testing.T) {
	for try, top := range []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second, 30 * time.Second, 30 * time.Second} {
		longest := time.Duration(0)
		for range 200 {
			d := jitter(try)
			if longest = max(longest, d); d <= 0 || d > top {
				t.Fatalf("pause %d is %v, want up to %v", try, d, top)
			}
		}
		if longest < top/2 {
			t.Errorf("the longest pause %d is %v, and may be %v", try, longest, top)
		}
	}
}

func TestWaitsThatAreAskedFor(t *testing.T) {
	at := func(d time.Duration) string { return strconv.FormatInt(noon.Add(d).Unix(), 10) }
	reset := func(text string) string { return `{"error":{"code":"rate_limited","limit":{"reset":` + text + `}}}` }
	const own = 0 // a pause of our own
	for _, c := range []struct {
		name   string
		status int
		header []string
		body   string
		want   time.Duration
	}{
		{"seconds", 429, []string{"Retry-After", "7"}, "{}", 7 * time.Second},
		{"a fraction", 429, []string{"Retry-After", "2.5"}, "{}", 2500 * time.Millisecond},
		{"blanks", 429, []string{"Retry-After", " 7 "}, "{}", 7 * time.Second},
		{"a date", 429, []string{"Retry-After", noon.Add(9 * time.Second).Format(http.TimeFormat)}, "{}", 9 * time.Second},
		{"a date that has passed", 429, []string{"Retry-After", noon.Add(-time.Hour).Format(http.TimeFormat)}, "{}", minWait},
		{"negative", 429, []string{"Retry-After", "-5"}, "{}", minWait},
		{"nothing", 429, []string{"Retry-After", "0"}, "{}", minWait},
		{"absurd", 429, []string{"Retry-After", "86400"}, "{}", maxWait},
		{"beyond all numbers", 429, []string{"Retry-After", "99999999999999999999"}, "{}", own},
		{"words", 429, []string{"Retry-After", "soon"}, "{}", own},
		{"another unit", 429, []string{"Retry-After", "2h"}, "{}", own},
		{"nothing said", 429, nil, "{}", own},
		{"a time", 429, []string{"X-RateLimit-Reset", at(5 * time.Second)}, "{}", 5 * time.Second},
		{"a time that has passed", 429, []string{"X-RateLimit-Reset", at(-time.Minute)}, "{}", minWait},
		{"a time far away", 429, []string{"X-RateLimit-Reset", at(24 * time.Hour)}, "{}", maxWait},
		{"a time, and nothing is left", 429, []string{"X-RateLimit-Reset", at(5 * time.Second), "X-RateLimit-Remaining", "0"}, "{}", 5 * time.Second},
		{"a time, and something is left", 429, []string{"X-RateLimit-Reset", at(5 * time.Second), "X-RateLimit-Remaining", "12"}, "{}", own},
		{"milliseconds", 429, []string{"X-RateLimit-Reset", strconv.FormatInt(noon.UnixMilli(), 10)}, "{}", own},
		{"in the body", 429, nil, reset(at(8 * time.Second)), 8 * time.Second},
		{"in the body, with a fraction", 429, nil, reset(at(8*time.Second) + ".0"), 8 * time.Second},
		{"in the body, passed", 429, nil, reset(at(-time.Hour)), minWait},
		{"in the body, negative", 429, nil, reset("-12"), minWait},
		{"in the body, a word", 429, nil, reset(`"soon"`), own},
		{"in the body, far away", 429, nil, reset("1e300"), own},
		{"the longest of all", 429, []string{"Retry-After", "3", "X-RateLimit-Reset", at(4 * time.Second)}, reset(at(6 * time.Second)), 6 * time.Second},
		{"the longest is the header", 429, []string{"Retry-After", "9", "X-RateLimit-Reset", at(4 * time.Second)}, reset(at(6 * time.Second)), 9 * time.Second},
		{"an outage with a time", 503, []string{"Retry-After", "7"}, "{}", 7 * time.Second},
		{"an outage with a count", 503, []string{"X-RateLimit-Reset", at(20 * time.Second)}, "{}", own},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLine(t, says(c.status, asJSON, c.body, c.header...))
			_, err := l.do(t.Context(), call{path: "/x", cred: somebody})
			u, ok := errors.AsType[*Unavailable](err)
			if !ok || u.Limited != (c.status == 429) || u.RetryAfter != c.want || len(l.pauses) != tries-1 {
				t.Fatalf("error %v (%+v) after %v, want to be told to wait %v", err, u, l.pauses, c.want)
			}
			for try, d := range l.pauses {
				own := d > 0 && d <= minPause<<try
				if c.want == 0 && !own || c.want > 0 && d < c.want || d > max(c.want, minPause<<try) {
					t.Errorf("pause %d is %v, want %v", try, d, c.want)
				}
			}
		})
	}
}

func TestAWaitBeyondTheBudgetIsNotBegun(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"limited": says(429, asJSON, "{}", "Retry-After", "30"), "an outage": says(503, asJSON, "{}", "Retry-After", "30"),
	} {
		l := newLine(t, answer)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		_, err := l.do(ctx, call{path: "/x", cred: somebody})
		u, ok := errors.AsType[*Unavailable](err)
		if !ok || u.RetryAfter != 30*time.Second || len(l.pauses) > 0 || len(l.fake.Log()) != 1 {
			t.Errorf("%s: error %+v, pauses %v, %d requests", name, u, l.pauses, len(l.fake.Log()))
		}
	}
}

// TestATokenThatWasLimitedIsQuiet has the next call with the same token wait
// before it asks, and nobody else.
func TestATokenThatWasLimitedIsQuiet(t *testing.T) {
	l := newLine(t, says(429, asJSON, "{}", "Retry-After", "7"))
	if _, err := l.do(t.Context(), call{path: "/x", cred: somebody}); kind(err) != "limited" {
		t.Fatal(err)
	}
	l.fake.Break("", func(_ *standin.Fake, rw http.ResponseWriter, r *http.Request, _ http.Handler) {
		says(200, asJSON, "{}")(rw, r)
	})
	for _, c := range []struct {
		as   Credential
		want int
	}{{Credential{Token: api.NewSecret("another")}, 0}, {Credential{}, 0}, {somebody, 1}, {somebody, 0}} {
		l.pauses = nil
		if _, err := l.do(t.Context(), call{path: "/x", cred: c.as}); err != nil || len(l.pauses) != c.want || c.want == 1 && l.pauses[0] != 7*time.Second {
			t.Errorf("pauses %v, want %d; error %v", l.pauses, c.want, err)
		}
	}
}

// TestItWaitsForReal is without a stand-in for the clock.
func TestItWaitsForReal(t *testing.T) {
	w := &wire{}
	start := time.Now()
	if err := w.wait(t.Context(), 30*time.Millisecond); err != nil || time.Since(start) < 30*time.Millisecond {
		t.Errorf("it waited %v, error %v", time.Since(start), err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	start = time.Now()
	if err := w.wait(ctx, time.Minute); !errors.Is(err, context.Canceled) || time.Since(start) > 10*time.Second {
		t.Errorf("it waited %v, error %v", time.Since(start), err)
	}
}

func TestAnAnswerMayBeEightMiB(t *testing.T) {
	for size, want := range map[int]string{maxAnswer: "done", maxAnswer + 1: "unavailable"} {
		l := newLine(t, says(200, asJSON, `"`+strings.Repeat("x", size-2)+`"`))
		var got string
		_, err := l.ask(t.Context(), call{path: "/x"}, &got)
		if kind(err) != want || err == nil && len(got) != size-2 || len(l.fake.Log()) != 1 {
			t.Errorf("%d bytes: %v, %d of them", size, err, len(got))
		}
	}
}

func TestWhatIsSent(t *testing.T) {
	l := newLine(t, says(200, asJSON, "{}"))
	l.agent = "coffer/test"
	for _, c := range []call{
		{path: "/a", query: url.Values{"q": {"a b&c"}}, cred: somebody},
		{method: http.MethodPost, path: "/b/" + segment("x/y ?#%"), json: map[string]string{"k": "<&>"}, cred: somebody},
		{method: http.MethodPost, path: "/c", form: url.Values{"code": {"a b"}}},
	} {
		if _, err := l.do(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	log := l.fake.Log()
	if len(log) != 3 {
		t.Fatalf("%d requests", len(log))
	}
	for _, c := range log {
		if c.Header.Get("User-Agent") != "coffer/test" || c.Header.Get("Accept") != "application/json" {
			t.Errorf("%s has the header %v", c.Path, c.Header)
		}
	}
	if log[0].URI() != "/api/a?q=a+b%26c" || log[0].Header.Get("Authorization") != "Bearer "+canary+"-token" || log[0].Body != "" {
		t.Errorf("the first is %s", log[0].URI())
	}
	var body map[string]string
	if err := json.Unmarshal([]byte(log[1].Body), &body); err != nil || body["k"] != "<&>" || log[1].Path != "/api/b/x/y ?#%" || log[1].Header.Get("Content-Type") != "application/json" {
		t.Errorf("the second is %s with %s (%v)", log[1].Path, log[1].Body, err)
	}
	if log[2].Body != "code=a+b" || log[2].Header.Get("Authorization") != "" || log[2].Header.Get("Content-Type") != "application/x-www-form-urlencoded" {
		t.Errorf("the third is %s with %v", log[2].Body, log[2].Header)
	}
}

func TestNamesThatClimb(t *testing.T) {
	for _, name := range []string{"..", ".", ""} {
		l := newLine(t, says(404, asJSON, "{}"))
		_, err := l.do(t.Context(), call{path: "/projects/" + segment(name) + "/env"})
		if log := l.fake.Log(); kind(err) != "not found" || len(log) == 1 && log[0].Path != "/api/projects/\x00/env" {
			t.Errorf("%q: error %v, asked were %v", name, err, log)
		}
	}
}

func TestRequestIDs(t *testing.T) {
	for text, want := range map[string]string{"iad1::abc-123": "iad1::abc-123", "with blank": "", "line\tbreak": "", strings.Repeat("x", 129): "", "é": ""} {
		a := &answer{Header: http.Header{"X-Vercel-Id": {text}}}
		if got := a.requestID(); got != want {
			t.Errorf("%q is told as %q, want %q", text, got, want)
		}
	}
}
