package contracttest

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
)

// titles are the closed list of errors: slug, status and title belong together.
var titles = map[string]struct {
	status int
	title  string
}{
	"bad-request":         {400, "Bad Request"},
	"unauthorized":        {401, "Unauthorized"},
	"forbidden":           {403, "Forbidden"},
	"plan-limit":          {403, "Plan Limit Exceeded"},
	"not-found":           {404, "Not Found"},
	"method-not-allowed":  {405, "Method Not Allowed"},
	"conflict":            {409, "Conflict"},
	"payload-too-large":   {413, "Payload Too Large"},
	"validation-error":    {422, "Validation Error"},
	"rate-limited":        {429, "Too Many Requests"},
	"provider-error":      {502, "Provider Error"},
	"sealed":              {503, "Vault Sealed"},
	"service-unavailable": {503, "Service Unavailable"},
	"timeout":             {504, "Timeout"},
}

// fieldCodes are the closed list of what can be wrong with a field.
var fieldCodes = []string{"required", "invalid_type", "invalid_format", "too_short", "too_long", "too_small",
	"too_large", "unknown_value", "not_allowed", "duplicate"}

// keepsConventions holds an answer against what is true of every one.
func (a *answer) keepsConventions() {
	a.t.Helper()
	path := a.sent.URL.Path
	api := strings.HasPrefix(path, "/v1/") && path != "/v1/health"
	a.headers(path == "/v1/secrets/pull")
	switch {
	case a.sent.Method == http.MethodHead, a.status == http.StatusNoContent, a.status/100 == 3:
		if len(a.raw) > 0 {
			a.t.Errorf("%s: %d with a body: %s", a.call, a.status, a.raw)
		}
	case a.status >= 400 && path != "/ready" && path != "/v1/health":
		a.error()
	case api:
		a.envelope()
	}
}

func (a *answer) headers(pull bool) {
	a.t.Helper()
	want := map[string]string{"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store"}
	if pull && (a.status < 400 || a.header.Get("Cache-Control") != "no-store") {
		want["Cache-Control"] = "private, no-cache"
	}
	for name, value := range want {
		if got := a.header.Get(name); got != value {
			a.t.Errorf("%s: %d with %s %q, want %q", a.call, a.status, name, got, value)
		}
	}
	if got := a.header.Get("X-Request-ID"); !anyID.MatchString(got) {
		a.t.Errorf("%s: X-Request-ID is %q", a.call, got)
	}
	for name := range a.header {
		cookie := name == "Set-Cookie" && a.status != http.StatusFound // where a browser is sent away
		if strings.HasPrefix(name, "Access-Control-") || cookie || name == "Server" {
			a.t.Errorf("%s: has a header %s", a.call, name)
		}
	}
}

func (a *answer) envelope() {
	a.t.Helper()
	if got := a.header.Get("Content-Type"); got != "application/json; charset=utf-8" {
		a.t.Errorf("%s: Content-Type is %q", a.call, got)
	}
	var body map[string]json.RawMessage
	var meta map[string]json.RawMessage
	if err := json.Unmarshal(a.raw, &body); err != nil {
		a.t.Fatalf("%s: %v: %s", a.call, err, a.raw)
	}
	if err := json.Unmarshal(body["meta"], &meta); err != nil {
		a.t.Fatalf("%s: meta: %v: %s", a.call, err, a.raw)
	}
	a.topLevel(body)
	if string(meta["requestId"]) != quoted(a.header.Get("X-Request-ID")) {
		a.t.Errorf("%s: meta.requestId %s, X-Request-ID %s", a.call, meta["requestId"], a.header.Get("X-Request-ID"))
	}
	delete(meta, "requestId")
	delete(meta, "pagination")
	if len(meta) > 0 {
		a.t.Errorf("%s: meta has %v", a.call, slices.Collect(maps.Keys(meta)))
	}
}

// topLevel wants data and meta and nothing else, but for the two endpoints that
// repeat there what data holds.
func (a *answer) topLevel(body map[string]json.RawMessage) {
	a.t.Helper()
	want := map[string]json.RawMessage{"data": body["data"], "meta": body["meta"]}
	if path := a.sent.URL.Path; path == "/v1/auth/device/start" || path == "/v1/auth/device/poll" {
		if err := json.Unmarshal(body["data"], &want); err != nil {
			a.t.Fatalf("%s: data: %v: %s", a.call, err, a.raw)
		}
	}
	if diff := cmp.Diff(want, body); diff != "" {
		a.t.Errorf("%s: top level: (-want +got)\n%s", a.call, diff)
	}
}

func (a *answer) error() {
	a.t.Helper()
	var p struct {
		Type, Title, Detail, Instance, TraceID string
		Status                                 int
		Errors                                 []struct{ Field, Code, Message string }
	}
	if err := json.Unmarshal(a.raw, &p); err != nil {
		a.t.Fatalf("%s: %d: %v: %q", a.call, a.status, err, a.raw)
	}
	page, slug, _ := strings.Cut(p.Type, "/errors/")
	known := titles[slug]
	if page != a.s.public || p.Title != known.title || p.Status != a.status || known.status != a.status {
		a.t.Errorf("%s: %d with type %q, title %q, status %d", a.call, a.status, p.Type, p.Title, p.Status)
	}
	if p.Detail == "" || p.Instance != a.sent.URL.EscapedPath() || p.TraceID != a.header.Get("X-Request-ID") {
		a.t.Errorf("%s: detail %q, instance %q, traceId %q", a.call, p.Detail, p.Instance, p.TraceID)
	}
	if (slug == "validation-error") != (len(p.Errors) > 0) || len(p.Errors) > 100 {
		a.t.Errorf("%s: %s with %d errors", a.call, slug, len(p.Errors))
	}
	for _, e := range p.Errors {
		if !slices.Contains(fieldCodes, e.Code) || e.Field == "" || e.Message == "" {
			a.t.Errorf("%s: error %+v", a.call, e)
		}
	}
	a.errorHeaders(slug)
}

func (a *answer) errorHeaders(slug string) {
	a.t.Helper()
	needs := map[string]string{"unauthorized": "WWW-Authenticate", "method-not-allowed": "Allow", "rate-limited": "Retry-After",
		"sealed": "Retry-After", "service-unavailable": "Retry-After"}
	if name := needs[slug]; name != "" && a.header.Get(name) == "" {
		a.t.Errorf("%s: %s without %s", a.call, slug, name)
	}
	want := "application/json; charset=utf-8"
	if strings.Contains(a.sent.Header.Get("Accept"), "problem+json") {
		want = "application/problem+json"
	}
	if got := a.header.Get("Content-Type"); got != want {
		a.t.Errorf("%s: Content-Type is %q, want %q", a.call, got, want)
	}
}
