package contracttest

import (
	"strings"
	"testing"
)

// TestAnOutsiderFindsNoVault: every route of a vault answers a stranger exactly
// as it answers for a vault that does not exist.
func TestAnOutsiderFindsNoVault(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	who := s.users(t, "ann", "eve")
	v := who["ann"].sample(t)
	ghost := *v
	ghost.repo = "@ann/ghost"
	for _, r := range append(routes, route{"POST /v1/vaults", `{"repoFullName":"{repo}"}`, "W", "any", 201}) {
		if !r.inVault() {
			continue
		}
		eve := who["eve"].by(t, r)
		there := eve.do(t, v.fill(r.call), v.fill(r.body), "X-Request-ID", someID).fails(404, "not-found")
		nowhere := eve.do(t, ghost.fill(r.call), ghost.fill(r.body), "X-Request-ID", someID).fails(404, "not-found")
		if got, want := strings.ReplaceAll(string(there.raw), v.repo[len("@ann"):], "/ghost"), string(nowhere.raw); got != want {
			t.Errorf("%s: the vault answers\n%s\nno vault answers\n%s", r.call, got, want)
		}
		there.header.Del("Date")
		nowhere.header.Del("Date")
		there.header.Del("Content-Length")
		nowhere.header.Del("Content-Length")
		if len(there.header) != len(nowhere.header) {
			t.Errorf("%s: headers %v and %v", r.call, there.header, nowhere.header)
		}
		last := who["ann"].do(t, "GET "+v.at()+"/activity?limit=1", "")
		last.same(`["access_denied","@eve","no_role",404]`, []any{last.at("data.0.action"), last.at("data.0.actor.username"),
			last.at("data.0.metadata.reason"), last.at("data.0.metadata.status")})
	}
	a := who["eve"].do(t, "GET /v1/vaults", "").holds(200, `[]`)
	a.same(`0`, a.at("meta.pagination.total"))
}

// TestAnOutsidersOwnActivityTellsNothing: what was recorded at a vault about
// strangers must not tell them that the vault is there.
func TestAnOutsidersOwnActivityTellsNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	who := s.users(t, "ann", "bob", "eve")
	v := s.shared(t, who["ann"], "@ann/api", "bob=read")
	narrow := s.key(t, "eve", "live", "admin:api-keys")
	before := who["eve"].do(t, "GET /v1/activity", "").text("meta.pagination.total")
	who["eve"].do(t, "GET "+v.at(), "").fails(404, "not-found")
	who["eve"].push(t, v, "staging", `{}`, "").fails(404, "not-found")
	narrow.do(t, "GET "+v.at(), "").fails(403, "forbidden")
	narrow.do(t, "DELETE "+v.at(), "").fails(403, "forbidden")
	a := who["eve"].do(t, "GET /v1/activity", "").ok(200)
	if a.text("meta.pagination.total") != before || strings.Contains(a.s.plain(string(a.raw)), v.repo) {
		t.Errorf("eve's own activity shows that there is a vault: %s", a.raw)
	}
	if got := who["ann"].records(t, v); got != "5" {
		t.Errorf("ann sees %s records, want her own and 4 of eve's", got)
	}
	who["bob"].push(t, v, "staging", `{}`, "").fails(403, "forbidden")
	a = who["bob"].do(t, "GET /v1/activity", "").ok(200)
	a.same(`["access_denied","api_key_created"]`, a.each("action"))
}

func TestPublicRepositoriesAreForTheirMembers(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	who := s.users(t, "ann", "bob", "cyd", "eve")
	s.org(t, "acme", "ann", "bob")
	s.repo(t, "@acme/open", true)
	v := who["ann"].sampleIn(t, "@acme/open")
	s.grant(t, v.repo, "cyd=read")
	a := who["ann"].do(t, "GET "+v.at(), "").ok(200)
	a.same(`[false,"admin"]`, []any{a.at("data.isPrivate"), a.at("data.permission")})
	for _, member := range []string{"bob", "cyd"} {
		a := who[member].do(t, "GET "+v.at(), "").ok(200)
		a.same(`"read"`, a.at("data.permission"))
		who[member].pull(t, v, "development", "").ok(200)
		who[member].pull(t, v, "production", "").fails(403, "forbidden")
		who[member].push(t, v, "development", `{}`, "").fails(403, "forbidden")
	}
	for _, r := range routes {
		if r.inVault() {
			who["eve"].by(t, r).do(t, v.fill(r.call), v.fill(r.body)).fails(404, "not-found")
		}
	}
}

func TestOrganizationOwnersAreAdminsAndMembersNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	who := s.users(t, "ann", "bob", "cyd")
	s.org(t, "acme", "ann", "bob")
	v := who["ann"].sampleIn(t, "@acme/closed")
	a := who["ann"].do(t, "GET "+v.at(), "").ok(200)
	a.same(`[true,"admin"]`, []any{a.at("data.isPrivate"), a.at("data.permission")})
	who["bob"].do(t, "GET "+v.at(), "").fails(404, "not-found")
	a = who["bob"].do(t, "GET /v1/vaults", "").ok(200)
	a.same(`0`, a.at("meta.pagination.total"))
	s.grant(t, v.repo, "bob=triage", "cyd=maintain")
	for name, role := range map[string]string{"bob": "triage", "cyd": "maintain"} {
		a := who[name].do(t, "GET "+v.at(), "").ok(200)
		a.same(quoted(role), a.at("data.permission"))
	}
}
