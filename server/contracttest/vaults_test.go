package contracttest

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

const vaultRecord = `"id":"<id>","repoFullName":"@ann/Api","repoOwner":"@ann","repoName":"Api","repoAvatar":null,"isPrivate":true,
	"permission":"admin","isReadOnly":false,"readonlyReason":null,"warning":null,"syncs":[],"createdAt":"<time>","updatedAt":"<time>"`

func TestAVaultIsMadeFoundListedAndDeleted(t *testing.T) {
	t.Parallel()
	ann := newSite(t).user(t, "ann")
	fresh := `"secretCount":0,"environments":["development","staging","production"],"environmentDetails":[
		{"name":"development","type":"development","displayOrder":0,"revision":0,"secretCount":0},
		{"name":"staging","type":"standard","displayOrder":1,"revision":0,"secretCount":0},
		{"name":"production","type":"protected","displayOrder":2,"revision":0,"secretCount":0}]`
	ann.do(t, "GET /v1/vaults/@ann/Api", "").fails(404, "not-found")
	made := ann.do(t, "POST /v1/vaults", `{"repoFullName":"@ann/Api"}`)
	made.holds(201, `{"vaultId":"<id>","message":"<text>",`+vaultRecord+`,`+fresh+`}`)
	if made.text("data.id") != made.text("data.vaultId") {
		t.Errorf("id %s, vaultId %s", made.text("data.id"), made.text("data.vaultId"))
	}
	v := &sample{repo: "@ann/Api"}
	ann.recorded(t, v, "vault_created", `"isPrivate":true`)
	for _, spelling := range []string{"@ann/Api", "@ann/api", "@ann/API"} {
		ann.do(t, "GET /v1/vaults/"+spelling, "").holds(200, `{`+vaultRecord+`,`+fresh+`}`)
		ann.do(t, "POST /v1/vaults", `{"repoFullName":"`+spelling+`"}`).fails(409, "conflict")
	}
	ann.do(t, "GET /v1/vaults/"+strings.ToUpper(ann.real("@ann"))+"/API", "").ok(200)
	ann.set(t, v, "staging", "A", "1")
	ann.set(t, v, "production", "A", "1")
	ann.do(t, "GET /v1/vaults", "").holds(200, `[{`+vaultRecord+`,"secretCount":2,"environments":["development","staging","production"],"environmentDetails":[
		{"name":"development","type":"development","displayOrder":0,"revision":0,"secretCount":0},
		{"name":"staging","type":"standard","displayOrder":1,"revision":1,"secretCount":1},
		{"name":"production","type":"protected","displayOrder":2,"revision":1,"secretCount":1}]}]`)

	ann.do(t, "DELETE /v1/vaults/@ann/api", "").ok(204)
	ann.do(t, "GET /v1/vaults/@ann/Api", "").fails(404, "not-found")
	ann.do(t, "DELETE /v1/vaults/@ann/Api", "").fails(404, "not-found")
	ann.do(t, "GET /v1/vaults", "").holds(200, `[]`)
	own := ann.do(t, "GET /v1/activity?limit=1", "")
	own.same(`{"id":"<id>","action":"vault_deleted","vaultId":null,"repoFullName":"@ann/Api","actor":{"id":"<id>","username":"@ann","avatarUrl":null},
		"platform":"api","metadata":{"repoFullName":"@ann/Api","apiKeyId":"<id>"},"ip":"127.0.0.1","userAgent":"Go-http-client/1.1","timestamp":"<time>"}`,
		own.at("data.0"))
	again := ann.do(t, "POST /v1/vaults", `{"repoFullName":"@ann/api"}`).holds(201, `{"vaultId":"<id>","message":"<text>",`+vaultRecord+`,`+fresh+`}`)
	if again.text("data.id") == made.text("data.id") {
		t.Error("a new vault has the id of the deleted one")
	}
	ann.do(t, "GET /v1/vaults/@ann/Api/trash", "").holds(200, `[]`)
	if got := ann.records(t, v); got != "1" {
		t.Errorf("a new vault has %s records", got)
	}
}

func TestDeletingAVaultIsFinal(t *testing.T) {
	t.Parallel()
	ann := newSite(t).user(t, "ann")
	old := ann.sampleIn(t, "@ann/api")
	ann.do(t, "DELETE "+old.at(), "").ok(204)
	ann.vault(t, "@ann/api")
	for _, r := range routes {
		if strings.Contains(r.call, "{secret}") || strings.Contains(r.call, "{trashed}") {
			ann.do(t, old.fill(r.call), r.body).fails(404, "not-found")
		}
	}
	ann.pull(t, old, "development", "").holds(200, `{"content":"","count":0,"total":0,"revision":0}`)
	ann.do(t, "GET "+old.at()+"/trash", "").holds(200, `[]`)
	a := ann.do(t, "GET /v1/activity?limit=100", "").ok(200)
	for i, action := range a.each("action") {
		if id := a.each("vaultId")[i]; action == "secret_created" && id != nil {
			t.Errorf("a record names the deleted vault %v", id)
		}
	}
}

func TestVaultsAreListedLatestChangeFirstToTheLastPage(t *testing.T) {
	t.Parallel()
	ann := newSite(t).user(t, "ann")
	const n = 7
	for i := range n {
		ann.vault(t, fmt.Sprintf("@ann/v%d", i))
		time.Sleep(2 * time.Millisecond)
	}
	ann.set(t, &sample{repo: "@ann/v2"}, "staging", "A", "1")
	want := []string{"v2", "v6", "v5", "v4", "v3", "v1", "v0"}
	for offset := 0; offset <= n+1; offset += 2 {
		a := ann.do(t, fmt.Sprintf("GET /v1/vaults?limit=2&offset=%d", offset), "").ok(200)
		page := want[min(offset, n):min(offset+2, n)]
		a.same(fmt.Sprintf(`{"limit":2,"offset":%d,"total":%d,"hasMore":%t}`, offset, n, offset+2 < n), a.at("meta.pagination"))
		if got := a.each("repoName"); fmt.Sprint(got) != fmt.Sprint(page) {
			t.Errorf("offset %d: %v, want %v", offset, got, page)
		}
	}
}

func TestVaultsOfOthersAreListedWithTheRoleOnThem(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	who := s.users(t, "ann", "bob")
	s.org(t, "acme", "ann", "bob")
	for _, repo := range []string{"@ann/shared", "@ann/private", "@acme/closed"} {
		who["ann"].vault(t, repo)
	}
	s.repo(t, "@acme/open", true)
	who["ann"].vault(t, "@acme/open")
	s.grant(t, "@ann/shared", "bob=triage")
	who["bob"].vault(t, "@bob/own")
	a := who["bob"].do(t, "GET /v1/vaults", "").ok(200)
	got := make(map[string]any)
	for i, name := range a.each("repoFullName") {
		got[a.s.plain(name.(string))] = a.each("permission")[i]
	}
	a.same(`{"@ann/shared":"triage","@acme/open":"read","@bob/own":"admin"}`, got)
	a.same(`3`, a.at("meta.pagination.total"))
	a.same(`["development","staging"]`, who["bob"].do(t, "GET /v1/vaults/@ann/shared", "").at("data.environments"))

	s.grant(t, "@ann/shared", "bob=none")
	who["bob"].do(t, "GET /v1/vaults/@ann/shared", "").fails(404, "not-found")
	a = who["bob"].do(t, "GET /v1/vaults", "")
	a.same(`2`, a.at("meta.pagination.total"))
}

func TestCollaborators(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	who := s.users(t, "ann", "bob", "cyd", "eve")
	s.shared(t, who["ann"], "@ann/api", "bob=write", "cyd=read")
	person := func(name, role string, write, manage bool) string {
		return fmt.Sprintf(`{"login":"@%s","avatarUrl":null,"htmlUrl":null,"githubPermission":%q,"type":"user",
			"keywayPermissions":{"canRead":true,"canWrite":%t,"canManage":%t}}`, name, role, write, manage)
	}
	who["ann"].do(t, "GET /v1/vaults/@ann/api/collaborators", "").holds(200, `{"repoFullName":"@ann/api","provider":"local","collaborators":[`+
		person("ann", "admin", true, true)+","+person("bob", "write", true, false)+","+person("cyd", "read", false, false)+`]}`)
}

// shared makes a vault and gives roles on it.
func (s *site) shared(t testing.TB, owner *caller, repo string, roles ...string) *sample {
	t.Helper()
	v := owner.vault(t, repo)
	s.grant(t, repo, roles...)
	return v
}

func TestARepositoryThatNobodyRegistered(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	who := s.users(t, "ann", "bob")
	s.org(t, "acme", "ann", "bob")
	for _, repo := range []string{"@ann/secret", "@acme/secret", "nobody-at-all/secret"} {
		who["bob"].do(t, "POST /v1/vaults", `{"repoFullName":"`+repo+`"}`).fails(404, "not-found")
	}
	who["ann"].vault(t, "@acme/secret")
	who["bob"].do(t, "POST /v1/vaults", `{"repoFullName":"@acme/secret"}`).fails(404, "not-found")
	s.grant(t, "@acme/secret", "bob=maintain")
	who["bob"].do(t, "POST /v1/vaults", `{"repoFullName":"@acme/secret"}`).fails(403, "forbidden")
}
