package hosting

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// FuzzAnswers reads whatever a server may say: nothing but a success is none, no
// wait is out of bounds, and nothing that was said gets into an error.
func FuzzAnswers(f *testing.F) {
	f.Add(429, asJSON, `{"error":{"limit":{"reset":1.7e9}}}`, "7", "1763640000", "0", "iad1::x")
	f.Add(403, asHTML, "<html>", "", "", "", "")
	f.Add(503, asJSON, `{"error":{"limit":{"reset":-1e308}}}`, "-9223372036854775808", "NaN", "", "\x00")
	f.Add(200, "Application/Problem+JSON", `[`, "Inf", "1e19", "1", "a b")
	f.Add(422, asJSON, `{"message":"Secret names must"}`, "1h", "0x1p10", "", "")
	f.Fuzz(func(t *testing.T, status int, kind, body, after, reset, left, id string) {
		const said = "what-was-said-by-the-server"
		w := &wire{now: func() time.Time { return noon }, judge: judgeGitHub, limitPause: time.Minute}
		a := &answer{Status: status, Body: []byte(body + said), Header: http.Header{
			"Content-Type": {kind}, "Retry-After": {after}, "X-Ratelimit-Reset": {reset}, "X-Ratelimit-Remaining": {left}, "X-Vercel-Id": {id},
		}}
		for _, b := range []string{body, body + said, said} {
			a.Body = []byte(b)
			if d := w.asked(a); d != 0 && (d < minWait || d > maxWait) {
				t.Errorf("it waits %v", d)
			}
			err := w.read(a)
			if (err == nil) != (status/100 == 2) {
				t.Errorf("status %d is %v", status, err)
			}
			var out struct{ A []string }
			for _, err := range []error{err, a.decode(&out)} {
				if err != nil && strings.Contains(fmt.Sprintf("%v %+v", err, err), said) {
					t.Errorf("the error tells what was said: %v", err)
				}
			}
		}
		if strings.ContainsFunc(a.requestID(), odd) {
			t.Errorf("the name of the request is %q", a.requestID())
		}
	})
}

// FuzzGitHubAnswers has GitHub say anything, to every question: there is an
// answer with sense or an error, and never a panic.
func FuzzGitHubAnswers(f *testing.F) {
	for _, text := range []string{
		`{"total_count":1,"secrets":[{"name":"A","updated_at":"2026-11-20T12:00:00Z"}]}`, `{"id":7,"login":"ada","full_name":"a/b"}`,
		`[{"id":7,"full_name":"a/b","permissions":{"push":true}}]`, `{"environments":[{"name":"production"}]}`,
		`{"key_id":"1","key":"hBT5WZEj8ZoOv6TYJsfWq7MxTEQopZO5/IT3ZCVQPzs="}`, `null`, `[]`, `{}`, `[null]`,
	} {
		f.Add(200, text)
	}
	var status int
	var text string
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { says(status, asJSON, text)(rw, nil) }))
	f.Cleanup(server.Close)
	p, err := New(Config{Name: GitHubActions, APIURL: server.URL, Sleep: func(time.Duration) {}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, s int, body string) {
		if status, text = s, body; s < 200 || s > 599 || s == 204 || s == 304 {
			t.Skip() // not to be said with a body
		}
		ctx := t.Context()
		if a, err := p.Check(ctx, somebody); err == nil && (a.UserID == "" || a.UserName == "") {
			t.Errorf("somebody is %+v", a)
		}
		if all, err := p.Projects(ctx, somebody); err != nil && all != nil {
			t.Errorf("%v beside %v", all, err)
		}
		if one, err := p.Find(ctx, somebody, "7", ""); err == nil && (one.ID != "7" || !strings.Contains(one.Name, "/")) {
			t.Errorf("found is %+v", one)
		}
		at := Target{Project: Project{ID: "7", Name: "a/b"}}
		all, err := p.List(ctx, somebody, at)
		for _, v := range all {
			if err != nil || v.Key == "" || v.Readable || v.Mark == "" {
				t.Errorf("%+v beside %v", v, err)
			}
		}
		err = p.Write(ctx, somebody, at, []Write{{Key: "A"}}, func(out Outcome) error {
			if out.Err == nil && s != http.StatusCreated {
				t.Error("a body for a question was taken for a success")
			}
			return nil
		})
		if err == nil && s/100 == 2 && s != http.StatusCreated {
			t.Error("writing went well")
		}
	})
}
