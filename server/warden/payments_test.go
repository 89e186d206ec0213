package warden_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"coffer/server/api"
	"coffer/server/billing"
	"coffer/server/warden"
	"coffer/store"
	"coffer/store/kv"
	"coffer/store/kv/kvtest"
)

// till is a payment provider in memory. An event is its own id.
type till struct {
	mu        sync.Mutex
	asked     int
	customers int
	have      []billing.Subscription
}

func (p *till) CreateCustomer(context.Context, billing.Customer) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.customers++
	return "cus_1", nil
}

func (p *till) Checkout(context.Context, billing.CheckoutRequest) (string, error) {
	return "https://pay.example/1", nil
}

func (p *till) Portal(context.Context, string, string) (string, error) {
	return "https://pay.example/2", nil
}

func (p *till) Subscription(context.Context, string) (billing.Subscription, error) {
	return billing.Subscription{}, billing.ErrSubscription
}

func (p *till) Subscriptions(context.Context, string) ([]billing.Subscription, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked++
	return p.have, nil
}

func (p *till) Prices(context.Context, []string) ([]billing.Price, error) {
	return []billing.Price{{ID: "price_1", Active: true, Interval: "month"}}, nil
}

func (p *till) Event(_ string, body []byte, _ time.Time) (billing.Event, error) {
	return billing.Event{ID: string(body), Topic: billing.SubscriptionUpdated, Customer: "cus_1"}, nil
}

// sold is a house that is a paid service, in which acme is a customer.
func sold(t *testing.T, p *till) (*house, func(*warden.Warden) warden.Caller) {
	t.Helper()
	free, err := billing.Plans().Find(billing.FreePlan)
	must(t, err)
	h := newHouseWith(t, func(c *warden.Config) {
		c.Plan, c.Payments, c.Offers, c.Origins = free, p, billing.Offers{{Plan: "team", Price: "price_1"}}, []string{"https://vault.example"}
	})
	w := h.warden(h.db)
	operator, err := w.Identify(t.Context(), warden.Credential{Operator: true})
	must(t, err)
	must(t, second(w.AddLocalOrg(t.Context(), operator, api.AddLocalOrg{Name: "acme"})))
	must(t, w.SetLocalMember(t.Context(), operator, api.SetLocalMember{Org: "acme", Username: "ann", Role: "owner"}))
	signedIn, err := w.SignIn(t.Context(), operator, api.SignIn{Username: "ann"})
	must(t, err)
	return h, func(w *warden.Warden) warden.Caller {
		who, err := w.Identify(t.Context(), warden.Credential{Bearer: string(signedIn.Token)})
		must(t, err)
		return who
	}
}

func opening() api.OpenCheckout {
	const page = "https://vault.example/"
	return api.OpenCheckout{OrgRef: api.OrgRef{Org: "acme"}, PriceID: "price_1", SuccessURL: page, CancelURL: page}
}

// TestAnEventThatFailsAnywhereDidNothing breaks every step of taking an event: what
// it does, its id and its record are there whole or not at all.
func TestAnEventThatFailsAnywhereDidNothing(t *testing.T) {
	p := &till{}
	h, ann := sold(t, p)
	w := h.warden(h.db)
	must(t, second(w.OpenCheckout(t.Context(), ann(w), opening())))
	p.have = []billing.Subscription{{ID: "sub_1", Customer: "cus_1", Status: billing.Active, Prices: []billing.PriceRef{{ID: "price_1"}}, Created: h.now()}}
	kvtest.EveryFault(t, h.db, func(db kv.DB) error {
		w := h.warden(db)
		if w == nil {
			return kvtest.ErrFault
		}
		return w.PaymentEvent(t.Context(), "", []byte("evt_1"))
	}, func(err error) {
		w := h.warden(h.db)
		b, failed := w.OrgBilling(t.Context(), ann(w), api.OrgRef{Org: "acme"})
		must(t, failed)
		want, records := "free", 0
		if err == nil {
			want, records = "team", 1
		}
		if b.EffectivePlan != want {
			t.Errorf("after %v: the plan is %s", err, b.EffectivePlan)
		}
		if got := upgrades(t, h); got != records {
			t.Errorf("after %v: %d records", err, got)
		}
	})
	before := p.asked
	must(t, h.warden(h.db).PaymentEvent(t.Context(), "", []byte("evt_1")))
	if p.asked != before {
		t.Error("an event that took effect is taken again")
	}
}

// upgrades counts the records of higher plans.
func upgrades(t *testing.T, h *house) (n int) {
	t.Helper()
	s, err := store.Open(t.Context(), h.db)
	must(t, err)
	must(t, s.View(t.Context(), func(r store.Reader) error {
		return r.ScanActivity(0, 10_000, func(row store.Row) error {
			a, err := row.Activity()
			if err == nil && a.Action == "plan_upgraded" && a.Actor.IsZero() {
				n++
			}
			return err
		})
	}))
	return n
}

// TestACheckoutThatFailsAnywhereLeavesOneCustomer breaks every step of a checkout.
func TestACheckoutThatFailsAnywhereLeavesOneCustomer(t *testing.T) {
	p := &till{}
	h, ann := sold(t, p)
	who := ann(h.warden(h.db))
	kvtest.EveryFault(t, h.db, func(db kv.DB) error {
		w := h.warden(db)
		if w == nil {
			return kvtest.ErrFault
		}
		return second(w.OpenCheckout(t.Context(), who, opening()))
	}, func(error) {})
	made := p.customers
	w := h.warden(h.db)
	must(t, second(w.OpenCheckout(t.Context(), who, opening())))
	if p.customers != made {
		t.Error("a customer is made again")
	}
}
