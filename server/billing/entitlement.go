package billing

import (
	"cmp"
	"slices"
	"time"
)

// TrialPlan is the plan that an organization has during its trial.
const TrialPlan = "team"

// FreePlan is the plan of who has nothing that gives a higher one, while billing
// is on.
const FreePlan = "free"

// Entitlement is what gives an account its plan.
type Entitlement struct {
	Given  string // plan that the operator gave it, or ""
	Trial  Trial
	Status Status // of its subscription; "" without one
	Plan   string // that is subscribed to, or ""
}

// Lasting is the plan that an account has whether or not a trial is running: the
// highest of base, of what the operator gave it, and of a subscription that
// grants.
func (t Table) Lasting(base Plan, e Entitlement) Plan {
	best := t.higher(base, e.Given)
	if e.Status.Effect().Grants {
		best = t.higher(best, e.Plan)
	}
	return best
}

// Effective is the plan that an account has at an instant.
func (t Table) Effective(base Plan, e Entitlement, now time.Time) Plan {
	best := t.Lasting(base, e)
	if e.Trial.Running(now) {
		best = t.higher(best, TrialPlan)
	}
	return best
}

// higher is p, or the plan of this name if it ranks above p.
func (t Table) higher(p Plan, name string) Plan {
	if t.rank(name) > t.rank(p.Name) {
		return t[t.rank(name)]
	}
	return p
}

// Compare tells which of two plans ranks higher, as cmp.Compare does.
func (t Table) Compare(a, b Plan) int { return cmp.Compare(t.rank(a.Name), t.rank(b.Name)) }

// rank is the place of a plan in the table, or -1.
func (t Table) rank(name string) int {
	return slices.IndexFunc(t, func(p Plan) bool { return p.Name == name })
}

// Offer is a price that may be subscribed to, and the plan that it buys.
type Offer struct {
	Plan   string
	Yearly bool   // else monthly
	Price  string // its id or its lookup key
}

// Offers are all prices that may be subscribed to. No other one buys anything.
type Offers []Offer

// Names are the offers' ids and lookup keys.
func (o Offers) Names() []string {
	names := make([]string, len(o))
	for i, offer := range o {
		names[i] = offer.Price
	}
	return names
}

// Find is the offer that a price belongs to.
func (o Offers) Find(id, lookupKey string) (Offer, bool) {
	i := slices.IndexFunc(o, func(offer Offer) bool {
		return offer.Price != "" && (offer.Price == id || offer.Price == lookupKey)
	})
	if i < 0 {
		return Offer{}, false
	}
	return o[i], true
}

// Bought is the highest plan that one of the prices buys, and the id of that
// price; "" when none is offered.
func (t Table) Bought(offers Offers, prices []PriceRef) (plan, price string) {
	for _, p := range prices {
		if offer, ok := offers.Find(p.ID, p.LookupKey); ok && t.rank(offer.Plan) > t.rank(plan) {
			plan, price = offer.Plan, p.ID
		}
	}
	return plan, price
}
