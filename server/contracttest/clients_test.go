package contracttest

import (
	"encoding/json"
	"fmt"
	"testing"
)

// TestExistingClients follows the contract's checklist of what the existing
// command-line client, MCP server and Action rely on.
func TestExistingClients(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ann := s.user(t, "ann")
	const agent, contentType = "User-Agent", "Content-Type"
	do := func(call, body string) *answer {
		return ann.do(t, call, body, agent, "keyway-cli/dev", contentType, "application/json")
	}

	t.Run("an error is JSON with a title and a detail", func(t *testing.T) {
		for call, body := range map[string]string{"GET /v1/vaults/@ann/api": "", "POST /v1/secrets/push": "{", "GET /v1/nowhere": "",
			"POST /v1/vaults": `{"repoFullName":""}`, "PUT /v1/vaults": ""} {
			a := do(call, body)
			for _, member := range []string{"title", "detail"} {
				if text, ok := a.at(member).(string); !ok || text == "" {
					t.Errorf("%s: %s is %v", call, member, a.at(member))
				}
			}
			if a.header.Get(contentType) != "application/json; charset=utf-8" {
				t.Errorf("%s: %s", call, a.header.Get(contentType))
			}
		}
	})
	t.Run("a vault is absent, then created, then there", func(t *testing.T) {
		do("GET /v1/vaults/@ann/api", "").fails(404, "not-found")
		do("POST /v1/vaults", `{"repoFullName":"@ann/api"}`).ok(201)
		do("POST /v1/vaults", `{"repoFullName":"@ann/api"}`).fails(409, "conflict")
		a := do("GET /v1/vaults/@ann/api", "").ok(200)
		a.same(`["development","staging","production"]`, a.at("data.environments"))
		a.same(`0`, a.at("data.secretCount"))
	})
	v := &sample{repo: "@ann/api"}
	t.Run("an empty environment pulls as an empty text", func(t *testing.T) {
		a := do("GET /v1/secrets/pull?repo=@ann/api&environment=production", "").ok(200)
		a.same(`""`, a.at("data.content"))
	})
	t.Run("a push counts and says what it did", func(t *testing.T) {
		a := do("POST /v1/secrets/push", `{"repoFullName":"@ann/api","environment":"production","secrets":{"B":"2","A":"1","PEM":"-----BEGIN\nx==\n-----END\n"}}`)
		a.holds(200, `{"success":true,"message":"<text>","stats":{"created":3,"updated":0,"deleted":0,"unchanged":0},"revision":1}`)
		do("POST /v1/secrets/push", `{"repoFullName":"@ann/api","environment":"qa","secrets":{"A":"1"}}`).fails(422, "validation-error", "environment:unknown_value")
		a = do("GET /v1/vaults/@ann/api/environments", "").ok(200)
		if n := len(a.at("data.environments").([]any)); n != 3 {
			t.Errorf("%d environments", n)
		}
	})
	t.Run("what was pulled is pushed without a change", func(t *testing.T) {
		first := do("GET /v1/secrets/pull?repo=@ann/api&environment=production", "").ok(200)
		again := do("GET /v1/secrets/pull?repo=@ann/api&environment=production", "").ok(200)
		first.same(quoted("A=1\nB=2\n"+`PEM="-----BEGIN\nx==\n-----END\n"`), first.at("data.content"))
		again.same(quoted(first.at("data.content").(string)), again.at("data.content"))
		a := ann.push(t, v, "production", `{"A":"1","B":"2","PEM":"-----BEGIN\\nx==\\n-----END\\n"}`, "").ok(200)
		a.same(`{"created":0,"updated":0,"deleted":0,"unchanged":3}`, a.at("data.stats"))
		a = do("GET /v1/secrets/view?repo=@ann/api&environment=production&key=PEM", "").ok(200)
		a.same(`"-----BEGIN\nx==\n-----END\n"`, a.at("data.value"))
	})
	t.Run("a token names its user", func(t *testing.T) {
		for _, body := range []string{"", "{}"} {
			a := do("POST /v1/auth/token/validate", body).ok(200)
			a.same(`"@ann"`, a.at("data.username"))
		}
		ann.do(t, "POST /v1/auth/token/validate", "", "Authorization", "Bearer nonsense").fails(401, "unauthorized")
	})
	t.Run("the API is probed with HEAD", func(t *testing.T) {
		s.nobody().do(t, "HEAD /v1/health", "").ok(200)
	})
	t.Run("DELETE comes with a JSON type and no body", func(t *testing.T) {
		do("DELETE /v1/vaults/@ann/api/environments/staging", "").ok(200)
		id := ann.set(t, v, "production", "GONE", "")
		do(fmt.Sprintf("DELETE %s/secrets/%s", v.at(), id), "").ok(204)
		do("DELETE /v1/vaults/@ann/api", "").ok(204)
	})
}

// TestTheExistingClientLogsInAndCreatesAVault sends what the existing command-line
// client sends for its commands login, doctor and init, in that order.
func TestTheExistingClientLogsInAndCreatesAVault(t *testing.T) {
	t.Parallel()
	s := ownSite(t) // a browser takes part, so the public URL must be right
	s.user(t, "ann")
	headers := []string{"User-Agent", "keyway-cli/dev", "Content-Type", "application/json", "Accept", "application/json"}
	stranger := func(call, body string) *answer { return s.nobody().do(t, call, body, headers...) }

	// login: the numbers of the repository are asked for before there is a login,
	// and what comes of that does not matter.
	stranger("GET /v1/github/repo-ids?repo=@ann%2Fapi", "").fails(401, "unauthorized")
	start := stranger("POST /v1/auth/device/start", `{"repository":"@ann/api","ownerId":1,"repoId":2}`).ok(200)
	poll := `{"deviceCode":"` + start.text("deviceCode") + `"}`
	if n, ok := start.at("interval").(json.Number); !ok || n.String() != "5" {
		t.Errorf("interval is %v", start.at("interval"))
	}
	stranger("POST /v1/auth/device/poll", poll).is(200, flat(`{"status":"pending"}`))
	browser := s.inBrowser("ann")
	shown := s.nobody().do(t, "POST /v1/auth/device/verify", `{"userCode":"`+start.text("userCode")+`"}`, browser...).ok(200)
	s.nobody().do(t, "POST /v1/auth/device/approve", `{"confirmToken":"`+shown.text("data.confirmToken")+`"}`, browser...).ok(200)
	login := stranger("POST /v1/auth/device/poll", poll).ok(200)
	login.same(`["approved","@ann"]`, []any{login.at("status"), login.at("githubLogin")})
	do := func(call, body string) *answer {
		return s.nobody().do(t, call, body, append([]string{"Authorization", "Bearer " + login.text("keywayToken")}, headers...)...)
	}

	// doctor
	do("POST /v1/auth/token/validate", "{}").holds(200, `{"username":"@ann","forgeType":"local","forgeUserId":"<text>","plan":"team","createdAt":"<time>"}`)
	s.nobody().do(t, "HEAD /v1/health", "").ok(200)

	// init: a repository that the server does not know is no reason to stop.
	do("POST /v1/github/check-installation", `{"repoOwner":"@ann","repoName":"api"}`).fails(404, "not-found")
	do("GET /v1/vaults/@ann/api", "").fails(404, "not-found")
	do("POST /v1/vaults", `{"repoFullName":"@ann/api"}`).ok(201)
	do("POST /v1/vaults", `{"repoFullName":"@ann/api"}`).fails(409, "conflict")
	do("GET /v1/vaults/@ann/api", "").ok(200)
	do("POST /v1/github/check-installation", `{"repoOwner":"@ann","repoName":"api"}`).holds(200, `{"installed":true,"installUrl":null}`)
	ids := do("GET /v1/github/repo-ids?repo=@ann%2Fapi", "").ok(200)
	for _, member := range []string{"data.ownerId", "data.repoId"} {
		if _, ok := ids.at(member).(json.Number); !ok {
			t.Errorf("%s is %v", member, ids.at(member))
		}
	}
	a := do("POST /v1/secrets/push", `{"repoFullName":"@ann/api","environment":"development","secrets":{"A":"1"}}`).ok(200)
	a.same(`{"created":1,"updated":0,"deleted":0,"unchanged":0}`, a.at("data.stats"))
}
