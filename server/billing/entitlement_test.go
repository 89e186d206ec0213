package billing

import (
	"testing"
	"time"
)

// TestTheHighestOfWhatAnAccountHasCounts walks every status of a subscription,
// with and without a trial and a plan of the operator's.
func TestTheHighestOfWhatAnAccountHasCounts(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	end := start.AddDate(0, 0, TrialDays)
	running, over := Trial{Started: start, Ends: end}, Trial{Started: start, Ends: start.Add(time.Hour)}
	converted := Trial{Started: start, Ends: end, Converted: start}
	now := start.Add(24 * time.Hour)
	plans := Plans()
	for _, tt := range []struct {
		name               string
		base               string
		e                  Entitlement
		lasting, effective string
	}{
		{"nothing", "free", Entitlement{}, "free", "free"},
		{"nothing, billing off", "team", Entitlement{}, "team", "team"},
		{"trial", "free", Entitlement{Trial: running}, "free", "team"},
		{"trial on a higher plan", "enterprise", Entitlement{Trial: running}, "enterprise", "enterprise"},
		{"trial that is over", "free", Entitlement{Trial: over}, "free", "free"},
		{"trial that a lower subscription ended", "free", Entitlement{Trial: converted, Status: Active, Plan: "pro"}, "pro", "pro"},
		{"trial beside a subscription of before", "free", Entitlement{Trial: running, Status: Canceled, Plan: "pro"}, "free", "team"},
		{"given", "free", Entitlement{Given: "startup"}, "startup", "startup"},
		{"given less than everybody has", "team", Entitlement{Given: "pro"}, "team", "team"},
		{"given and trial", "free", Entitlement{Given: "enterprise", Trial: running}, "enterprise", "enterprise"},
		{"given a plan that is none", "free", Entitlement{Given: "gold"}, "free", "free"},
		{"active", "free", Entitlement{Status: Active, Plan: "team"}, "team", "team"},
		{"trialing", "free", Entitlement{Status: Trialing, Plan: "team"}, "team", "team"},
		{"past due", "free", Entitlement{Status: PastDue, Plan: "team"}, "team", "team"},
		{"incomplete", "free", Entitlement{Status: Incomplete, Plan: "team"}, "free", "free"},
		{"unpaid", "free", Entitlement{Status: Unpaid, Plan: "team"}, "free", "free"},
		{"paused", "free", Entitlement{Status: Paused, Plan: "team"}, "free", "free"},
		{"canceled", "free", Entitlement{Status: Canceled, Plan: "team"}, "free", "free"},
		{"incomplete expired", "free", Entitlement{Status: IncompleteExpired, Plan: "team"}, "free", "free"},
		{"a status nobody knows", "free", Entitlement{Status: "blessed", Plan: "team"}, "free", "free"},
		{"active for a price that is not ours", "free", Entitlement{Status: Active}, "free", "free"},
		{"active, and given more", "free", Entitlement{Given: "team", Status: Active, Plan: "pro"}, "team", "team"},
	} {
		base, err := plans.Find(tt.base)
		if err != nil {
			t.Fatal(err)
		}
		if got := plans.Lasting(base, tt.e).Name; got != tt.lasting {
			t.Errorf("%s: lasting %s, want %s", tt.name, got, tt.lasting)
		}
		if got := plans.Effective(base, tt.e, now).Name; got != tt.effective {
			t.Errorf("%s: effective %s, want %s", tt.name, got, tt.effective)
		}
	}
}

func TestATrialEndsOnTheInstant(t *testing.T) {
	end := time.Date(2026, 1, 15, 0, 0, 0, 0, time.UTC)
	trial := Trial{Started: end.AddDate(0, 0, -TrialDays), Ends: end}
	if !trial.Running(end.Add(-time.Nanosecond)) || trial.Running(end) || (Trial{}).Running(end) {
		t.Error("it ends too soon, too late, or never began")
	}
}

func TestOnlyOfferedPricesBuyAPlan(t *testing.T) {
	plans := Plans()
	offers := Offers{{Plan: "pro", Price: "price_pro"}, {Plan: "team", Price: "team_monthly"}, {Plan: "team", Yearly: true, Price: "price_year"}}
	for _, tt := range []struct {
		prices      []PriceRef
		plan, price string
	}{
		{nil, "", ""},
		{[]PriceRef{{ID: "price_other"}}, "", ""},
		{[]PriceRef{{ID: "price_pro"}}, "pro", "price_pro"},
		{[]PriceRef{{ID: "price_9", LookupKey: "team_monthly"}}, "team", "price_9"},
		{[]PriceRef{{ID: "price_9", LookupKey: "price_pro"}}, "pro", "price_9"},
		{[]PriceRef{{ID: "price_pro"}, {ID: "price_year"}, {ID: "price_other"}}, "team", "price_year"},
		{[]PriceRef{{ID: "price_year"}, {ID: "price_pro"}}, "team", "price_year"},
	} {
		if plan, price := plans.Bought(offers, tt.prices); plan != tt.plan || price != tt.price {
			t.Errorf("%v buys %q by %q", tt.prices, plan, price)
		}
	}
}
