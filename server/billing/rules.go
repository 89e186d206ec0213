package billing

import (
	"time"

	"coffer/server/api"
)

// Reason is why a vault is read-only, in the words of the wire; empty when it is
// not.
type Reason string

// Reasons.
const (
	Writable       Reason = ""
	OverLimit      Reason = "plan_limit_exceeded"
	OrgNotIncluded Reason = "org_free_plan"
)

// Holding is a vault as plans see it.
type Holding struct {
	Private bool
	Org     bool // its account is an organization
}

// ReadOnly says why a vault is read-only. among tells whether it is one of the
// first n private vaults of its account, by creation and then by id; it is asked
// only when that matters, because it may have to look at n of them.
func (p Plan) ReadOnly(v Holding, among func(n int) (bool, error)) (Reason, error) {
	switch {
	case !v.Private:
		return Writable, nil
	case v.Org && !p.PrivateOrgRepos:
		return OrgNotIncluded, nil
	case p.PrivateRepos < 0:
		return Writable, nil
	}
	if first, err := among(int(p.PrivateRepos)); err != nil || first {
		return Writable, err
	}
	return OverLimit, nil
}

// Retention is how long something is kept: For, or as many days as the plan says,
// or, being zero, for ever.
type Retention struct {
	ByPlan bool
	For    time.Duration
}

// Before is the instant before which things are no longer kept, under a plan that
// allows for these days, or false when everything is.
func (r Retention) Before(now time.Time, days api.Limit) (time.Time, bool) {
	switch {
	case r.ByPlan && days >= 0:
		return now.AddDate(0, 0, -int(days)), true
	case !r.ByPlan && r.For > 0:
		return now.Add(-r.For), true
	}
	return time.Time{}, false
}
