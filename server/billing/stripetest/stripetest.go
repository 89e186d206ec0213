// Package stripetest stands in for Stripe in tests: as much of its API as coffer
// asks, with the state behind it, the pages it sends people to, and its webhooks.
package stripetest

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"coffer/server/standin"
)

// Credentials that the server takes and signs with.
const (
	Key           = "sk_test_standin1f6e0c"
	WebhookSecret = "whsec_standin_c29f41"
)

// Version is the version of the API that the server knows best.
const Version = "2026-08-26.dahlia"

// itemPeriods is the version since which the end of a period stands at the items
// of a subscription.
const itemPeriods = "2025-03-31"

// Server is a Stripe account.
type Server struct {
	*standin.Fake
	t testing.TB

	mu        sync.Mutex
	now       func() time.Time
	count     int
	customers map[string]*customer
	prices    []*Price
	sessions  map[string]*session
	subs      []*Subscription // oldest first
	used      map[string]*remembered

	answers  string // version of the API whose form answers have; "" is the one asked for
	noPortal bool
	busy     int
	crash    int

	post office
}

// Price is what a plan costs.
type Price struct {
	ID        string
	LookupKey string
	Amount    int64 // below 0: no fixed amount
	Currency  string
	Interval  string // "" when it is paid once
	Archived  bool
}

// Subscription is a subscription.
type Subscription struct {
	ID                string
	Customer          string
	Price             string
	OrgID             string // in its metadata
	Status            string
	Created           time.Time
	PeriodEnd         time.Time
	CancelAtPeriodEnd bool
	CancelAt          time.Time
}

type customer struct {
	id, name string
	metadata map[string]string
	created  time.Time
	deleted  bool
}

type session struct {
	id, customer, price, reference string
	success, cancel                string
	metadata, subMetadata          map[string]string
	status                         string // open, complete or expired; portal for the other kind
	subscription                   string
	created                        time.Time
}

// New is a server with these prices, which listens until the test ends.
func New(t testing.TB, prices ...Price) *Server {
	s := &Server{
		t: t, now: time.Now, customers: map[string]*customer{}, sessions: map[string]*session{}, used: map[string]*remembered{},
		post: office{version: Version},
	}
	for _, p := range prices {
		s.prices = append(s.prices, &p)
	}
	s.Fake = standin.New(t, func() []string { return []string{Key, WebhookSecret} }, s.routes())
	return s
}

// set changes how the server behaves.
func (s *Server) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// SetNow gives the server a clock.
func (s *Server) SetNow(now func() time.Time) { s.set(func() { s.now = now }) }

// SetPortal says whether the portal's settings were saved; they are at first.
func (s *Server) SetPortal(ready bool) { s.set(func() { s.noPortal = !ready }) }

// AnswerIn gives answers the form of another version of the API, whatever is asked
// for; "" ends that.
func (s *Server) AnswerIn(version string) { s.set(func() { s.answers = version }) }

// Busy refuses the next n changes, because something else holds the lock.
func (s *Server) Busy(n int) { s.set(func() { s.busy = n }) }

// Crash makes the next n changes fail after they were carried out. The failure is
// remembered with the idempotency key.
func (s *Server) Crash(n int) { s.set(func() { s.crash = n }) }

// Customers counts the customers that there are.
func (s *Server) Customers() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, c := range s.customers {
		if !c.deleted {
			n++
		}
	}
	return n
}

// Subscription is a subscription as it is now.
func (s *Server) Subscription(id string) Subscription {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	return *s.sub(id)
}

// sub finds a subscription that must be there.
func (s *Server) sub(id string) *Subscription {
	s.t.Helper()
	for _, sub := range s.subs {
		if sub.ID == id {
			return sub
		}
	}
	s.t.Fatalf("stripetest: there is no subscription %s", id)
	return nil
}

func (s *Server) findPrice(id string) *Price {
	for _, p := range s.prices {
		if p.ID == id {
			return p
		}
	}
	return nil
}

func (s *Server) id(kind string) string {
	s.count++
	return fmt.Sprintf("%s_test%06d", kind, s.count)
}

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/customers", s.changes(s.createCustomer, rules{"name": optional, "email": optional, "metadata[]": optional}))
	mux.HandleFunc("POST /v1/checkout/sessions", s.changes(s.createCheckout, rules{
		"mode": needed, "customer": optional, "client_reference_id": optional, "success_url": needed, "cancel_url": optional,
		"line_items[0][price]": needed, "line_items[0][quantity]": needed, "metadata[]": optional, "subscription_data[metadata][]": optional,
	}))
	mux.HandleFunc("POST /v1/billing_portal/sessions", s.changes(s.createPortal, rules{"customer": needed, "return_url": optional}))
	mux.HandleFunc("GET /v1/subscriptions/{id}", s.reads(s.getSubscription, rules{}))
	mux.HandleFunc("GET /v1/subscriptions", s.reads(s.listSubscriptions, rules{"customer": optional, "status": optional, "limit": optional, "starting_after": optional}))
	mux.HandleFunc("GET /v1/prices/{id}", s.reads(s.getPrice, rules{}))
	mux.HandleFunc("GET /v1/prices", s.reads(s.listPrices, rules{"active": optional, "lookup_keys[]": optional, "limit": optional, "starting_after": optional}))
	mux.HandleFunc("/c/pay/{id}", s.payPage)
	mux.HandleFunc("/p/session/{id}", s.portalPage)
	mux.HandleFunc("/v1/", func(rw http.ResponseWriter, r *http.Request) {
		s.refuse(rw, http.StatusNotFound, failure{kind: "invalid_request_error", text: "there is nothing at this address"})
	})
	return mux
}
