package stripetest

import (
	"net/http"
	"slices"
	"time"
)

// What people and time do to subscriptions. Each sends the events that Stripe
// would send.

// Complete pays at a checkout's address, and names the subscription that results.
func (s *Server) Complete(at string) string {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.sessionAt(at)
	if c == nil || c.status != "open" {
		s.t.Fatalf("stripetest: there is no open checkout at %s", at)
	}
	return s.complete(c)
}

func (s *Server) complete(c *session) string {
	sub := s.subscribe(c.customer, c.price, c.subMetadata["org_id"])
	c.status, c.subscription = "complete", sub.ID
	s.emit("checkout.session.completed", s.checkoutJSON(c))
	return sub.ID
}

// Abandon ends a checkout without paying.
func (s *Server) Abandon(at string) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.sessionAt(at)
	if c == nil || c.status != "open" {
		s.t.Fatalf("stripetest: there is no open checkout at %s", at)
	}
	c.status = "expired"
	s.emit("checkout.session.expired", s.checkoutJSON(c))
}

// Subscribe makes a subscription as the operator would in the dashboard; orgID is
// written on it unless it is "".
func (s *Server) Subscribe(customer, price, orgID string) string {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.known(customer) || s.findPrice(price) == nil {
		s.t.Fatalf("stripetest: customer %s cannot subscribe to %s", customer, price)
	}
	return s.subscribe(customer, price, orgID).ID
}

func (s *Server) subscribe(customer, price, orgID string) *Subscription {
	now := s.now().Truncate(time.Second)
	sub := &Subscription{ID: s.id("sub"), Customer: customer, Price: price, OrgID: orgID, Status: "active", Created: now}
	sub.PeriodEnd = s.period(sub, now)
	s.subs = append(s.subs, sub)
	s.tell("customer.subscription.created", sub)
	s.emitInvoice("invoice.paid", sub)
	return sub
}

// period is the end of the period that begins at a time.
func (s *Server) period(sub *Subscription, begin time.Time) time.Time {
	if s.findPrice(sub.Price).Interval == "year" {
		return begin.AddDate(1, 0, 0)
	}
	return begin.AddDate(0, 1, 0)
}

// Move gives a subscription another status.
func (s *Server) Move(id, status string) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	sub := s.sub(id)
	if final(sub.Status) {
		s.t.Fatalf("stripetest: %s is %s, and stays that", id, sub.Status)
	}
	s.move(sub, status)
}

func final(status string) bool { return status == "canceled" || status == "incomplete_expired" }

func (s *Server) move(sub *Subscription, status string) {
	before := sub.Status
	sub.Status = status
	switch {
	case status == "canceled":
		s.tell("customer.subscription.deleted", sub)
		return
	case status == "past_due" || status == "unpaid" && before != "past_due":
		s.emitInvoice("invoice.payment_failed", sub)
	case status == "active" && (before == "past_due" || before == "unpaid" || before == "incomplete"):
		s.emitInvoice("invoice.paid", sub)
	case status == "paused":
		s.tell("customer.subscription.paused", sub)
	case before == "paused":
		s.tell("customer.subscription.resumed", sub)
	}
	s.tell("customer.subscription.updated", sub)
}

// Change changes anything else about a subscription.
func (s *Server) Change(id string, change func(*Subscription)) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	sub := s.sub(id)
	change(sub)
	s.tell("customer.subscription.updated", sub)
}

// Renew begins the next period, or ends what was to end with this one.
func (s *Server) Renew(id string) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	sub := s.sub(id)
	if sub.CancelAtPeriodEnd {
		s.move(sub, "canceled")
		return
	}
	sub.PeriodEnd = s.period(sub, sub.PeriodEnd)
	s.emitInvoice("invoice.paid", sub)
	s.tell("customer.subscription.updated", sub)
}

// DeleteCustomer removes a customer, which ends the subscriptions.
func (s *Server) DeleteCustomer(id string) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.known(id) {
		s.t.Fatalf("stripetest: there is no customer %s", id)
	}
	for _, sub := range s.subs {
		if sub.Customer == id && !final(sub.Status) {
			s.move(sub, "canceled")
		}
	}
	s.customers[id].deleted = true
	s.emit("customer.deleted", s.customers[id].json())
}

// MoveLookupKey gives a lookup key to another price, and takes it from the one that
// had it.
func (s *Server) MoveLookupKey(key, to string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.prices {
		switch {
		case p.ID == to:
			p.LookupKey = key
		case p.LookupKey == key:
			p.LookupKey = ""
		}
	}
}

// The pages that people are sent to.

// payPage pays with one button.
func (s *Server) payPage(rw http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.sessions[r.PathValue("id")]
	switch {
	case c == nil || c.status != "open":
		http.NotFound(rw, r)
	case r.Method == http.MethodPost:
		s.complete(c)
		http.Redirect(rw, r, c.success, http.StatusSeeOther)
	default:
		show(rw, page{Title: "Checkout", Button: "Pay", Back: c.cancel})
	}
}

// portalPage ends the customer's newest subscription with its period.
func (s *Server) portalPage(rw http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.sessions[r.PathValue("id")]
	switch {
	case p == nil || p.status != "portal":
		http.NotFound(rw, r)
	case r.Method == http.MethodPost:
		for _, sub := range slices.Backward(s.subs) {
			if sub.Customer == p.customer && !final(sub.Status) {
				sub.CancelAtPeriodEnd = true
				s.tell("customer.subscription.updated", sub)
				break
			}
		}
		http.Redirect(rw, r, p.cancel, http.StatusSeeOther)
	default:
		show(rw, page{Title: "Billing", Button: "Cancel subscription", Back: p.cancel})
	}
}
