package billing

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"coffer/server/api"
)

const (
	stripeAPI = "https://api.stripe.com"

	// stripeVersion is the version of the API that is asked for. Answers keep its
	// form whatever the operator's account is set to.
	stripeVersion = "2026-08-26.dahlia"

	stripeLookups = 10 // lookup keys that one question may name
	stripePage    = 100
	customerKeys  = 3 // idempotency keys to try for one customer
)

// StripeConfig says how Stripe is reached. It holds secrets: it is in no message
// and no log.
type StripeConfig struct {
	APIURL        string // "" is the public one
	Key           api.Secret
	WebhookSecret api.Secret
	Agent         string // User-Agent

	// Sleep waits between tries, and Transport carries requests: tests only.
	Sleep     func(time.Duration)
	Transport http.RoundTripper
}

type stripe struct {
	wire   stripeWire
	secret api.Secret
}

// NewStripe makes a client of Stripe. It asks nobody yet.
func NewStripe(c StripeConfig) (Payments, error) {
	switch {
	case !sendable(c.Key.Reveal()):
		return nil, errors.New("the Stripe key is missing or holds blanks; copy a secret or restricted key (sk_… or rk_…) from Stripe's dashboard")
	case strings.HasPrefix(c.Key.Reveal(), "pk_"):
		return nil, errors.New("the Stripe key is a publishable one (pk_…); use a secret or restricted one (sk_… or rk_…)")
	case !sendable(c.WebhookSecret.Reveal()):
		return nil, errors.New("the Stripe webhook secret is missing or holds blanks; copy it (whsec_…) from the webhook endpoint in Stripe's dashboard")
	}
	base := strings.TrimRight(cmp.Or(c.APIURL, stripeAPI), "/")
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("the address of Stripe's API is none; write it like " + stripeAPI + ", or leave it out")
	}
	return &stripe{wire: newStripeWire(base, c), secret: c.WebhookSecret}, nil
}

// sendable reports whether a text can be a secret in a header.
func sendable(s string) bool { return s != "" && !strings.ContainsFunc(s, odd) }

func odd(r rune) bool { return r <= ' ' || r > '~' }

// CreateCustomer numbers its idempotency keys: one that an error or another name
// of the organization was remembered for stays useless for a day.
func (s *stripe) CreateCustomer(ctx context.Context, c Customer) (string, error) {
	form := url.Values{"metadata[org_id]": {c.OrgID}}
	if c.Name != "" {
		form.Set("name", c.Name)
	}
	key := "org-" + c.OrgID + "-customer"
	if c.Replaces != "" {
		key += "-after-" + c.Replaces
	}
	var made struct {
		ID string `json:"id"`
	}
	err := s.wire.post(ctx, "/v1/customers", key, form, &made)
	for n := 2; n <= customerKeys && spent(err); n++ {
		err = s.wire.post(ctx, "/v1/customers", fmt.Sprintf("%s-%d", key, n), form, &made)
	}
	if err == nil && made.ID == "" {
		err = senseless("")
	}
	if err != nil {
		return "", err
	}
	return made.ID, nil
}

// spent reports whether an idempotency key will bring nothing else than this.
func spent(err error) bool {
	no, ok := errors.AsType[*Refused](err)
	return ok && no.reused || errors.Is(err, errReplayed)
}

// Checkout sends our name of the organization three times, because Stripe copies
// it from none of these places to another: to know it in the event, to find it in
// the dashboard, and to have it in the subscription.
func (s *stripe) Checkout(ctx context.Context, c CheckoutRequest) (string, error) {
	const item = "line_items[0]"
	at, err := s.open(ctx, "/v1/checkout/sessions", "checkout-", url.Values{
		"mode":                                {"subscription"},
		item + "[price]":                      {c.PriceID},
		item + "[quantity]":                   {"1"},
		"customer":                            {c.Customer},
		"client_reference_id":                 {c.OrgID},
		"metadata[org_id]":                    {c.OrgID},
		"subscription_data[metadata][org_id]": {c.OrgID},
		"success_url":                         {c.SuccessURL},
		"cancel_url":                          {c.CancelURL},
	})
	if no, ok := errors.AsType[*Refused](err); ok {
		switch {
		case no.param == "customer" && no.missing:
			return "", ErrCustomer
		case no.param == item+"[price]":
			return "", ErrPrice
		}
	}
	return at, err
}

func (s *stripe) Portal(ctx context.Context, customer, returnURL string) (string, error) {
	at, err := s.open(ctx, "/v1/billing_portal/sessions", "portal-", url.Values{"customer": {customer}, "return_url": {returnURL}})
	if no, ok := errors.AsType[*Refused](err); ok {
		switch {
		case no.param == "customer" && no.missing:
			return "", ErrCustomer
		case no.param == "":
			// Stripe has said this in more than one way, but nothing that was sent
			// is the matter.
			return "", ErrNoPortal
		}
	}
	return at, err
}

// open makes a session and answers its address. Every call wants a session of its
// own, so the key is new and only holds this call's tries together.
func (s *stripe) open(ctx context.Context, path, key string, form url.Values) (string, error) {
	var made struct {
		URL string `json:"url"`
	}
	if err := s.wire.post(ctx, path, key+rand.Text(), form, &made); err != nil {
		return "", err
	}
	if u, err := url.Parse(made.URL); err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return "", senseless("")
	}
	return made.URL, nil
}

func (s *stripe) Subscription(ctx context.Context, id string) (Subscription, error) {
	if id == "" {
		return Subscription{}, ErrSubscription // the path without it is the list's
	}
	var found stripeSubscription
	err := s.wire.get(ctx, "/v1/subscriptions/"+segment(id), nil, &found)
	if no, ok := errors.AsType[*Refused](err); ok && no.missing {
		return Subscription{}, ErrSubscription
	}
	if err == nil && !found.whole() {
		err = senseless("")
	}
	if err != nil {
		return Subscription{}, err
	}
	return found.read(), nil
}

func (s *stripe) Subscriptions(ctx context.Context, customer string) ([]Subscription, error) {
	if customer == "" {
		return nil, ErrCustomer // without it everybody's would be listed
	}
	var all []Subscription
	for found, err := range each[stripeSubscription](ctx, &s.wire, "/v1/subscriptions", url.Values{"customer": {customer}, "status": {"all"}}) {
		if no, ok := errors.AsType[*Refused](err); ok && no.missing {
			return nil, ErrCustomer
		}
		if err != nil {
			return nil, err
		}
		all = append(all, found.read())
	}
	return all, nil // in Stripe's order, which is the one that is wanted
}

func (s *stripe) Prices(ctx context.Context, names []string) ([]Price, error) {
	var all []Price
	var keys []string
	for _, name := range names {
		if !strings.HasPrefix(name, "price_") {
			keys = append(keys, name)
			continue
		}
		p, found, err := s.price(ctx, name)
		if err != nil {
			return nil, err
		}
		if found {
			all = append(all, p)
		}
	}
	for some := range slices.Chunk(keys, stripeLookups) {
		query := url.Values{}
		for i, key := range some {
			query.Set("lookup_keys["+strconv.Itoa(i)+"]", key)
		}
		for p, err := range each[stripePrice](ctx, &s.wire, "/v1/prices", query) {
			if err != nil {
				return nil, err
			}
			all = append(all, p.read())
		}
	}
	return all, nil
}

func (s *stripe) price(ctx context.Context, id string) (Price, bool, error) {
	var p stripePrice
	err := s.wire.get(ctx, "/v1/prices/"+segment(id), nil, &p)
	if no, ok := errors.AsType[*Refused](err); ok && no.missing {
		return Price{}, false, nil
	}
	if err == nil && !p.whole() {
		err = senseless("")
	}
	if err != nil {
		return Price{}, false, err
	}
	return p.read(), true, nil
}

// listed is what stands in lists.
type listed interface {
	whole() bool // it holds what it cannot be without
	id() string
}

// each walks through all pages of a list.
func each[T listed](ctx context.Context, w *stripeWire, path string, query url.Values) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		query.Set("limit", strconv.Itoa(stripePage))
		for {
			var page struct {
				Object string `json:"object"`
				Data   []T    `json:"data"`
				More   bool   `json:"has_more"`
			}
			err := w.get(ctx, path, query, &page)
			// An empty object must not pass for an empty list.
			if err == nil && (page.Object != "list" || slices.ContainsFunc(page.Data, func(x T) bool { return !x.whole() })) {
				err = senseless("")
			}
			if err != nil {
				yield(none, err)
				return
			}
			for _, x := range page.Data {
				if !yield(x, nil) {
					return
				}
			}
			if !page.More {
				return
			}
			if len(page.Data) == 0 || page.Data[len(page.Data)-1].id() == query.Get("starting_after") {
				yield(none, senseless(""))
				return
			}
			query.Set("starting_after", page.Data[len(page.Data)-1].id())
		}
	}
}
