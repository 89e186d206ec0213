package contracttest

import (
	"net/http"
	"strings"
	"testing"
)

const someID = "0193a1b2-0000-7000-8000-00000000abcd"

func TestSinglePaginatedCreatedAndEmptyAnswers(t *testing.T) {
	t.Parallel()
	ann := newSite(t).user(t, "ann")
	a := ann.do(t, "POST /v1/vaults", `{"repoFullName":"@ann/api"}`).ok(201)
	if got := ann.plain(a.header.Get("Location")); got != "/v1/vaults/@ann/api" {
		t.Errorf("Location %q", got)
	}
	a.same(`{"requestId":"<id>"}`, a.at("meta"))
	a = ann.do(t, "GET /v1/vaults", "").ok(200)
	a.same(`{"requestId":"<id>","pagination":{"limit":25,"offset":0,"total":1,"hasMore":false}}`, a.at("meta"))
	a = ann.do(t, "POST /v1/vaults/@ann/api/secrets", `{"key":"A","value":"","environment":"staging"}`).ok(201)
	if a.header.Get("Location") != "" {
		t.Errorf("a secret has no GET path, but Location %q", a.header.Get("Location"))
	}
	a = ann.do(t, "DELETE /v1/vaults/@ann/api/secrets/"+a.text("data.id"), "").ok(204)
	if got := a.header.Get("Content-Type"); got != "" {
		t.Errorf("204 with Content-Type %q", got)
	}
}

func TestRequestIDsAreAdoptedOnlyInCanonicalForm(t *testing.T) {
	t.Parallel()
	ann := newSite(t).user(t, "ann")
	v4 := "7b0f3f1e-9d8f-4c57-8a43-0b7e5a1c9f10"
	for _, id := range []string{someID, v4} {
		if got := ann.do(t, "GET /v1/users/me", "", "X-Request-ID", id).text("meta.requestId"); got != id {
			t.Errorf("%q became %q", id, got)
		}
		if got := ann.do(t, "GET /v1/nowhere", "", "X-Request-ID", id).text("traceId"); got != id {
			t.Errorf("%q became %q", id, got)
		}
	}
	for _, id := range []string{"x", strings.ToUpper(v4), "{" + v4 + "}", "urn:uuid:" + v4, strings.ReplaceAll(v4, "-", ""), v4 + "0"} {
		if got := ann.do(t, "GET /v1/users/me", "", "X-Request-ID", id).text("meta.requestId"); got == id || !ourID.MatchString(got) {
			t.Errorf("%q became %q", id, got)
		}
	}
	if got := ann.do(t, "GET /v1/users/me", "", "X-Request-ID", v4, "X-Request-ID", v4).text("meta.requestId"); got == v4 {
		t.Error("two ids were taken for one")
	}
}

func TestErrorBodiesHaveExactlyTheirMembers(t *testing.T) {
	t.Parallel()
	ann := newSite(t).user(t, "ann")
	a := ann.do(t, "GET /v1/users/me/?limit=1", "", "X-Request-ID", someID)
	a.is(404, `{"type":"https://vault.example/errors/not-found","title":"Not Found","status":404,"detail":"<text>",
		"instance":"/v1/users/me/","traceId":"`+someID+`"}`)
	a = ann.do(t, "POST /v1/secrets/push", `{"repoFullName":"@ann/api","environment":"staging","secrets":{"db_url":"x"},"mode":"some"}`, "X-Request-ID", someID)
	a.is(422, `{"type":"https://vault.example/errors/validation-error","title":"Validation Error","status":422,
		"detail":"2 fields are invalid.","instance":"/v1/secrets/push","traceId":"`+someID+`","errors":[
		{"field":"mode","code":"unknown_value","message":"<text>"},{"field":"secrets.db_url","code":"invalid_format","message":"<text>"}]}`)
	for _, accept := range []string{"application/problem+json", "application/json, application/problem+json;q=0.5"} {
		ann.do(t, "GET /v1/nowhere", "", "Accept", accept).fails(404, "not-found")
	}
	for _, accept := range []string{"*/*", "application/json", "text/html", "application/*"} {
		ann.do(t, "GET /v1/nowhere", "", "Accept", accept).fails(404, "not-found")
	}
	if got := ann.do(t, "GET /v1/users/me", "", "Accept", "application/problem+json").header.Get("Content-Type"); got != "application/json; charset=utf-8" {
		t.Errorf("a success has Content-Type %q", got)
	}
}

func TestEveryErrorHasItsPublicPage(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for slug, e := range titles {
		a := s.nobody().do(t, "GET /errors/"+slug, "").ok(200)
		if !strings.HasPrefix(a.header.Get("Content-Type"), "text/html") || !strings.Contains(string(a.raw), e.title) {
			t.Errorf("%s: %s %s", slug, a.header.Get("Content-Type"), a.raw)
		}
		if csp := a.header.Get("Content-Security-Policy"); !strings.Contains(csp, "frame-ancestors 'none'") || strings.Contains(csp, "unsafe-inline") {
			t.Errorf("%s: policy %q", slug, csp)
		}
	}
	s.nobody().do(t, "GET /errors/none", "").fails(404, "not-found")
}

func TestCrossOriginAccessIsOff(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ann := s.user(t, "ann")
	ann.do(t, "GET /v1/users/me", "", "Origin", "https://evil.example").ok(http.StatusOK)
	s.nobody().do(t, "OPTIONS /v1/users/me", "", "Origin", "https://evil.example", "Access-Control-Request-Method", "GET").
		fails(405, "method-not-allowed")
}
