package contracttest

import (
	"fmt"
	"strings"
	"testing"
)

const noTrial = `{"hasStarted":false,"isActive":false,"daysRemaining":0,"startedAt":null,"endsAt":null,"status":"none","convertedAt":null,"trialDurationDays":14}`

// organization is acme as its members are shown it, without the end.
func organization(role string, members, vaults int) string {
	return fmt.Sprintf(`{"id":"<id>","forgeType":"local","forgeOrgId":"<text>","login":"@acme","displayName":null,"avatarUrl":null,"plan":"team",
		"role":%q,"memberCount":%d,"vaultCount":%d,"createdAt":"<time>","updatedAt":"<time>"`, role, members, vaults)
}

func TestMembersSeeTheirOrganizations(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	who := s.users(t, "ann", "bob", "eve")
	s.org(t, "acme", "ann", "bob")
	s.org(t, "zeta", "bob")
	who["ann"].vault(t, "@acme/api")
	who["ann"].vault(t, "@ann/api")

	who["ann"].do(t, "GET /v1/orgs", "").holds(200, `[`+organization("owner", 2, 1)+`}]`)
	who["bob"].do(t, "GET /v1/orgs", "").ok(200).same(`["@acme","@zeta"]`, who["bob"].do(t, "GET /v1/orgs", "").each("login"))
	who["eve"].do(t, "GET /v1/orgs", "").holds(200, `[]`)
	rest := `,"effectivePlan":"team","defaultPermissions":{},"trialDurationDays":14,"trial":` + noTrial + `}`
	for name, role := range map[string]string{"ann": "owner", "bob": "member"} {
		for _, c := range []*caller{who[name], s.signIn(t, name), s.key(t, name, "test", "read:secrets")} {
			c.do(t, "GET /v1/orgs/@acme", "").holds(200, organization(role, 2, 1)+rest)
			c.do(t, "GET /v1/orgs/"+strings.ToUpper(s.real("@acme")), "").holds(200, organization(role, 2, 1)+rest)
		}
	}
	s.signIn(t, "ann").do(t, "PUT /v1/orgs/@acme", `{"displayName":"Acme","defaultPermissions":{"write":{"protected":{"write":true}}}}`).ok(200)
	a := who["bob"].do(t, "GET /v1/orgs/@acme", "").ok(200)
	a.same(`["Acme",{"write":{"protected":{"write":true}}}]`, []any{a.at("data.displayName"), a.at("data.defaultPermissions")})
	b := who["bob"].do(t, "GET /v1/orgs", "").ok(200)
	b.same(quoted(a.text("data.id")), b.at("data.0.id"))
}

func TestOrganizationsAreForTheirMembers(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	who := s.users(t, "ann", "bob", "eve")
	s.org(t, "acme", "ann", "bob")
	who["ann"].vault(t, "@acme/api")
	s.grant(t, "@acme/api", "eve=admin") // somebody who works there, and is no member
	const sync = "POST /v1/orgs/@acme/members/sync"
	for _, call := range []string{"GET /v1/orgs/@acme", "GET /v1/orgs/@acme/members", sync} {
		s.signIn(t, "eve").do(t, call, "").fails(403, "forbidden")
		s.nobody().do(t, call, "").fails(401, "unauthorized")
		s.key(t, "ann", "live", "write:secrets").do(t, call, "").fails(403, "forbidden")
		for _, org := range []string{"nobody-at-all", "@ann", "@eve", "a%20b", strings.Repeat("x", 300)} {
			s.signIn(t, "ann").do(t, strings.ReplaceAll(call, "@acme", org), "").fails(404, "not-found")
		}
	}
	s.signIn(t, "bob").do(t, sync, "").fails(403, "forbidden")
	who["ann"].do(t, sync, "").fails(403, "forbidden") // a key, whoever's it is
}

func TestMembersAreListedOwnersFirst(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	who := s.users(t, "bob", "ann", "zoe", "dan")
	s.org(t, "acme", "zoe", "dan", "ann", "bob")
	ann := s.signIn(t, "ann")
	member := func(name, role, joined string) string {
		return fmt.Sprintf(`{"id":"<id>","username":"@%s","avatarUrl":null,"role":%q,"joinedAt":%s,"onKeyway":true}`, name, role, joined)
	}
	list := func(joined string) string {
		return `[` + member("zoe", "owner", joined) + `,` + member("ann", "member", joined) + `,` +
			member("bob", "member", joined) + `,` + member("dan", "member", joined) + `]`
	}
	a := ann.do(t, "GET /v1/orgs/@acme/members", "").holds(200, list("null"))
	a.same(quoted(who["zoe"].id(t)), a.at("data.0.id"))
	zoe := s.signIn(t, "zoe")
	zoe.do(t, "POST /v1/orgs/@acme/members/sync", "").
		holds(200, `{"message":"@acme: 4 added, 0 updated, 0 removed","added":4,"updated":0,"removed":0}`)
	ann.do(t, "GET /v1/orgs/@acme/members", "").holds(200, list(`"<time>"`))
	for range 2 {
		s.Member(s.real("@acme"), s.real("@bob"), "owner")
		zoe.do(t, "POST /v1/orgs/@acme/members/sync", "{}").ok(200)
	}
	last := zoe.do(t, "GET /v1/activity?limit=3", "").ok(200)
	last.same(`["org_members_synced","org_members_synced","org_members_synced"]`, last.each("action"))
	last.same(`[{"org":"@acme","added":0,"updated":0,"removed":0},{"org":"@acme","added":0,"updated":1,"removed":0},{"org":"@acme","added":4,"updated":0,"removed":0}]`,
		last.each("metadata"))
	a = ann.do(t, "GET /v1/orgs/@acme/members", "").ok(200)
	a.same(`["@bob","@zoe","@ann","@dan"]`, a.each("username"))
}

func TestNumbersOfRepositories(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	who := s.users(t, "ann", "bob", "eve")
	s.repo(t, "@ann/api", false)
	s.repo(t, "@ann/site", true)
	s.grant(t, "@ann/api", "bob=read")
	const path = "GET /v1/github/repo-ids"
	a := who["ann"].do(t, path+"?repo=@ann/API", "").ok(200)
	if owner, repo := a.text("data.ownerId"), a.text("data.repoId"); owner == repo || strings.ContainsAny(owner+repo, ".e\"") {
		t.Errorf("owner %s, repository %s", owner, repo)
	}
	b := who["bob"].do(t, path+"?repo=@ann/api", "").ok(200)
	b.same(a.text("data.repoId"), b.at("data.repoId"))
	me := who["ann"].do(t, "GET /v1/users/me", "").ok(200)
	me.same(quoted(a.text("data.ownerId")), me.at("data.forgeUserId"))
	for _, repo := range []string{"@ann/api", "@ann/site", "@ann/nothing", "nobody-at-all/api"} {
		who["eve"].do(t, path+"?repo="+repo, "").holds(200, `{"ownerId":null,"repoId":null}`)
	}
	who["ann"].do(t, path+"?repo=@ann/unregistered", "").holds(200, `{"ownerId":null,"repoId":null}`)
	who["ann"].do(t, path, "").fails(422, "validation-error", "repo:required")
	for _, repo := range []string{"ann", "ann/", "a/b/c", "ann/..", "a%20b/c"} {
		who["ann"].do(t, path+"?repo="+repo, "").fails(422, "validation-error", "repo:invalid_format")
	}
}

func TestInstallationsAreThereWhereTheServerSees(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	who := s.users(t, "ann", "bob", "eve")
	s.repo(t, "@ann/api", false)
	s.repo(t, "@ann/site", true)
	s.grant(t, "@ann/api", "bob=read")
	const path = "POST /v1/github/check-installation"
	for _, c := range []*caller{who["ann"], who["bob"], s.signIn(t, "bob"), s.key(t, "bob", "test", "read:secrets")} {
		c.do(t, path, `{"repoOwner":"@ann","repoName":"Api"}`).holds(200, `{"installed":true,"installUrl":null}`)
	}
	for _, name := range []string{"api", "site", "nothing"} {
		who["eve"].do(t, path, `{"repoOwner":"@ann","repoName":"`+name+`"}`).fails(404, "not-found")
	}
	who["ann"].do(t, path, `{}`).fails(422, "validation-error", "repoOwner:required", "repoName:required")
	who["ann"].do(t, path, `{"repoOwner":"a/b","repoName":".."}`).fails(422, "validation-error", "repoOwner:invalid_format", "repoName:invalid_format")
	who["ann"].do(t, path, `{"repoOwner":"ann","repoName":7}`).fails(422, "validation-error", "repoName:invalid_type")
}
