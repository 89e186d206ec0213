package contracttest

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"coffer/server/servertest"
)

// Texts and JSON values that programs trip over.
var (
	nastyText = []string{"", ".", "..", "*", "-1", "0", "9223372036854775808", "1e999", "null", "true", "NaN", "\x00", "\xff\xfe", "a/b", "../../x",
		"%2F", "%", "+", "a b", "\r\n\r\nX: y", "' OR 1=1 --", "<script>", "😀", "\u202e", "\ufeff", strings.Repeat("A", 300), strings.Repeat("é", 5000),
		someID, strings.ToUpper(someID), "00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff",
		"coffer_live_" + strings.Repeat("z", 40), "production", "staging", "read:secrets", "10.0.0.0/8", "::/0", "fe80::1%eth0", "A", "a_b"}
	nastyJSON = []string{"null", "true", "false", "0", "-0", "-1", "1.5", "1e3", "1e999", "-1e-999", "12345678901234567890123", `""`, `"A"`, `"\u0000"`,
		`"\ud83d\ude00"`, `"\ud800"`, "\"\xff\"", `"read:secrets"`, `"staging"`, `"live"`, "[]", "[null]", `["read:secrets",1]`, "{}", `{"A":null}`, `{"":""}`,
		`{"A":"1","A":"2"}`, strings.Repeat("[", 12000), strings.Repeat(`{"a":`, 12000) + "1" + strings.Repeat("}", 12000),
		quoted(strings.Repeat("x", 70000)), `{"A":"` + strings.Repeat(`\n`, 40000) + `"}`, "undefined", "'x'", "// x\n1"}
	members = []string{"repoFullName", "environment", "secrets", "mode", "key", "name", "value", "newName", "type", "scopes", "expiresInDays", "allowedIps",
		"claimToken", "passphrase", "baseRevision", "dryRun", "username", "password", "ttlSeconds", "role", "org", "public", "keyFile", "admin",
		"targetType", "targetRole", "targetUserId", "canRead", "canWrite", "displayName", "defaultPermissions",
		"connectionId", "projectId", "serviceId", "keywayEnvironment", "providerEnvironment", "direction", "allowDelete", "planHash", "autoSync", "token", "teamId"}
	parameters = []string{"connectionId", "projectId", "serviceId", "keywayEnvironment", "providerEnvironment", "direction", "allowDelete", "redirect_uri", "ticket", "token", "repo", "environment", "key", "limit", "offset", "format", "at", "revision", "action", "actor", "x"}
)

// TestNoInputIsAnInternalError: that a status is never 500 is one of the
// conventions that every answer is held against.
func TestNoInputIsAnInternalError(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.http.Transport = http.DefaultTransport // it asks for paths that nobody describes
	ann := s.user(t, "ann")
	calls := append([]route{{call: "POST /v1/sys/seal"}, {call: "POST /v1/operator/tokens"}, {call: "POST /v1/operator/users"}, {call: "PUT /v1/operator/repos/grants"},
		{call: "GET /errors/sealed"}, {call: "GET /v1/nowhere"}}, routes...)
	const rounds = 30
	for i, r := range calls {
		t.Run(r.call, func(t *testing.T) {
			t.Parallel()
			g := &generator{rand.New(rand.NewPCG(1, uint64(i)))}
			for n := range rounds {
				v := &sample{repo: "@ann/api", secret: someID, version: someID, trashed: someID, key: someID}
				if n%8 == 0 && !strings.HasPrefix(r.call, "GET") || n == 0 {
					v = ann.sample(t)
				}
				a := ann.by(t, r).do(t, g.call(r.call, v), g.body(v.fill(r.body)))
				if a.status >= 500 {
					t.Fatalf("%d: %s %s", a.status, a.sent.Method, a.sent.URL)
				}
			}
		})
	}
	t.Cleanup(func() {
		if log := s.Log.String(); strings.Contains(log, `"internal error"`) || strings.Contains(log, `"panic"`) {
			t.Errorf("the log tells of an internal error")
		}
	})
}

// TestNoInputOfASyncIsAnInternalError asks with a connection, of stand-ins.
func TestNoInputOfASyncIsAnInternalError(t *testing.T) {
	t.Parallel()
	h, v, g := connected(t)
	h.http.Transport = http.DefaultTransport // it asks for paths that nobody describes
	h.ann.push(t, v, "production", `{"A":"1"}`, "").ok(200)
	link := h.ann.link(t, v, g).ok(200).text("data.link.id")
	job := h.ann.sync(t, v, g).ok(200).text("data.jobId")
	there := strings.NewReplacer("/link/"+someID, "/link/"+link, "/jobs/"+someID, "/jobs/"+job, someID, g.connection, `"p"`, quoted(g.project), "=p", "="+g.project)
	for i, r := range integrationRoutes {
		gen := &generator{rand.New(rand.NewPCG(3, uint64(i)))}
		for n := range 30 {
			call, body := r.call, r.body
			if n%2 == 0 && !strings.HasPrefix(call, "DELETE /v1/integrations/connections") {
				call, body = there.Replace(call), there.Replace(body)
			}
			if a := h.ann.do(t, gen.call(call, v), gen.body(body)); a.status >= 500 && a.slug() != "provider-error" {
				t.Fatalf("%d: %s %s", a.status, a.sent.Method, a.sent.URL)
			}
		}
	}
	if log := h.Log.String(); strings.Contains(log, `"internal error"`) || strings.Contains(log, `"panic"`) {
		t.Errorf("the log tells of an internal error")
	}
}

// TestNoOperatorsInputIsAnInternalError asks over the operator's own way in.
func TestNoOperatorsInputIsAnInternalError(t *testing.T) {
	t.Parallel()
	s := ownSite(t) // an operator whose password everybody knows is left behind
	ann := s.user(t, "ann")
	operator := siteOf(&servertest.Instance{URL: "http://operator"}, s.Operator.Transport).nobody()
	name := s.real("@ann")
	for i, r := range []route{
		{call: "POST /v1/operator/users", body: `{"username":"x","password":"a password","operator":true}`},
		{call: "POST /v1/operator/orgs", body: `{"name":"acme"}`},
		{call: "POST /v1/operator/unseal-methods", body: `{"kind":"shares","threshold":2,"total":3,"label":"x","proof":{"key":"x"}}`},
		{call: "DELETE /v1/operator/unseal-methods/" + someID, body: `{"proof":{"share":"COFFER-SHARE-1-000000"}}`},
		{call: "PUT /v1/operator/orgs/members", body: `{"org":"acme","username":"` + name + `","role":"owner"}`},
		{call: "POST /v1/operator/repos", body: `{"repoFullName":"` + name + `/api","public":true}`},
		{call: "PUT /v1/operator/repos/grants", body: `{"repoFullName":"` + name + `/api","username":"` + name + `","role":"read"}`},
		{call: "POST /v1/operator/tokens", body: `{"username":"` + name + `","name":"n","environment":"live","scopes":["read:secrets"],"ttlSeconds":9223372036854775807}`},
		{call: "POST /v1/operator/rotations", body: `{"repoFullName":"` + name + `/api","all":true}`},
		{call: "POST /v1/operator/rekey", body: `{"proof":{"passphrase":"x"},"passphrase":"y","newRecoveryKey":true,"drop":["` + someID + `"]}`},
	} {
		g := &generator{rand.New(rand.NewPCG(2, uint64(i)))}
		for range 40 {
			operator.do(t, g.call(r.call, &sample{repo: "x/y"}), g.body(r.body))
		}
	}
	for _, r := range routes { // nobody's credential opens nothing
		operator.do(t, (&sample{repo: name + "/api", secret: someID, version: someID, trashed: someID, key: someID}).fill(r.call), r.body).ok(403)
	}
	ann.do(t, "GET /v1/vaults", "").ok(200)
}

// generator makes requests that are wrong in one way or another.
type generator struct{ *rand.Rand }

func pick[T any](g *generator, from []T) T { return from[g.IntN(len(from))] }

// call fills a route with good or nasty segments, and adds to its query.
func (g *generator) call(call string, v *sample) string {
	method, target, _ := strings.Cut(call, " ")
	path, query, _ := strings.Cut(target, "?")
	for _, hole := range []string{"{secret}", "{version}", "{trashed}", "{key}", "{override}", "{session}", "{org}", "staging", "sealed"} {
		if g.IntN(4) == 0 {
			path = strings.Replace(path, hole, url.PathEscape(pick(g, nastyText)), 1)
		}
	}
	if g.IntN(6) == 0 {
		path = strings.Replace(path, "{V}", "/v1/vaults/"+url.PathEscape(pick(g, nastyText))+"/"+url.PathEscape(pick(g, nastyText)), 1)
	}
	for range g.IntN(3) {
		query += "&" + pick(g, parameters) + "=" + url.QueryEscape(pick(g, nastyText))
	}
	if g.IntN(8) == 0 {
		method = pick(g, []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
	}
	return method + " " + v.fill(path+"?"+query)
}

// body is the good body, one of made-up members, or one that was damaged.
func (g *generator) body(good string) string {
	switch g.IntN(5) {
	case 0:
		return good
	case 1:
		return pick(g, nastyJSON)
	case 2:
		b := []byte(good)
		for range 1 + g.IntN(3) {
			if len(b) > 0 {
				b[g.IntN(len(b))] = pick(g, []byte("\x00\"\\{}[],:9eu\xff "))
			}
		}
		return string(b)
	}
	text := strings.TrimSuffix(good, "}")
	if text == "" || g.IntN(2) == 0 {
		text = `{"unknown":0`
	}
	for range 1 + g.IntN(4) {
		text += fmt.Sprintf(",%q:%s", pick(g, members), pick(g, nastyJSON))
	}
	return text + "}"
}
