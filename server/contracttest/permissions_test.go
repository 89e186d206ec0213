package contracttest

import (
	"fmt"
	"strings"
	"testing"
)

// operation is something done with one secret in an environment.
type operation struct {
	name, call, body string
	right            string // read or write
	status           int
}

var operations = []operation{
	{"secret_create", "POST {V}/secrets", `{"key":"{fresh}","value":"v","environment":"{env}"}`, "write", 201},
	{"secret_create", "POST {V}/secrets", `{"key":"{name}","value":"v","environment":"{env}"}`, "write", 200},
	{"secret_update", "PATCH {V}/secrets/{secret}", `{"value":"v"}`, "write", 200},
	{"secret_delete", "DELETE {V}/secrets/{secret}", "", "write", 204},
	{"version_restore", "POST {V}/secrets/{secret}/versions/{version}/restore", "", "write", 200},
	{"push", "POST /v1/secrets/push", `{"repoFullName":"{repo}","environment":"{env}","secrets":{"{name}":"p"},"mode":"merge"}`, "write", 200},
	{"trash_restore", "POST {V}/trash/{trashed}/restore", "", "write", 200},
	{"trash_delete", "DELETE {V}/trash/{trashed}", "", "write", 204},
	{"secret_value", "GET {V}/secrets/{secret}/value", "", "read", 200},
	{"version_list", "GET {V}/secrets/{secret}/versions", "", "read", 200},
	{"version_value", "GET {V}/secrets/{secret}/versions/{version}/value", "", "read", 200},
	{"secret_view", "GET /v1/secrets/view?repo={repo}&environment={env}&key={name}", "", "read", 200},
	{"pull", "GET /v1/secrets/pull?repo={repo}&environment={env}", "", "read", 200},
}

// rightsOf is the contract's matrix: what a role may do in an environment type.
var rightsOf = map[string]map[string]string{
	"read":     {"development": "read", "standard": "read", "protected": ""},
	"triage":   {"development": "read", "standard": "read", "protected": ""},
	"write":    {"development": "read write", "standard": "read write", "protected": "read"},
	"maintain": {"development": "read write", "standard": "read write", "protected": "read"},
	"admin":    {"development": "read write", "standard": "read write", "protected": "read write"},
}

var environmentOf = map[string]string{"development": "development", "standard": "staging", "protected": "production"}

// in is the operation with the names and ids of a prepared secret.
func (o operation) in(v *sample, environment, key string) (call, body string) {
	r := strings.NewReplacer("{env}", environment, "{name}", key, "{fresh}", key+"_NEW")
	return v.fill(r.Replace(o.call)), v.fill(r.Replace(o.body))
}

// roles makes a vault of ann's and a person for each role on it, named like it.
func (s *site) roles(t testing.TB) (*caller, *sample, map[string]*caller) {
	t.Helper()
	ann := s.user(t, "ann")
	v := ann.vault(t, "@ann/api")
	people := make(map[string]*caller)
	for role := range rightsOf {
		people[role] = s.user(t, role)
		s.grant(t, v.repo, role+"="+role)
	}
	return ann, v, people
}

// prepare makes a fresh secret of two versions in an environment, and a trashed one.
func (c *caller) prepare(t testing.TB, v *sample, environment, key string) *sample {
	t.Helper()
	secret := c.set(t, v, environment, key, "one")
	c.set(t, v, environment, key, "two")
	trashed := c.set(t, v, environment, key+"_T", "gone")
	c.do(t, "DELETE "+v.at()+"/secrets/"+trashed, "").ok(204)
	return &sample{repo: v.repo, secret: secret, version: c.version(t, v, secret, 1), trashed: trashed}
}

func TestRolesEnvironmentTypesAndOperations(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ann, v, people := s.roles(t)
	for role, types := range rightsOf {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			for kind, rights := range types {
				environment := environmentOf[kind]
				for i, op := range operations {
					key := fmt.Sprintf("%s_%d", strings.ToUpper(role), i)
					call, body := op.in(ann.prepare(t, v, environment, key), environment, key)
					a := people[role].do(t, call, body)
					if strings.Contains(rights, op.right) {
						a.ok(op.status)
						continue
					}
					a.fails(403, "forbidden")
					a = people[role].do(t, "GET /v1/activity?limit=1", "")
					a.same(`"access_denied"`, a.at("data.0.action"))
					a.same(fmt.Sprintf(`{"operation":%q,"reason":"environment","environment":%q,"status":403,"repoFullName":"@ann/api","apiKeyId":"<id>"}`,
						op.name, environment), a.at("data.0.metadata"))
				}
			}
		})
	}
}

func TestOnlyAdminsManage(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ann, v, people := s.roles(t)
	operation := map[string]string{
		"DELETE {V}": "vault_delete", "GET {V}/collaborators": "collaborator_list", "GET {V}/activity": "vault_activity",
		"DELETE {V}/trash": "trash_empty", "POST {V}/environments": "environment_create",
		"PATCH {V}/environments/staging": "environment_rename", "DELETE {V}/environments/staging": "environment_delete",
		"PATCH {V}/environments/staging/type": "environment_retype", "PATCH {V}/environments/staging/order": "environment_move",
	}
	for role, c := range people {
		for _, r := range routes {
			if r.right != "admin" || role == "admin" {
				continue
			}
			c.do(t, v.fill(r.call), v.fill(r.body)).fails(403, "forbidden")
			a := c.do(t, "GET /v1/activity?limit=1", "")
			a.same(fmt.Sprintf(`{"operation":%q,"reason":"role","status":403,"repoFullName":"@ann/api","apiKeyId":"<id>"}`, operation[r.call]),
				a.at("data.0.metadata"))
		}
		c.do(t, "POST /v1/vaults", `{"repoFullName":"@ann/api"}`).ok(map[bool]int{true: 409, false: 403}[role == "admin"])
	}
	for _, r := range routes {
		if r.right == "admin" {
			v := ann.sample(t)
			s.grant(t, v.repo, "admin=admin")
			people["admin"].do(t, v.fill(r.call), v.fill(r.body)).ok(r.status)
		}
	}
}

// TestListsAndCountsHoldOnlyWhatMayBeRead: nobody learns of secrets in
// environments that they may not read.
func TestListsAndCountsHoldOnlyWhatMayBeRead(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ann, v, people := s.roles(t)
	for i, environment := range []string{"development", "staging", "production"} {
		for n := range i + 1 {
			ann.set(t, v, environment, fmt.Sprintf("K%d", n), "v")
		}
		ann.do(t, "DELETE "+v.at()+"/secrets/"+ann.set(t, v, environment, "GONE", "v"), "").ok(204)
	}
	for role, c := range people {
		names, secrets, trashed := `["development","staging","production"]`, "6", "3"
		if role == "read" || role == "triage" {
			names, secrets, trashed = `["development","staging"]`, "3", "2"
		}
		for _, a := range []*answer{c.do(t, "GET "+v.at(), "").ok(200), c.do(t, "GET /v1/vaults", "").ok(200)} {
			record := a.at("data")
			if all, ok := record.([]any); ok {
				record = all[0]
			}
			vault := record.(map[string]any)
			a.same(names, vault["environments"])
			a.same(secrets, vault["secretCount"])
			a.same(quoted(role), vault["permission"])
			a.same(names, namesOf(vault["environmentDetails"]))
		}
		a := c.do(t, "GET "+v.at()+"/environments", "").ok(200)
		a.same(names, namesOf(a.at("data.environments")))
		a = c.do(t, "GET "+v.at()+"/secrets", "").ok(200)
		a.same(secrets, a.at("meta.pagination.total"))
		a = c.do(t, "GET "+v.at()+"/trash", "").ok(200)
		a.same(trashed, a.at("meta.pagination.total"))
		a = c.do(t, "GET "+v.at()+"/secrets?environment=production", "").ok(200)
		a.same(map[string]string{"6": "3", "3": "0"}[secrets], a.at("meta.pagination.total"))
	}
}

func namesOf(environments any) (names []any) {
	for _, e := range environments.([]any) {
		names = append(names, e.(map[string]any)["name"])
	}
	return names
}

func TestARoleCountsAsSoonAsItChanges(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	who := s.users(t, "ann", "bob")
	v := s.shared(t, who["ann"], "@ann/api", "bob=write")
	who["bob"].set(t, v, "staging", "A", "1")
	s.grant(t, v.repo, "bob=read")
	who["bob"].push(t, v, "staging", `{}`, "").fails(403, "forbidden")
	s.grant(t, v.repo, "bob=none")
	who["bob"].push(t, v, "staging", `{}`, "").fails(404, "not-found")
	s.grant(t, v.repo, "bob=admin")
	who["bob"].push(t, v, "production", `{}`, "").ok(200)
}
