package contracttest

import (
	"strings"
	"testing"
)

// TestTheEarlierCheckAnswers sends requests that break two rules at once:
// route and method → size → credential → scope → parse and validate → role →
// right → inner resource → state.
func TestTheEarlierCheckAnswers(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	who := s.users(t, "ann", "bob", "eve")
	ann, bob, eve, nobody := who["ann"], who["bob"], who["eve"], s.nobody()
	v := ann.sample(t)
	s.grant(t, v.repo, "bob=read")
	secured := ann.set(t, v, "production", "P", "p")
	readOnly, keysOnly := s.key(t, "ann", "live", "read:secrets"), s.key(t, "eve", "live", "admin:api-keys")
	big := strings.Repeat(" ", maxBody+1)

	tests := []struct {
		name   string
		c      *caller
		call   string
		body   string
		status int
		slug   string
		fields string
	}{
		{"unknown route before credential", nobody, "GET /v1/nowhere", "", 404, "not-found", ""},
		{"unknown route before size", nobody, "POST /v1/nowhere", big, 404, "not-found", ""},
		{"method before size and credential", nobody, "PUT /v1/secrets/push", big, 405, "method-not-allowed", ""},
		{"size before credential", nobody, postPush, big, 413, "payload-too-large", ""},
		{"size before scope", readOnly, postPush, big, 413, "payload-too-large", ""},
		{"size of a GET", ann, "GET /v1/vaults", big, 413, "payload-too-large", ""},
		{"credential before parsing", nobody, postPush, "{", 401, "unauthorized", ""},
		{"credential before the query", nobody, "GET /v1/vaults?limit=0", "", 401, "unauthorized", ""},
		{"credential before a malformed path", nobody, "GET /v1/vaults/a%2Fb/c", "", 401, "unauthorized", ""},
		{"credential before the vault", nobody, "GET {V}", "", 401, "unauthorized", ""},
		{"scope before parsing", readOnly, postPush, "{", 403, "forbidden", ""},
		{"scope before validation", readOnly, postPush, "{}", 403, "forbidden", ""},
		{"scope before the query", keysOnly, "GET /v1/vaults?limit=0&limit=0", "", 403, "forbidden", ""},
		{"scope before a malformed path", readOnly, "DELETE /v1/vaults/a%2Fb/c", "", 403, "forbidden", ""},
		{"scope before a malformed id", readOnly, "DELETE {V}/secrets/1", "", 403, "forbidden", ""},
		{"scope before the role", keysOnly, "GET {V}", "", 403, "forbidden", ""},
		{"scope before a vault that is not there", keysOnly, "GET /v1/vaults/@ann/none", "", 403, "forbidden", ""},
		{"kind of credential before parsing", ann, "POST /v1/sys/seal?a=1&a=1", "{", 403, "forbidden", ""},
		{"parsing before validation", ann, postPush, `{"environment":"X","environment":"X"}`, 400, "bad-request", ""},
		{"the query before the body", ann, "POST {V}/secrets?a=1&a=2", `{}`, 400, "bad-request", ""},
		{"parsing before the role", eve, postSecret, "{", 400, "bad-request", ""},
		{"validation before the role", eve, postSecret, "{}", 422, "validation-error", "key:required value:required environment:required"},
		{"validation before a vault that is not there", ann, postPush, `{"repoFullName":"@ann/none","environment":"X","secrets":{}}`, 422, "validation-error", "environment:invalid_format"},
		{"the query before the role", eve, "GET {V}/secrets?limit=0", "", 422, "validation-error", "limit:too_small"},
		{"the role before the right", eve, "GET {V}/secrets/" + secured + "/value", "", 404, "not-found", ""},
		{"the role before an unknown environment", eve, postSecret, `{"key":"A","value":"","environment":"nowhere"}`, 404, "not-found", ""},
		{"the role before the state", eve, postVault, `{"repoFullName":"{repo}"}`, 404, "not-found", ""},
		{"too low a role before the state", bob, postVault, `{"repoFullName":"{repo}"}`, 403, "forbidden", ""},
		{"too low a role before an inner resource", bob, "PATCH {V}/environments/nowhere", `{"newName":"qa"}`, 403, "forbidden", ""},
		{"too low a role before the state of an environment", bob, postEnv, `{"name":"staging"}`, 403, "forbidden", ""},
		{"the right of a secret's environment", bob, "PATCH {V}/secrets/" + secured, `{"name":"P"}`, 403, "forbidden", ""},
		{"the right before the key", bob, "GET /v1/secrets/view?repo={repo}&environment=production&key=NONE", "", 403, "forbidden", ""},
		{"the right before the version", bob, "GET {V}/secrets/" + secured + "/versions/" + someID + "/value", "", 403, "forbidden", ""},
		{"the inner resource before the right", bob, "PATCH {V}/secrets/" + someID, `{"name":"P"}`, 404, "not-found", ""},
		{"the inner resource before the state", ann, "PATCH {V}/secrets/" + someID, `{"name":"P"}`, 404, "not-found", ""},
		{"the role before a trashed secret", bob, "POST {V}/trash/{trashed}/restore", "", 403, "forbidden", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.c.do(t, v.fill(tt.call), v.fill(tt.body)).fails(tt.status, tt.slug, strings.Fields(tt.fields)...)
		})
	}
}

func TestPushLooksAtItsBodyOnly(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	who := s.users(t, "ann", "bob")
	mine, theirs := who["bob"].sample(t), who["ann"].sample(t)
	query := "?repo=" + mine.repo + "&repoFullName=" + mine.repo + "&environment=development"
	body := theirs.fill(`{"repoFullName":"{repo}","environment":"development","secrets":{"A":"taken"}}`)
	who["bob"].do(t, postPush+query, body).fails(404, "not-found")
	who["bob"].do(t, postPush+query, `{"secrets":{}}`).fails(422, "validation-error", "repoFullName:required", "environment:required")
}
