package warden

import (
	"context"
	"crypto/sha256"
	"errors"
	"strings"
	"time"

	"coffer/server/api"
	"coffer/server/billing"
	"coffer/store"
)

// What the payment provider says takes effect here, and nowhere else. An event is
// a hint to ask: its effect is what the provider answers then, and becomes durable
// together with the event's id and the records of what changed.

// paymentEventTime is for how long an event's id is remembered. The provider sends
// one for three days.
const paymentEventTime = 30 * 24 * time.Hour

// PaymentEvent takes an event of the payment provider: signature is what came with
// it, body as it came over the wire. An error means that it is to be sent again.
func (w *Warden) PaymentEvent(ctx context.Context, signature string, body []byte) error {
	if !w.BillingEnabled() {
		return errNoBilling()
	}
	e, err := w.c.Payments.Event(signature, body, w.now())
	switch {
	case errors.Is(err, billing.ErrSignature):
		return api.Errorf(api.BadRequest, "The event is not signed by the payment provider, or was signed too long ago. Is the webhook secret the one that is configured here?")
	case err != nil:
		return api.Errorf(api.BadRequest, "The event cannot be understood.")
	case !e.Topic.Matters() || e.Customer == "":
		return nil
	}
	id := sha256.Sum256([]byte(e.ID))
	account, known, err := w.payingAccount(ctx, id[:], e.Customer)
	if err != nil || known || account == "" {
		return w.outward(err)
	}
	leave, err := w.pay.turns.take(ctx, account)
	if err != nil {
		return err
	}
	defer leave()
	_, err = w.askPayments(ctx, account, confirmation{event: id[:], customer: e.Customer, gone: e.Topic == billing.CustomerDeleted})
	if err != nil {
		return w.errPayment(ctx, err)
	}
	return nil
}

// payingAccount is the account of a customer, "" if it is none of ours, and whether
// the event took effect before.
func (w *Warden) payingAccount(ctx context.Context, event []byte, customer string) (account string, known bool, err error) {
	err = w.store.View(ctx, func(r store.Reader) error {
		if known, err = r.TookBillingEvent(event); err != nil || known {
			return err
		}
		account, err = r.AccountOfCustomer(customer)
		if errors.Is(err, store.ErrNotFound) {
			account, err = "", nil
		}
		return err
	})
	return account, known, err
}

// confirmation is why the provider is asked about an account.
type confirmation struct {
	event    []byte // that said that something happened, or nil
	customer string // whom the event is about
	gone     bool   // the event says that the customer was deleted
	replace  bool   // a customer that the provider does not know is to be let go
}

// askPayments asks the provider for an account's subscriptions and writes down what
// it says. The account's turn is held.
func (w *Warden) askPayments(ctx context.Context, account string, why confirmation) (after store.Billing, err error) {
	err = w.store.View(ctx, func(r store.Reader) error {
		after, err = r.Billing(account)
		return err
	})
	if err != nil || after.Customer == "" || why.customer != "" && why.customer != after.Customer {
		return after, err
	}
	customer := after.Customer
	all, err := w.c.Payments.Subscriptions(ctx, customer)
	unknown := errors.Is(err, billing.ErrCustomer)
	switch {
	case why.gone || unknown:
		all = nil // they ended with the customer
	case err != nil:
		return after, err
	}
	if unknown && !why.gone {
		// With the right key the provider may know it again, so it is not forgotten.
		w.log.WarnContext(ctx, "the payment provider does not know a customer: was it deleted there, or does the configured key belong to another account?", "customer", customer)
	}
	_, err = w.step(ctx, func(tx store.Tx, j *journal) (int, error) {
		if why.event != nil {
			took, err := tx.TookBillingEvent(why.event)
			if err != nil || took {
				return 0, err
			}
			if err := tx.PutBillingEvent(store.BillingEvent{ID: why.event, At: store.At(j.now)}); err != nil {
				return 0, err
			}
		}
		before, err := tx.Billing(account)
		if err != nil || before.Customer != customer {
			return 0, err
		}
		if after, err = w.confirmed(tx.Reader, before, all); err != nil {
			return 0, err
		}
		if why.gone || unknown && why.replace {
			after.Customer, after.Gone = "", customer
		}
		if after == before {
			return 0, nil
		}
		return 0, errors.Join(tx.PutBilling(after), w.noteBilling(tx.Reader, j, before, after))
	})
	if err == nil {
		w.warnOf(ctx, after, all)
	}
	return after, err
}

// confirmed is an account's state when these are its subscriptions.
func (w *Warden) confirmed(r store.Reader, b store.Billing, all []billing.Subscription) (store.Billing, error) {
	org, err := r.OrgAt(w.forge.Kind(), strings.TrimPrefix(b.Account, store.AccountOfOrg("")))
	if err != nil {
		return b, err
	}
	var ours []billing.Subscription
	for _, s := range all {
		// Another instance may share the provider's account, and the operator may have
		// made one by hand.
		if s.Customer == b.Customer && (s.OrgID == "" || s.OrgID == org.ID.String()) {
			ours = append(ours, s)
		}
	}
	s, ok := billing.Current(ours)
	if !ok {
		if b.Status != "" {
			b.Status, b.Canceling = string(billing.Canceled), false
		}
		return b, nil
	}
	plan, price := w.bought(b, s)
	b.Subscription, b.Status, b.Plan, b.Price = s.ID, string(s.Status), plan, price
	b.PeriodEnd, b.Canceling = store.At(s.PeriodEnd), !s.Status.Effect().Final && (s.CancelAtPeriodEnd || !s.CancelAt.IsZero())
	trial := trialOf(b)
	if s.Status.Effect().Grants && plan != "" && !trial.Started.IsZero() && trial.Converted.IsZero() && s.Created.Before(trial.Ends) {
		b.TrialConverted = store.At(w.now())
	}
	return b, nil
}

// bought is the plan that a subscription buys, and the price that does. Whoever
// bought at a price that is no longer on offer keeps what they bought.
func (w *Warden) bought(b store.Billing, s billing.Subscription) (plan, price string) {
	if plan, price = w.c.Plans.Bought(w.c.Offers, s.Prices); plan != "" {
		return plan, price
	}
	for _, p := range s.Prices {
		if b.Plan != "" && b.Subscription == s.ID && b.Price == p.ID {
			return b.Plan, b.Price
		}
	}
	return "", ""
}

// warnOf tells the operator what is paid for in vain.
func (w *Warden) warnOf(ctx context.Context, b store.Billing, all []billing.Subscription) {
	if billing.Status(b.Status).Effect().Grants && b.Plan == "" {
		w.log.WarnContext(ctx, "a subscription buys no plan: none of its prices is configured in billing.stripe.prices", "subscription", b.Subscription)
	}
	paid := 0
	for _, s := range all {
		if s.Status.Effect().Grants {
			paid++
		}
	}
	if paid > 1 {
		w.log.WarnContext(ctx, "somebody pays for more than one subscription at once: end all but one at the payment provider", "customer", b.Customer)
	}
}

// noteBilling records what a change of an account's state means for it.
func (w *Warden) noteBilling(r store.Reader, j *journal, before, after store.Billing) error {
	if before.TrialConverted != after.TrialConverted {
		meta, err := w.accountMeta(r, after.Account)
		if err != nil {
			return err
		}
		meta["plan"] = after.Plan
		j.note("org_trial_converted", meta)
	}
	return w.notePlan(r, j, before, after)
}

// notePlan records that an account has a higher or a lower plan than before.
func (w *Warden) notePlan(r store.Reader, j *journal, before, after store.Billing) error {
	from, to := w.planBy(before, j.now), w.planBy(after, j.now)
	order := w.c.Plans.Compare(from, to)
	if order == 0 {
		return nil
	}
	meta, err := w.accountMeta(r, after.Account)
	if err != nil {
		return err
	}
	meta["from"], meta["to"] = from.Name, to.Name
	action := "plan_upgraded"
	if order > 0 {
		action = "plan_downgraded"
	}
	j.note(action, meta)
	return nil
}

// accountMeta names an account in the words of the activity log.
func (w *Warden) accountMeta(r store.Reader, account string) (map[string]any, error) {
	if id, ok := strings.CutPrefix(account, store.AccountOfOrg("")); ok {
		org, err := r.OrgAt(w.forge.Kind(), id)
		if errors.Is(err, store.ErrNotFound) {
			org.Login, err = id, nil // never seen: the operator gave it a plan
		}
		return map[string]any{"org": org.Login}, err
	}
	id, err := store.ParseID(strings.TrimPrefix(account, "user:"))
	if err != nil {
		return nil, err
	}
	u, err := r.User(id)
	return map[string]any{"username": u.Login}, err
}

// ConfirmSubscriptions asks the provider for the subscriptions of all customers,
// and so makes up for events that never came.
func (w *Warden) ConfirmSubscriptions(ctx context.Context) error {
	if !w.BillingEnabled() {
		return nil
	}
	all, err := w.billings(ctx, func(b store.Billing) bool { return b.Customer != "" })
	if err != nil {
		return w.outward(err)
	}
	return eachAtHost(ctx, all, func(b store.Billing) error {
		leave, err := w.pay.turns.take(ctx, b.Account)
		if err != nil {
			return err
		}
		defer leave()
		_, err = w.askPayments(ctx, b.Account, confirmation{})
		return err
	})
}

// ExpirePaymentEvents forgets the ids of old events.
func (w *Warden) ExpirePaymentEvents(ctx context.Context) (int, error) {
	before := store.At(w.now().Add(-paymentEventTime))
	var due []store.BillingEvent
	err := w.store.View(ctx, func(r store.Reader) (err error) {
		due, err = r.BillingEventsBefore(before)
		return err
	})
	if err != nil {
		return 0, w.outward(err)
	}
	return sweep(ctx, w, due, store.Tx.DeleteBillingEvent)
}
