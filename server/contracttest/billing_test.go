package contracttest

import (
	"testing"

	"coffer/server"
	"coffer/server/billing/stripetest"
)

const activeTrial = `"hasStarted":true,"isActive":true,"daysRemaining":14,"startedAt":"<time>","endsAt":"<time>","status":"active","convertedAt":null,"trialDurationDays":14`

func TestATrialAndBillingWhereNobodyPays(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	who := s.users(t, "ann", "bob", "eve")
	s.org(t, "acme", "ann", "bob")
	ann := s.signIn(t, "ann")
	who["bob"].do(t, "GET /v1/orgs/@acme/trial", "").holds(200, noTrial)
	who["bob"].do(t, "GET /v1/orgs/@acme/billing", "").holds(200, `{"plan":"team","status":"none","currentPeriodEnd":null,"cancelAtPeriodEnd":false,
		"effectivePlan":"team","billingEnabled":false,"trial":`+noTrial+`,"prices":null}`)

	s.signIn(t, "bob").do(t, "POST /v1/orgs/@acme/trial/start", "").fails(403, "forbidden")
	who["ann"].do(t, "POST /v1/orgs/@acme/trial/start", "").fails(403, "forbidden")
	ann.do(t, "POST /v1/orgs/@acme/trial/start", "").holds(200, `{`+activeTrial+`,"trial":{`+activeTrial+`},"message":"<text>"}`)
	last := ann.do(t, "GET /v1/activity?limit=1", "").ok(200)
	last.same(`["org_trial_started",null,{"org":"@acme","endsAt":"<time>"}]`, []any{last.at("data.0.action"), last.at("data.0.vaultId"), last.at("data.0.metadata")})
	ann.do(t, "POST /v1/orgs/@acme/trial/start", "").fails(409, "conflict")
	who["bob"].do(t, "GET /v1/orgs/@acme/trial", "").holds(200, `{`+activeTrial+`}`)
	detail := who["bob"].do(t, "GET /v1/orgs/@acme", "").ok(200)
	detail.same(`[{`+activeTrial+`},"team","team"]`, []any{detail.at("data.trial"), detail.at("data.plan"), detail.at("data.effectivePlan")})

	for _, path := range []string{"billing", "trial"} {
		who["eve"].do(t, "GET /v1/orgs/@acme/"+path, "").fails(403, "forbidden")
		ann.do(t, "GET /v1/orgs/nobody-at-all/"+path, "").fails(404, "not-found")
	}
	for path, body := range map[string]string{
		"checkout": `{"priceId":"p","successUrl":"https://elsewhere.example/","cancelUrl":"https://elsewhere.example/"}`,
		"portal":   `{"returnUrl":"https://elsewhere.example/"}`,
	} {
		call := "POST /v1/orgs/@acme/billing/" + path
		ann.do(t, call, body).fails(400, "bad-request")
		s.signIn(t, "bob").do(t, call, body).fails(403, "forbidden")
		who["ann"].do(t, call, body).fails(403, "forbidden")
		ann.do(t, "POST /v1/orgs/nobody-at-all/billing/"+path, body).fails(404, "not-found")
		s.nobody().do(t, call, body).fails(401, "unauthorized")
	}
	s.nobody().do(t, "POST /v1/billing/webhook", `{}`, "Stripe-Signature", "t=1,v1=00").fails(400, "bad-request")
}

func TestBrokenRulesOfCheckoutsAreNamed(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.users(t, "ann")
	s.org(t, "acme", "ann")
	ann := s.signIn(t, "ann")
	const checkout, portal = "POST /v1/orgs/@acme/billing/checkout", "POST /v1/orgs/@acme/billing/portal"
	ann.do(t, checkout, `{}`).fails(422, "validation-error", "priceId:required", "successUrl:required", "cancelUrl:required")
	ann.do(t, checkout, `{"priceId":"","successUrl":"/here","cancelUrl":"javascript:alert(1)"}`).
		fails(422, "validation-error", "priceId:too_short", "successUrl:invalid_format", "cancelUrl:invalid_format")
	ann.do(t, checkout, `{"priceId":1,"successUrl":null,"cancelUrl":[]}`).
		fails(422, "validation-error", "priceId:invalid_type", "successUrl:required", "cancelUrl:invalid_type")
	ann.do(t, portal, `{}`).fails(422, "validation-error", "returnUrl:required")
	ann.do(t, portal, `{"returnUrl":"https://ann:pw@vault.example/"}`).fails(422, "validation-error", "returnUrl:invalid_format")
}

func TestAPaidService(t *testing.T) {
	stripe := stripetest.New(t, stripetest.Price{ID: "price_1", LookupKey: "team_monthly", Amount: 1500, Currency: "eur", Interval: "month"})
	s := ownSite(t, func(c *server.Config) {
		c.Billing.Stripe = server.StripeConfig{SecretKey: stripetest.Key, WebhookSecret: stripetest.WebhookSecret, APIURL: stripe.URL,
			Prices: []server.PlanPrice{{Plan: "team", Price: "team_monthly"}}}
	})
	s.users(t, "ann")
	s.org(t, "acme", "ann")
	s.repo(t, "@acme/api", false)
	ann := s.signIn(t, "ann")
	const checkout = "POST /v1/orgs/@acme/billing/checkout"
	body := `{"priceId":"price_1","successUrl":"` + ourPublicURL + `/a","cancelUrl":"` + ourPublicURL + `/b"}`
	prices := `{"team":{"monthly":{"id":"price_1","price":1500,"currency":"eur","interval":"month"},"yearly":null}}`
	ann.do(t, "GET /v1/orgs/@acme/billing", "").holds(200, `{"plan":"free","status":"none","currentPeriodEnd":null,"cancelAtPeriodEnd":false,
		"effectivePlan":"free","billingEnabled":true,"trial":`+noTrial+`,"prices":`+prices+`}`)

	ann.do(t, "POST /v1/orgs/@acme/billing/portal", `{"returnUrl":"`+ourPublicURL+`/a"}`).fails(409, "conflict")
	ann.do(t, checkout, `{"priceId":"price_2","successUrl":"`+ourPublicURL+`/a","cancelUrl":"`+ourPublicURL+`/b"}`).fails(422, "validation-error", "priceId:unknown_value")
	ann.do(t, checkout, `{"priceId":"price_1","successUrl":"https://elsewhere.example/","cancelUrl":"`+ourPublicURL+`.elsewhere.example/b"}`).
		fails(422, "validation-error", "successUrl:not_allowed", "cancelUrl:not_allowed")
	at := ann.do(t, checkout, body).ok(200).text("data.url")
	ann.do(t, "GET /v1/orgs/@acme/billing", "").ok(200).same(`"free"`, ann.do(t, "GET /v1/orgs/@acme/billing", "").at("data.effectivePlan"))
	stripe.Complete(at)
	if n := stripe.Flush(s.URL + "/v1/billing/webhook"); n != 0 {
		t.Errorf("%d events were not taken", n)
	}
	ann.do(t, "GET /v1/orgs/@acme/billing", "").holds(200, `{"plan":"team","status":"active","currentPeriodEnd":"<time>","cancelAtPeriodEnd":false,
		"effectivePlan":"team","billingEnabled":true,"trial":`+noTrial+`,"prices":`+prices+`}`)
	ann.do(t, checkout, body).fails(409, "conflict")
	ann.do(t, "POST /v1/orgs/@acme/trial/start", "").fails(409, "conflict")
	ann.do(t, "POST /v1/orgs/@acme/billing/portal", `{"returnUrl":"`+ourPublicURL+`/a"}`).ok(200)
}

// TestTheExistingClientOffersATrial follows what the existing command-line client
// does when a vault is refused.
func TestTheExistingClientOffersATrial(t *testing.T) {
	s := ownSite(t, func(c *server.Config) { c.Plans.Default = "free" })
	s.users(t, "ann")
	s.org(t, "acme", "ann")
	s.repo(t, "@acme/api", false)
	ann := s.signIn(t, "ann")
	const agent = "keyway-cli/dev"
	const create, body = "POST /v1/vaults", `{"repoFullName":"@acme/api"}`
	a := ann.do(t, create, body, "User-Agent", agent).fails(403, "plan-limit")
	a.same(`{"eligible":true,"daysAvailable":14,"orgLogin":"@acme","reason":"<text>"}`, a.at("trialInfo"))
	a.same(quoted(ourPublicURL+"/errors/plan-limit"), a.at("upgradeUrl"))
	ann.do(t, "POST /v1/orgs/"+a.text("trialInfo.orgLogin")+"/trial/start", `{}`, "User-Agent", agent, "Content-Type", "application/json").ok(200)
	ann.do(t, create, body, "User-Agent", agent).ok(201)
}
