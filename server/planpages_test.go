package server_test

import (
	"html"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"coffer/server"
	"coffer/server/api"
	"coffer/server/billing/stripetest"
	"coffer/server/forge"
	"coffer/server/forge/forgetest"
	"coffer/server/servertest"
	"coffer/server/standin"
)

const planPage = "/orgs/acme/plan"

// leadsOut is the address of another server that a page has a link to.
func leadsOut(t *testing.T, s *servertest.Seen) string {
	t.Helper()
	m := regexp.MustCompile(`<a class="button" href="(http[^"]+)"`).FindStringSubmatch(s.Text)
	if m == nil {
		t.Fatalf("no link leads out: %s", s.Text)
	}
	return html.UnescapeString(m[1])
}

// lacks wants none of these texts on a page.
func lacks(t *testing.T, s *servertest.Seen, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if strings.Contains(html.UnescapeString(s.Text), text) {
			t.Errorf("the page says %q: %s", text, s.Text)
		}
	}
}

func TestThePlanPageLeadsThroughATrial(t *testing.T) {
	s := newShop(t)
	b := inBrowser(s.Instance, "ann")
	seen := expectSeen(t, b.Open(planPage), 200, "acme has the plan <strong>free</strong>", "Start the trial", "Subscribe to team for EUR 15.00 a month", "EUR 150.00 a year", "EUR 9.00 a month",
		"Vaults of private repositories: none", "none, and the plan allows none", "Members</dt><dd>2, no limit")
	lacks(t, seen, "Payment and invoices", "startup", "The trial ends")
	if got := current(seen); got != "Organizations true, Plan page" {
		t.Errorf("it is at %s", got)
	}

	expect(t, b.Submit(planPage, "do", "trial"), 303, planPage)
	expectSeen(t, b.Open(planPage), 200, "The trial has begun.", "in its trial: 14 days left, until ", "After that it has the plan <strong>free</strong>", "0, no limit")
	expectSeen(t, b.Submit(planPage, "do", "trial"), 409, "The trial of acme is running until")
	s.Vault(s.ann, "acme/api")
	ends := s.clock.now().Add(14 * 24 * time.Hour).UTC().Format("2 January 2006")
	s.clock.turn(9*24*time.Hour + time.Hour)
	b = inBrowser(s.Instance, "ann")
	warning := "The trial ends in 5 days, on " + ends + ". After that the plan is free, and what exceeds it can be read, but not changed."
	expectSeen(t, b.Open(planPage), 200, warning, "5 days left, until "+ends)
	seen = expectSeen(t, inBrowser(s.Instance, "bob").Open("/orgs/acme"), 200, warning, `<dt>Trial</dt><dd>5 days left, until `+ends, "See the plan")
	if got := links(seen, planPage); !strings.Contains(got, planPage) {
		t.Errorf("nothing leads to the plan: %s", got)
	}
	s.clock.turn(6 * 24 * time.Hour)
	b = inBrowser(s.Instance, "ann")
	seen = expectSeen(t, b.Open(planPage), 200, "The trial ended on "+ends, "1, and the plan allows 0")
	lacks(t, seen, "Start the trial")

	// What is read-only says so, and where that can be changed.
	seen = expectSeen(t, b.Open("/vaults/acme/api"), 200, "its organization's plan (free) has no private repositories.", "See the organization's plan")
	if got := links(seen, planPage); got != planPage {
		t.Errorf("the vault leads to %q", got)
	}
}

// afterATrial is a shop where acme has had its trial, and a private vault since.
func afterATrial(t *testing.T) *shop {
	t.Helper()
	s := newShop(t)
	if _, err := s.ann.StartTrial(t.Context(), "acme"); err != nil {
		t.Fatal(err)
	}
	s.Vault(s.ann, "acme/api")
	s.clock.turn(15 * 24 * time.Hour)
	s.ann = s.SignIn("ann")
	return s
}

func TestThePlanPageLeadsThroughACheckout(t *testing.T) {
	s := afterATrial(t)
	b := inBrowser(s.Instance, "ann")
	seen := expectSeen(t, b.Submit(planPage, "do", "checkout", "priceId", "price_team"), 200, "Continue to payment", "Back to the plan")
	if csp := seen.Header.Get("Content-Security-Policy"); !strings.Contains(csp, "form-action 'self'") {
		t.Errorf("the policy is %s", csp)
	}
	at := leadsOut(t, seen)
	if !strings.HasPrefix(at, s.stripe.URL) {
		t.Errorf("it leads to %s", at)
	}
	expectSeen(t, b.Open(planPage+"?checkout=cancelled"), 200, "You left without subscribing.")
	expectSeen(t, b.Open(planPage+"?checkout=done"), 200, "The plan is granted once Stripe confirms it", "Look again", "acme has the plan <strong>free</strong>")
	s.stripe.Complete(at)
	expectSeen(t, b.Open(planPage+"?checkout=done"), 200, "The plan is granted once Stripe confirms it")
	s.flush()
	seen = expectSeen(t, b.Open(planPage+"?checkout=done"), 200, "Stripe has confirmed it.", "acme has the plan <strong>team</strong>", "acme subscribes to team. It is renewed on ", "Payment and invoices")
	lacks(t, seen, "Plans to subscribe to", "once Stripe confirms")
	lacks(t, b.Open("/vaults/acme/api"), "read-only")
	expectSeen(t, b.Submit(planPage, "do", "checkout", "priceId", "price_team"), 409, "acme has a subscription already.")

	at = leadsOut(t, expectSeen(t, b.Submit(planPage, "do", "portal"), 200, "Continue to Stripe", "change or end the subscription"))
	if !strings.HasPrefix(at, s.stripe.URL+"/p/") {
		t.Errorf("the portal is at %s", at)
	}
}

func TestThePlanPageSaysHowASubscriptionStands(t *testing.T) {
	s := afterATrial(t)
	sub := s.subscribe("price_team")
	b := inBrowser(s.Instance, "ann")
	s.stripe.Change(sub, func(x *stripetest.Subscription) { x.CancelAtPeriodEnd = true })
	s.flush()
	expectSeen(t, b.Open(planPage), 200, "The subscription to team ends on ", "is not renewed")
	s.stripe.Change(sub, func(x *stripetest.Subscription) { x.CancelAtPeriodEnd = false })
	for _, tt := range []struct{ status, owner, member string }{
		{"past_due", `A payment is missing. acme keeps the plan team while Stripe tries again. Look at how you pay under "Payment and invoices" below.`, "An owner of the organization can look at how it is paid."},
		{"unpaid", "it grants nothing. acme has the plan free: 1 vault of a private repository is read-only. It can be read, but not changed. Look at how you pay", "1 vault of a private repository is read-only"},
		{"paused", "The subscription is paused, so it grants nothing.", "The subscription is paused"},
		{"canceled", "The subscription has ended. acme has the plan free: 1 vault", "Owners of the organization subscribe."},
	} {
		s.stripe.Move(sub, tt.status)
		s.flush()
		expectSeen(t, b.Open(planPage), 200, `<p class="warning" role="status">`, tt.owner)
		expectSeen(t, inBrowser(s.Instance, "bob").Open(planPage), 200, tt.member)
	}
	expectSeen(t, b.Open(planPage), 200, "Subscribe to team for EUR 15.00 a month")
}

// TestWhoMayDoWhatOnThePlanPage is for owners, members, and everybody else.
func TestWhoMayDoWhatOnThePlanPage(t *testing.T) {
	s := newShop(t)
	s.User("eve")
	ann, bob, eve := inBrowser(s.Instance, "ann"), inBrowser(s.Instance, "bob"), inBrowser(s.Instance, "eve")
	expect(t, s.Browser().Open(planPage), 303, "/login?return=%2Forgs%2Facme%2Fplan")
	expect(t, s.Browser().Open("/upgrade"), 303, "/login?return=%2Fupgrade")
	refusedFrom(t, s.Instance, ann, planPage, "do", "trial")
	refusedFrom(t, s.Instance, ann, planPage, "do", "checkout", "priceId", "price_team")

	seen := expectSeen(t, bob.Open(planPage), 200, "Owners of the organization subscribe.", "EUR 15.00 a month")
	lacks(t, seen, `action="/orgs`, "Start the trial", `name="priceId"`)
	expectSeen(t, eve.Open(planPage), 403, "Only members of acme may see this.")
	expectSeen(t, ann.Open("/orgs/none/plan"), 404)
	for _, fields := range [][]string{{"do", "trial"}, {"do", "checkout", "priceId", "price_team"}, {"do", "portal"}} {
		expectSeen(t, bob.Submit(planPage, fields...), 403, "Only an owner of acme may do this")
		expectSeen(t, eve.Submit(planPage, fields...), 403, "Only an owner of acme may do this")
	}
	expectSeen(t, ann.Submit(planPage, "do", "x"), 400, "nothing that this page can do")
	expectSeen(t, ann.Submit(planPage, "do", "portal"), 409, "acme has no subscription to manage yet.")
	for _, price := range []string{"", "price_other", `"><b>`} {
		seen := expectSeen(t, ann.Submit(planPage, "do", "checkout", "priceId", price), 422, `id="priceId-wrong">The id of one of the prices`)
		lacks(t, seen, "<b>")
	}
	expectSeen(t, ann.Open(planPage+"?checkout=%3Cb%3E"), 422)
	if n := s.stripe.Customers(); n != 0 {
		t.Errorf("%d customers were made", n)
	}

	seen = expectSeen(t, bob.Open("/upgrade"), 200, "plan free", "owners subscribe")
	if got := links(seen, "/orgs"); got != planPage {
		t.Errorf("it leads to %s", got)
	}
	expectSeen(t, eve.Open("/upgrade"), 200, "You are a member of no organization")
	seen = expectSeen(t, eve.Open("/account"), 200, "Allowed", "Organizations subscribe to higher plans.")
	if got := links(seen, "/upgrade"); got != "/upgrade" {
		t.Errorf("the account leads to %s", got)
	}

	if _, err := s.ann.UpdateOrg(t.Context(), "acme", api.UpdateOrg{DisplayName: api.Nullable{Given: true, Text: new("<b>Acme</b>")}}); err != nil {
		t.Fatal(err)
	}
	for _, page := range []string{planPage, "/upgrade"} {
		if seen := expectSeen(t, ann.Open(page), 200, "<b>Acme</b>"); strings.Contains(seen.Text, "<b>") {
			t.Errorf("%s: %s", page, seen.Text)
		}
	}
}

// TestARefusalLeadsToThePlans where an address that the API names is a page.
func TestARefusalLeadsToThePlans(t *testing.T) {
	s := newShop(t)
	s.Vault(s.ann, "ann/one")
	_, err := s.ann.CreateVault(t.Context(), "ann/two")
	e, _ := err.(*api.Error)
	if e == nil || e.UpgradeURL != "https://vault.example/upgrade" {
		t.Fatalf("got %#v", err)
	}
	b := inBrowser(s.Instance, "ann")
	seen := expectSeen(t, b.Submit("/", "repoFullName", "ann/two"), 403, "See the plans")
	if got := links(seen, "/upgrade"); got != "/upgrade" {
		t.Errorf("the form leads to %q", got)
	}
	expectSeen(t, b.Open(strings.TrimPrefix(e.UpgradeURL, b.Public)), 200, "Your own account has the plan free.")
}

// TestNobodyIsOfferedLess than what they have for nothing.
func TestNobodyIsOfferedLess(t *testing.T) {
	s := newShop(t)
	b := inBrowser(s.Instance, "ann")
	for given, want := range map[string]string{"pro": "Subscribe to team", "enterprise": ""} {
		if _, err := s.Operator.SetPlan(t.Context(), api.SetPlan{Kind: "org", Name: "acme", Plan: given}); err != nil {
			t.Fatal(err)
		}
		seen := expectSeen(t, b.Open(planPage), 200, "acme has the plan <strong>"+given, want)
		lacks(t, seen, "Subscribe to pro", "Stripe does not say")
		if offered := strings.Contains(seen.Text, "Plans to subscribe to"); offered != (want != "") {
			t.Errorf("with %s, there is an offer: %v", given, offered)
		}
		if tries := strings.Contains(seen.Text, "Start the trial"); tries != (given == "pro") {
			t.Errorf("with %s, there is a trial: %v", given, tries)
		}
	}
}

// TestASubscriptionToNothingIsSaid where the operator took the price back.
func TestASubscriptionToNothingIsSaid(t *testing.T) {
	s := newShop(t)
	sub := s.subscribe("price_pro")
	customer := s.stripe.Subscription(sub).Customer
	s.stripe.Move(sub, "canceled")
	s.stripe.Subscribe(customer, "price_other", "")
	s.flush()
	expectSeen(t, inBrowser(s.Instance, "ann").Open(planPage), 200, "acme pays for a subscription that is to none of the plans here.")
}

func TestThePlanPageIsThereWhileStripeIsNot(t *testing.T) {
	s := newShop(t)
	b := inBrowser(s.Instance, "ann")
	s.stripe.Break("", standin.Status(http.StatusServiceUnavailable))
	seen := expectSeen(t, b.Open(planPage), 200, "acme has the plan <strong>free</strong>", "Stripe does not say at the moment what the plans cost. Vaults work on.", "Start the trial")
	lacks(t, seen, `name="priceId"`)
	expectSeen(t, b.Submit(planPage, "do", "checkout", "priceId", "price_team"), 502, "The payment provider did not answer.", "Your vaults work on meanwhile.", "acme has the plan <strong>free</strong>")
	s.stripe.Heal()
	s.clock.turn(time.Minute)
	s.subscribe("price_team")
	s.stripe.Break("", standin.Status(http.StatusServiceUnavailable))
	expectSeen(t, b.Submit(planPage, "do", "portal"), 502, "The payment provider did not answer.", "acme has the plan <strong>team</strong>")
}

// TestNoPageSpeaksOfMoneyWhereNobodyPays looks at every page that there is, as an
// owner who runs the server, where plans are limited and where they are not.
func TestNoPageSpeaksOfMoneyWhereNobodyPays(t *testing.T) {
	list, err := os.ReadFile("httpd/testdata/pages.golden")
	if err != nil {
		t.Fatal(err)
	}
	money := regexp.MustCompile(`(?i)upgrade|stripe|subscri|price|\bpay|invoice|billing|checkout=|\btrial|money|purchase|\bbuy`)
	in := club(t)
	in.Push(in.Key("ann", "live", servertest.AllScopes...), "acme/api", "production", map[string]string{"A": "1"})
	secrets, err := in.SignIn("ann").Secrets(t.Context(), "acme/api", "", api.Page{})
	if err != nil || len(secrets.Items) != 1 {
		t.Fatalf("%+v, %v", secrets, err)
	}
	id := secrets.Items[0].ID
	params := strings.NewReplacer(":owner", "acme", ":repo", "api", ":org", "acme", ":env", "production", ":name", "production", ":secretId", id, ":slug", "plan-limit", ":id", id)
	for _, options := range [][]func(*server.Config){nil, {onPlan("free")}} {
		if options != nil {
			in.Restart(options...)
		}
		b := inBrowser(in, "ann")
		pages, seen := strings.Fields(string(list)), map[string]bool{}
		good := 0
		for len(pages) > 0 {
			page := params.Replace(pages[0])
			pages = pages[1:]
			if seen[page] || strings.HasPrefix(page, "/static/") || strings.HasPrefix(page, "/v1/") {
				continue
			}
			seen[page] = true
			s := b.Open(page)
			if s.Status == 200 {
				good++
			}
			if page == "/upgrade" {
				if s.Status != 404 {
					t.Errorf("%s is there: %d", page, s.Status)
				}
				s.Text = strings.ReplaceAll(s.Text, "/upgrade", "") // where it is repeated
			}
			s.Text = strings.ReplaceAll(s.Text, "upgradeUrl", "") // what the API calls it
			if found := money.FindString(s.Text); found != "" {
				t.Errorf("%s says %q: %s", page, found, s.Text)
			}
			for _, m := range regexp.MustCompile(`href="(/[^"#]*)"`).FindAllStringSubmatch(s.Text, -1) {
				pages = append(pages, html.UnescapeString(m[1]))
			}
		}
		if good < 30 {
			t.Errorf("only %d pages were seen", good)
		}
		expectSeen(t, b.Open(planPage), 200, "acme has the plan")
	}
	b := inBrowser(in, "ann")
	for _, s := range []*servertest.Seen{
		b.Submit(planPage, "do", "x"), b.Submit("/", "repoFullName", "acme/two"), b.Submit("/vaults/acme/api/environments", "do", "create", "name", "qa"),
	} {
		if found := money.FindString(s.Text); found != "" || s.Status < 400 {
			t.Errorf("%d: a refusal says %q: %s", s.Status, found, s.Text)
		}
	}
	expectSeen(t, b.Open("/vaults/acme/api"), 200, "its organization's plan (free) has no private repositories.")
}

// TestATrialIsOfferedToWhoMayStartIt on every code host; only GitHub has an
// application that organizations install, and members may start the trial then.
func TestATrialIsOfferedToWhoMayStartIt(t *testing.T) {
	onEveryHost(t, true, func(b *bound) {
		b.world.SetMember(b.org, b.bob, forge.OrgMember)
		sold := &shop{t: b.t, stripe: stripetest.New(b.t, shopPrices...)}
		b.Restart(sold.sells)
		opens := func(user int64) *servertest.Seen {
			token := b.world.Token(user, forgetest.PAT, b.scopes...)
			return b.Browser().Send("GET", planPage, "", "Authorization", "Bearer "+token)
		}
		expectSeen(b.t, opens(b.ann), 200, "Start the trial", "Subscribe to team")
		seen := expectSeen(b.t, opens(b.bob), 200, "Owners of the organization subscribe.")
		if offered := strings.Contains(seen.Text, "Start the trial"); offered != (b.kind() == "github") {
			b.t.Errorf("a member is offered a trial: %v", offered)
		}
		expectSeen(b.t, opens(b.carl), 403)
	})
}
