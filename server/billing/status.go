package billing

import (
	"cmp"
	"slices"
)

// Status is the state of a subscription, in the payment provider's words. It is
// kept and shown as it is: there may be some that we do not know.
type Status string

// Statuses that are known.
const (
	Active            Status = "active"
	Trialing          Status = "trialing" // a trial at the provider, not ours
	PastDue           Status = "past_due"
	Unpaid            Status = "unpaid"
	Canceled          Status = "canceled"
	Incomplete        Status = "incomplete"
	IncompleteExpired Status = "incomplete_expired"
	Paused            Status = "paused"
)

// Effect is what a status means for the account.
type Effect struct {
	Grants bool // it has the plan that is subscribed to
	Warn   bool // a payment is missing: somebody has to do something
	Final  bool // this subscription never grants anything again
}

// Effect is what the status means. What is not known grants nothing, because
// nobody knows that it was paid for.
func (s Status) Effect() Effect {
	switch s {
	case Active, Trialing:
		return Effect{Grants: true}
	case PastDue:
		return Effect{Grants: true, Warn: true}
	case Unpaid, Incomplete:
		return Effect{Warn: true}
	case Canceled, IncompleteExpired:
		return Effect{Final: true}
	}
	return Effect{}
}

// Current is the one of an account's subscriptions that counts: the newest that
// is not final. One that grants comes before one that does not, so that whoever
// pays keeps the plan while a second attempt to subscribe hangs unpaid; and a
// final one counts only when there is nothing else.
func Current(all []Subscription) (Subscription, bool) {
	if len(all) == 0 {
		return Subscription{}, false
	}
	return slices.MaxFunc(all, func(a, b Subscription) int {
		x, y := a.Status.Effect(), b.Status.Effect()
		return cmp.Or(first(x.Grants, y.Grants), first(!x.Final, !y.Final), a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID))
	}), true
}

// first compares so that what is so comes out greater.
func first(a, b bool) int {
	switch {
	case a && !b:
		return 1
	case b && !a:
		return -1
	}
	return 0
}
