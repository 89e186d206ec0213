package contracttest

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"coffer/server/hosting/hostingtest"
	"coffer/server/standin"
)

// TestSyncingLeaksNoValueAndNoToken connects and syncs, well and badly, with one
// value on both sides, and then looks for it and for every token where they must
// not be.
func TestSyncingLeaksNoValueAndNoToken(t *testing.T) {
	t.Parallel()
	h, v, g := connected(t)
	ann := h.ann
	const theirs = "their-canary-5d41402a"
	ann.push(t, v, "production", `{"A":"`+canary+`","B":"${{ `+canary+` }}"}`, "").ok(200)
	h.vercel.Put(h.project, "production", "THEIRS", theirs)
	h.vercel.Put(h.project, "production", "A", theirs)
	var all []*answer
	say := func(a *answer) *answer { all = append(all, a); return a }

	b := h.Browser()
	to := leaves(t, b.Open(authorizeVercel+"?token="+ann.token))
	back := h.vercel.Install(to, h.person, h.team)
	if s := b.Open(vercelCallback + "?" + back.Encode()); s.Status != 302 {
		t.Errorf("came back with %d", s.Status)
	}
	ticket := say(ann.do(t, ticketVercel, "").ok(200)).text("data.ticket")
	all = all[:0] // it is for whoever asked
	b.Open(authorizeVercel + "?ticket=" + url.QueryEscape(ticket))
	b.Open(authorizeVercel + "?token=" + canary)
	h.tokens["vercel"] = h.vercel.Token(hostingtest.VercelToken{User: h.person})
	h.connect(t, ann, "vercel")
	for _, body := range []string{`{"token":"` + canary + `"}`, `{"token":"` + canary + ` x"}`, `{"token":["` + canary + `"]}`, `{"token":"` + canary} {
		say(ann.do(t, "POST /v1/integrations/vercel/connect", body))
	}
	looks := func() {
		for _, what := range []string{"preview", "status", "diff"} {
			for _, direction := range []string{"push", "pull"} {
				say(ann.do(t, "GET "+v.syncs()+"/"+what+"?"+g.at("allowDelete=true", "direction="+direction).query(), ""))
			}
		}
		say(ann.do(t, "GET /v1/integrations/connections", ""))
		say(ann.do(t, "GET /v1/integrations/connections/"+g.connection+"/projects", ""))
		say(ann.do(t, "GET /v1/integrations/providers/vercel/all-projects", ""))
		say(ann.link(t, v, g))
	}
	looks()
	// A provider's own words may hold the value: they are not passed on.
	echo := func(status int) standin.Fault {
		return func(_ *standin.Fake, rw http.ResponseWriter, r *http.Request, next http.Handler) {
			if r.Method == http.MethodGet {
				next.ServeHTTP(rw, r)
				return
			}
			standin.Answer(rw, status, map[string]any{"error": map[string]any{"code": canary, "message": "no " + canary + " " + r.Header.Get("Authorization")}})
		}
	}
	for _, status := range []int{400, 403, 409, 500} {
		h.vercel.Break("", echo(status))
		say(ann.sync(t, v, g))
		h.vercel.Heal()
	}
	h.vercel.Break("", standin.Status(500))
	looks()
	h.vercel.Heal()
	ran := say(ann.sync(t, v, g.at("allowDelete=true"))).ok(200)
	say(ann.do(t, "GET /v1/integrations/jobs/"+ran.text("data.jobId"), ""))
	h.vercel.Put(h.project, "production", "NEW", theirs)
	say(ann.sync(t, v, g.at("direction=pull"))).ok(200)
	looks()
	h.vercel.Revoke(h.tokens["vercel"])
	looks()
	for _, path := range []string{"/v1/activity?limit=100", v.at() + "/activity?limit=100", v.at()} {
		say(ann.do(t, "GET "+path, "")).ok(200)
	}

	secrets := []string{canary, theirs, ann.token, "vercel-client-secret", back.Get("code"), ticket}
	for _, token := range h.tokens {
		secrets = append(secrets, token)
	}
	for _, c := range h.vercel.Log() {
		if token, ok := strings.CutPrefix(c.Header.Get("Authorization"), "Bearer "); ok && token != canary {
			secrets = append(secrets, token) // with those that were given for codes
		}
	}
	for _, a := range all {
		if form := holds(a.raw, secrets...); form != "" {
			t.Errorf("%s: %d shows %s: %s", a.call, a.status, form, a.raw)
		}
		if form := holds([]byte(fmt.Sprint(a.header)), secrets...); form != "" {
			t.Errorf("%s: %d shows %s in %v", a.call, a.status, form, a.header)
		}
	}
	places := files(t, h.Data)
	h.Stop()
	for path, content := range files(t, h.Data) {
		places[path+" of a stopped instance"] = content
	}
	places["the log"] = []byte(h.Log.String())
	if len(places) < 2 || len(places["the log"]) == 0 {
		t.Error("there is nothing to look at")
	}
	for place, content := range places {
		if form := holds(content, secrets...); form != "" {
			t.Errorf("%s holds %s", place, form)
		}
	}
}
