package contracttest

import (
	"net/url"
	"slices"
	"testing"
	"time"
)

// TestTheExistingClientConnectsAndSyncs sends what the existing command-line client
// sends, in its order, and wants the members that it reads.
func TestTheExistingClientConnectsAndSyncs(t *testing.T) {
	t.Parallel()
	h := hostedSite(t)
	ann := h.ann
	v := ann.vault(t, "@ann/api")
	do := func(call, body string) *answer {
		t.Helper()
		return ann.do(t, call, body, "User-Agent", "keyway-cli/dev", "Content-Type", "application/json")
	}
	// connect vercel: is it offered, what is there, and a browser with the token.
	a := h.nobody().do(t, "GET /v1/integrations", "", "User-Agent", "keyway-cli/dev").ok(200)
	a.same(`["vercel","Vercel",true]`, []any{a.at("data.providers.0.name"), a.at("data.providers.0.displayName"), a.at("data.providers.0.configured")})
	do("GET /v1/integrations/connections", "").ok(200).lists("data.connections")
	began := time.Now().Add(-time.Second)
	browse := func() {
		t.Helper()
		b := h.Browser()
		to := leaves(t, b.Open(authorizeVercel+"?token="+url.QueryEscape(ann.token)))
		if s := h.returns(t, b, to, h.team); s.Status != 302 {
			t.Errorf("came back with %d: %s", s.Status, s.Text)
		}
	}
	browse()
	a = do("GET /v1/integrations/connections", "").ok(200)
	id, created := a.text("data.connections.0.id"), a.text("data.connections.0.createdAt")
	if !instant(t, created).After(began) {
		t.Errorf("connected at %s, asked at %s", created, began)
	}
	a.same(`["vercel","`+h.team+`","Acme"]`, []any{a.at("data.connections.0.provider"), a.at("data.connections.0.providerTeamId"), a.at("data.connections.0.providerTeamName")})
	time.Sleep(2 * time.Millisecond)
	browse() // connect once more: the client waits for a later createdAt
	a = do("GET /v1/integrations/connections", "").ok(200)
	if again := a.text("data.connections.0.createdAt"); a.text("data.connections.0.id") != id || !instant(t, again).After(instant(t, created)) {
		t.Errorf("connected again at %s, before at %s: %s", again, created, a.raw)
	}
	do("POST /v1/integrations/netlify/connect", `{"token":"`+h.tokens["netlify"]+`"}`).ok(200)

	// sync: which projects are there, which fits, and what a first sync would meet.
	a = do("GET /v1/integrations/providers/vercel/all-projects", "").ok(200)
	a.same(`["`+h.project+`","shop","`+id+`","`+h.team+`","Acme"]`, []any{a.at("data.projects.0.id"), a.at("data.projects.0.name"),
		a.at("data.projects.0.connectionId"), a.at("data.projects.0.teamId"), a.at("data.projects.0.teamName")})
	a.lists("data.projects.0.environments", "production", "preview", "development")
	a.same(quoted(id), a.at("data.connections.0.id"))
	h.vercel.Put(h.project, "production", "THEIRS", "1")
	common := "connectionId=" + id + "&projectId=" + h.project
	a = do("GET "+v.syncs()+"/status?"+common+"&environment=production", "").ok(200)
	a.same(`{"isFirstSync":true,"vaultIsEmpty":true,"providerHasSecrets":true,"providerSecretCount":1}`, a.at("data"))

	// The client then offers to pull.
	members := `"connectionId":"` + id + `","projectId":"` + h.project + `","keywayEnvironment":"production","providerEnvironment":"production"`
	preview := func(direction, more string) *answer {
		t.Helper()
		return do("GET "+v.syncs()+"/preview?"+common+"&keywayEnvironment=production&providerEnvironment=production&direction="+direction+more, "").ok(200)
	}
	a = preview("pull", "&allowDelete=false")
	a.lists("data.toCreate", "THEIRS")
	for _, list := range []string{"toUpdate", "toDelete", "toSkip"} {
		a.lists("data." + list)
	}
	a = do("POST "+v.syncs(), "{"+members+`,"direction":"pull","allowDelete":false}`).ok(200)
	a.same(`[true,{"created":1,"updated":0,"deleted":0,"skipped":0,"total":1},null]`, []any{a.at("data.success"), a.at("data.stats"), a.at("data.error")})

	// And pushes later, with deletions.
	do("POST /v1/secrets/push", `{"repoFullName":"@ann/api","environment":"production","secrets":{"MINE":"2"}}`).ok(200)
	a = preview("push", "&allowDelete=true")
	a.lists("data.toCreate", "MINE")
	a.lists("data.toDelete", "THEIRS")
	a.lists("data.toUpdate")
	a.lists("data.toSkip")
	a = do("POST "+v.syncs(), "{"+members+`,"direction":"push","allowDelete":true}`).ok(200)
	a.same(`[true,1,0,1,0]`, []any{a.at("data.success"), a.at("data.created"), a.at("data.updated"), a.at("data.deleted"), a.at("data.skipped")})
	h.held(t, "production", map[string]string{"MINE": "2"})
	a = do("GET "+v.syncs()+"/diff?"+common+"&keywayEnvironment=production&providerEnvironment=production", "").ok(200)
	a.same(`[1,1]`, []any{a.at("data.keywayCount"), a.at("data.providerCount")})
	a.lists("data.same", "MINE")
	for _, list := range []string{"onlyInKeyway", "onlyInProvider", "different"} {
		a.lists("data." + list)
	}

	// It sends staging to Netlify, where nothing is called so.
	netlify := do("GET /v1/integrations/providers/netlify/all-projects", "").ok(200)
	netlify.lists("data.projects.0.environments", "production", "deploy-preview", "branch-deploy", "local")
	a = do("GET "+v.syncs()+"/preview?connectionId="+netlify.text("data.projects.0.connectionId")+"&projectId="+h.place+
		"&keywayEnvironment=staging&providerEnvironment=staging&direction=push&allowDelete=false", "").ok(200)
	a.same(`"deploy-preview"`, a.at("data.providerEnvironment"))

	// link, then disconnect.
	link := do("POST "+v.syncs()+"/link", "{"+members+"}").ok(200)
	link.same(`["`+id+`","`+h.project+`","shop",true]`, []any{link.at("data.link.connectionId"), link.at("data.link.projectId"), link.at("data.link.projectName"), link.at("data.link.isNew")})
	a = do("GET /v1/vaults/@ann/api", "").ok(200)
	a.same(`["vercel","`+h.project+`"]`, []any{a.at("data.syncs.0.provider"), a.at("data.syncs.0.projectId")})
	do("DELETE "+v.syncs()+"/link/"+link.text("data.link.id"), "").ok(204)
	do("DELETE /v1/integrations/connections/"+id, "").ok(204)
	a = do("POST "+v.syncs(), "{"+members+`,"direction":"push","allowDelete":false}`).fails(422, "validation-error", "connectionId:unknown_value")
	for _, member := range []string{"title", "detail"} {
		if text, ok := a.at(member).(string); !ok || text == "" {
			t.Errorf("%s is %v", member, a.at(member))
		}
	}
}

// lists wants a list of these texts, and nothing else that a client might take for
// one.
func (a *answer) lists(path string, want ...any) {
	a.t.Helper()
	if got, ok := a.at(path).([]any); !ok || !slices.Equal(got, want) {
		a.t.Errorf("%s: %s is %v, want %v", a.call, path, a.at(path), want)
	}
}
