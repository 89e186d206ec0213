package billing

import (
	"encoding/json"
	"time"
)

// ref is the id of something that is named by it, or stands there as a whole.
// Anything else names nothing.
type ref string

// UnmarshalJSON never fails.
func (r *ref) UnmarshalJSON(b []byte) error {
	var whole struct {
		ID string `json:"id"`
	}
	if json.Unmarshal(b, (*string)(r)) != nil && json.Unmarshal(b, &whole) == nil {
		*r = ref(whole.ID)
	}
	return nil
}

// stripeMeta is what we wrote on something of Stripe's.
type stripeMeta struct {
	OrgID string `json:"org_id"`
}

type stripePrice struct {
	ID        string `json:"id"`
	LookupKey string `json:"lookup_key"`
	Active    bool   `json:"active"`
	Amount    *int64 `json:"unit_amount"`
	Currency  string `json:"currency"`
	Recurring struct {
		Interval string `json:"interval"`
		Count    int    `json:"interval_count"`
	} `json:"recurring"`
}

func (p stripePrice) id() string  { return p.ID }
func (p stripePrice) whole() bool { return p.ID != "" && p.Currency != "" }

func (p stripePrice) read() Price {
	return Price{
		ID: p.ID, LookupKey: p.LookupKey, Active: p.Active, Amount: p.Amount, Currency: p.Currency,
		Interval: p.Recurring.Interval, IntervalCount: p.Recurring.Count,
	}
}

type stripeSubscription struct {
	ID        string     `json:"id"`
	Customer  ref        `json:"customer"`
	Metadata  stripeMeta `json:"metadata"`
	Status    Status     `json:"status"`
	Created   epoch      `json:"created"`
	PeriodEnd epoch      `json:"current_period_end"` // in versions before 2025-03-31
	AtEnd     bool       `json:"cancel_at_period_end"`
	CancelAt  epoch      `json:"cancel_at"`
	Items     struct {
		Data []struct {
			Price     stripePrice `json:"price"`
			PeriodEnd epoch       `json:"current_period_end"`
		} `json:"data"`
	} `json:"items"`
}

func (s stripeSubscription) id() string  { return s.ID }
func (s stripeSubscription) whole() bool { return s.ID != "" && s.Customer != "" && s.Status != "" }

func (s stripeSubscription) read() Subscription {
	out := Subscription{
		ID: s.ID, Customer: string(s.Customer), OrgID: s.Metadata.OrgID, Status: s.Status, Created: s.Created.time(),
		CancelAtPeriodEnd: s.AtEnd, CancelAt: s.CancelAt.time(),
	}
	var end epoch
	for _, item := range s.Items.Data {
		out.Prices = append(out.Prices, PriceRef{item.Price.ID, item.Price.LookupKey})
		end = max(end, item.PeriodEnd)
	}
	if end == 0 {
		end = s.PeriodEnd
	}
	out.PeriodEnd = end.time()
	return out
}

// epoch is a time in seconds since 1970; 0 is none.
type epoch int64

func (e epoch) time() time.Time {
	if e == 0 {
		return time.Time{}
	}
	return time.Unix(int64(e), 0).UTC()
}
