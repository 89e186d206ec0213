package stripetest_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	stripe "github.com/stripe/stripe-go/v85"
	"github.com/stripe/stripe-go/v85/webhook"

	"coffer/server/api"
	"coffer/server/billing"
	"coffer/server/billing/stripetest"
)

// official is Stripe's own library, asking a stand-in.
func official(s *stripetest.Server) *stripe.Client {
	return stripe.NewClient(stripetest.Key, stripe.WithBackends(stripe.NewBackendsWithConfig(&stripe.BackendConfig{
		URL: stripe.String(s.URL), MaxNetworkRetries: stripe.Int64(2), LeveledLogger: &stripe.LeveledLogger{Level: stripe.LevelNull},
	})))
}

func ours(t testing.TB, s *stripetest.Server) billing.Payments {
	p, err := billing.NewStripe(billing.StripeConfig{
		APIURL: s.URL, Key: api.NewSecret(stripetest.Key), WebhookSecret: api.NewSecret(stripetest.WebhookSecret), Sleep: func(time.Duration) {},
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestStripesOwnLibraryGetsAlong has a second client, which is not ours, find what
// the server says to be what it knows from Stripe.
func TestStripesOwnLibraryGetsAlong(t *testing.T) {
	ctx := t.Context()
	s := stripetest.New(t, stripetest.Price{ID: "price_1", LookupKey: "team", Amount: 1500, Currency: "eur", Interval: "month"})
	c := official(s)
	named := func(name string) *stripe.CustomerCreateParams {
		p := &stripe.CustomerCreateParams{Name: stripe.String(name)}
		p.SetIdempotencyKey("key")
		p.AddMetadata("org_id", "org1")
		return p
	}
	s.Busy(1)
	customer, err := c.V1Customers.Create(ctx, named("Acme"))
	if err != nil || customer.Metadata["org_id"] != "org1" {
		t.Fatalf("got %+v, %v", customer, err)
	}
	again, err := c.V1Customers.Create(ctx, named("Acme"))
	if err != nil || again.ID != customer.ID || again.LastResponse.Header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("got %+v, %v", again, err)
	}
	_, err = c.V1Customers.Create(ctx, named("Another"))
	if e, ok := errors.AsType[*stripe.Error](err); !ok || e.Type != stripe.ErrorTypeIdempotency || e.HTTPStatusCode != http.StatusBadRequest {
		t.Errorf("got %v", err)
	}

	for p, err := range c.V1Prices.List(ctx, &stripe.PriceListParams{LookupKeys: stripe.StringSlice([]string{"team", "none"})}).All(ctx) {
		if err != nil || p.ID != "price_1" || p.UnitAmount != 1500 || p.Recurring.Interval != stripe.PriceRecurringIntervalMonth {
			t.Errorf("got %+v, %v", p, err)
		}
	}
	open, err := c.V1CheckoutSessions.Create(ctx, &stripe.CheckoutSessionCreateParams{
		Mode: stripe.String("subscription"), Customer: stripe.String(customer.ID), ClientReferenceID: stripe.String("org1"),
		SuccessURL: stripe.String("https://coffer.example/"), CancelURL: stripe.String("https://coffer.example/"),
		LineItems:        []*stripe.CheckoutSessionCreateLineItemParams{{Price: stripe.String("price_1"), Quantity: stripe.Int64(1)}},
		SubscriptionData: &stripe.CheckoutSessionCreateSubscriptionDataParams{Metadata: map[string]string{"org_id": "org1"}},
	})
	if err != nil || open.Status != stripe.CheckoutSessionStatusOpen {
		t.Fatalf("got %+v, %v", open, err)
	}
	id := s.Complete(open.URL)
	sub, err := c.V1Subscriptions.Retrieve(ctx, id, nil)
	if err != nil || sub.Metadata["org_id"] != "org1" || sub.Customer.ID != customer.ID || sub.Items.Data[0].CurrentPeriodEnd <= time.Now().Unix() {
		t.Errorf("got %+v, %v", sub, err)
	}
	for range 4 {
		s.Move(s.Subscribe(customer.ID, "price_1", ""), "canceled")
	}
	n := 0
	for _, err := range c.V1Subscriptions.List(ctx, &stripe.SubscriptionListParams{
		Customer: stripe.String(customer.ID), Status: stripe.String("all"), ListParams: stripe.ListParams{Limit: stripe.Int64(2)},
	}).All(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 5 {
		t.Errorf("listed %d", n)
	}
	_, err = c.V1Subscriptions.Retrieve(ctx, "sub_none", nil)
	if e, ok := errors.AsType[*stripe.Error](err); !ok || e.Code != stripe.ErrorCodeResourceMissing {
		t.Errorf("got %v", err)
	}
	s.SetPortal(false)
	_, err = c.V1BillingPortalSessions.Create(ctx, &stripe.BillingPortalSessionCreateParams{Customer: stripe.String(customer.ID)})
	if e, ok := errors.AsType[*stripe.Error](err); !ok || e.Param != "" || e.RequestID == "" {
		t.Errorf("got %v", err)
	}
}

// TestStripesOwnLibraryAgreesOnEvents has both of us take and refuse the same.
func TestStripesOwnLibraryAgreesOnEvents(t *testing.T) {
	s := stripetest.New(t, stripetest.Price{ID: "price_1", Currency: "eur", Interval: "month"})
	p, c := ours(t, s), official(s)
	customer, err := c.V1Customers.Create(t.Context(), &stripe.CustomerCreateParams{Name: stripe.String("Acme")})
	if err != nil {
		t.Fatal(err)
	}
	id := s.Subscribe(customer.ID, "price_1", "org1")
	s.Move(id, "past_due")
	for _, how := range []stripetest.Signing{{}, {Also: "whsec_other"}, {Secret: "whsec_other"}, {Age: 299 * time.Second}, {Age: 301 * time.Second}} {
		s.SignWith(how)
		for _, e := range s.Pending() {
			header := s.Sign(e.Body)
			theirs, wrong := webhook.ConstructEventWithOptions(e.Body, header, stripetest.WebhookSecret, webhook.ConstructEventOptions{IgnoreAPIVersionMismatch: true})
			got, err := p.Event(header, e.Body, time.Now())
			if (err == nil) != (wrong == nil) {
				t.Errorf("%+v: got %v, and Stripe's library %v", how, err, wrong)
			}
			if err != nil {
				continue
			}
			if got.ID != theirs.ID || string(got.Topic) != string(theirs.Type) || got.Created.Unix() != theirs.Created {
				t.Errorf("%s: got %+v", e.Type, got)
			}
			agree(t, got, theirs)
		}
	}
}

// agree compares what an event is about.
func agree(t *testing.T, got billing.Event, theirs stripe.Event) {
	t.Helper()
	customer, sub := "", ""
	switch got.Topic {
	case billing.InvoicePaid, billing.InvoicePaymentFailed:
		var in stripe.Invoice
		if err := json.Unmarshal(theirs.Data.Raw, &in); err != nil {
			t.Fatal(err)
		}
		customer, sub = in.Customer.ID, in.Parent.SubscriptionDetails.Subscription.ID
	default:
		var about stripe.Subscription
		if err := json.Unmarshal(theirs.Data.Raw, &about); err != nil {
			t.Fatal(err)
		}
		customer, sub = about.Customer.ID, about.ID
	}
	if got.Customer != customer || got.Subscription != sub || sub == "" {
		t.Errorf("%s: got %+v; Stripe's library has %s, %s", got.Topic, got, customer, sub)
	}
}

// FuzzStripesOwnLibraryAgreesOnSignatures makes headers of pieces, T being the
// right time and S the right signature: what we take, Stripe's library takes, and
// what that takes, we do, unless a header has two times.
func FuzzStripesOwnLibraryAgreesOnSignatures(f *testing.F) {
	for _, header := range []string{"t=T,v1=S", "v1=S,t=T,v0=S", "t=T,v1=00,v1=S", "t=T,v1=S=", "t=+T,v1=S", "t=T,v1", "t=0T,v1=S,", " t=T,v1=S", "t=T,t=T,v1=S"} {
		f.Add(header)
	}
	s := stripetest.New(f)
	p := ours(f, s)
	body := []byte(`{"id":"evt_1","type":"invoice.paid"}`)
	now := time.Now()
	sum := webhook.GenerateTestSignedPayload(&webhook.UnsignedPayload{Payload: body, Secret: stripetest.WebhookSecret, Timestamp: now})
	_, signature, _ := strings.Cut(sum.Header, "v1=")
	pieces := strings.NewReplacer("T", strconv.FormatInt(now.Unix(), 10), "S", signature)
	f.Fuzz(func(t *testing.T, header string) {
		header = pieces.Replace(header)
		_, err := p.Event(header, body, now)
		theirs := webhook.ValidatePayloadIgnoringTolerance(body, header, stripetest.WebhookSecret)
		twice := strings.Count(header, "t=") > 1
		if err == nil && theirs != nil || err != nil && theirs == nil && !twice {
			t.Errorf("%q: got %v, and Stripe's library %v", header, err, theirs)
		}
	})
}
