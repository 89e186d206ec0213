package contracttest

import (
	"cmp"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
)

// route is one endpoint as the contract's tables have it, with a request that
// succeeds in the vault of a sample.
type route struct {
	call   string
	body   string
	scopes string // letters of section 2: "-" is any credential, "U" a person's, "S" a session's
	right  string // of 3.4: self, any, admin, read, write, and manage for overrides
	status int
}

var routes = []route{
	{"GET /v1/vaults", "", "R", "self", 200},
	{"POST /v1/vaults", `{"repoFullName":"{new}"}`, "W", "create", 201},
	{"GET {V}", "", "R", "any", 200},
	{"DELETE {V}", "", "D", "admin", 204},
	{"GET {V}/collaborators", "", "R", "admin", 200},
	{"GET {V}/activity", "", "R", "admin", 200},

	{"GET {V}/secrets", "", "R", "any", 200},
	{"POST {V}/secrets", `{"key":"NEW","value":"v","environment":"development"}`, "W", "write", 201},
	{"PATCH {V}/secrets/{secret}", `{"value":"v"}`, "W", "write", 200},
	{"DELETE {V}/secrets/{secret}", "", "D", "write", 204},
	{"GET {V}/secrets/{secret}/value", "", "R", "read", 200},
	{"GET {V}/secrets/{secret}/versions", "", "R", "read", 200},
	{"GET {V}/secrets/{secret}/versions/{version}/value", "", "R", "read", 200},
	{"POST {V}/secrets/{secret}/versions/{version}/restore", "", "W", "write", 200},
	{"GET /v1/secrets/view?repo={repo}&environment=development&key=A", "", "R", "read", 200},

	{"GET {V}/trash", "", "RD", "any", 200},
	{"POST {V}/trash/{trashed}/restore", "", "D", "write", 200},
	{"DELETE {V}/trash/{trashed}", "", "D", "write", 204},
	{"DELETE {V}/trash", "", "D", "admin", 200},

	{"POST /v1/secrets/push", `{"repoFullName":"{repo}","environment":"development","secrets":{"A":"pushed"}}`, "W", "write", 200},
	{"GET /v1/secrets/pull?repo={repo}&environment=development", "", "R", "read", 200},

	{"GET {V}/environments", "", "R", "any", 200},
	{"POST {V}/environments", `{"name":"extra"}`, "W", "admin", 201},
	{"PATCH {V}/environments/staging", `{"newName":"preview"}`, "W", "admin", 200},
	{"DELETE {V}/environments/staging", "", "D", "admin", 200},
	{"PATCH {V}/environments/staging/type", `{"type":"development"}`, "W", "admin", 200},
	{"PATCH {V}/environments/staging/order", `{"displayOrder":0}`, "W", "admin", 200},

	{"GET /v1/users/me", "", "R", "self", 200},
	{"GET /v1/users/me/usage", "", "R", "self", 200},
	{"GET /v1/activity", "", "R", "self", 200},

	{"POST /v1/api-keys", `{"name":"n","environment":"test","scopes":["admin:api-keys"]}`, "K", "self", 201},
	{"GET /v1/api-keys", "", "K", "self", 200},
	{"GET /v1/api-keys/{key}", "", "K", "self", 200},
	{"DELETE /v1/api-keys/{key}", "", "K", "self", 204},
	{"POST /v1/auth/token/validate", "", "-", "self", 200},

	{"GET {V}/permissions/effective", "", "R", "any", 200},
	{"GET {V}/permissions/defaults", "", "R", "any", 200},
	{"GET {V}/permissions/overrides", "", "R", "any", 200},
	{"POST {V}/permissions/overrides", `{"environment":"staging","targetType":"role","targetRole":"read","canRead":true,"canWrite":false}`, "U", "manage", 201},
	{"PUT {V}/permissions/overrides/{override}", `{"canRead":true}`, "U", "manage", 200},
	{"DELETE {V}/permissions/overrides/{override}", "", "U", "manage", 200},
	{"DELETE {V}/permissions/reset", "", "U", "manage", 200},

	{"GET /v1/orgs", "", "R", "self", 200},
	{"GET /v1/orgs/{org}", "", "R", "self", 200},
	{"PUT /v1/orgs/{org}", `{"displayName":"Acme"}`, "U", "self", 200},
	{"GET /v1/orgs/{org}/members", "", "R", "self", 200},
	{"POST /v1/orgs/{org}/members/sync", "", "U", "self", 200},
	{"GET /v1/orgs/{org}/billing", "", "R", "self", 200},
	{"POST /v1/orgs/{org}/billing/checkout", `{"priceId":"p","successUrl":"` + ourPublicURL + `","cancelUrl":"` + ourPublicURL + `"}`, "U", "self", 400}, // nobody pays
	{"POST /v1/orgs/{org}/billing/portal", `{"returnUrl":"` + ourPublicURL + `"}`, "U", "self", 400},
	{"GET /v1/orgs/{org}/trial", "", "R", "self", 200},
	{"POST /v1/orgs/{org}/trial/start", "", "U", "self", 200},

	{"GET /v1/github/repo-ids?repo={repo}", "", "R", "self", 200},
	{"POST /v1/github/check-installation", `{"repoOwner":"{owner}","repoName":"{name}"}`, "R", "self", 200},

	{"POST /v1/auth/logout", "", "S", "self", 204},
	{"GET /v1/auth/sessions", "", "S", "self", 200},
	{"DELETE /v1/auth/sessions/{session}", "", "S", "self", 204},
}

// inVault reports whether the route is about one existing vault.
func (r route) inVault() bool { return r.right != "self" && r.right != "create" }

// sample is a vault with something of everything in development: an active
// secret A of two versions, and a trashed secret B.
type sample struct {
	repo                          string
	secret, version, trashed, key string
	org                           string // that its maker owns
	override, session             string // where a route needs them
}

// at is the path of the sample's vault.
func (v *sample) at() string { return "/v1/vaults/" + v.repo }

// fill puts the sample's ids for the placeholders of a route.
func (v *sample) fill(text string) string {
	owner, name, _ := strings.Cut(v.repo, "/")
	return strings.NewReplacer("{owner}", owner, "{name}", name, "{V}", v.at(), "{IV}", v.syncs(), "{repo}", v.repo, "{secret}", v.secret, "{version}", v.version,
		"{trashed}", v.trashed, "{key}", v.key, "{new}", newRepo(v.repo),
		"{override}", cmp.Or(v.override, someID), "{session}", cmp.Or(v.session, someID), "{org}", cmp.Or(v.org, "nobody-at-all")).Replace(text)
}

var repos atomic.Int64

// newRepo names a repository of the same owner that nobody has named yet.
func newRepo(like string) string {
	owner, _, _ := strings.Cut(like, "/")
	return fmt.Sprintf("%s/repo-%d", owner, repos.Add(1))
}

// sample makes a vault that c owns.
func (c *caller) sample(t testing.TB) *sample {
	t.Helper()
	return c.sampleIn(t, newRepo("@"+c.name))
}

func (c *caller) sampleIn(t testing.TB, repo string) *sample {
	t.Helper()
	v := &sample{repo: repo, org: c.ownOrg(t)}
	c.do(t, "POST /v1/vaults", `{"repoFullName":"`+repo+`"}`).ok(201)
	v.secret = c.set(t, v, "development", "A", "first")
	c.set(t, v, "development", "A", "second")
	v.version = c.do(t, "GET "+v.at()+"/secrets/"+v.secret+"/versions", "").ok(200).text("data.1.id")
	v.trashed = c.set(t, v, "development", "B", "gone")
	c.do(t, "DELETE "+v.at()+"/secrets/"+v.trashed, "").ok(204)
	v.key = c.do(t, "POST /v1/api-keys", `{"name":"sample","environment":"live","scopes":["read:secrets"]}`).ok(201).text("data.id")
	return v
}

// ownOrg is an organization of c's own, made when it is asked for first.
func (c *caller) ownOrg(t testing.TB) string {
	t.Helper()
	name := c.name + "sorg"
	if c.real("@"+name) == "@"+name {
		c.org(t, name, c.name)
	}
	return "@" + name
}

// ready is the sample with what the route takes and c makes for it.
func (c *caller) ready(t testing.TB, r route, v *sample) *sample {
	t.Helper()
	full := *v
	if strings.Contains(r.call, "{override}") {
		full.override = c.override(t, v, "staging", "role", "read", true, false)
	}
	if strings.Contains(r.call, "{session}") {
		full.session = c.do(t, "GET /v1/auth/sessions", "").ok(200).text("data.sessions.0.id")
	}
	return &full
}

// vault makes an empty vault that c may make.
func (c *caller) vault(t testing.TB, repo string) *sample {
	t.Helper()
	c.do(t, "POST /v1/vaults", `{"repoFullName":"`+repo+`"}`).ok(201)
	return &sample{repo: repo}
}

// set gives a key a value and returns the secret's id.
func (c *caller) set(t testing.TB, v *sample, environment, key, value string) string {
	t.Helper()
	a := c.do(t, "POST "+v.at()+"/secrets", fmt.Sprintf(`{"key":%q,"value":%s,"environment":%q}`, key, quoted(value), environment))
	if a.status != 200 {
		a.ok(201)
	}
	return a.text("data.id")
}

// push sends secrets, an object in JSON, with more members of the body.
func (c *caller) push(t testing.TB, v *sample, environment, secrets, more string, headers ...string) *answer {
	t.Helper()
	return c.do(t, "POST /v1/secrets/push",
		fmt.Sprintf(`{"repoFullName":%q,"environment":%q,"secrets":%s%s}`, v.repo, environment, secrets, more), headers...)
}

// pull asks for an environment, with more of the query.
func (c *caller) pull(t testing.TB, v *sample, environment, more string, headers ...string) *answer {
	t.Helper()
	return c.do(t, fmt.Sprintf("GET /v1/secrets/pull?repo=%s&environment=%s%s", v.repo, environment, more), "", headers...)
}
