package web

import (
	"strings"
	"testing"
)

// payPage is at the payment provider.
const payPage = "https://pay.example/c/1"

var someAllowed = []PlanAllows{{"Vaults of private repositories", "unlimited"}}

var plansSamples = map[string]Page{
	"plan": OrgPlan{
		Frame: Frame{User: "ann"}, Tabs: []Place{{Name: "Plan", Path: "/orgs/acme/plan", Current: "page"}}, At: "/orgs/acme/plan", Login: "acme", Name: "Acme, Inc.",
		Plan: "team", Trial: Trial{"active", 3, someDay, "free", ""}, Usage: []PlanUsage{{"Vaults", 2, 5}, {"Members", 1, -1}, {"Others", 0, 0}},
		Allowed: someAllowed, Form: Form{Problem: "Nothing.", Problems: map[string]string{"priceId": "No."}},
		Paid: true, Said: []PlanNote{{"A payment is missing.", true, false}, {"Thank you.", false, true}},
		CanTry: true, TrialDays: 14, TrialPlan: "team", CanManage: true, CanSubscribe: true, Subscribable: true,
		Offers: []PlanOffer{{"team", someAllowed, []PlanPrice{{"price_1", "EUR 15.00 a month"}}}},
	},
	"plan of a member":   OrgPlan{Frame: Frame{User: "bob"}, At: "/orgs/acme/plan", Login: "acme", Plan: "free", Paid: true, Trial: Trial{Status: "expired", Ends: someDay}, Subscribable: true, Offers: []PlanOffer{{"team", nil, []PlanPrice{{"price_1", "EUR 15.00 a month"}}}}},
	"plan without price": OrgPlan{Frame: Frame{User: "bob"}, At: "/orgs/acme/plan", Login: "acme", Plan: "free", Paid: true, Trial: Trial{Status: "converted"}, CanSubscribe: true, Subscribable: true},
	"plan for nothing":   OrgPlan{Frame: Frame{User: "ann"}, At: "/orgs/acme/plan", Login: "acme", Plan: "team", Usage: []PlanUsage{{"Vaults", 1, -1}}},
	"visit":              Visit{Frame: Frame{User: "ann"}, Heading: "Continue to payment", Text: "You pay there.", Link: "Continue", URL: payPage, Back: "/orgs/acme/plan"},
	"upgrade":            Upgrade{Frame: Frame{User: "ann"}, Plan: "free", Rows: []OrgRow{someOrg, {"other", "", "/orgs/other", "member", "free", 1, 0}}},
	"upgrade alone":      Upgrade{Frame: Frame{User: "ann"}, Plan: "free"},
}

var plansEvils = map[string]Page{
	"plan": OrgPlan{
		Tabs: []Place{{evil, "/" + evil, evil}}, At: "/" + evil, Login: evil, Name: evil, Plan: evil, Trial: Trial{"active", 3, someDay, evil, "/" + evil},
		Usage: []PlanUsage{{evil, 1, 2}}, Allowed: []PlanAllows{{evil, evil}}, Form: Form{Problem: evil, Problems: map[string]string{"priceId": evil}},
		Paid: true, Said: []PlanNote{{evil, true, true}}, CanTry: true, TrialPlan: evil, CanManage: true, CanSubscribe: true, Subscribable: true,
		Offers: []PlanOffer{{evil, []PlanAllows{{evil, evil}}, []PlanPrice{{evil, evil}}}},
	},
	"plan of a member": OrgPlan{Login: evil, Subscribable: true, Offers: []PlanOffer{{evil, nil, []PlanPrice{{evil, evil}}}}},
	"visit":            Visit{Heading: evil, Text: evil, Link: evil, URL: "https://pay.example/" + evil, Back: "/" + evil},
	"upgrade":          Upgrade{Plan: evil, Rows: []OrgRow{{evil, evil, "/" + evil, evil, evil, 1, 1}}},
}

func TestNothingSpeaksOfMoneyWithoutAPrice(t *testing.T) {
	text := rendered(t, "", plansSamples["plan for nothing"])
	for _, word := range []string{"Stripe", "pay", "subscri", "upgrade", "trial", "Trial"} {
		if strings.Contains(text, word) {
			t.Errorf("the plan says %q: %s", word, text)
		}
	}
}

func TestUsageIsSaidInWords(t *testing.T) {
	for want, u := range map[string]PlanUsage{
		"2, no limit": {Used: 2, Limit: -1}, "2 of 5": {Used: 2, Limit: 5}, "5 of 5": {Used: 5, Limit: 5},
		"3, and the plan allows 1": {Used: 3, Limit: 1}, "2, and the plan allows 0": {Used: 2}, "none, and the plan allows none": {},
	} {
		if got := u.Words(); got != want || u.Measured() != (u.Limit > 0) {
			t.Errorf("%+v is %q, want %q", u, got, want)
		}
	}
}

func TestATrialThatEndsSoonIsSaid(t *testing.T) {
	for _, tt := range []struct {
		trial Trial
		want  bool
	}{
		{Trial{}, false},
		{Trial{Status: "active", DaysLeft: 6, Ends: someDay, Plan: "free"}, false},
		{Trial{Status: "active", DaysLeft: 5, Ends: someDay, Plan: "free"}, true},
		{Trial{Status: "active", DaysLeft: 5, Ends: someDay}, false},
		{Trial{Status: "expired", Ends: someDay, Plan: "free"}, false},
	} {
		text := rendered(t, "", Org{Trial: tt.trial})
		if got := strings.Contains(text, "The trial ends in 5 days, on 20 November 2026."); got != tt.want {
			t.Errorf("%+v is told of: %v", tt.trial, got)
		}
	}
}

// TestAVisitLeadsNowhereElse holds that an address with a scheme of its own is no link.
func TestAVisitLeadsNowhereElse(t *testing.T) {
	if text := rendered(t, "", Visit{URL: "javascript:alert(1)"}); strings.Contains(text, "javascript:") {
		t.Error(text)
	}
}
