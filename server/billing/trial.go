package billing

import (
	"time"

	"coffer/server/api"
)

// TrialDays is how long an organization's trial lasts.
const TrialDays = 14

// Trial is when an organization's one trial began, when it ends, and since when a
// subscription is confirmed; each is zero while it has not happened.
type Trial struct{ Started, Ends, Converted time.Time }

// Shown is the trial as it stands at an instant.
func (t Trial) Shown(now time.Time) api.Trial {
	out := api.Trial{
		HasStarted: !t.Started.IsZero(), Status: t.status(now), StartedAt: api.AtOrNull(t.Started), EndsAt: api.AtOrNull(t.Ends),
		ConvertedAt: api.AtOrNull(t.Converted), TrialDurationDays: TrialDays,
	}
	if out.Status == api.TrialActive {
		const day = 24 * time.Hour
		out.IsActive, out.DaysRemaining = true, int((t.Ends.Sub(now)+day-1)/day)
	}
	return out
}

// Running reports whether the trial gives its plan at an instant. One that a
// subscription was confirmed in gives nothing more: what is paid for counts.
func (t Trial) Running(now time.Time) bool { return t.status(now) == api.TrialActive }

func (t Trial) status(now time.Time) string {
	switch {
	case t.Started.IsZero():
		return api.TrialNone
	case !t.Converted.IsZero():
		return api.TrialConverted
	case now.Before(t.Ends):
		return api.TrialActive
	}
	return api.TrialExpired
}
