package billing

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"coffer/server/api"
	"coffer/server/billing/stripetest"
	"coffer/server/standin"
)

var (
	monthly = stripetest.Price{ID: "price_month", LookupKey: "team_monthly", Amount: 1500, Currency: "eur", Interval: "month"}
	yearly  = stripetest.Price{ID: "price_year", LookupKey: "team_yearly", Amount: 15000, Currency: "eur", Interval: "year"}
	tiered  = stripetest.Price{ID: "price_tiers", Amount: -1, Currency: "eur", Interval: "month"}
	once    = stripetest.Price{ID: "price_once", LookupKey: "once", Amount: 900, Currency: "usd"}
	gone    = stripetest.Price{ID: "price_gone", LookupKey: "gone", Amount: 900, Currency: "usd", Interval: "month", Archived: true}
)

// shop is a Stripe account and our client of it, which waits for nothing.
type shop struct {
	*stripetest.Server
	Payments
	waited []time.Duration
}

func newShop(t *testing.T) *shop {
	s := &shop{Server: stripetest.New(t, monthly, yearly, tiered, once, gone)}
	var err error
	s.Payments, err = NewStripe(StripeConfig{
		APIURL: s.URL + "/", Key: api.NewSecret(stripetest.Key), WebhookSecret: api.NewSecret(stripetest.WebhookSecret),
		Sleep: func(d time.Duration) { s.waited = append(s.waited, d) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if leaks := s.Leaks(); leaks != nil {
			t.Errorf("secrets were sent where they must not go: %v", leaks)
		}
		for _, c := range s.Log() {
			posted := c.Method == http.MethodPost && strings.HasPrefix(c.Path, "/v1/")
			key := c.Header.Get("Idempotency-Key")
			if posted != (key != "") || len(key) > 255 {
				t.Errorf("%s %s has the idempotency key %q", c.Method, c.Path, key)
			}
			if c.Header.Get("Stripe-Version") != stripeVersion || c.Header.Get("User-Agent") != "coffer" {
				t.Errorf("%s %s: headers %v", c.Method, c.Path, c.Header)
			}
		}
	})
	return s
}

// customer makes one, or ends the test.
func (s *shop) customer(t *testing.T, org string) string {
	t.Helper()
	id, err := s.CreateCustomer(t.Context(), Customer{OrgID: org, Name: "Acme & Söhne"})
	if err != nil || id == "" {
		t.Fatalf("got %q, %v", id, err)
	}
	return id
}

func request(customer string) CheckoutRequest {
	return CheckoutRequest{OrgID: "org1", Customer: customer, PriceID: monthly.ID,
		SuccessURL: "https://coffer.example/ok?a=1&b=2", CancelURL: "https://coffer.example/no"}
}

func TestACheckoutBecomesASubscription(t *testing.T) {
	s := newShop(t)
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	s.SetNow(func() time.Time { return now })
	customer := s.customer(t, "org1")
	at, err := s.Checkout(t.Context(), request(customer))
	if err != nil || !strings.HasPrefix(at, s.URL+"/c/pay/") {
		t.Fatalf("got %q, %v", at, err)
	}
	log := s.Log()
	sent, err := url.ParseQuery(log[len(log)-1].Body)
	if diff := cmp.Diff(url.Values{
		"mode": {"subscription"}, "customer": {customer}, "line_items[0][price]": {monthly.ID}, "line_items[0][quantity]": {"1"},
		"client_reference_id": {"org1"}, "metadata[org_id]": {"org1"}, "subscription_data[metadata][org_id]": {"org1"},
		"success_url": {"https://coffer.example/ok?a=1&b=2"}, "cancel_url": {"https://coffer.example/no"},
	}, sent); err != nil || diff != "" {
		t.Errorf("%v, %s", err, diff)
	}
	if subs, err := s.Subscriptions(t.Context(), customer); err != nil || len(subs) != 0 {
		t.Fatalf("opening it made %v, %v", subs, err)
	}
	id := s.Complete(at)
	want := Subscription{
		ID: id, Customer: customer, OrgID: "org1", Status: Active, Created: now, PeriodEnd: now.AddDate(0, 1, 0),
		Prices: []PriceRef{{monthly.ID, monthly.LookupKey}},
	}
	got, err := s.Payments.Subscription(t.Context(), id)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v, %s", err, diff)
	}
	end := now.AddDate(0, 0, 5)
	s.Change(id, func(sub *stripetest.Subscription) { sub.CancelAtPeriodEnd, sub.CancelAt = true, end })
	want.CancelAtPeriodEnd, want.CancelAt = true, end
	s.AnswerIn("2024-06-20")
	if got, err = s.Payments.Subscription(t.Context(), id); err != nil || !cmp.Equal(want, got) {
		t.Errorf("in the old form: %v, %s", err, cmp.Diff(want, got))
	}
}

func TestEveryStatusIsReadAsItIs(t *testing.T) {
	s := newShop(t)
	customer := s.customer(t, "org1")
	for _, status := range []Status{Trialing, PastDue, Unpaid, Incomplete, Paused, Active, "something_new", Canceled} {
		id := s.Subscribe(customer, yearly.ID, "")
		s.Move(id, string(status))
		got, err := s.Payments.Subscription(t.Context(), id)
		if err != nil || got.Status != status || got.OrgID != "" {
			t.Errorf("%s: got %+v, %v", status, got, err)
		}
	}
}

func TestACustomerIsMadeOnce(t *testing.T) {
	s := newShop(t)
	first := s.customer(t, "org1")
	if again := s.customer(t, "org1"); again != first {
		t.Errorf("got %s, and then %s", first, again)
	}
	if other := s.customer(t, "org2"); other == first || s.Customers() != 2 {
		t.Errorf("got %s, and %d customers", other, s.Customers())
	}
	if keys := keys(s); !slices.Equal(keys, []string{"org-org1-customer", "org-org1-customer", "org-org2-customer"}) {
		t.Errorf("got %v", keys)
	}
	s.DeleteCustomer(first)
	next, err := s.CreateCustomer(t.Context(), Customer{OrgID: "org1", Name: "Acme & Söhne", Replaces: first})
	if err != nil || next == first {
		t.Errorf("got %s, %v", next, err)
	}
	if _, err := s.CreateCustomer(t.Context(), Customer{OrgID: strings.Repeat("o", 300)}); err != nil {
		t.Error(err)
	}
}

func keys(s *shop) []string {
	var all []string
	for _, c := range s.Log() {
		if key := c.Header.Get("Idempotency-Key"); key != "" {
			all = append(all, key)
		}
	}
	return all
}

// What was remembered under a key for a day must not keep an organization from
// paying for a day.
func TestASpentKeyIsNoDeadEnd(t *testing.T) {
	s := newShop(t)
	first := s.customer(t, "org1")
	renamed, err := s.CreateCustomer(t.Context(), Customer{OrgID: "org1", Name: "Another name"})
	if err != nil || renamed == first {
		t.Errorf("renamed: got %s, %v", renamed, err)
	}
	s.Crash(1)
	made := s.customer(t, "org2")
	if again := s.customer(t, "org2"); again != made {
		t.Errorf("after a crash: got %s, and then %s", made, again)
	}
	s.Crash(5)
	var down *Unavailable
	if _, err := s.CreateCustomer(t.Context(), Customer{OrgID: "org3"}); !errors.As(err, &down) || down.RequestID == "" {
		t.Errorf("while it crashes: got %v", err)
	}
}

func TestEveryCheckoutIsNew(t *testing.T) {
	s := newShop(t)
	customer := s.customer(t, "org1")
	s.Busy(2)
	first, err := s.Checkout(t.Context(), request(customer))
	if err != nil {
		t.Fatal(err)
	}
	if all := keys(s)[1:]; len(all) != 3 || all[0] != all[1] || all[1] != all[2] {
		t.Errorf("tries of one checkout have the keys %v", all)
	}
	s.Abandon(first)
	again, err := s.Checkout(t.Context(), request(customer))
	if err != nil || again == first {
		t.Errorf("got %s again, %v", again, err)
	}
}

func TestACheckoutSaysWhatIsUnknown(t *testing.T) {
	s := newShop(t)
	customer, deleted := s.customer(t, "org1"), s.customer(t, "org2")
	s.DeleteCustomer(deleted)
	for _, tt := range []struct {
		name   string
		change func(*CheckoutRequest)
		want   error
	}{
		{"no customer", func(c *CheckoutRequest) { c.Customer = "cus_none" }, ErrCustomer},
		{"a deleted customer", func(c *CheckoutRequest) { c.Customer = deleted }, ErrCustomer},
		{"no price", func(c *CheckoutRequest) { c.PriceID = "price_none" }, ErrPrice},
		{"an archived price", func(c *CheckoutRequest) { c.PriceID = gone.ID }, ErrPrice},
		{"a price paid once", func(c *CheckoutRequest) { c.PriceID = once.ID }, ErrPrice},
	} {
		c := request(customer)
		tt.change(&c)
		if at, err := s.Checkout(t.Context(), c); at != "" || !errors.Is(err, tt.want) {
			t.Errorf("%s: got %q, %v", tt.name, at, err)
		}
	}
	c := request(customer)
	c.CancelURL = "nowhere"
	var no *Refused
	if _, err := s.Checkout(t.Context(), c); !errors.As(err, &no) || no.RequestID == "" || strings.Contains(err.Error(), "parameter") {
		t.Errorf("got %v", err)
	}
}

func TestThePortal(t *testing.T) {
	s := newShop(t)
	customer := s.customer(t, "org1")
	const back = "https://coffer.example/orgs/acme"
	if at, err := s.Portal(t.Context(), customer, back); err != nil || !strings.HasPrefix(at, s.URL+"/p/session/") {
		t.Errorf("got %q, %v", at, err)
	}
	if _, err := s.Portal(t.Context(), "cus_none", back); !errors.Is(err, ErrCustomer) {
		t.Errorf("got %v", err)
	}
	var no *Refused
	if _, err := s.Portal(t.Context(), customer, "nowhere"); !errors.As(err, &no) {
		t.Errorf("got %v", err)
	}
	s.SetPortal(false)
	if _, err := s.Portal(t.Context(), customer, back); !errors.Is(err, ErrNoPortal) {
		t.Errorf("got %v", err)
	}
}

func TestSubscriptionsAreListedToTheEnd(t *testing.T) {
	s := newShop(t)
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	s.SetNow(func() time.Time { return now })
	customer, other := s.customer(t, "org1"), s.customer(t, "org2")
	s.Subscribe(other, monthly.ID, "org2")
	var want []string
	for i := range 7 {
		now = now.Add(time.Hour)
		id := s.Subscribe(customer, monthly.ID, "org1")
		if i%2 == 0 {
			s.Move(id, "canceled")
		}
		want = append([]string{id}, want...)
	}
	for _, size := range []int{0, 1, 3, 7} {
		s.SetPageSize(size)
		subs, err := s.Subscriptions(t.Context(), customer)
		var got []string
		for _, sub := range subs {
			got = append(got, sub.ID)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("in pages of %d: got %v, %v; want %v", size, got, err, want)
		}
	}
	for _, id := range []string{"cus_none", ""} {
		if _, err := s.Subscriptions(t.Context(), id); !errors.Is(err, ErrCustomer) {
			t.Errorf("%q: got %v", id, err)
		}
	}
	for _, id := range []string{"sub_none", "", ".", "..", "../customers", "a/b?c"} {
		if _, err := s.Payments.Subscription(t.Context(), id); !errors.Is(err, ErrSubscription) {
			t.Errorf("%q: got %v", id, err)
		}
	}
}

func TestAListThatNeverEndsIsLeft(t *testing.T) {
	s := newShop(t)
	s.Break("/v1/subscriptions", func(_ *standin.Fake, rw http.ResponseWriter, _ *http.Request, _ http.Handler) {
		standin.Answer(rw, http.StatusOK, map[string]any{"object": "list", "has_more": true, "data": []any{
			map[string]any{"id": "sub_1", "customer": "cus_1", "status": "active"},
		}})
	})
	var down *Unavailable
	if _, err := s.Subscriptions(t.Context(), "cus_1"); !errors.As(err, &down) || s.Calls("/v1/subscriptions") != 2 {
		t.Errorf("got %v after %d calls", err, s.Calls("/v1/subscriptions"))
	}
}

func TestPricesByIDAndLookupKey(t *testing.T) {
	s := newShop(t)
	names := []string{"team_yearly", "price_month", "price_tiers", "once", "gone", "price_none", "none"}
	for i := range 20 { // more than one question may name
		names = append(names, fmt.Sprintf("none_%d", i))
	}
	amount := func(n int64) *int64 { return &n }
	want := []Price{
		{ID: "price_gone", LookupKey: "gone", Amount: amount(900), Currency: "usd", Interval: "month", IntervalCount: 1},
		{ID: "price_month", LookupKey: "team_monthly", Active: true, Amount: amount(1500), Currency: "eur", Interval: "month", IntervalCount: 1},
		{ID: "price_once", LookupKey: "once", Active: true, Amount: amount(900), Currency: "usd"},
		{ID: "price_tiers", Active: true, Currency: "eur", Interval: "month", IntervalCount: 1},
		{ID: "price_year", LookupKey: "team_yearly", Active: true, Amount: amount(15000), Currency: "eur", Interval: "year", IntervalCount: 1},
	}
	s.SetPageSize(1)
	got, err := s.Prices(t.Context(), names)
	sorted := cmpopts.SortSlices(func(a, b Price) bool { return a.ID < b.ID })
	if diff := cmp.Diff(want, got, sorted); err != nil || diff != "" {
		t.Errorf("%v, %s", err, diff)
	}
	if got, err := s.Prices(t.Context(), nil); err != nil || got != nil {
		t.Errorf("got %v, %v", got, err)
	}
}

// A lookup key may move to a newer price: whoever subscribed to the older one is
// to be known by its id.
func TestALookupKeyMoves(t *testing.T) {
	s := newShop(t)
	id := s.Subscribe(s.customer(t, "org1"), monthly.ID, "org1")
	s.MoveLookupKey("team_monthly", tiered.ID)
	sub, err := s.Payments.Subscription(t.Context(), id)
	if err != nil || !slices.Equal(sub.Prices, []PriceRef{{monthly.ID, ""}}) {
		t.Errorf("got %+v, %v", sub, err)
	}
}

func TestAConfigurationThatCannotWork(t *testing.T) {
	key, secret := api.NewSecret("sk_test_1"), api.NewSecret("whsec_1")
	for _, c := range []StripeConfig{
		{WebhookSecret: secret},
		{Key: key},
		{Key: api.NewSecret("pk_test_1"), WebhookSecret: secret},
		{Key: api.NewSecret("sk_test_1\n"), WebhookSecret: secret},
		{Key: key, WebhookSecret: api.NewSecret("whsec 1")},
		{Key: key, WebhookSecret: secret, APIURL: "api.stripe.com"},
		{Key: key, WebhookSecret: secret, APIURL: "https://user:pass@api.stripe.com"},
		{Key: key, WebhookSecret: secret, APIURL: "ftp://api.stripe.com"},
	} {
		_, err := NewStripe(c)
		if err == nil || strings.Contains(err.Error(), "_test_1") || strings.Contains(err.Error(), "pass") {
			t.Errorf("%q: got %v", c.APIURL, err)
		}
	}
	c := StripeConfig{Key: key, WebhookSecret: secret}
	if _, err := NewStripe(c); err != nil {
		t.Error(err)
	}
	if shown := fmt.Sprintf("%+v %#v", c, c); strings.Contains(shown, key.Reveal()) || strings.Contains(shown, secret.Reveal()) {
		t.Errorf("secrets print themselves: %s", shown)
	}
}

// everyCall asks everything once, for what does not depend on the question.
func everyCall(ctx context.Context, p Payments) map[string]error {
	errs := map[string]error{}
	_, errs["customer"] = p.CreateCustomer(ctx, Customer{OrgID: "org1"})
	_, errs["checkout"] = p.Checkout(ctx, request("cus_1"))
	_, errs["portal"] = p.Portal(ctx, "cus_1", "https://coffer.example/")
	_, errs["subscription"] = p.Subscription(ctx, "sub_1")
	_, errs["subscriptions"] = p.Subscriptions(ctx, "cus_1")
	_, errs["price"] = p.Prices(ctx, []string{"price_1"})
	_, errs["prices"] = p.Prices(ctx, []string{"key"})
	return errs
}
