package contracttest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"coffer/server"
	"coffer/server/hosting/hostingtest"
	"coffer/server/standin"
)

// integrationRoutes are the endpoints of 4.10, with requests that are well-formed.
// They are apart from routes, since they succeed only where a provider is asked.
var integrationRoutes = []route{
	{"GET /v1/integrations/connections", "", "R", "self", 200},
	{"GET /v1/integrations/connections/" + someID + "/projects", "", "R", "self", 404},
	{"DELETE /v1/integrations/connections/" + someID, "", "W", "self", 404},
	{"GET /v1/integrations/providers/vercel/all-projects", "", "R", "self", 200},
	{"GET /v1/integrations/vercel/authorize", "", "W", "self", 302},
	{"POST /v1/integrations/vercel/ticket", "", "W", "self", 200},
	{"POST /v1/integrations/vercel/connect", `{"token":"x","teamId":"` + "\u00e9" + `"}`, "W", "self", 422},
	{"GET {IV}/preview?connectionId=" + someID + "&projectId=p", "", "R", "read", 422},
	{"GET {IV}/status?connectionId=" + someID + "&projectId=p", "", "R", "read", 422},
	{"GET {IV}/diff?connectionId=" + someID + "&projectId=p", "", "R", "read", 422},
	{"POST {IV}", `{"connectionId":"` + someID + `","projectId":"p"}`, "W", "read", 422},
	{"POST {IV}/link", `{"connectionId":"` + someID + `","projectId":"p"}`, "W", "read", 422},
	{"DELETE {IV}/link/" + someID, "", "W", "any", 404},
	{"GET /v1/integrations/jobs/" + someID, "", "R", "self", 404},
	{"DELETE /v1/integrations/jobs/" + someID, "", "W", "self", 404},
}

func TestProvidersAreListedToEverybody(t *testing.T) {
	t.Parallel()
	h := hostedSite(t, func(c *server.Config) { c.Hosting.Disabled = []string{"github-actions"} })
	a := h.nobody().do(t, "GET /v1/integrations", "").ok(200)
	got := make(map[string]any)
	list, _ := a.at("data.providers").([]any)
	for _, p := range list {
		got[p.(map[string]any)["name"].(string)] = p
	}
	for name, want := range map[string]string{
		"vercel":         `{"name":"vercel","displayName":"Vercel","configured":true,"methods":["token","oauth"]}`,
		"netlify":        `{"name":"netlify","displayName":"Netlify","configured":true,"methods":["token"]}`,
		"railway":        `{"name":"railway","displayName":"Railway","configured":true,"methods":["token"]}`,
		"github-actions": `{"name":"github-actions","displayName":"GitHub Actions","configured":false,"methods":[]}`,
	} {
		a.same(want, got[name])
	}
	for _, call := range []string{"POST /v1/integrations/github-actions/connect", "POST /v1/integrations/heroku/connect",
		"POST /v1/integrations/heroku/ticket", "GET /v1/integrations/heroku/authorize", "GET /v1/integrations/providers/heroku/all-projects"} {
		body := ""
		if strings.HasSuffix(call, "connect") {
			body = `{"token":"x"}`
		}
		h.ann.do(t, call, body).fails(404, "not-found")
	}
	for _, name := range []string{"heroku", "github-actions"} {
		if s := h.Browser().Open("/v1/integrations/" + name + "/callback?code=x&state=y"); s.Status != 404 {
			t.Errorf("%s: %d", name, s.Status)
		}
	}
}

func TestIntegrationRoutesTakeTheirScopeAndNoOther(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ann := s.user(t, "ann")
	v := ann.vault(t, "@ann/api")
	for letter, scope := range scopeLetters {
		key := s.key(t, "ann", "live", scope)
		for _, r := range integrationRoutes {
			call := v.fill(r.call)
			if strings.Contains(r.scopes, letter) {
				key.do(t, call, r.body).ok(r.status)
				continue
			}
			a := key.do(t, call, r.body).fails(403, "forbidden")
			if detail := a.text("detail"); !strings.Contains(detail, scopeLetters[r.scopes]) {
				t.Errorf("%s: detail %q does not name the scope", r.call, detail)
			}
			if r.inVault() {
				last := ann.do(t, "GET "+v.at()+"/activity?limit=1", "")
				last.same(`["access_denied","scope"]`, []any{last.at("data.0.action"), last.at("data.0.metadata.reason")})
			}
		}
	}
	for _, r := range integrationRoutes {
		s.nobody().do(t, v.fill(r.call), r.body).fails(401, "unauthorized")
	}
}

func TestAnOutsiderFindsNoVaultToSync(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	who := s.users(t, "ann", "eve")
	v := who["ann"].vault(t, "@ann/api")
	ghost := &sample{repo: "@ann/ghost"}
	for _, r := range integrationRoutes {
		if !r.inVault() {
			continue
		}
		there := who["eve"].do(t, v.fill(r.call), r.body, "X-Request-ID", someID).fails(404, "not-found")
		nowhere := who["eve"].do(t, ghost.fill(r.call), r.body, "X-Request-ID", someID).fails(404, "not-found")
		if got, want := strings.ReplaceAll(string(there.raw), "/api/", "/ghost/"), string(nowhere.raw); strings.ReplaceAll(got, "/api", "/ghost") != want {
			t.Errorf("%s: the vault answers\n%s\nno vault answers\n%s", r.call, got, want)
		}
	}
}

const noConnections = `{"connections":[]}`

func TestConnecting(t *testing.T) {
	t.Parallel()
	h := hostedSite(t)
	ann := h.ann
	ann.do(t, "GET /v1/integrations/connections", "").holds(200, noConnections)
	ann.do(t, "GET /v1/integrations/providers/vercel/all-projects", "").holds(200, `{"projects":[],"connections":[]}`)
	token := h.tokens["vercel"]
	a := ann.do(t, "POST /v1/integrations/vercel/connect", fmt.Sprintf(`{"token":%q,"teamId":%q}`, token, h.team))
	a.holds(200, `{"success":true,"provider":"vercel","connectionId":"<id>","user":{"id":"`+h.person+`","username":"ann-at-vercel","teamName":"Acme"}}`)
	id := a.text("data.connectionId")
	a = ann.do(t, "GET /v1/activity?limit=1", "").ok(200)
	a.same(`["integration_connected",{"provider":"vercel","apiKeyId":"<id>"}]`, []any{a.at("data.0.action"), a.at("data.0.metadata")})
	connection := `{"id":"` + id + `","provider":"vercel","providerUserId":"` + h.person + `","providerTeamId":"` + h.team + `","providerTeamName":"Acme",
		"status":"active","createdAt":"<time>","updatedAt":"<time>"}`
	ann.do(t, "GET /v1/integrations/connections", "").holds(200, `{"connections":[`+connection+`]}`)
	project := `{"id":"` + h.project + `","name":"shop","framework":"nextjs","environments":["production","preview","development"],"createdAt":"<time>",
		"connectionId":"` + id + `","teamId":"` + h.team + `","teamName":"Acme"}`
	ann.do(t, "GET /v1/integrations/connections/"+id+"/projects", "").holds(200, `{"projects":[`+project+`]}`)
	ann.do(t, "GET /v1/integrations/providers/vercel/all-projects", "").holds(200, `{"projects":[`+project+`],"connections":[`+connection+`]}`)
	ann.do(t, "GET /v1/integrations/providers/netlify/all-projects", "").holds(200, `{"projects":[],"connections":[]}`)
	usage := ann.do(t, "GET /v1/users/me/usage", "").ok(200)
	usage.same(`1`, usage.at("data.usage.providers"))

	bob := h.user(t, "bob")
	bob.do(t, "GET /v1/integrations/connections", "").holds(200, noConnections)
	for _, foreign := range []string{id, someID, "1", strings.ToUpper(someID)} {
		bob.do(t, "GET /v1/integrations/connections/"+foreign+"/projects", "").fails(404, "not-found")
		bob.do(t, "DELETE /v1/integrations/connections/"+foreign, "").fails(404, "not-found")
	}
	ann.do(t, "DELETE /v1/integrations/connections/"+strings.ToUpper(id), "").ok(204)
	a = ann.do(t, "GET /v1/activity?limit=1", "").ok(200)
	a.same(`["integration_disconnected",{"provider":"vercel","apiKeyId":"<id>"}]`, []any{a.at("data.0.action"), a.at("data.0.metadata")})
	ann.do(t, "DELETE /v1/integrations/connections/"+id, "").fails(404, "not-found")
	ann.do(t, "GET /v1/integrations/connections", "").holds(200, noConnections)
}

func TestATokenIsTriedBeforeItIsKept(t *testing.T) {
	t.Parallel()
	h := hostedSite(t)
	const connect = "POST /v1/integrations/vercel/connect"
	for _, r := range []rule{
		{connect, `{}`, "token:required"},
		{connect, `{"token":""}`, "token:too_short"},
		{connect, `{"token":7}`, "token:invalid_type"},
		{connect, `{"token":"with a blank"}`, "token:invalid_format"},
		{connect, `{"token":"` + strings.Repeat("x", 4097) + `"}`, "token:too_long"},
		{connect, `{"token":"x","teamId":"` + strings.Repeat("x", 256) + `"}`, "teamId:too_long"},
		{connect, `{"token":"x","teamId":"a b"}`, "teamId:invalid_format"},
		{connect, `{"token":"nobodys-token"}`, "token:not_allowed"},
		{connect, fmt.Sprintf(`{"token":%q,"teamId":"team_none"}`, h.tokens["vercel"]), "teamId:unknown_value"},
		{"POST /v1/integrations/netlify/connect", `{"token":"nobodys-token"}`, "token:not_allowed"},
		{"POST /v1/integrations/github-actions/connect", `{"token":"nobodys-token"}`, "token:not_allowed"},
		{"POST /v1/integrations/railway/connect", `{"token":"nobodys-token"}`, "token:not_allowed"},
	} {
		h.ann.do(t, r.call, r.body).fails(422, "validation-error", strings.Fields(r.errors)...)
	}
	h.ann.do(t, connect, "").fails(400, "bad-request")
	h.vercel.Break("", standin.Status(http.StatusInternalServerError))
	h.ann.do(t, connect, fmt.Sprintf(`{"token":%q}`, h.tokens["vercel"])).fails(502, "provider-error")
	h.vercel.Heal()
	h.ann.do(t, "GET /v1/integrations/connections", "").holds(200, noConnections)
}

func TestConnectingAgainIsTheSameConnection(t *testing.T) {
	t.Parallel()
	h, v, g := connected(t)
	link := h.ann.link(t, v, g).ok(200).text("data.link.id")
	first := h.ann.do(t, "GET /v1/integrations/connections", "").ok(200).text("data.connections.0.createdAt")
	time.Sleep(2 * time.Millisecond)
	if again := h.connect(t, h.ann, "vercel"); again != g.connection {
		t.Errorf("another connection: %s, was %s", again, g.connection)
	}
	a := h.ann.do(t, "GET /v1/integrations/connections", "").ok(200)
	if second := a.text("data.connections.0.createdAt"); !instant(t, second).After(instant(t, first)) || a.at("data.connections.1") != nil {
		t.Errorf("connected again at %s, was %s: %s", second, first, a.raw)
	}
	if got := h.ann.do(t, "GET "+v.at(), "").ok(200).text("data.syncs.0.id"); got != link {
		t.Errorf("the link is %q, was %q", got, link)
	}
	personal := h.ann.do(t, "POST /v1/integrations/vercel/connect", fmt.Sprintf(`{"token":%q}`, h.tokens["vercel"])).ok(200).text("data.connectionId")
	if personal == g.connection {
		t.Error("the personal account is the team's connection")
	}
	a = h.ann.do(t, "GET /v1/integrations/connections", "").ok(200)
	a.same(`[null,null]`, []any{a.at("data.connections.1.providerTeamId"), a.at("data.connections.1.providerTeamName")})
}

func TestABrokenConnectionIsToBeMadeAgain(t *testing.T) {
	t.Parallel()
	h, v, g := connected(t)
	h.vercel.Revoke(h.tokens["vercel"])
	for range 2 { // found out, then known
		h.ann.do(t, "GET /v1/integrations/connections/"+g.connection+"/projects", "").fails(409, "conflict")
	}
	for _, what := range []string{"preview", "status", "diff"} {
		a := h.ann.do(t, "GET "+v.syncs()+"/"+what+"?"+g.query(), "").fails(409, "conflict")
		if detail := a.text("detail"); !strings.Contains(detail, "econnect") {
			t.Errorf("%s: detail %q does not say to reconnect", what, detail)
		}
	}
	h.ann.sync(t, v, g).fails(409, "conflict")
	h.ann.link(t, v, g).fails(409, "conflict")
	a := h.ann.do(t, "GET /v1/integrations/providers/vercel/all-projects", "").ok(200)
	a.same(`[[],"reconnect_required"]`, []any{a.at("data.projects"), a.at("data.connections.0.status")})

	h.tokens["vercel"] = h.vercel.Token(hostingtest.VercelToken{User: h.person})
	if again := h.connect(t, h.ann, "vercel"); again != g.connection {
		t.Errorf("another connection: %s", again)
	}
	h.ann.preview(t, v, g).ok(200)
	a = h.ann.do(t, "GET /v1/integrations/connections", "").ok(200)
	a.same(`"active"`, a.at("data.connections.0.status"))
}

func TestAProviderThatFailsIsA502(t *testing.T) {
	t.Parallel()
	h, v, g := connected(t)
	h.vercel.Break("", standin.Status(http.StatusInternalServerError))
	for _, what := range []string{"preview", "status", "diff"} {
		h.ann.do(t, "GET "+v.syncs()+"/"+what+"?"+g.query(), "").fails(502, "provider-error")
	}
	h.ann.do(t, "GET /v1/integrations/connections/"+g.connection+"/projects", "").fails(502, "provider-error")
	h.ann.link(t, v, g).fails(502, "provider-error")
	a := h.ann.do(t, "GET /v1/integrations/providers/vercel/all-projects", "").ok(200)
	a.same(`[[],"active"]`, []any{a.at("data.projects"), a.at("data.connections.0.status")})
	h.ann.sync(t, v, g).holds(200, `{"success":false,"status":"error","stats":{"created":0,"updated":0,"deleted":0,"skipped":0,"total":0},
		"created":0,"updated":0,"deleted":0,"skipped":0,"failed":[],"error":"<text>"}`)
}

func TestTheSmallestPlanHasOneConnectionAndTwoLinks(t *testing.T) {
	t.Parallel()
	h, v, g := connected(t, func(c *server.Config) { c.Plans.Default = "free" })
	limited := func(a *answer) {
		t.Helper()
		a.fails(403, "plan-limit")
		if a.text("upgradeUrl") == "" {
			t.Errorf("%s: no upgradeUrl", a.call)
		}
	}
	limited(h.ann.do(t, "POST /v1/integrations/netlify/connect", fmt.Sprintf(`{"token":%q}`, h.tokens["netlify"])))
	limited(h.ann.do(t, "GET /v1/integrations/netlify/authorize", ""))
	h.connect(t, h.ann, "vercel") // the same one again
	h.ann.do(t, "GET /v1/integrations/vercel/authorize", "").ok(302)
	h.ann.link(t, v, g).ok(200)
	second := h.ann.link(t, v, g.at("keywayEnvironment=staging")).ok(200).text("data.link.id")
	limited(h.ann.link(t, v, g.at("keywayEnvironment=development")))
	h.ann.link(t, v, g).ok(200) // the same one again
	h.ann.do(t, "DELETE "+v.syncs()+"/link/"+second, "").ok(204)
	h.ann.link(t, v, g.at("keywayEnvironment=development")).ok(200)
	h.ann.do(t, "DELETE /v1/integrations/connections/"+g.connection, "").ok(204)
	h.ann.do(t, "POST /v1/integrations/netlify/connect", fmt.Sprintf(`{"token":%q}`, h.tokens["netlify"])).ok(200)
}
