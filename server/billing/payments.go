package billing

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Payments is the payment provider, as far as we need it. It grants nothing: what
// a subscription is worth, [Status.Effect] says, and who has it, the caller.
//
// Methods but Event ask the provider. They answer one of this file's errors and
// nothing in the provider's words.
type Payments interface {
	// CreateCustomer makes the customer of an organization. Asked again, it
	// answers the same one for at least a day; the caller remembers it for good.
	CreateCustomer(ctx context.Context, c Customer) (id string, err error)

	// Checkout opens a form where somebody subscribes, and answers its address.
	// The address is for that person only and is not kept. Opening it grants
	// nothing. ErrCustomer and ErrPrice say what the provider does not know.
	Checkout(ctx context.Context, c CheckoutRequest) (url string, err error)

	// Portal opens the pages where a customer changes or ends a subscription, and
	// answers their address, which is for that person only and is not kept.
	Portal(ctx context.Context, customer, returnURL string) (url string, err error)

	// Subscription is the subscription with this id as it is now.
	Subscription(ctx context.Context, id string) (Subscription, error)

	// Subscriptions are all of a customer's, ended ones too, newest first.
	Subscriptions(ctx context.Context, customer string) ([]Subscription, error)

	// Prices finds prices by their ids ("price_…") or lookup keys, in no
	// particular order. Those that there are not are left out.
	Prices(ctx context.Context, names []string) ([]Price, error)

	// Event reads a delivery whose signature is right: the value of the header
	// Stripe-Signature over the body as it came. ErrSignature and ErrEvent say
	// that it is to be refused.
	Event(signature string, body []byte, now time.Time) (Event, error)
}

// Customer is an organization to make a customer of.
type Customer struct {
	OrgID string
	Name  string // for the operator to see at the provider

	// Replaces is the customer the organization had, when that was deleted at the
	// provider, and else "". Without it the deleted one would be answered again.
	Replaces string
}

// CheckoutRequest is what somebody wants to subscribe to.
type CheckoutRequest struct {
	OrgID      string // comes back as Subscription.OrgID
	Customer   string
	PriceID    string
	SuccessURL string
	CancelURL  string
}

// Price is what a plan costs. A lookup key may move from one price to a newer
// one; who subscribed to the older one keeps that, and it has no key any more.
type Price struct {
	ID            string
	LookupKey     string // "" when it has none
	Active        bool   // it can be subscribed to
	Amount        *int64 // in the smallest unit of the currency; nil when it is no fixed amount
	Currency      string // "eur"
	Interval      string // day, week, month or year; "" when it is paid once
	IntervalCount int    // how many of those a period has
}

// Subscription is a subscription as the provider knows it.
type Subscription struct {
	ID       string
	Customer string
	OrgID    string // from CheckoutRequest; "" when it was made in another way
	Status   Status
	Prices   []PriceRef // what is subscribed to: one price, unless the operator added some by hand
	Created  time.Time

	PeriodEnd         time.Time // until when it is paid; zero when unknown
	CancelAtPeriodEnd bool
	CancelAt          time.Time // zero unless it ends on a day of its own
}

// EndsWithPeriod reports whether it ends when what is paid is used up: said as such,
// or by naming that day.
func (s Subscription) EndsWithPeriod() bool {
	return s.CancelAtPeriodEnd || !s.CancelAt.IsZero() && !s.CancelAt.After(s.PeriodEnd)
}

// PriceRef names a price.
type PriceRef struct{ ID, LookupKey string }

// Event says that something happened. It is a hint to ask, and no more: events
// are sent twice, late and in any order.
type Event struct {
	ID           string
	Topic        Topic
	Created      time.Time
	Customer     string // "" when the event names none
	Subscription string // "" when the event names none
	OrgID        string // as we named it when the checkout was opened; "" when the event does not say
}

// Topic is what an event is about, as the provider calls it.
type Topic string

// Topics that there is something to do about. All others are taken and ignored.
const (
	CheckoutCompleted    Topic = "checkout.session.completed"
	SubscriptionCreated  Topic = "customer.subscription.created"
	SubscriptionUpdated  Topic = "customer.subscription.updated"
	SubscriptionDeleted  Topic = "customer.subscription.deleted"
	SubscriptionPaused   Topic = "customer.subscription.paused"
	SubscriptionResumed  Topic = "customer.subscription.resumed"
	InvoicePaid          Topic = "invoice.paid"
	InvoicePaymentFailed Topic = "invoice.payment_failed"
	CustomerDeleted      Topic = "customer.deleted"
)

// Matters reports whether there is something to do about it.
func (t Topic) Matters() bool {
	switch t {
	case CheckoutCompleted, SubscriptionCreated, SubscriptionUpdated, SubscriptionDeleted, SubscriptionPaused,
		SubscriptionResumed, InvoicePaid, InvoicePaymentFailed, CustomerDeleted:
		return true
	}
	return false
}

// Answers that are definite.
var (
	// ErrCredential means that the provider turned our key down, or that the key
	// may not do this: the operator must mend the configuration.
	ErrCredential = errors.New("the payment provider turned our key down; check the configured key and what it may do there")

	// ErrCustomer means that there is no such customer, or no longer.
	ErrCustomer = errors.New("the payment provider has no such customer")

	// ErrPrice means that there is no such price, or that it cannot be subscribed to.
	ErrPrice = errors.New("the payment provider has no such price to subscribe to; check the configured prices")

	// ErrSubscription means that there is no such subscription.
	ErrSubscription = errors.New("the payment provider has no such subscription")

	// ErrNoPortal means that the operator has not set the portal up.
	ErrNoPortal = errors.New("the customer portal is not set up; save its settings once in the payment provider's dashboard")

	// ErrSignature means that a delivery is not signed by the provider, or was
	// signed too long ago.
	ErrSignature = errors.New("the delivery is not signed by the payment provider")

	// ErrEvent means that a delivery cannot be read, though it is signed.
	ErrEvent = errors.New("the delivery holds no event that can be read")
)

// Refused means that the provider refused for another reason. It knows the
// request by its id, and its dashboard shows why.
type Refused struct {
	RequestID string

	param   string // of ours that is the matter, or ""
	missing bool   // there is nothing by the name that param gives
	reused  bool   // the idempotency key belongs to another request
}

func (e *Refused) Error() string {
	return fmt.Sprintf("the payment provider refused the request %q; its dashboard says why", e.RequestID)
}

// Unavailable means that the provider did not answer, or not with anything that
// can be understood. It says nothing about what was asked.
type Unavailable struct {
	RetryAfter time.Duration // 0 when the provider did not say
	Limited    bool          // it was asked too often
	RequestID  string        // the provider's name for the request, or ""
	Err        error         // holds no secret and no text of the provider's
}

func (e *Unavailable) Error() string {
	return fmt.Sprintf("the payment provider did not answer: %v", e.Err)
}

// Unwrap is the reason.
func (e *Unavailable) Unwrap() error { return e.Err }
