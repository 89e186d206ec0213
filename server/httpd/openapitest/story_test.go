package openapitest_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"coffer/server/billing/stripetest"
	"coffer/server/httpd/openapitest"
	"coffer/server/standin"
)

// TestStory asks for everything once, and for what goes wrong with it.
func TestStory(t *testing.T) {
	openapitest.Seen() // by other tests
	w := newWorld(t)
	w.succeed()
	w.conflict()
	w.refuse()
	w.generic()
	w.page()
	w.plan()
	w.hooked()
	w.billed()
	w.sealed()
	w.fresh()

	seen := make(map[string]bool)
	for _, what := range openapitest.Seen() {
		seen[what] = true
	}
	described, err := openapitest.Described()
	if err != nil {
		t.Fatal(err)
	}
	for _, what := range described {
		if !seen[what] && !unreachable(what) {
			t.Errorf("nothing was answered like this: %s", what)
		}
	}
}

// unreachable reports whether an answer takes a fault that no request causes,
// or more requests than a story should have.
func unreachable(what string) bool {
	name, status, _ := strings.Cut(what, " ")
	switch status {
	case "500", "504":
		return true
	case "429":
		return name != "unseal" && name != "initialize"
	case "503":
		return name == "initialize" // while it is initialized by somebody else
	case "409":
		return name == "runJob" || name == "rotate" || name == "rekey" || // while it runs
			name == "addUnsealMethod" // while somebody removes what proves it
	}
	return false
}

// succeed does everything that can be done.
func (w *world) succeed() {
	w.operator("POST /v1/operator/users", `{"username":"bob","password":"long enough"}`, 201)
	w.operator("PUT /v1/operator/users/disabled", `{"username":"bob","disabled":true}`, 200)
	w.operator("PUT /v1/operator/users/password", `{"username":"bob","password":"longer than before"}`, 200)
	w.operator("POST /v1/operator/sessions", `{"username":"bob"}`, 409)
	w.operator("POST /v1/operator/tokens", `{"username":"bob","name":"n","environment":"live","scopes":["read:secrets"]}`, 409)
	w.operator("PUT /v1/operator/plans", `{"kind":"user","name":"bob","plan":"pro"}`, 409)
	w.operator("PUT /v1/operator/users/disabled", `{"username":"bob","disabled":false}`, 200)
	w.operator("PUT /v1/operator/plans", `{"kind":"user","name":"bob","plan":"pro"}`, 200)
	w.operator("POST /v1/operator/orgs", `{"name":"acme"}`, 201)
	w.operator("PUT /v1/operator/orgs/members", `{"org":"acme","username":"ann","role":"owner"}`, 204)
	w.operator("POST /v1/operator/repos", `{"repoFullName":"acme/site","public":true}`, 201)
	w.operator("PUT /v1/operator/repos/grants", `{"repoFullName":"acme/site","username":"bob","role":"read"}`, 204)
	w.key = w.text(w.operator("POST /v1/operator/tokens",
		`{"username":"ann","name":"all","environment":"live","scopes":["read:secrets","write:secrets","delete:secrets","admin:api-keys"]}`, 201), "token")
	w.elsewhere = w.text(w.operator("POST /v1/operator/tokens",
		`{"username":"ann","name":"far","environment":"test","scopes":["read:secrets"],"ttlSeconds":60,"allowedIps":["192.0.2.1"]}`, 201), "token")
	w.jwt = w.text(w.operator("POST /v1/operator/sessions", `{"username":"ann"}`, 200), "token")

	w.operator("GET /v1/operator/unseal-methods", "", 200)
	made := w.operator("POST /v1/operator/unseal-methods", `{"kind":"recovery-key","label":"safe"}`, 201)
	w.operator("DELETE /v1/operator/unseal-methods/"+w.text(made, "id"), "", 200)
	made = w.operator("POST /v1/operator/unseal-methods", `{"kind":"shares","threshold":2,"total":3}`, 201)
	w.share = w.text(made, "shares.0")
	w.operator("POST /v1/operator/unseal-methods", `{"kind":"key-file","keyFile":"/etc/coffer/x.key","proof":{"key":"`+w.in.Recovery+`"}}`, 201)
	w.operator("GET /v1/operator/jobs", "", 200)
	w.operator("GET /v1/operator/doctor?quick=true", "", 200)
	w.operator("GET /v1/operator/doctor", "", 200)
	w.operator("POST /v1/operator/jobs/trash/run", "", 200)
	w.operator("POST /v1/operator/forge/check", "", 200)
	w.operator("GET /v1/operator/audit/export", "", 200)
	w.operator("POST /v1/operator/audit/verify", "", 200)
	w.operator("POST /v1/operator/backups", "", 200)
	w.operator("GET /v1/operator/backups", "", 200)
	w.operator("POST /v1/operator/jobs/backups/run", "", 200)
	w.operator("POST /v1/operator/jobs/drill/run", "", 200)
	kept := w.text(w.operator("GET /v1/operator/backups?brief=false", "", 200), "backups.0.name")
	w.operator("GET /v1/operator/backups/"+kept, "", 200)
	w.operator("GET /v1/operator/backups/none", "", 404)
	w.as("figures", "GET /metrics", "", 200)
	w.as("", "GET /metrics", "", 401)

	w.ask("POST /v1/vaults", `{"repoFullName":"ann/api"}`, 201)
	w.ask("POST /v1/vaults", `{"repoFullName":"acme/site"}`, 201)
	w.operator("GET /v1/operator/rotations", "", 200)
	w.operator("POST /v1/operator/rotations", `{"repoFullName":"ann/api"}`, 200)
	w.operator("POST /v1/operator/rotations", `{"all":true}`, 200)
	w.operator("POST /v1/operator/rotations", `{"repoFullName":"ann/none"}`, 404)
	w.operator("POST /v1/operator/rotations", `{}`, 422)
	w.operator("POST /v1/operator/rekey", `{"drop":["no-such-method"]}`, 422)
	w.in.Recovery = w.text(w.operator("POST /v1/operator/rekey", `{"newRecoveryKey":true}`, 200), "recoveryKey")
	w.ask("GET /v1/vaults?limit=1&offset=0", "", 200)
	w.ask("GET {V}", "", 200)
	w.ask("HEAD {V}", "", 200)
	w.ask("GET {V}/collaborators", "", 200)
	w.ask("GET {V}/activity/export", "", 200)
	w.secrets()
	w.environments()
	w.permissions()
	w.organizations()
	w.account()
	w.erasures()
	w.devices()
	w.integrations()
	for _, call := range []string{"GET /v1/activity", "GET {V}/activity?limit=100", "GET {V}/activity?action=secrets_pulled&environment=staging&actor=ann"} {
		w.ask(call, "", 200)
	}
}

func (w *world) erasures() {
	w.operator("POST /v1/operator/compactions", "", 200)
	w.operator("GET /v1/operator/storage", "", 200)
	w.ask("POST /v1/vaults", `{"repoFullName":"ann/old"}`, 201)
	id := w.text(w.operator("POST /v1/operator/erasures", `{"repoFullName":"ann/old"}`, 201), "id")
	w.operator("POST /v1/operator/erasures", `{"repoFullName":"ann/old"}`, 404)
	w.operator("POST /v1/operator/erasures", `{"repoFullName":"old"}`, 422)
	w.operator("GET /v1/operator/erasures", "", 200)
	w.operator("GET /v1/operator/erasures/"+id, "", 200)
	w.operator("GET /v1/operator/erasures/none", "", 404)
}

func (w *world) secrets() {
	w.secret = w.text(w.ask("POST {V}/secrets", `{"key":"A","value":"one","environment":"development"}`, 201), "id")
	w.ask("POST {V}/secrets", `{"key":"A","value":"","environment":"development","unknown":{"deep":[null]}}`, 200)
	w.ask("PATCH {V}/secrets/{secret}", `{"name":"A","value":"three"}`, 200)
	w.ask("GET {V}/secrets?environment=development", "", 200)
	w.ask("GET {V}/secrets/{secret}/value", "", 200)
	w.ask("GET /v1/secrets/view?repo=ann/api&environment=development&key=A", "", 200)
	w.version = w.text(w.ask("GET {V}/secrets/{secret}/versions", "", 200), "0.id")
	w.ask("GET {V}/secrets/{secret}/versions/{version}/value", "", 200)
	w.ask("POST {V}/secrets/{secret}/versions/{version}/restore", "", 200)

	w.ask("POST /v1/secrets/push", `{"repoFullName":"ann/api","environment":"staging","secrets":{"A":"1","B":"a\nb"}}`, 200)
	w.ask("POST /v1/secrets/push", `{"repoFullName":"ann/api","environment":"staging","secrets":{},"mode":"merge","baseRevision":1,"dryRun":true}`, 200)
	res := w.ask("GET /v1/secrets/pull?repo=ann/api&environment=staging", "", 200)
	w.ask("GET /v1/secrets/pull?repo=ann/api&environment=staging", "", 304, "If-None-Match", res.header.Get("ETag"))
	w.ask("GET /v1/secrets/pull?repo=ann/api&environment=staging&format=json&limit=1&offset=1&revision=1", "", 200)
	w.ask("GET /v1/secrets/pull?repo=ann/api&environment=staging&at=2020-01-01T00:00:00Z", "", 200)
	w.ask("GET /v1/secrets/pull?repo=ann/api&environment=production", "", 200)

	w.ask("DELETE {V}/secrets/{secret}", "", 204)
	w.ask("GET {V}/trash", "", 200)
	w.ask("POST {V}/trash/{secret}/restore", "", 200)
	w.ask("DELETE {V}/secrets/{secret}", "", 204)
	w.ask("DELETE {V}/trash/{secret}", "", 204)
	w.ask("DELETE {V}/trash", "", 200)
	w.secret = w.text(w.ask("POST {V}/secrets", `{"key":"A","value":"one","environment":"development"}`, 201), "id")
	w.version = w.text(w.ask("GET {V}/secrets/{secret}/versions", "", 200), "0.id")
}

func (w *world) environments() {
	w.ask("GET {V}/environments", "", 200)
	w.ask("POST {V}/environments", `{"name":"extra"}`, 201)
	w.ask("POST {V}/environments", `{"name":"more","type":"protected"}`, 201)
	w.ask("PATCH {V}/environments/extra", `{"newName":"qa"}`, 200)
	w.ask("PATCH {V}/environments/qa/type", `{"type":"development"}`, 200)
	w.ask("PATCH {V}/environments/qa/order", `{"displayOrder":0}`, 200)
	w.ask("DELETE {V}/environments/qa", "", 200)
}

func (w *world) permissions() {
	for _, what := range []string{"effective", "defaults", "overrides"} {
		w.ask("GET {V}/permissions/"+what, "", 200)
	}
	w.ask("POST {V}/permissions/overrides", `{"environment":"*","targetType":"role","targetRole":"read","canRead":false,"canWrite":false}`, 201)
	me := w.text(w.ask("GET /v1/users/me", "", 200), "id")
	w.override = w.text(w.ask("POST {V}/permissions/overrides",
		`{"environment":"staging","targetType":"user","targetUserId":"`+me+`","canRead":true,"canWrite":true}`, 201), "id")
	w.ask("GET {V}/permissions/overrides", "", 200)
	w.ask("PUT {V}/permissions/overrides/{override}", `{"canWrite":false}`, 200)
	w.ask("DELETE {V}/permissions/overrides/{override}", "", 200)
	w.ask("DELETE {V}/permissions/reset", "", 200)
}

// organizations asks about acme, which has the owner ann.
func (w *world) organizations() {
	w.ask("GET /v1/orgs", "", 200)
	w.ask("GET /v1/orgs/acme", "", 200)
	w.ask("GET /v1/orgs/acme/members", "", 200)
	w.ask("POST /v1/orgs/acme/members/sync", "", 200)
	w.ask("GET /v1/github/repo-ids?repo=ann/api", "", 200)
	w.ask("GET /v1/github/repo-ids?repo=zoe/nowhere", "", 200)
	w.ask("POST /v1/github/check-installation", `{"repoOwner":"ann","repoName":"api"}`, 200)
	w.ask("POST /v1/github/check-installation", `{"repoOwner":"zoe","repoName":"nowhere"}`, 404)
	w.ask("PUT /v1/orgs/acme", `{"displayName":"Acme"}`, 200)
	w.ask("PUT /v1/orgs/acme", `{"displayName":null,"defaultPermissions":{"write":{"protected":{"write":true}}}}`, 200)
}

func (w *world) account() {
	w.ask("GET /v1/users/me/usage", "", 200)
	w.ask("POST /v1/auth/token/validate", "", 200)
	created := w.ask("POST /v1/api-keys", `{"name":"ci","environment":"live","scopes":["read:secrets"],"expiresInDays":1,"allowedIps":["10.1.2.3/8","::1"]}`, 201)
	w.made = w.text(created, "id")
	w.ask("GET /v1/api-keys/{made}", "", 200)
	w.ask("DELETE /v1/api-keys/{made}", "", 204)
	w.ask("GET /v1/api-keys", "", 200)

	other := w.text(w.operator("POST /v1/operator/sessions", `{"username":"ann"}`, 200), "token")
	w.as(other, "POST /v1/auth/logout", "", 204)
	w.operator("POST /v1/operator/sessions", `{"username":"ann"}`, 200)
	sessions := w.ask("GET /v1/auth/sessions", "", 200)
	id := w.text(sessions, "sessions.0.id")
	if w.text(sessions, "sessions.0.current") == "true" {
		id = w.text(sessions, "sessions.1.id")
	}
	w.ask("DELETE /v1/auth/sessions/"+id, "", 204)
}

// devices signs programs in.
func (w *world) devices() {
	w.signIn()
	start := func() (device, user string) {
		made := w.as("", "POST /v1/auth/device/start", `{"repository":"ann/api","ownerId":1,"repoId":"2"}`, 200)
		return w.text(made, "deviceCode"), w.text(made, "userCode")
	}
	verify := func(user string) string {
		return w.text(w.browser("POST /v1/auth/device/verify", `{"userCode":"`+user+`"}`, 200), "confirmToken")
	}
	device, user := start()
	poll := func() { w.as("", "POST /v1/auth/device/poll", `{"deviceCode":"`+device+`"}`, 200) }
	poll()
	confirm := `{"confirmToken":"` + verify(user) + `"}`
	w.browser("POST /v1/auth/device/approve", confirm, 200)
	poll()
	w.browser("POST /v1/auth/device/approve", confirm, 404)
	w.browser("POST /v1/auth/device/verify", `{"userCode":"`+user+`"}`, 404)

	w.as("", "POST /v1/auth/device/start", "", 200)
	device, user = start()
	confirm = `{"confirmToken":"` + verify(user) + `"}`
	w.browser("POST /v1/auth/device/deny", confirm, 200)
	poll()
	w.browser("POST /v1/auth/device/deny", confirm, 404)
	w.as("", "POST /v1/auth/device/poll", `{"deviceCode":"`+strings.Repeat("0", 64)+`"}`, 404)
}

// conflict asks for what the present state forbids.
func (w *world) conflict() {
	w.operator("POST /v1/operator/users", `{"username":"bob","password":"long enough"}`, 409)
	w.operator("POST /v1/operator/orgs", `{"name":"acme"}`, 409)
	w.operator("POST /v1/operator/repos", `{"repoFullName":"acme/site"}`, 409)
	w.ask("POST /v1/vaults", `{"repoFullName":"ann/api"}`, 409)
	w.ask("POST {V}/secrets", `{"key":"B","value":"","environment":"development"}`, 201)
	w.ask("PATCH {V}/secrets/{secret}", `{"key":"B"}`, 409)
	w.ask("POST /v1/secrets/push", `{"repoFullName":"ann/api","environment":"staging","secrets":{},"baseRevision":0}`, 409)
	w.ask("POST {V}/environments", `{"name":"staging"}`, 409)
	w.ask("PATCH {V}/environments/staging", `{"newName":"production"}`, 409)
	override := `{"environment":"*","targetType":"role","targetRole":"read","canRead":true,"canWrite":false}`
	w.override = w.text(w.ask("POST {V}/permissions/overrides", override, 201), "id")
	w.ask("POST {V}/permissions/overrides", override, 409)
	w.ask("DELETE /v1/api-keys/{made}", "", 409)
	w.ask("POST /v1/sys/init", `{"claimToken":"x","keyFile":true}`, 409)

	w.ask("DELETE {V}/secrets/{secret}", "", 204)
	w.ask("POST {V}/secrets", `{"key":"A","value":"","environment":"development"}`, 201)
	w.ask("POST {V}/trash/{secret}/restore", "", 409)
	for i, name := range []string{"development", "staging", "production"} {
		w.as(w.key, "DELETE /v1/vaults/acme/site/environments/"+name, "", []int{200, 200, 409}[i])
	}
	w.ask("DELETE /v1/vaults/acme/site", "", 204)
}

// refuse asks for what nobody knows, or what this caller may not know.
func (w *world) refuse() {
	w.ask("POST /v1/vaults", `{"repoFullName":"zoe/nowhere"}`, 404)
	w.ask("POST /v1/secrets/push", `{"repoFullName":"ann/nowhere","environment":"staging","secrets":{}}`, 404)
	w.ask("GET /v1/secrets/pull?repo=ann/api&environment=nowhere", "", 404)
	w.ask("GET /v1/secrets/view?repo=ann/api&environment=staging&key=NOWHERE", "", 404)
	w.ask("GET /v1/secrets/pull?repo=ann&format=xml&limit=0&at=x&revision=-1", "", 422)
	w.ask("GET /v1/nowhere", "", 404)
	w.ask("GET /nowhere", "", 404, "Accept", "application/problem+json")
	w.ask("PUT /v1/secrets/pull", "", 405)
	w.ask("HEAD /v1/secrets/push", "", 405)
}

// generic provokes the errors that operations share.
func (w *world) generic() {
	for _, op := range w.operations() {
		target := op.method + " " + op.target
		if op.scoped {
			w.as("", target, "", 401)
			w.as(w.elsewhere, target, "", 403)
		}
		ask := w.ask
		switch {
		case op.operator:
			ask = w.operator
		case op.session:
			ask = w.browser
		}
		for _, status := range op.statuses {
			switch status {
			case "400":
				if strings.Contains(op.path, "webhook") {
					continue // answered by an instance that takes them: see hooked and billed
				}
				ask(target+"?twice=1&twice=1", op.body, 400)
			case "404":
				if strings.Contains(op.path, "{") && op.path != "/errors/{slug}" {
					ask(op.method+" "+op.nowhere, op.body, 404)
				}
			case "413":
				ask(target, strings.Repeat("x", 1<<20+1), 413)
			case "422":
				if op.method == http.MethodGet {
					ask(target+op.wrongQuery, "", 422)
				} else if op.path != "/v1/sys/unseal" && op.path != "/v1/operator/rekey" { // nothing is needed there
					ask(target, op.wrong, 422)
				}
			}
		}
	}
}

// page asks for what needs no credential.
func (w *world) page() {
	for _, path := range []string{"/", "/health", "/ready", "/v1/health", "/v1/sys/status", "/errors/conflict"} {
		w.as("", "GET "+path, "", 200)
	}
	w.as("", "GET /errors/made-up", "", 404)
	etag := w.as("", "GET /v1/openapi.json", "", 200).header.Get("ETag")
	w.as("", "GET /v1/openapi.json", "", 304, "If-None-Match", etag)
}

// hooked takes webhooks, as an instance of each kind of code host.
func (w *world) hooked() {
	const secret, body = "a secret", "{}"
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(body))
	signature := hex.EncodeToString(mac.Sum(nil))
	for _, c := range []struct {
		kind, name, value string
		headers           []string
		paths             []string
	}{
		{"github", "X-Hub-Signature-256", "sha256=" + signature, []string{"X-GitHub-Event", "ping", "X-GitHub-Delivery", "1"},
			[]string{"/v1/github/webhook", "/v1/webhooks/github"}},
		{"gitea", "X-Gitea-Signature", signature, []string{"X-Gitea-Event", "push", "X-Gitea-Delivery", "1"}, []string{"/v1/webhooks/gitea"}},
		{"gitlab", "X-Gitlab-Token", secret, []string{"X-Gitlab-Event", "System Hook", "X-Gitlab-Event-UUID", "1"}, []string{"/v1/webhooks/gitlab"}},
	} {
		bound := w.boundTo(c.kind, secret)
		bound.operator("PUT /v1/operator/users/disabled", `{"username":"bob","disabled":true}`, 409)
		bound.operator("PUT /v1/operator/users/password", `{"username":"bob","password":"long enough"}`, 409)
		for _, path := range c.paths {
			bound.as("", "POST "+path, body, 400)
			bound.as("", "POST "+path, body, 403, append([]string{c.name, "sha256=0"}, c.headers...)...)
			bound.as("", "POST "+path, body, 200, append([]string{c.name, c.value}, c.headers...)...)
			w.as("", "POST "+path, body, 503)
		}
	}
}

// billed pays for a plan.
func (w *world) billed() {
	stripe := stripetest.New(w.t, stripetest.Price{ID: "price_1", Amount: 1500, Currency: "eur", Interval: "month"})
	p := w.paid(stripe)
	const checkout, portal, hook = "POST /v1/orgs/acme/billing/checkout", "POST /v1/orgs/acme/billing/portal", "POST /v1/billing/webhook"
	p.ask("GET /v1/orgs/acme/billing", "", 200)
	p.ask(portal, bodies["openPortal"], 409)
	p.ask("POST /v1/orgs/acme/trial/start", "", 200)
	p.ask("POST /v1/orgs/acme/trial/start", "", 409)
	p.ask("GET /v1/orgs/acme/trial", "", 200)
	at := p.text(p.ask(checkout, bodies["openCheckout"], 200), "url")
	stripe.Complete(at)
	e := stripe.Pending()[0]
	send := func(body []byte, signature string, status int) {
		p.as("", hook, string(body), status, "Stripe-Signature", signature)
	}
	send(e.Body, "none", 400)
	send([]byte(strings.Repeat(" ", 1<<20+1)), "none", 413)
	stripe.Break("", standin.Status(http.StatusInternalServerError))
	send(e.Body, stripe.Sign(e.Body), 502)
	p.ask(checkout, bodies["openCheckout"], 502)
	p.ask(portal, bodies["openPortal"], 502)
	stripe.Heal()
	send(e.Body, stripe.Sign(e.Body), 200)
	p.ask(checkout, bodies["openCheckout"], 409)
	p.ask(portal, bodies["openPortal"], 200)
	p.operator("PUT /v1/operator/plans", `{"kind":"org","name":"acme","plan":"pro"}`, 200)
	p.operator("POST /v1/sys/seal", "", 204)
	send(e.Body, stripe.Sign(e.Body), 503)

	bound := w.boundTo("gitea", "a secret")
	bound.operator("PUT /v1/operator/plans", `{"kind":"org","name":"acme","plan":"pro"}`, 422)
}

// plan reaches the limits of the smallest plan.
func (w *world) plan() {
	small := w.onPlan("free")
	small.as("", "GET /metrics", "", 404) // nobody set a token for them
	methods := small.operator("GET /v1/operator/unseal-methods", "", 200)
	small.operator("DELETE /v1/operator/unseal-methods/"+w.text(methods, "1.id"), "", 200)
	small.operator("DELETE /v1/operator/unseal-methods/"+w.text(methods, "0.id"), "", 409)
	many := make([]string, 101)
	for i := range many {
		many[i] = fmt.Sprintf(`"K%d":""`, i)
	}
	small.ask("POST /v1/secrets/push", `{"repoFullName":"ann/api","environment":"staging","secrets":{`+strings.Join(many, ",")+`}}`, 403)
	small.ask("POST {V}/secrets", `{"key":"A","value":"`+strings.Repeat("x", 1<<16+1)+`","environment":"staging"}`, 422)
}

// sealed asks a vault that is closed.
func (w *world) sealed() {
	w.operator("POST /v1/sys/seal", "", 204)
	for _, op := range w.operations() {
		if op.scoped || strings.HasPrefix(op.path, "/v1/auth/") || strings.HasPrefix(op.path, "/v1/integrations") {
			w.ask(op.method+" "+op.target, op.body, 503)
		}
	}
	w.as("", "GET /ready", "", 503)
	w.as("", "GET /v1/health", "", 503)
	w.as("", "GET /v1/sys/status", "", 200)
	w.as("", "POST /v1/sys/unseal", `{"key":"x","passphrase":"y"}`, 422)
	w.as("", "POST /v1/sys/unseal", `{"key":"x"}`, 403)
	w.as("", "GET /v1/sys/status", "", 200)
	w.as("", "POST /v1/sys/unseal", `{"share":"`+w.share+`"}`, 202)
	w.as("", "GET /v1/sys/status", "", 200)
	w.as("", "POST /v1/sys/unseal", `{"key":"`+w.in.Recovery+`"}`, 204)
}

// fresh asks a server that is not set up yet.
func (w *world) fresh() {
	f, claim := w.boot()
	f.ask("POST /v1/sys/unseal", "", 503)
	f.ask("POST /v1/sys/init", `{"claimToken":"x","passphrase":"long enough"}`, 403)
	f.ask("POST /v1/sys/init", `{"claimToken":"`+claim+`","keyFile":true,"admin":{"username":"root","password":"long enough"}}`, 200)
	for range 7 {
		f.ask("POST /v1/sys/init", `{"claimToken":"x","passphrase":"long enough"}`, 409)
	}
	f.ask("POST /v1/sys/init", `{"claimToken":"x","passphrase":"long enough"}`, 429)
	f.ask("POST /v1/sys/unseal", "", 429)
}
