package server_test

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"coffer/server"
	"coffer/server/api"
	"coffer/server/billing/stripetest"
	"coffer/server/client"
	"coffer/server/servertest"
	"coffer/server/standin"
)

func (s *shop) portal(c *client.Client, back string) (string, error) {
	v, err := c.OpenPortal(s.t.Context(), api.OpenPortal{OrgRef: api.OrgRef{Org: "acme"}, ReturnURL: back})
	if err != nil {
		return "", err
	}
	return v.URL, nil
}

func TestBillingShowsWhatThereIsToBuy(t *testing.T) {
	s := newShop(t)
	amount := func(n int64) *int64 { return &n }
	want := &api.Prices{
		"team": {Monthly: &api.Price{ID: "price_team", Price: amount(1500), Currency: "eur", Interval: "month"},
			Yearly: &api.Price{ID: "price_team_year", Price: amount(15000), Currency: "eur", Interval: "year"}},
		"pro": {Monthly: &api.Price{ID: "price_pro", Price: amount(900), Currency: "eur", Interval: "month"}},
	}
	b := s.billing()
	if diff := cmp.Diff(want, b.Prices); diff != "" || !b.BillingEnabled || b.Status != "none" || b.Plan != "free" || b.CurrentPeriodEnd != nil {
		t.Errorf("%+v %s", b, diff)
	}
	asked := len(s.stripe.Log())
	s.billing()
	if more := len(s.stripe.Log()) - asked; more != 0 {
		t.Errorf("Stripe was asked %d times more", more)
	}
	s.stripe.Break("", standin.Status(http.StatusInternalServerError))
	s.clock.turn(time.Hour)
	if diff := cmp.Diff(want, s.billing().Prices); diff != "" {
		t.Errorf("while Stripe is down: %s", diff)
	}
	s.restart(0)
	if b := s.billing(); b.Prices != nil || !b.BillingEnabled {
		t.Errorf("while it was always down: %+v", b)
	}

	s.stripe.Heal()
	s.clock.turn(time.Hour)
	s.subscribe("team_year")
	b = s.billing()
	if b.Status != "active" || b.Plan != "team" || b.CurrentPeriodEnd == nil || b.CancelAtPeriodEnd {
		t.Errorf("%+v", b)
	}
	bob, err := s.SignIn("bob").OrgBilling(t.Context(), "acme")
	if diff := cmp.Diff(b, bob); diff != "" || err != nil {
		t.Errorf("a member sees %s, %v", diff, err)
	}
	s.User("eve")
	if _, err := s.SignIn("eve").OrgBilling(t.Context(), "acme"); api.CodeOf(err) != api.Forbidden {
		t.Errorf("an outsider sees it: %v", err)
	}
}

func TestACheckoutIsRefusedForAReason(t *testing.T) {
	s := newShop(t)
	open := func(c *client.Client, price, success, cancel string) error {
		_, err := c.OpenCheckout(t.Context(), api.OpenCheckout{OrgRef: api.OrgRef{Org: "acme"}, PriceID: price, SuccessURL: success, CancelURL: cancel})
		return err
	}
	for _, tt := range []struct {
		name  string
		err   error
		code  api.Code
		field string
	}{
		{"a member", open(s.SignIn("bob"), "price_team", shopPage, shopPage), api.Forbidden, ""},
		{"an owner's key", open(s.Key("ann", "live", servertest.AllScopes...), "price_team", shopPage, shopPage), api.Forbidden, ""},
		{"no price", open(s.ann, "", shopPage, shopPage), api.Invalid, "priceId"},
		{"an unknown price", open(s.ann, "price_none", shopPage, shopPage), api.Invalid, "priceId"},
		{"a price that is not on offer", open(s.ann, "price_other", shopPage, shopPage), api.Invalid, "priceId"},
		{"back to elsewhere", open(s.ann, "price_team", "https://evil.example/", shopPage), api.Invalid, "successUrl"},
		{"canceled to elsewhere", open(s.ann, "price_team", shopPage, "https://vault.example.evil.example/"), api.Invalid, "cancelUrl"},
		{"back with a name", open(s.ann, "price_team", "https://vault.example@evil.example/", shopPage), api.Invalid, "successUrl"},
		{"back over plain http", open(s.ann, "price_team", "http://vault.example/", shopPage), api.Invalid, "successUrl"},
		{"back to no address", open(s.ann, "price_team", "//vault.example/", shopPage), api.Invalid, "successUrl"},
		{"back to a script", open(s.ann, "price_team", "javascript:alert(1)", shopPage), api.Invalid, "successUrl"},
	} {
		wantProblem(t, tt.name, tt.err, tt.code, tt.field)
	}
	_, err := s.portal(s.ann, shopPage)
	wantProblem(t, "a portal without a customer", err, api.Conflict, "")
	_, err = s.portal(s.ann, "https://evil.example/")
	wantProblem(t, "a portal that leads elsewhere", err, api.Invalid, "returnUrl")
	if n := s.stripe.Customers(); n != 0 {
		t.Errorf("%d customers were made", n)
	}

	s.stripe.Break("/v1/c", standin.Status(http.StatusServiceUnavailable))
	_, err = s.checkout(s.ann, "price_team")
	wantProblem(t, "while Stripe is down", err, api.ProviderFailed, "")
	s.stripe.Heal()

	at, err := s.checkout(s.ann, "price_team")
	if err != nil {
		t.Fatal(err)
	}
	s.stripe.Complete(at) // and its events do not arrive
	_, err = s.checkout(s.ann, "price_team")
	wantProblem(t, "subscribed already", err, api.Conflict, "")
	if b := s.billing(); b.Status != "active" || b.EffectivePlan != "team" {
		t.Errorf("asking for a checkout shows what was missed: %+v", b)
	}
	if at, err := s.portal(s.ann, shopPage); err != nil || !strings.HasPrefix(at, s.stripe.URL) {
		t.Errorf("the portal is at %q, %v", at, err)
	}
	_, err = s.portal(s.SignIn("bob"), shopPage)
	wantProblem(t, "a member's portal", err, api.Forbidden, "")
	s.stripe.SetPortal(false)
	_, err = s.portal(s.ann, shopPage)
	wantProblem(t, "a portal that is not set up", err, api.ProviderFailed, "")
	if log := s.Log.String(); !strings.Contains(log, "the customer portal is not set up") {
		t.Error("the operator is not told how the portal is set up")
	}
}

func wantProblem(t *testing.T, name string, err error, code api.Code, field string) {
	t.Helper()
	e, _ := err.(*api.Error)
	if e == nil || e.Code != code {
		t.Errorf("%s: got %#v, want %s", name, err, code)
		return
	}
	if field != "" && (len(e.Fields) != 1 || e.Fields[0].Field != field) {
		t.Errorf("%s: %v, want %s", name, e.Fields, field)
	}
}

func TestAnOrganizationIsOneCustomer(t *testing.T) {
	s := newShop(t)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if _, err := s.checkout(s.ann, "price_team"); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	s.restart(100 * 24 * time.Hour) // when no idempotency key is remembered any more
	s.ann = s.SignIn("ann")
	if _, err := s.checkout(s.ann, "price_pro"); err != nil {
		t.Error(err)
	}
	if n := s.stripe.Customers(); n != 1 {
		t.Errorf("acme is %d customers", n)
	}
}

func TestAnAllowedOriginIsLedBackTo(t *testing.T) {
	s := newShop(t, func(c *server.Config) { c.AllowedOrigins = []string{"https://App.example"} })
	_, err := s.ann.OpenCheckout(t.Context(), api.OpenCheckout{OrgRef: api.OrgRef{Org: "acme"}, PriceID: "price_team", SuccessURL: "https://app.example/a?b", CancelURL: shopPage})
	if err != nil {
		t.Error(err)
	}
}

// TestEventsTakeEffectWhateverOrderTheyComeIn has them come twice, late, backwards
// and in another form.
func TestEventsTakeEffectWhateverOrderTheyComeIn(t *testing.T) {
	s := newShop(t)
	hook := s.URL + "/v1/billing/webhook"
	at, err := s.checkout(s.ann, "price_team")
	if err != nil {
		t.Fatal(err)
	}
	s.stripe.EventsIn("2020-08-27")
	sub := s.stripe.Complete(at)
	first := s.stripe.Pending()
	s.stripe.Move(sub, "past_due")
	s.stripe.Move(sub, "active")
	s.stripe.Move(sub, "unpaid")
	s.stripe.Reorder(func(all []stripetest.Event) []stripetest.Event { slices.Reverse(all); return all })
	s.flush()
	if b := s.billing(); b.Status != "unpaid" || b.EffectivePlan != "free" {
		t.Errorf("backwards: %+v", b)
	}
	s.stripe.Move(sub, "active")
	s.flush()
	asked := s.stripe.Calls("GET /v1/subscriptions")
	s.stripe.Repeat()
	s.flush()
	if more := s.stripe.Calls("GET /v1/subscriptions") - asked; more != 0 {
		t.Errorf("repeated events asked Stripe %d times", more)
	}
	if b := s.billing(); b.Status != "active" || b.EffectivePlan != "team" {
		t.Errorf("repeated: %+v", b)
	}

	// A day later than an event's id is remembered, it only costs a question.
	s.clock.turn(31 * 24 * time.Hour)
	if j, err := s.Operator.RunJob(t.Context(), "payment-events"); err != nil || j.Removed == 0 {
		t.Errorf("%+v, %v", j, err)
	}
	if status, err := s.stripe.Deliver(hook, first[0]); err != nil || status != 200 {
		t.Errorf("got %d, %v", status, err)
	}
	s.ann = s.SignIn("ann")
	if b := s.billing(); b.EffectivePlan != "team" {
		t.Errorf("an old event once more: %+v", b)
	}
}

func TestAnEventThatFailsComesAgain(t *testing.T) {
	s := newShop(t)
	hook := s.URL + "/v1/billing/webhook"
	at, err := s.checkout(s.ann, "price_team")
	if err != nil {
		t.Fatal(err)
	}
	s.stripe.Complete(at)
	s.stripe.Break("/v1/subscriptions", standin.Status(http.StatusInternalServerError))
	status, err := s.stripe.Deliver(hook, s.stripe.Pending()[0])
	if err != nil || status != 502 {
		t.Errorf("while Stripe is down: %d, %v", status, err)
	}
	if b := s.billing(); b.Status != "none" || b.EffectivePlan != "free" {
		t.Errorf("%+v", b)
	}
	s.stripe.Heal()
	s.flush()
	if b := s.billing(); b.EffectivePlan != "team" {
		t.Errorf("%+v", b)
	}
}

func TestOnlyStripesEventsAreTaken(t *testing.T) {
	s := newShop(t)
	hook := s.URL + "/v1/billing/webhook"
	sub := s.subscribe("price_team")
	s.stripe.Change(sub, func(x *stripetest.Subscription) { x.Status = "canceled" })
	e := s.stripe.Pending()[0]
	for name, how := range map[string]stripetest.Signing{
		"another secret": {Secret: "whsec_other"}, "too old": {Age: 301 * time.Second}, "from the future": {Age: -301 * time.Second},
	} {
		s.stripe.SignWith(how)
		if status, err := s.stripe.Deliver(hook, e); err != nil || status != 400 {
			t.Errorf("%s: %d, %v", name, status, err)
		}
	}
	s.stripe.SignWith(stripetest.Signing{})
	post := func(body []byte, signature string) int {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, hook, bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if signature != "" {
			r.Header.Set("Stripe-Signature", signature)
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, _ := io.ReadAll(res.Body)
		if res.StatusCode == 200 && string(text) != `{"received":true}` {
			t.Errorf("got %s", text)
		}
		return res.StatusCode
	}
	huge := bytes.Repeat([]byte(" "), 1<<20+1)
	foreign := bytes.ReplaceAll(e.Body, []byte(s.stripe.Subscription(sub).Customer), []byte("cus_of_somebody_else"))
	for _, tt := range []struct {
		name      string
		body      []byte
		signature string
		want      int
	}{
		{"no signature", e.Body, "", 400},
		{"another body", append(slices.Clone(e.Body), ' '), s.stripe.Sign(e.Body), 400},
		{"no event", []byte("[]"), s.stripe.Sign([]byte("[]")), 400},
		{"too much", huge, s.stripe.Sign(huge), 413},
		{"of a customer that is none of ours", foreign, s.stripe.Sign(foreign), 200},
	} {
		if got := post(tt.body, tt.signature); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
	if b := s.billing(); b.Status != "active" {
		t.Errorf("what was not to be taken took effect: %+v", b)
	}
	s.stripe.Emit("product.updated", map[string]any{"id": "prod_1", "object": "product"})
	s.stripe.SignWith(stripetest.Signing{Also: "whsec_before"}) // while a secret is exchanged
	s.flush()
	if b := s.billing(); b.Status != "canceled" {
		t.Errorf("%+v", b)
	}
}

func TestWhatNoEventToldIsFoundOut(t *testing.T) {
	s := newShop(t)
	sub := s.subscribe("price_team")
	s.stripe.Move(sub, "canceled")
	s.stripe.Reorder(func([]stripetest.Event) []stripetest.Event { return nil })
	if b := s.billing(); b.Status != "active" {
		t.Errorf("%+v", b)
	}
	if j, err := s.Operator.RunJob(t.Context(), "subscriptions"); err != nil || j.LastError != nil {
		t.Errorf("%+v, %v", j, err)
	}
	if b := s.billing(); b.Status != "canceled" || b.EffectivePlan != "free" {
		t.Errorf("%+v", b)
	}
	s.stripe.Break("", standin.Status(http.StatusInternalServerError))
	if j, err := s.Operator.RunJob(t.Context(), "subscriptions"); err != nil || j.LastError == nil {
		t.Errorf("a failure is not shown: %+v, %v", j, err)
	}
}

func TestACustomerThatWasDeletedIsReplaced(t *testing.T) {
	for name, tell := range map[string]bool{"with its event": true, "without": false} {
		s := newShop(t)
		sub := s.subscribe("price_team")
		before := s.stripe.Subscription(sub).Customer
		s.stripe.DeleteCustomer(before)
		if !tell {
			s.stripe.Reorder(func([]stripetest.Event) []stripetest.Event { return nil })
		}
		s.flush()
		if b := s.billing(); tell && (b.Status != "canceled" || b.EffectivePlan != "free") {
			t.Errorf("%s: %+v", name, b)
		}
		sub = s.subscribe("price_team")
		if after := s.stripe.Subscription(sub).Customer; after == before {
			t.Errorf("%s: the customer is still %s", name, after)
		}
		if b := s.billing(); b.Status != "active" || b.EffectivePlan != "team" {
			t.Errorf("%s: %+v", name, b)
		}
	}
}

// TestACustomerThatIsGoneForTheCheckoutOnlyIsReplaced has Stripe list what a deleted
// customer had, while nothing can be begun for it any more, and no event said so.
func TestACustomerThatIsGoneForTheCheckoutOnlyIsReplaced(t *testing.T) {
	s := newShop(t)
	before := s.stripe.Subscription(s.subscribe("price_team")).Customer
	s.stripe.DeleteCustomer(before)
	s.stripe.Reorder(func([]stripetest.Event) []stripetest.Event { return nil })
	s.stripe.Break("/v1/subscriptions", func(_ *standin.Fake, rw http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.FormValue("customer") != before {
			next.ServeHTTP(rw, r)
			return
		}
		standin.Answer(rw, http.StatusOK, map[string]any{"object": "list", "has_more": false, "data": []any{}})
	})
	if after := s.stripe.Subscription(s.subscribe("price_team")).Customer; after == before {
		t.Errorf("the customer is still %s", after)
	}
	if b := s.billing(); b.Status != "active" || b.EffectivePlan != "team" {
		t.Errorf("%+v", b)
	}
}

// TestTheWrongAccountAtStripeCostsNobodyTheirSubscription configures the key of an
// account that knows none of the customers, and then the right one again.
func TestTheWrongAccountAtStripeCostsNobodyTheirSubscription(t *testing.T) {
	s := newShop(t)
	sub := s.subscribe("price_team")
	empty := stripetest.New(t)
	confirm := func(account string) *api.Billing {
		s.restart(time.Minute, func(c *server.Config) { c.Billing.Stripe.APIURL = account })
		if j, err := s.Operator.RunJob(t.Context(), "subscriptions"); err != nil || j.LastError != nil {
			t.Errorf("%+v, %v", j, err)
		}
		return s.billing()
	}
	if b := confirm(empty.URL); b.Status != "canceled" || b.EffectivePlan != "free" {
		t.Errorf("nobody confirms it: %+v", b)
	}
	if !strings.Contains(s.Log.String(), "does not know a customer") {
		t.Error("the operator is not told")
	}
	if b := confirm(s.stripe.URL); b.Status != "active" || b.EffectivePlan != "team" {
		t.Errorf("it is confirmed again: %+v", b)
	}
	s.stripe.Move(sub, "canceled")
	s.flush()
	if b := s.billing(); b.Status != "canceled" {
		t.Errorf("its events take no effect: %+v", b)
	}
}

func TestASubscriptionForSomebodyElseGrantsNothing(t *testing.T) {
	s := newShop(t)
	sub := s.subscribe("price_team")
	customer := s.stripe.Subscription(sub).Customer
	s.stripe.Move(sub, "canceled")
	s.stripe.Subscribe(customer, "price_team", "another-organization")
	s.flush()
	if b := s.billing(); b.Status != "canceled" || b.EffectivePlan != "free" {
		t.Errorf("%+v", b)
	}
	s.stripe.Subscribe(customer, "price_pro", "") // by hand, at Stripe
	s.flush()
	if b := s.billing(); b.Status != "active" || b.EffectivePlan != "pro" {
		t.Errorf("%+v", b)
	}
	if !strings.Contains(s.Log.String(), "more than one subscription") {
		t.Error("the operator is not told that two are paid for")
	}
}

func TestWhoBoughtAtAPriceOfBeforeKeepsThePlan(t *testing.T) {
	s := newShop(t)
	sub := s.subscribe("team_year")
	s.stripe.MoveLookupKey("team_year", "price_other") // a new price takes its place
	s.stripe.Renew(sub)
	s.flush()
	if b := s.billing(); b.Status != "active" || b.EffectivePlan != "team" {
		t.Errorf("%+v", b)
	}
	s.stripe.Change(sub, func(x *stripetest.Subscription) { x.CancelAtPeriodEnd = true })
	s.flush()
	if b := s.billing(); !b.CancelAtPeriodEnd || b.EffectivePlan != "team" {
		t.Errorf("%+v", b)
	}
	s.stripe.Renew(sub)
	s.flush()
	if b := s.billing(); b.Status != "canceled" || b.EffectivePlan != "free" || b.CancelAtPeriodEnd {
		t.Errorf("%+v", b)
	}
}

// TestNoSecretOfStripesGetsOut looks for them where anybody could find them.
func TestNoSecretOfStripesGetsOut(t *testing.T) {
	s := newShop(t)
	sub := s.subscribe("price_team")
	customer := s.stripe.Subscription(sub).Customer
	var audit bytes.Buffer
	if err := s.Operator.ExportAudit(t.Context(), &audit); err != nil {
		t.Fatal(err)
	}
	res, err := http.Get(s.URL + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	figures, _ := io.ReadAll(res.Body)
	for name, text := range map[string]string{"log": s.Log.String(), "audit": audit.String(), "metrics": string(figures)} {
		for _, secret := range []string{stripetest.Key, stripetest.WebhookSecret, customer, sub} {
			if strings.Contains(text, secret) {
				t.Errorf("the %s has %s", name, secret)
			}
		}
	}
}

// TestNobodyWaitsForStripe has Stripe hang in the middle of a checkout, an event and
// the daily job, while others go on writing.
func TestNobodyWaitsForStripe(t *testing.T) {
	s := newShop(t)
	key := s.Key("ann", "live", servertest.AllScopes...)
	s.Vault(key, "ann/one")
	s.subscribe("price_pro")
	asked, answer := make(chan struct{}, 9), make(chan struct{})
	s.stripe.Break("/v1/subscriptions", func(_ *standin.Fake, rw http.ResponseWriter, r *http.Request, next http.Handler) {
		asked <- struct{}{}
		<-answer
		next.ServeHTTP(rw, r)
	})
	ended := make(chan error, 1)
	go func() {
		_, err := s.checkout(s.ann, "price_team")
		ended <- err
	}()
	<-asked
	s.Push(key, "ann/one", "production", map[string]string{"A": "1"})
	if b := s.billing(); b.EffectivePlan != "pro" {
		t.Errorf("%+v", b)
	}
	close(answer)
	if err := <-ended; api.CodeOf(err) != api.Conflict {
		t.Errorf("got %v", err)
	}
}
