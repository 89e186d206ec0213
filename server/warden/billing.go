package warden

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"coffer/server/access"
	"coffer/server/api"
	"coffer/server/billing"
	"coffer/server/forge"
	"coffer/store"
)

// What an organization pays, and where it does so. The payment provider is never
// asked inside a transaction, and what happens to one account happens in turn: an
// older answer cannot overwrite a newer one, and no account becomes two customers.
// See payments.go for how its answers take effect.

// payState is what is known of the payment provider in this process.
type payState struct {
	turns  turns // of accounts
	asking singleflight.Group

	mu     sync.Mutex
	prices []billing.Price
	failed error     // instead of prices
	until  time.Time // they count until then
}

// turns let one at a time work on an account.
type turns struct {
	mu    sync.Mutex
	taken map[string]chan struct{} // closed when its holder leaves
}

// take waits for the turn of an account. Its caller leaves.
func (t *turns) take(ctx context.Context, account string) (leave func(), err error) {
	for {
		t.mu.Lock()
		there, busy := t.taken[account]
		if !busy {
			mine := make(chan struct{})
			if t.taken == nil {
				t.taken = make(map[string]chan struct{})
			}
			t.taken[account] = mine
			t.mu.Unlock()
			return func() {
				t.mu.Lock()
				delete(t.taken, account)
				t.mu.Unlock()
				close(mine)
			}, nil
		}
		t.mu.Unlock()
		select {
		case <-there:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// BillingEnabled reports whether this server has a payment provider.
func (w *Warden) BillingEnabled() bool { return w.c.Payments != nil }

func errNoBilling() *api.Error {
	return api.Errorf(api.BadRequest, "Billing is not enabled on this server.")
}

// OrgBilling is what an organization pays for, and what it could.
func (w *Warden) OrgBilling(ctx context.Context, who Caller, req api.OrgRef) (*api.Billing, error) {
	const act = access.OrgBilling
	there, _, err := w.enterOrg(ctx, who, act, req.Org)
	if err != nil {
		return nil, err
	}
	prices := w.shownPrices(ctx)
	var out *api.Billing
	err = w.self(ctx, who, act, func(r store.Reader) error {
		b, err := r.Billing(store.AccountOfOrg(there.ID))
		out = w.shownBilling(b, prices)
		return err
	})
	return out, err
}

// shownBilling is a billing state as members of the organization see it.
func (w *Warden) shownBilling(b store.Billing, prices *api.Prices) *api.Billing {
	out := &api.Billing{
		Plan: w.c.Plans.Lasting(w.c.Plan, w.entitlement(b)).Name, Status: api.NoSubscription,
		EffectivePlan: w.planBy(b, w.now()).Name, BillingEnabled: w.BillingEnabled(),
		Trial: trialOf(b).Shown(w.now()), Prices: prices,
	}
	if w.BillingEnabled() && b.Status != "" {
		out.Status, out.CurrentPeriodEnd, out.CancelAtPeriodEnd = b.Status, api.AtOrNull(b.PeriodEnd.Time()), b.Canceling
	}
	return out
}

// For how long prices count that the provider named, how long it may take for that,
// and how long it is left alone when it did not.
const (
	pricesTime    = 10 * time.Minute
	pricesPatient = 10 * time.Second
	pricesPause   = 15 * time.Second
)

// offered are the prices on offer, as the provider has them. While it does not
// answer, those of before count, if there are any.
func (w *Warden) offered(ctx context.Context) ([]billing.Price, error) {
	p := &w.pay
	p.mu.Lock()
	prices, failed, until := p.prices, p.failed, p.until
	p.mu.Unlock()
	if w.now().Before(until) {
		return prices, failed
	}
	got, err, _ := p.asking.Do("prices", func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pricesPatient)
		defer cancel()
		fresh, err := w.c.Payments.Prices(ctx, w.c.Offers.Names())
		p.mu.Lock()
		defer p.mu.Unlock()
		switch {
		case err == nil:
			p.prices, p.failed, p.until = append([]billing.Price{}, fresh...), nil, w.now().Add(pricesTime)
		case p.prices != nil:
			w.log.WarnContext(ctx, "the payment provider did not name its prices; those of before count", "error", err)
			p.until = w.now().Add(pricesPause)
		default:
			p.failed, p.until = err, w.now().Add(pricesPause)
		}
		return p.prices, p.failed
	})
	prices, _ = got.([]billing.Price)
	return prices, err
}

// forgetPrices has them asked for again.
func (w *Warden) forgetPrices() {
	w.pay.mu.Lock()
	defer w.pay.mu.Unlock()
	w.pay.until = time.Time{}
}

// shownPrices are the prices on offer by plan, or nil when there are none or the
// provider does not say.
func (w *Warden) shownPrices(ctx context.Context) *api.Prices {
	if !w.BillingEnabled() {
		return nil
	}
	prices, err := w.offered(ctx)
	if err != nil {
		w.log.WarnContext(ctx, "the payment provider did not name its prices", "error", err)
		return nil
	}
	all := make(api.Prices)
	for _, offer := range w.c.Offers {
		i := slices.IndexFunc(prices, func(p billing.Price) bool {
			return p.Active && (p.ID == offer.Price || p.LookupKey == offer.Price)
		})
		of := all[offer.Plan]
		if i >= 0 {
			shown := &api.Price{ID: prices[i].ID, Price: prices[i].Amount, Currency: prices[i].Currency, Interval: prices[i].Interval}
			if offer.Yearly {
				of.Yearly = shown
			} else {
				of.Monthly = shown
			}
		}
		all[offer.Plan] = of
	}
	return &all
}

// priceNamed is the price that a client named, if it is on offer.
func (w *Warden) priceNamed(ctx context.Context, name string) (string, error) {
	prices, err := w.offered(ctx)
	if err != nil {
		return "", w.errPayment(ctx, err)
	}
	for _, p := range prices {
		if _, ok := w.c.Offers.Find(p.ID, p.LookupKey); ok && p.Active && (p.ID == name || p.LookupKey == name) {
			return p.ID, nil
		}
	}
	return "", errPrice()
}

func errPrice() *api.Error {
	return api.InvalidField("priceId", api.UnknownValue, "The id of one of the prices that the organization's billing shows.")
}

// OpenCheckout answers where an organization subscribes. Opening it grants nothing.
func (w *Warden) OpenCheckout(ctx context.Context, who Caller, req api.OpenCheckout) (*api.Visit, error) {
	const act = access.OrgCheckout
	there, err := w.enterPayments(ctx, who, act, req.Org, map[string]string{"successUrl": req.SuccessURL, "cancelUrl": req.CancelURL})
	if err != nil {
		return nil, err
	}
	price, err := w.priceNamed(ctx, req.PriceID)
	if err != nil {
		return nil, err
	}
	account := store.AccountOfOrg(there.ID)
	leave, err := w.pay.turns.take(ctx, account)
	if err != nil {
		return nil, err
	}
	defer leave()
	open := func() (string, error) {
		org, err := w.payer(ctx, who, act, there)
		if err != nil {
			return "", err
		}
		return w.c.Payments.Checkout(ctx, billing.CheckoutRequest{
			OrgID: org.id, Customer: org.Customer, PriceID: price, SuccessURL: req.SuccessURL, CancelURL: req.CancelURL,
		})
	}
	address, err := open()
	if errors.Is(err, billing.ErrCustomer) {
		// It was deleted, and no event said so: what it had may be listed for ever.
		if _, err = w.askPayments(ctx, account, confirmation{gone: true}); err == nil {
			address, err = open()
		}
	}
	if errors.Is(err, billing.ErrPrice) {
		w.forgetPrices()
		w.log.WarnContext(ctx, "the payment provider does not sell a price that is configured", "price", price)
		return nil, errPrice()
	}
	if err != nil {
		return nil, w.errPayment(ctx, err)
	}
	return &api.Visit{URL: address}, nil
}

// OpenPortal answers where an organization changes or ends its subscription.
func (w *Warden) OpenPortal(ctx context.Context, who Caller, req api.OpenPortal) (*api.Visit, error) {
	const act = access.OrgPortal
	there, err := w.enterPayments(ctx, who, act, req.Org, map[string]string{"returnUrl": req.ReturnURL})
	if err != nil {
		return nil, err
	}
	var b store.Billing
	err = w.self(ctx, who, act, func(r store.Reader) (err error) {
		b, err = r.Billing(store.AccountOfOrg(there.ID))
		return err
	})
	if err != nil {
		return nil, err
	}
	if b.Customer == "" {
		return nil, errNoCustomer(there)
	}
	address, err := w.c.Payments.Portal(ctx, b.Customer, req.ReturnURL)
	if errors.Is(err, billing.ErrCustomer) {
		return nil, errNoCustomer(there)
	}
	if err != nil {
		return nil, w.errPayment(ctx, err)
	}
	return &api.Visit{URL: address}, nil
}

func errNoCustomer(org forge.Organization) *api.Error {
	return api.Errorf(api.Conflict, "%s has no subscription to manage yet. Subscribe first.", org.Login)
}

// enterPayments is enterOrg, for what leads to the payment provider and back to
// one of these addresses.
func (w *Warden) enterPayments(ctx context.Context, who Caller, act access.Action, org string, back map[string]string) (forge.Organization, error) {
	if err := admit(who, act); err != nil {
		return forge.Organization{}, w.settle(ctx, who, act, store.Vault{}, err)
	}
	var f api.Fields
	for _, field := range slices.Sorted(maps.Keys(back)) {
		if w.BillingEnabled() && !api.LeadsTo(back[field], w.c.Origins) {
			f.Add(field, api.NotAllowed, "An address of this server, or of one of the operator's allowed_origins.")
		}
	}
	if err := f.Err(); err != nil {
		return forge.Organization{}, err
	}
	there, _, err := w.enterOrg(ctx, who, act, org)
	if err == nil && !w.BillingEnabled() {
		err = errNoBilling()
	}
	return there, err
}

// payer is an organization that is a customer of the payment provider.
type payer struct {
	store.Billing
	id string // of the organization's record, by which the provider knows it
}

// payer makes an organization a customer if it is none yet. The provider is asked
// for its subscriptions first: whoever has one is not to pay twice, however late
// its events are. The account's turn is held.
func (w *Warden) payer(ctx context.Context, who Caller, act access.Action, there forge.Organization) (*payer, error) {
	org, err := w.seenOrg(ctx, there)
	if err != nil {
		return nil, err
	}
	account := store.AccountOfOrg(there.ID)
	p := &payer{id: org.ID.String()}
	if p.Billing, err = w.askPayments(ctx, account, confirmation{replace: true}); err != nil {
		return nil, w.errPayment(ctx, err)
	}
	if !subscribable(p.Billing) {
		return nil, api.Errorf(api.Conflict, "%s has a subscription already. Change it in the billing portal instead.", org.Login)
	}
	if p.Customer != "" {
		return p, nil
	}
	customer, err := w.c.Payments.CreateCustomer(ctx, billing.Customer{OrgID: p.id, Name: org.Login, Replaces: p.Gone})
	if err != nil {
		return nil, w.errPayment(ctx, err)
	}
	err = w.changeSelf(ctx, who, act, func(tx store.Tx, _ *journal) error {
		b, err := tx.Billing(account)
		b.Customer = customer
		p.Billing = b
		return errors.Join(err, tx.PutBilling(b))
	})
	return p, err
}

// subscribable reports whether an account may begin a subscription.
func subscribable(b store.Billing) bool {
	s := billing.Status(b.Status)
	return s == "" || s.Effect().Final || s == billing.Incomplete
}

// errPayment is what a caller may see of the payment provider's failure.
func (w *Warden) errPayment(ctx context.Context, err error) error {
	down, isDown := errors.AsType[*billing.Unavailable](err)
	refused, isRefused := errors.AsType[*billing.Refused](err)
	switch {
	case isDown:
		w.log.ErrorContext(ctx, "the payment provider did not answer", "error", err, "their_request", down.RequestID)
		return &api.Error{Code: api.ProviderFailed, RetryAfter: max(down.RetryAfter, 5*time.Second),
			Message: "The payment provider did not answer. Nothing was changed; try again in a moment."}
	case isRefused:
		w.log.ErrorContext(ctx, "the payment provider refused a request", "their_request", refused.RequestID)
	case errors.Is(err, billing.ErrCredential), errors.Is(err, billing.ErrNoPortal), errors.Is(err, billing.ErrCustomer), errors.Is(err, billing.ErrPrice):
		w.log.ErrorContext(ctx, "the payment provider refused a request", "error", err)
	default:
		return w.outward(err)
	}
	return api.Errorf(api.ProviderFailed, "The payment provider refused. Nothing was changed; the operator's log says more.")
}
