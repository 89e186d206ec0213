package contracttest

import (
	"strings"
	"testing"
)

const putOrg = "PUT /v1/orgs/@acme"

func TestAnOwnerChangesAnOrganization(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.users(t, "ann")
	s.org(t, "acme", "ann")
	ann := s.signIn(t, "ann")
	const some = `{"read":{"protected":{"read":true}},"write":{"standard":{"read":true,"write":false},"development":{}},"admin":{}}`
	steps := []struct{ name, body, displayName, defaults, changed string }{
		{"a name", `{"displayName":"Acme, Inc."}`, `"Acme, Inc."`, `{}`, `["displayName"]`},
		{"defaults", `{"defaultPermissions":` + some + `}`, `"Acme, Inc."`, some, `["defaultPermissions"]`},
		{"the longest name", `{"displayName":"` + strings.Repeat("é", 100) + `"}`, `"` + strings.Repeat("é", 100) + `"`, some, `["displayName"]`},
		{"other defaults instead", `{"defaultPermissions":{"triage":{"protected":{"write":false}}}}`,
			`"` + strings.Repeat("é", 100) + `"`, `{"triage":{"protected":{"write":false}}}`, `["defaultPermissions"]`},
		{"no name", `{"displayName":null}`, `null`, `{"triage":{"protected":{"write":false}}}`, `["displayName"]`},
		{"both", `{"displayName":"A","defaultPermissions":{}}`, `"A"`, `{}`, `["displayName","defaultPermissions"]`},
		{"what it does not know", `{"displayName":"A","login":"other","plan":"free"}`, `"A"`, `{}`, `["displayName"]`},
	}
	for _, step := range steps {
		t.Run(step.name, func(t *testing.T) {
			ann.do(t, putOrg, step.body).
				holds(200, `{"id":"<id>","login":"@acme","displayName":`+step.displayName+`,"defaultPermissions":`+step.defaults+`,"updatedAt":"<time>"}`)
			last := ann.do(t, "GET /v1/activity?limit=1", "").ok(200)
			last.same(`["org_updated",null,{"org":"@acme","changed":`+step.changed+`}]`,
				[]any{last.at("data.0.action"), last.at("data.0.vaultId"), last.at("data.0.metadata")})
		})
	}
	first := ann.do(t, "PUT /v1/orgs/"+strings.ToUpper(s.real("@acme")), `{"displayName":"B"}`).ok(200)
	second := ann.do(t, putOrg, `{"displayName":"C"}`).ok(200)
	first.same(`"@acme"`, first.at("data.login"))
	second.same(quoted(first.text("data.id")), second.at("data.id"))
}

func TestEveryBrokenRuleOfAnOrganizationIsNamed(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.users(t, "ann")
	s.org(t, "acme", "ann")
	ann := s.signIn(t, "ann")
	ann.do(t, putOrg, `{"displayName":"A","defaultPermissions":{"read":{"protected":{"read":true}}}}`).ok(200)
	for _, r := range []struct{ field, body, errors string }{
		{"displayName", `{}`, "displayName:required"},
		{"displayName", `{"unknown":true}`, "displayName:required"},
		{"displayName", `{"defaultPermissions":null}`, "displayName:required"},
		{"displayName", `{"displayName":""}`, "displayName:too_short"},
		{"displayName", `{"displayName":"` + strings.Repeat("é", 101) + `"}`, "displayName:too_long"},
		{"displayName", `{"displayName":7}`, "displayName:invalid_type"},
		{"displayName", `{"displayName":["A"]}`, "displayName:invalid_type"},
		{"displayName", `{"displayName":"a\u0000"}`, "displayName:invalid_format"},
		{"defaultPermissions", `{"defaultPermissions":[]}`, "defaultPermissions:invalid_type"},
		{"defaultPermissions", `{"defaultPermissions":"read"}`, "defaultPermissions:invalid_type"},
		{"role", `{"defaultPermissions":{"owner":{}}}`, "defaultPermissions.owner:unknown_value"},
		{"role", `{"defaultPermissions":{"Read":{}}}`, "defaultPermissions.Read:unknown_value"},
		{"role", `{"defaultPermissions":{"none":{},"read":{}}}`, "defaultPermissions.none:unknown_value"},
		{"role", `{"defaultPermissions":{"read":true}}`, "defaultPermissions.read:invalid_type"},
		{"type", `{"defaultPermissions":{"read":{"production":{}}}}`, "defaultPermissions.read.production:unknown_value"},
		{"type", `{"defaultPermissions":{"read":{"*":{}}}}`, "defaultPermissions.read.*:unknown_value"},
		{"type", `{"defaultPermissions":{"read":{"protected":true}}}`, "defaultPermissions.read.protected:invalid_type"},
		{"member", `{"defaultPermissions":{"read":{"protected":{"admin":true}}}}`, "defaultPermissions.read.protected.admin:unknown_value"},
		{"member", `{"defaultPermissions":{"read":{"protected":{"canRead":true}}}}`, "defaultPermissions.read.protected.canRead:unknown_value"},
		{"boolean", `{"defaultPermissions":{"read":{"protected":{"read":"true"}}}}`, "defaultPermissions.read.protected.read:invalid_type"},
		{"boolean", `{"defaultPermissions":{"read":{"protected":{"read":1}}}}`, "defaultPermissions.read.protected.read:invalid_type"},
		{"boolean", `{"defaultPermissions":{"read":{"protected":{"write":null}}}}`, "defaultPermissions.read.protected.write:invalid_type"},
		{"all of them", `{"displayName":"","defaultPermissions":{"king":{},"read":{"protected":{"read":true,"grant":true}}}}`,
			"displayName:too_short defaultPermissions.king:unknown_value defaultPermissions.read.protected.grant:unknown_value"},
	} {
		t.Run(r.field+" "+r.body, func(t *testing.T) {
			ann.do(t, putOrg, r.body).fails(422, "validation-error", strings.Fields(r.errors)...)
		})
	}
	ann.do(t, putOrg, "").fails(422, "validation-error", "displayName:required")
	for _, body := range []string{"[]", "null", "{", `{"displayName":"A","displayName":"B"}`} {
		ann.do(t, putOrg, body).fails(400, "bad-request")
	}
	after := ann.do(t, putOrg, `{"displayName":"A"}`).ok(200)
	after.same(`{"read":{"protected":{"read":true}}}`, after.at("data.defaultPermissions"))
}

func TestOnlyOwnersChangeAnOrganization(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	who := s.users(t, "ann", "bob", "eve")
	s.org(t, "acme", "ann", "bob")
	who["ann"].vault(t, "@acme/api")
	s.grant(t, "@acme/api", "eve=admin")
	const body = `{"displayName":"Mine"}`
	for _, name := range []string{"bob", "eve"} { // a member, and somebody who is admin of a repository
		s.signIn(t, name).do(t, putOrg, body).fails(403, "forbidden")
	}
	ann := s.signIn(t, "ann")
	for _, c := range []*caller{who["ann"], who["bob"], s.key(t, "ann", "test", "admin:api-keys")} {
		c.do(t, putOrg, body).fails(403, "forbidden")
		c.do(t, "PUT /v1/orgs/nobody-at-all", body).fails(403, "forbidden")
		c.do(t, putOrg, "{").fails(403, "forbidden")
	}
	s.nobody().do(t, putOrg, body).fails(401, "unauthorized")
	for _, org := range []string{"nobody-at-all", "@ann", "@eve", "a%20b", strings.Repeat("x", 300)} {
		ann.do(t, "PUT /v1/orgs/"+org, body).fails(404, "not-found")
	}
	s.signIn(t, "eve").do(t, putOrg, `{"displayName":""}`).fails(422, "validation-error", "displayName:too_short")
	a := ann.do(t, putOrg, `{"defaultPermissions":{}}`).ok(200)
	a.same(`null`, a.at("data.displayName"))
}
