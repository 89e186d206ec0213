package contracttest

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

const (
	postOverride = "POST {V}/permissions/overrides"
	getOverrides = "GET {V}/permissions/overrides"
)

// overrideFor is a good request for an override. The target is a role, or the
// @name or the id of a user.
func overrideFor(environment, kind, target string, read, write bool) string {
	member := map[string]string{"role": "targetRole", "user": "targetUserId"}[kind]
	return fmt.Sprintf(`{"environment":%q,"targetType":%q,%q:%q,"canRead":%t,"canWrite":%t}`, environment, kind, member, target, read, write)
}

// override makes an override and returns its id.
func (c *caller) override(t testing.TB, v *sample, environment, kind, target string, read, write bool) string {
	t.Helper()
	return c.do(t, v.fill(postOverride), overrideFor(environment, kind, target, read, write)).ok(201).text("data.id")
}

// id is the id of the caller's user.
func (c *caller) id(t testing.TB) string {
	t.Helper()
	return c.do(t, "GET /v1/users/me", "").ok(200).text("data.id")
}

// signed wants the newest record of a vault to be this action, done by a person
// and not by a key, with exactly this metadata beside the repository's name.
func (c *caller) signed(t testing.TB, v *sample, action, metadata string) {
	t.Helper()
	a := c.do(t, "GET "+v.at()+"/activity?limit=1", "").ok(200)
	a.same(quoted(action), a.at("data.0.action"))
	a.same(fmt.Sprintf(`{"repoFullName":%q,%s}`, v.repo, metadata), a.at("data.0.metadata"))
}

// matrix is 3.3 as the API writes it.
func matrix() string {
	var roles []string
	for role, types := range rightsOf {
		var kinds []string
		for kind, rights := range types {
			kinds = append(kinds, fmt.Sprintf(`%q:{"read":%t,"write":%t}`, kind, strings.Contains(rights, "read"), strings.Contains(rights, "write")))
		}
		roles = append(roles, fmt.Sprintf(`%q:{%s}`, role, strings.Join(kinds, ",")))
	}
	return "{" + strings.Join(roles, ",") + "}"
}

func TestOverridesAreMadeChangedAndDeleted(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	who := s.users(t, "ann", "bob")
	ann, bob := s.signIn(t, "ann"), who["bob"].id(t)
	v := s.shared(t, who["ann"], "@ann/api", "bob=write")
	const dates = `"createdBy":{"id":"<id>","username":"@ann"},"createdAt":"<time>","updatedAt":"<time>"`
	targets := []struct{ name, environment, kind, target, shown, recorded string }{
		{"a role everywhere", "*", "role", "write", `"targetUser":null,"targetRole":"write"`, "write"},
		{"a role in an environment", "production", "role", "read", `"targetUser":null,"targetRole":"read"`, "read"},
		{"a user everywhere", "*", "user", bob, `"targetUser":{"id":"` + bob + `","username":"@bob","avatarUrl":null},"targetRole":null`, "@bob"},
		{"a user in an environment", "staging", "user", bob, `"targetUser":{"id":"` + bob + `","username":"@bob","avatarUrl":null},"targetRole":null`, "@bob"},
	}
	for _, tt := range targets {
		t.Run(tt.name, func(t *testing.T) {
			record := func(read, write bool) string {
				return fmt.Sprintf(`{"id":"<id>","environment":%q,"targetType":%q,%s,"canRead":%t,"canWrite":%t,%s}`,
					tt.environment, tt.kind, tt.shown, read, write, dates)
			}
			made := ann.do(t, v.fill(postOverride), overrideFor(tt.environment, tt.kind, tt.target, true, false)).holds(201, record(true, false))
			if got := made.header.Get("Location"); got != "" {
				t.Errorf("an override has no GET path, but Location %q", got)
			}
			id := made.text("data.id")
			meta := func(read, write bool, more string) string {
				return fmt.Sprintf(`"overrideId":%q,"environment":%q,"targetType":%q,"target":%q,"canRead":%t,"canWrite":%t%s`,
					id, tt.environment, tt.kind, tt.recorded, read, write, more)
			}
			ann.signed(t, v, "permission_override_created", meta(true, false, ""))
			ann.do(t, v.fill(postOverride), overrideFor(tt.environment, tt.kind, tt.target, false, true)).fails(409, "conflict")

			v.override = id
			path := v.fill("{V}/permissions/overrides/{override}")
			time.Sleep(2 * time.Millisecond)
			changed := ann.do(t, "PUT "+path, `{"canWrite":true}`).holds(200, record(true, true))
			ann.signed(t, v, "permission_override_updated", meta(true, true, `,"before":{"canRead":true,"canWrite":false}`))
			if changed.text("data.createdAt") != made.text("data.createdAt") || changed.text("data.updatedAt") <= made.text("data.updatedAt") {
				t.Errorf("made %s\nchanged %s", made.raw, changed.raw)
			}
			ann.do(t, "PUT "+path, `{"canRead":false}`).holds(200, record(false, true))
			ann.do(t, "PUT "+path, `{"canRead":true,"canWrite":false,"environment":"development","targetRole":"admin"}`).holds(200, record(true, false))
			ann.signed(t, v, "permission_override_updated", meta(true, false, `,"before":{"canRead":false,"canWrite":true}`))
			a := ann.do(t, v.fill(getOverrides), "").holds(200, `{"overrides":[`+record(true, false)+`],"defaults":`+matrix()+`}`)
			a.same(quoted(id), a.at("data.overrides.0.id"))

			ann.do(t, "DELETE "+path, "").holds(200, `{"deleted":true}`)
			ann.signed(t, v, "permission_override_deleted", meta(true, false, ""))
			for _, method := range []string{"DELETE ", "PUT "} {
				ann.do(t, method+path, `{"canRead":true}`).fails(404, "not-found")
			}
		})
	}
	ann.do(t, v.fill(getOverrides), "").holds(200, `{"overrides":[],"defaults":`+matrix()+`}`)
}

func TestAResetRemovesAllOverridesOfItsVault(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	who := s.users(t, "ann")
	ann := s.signIn(t, "ann")
	v, other := who["ann"].vault(t, "@ann/api"), who["ann"].vault(t, "@ann/other")
	for _, environment := range []string{"*", "staging", "production"} {
		ann.override(t, v, environment, "role", "read", true, true)
		ann.override(t, other, environment, "role", "read", true, true)
	}
	for range 2 { // a vault without any is reset all the same
		ann.do(t, v.fill("DELETE {V}/permissions/reset"), "").holds(200, `{"message":"<text>","defaults":`+matrix()+`}`)
		last := ann.do(t, "GET "+v.at()+"/activity?limit=1", "").ok(200)
		last.same(`"permission_overrides_reset"`, last.at("data.0.action"))
		a := ann.do(t, v.fill(getOverrides), "").ok(200)
		a.same(`[]`, a.at("data.overrides"))
	}
	a := ann.do(t, other.fill(getOverrides), "").ok(200)
	if n := len(a.at("data.overrides").([]any)); n != 3 {
		t.Errorf("another vault has %d overrides left: %s", n, a.raw)
	}
}

func TestEveryBrokenRuleOfAnOverrideIsNamed(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	who := s.users(t, "ann")
	ann := s.signIn(t, "ann")
	v := who["ann"].vault(t, "@ann/api")
	v.override = ann.override(t, v, "*", "role", "read", true, true)
	put := "PUT {V}/permissions/overrides/{override}"
	role := func(member string) string {
		return with(map[string]string{"environment": `"staging"`, "targetType": `"role"`, "targetRole": `"write"`, "canRead": "true", "canWrite": "true"}, member)
	}
	user := func(member string) string {
		return with(map[string]string{"environment": `"staging"`, "targetType": `"user"`, "targetUserId": quoted(ann.id(t)), "canRead": "true", "canWrite": "true"}, member)
	}
	for _, r := range []rule{
		{postOverride, `{}`, "environment:required targetType:required canRead:required canWrite:required"},
		{postOverride, role(`"environment":null`), "environment:required"},
		{postOverride, role(`"environment":"Staging"`), "environment:invalid_format"},
		{postOverride, role(`"environment":"**"`), "environment:invalid_format"},
		{postOverride, role(`"environment":""`), "environment:invalid_format"},
		{postOverride, role(`"environment":"nowhere"`), "environment:unknown_value"},
		{postOverride, role(`"targetType":"team"`), "targetType:unknown_value"},
		{postOverride, role(`"targetType":1`), "targetType:invalid_type"},
		{postOverride, role(`"targetRole":null`), "targetRole:required"},
		{postOverride, role(`"targetRole":"owner"`), "targetRole:unknown_value"},
		{postOverride, role(`"targetRole":"Write"`), "targetRole:unknown_value"},
		{postOverride, role(`"targetRole":3`), "targetRole:invalid_type"},
		{postOverride, role(`"targetUserId":` + quoted(someID)), "targetUserId:not_allowed"},
		{postOverride, role(`"canRead":"true"`), "canRead:invalid_type"},
		{postOverride, role(`"canRead":null`), "canRead:required"},
		{postOverride, role(`"canWrite":0`), "canWrite:invalid_type"},
		{postOverride, user(`"targetUserId":null`), "targetUserId:required"},
		{postOverride, user(`"targetUserId":` + quoted(someID)), "targetUserId:unknown_value"},
		{postOverride, user(`"targetUserId":"@ann"`), "targetUserId:unknown_value"},
		{postOverride, user(`"targetUserId":7`), "targetUserId:invalid_type"},
		{postOverride, user(`"targetRole":"read"`), "targetRole:not_allowed"},
		{put, `{}`, "canRead:required"},
		{put, `{"canRead":null,"canWrite":null}`, "canRead:required"},
		{put, `{"environment":"*"}`, "canRead:required"},
		{put, `{"canRead":"yes"}`, "canRead:invalid_type"},
		{put, `{"canRead":true,"canWrite":1}`, "canWrite:invalid_type"},
	} {
		t.Run(r.call+" "+r.body, func(t *testing.T) {
			ann.do(t, v.fill(r.call), r.body).fails(422, "validation-error", strings.Fields(r.errors)...)
		})
	}
	a := ann.do(t, v.fill(getOverrides), "").ok(200)
	a.same(`[true,true]`, []any{a.at("data.overrides.0.canRead"), a.at("data.overrides.0.canWrite")})
	a.same(`null`, a.at("data.overrides.1"))
}

// TestAnOverrideIsFoundInItsVaultOnly: an admin of one vault reaches no
// overrides of another by their ids.
func TestAnOverrideIsFoundInItsVaultOnly(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	who := s.users(t, "ann", "bob")
	ann, bob := s.signIn(t, "ann"), s.signIn(t, "bob")
	v, mine := who["ann"].vault(t, "@ann/api"), who["bob"].vault(t, "@bob/own")
	id := ann.override(t, v, "production", "role", "read", false, false)
	for _, there := range []string{id, someID, "1", strings.ReplaceAll(id, "-", "")} {
		bob.do(t, "PUT "+mine.at()+"/permissions/overrides/"+there, `{"canRead":true}`).fails(404, "not-found")
		bob.do(t, "DELETE "+mine.at()+"/permissions/overrides/"+there, "").fails(404, "not-found")
	}
	bob.do(t, "PUT "+v.at()+"/permissions/overrides/"+id, `{"canRead":true}`).fails(404, "not-found")
	a := ann.do(t, v.fill(getOverrides), "").ok(200)
	a.same(fmt.Sprintf(`[%q,false]`, id), []any{a.at("data.overrides.0.id"), a.at("data.overrides.0.canRead")})
}

func TestOverridesAreManagedByAdminsAndOwnersThemselves(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ann, v, people := s.roles(t)
	v.override = s.signIn(t, "ann").override(t, v, "production", "role", "triage", true, false)
	operation := map[string]string{"POST": "override_create", "PUT": "override_update", "DELETE": "override_delete"}
	var manage []route
	for _, r := range routes {
		if r.right == "manage" {
			manage = append(manage, r)
		}
	}
	for role := range rightsOf {
		person := s.signIn(t, role)
		for _, r := range manage {
			name := operation[strings.Fields(r.call)[0]]
			if strings.HasSuffix(r.call, "/reset") {
				name = "override_reset"
			}
			people[role].do(t, v.fill(r.call), r.body).fails(403, "forbidden") // a key, whoever's it is
			a := ann.do(t, "GET "+v.at()+"/activity?limit=1", "")
			a.same(fmt.Sprintf(`{"operation":%q,"reason":"scope","status":403,"repoFullName":"@ann/api","apiKeyId":"<id>"}`, name), a.at("data.0.metadata"))
			if role == "admin" {
				continue
			}
			person.do(t, v.fill(r.call), r.body).fails(403, "forbidden")
			ann.signed(t, v, "access_denied", fmt.Sprintf(`"operation":%q,"reason":"role","status":403`, name))
		}
		person.do(t, v.fill("PUT {V}/permissions/overrides/"+someID), `{"canRead":true}`).ok(map[bool]int{true: 404, false: 403}[role == "admin"])
		person.do(t, v.fill(postOverride), overrideFor("nowhere", "role", "read", true, true)).ok(map[bool]int{true: 422, false: 403}[role == "admin"])
	}
	admin := s.signIn(t, "admin")
	for _, r := range manage {
		admin.do(t, v.fill(r.call), r.body).ok(r.status)
	}
	s.org(t, "acme", "ann")
	theirs := ann.vault(t, "@acme/api")
	s.signIn(t, "ann").override(t, theirs, "*", "role", "read", true, true)
}

// TestWhoDoesNotManageSeesWhatConcernsThem: entries for all environments and for
// those that the caller may read.
func TestWhoDoesNotManageSeesWhatConcernsThem(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ann, v, people := s.roles(t)
	manager := s.signIn(t, "ann")
	for _, environment := range []string{"*", "development", "staging", "production"} {
		manager.override(t, v, environment, "user", ann.id(t), true, true)
	}
	for role, want := range map[string]string{
		"read": `["*","development","staging"]`, "triage": `["*","development","staging"]`,
		"write": `["*","development","staging","production"]`, "maintain": `["*","development","staging","production"]`,
		"admin": `["*","development","staging","production"]`,
	} {
		a := people[role].do(t, v.fill(getOverrides), "").ok(200)
		a.same(want, environmentsOf(a))
		a.same(matrix(), a.at("data.defaults"))
	}
	manager.override(t, v, "development", "role", "read", false, false)
	manager.override(t, v, "production", "role", "read", true, false)
	a := people["read"].do(t, v.fill(getOverrides), "").ok(200)
	a.same(`["*","staging","production","production"]`, environmentsOf(a))
	manager.override(t, v, "production", "role", "admin", false, false)
	a = people["admin"].do(t, v.fill(getOverrides), "").ok(200)
	a.same(`["*","development","staging","production","development","production","production"]`, environmentsOf(a))
}

func environmentsOf(a *answer) (names []any) {
	for i := range a.at("data.overrides").([]any) {
		names = append(names, a.at(fmt.Sprintf("data.overrides.%d.environment", i)))
	}
	return names
}

func TestEffectiveRightsAndDefaultsByRole(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	_, v, people := s.roles(t)
	const all = `{"development":{"read":true,"write":true},"staging":{"read":true,"write":true},"production":{"read":true,"write":%t}}`
	for role, want := range map[string]string{
		"read":   `{"development":{"read":true,"write":false},"staging":{"read":true,"write":false}}`,
		"triage": `{"development":{"read":true,"write":false},"staging":{"read":true,"write":false}}`,
		"write":  fmt.Sprintf(all, false), "maintain": fmt.Sprintf(all, false), "admin": fmt.Sprintf(all, true),
	} {
		people[role].do(t, "GET "+v.at()+"/permissions/effective", "").holds(200, fmt.Sprintf(`{"role":%q,"permissions":%s}`, role, want))
		people[role].do(t, "GET "+v.at()+"/permissions/defaults", "").holds(200, `{"matrix":`+matrix()+`,"description":"<text>"}`)
	}
	s.key(t, "admin", "test", "read:secrets").do(t, "GET "+v.at()+"/permissions/effective", "").
		holds(200, `{"role":"admin","permissions":{"development":{"read":true,"write":true},"staging":{"read":true,"write":true}}}`)
}

// TestTheFirstRuleThatSpeaksDecides adds rules from the weakest to the strongest
// and sees each decide, in what is told and in what is done.
func TestTheFirstRuleThatSpeaksDecides(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	who := s.users(t, "ann", "bob", "cyd")
	s.org(t, "acme", "ann")
	ann, bob := s.signIn(t, "ann"), who["bob"]
	v := s.shared(t, who["ann"], "@acme/api", "bob=write", "cyd=maintain")
	who["ann"].set(t, v, "production", "A", "1")
	defaults := func(text string) func() {
		return func() { ann.do(t, putOrg, `{"defaultPermissions":`+text+`}`).ok(200) }
	}
	override := func(environment, kind, target string, read, write bool) func() {
		return func() { ann.override(t, v, environment, kind, target, read, write) }
	}
	id := bob.id(t)
	for _, step := range []struct {
		name        string
		add         func()
		read, write bool
	}{
		{"the matrix", func() {}, true, false},
		{"defaults of another role", defaults(`{"maintain":{"protected":{"read":false}}}`), true, false},
		{"defaults of another type", defaults(`{"write":{"standard":{"read":false}}}`), true, false},
		{"defaults that are silent", defaults(`{"write":{"protected":{}}}`), true, false},
		{"defaults of one right, the matrix of the other", defaults(`{"write":{"protected":{"write":true}}}`), true, true},
		{"defaults of both", defaults(`{"write":{"protected":{"read":false,"write":true}}}`), false, true},
		{"a higher role everywhere", override("*", "role", "maintain", true, false), false, true},
		{"a lower role there", override("production", "role", "read", true, false), false, true},
		{"another user there", override("production", "user", who["cyd"].id(t), true, false), false, true},
		{"the role everywhere", override("*", "role", "write", true, false), true, false},
		{"the role elsewhere", override("staging", "role", "write", false, false), true, false},
		{"the role there", override("production", "role", "write", false, false), false, false},
		{"the user elsewhere", override("development", "user", id, true, true), false, false},
		{"the user everywhere", override("*", "user", id, true, true), true, true},
		{"the user there", override("production", "user", id, false, true), false, true},
	} {
		t.Run(step.name, func(t *testing.T) {
			step.add()
			want := fmt.Sprintf(`{"read":%t,"write":%t}`, step.read, step.write)
			if !step.read && !step.write {
				want = `null`
			}
			a := bob.do(t, "GET "+v.at()+"/permissions/effective", "").ok(200)
			a.same(want, a.at("data.permissions.production"))
			status := map[bool]int{true: 200, false: 403}
			bob.pull(t, v, "production", "").ok(status[step.read])
			bob.push(t, v, "production", `{}`, `,"mode":"merge"`).ok(status[step.write])
			a = bob.do(t, "GET "+v.at()+"/secrets?environment=production", "").ok(200)
			a.same(map[bool]string{true: "1", false: "0"}[step.read], a.at("meta.pagination.total"))
		})
	}
	a := bob.do(t, "GET "+v.at()+"/permissions/defaults", "").ok(200)
	a.same(`{"read":false,"write":true}`, a.at("data.matrix.write.protected"))
	a.same(`{"read":true,"write":false}`, a.at("data.matrix.maintain.protected"))

	s.grant(t, v.repo, "bob=none")
	bob.push(t, v, "production", `{}`, "").fails(404, "not-found") // who has no role has no rights
	bob.do(t, "GET "+v.at()+"/permissions/effective", "").fails(404, "not-found")
}

func TestTestKeysLoseWhatOverridesGive(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	who := s.users(t, "ann", "bob")
	v := s.shared(t, who["ann"], "@ann/api", "bob=read")
	s.signIn(t, "ann").override(t, v, "*", "user", who["bob"].id(t), true, true)
	test := s.key(t, "bob", "test", "read:secrets", "write:secrets")
	test.pull(t, v, "production", "").fails(403, "forbidden")
	test.push(t, v, "production", `{}`, "").fails(403, "forbidden")
	test.push(t, v, "staging", `{}`, "").ok(200)
	who["bob"].push(t, v, "production", `{}`, "").ok(200)
	a := test.do(t, "GET "+v.at()+"/permissions/effective", "").ok(200)
	a.same(`null`, a.at("data.permissions.production"))
}

func TestAnOverrideTakesRightsFromAnAdmin(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ann := s.user(t, "ann")
	v := ann.vault(t, "@ann/api")
	ann.set(t, v, "production", "A", "1")
	person := s.signIn(t, "ann")
	v.override = person.override(t, v, "production", "role", "admin", false, false)
	ann.pull(t, v, "production", "").fails(403, "forbidden")
	ann.push(t, v, "production", `{}`, "").fails(403, "forbidden")
	a := ann.do(t, "GET "+v.at(), "").ok(200)
	a.same(`[["development","staging"],0]`, []any{a.at("data.environments"), a.at("data.secretCount")})
	person.do(t, v.fill("DELETE {V}/permissions/overrides/{override}"), "").ok(200)
	ann.pull(t, v, "production", "").ok(200)
}

func TestOverridesGoWithTheirEnvironment(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	who := s.users(t, "ann", "bob")
	ann := s.signIn(t, "ann")
	v := s.shared(t, who["ann"], "@ann/api", "bob=read")
	ann.override(t, v, "staging", "role", "read", true, true)
	ann.override(t, v, "*", "role", "maintain", true, true)
	ann.do(t, "PATCH "+v.at()+"/environments/staging", `{"newName":"preview"}`).ok(200)
	a := ann.do(t, v.fill(getOverrides), "").ok(200)
	a.same(`["preview","*"]`, environmentsOf(a))
	who["bob"].push(t, v, "preview", `{"A":"1"}`, "").ok(200)
	ann.do(t, v.fill(postOverride), overrideFor("staging", "role", "read", true, true)).fails(422, "validation-error", "environment:unknown_value")
	ann.do(t, "DELETE "+v.at()+"/environments/preview", "").ok(200)
	ann.do(t, "POST "+v.at()+"/environments", `{"name":"preview"}`).ok(201)
	a = ann.do(t, v.fill(getOverrides), "").ok(200)
	a.same(`["*"]`, environmentsOf(a))
	who["bob"].push(t, v, "preview", `{"A":"1"}`, "").fails(403, "forbidden")
}
