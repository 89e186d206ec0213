package billing

import (
	"slices"
	"testing"
	"time"
)

func TestWhatAStatusMeans(t *testing.T) {
	for status, want := range map[Status]Effect{
		Active:            {Grants: true},
		Trialing:          {Grants: true},
		PastDue:           {Grants: true, Warn: true},
		Unpaid:            {Warn: true},
		Incomplete:        {Warn: true},
		Paused:            {},
		Canceled:          {Final: true},
		IncompleteExpired: {Final: true},
		"":                {},
		"something_new":   {},
	} {
		if got := status.Effect(); got != want {
			t.Errorf("%q: got %+v, want %+v", status, got, want)
		}
	}
}

func TestTheNewestSubscriptionThatIsNotFinalCounts(t *testing.T) {
	at := func(id string, status Status, day int) Subscription {
		return Subscription{ID: id, Status: status, Created: time.Date(2026, 11, day, 0, 0, 0, 0, time.UTC)}
	}
	for _, tt := range []struct {
		want string
		all  []Subscription
	}{
		{"b", []Subscription{at("a", Active, 1), at("b", Active, 2)}},
		{"a", []Subscription{at("a", Active, 1), at("b", Canceled, 2)}},
		{"a", []Subscription{at("a", Unpaid, 1), at("b", IncompleteExpired, 2)}},
		{"b", []Subscription{at("a", Unpaid, 1), at("b", Paused, 2)}},
		{"b", []Subscription{at("a", Canceled, 1), at("b", Canceled, 2)}},
		{"a", []Subscription{at("a", PastDue, 1), at("b", Incomplete, 2)}},
		{"b", []Subscription{at("a", Active, 1), at("b", Trialing, 1)}},
		{"b", []Subscription{at("a", "something_new", 1), at("b", "something_new", 2), at("c", Canceled, 3)}},
	} {
		for range 2 {
			if got, ok := Current(tt.all); !ok || got.ID != tt.want {
				t.Errorf("%v: got %q, want %q", tt.all, got.ID, tt.want)
			}
			slices.Reverse(tt.all)
		}
	}
	if _, ok := Current(nil); ok {
		t.Error("there is one among none")
	}
}

func TestASubscriptionEndsWithItsPeriod(t *testing.T) {
	end := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		sub  Subscription
		want bool
	}{
		{Subscription{PeriodEnd: end}, false},
		{Subscription{PeriodEnd: end, CancelAtPeriodEnd: true}, true},
		{Subscription{PeriodEnd: end, CancelAt: end}, true},
		{Subscription{PeriodEnd: end, CancelAt: end.Add(-time.Hour)}, true},
		{Subscription{PeriodEnd: end, CancelAt: end.Add(time.Hour)}, false},
	} {
		if got := tt.sub.EndsWithPeriod(); got != tt.want {
			t.Errorf("%+v: got %v", tt.sub, got)
		}
	}
}
