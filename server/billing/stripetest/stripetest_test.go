package stripetest_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"coffer/server/billing"
	"coffer/server/billing/stripetest"
)

// receiver takes webhooks, or does not.
type receiver struct {
	events []billing.Event
	status int // to answer with; 0 takes what is signed
}

func receive(t *testing.T, p billing.Payments) (*receiver, string) {
	r := &receiver{}
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			t.Error(err)
		}
		e, err := p.Event(req.Header.Get("Stripe-Signature"), body, time.Now())
		switch {
		case err != nil:
			rw.WriteHeader(http.StatusBadRequest)
		case r.status != 0:
			rw.WriteHeader(r.status)
		default:
			r.events = append(r.events, e)
		}
	}))
	t.Cleanup(server.Close)
	return r, server.URL
}

func (r *receiver) topics() []billing.Topic {
	var all []billing.Topic
	for _, e := range r.events {
		all = append(all, e.Topic)
	}
	r.events = nil
	return all
}

func TestDeliveries(t *testing.T) {
	s := stripetest.New(t, stripetest.Price{ID: "price_1", Currency: "eur", Interval: "month"})
	p := ours(t, s)
	r, at := receive(t, p)
	customer, err := p.CreateCustomer(t.Context(), billing.Customer{OrgID: "org1"})
	if err != nil {
		t.Fatal(err)
	}
	s.Subscribe(customer, "price_1", "org1")
	order := []billing.Topic{billing.SubscriptionCreated, billing.InvoicePaid}

	r.status = http.StatusInternalServerError
	if failed := s.Flush(at); failed != 2 || len(s.Pending()) != 2 {
		t.Errorf("%d deliveries failed, %d are pending", failed, len(s.Pending()))
	}
	r.status = 0
	for _, how := range []stripetest.Signing{{Secret: "whsec_other"}, {Age: 301 * time.Second}, {Age: -400 * time.Second}} {
		s.SignWith(how)
		if failed := s.Flush(at); failed != 2 || r.events != nil {
			t.Errorf("%+v: %d deliveries failed", how, failed)
		}
	}
	s.SignWith(stripetest.Signing{Also: "whsec_next"})
	if failed := s.Flush(at); failed != 0 || len(s.Pending()) != 0 {
		t.Errorf("%d deliveries failed, %d are pending", failed, len(s.Pending()))
	}
	if got := r.topics(); !slices.Equal(got, order) {
		t.Errorf("got %v", got)
	}

	s.Repeat()
	s.Reorder(func(all []stripetest.Event) []stripetest.Event { slices.Reverse(all); return all })
	s.Flush(at)
	slices.Reverse(order)
	if got := r.topics(); !slices.Equal(got, order) {
		t.Errorf("again, in reverse: got %v", got)
	}
}

func TestALifeOfASubscription(t *testing.T) {
	s := stripetest.New(t, stripetest.Price{ID: "price_1", Currency: "eur", Interval: "month"})
	now := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	s.SetNow(func() time.Time { return now })
	customer, err := ours(t, s).CreateCustomer(t.Context(), billing.Customer{OrgID: "org1"})
	if err != nil {
		t.Fatal(err)
	}
	id := s.Subscribe(customer, "price_1", "org1")
	s.Renew(id)
	if sub := s.Subscription(id); !sub.PeriodEnd.Equal(now.AddDate(0, 2, 0)) || sub.Status != "active" {
		t.Errorf("renewed: %+v", sub)
	}
	s.Change(id, func(sub *stripetest.Subscription) { sub.CancelAtPeriodEnd = true })
	s.Renew(id)
	if sub := s.Subscription(id); sub.Status != "canceled" {
		t.Errorf("ended: %+v", sub)
	}
}

// TestThePages walks through the pages that a browser would show.
func TestThePages(t *testing.T) {
	s := stripetest.New(t, stripetest.Price{ID: "price_1", Currency: "eur", Interval: "month"})
	p := ours(t, s)
	customer, err := p.CreateCustomer(t.Context(), billing.Customer{OrgID: "org1"})
	if err != nil {
		t.Fatal(err)
	}
	ask := billing.CheckoutRequest{OrgID: "org1", Customer: customer, PriceID: "price_1", SuccessURL: s.URL + "/ok?a=1&b=2", CancelURL: s.URL + "/no"}
	at, err := p.Checkout(t.Context(), ask)
	if err != nil {
		t.Fatal(err)
	}
	press(t, at, ask.CancelURL, ask.SuccessURL)
	subs, err := p.Subscriptions(t.Context(), customer)
	if err != nil || len(subs) != 1 || subs[0].Status != billing.Active {
		t.Fatalf("got %+v, %v", subs, err)
	}
	if at, err = p.Portal(t.Context(), customer, s.URL+"/back"); err != nil {
		t.Fatal(err)
	}
	press(t, at, s.URL+"/back", s.URL+"/back")
	if !s.Subscription(subs[0].ID).CancelAtPeriodEnd {
		t.Error("the subscription goes on")
	}
}

// press looks at a page, presses its button, and sees where that leads.
func press(t *testing.T, at, back, then string) {
	t.Helper()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Get(at)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(res.Body)
	if err != nil || !strings.Contains(string(text), `href="`+back+`"`) {
		t.Errorf("%s shows %s, %v", at, text, err)
	}
	_ = res.Body.Close()
	if res, err = client.PostForm(at, url.Values{}); err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusSeeOther || res.Header.Get("Location") != then {
		t.Errorf("%s leads to %s with %d", at, res.Header.Get("Location"), res.StatusCode)
	}
}
