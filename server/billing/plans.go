// Package billing knows what a plan allows, and how plans are paid for. Its tables
// and rules are pure, and only the client of Stripe asks anybody; it knows no store,
// no vault and no user.
//
// Its invariant: what a plan forbids is decided here once, and whoever shows it
// and whoever enforces it ask the same function.
package billing

import (
	"fmt"
	"slices"
	"strings"

	"coffer/server/api"
)

// Plan is what an account may have. Limits are numbers, or api.Unlimited.
type Plan struct {
	Name            string
	PublicRepos     api.Limit
	PrivateRepos    api.Limit
	PrivateOrgRepos bool      // private repositories of organizations
	Environments    api.Limit // per vault
	Secrets         api.Limit // active, per private vault
	Connections     api.Limit
	SyncLinks       api.Limit
	PushBatch       api.Limit
	ValueBytes      api.Limit
	Collaborators   api.Limit // reported, not enforced
	AuditDays       api.Limit
	VersionDays     api.Limit
}

// DefaultPlan is everybody's plan while billing is off and nobody says otherwise.
const DefaultPlan = "team"

// Plans is the table of the contract's defaults, lowest plan first.
func Plans() Table {
	const none = api.Unlimited
	return Table{
		{Name: "free", PublicRepos: none, PrivateRepos: 1, Environments: 3, Secrets: 20, Connections: 1, SyncLinks: 2, PushBatch: 100, ValueBytes: api.MaxValue, Collaborators: 15, AuditDays: 7, VersionDays: 30},
		{Name: "pro", PublicRepos: none, PrivateRepos: 5, Environments: none, Secrets: none, Connections: none, SyncLinks: none, PushBatch: 500, ValueBytes: api.MaxValue, Collaborators: 15, AuditDays: 30, VersionDays: 30},
		{Name: "startup", PublicRepos: none, PrivateRepos: 40, Environments: none, Secrets: none, Connections: none, SyncLinks: none, PushBatch: 1000, ValueBytes: api.MaxValueLarge, Collaborators: 30, AuditDays: 90, VersionDays: 30},
		{Name: "team", PublicRepos: none, PrivateRepos: none, PrivateOrgRepos: true, Environments: none, Secrets: none, Connections: none, SyncLinks: none, PushBatch: 1000, ValueBytes: api.MaxValueLarge, Collaborators: 15, AuditDays: 90, VersionDays: 30},
		{Name: "enterprise", PublicRepos: none, PrivateRepos: none, PrivateOrgRepos: true, Environments: none, Secrets: none, Connections: none, SyncLinks: none, PushBatch: 1000, ValueBytes: api.MaxValueLarge, Collaborators: none, AuditDays: 365, VersionDays: 365},
	}
}

// Table holds the plans by rank, lowest first.
type Table []Plan

// Names are the plans' names by rank.
func (t Table) Names() []string {
	names := make([]string, len(t))
	for i, p := range t {
		names[i] = p.Name
	}
	return names
}

// Find is the plan of this name; "" means DefaultPlan.
func (t Table) Find(name string) (Plan, error) {
	if name == "" {
		name = DefaultPlan
	}
	i := slices.IndexFunc(t, func(p Plan) bool { return p.Name == name })
	if i < 0 {
		return Plan{}, fmt.Errorf("there is no plan %q; choose one of %s", name, strings.Join(t.Names(), ", "))
	}
	return t[i], nil
}

// HigherAllows reports whether some plan above p meets a wish.
func (t Table) HigherAllows(p Plan, wish func(Plan) bool) bool {
	i := slices.IndexFunc(t, func(other Plan) bool { return other.Name == p.Name })
	return slices.ContainsFunc(t[i+1:], wish)
}

// Limits are the plan's limits that usage is shown against.
func (p Plan) Limits() api.PlanLimits {
	return api.PlanLimits{
		MaxPublicRepos: p.PublicRepos, MaxPrivateRepos: p.PrivateRepos, MaxProviders: p.Connections,
		MaxEnvironmentsPerVault: p.Environments, MaxSecretsPerPrivateVault: p.Secrets,
	}
}

// Exceeds reports whether there are more than a limit allows.
func Exceeds(n int, most api.Limit) bool { return most >= 0 && n > int(most) }
