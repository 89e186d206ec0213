package billing

import (
	"fmt"
	"strconv"

	"coffer/server/api"
)

// column is one limit of a plan: its name in the configuration, where it is
// kept, and what it may be set to.
type column struct {
	name     string
	at       func(*Plan) *api.Limit
	low, top int  // of numbers; top 0 means no bound
	bounded  bool // may not be unlimited: the wire has a bound of its own
}

// columns are all limits that are numbers. Private organization repositories
// are allowed or not, and stand beside them.
var columns = []column{
	{name: "public_repos", at: func(p *Plan) *api.Limit { return &p.PublicRepos }},
	{name: "private_repos", at: func(p *Plan) *api.Limit { return &p.PrivateRepos }},
	{name: "environments", at: func(p *Plan) *api.Limit { return &p.Environments }, low: 1},
	{name: "secrets", at: func(p *Plan) *api.Limit { return &p.Secrets }},
	{name: "connections", at: func(p *Plan) *api.Limit { return &p.Connections }},
	{name: "sync_links", at: func(p *Plan) *api.Limit { return &p.SyncLinks }},
	{name: "push_batch", at: func(p *Plan) *api.Limit { return &p.PushBatch }, low: 1, top: api.MaxSecretsPerPush, bounded: true},
	{name: "value_bytes", at: func(p *Plan) *api.Limit { return &p.ValueBytes }, low: 1, top: api.MaxValueLarge, bounded: true},
	{name: "collaborators", at: func(p *Plan) *api.Limit { return &p.Collaborators }},
	{name: "audit_days", at: func(p *Plan) *api.Limit { return &p.AuditDays }, low: 1},
	{name: "version_days", at: func(p *Plan) *api.Limit { return &p.VersionDays }, low: 1},
}

const (
	privateOrgRepos = "private_org_repos"
	unlimited       = "unlimited"
)

// Setting is one cell of the table of plans, as the configuration writes it.
type Setting struct{ Plan, Limit, Value string }

// Settings are all cells, plan by plan.
func (t Table) Settings() []Setting {
	var all []Setting
	for i := range t {
		p := &t[i]
		for _, c := range columns {
			all = append(all, Setting{p.Name, c.name, show(*c.at(p))})
		}
		all = append(all, Setting{p.Name, privateOrgRepos, strconv.FormatBool(p.PrivateOrgRepos)})
	}
	return all
}

func show(l api.Limit) string {
	if l < 0 {
		return unlimited
	}
	return strconv.Itoa(int(l))
}

// Set changes one cell of the table.
func (t Table) Set(s Setting) error {
	for i := range t {
		if t[i].Name == s.Plan {
			return t[i].set(s.Limit, s.Value)
		}
	}
	return fmt.Errorf("there is no plan %q", s.Plan)
}

func (p *Plan) set(limit, value string) error {
	if limit == privateOrgRepos {
		yes, err := strconv.ParseBool(value)
		if err != nil {
			return fmt.Errorf("%q is neither true nor false", value)
		}
		p.PrivateOrgRepos = yes
		return nil
	}
	for _, c := range columns {
		if c.name == limit {
			n, err := c.parse(value)
			if err == nil {
				*c.at(p) = n
			}
			return err
		}
	}
	return fmt.Errorf("plans have no limit %q", limit)
}

func (c column) parse(value string) (api.Limit, error) {
	if value == unlimited && !c.bounded {
		return api.Unlimited, nil
	}
	n, err := strconv.Atoi(value)
	switch {
	case c.bounded && (err != nil || n < c.low || n > c.top):
		return 0, fmt.Errorf("%q is no number from %d to %d", value, c.low, c.top)
	case err != nil || n < c.low:
		return 0, fmt.Errorf("%q is neither unlimited nor a number from %d", value, c.low)
	}
	return api.Limit(n), nil
}
