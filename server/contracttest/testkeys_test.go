package contracttest

import (
	"testing"

	"coffer/server/servertest"
)

// TestTestKeysStayOutOfProtectedEnvironments: an admin's test key has no rights
// in an environment of type protected, and sees nothing of it.
func TestTestKeysStayOutOfProtectedEnvironments(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ann := s.user(t, "ann")
	v := ann.sample(t)
	key := s.key(t, "ann", "test", servertest.AllScopes...)
	secret := ann.set(t, v, "production", "P", "1")
	trashed := ann.set(t, v, "production", "Q", "1")
	ann.do(t, "DELETE "+v.at()+"/secrets/"+trashed, "").ok(204)
	version := ann.do(t, "GET "+v.at()+"/secrets/"+secret+"/versions", "").ok(200).text("data.0.id")
	ann.do(t, "PATCH "+v.at()+"/environments/staging/type", `{"type":"protected"}`).ok(200)

	a := key.do(t, "GET "+v.at(), "").ok(200)
	a.same(`[["development"],1,"admin"]`, []any{a.at("data.environments"), a.at("data.secretCount"), a.at("data.permission")})
	key.do(t, "GET "+v.at()+"/environments", "").holds(200, `{"environments":[{"name":"development","type":"development","displayOrder":0,"revision":4,"secretCount":1}]}`)
	for _, list := range []string{"/secrets", "/trash"} {
		a := key.do(t, "GET "+v.at()+list, "").ok(200)
		a.same(`[1,["development"]]`, []any{a.at("meta.pagination.total"), a.each("environment")})
	}

	denied := []struct{ call, body, operation string }{
		{"GET {V}/secrets/" + secret + "/value", "", "secret_value"},
		{"GET {V}/secrets/" + secret + "/versions", "", "version_list"},
		{"GET {V}/secrets/" + secret + "/versions/" + version + "/value", "", "version_value"},
		{"POST {V}/secrets/" + secret + "/versions/" + version + "/restore", "", "version_restore"},
		{"GET /v1/secrets/view?repo={repo}&environment=production&key=P", "", "secret_view"},
		{"GET /v1/secrets/pull?repo={repo}&environment=production", "", "pull"},
		{"POST {V}/secrets", `{"key":"X","value":"","environment":"production"}`, "secret_create"},
		{"PATCH {V}/secrets/" + secret, `{"value":"2"}`, "secret_update"},
		{"DELETE {V}/secrets/" + secret, "", "secret_delete"},
		{postPush, `{"repoFullName":"{repo}","environment":"production","secrets":{}}`, "push"},
		{"POST {V}/trash/" + trashed + "/restore", "", "trash_restore"},
		{"DELETE {V}/trash/" + trashed, "", "trash_delete"},
		{"PATCH {V}/environments/production", `{"newName":"live"}`, "environment_rename"},
		{"PATCH {V}/environments/production/type", `{"type":"standard"}`, "environment_retype"},
		{"PATCH {V}/environments/production/order", `{"displayOrder":0}`, "environment_move"},
		{"DELETE {V}/environments/production", "", "environment_delete"},
	}
	for _, d := range denied {
		key.do(t, v.fill(d.call), v.fill(d.body)).fails(403, "forbidden")
		last := ann.do(t, "GET "+v.at()+"/activity?limit=1", "")
		last.same(v.fill(`{"operation":"`+d.operation+`","reason":"test_key","environment":"production","status":403,"repoFullName":"{repo}","apiKeyId":"<id>"}`),
			last.at("data.0.metadata"))
	}
	key.do(t, "GET /v1/secrets/view?repo="+v.repo+"&environment=staging&key=NONE", "").fails(403, "forbidden")
	for _, body := range []string{`{"name":"prod"}`, `{"name":"main"}`, `{"name":"qa","type":"protected"}`} {
		key.do(t, "POST "+v.at()+"/environments", body).fails(403, "forbidden")
	}
	key.do(t, "PATCH "+v.at()+"/environments/development/type", `{"type":"protected"}`).fails(403, "forbidden")
	key.do(t, "DELETE "+v.at(), "").fails(403, "forbidden")

	key.do(t, "POST "+v.at()+"/environments", `{"name":"qa"}`).ok(201)
	key.do(t, "DELETE "+v.at()+"/environments/qa", "").ok(200)
	a = key.do(t, "DELETE "+v.at()+"/trash", "").ok(200)
	a.same(`1`, a.at("data.deleted"))
	key.push(t, v, "development", `{"A":"new"}`, "").ok(200)
}
