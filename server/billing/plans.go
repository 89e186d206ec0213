// Package billing knows what a plan allows, and in time how plans are paid for.
// Its tables are pure; it knows no vault and no user.
package billing

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"coffer/server/api"
)

// Plan is what an account may have. Limits are numbers, or api.Unlimited.
type Plan struct {
	Name            string
	PublicRepos     api.Limit
	PrivateRepos    api.Limit
	PrivateOrgRepos bool
	Environments    api.Limit // per vault
	Secrets         api.Limit // active, per private vault
	Connections     api.Limit
	SyncLinks       api.Limit
	PushBatch       int
	ValueBytes      int
	Collaborators   api.Limit // reported, not enforced
	AuditDays       int
	VersionDays     int
	UpgradeURL      string // where a higher plan is had, or ""
}

// DefaultPlan is everybody's plan while billing is off.
const DefaultPlan = "team"

// Plans is the table of the contract's defaults.
func Plans() map[string]Plan {
	const none = api.Unlimited
	all := []Plan{
		{Name: "free", PrivateRepos: 1, Environments: 3, Secrets: 20, Connections: 1, SyncLinks: 2, PushBatch: 100, ValueBytes: api.MaxValue, Collaborators: 15, AuditDays: 7, VersionDays: 30},
		{Name: "pro", PrivateRepos: 5, Environments: none, Secrets: none, Connections: none, SyncLinks: none, PushBatch: 500, ValueBytes: api.MaxValue, Collaborators: 15, AuditDays: 30, VersionDays: 30},
		{Name: "startup", PrivateRepos: 40, Environments: none, Secrets: none, Connections: none, SyncLinks: none, PushBatch: 1000, ValueBytes: api.MaxValueLarge, Collaborators: 30, AuditDays: 90, VersionDays: 30},
		{Name: "team", PrivateRepos: none, PrivateOrgRepos: true, Environments: none, Secrets: none, Connections: none, SyncLinks: none, PushBatch: 1000, ValueBytes: api.MaxValueLarge, Collaborators: 15, AuditDays: 90, VersionDays: 30},
		{Name: "enterprise", PrivateRepos: none, PrivateOrgRepos: true, Environments: none, Secrets: none, Connections: none, SyncLinks: none, PushBatch: 1000, ValueBytes: api.MaxValueLarge, Collaborators: none, AuditDays: 365, VersionDays: 365},
	}
	byName := make(map[string]Plan, len(all))
	for _, p := range all {
		p.PublicRepos = none
		byName[p.Name] = p
	}
	return byName
}

// Find is the plan of this name; "" means DefaultPlan.
func Find(name string) (Plan, error) {
	if name == "" {
		name = DefaultPlan
	}
	all := Plans()
	p, ok := all[name]
	if !ok {
		return p, fmt.Errorf("there is no plan %q; choose one of %s", name, strings.Join(slices.Sorted(maps.Keys(all)), ", "))
	}
	return p, nil
}

// Limits are the plan's limits that usage is shown against.
func (p Plan) Limits() api.PlanLimits {
	return api.PlanLimits{
		MaxPublicRepos: p.PublicRepos, MaxPrivateRepos: p.PrivateRepos, MaxProviders: p.Connections,
		MaxEnvironmentsPerVault: p.Environments, MaxSecretsPerPrivateVault: p.Secrets,
	}
}
