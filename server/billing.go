package server

import (
	"cmp"
	"errors"
	"fmt"

	"coffer/server/api"
	"coffer/server/billing"
)

// BillingConfig makes the server a paid service. Without it nobody pays, and
// everybody has the plan Plans.Default.
type BillingConfig struct{ Stripe StripeConfig }

// StripeConfig is what the operator knows of Stripe. Of a secret and its file, the
// secret counts.
type StripeConfig struct {
	SecretKey         string
	SecretKeyFile     string
	WebhookSecret     string
	WebhookSecretFile string
	APIURL            string // default the public one
	Prices            []PlanPrice
}

// PlanPrice is a price that may be subscribed to: its id or its lookup key. An empty
// one is none.
type PlanPrice struct {
	Plan   string
	Yearly bool // else monthly
	Price  string
}

// Every is how often a price is paid: monthly or yearly.
func (p PlanPrice) Every() string {
	if p.Yearly {
		return "yearly"
	}
	return "monthly"
}

// PlanPrices are all prices that can be set, without a price.
func PlanPrices() []PlanPrice {
	var all []PlanPrice
	for _, plan := range billing.Plans().Names() {
		if plan != billing.FreePlan {
			all = append(all, PlanPrice{Plan: plan}, PlanPrice{Plan: plan, Yearly: true})
		}
	}
	return all
}

// upgradePage is where a higher plan is had while billing is on.
const upgradePage = "/upgrade"

// enabled reports whether the server is a paid service.
func (c BillingConfig) enabled() bool {
	return c.Stripe.SecretKey != "" || c.Stripe.SecretKeyFile != ""
}

// payments makes the client of the payment provider, nil while billing is off. It
// asks nobody.
func (c Config) payments(plans billing.Table) (billing.Payments, billing.Offers, error) {
	stripe := c.Billing.Stripe
	offers, err := stripe.offers(plans)
	if err != nil {
		return nil, nil, err
	}
	key, err := secretOf("billing.stripe.secret_key", stripe.SecretKey, stripe.SecretKeyFile)
	if err != nil {
		return nil, nil, err
	}
	webhook, err := secretOf("billing.stripe.webhook_secret", stripe.WebhookSecret, stripe.WebhookSecretFile)
	switch {
	case err != nil:
		return nil, nil, err
	case key == "" && (webhook != "" || len(offers) > 0):
		return nil, nil, errors.New("parts of billing.stripe are set but the key is not: set billing.stripe.secret_key_file")
	case key == "":
		return nil, nil, nil
	case webhook == "":
		return nil, nil, errors.New("billing.stripe.secret_key is set: the secret that Stripe signs its events with belongs to it, set billing.stripe.webhook_secret_file")
	case len(offers) == 0:
		return nil, nil, errors.New("billing.stripe.secret_key is set but nothing is on offer: set a price, like billing.stripe.prices.team.monthly")
	}
	client, err := billing.NewStripe(billing.StripeConfig{
		APIURL: stripe.APIURL, Key: api.NewSecret(key), WebhookSecret: api.NewSecret(webhook), Agent: "coffer/" + cmp.Or(c.Version, "dev"),
	})
	if err != nil {
		return nil, nil, fmt.Errorf("billing.stripe: %w", err)
	}
	return client, offers, nil
}

// offers are the prices that are set. Each buys one plan.
func (c StripeConfig) offers(plans billing.Table) (billing.Offers, error) {
	var all billing.Offers
	for _, p := range c.Prices {
		if p.Price == "" {
			continue
		}
		if _, err := plans.Find(p.Plan); err != nil {
			return nil, fmt.Errorf("billing.stripe.prices: %w", err)
		}
		if other, taken := all.Find(p.Price, ""); taken {
			return nil, fmt.Errorf("billing.stripe.prices: %q buys both %s and %s; every price buys one plan in one way", p.Price, other.Plan, p.Plan)
		}
		all = append(all, billing.Offer{Plan: p.Plan, Yearly: p.Yearly, Price: p.Price})
	}
	return all, nil
}
