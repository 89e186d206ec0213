package billing

import (
	"testing"
	"time"

	"coffer/server/api"
)

func TestATrialFollowsFromItsDates(t *testing.T) {
	const day = 24 * time.Hour
	start := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	trial := Trial{Started: start, Ends: start.Add(TrialDays * day)}
	converted := trial
	converted.Converted = start.Add(3 * day)
	for _, tt := range []struct {
		name   string
		trial  Trial
		after  time.Duration
		status string
		days   int
	}{
		{"never", Trial{}, 0, "none", 0},
		{"never, with a subscription", Trial{Converted: start}, 0, "none", 0},
		{"begun", trial, 0, "active", 14},
		{"a second later", trial, time.Second, "active", 14},
		{"a day later", trial, day, "active", 13},
		{"its last second", trial, 14*day - time.Second, "active", 1},
		{"over", trial, 14 * day, "expired", 0},
		{"long over", trial, 400 * day, "expired", 0},
		{"subscribed within it", converted, 4 * day, "converted", 0},
		{"subscribed, and over", converted, 40 * day, "converted", 0},
	} {
		got := tt.trial.Shown(start.Add(tt.after))
		if got.Status != tt.status || got.DaysRemaining != tt.days || got.IsActive != (tt.status == api.TrialActive) ||
			got.HasStarted != !tt.trial.Started.IsZero() || got.TrialDurationDays != 14 {
			t.Errorf("%s: %+v", tt.name, got)
		}
		if (got.StartedAt == nil) == got.HasStarted || (got.ConvertedAt == nil) != tt.trial.Converted.IsZero() {
			t.Errorf("%s: dates %v, %v", tt.name, got.StartedAt, got.ConvertedAt)
		}
	}
}
