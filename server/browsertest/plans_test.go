package browsertest

import (
	"net"
	"net/http"
	"strings"
	"testing"

	"coffer/server/billing/stripetest"
	"coffer/server/servertest"
	"coffer/server/standin"
)

// shop is an instance that is a paid service, where ann owns acme, bob is in it, and
// acme/api is private.
type shop struct {
	*instance
	stripe *stripetest.Server
}

// serveShop runs it. Its address is a name, and Stripe's a number: that makes them
// two sites, as they are in life.
func serveShop(t *testing.T, settings ...string) *shop {
	t.Helper()
	needBrowser(t)
	s := &shop{stripe: stripetest.New(t,
		stripetest.Price{ID: "price_team", Amount: 1500, Currency: "eur", Interval: "month"},
		stripetest.Price{ID: "price_team_year", LookupKey: "team_year", Amount: 15000, Currency: "eur", Interval: "year"},
		stripetest.Price{ID: "price_pro", Amount: 900, Currency: "eur", Interval: "month"},
	)}
	address := servertest.FreeAddress()
	_, port, _ := net.SplitHostPort(address)
	public := "http://localhost:" + port
	s.instance = serveAt(t, address, append(settings, "PUBLIC_URL="+public, "BILLING_STRIPE_API_URL="+s.stripe.URL,
		"BILLING_STRIPE_SECRET_KEY="+stripetest.Key, "BILLING_STRIPE_WEBHOOK_SECRET="+stripetest.WebhookSecret,
		"BILLING_STRIPE_PRICES_TEAM_MONTHLY=price_team", "BILLING_STRIPE_PRICES_TEAM_YEARLY=team_year", "BILLING_STRIPE_PRICES_PRO_MONTHLY=price_pro")...)
	s.url = public
	s.user("ann")
	s.user("bob")
	s.operator("", "admin", "org", "add", "acme")
	s.operator("", "admin", "org", "member", "acme", "ann", "owner")
	s.operator("", "admin", "org", "member", "acme", "bob", "member")
	return s
}

// tells delivers Stripe's events.
func (s *shop) tells() {
	s.t.Helper()
	if n := s.stripe.Flush(s.url + "/v1/billing/webhook"); n != 0 {
		s.t.Fatalf("%d events were not taken", n)
	}
}

// TestAnOrganizationTriesAndSubscribes in a browser without scripts: a trial, a
// checkout that is left and one that is paid, the plan, and the portal.
func TestAnOrganizationTriesAndSubscribes(t *testing.T) {
	s := serveShop(t)
	b := newBrowser(t, s.url, s.stripe.URL)
	b.open("/")
	b.signIn("ann", password)
	b.open("/upgrade")
	b.wants("Plans", "you are an owner", "plan free")
	b.looksGood("upgrade")
	b.press("acme")
	b.wants("acme", "acme has the plan free", "Start the trial", "EUR 15.00 a month")
	b.looksGood("plan-free")
	b.press("Start the trial")
	b.wants("acme", "The trial has begun.", "14 days left")
	b.looksGood("plan-trial")
	b.open("/")
	b.fill("Repository", "acme/api")
	b.press("Create vault")
	b.wants("Secrets", "acme/api")

	b.open("/orgs/acme/plan")
	b.press("Subscribe to team for EUR 15.00 a month")
	b.wants("Continue to payment", "You pay at Stripe.")
	b.looksGood("plan-checkout")
	b.press("Continue to payment")
	b.wants("Checkout")
	b.press("Back")
	b.wants("acme", "You left without subscribing.")
	b.press("Subscribe to team for EUR 15.00 a month")
	b.press("Continue to payment")
	b.press("Pay")
	b.wants("acme", "The plan is granted once Stripe confirms it")
	b.looksGood("plan-unconfirmed")
	s.tells()
	b.press("Look again")
	b.wants("acme", "Stripe has confirmed it.", "acme subscribes to team.", "The trial is over")
	b.looksGood("plan-subscribed")

	b.press("Payment and invoices")
	b.wants("Continue to payment and invoices")
	b.looksGood("plan-portal")
	b.press("Continue to Stripe")
	b.wants("Billing")
	b.press("Cancel subscription")
	s.tells()
	b.open("/orgs/acme/plan")
	b.wants("acme", "is not renewed")
	b.looksGood("plan-ending")
	b.open("/account")
	b.looksGood("account-paid")
}

// TestPlansThatWentWrongLookGood where nobody pays any more, and while Stripe is down.
func TestPlansThatWentWrongLookGood(t *testing.T) {
	s := serveShop(t)
	name := strings.Repeat("long-", 7) + "name" // as long as names may be
	s.operator("", "admin", "org", "add", name)
	s.operator("", "admin", "org", "member", name, "ann", "owner")
	b := newBrowser(t, s.url, s.stripe.URL)
	b.scripts(true) // which see to it that no form is sent twice
	b.open("/")
	b.signIn("ann", password)
	at := "/orgs/" + name + "/plan"
	b.open(at)
	b.press("Subscribe to team for EUR 150.00 a year")
	b.press("Continue to payment")
	pay := b.at()
	sub := s.stripe.Complete(pay)
	s.tells()
	b.open("/")
	b.fill("Repository", name+"/api")
	b.press("Create vault")
	for _, status := range []string{"past_due", "unpaid", "canceled"} {
		s.stripe.Move(sub, status)
		s.tells()
		b.open(at)
		b.looksGood("plan-" + status)
	}
	b.wants(name, "1 vault of a private repository is read-only")
	b.open("/vaults/" + name + "/api")
	b.wants("Secrets", "its organization's plan (free) has no private repositories.")
	b.looksGood("matrix-read-only")
	b.press("See the organization's plan")
	b.wants(name, "The subscription has ended.")

	down := serveShop(t, "PLANS_FREE_PRIVATE_ORG_REPOS=true", "PLANS_FREE_PRIVATE_REPOS=3")
	down.stripe.Break("", standin.Status(http.StatusServiceUnavailable))
	b = newBrowser(t, down.url)
	b.open("/")
	b.signIn("bob", password)
	b.open("/orgs/acme/plan")
	b.wants("acme", "0 of 3", "Vaults work on.")
	b.looksGood("plan-stripe-down")
}
