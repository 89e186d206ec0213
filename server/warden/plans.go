package warden

import (
	"fmt"
	"slices"

	"coffer/server/access"
	"coffer/server/api"
	"coffer/server/billing"
	"coffer/store"
)

// planOf is the effective plan of an account. It is the one place that knows:
// while billing is off, it is the plan that the operator chose for everybody.
func (w *Warden) planOf(_ store.Reader, account string) (billing.Plan, error) {
	if account == "" {
		return billing.Plan{}, fmt.Errorf("warden: internal error: no account has no plan")
	}
	return w.c.Plan, nil
}

// books say what accounts may have. Within one transaction they remember what
// they had to look up.
type books struct {
	w        *Warden
	r        store.Reader
	writable map[string][]store.ID // of limited accounts: the private vaults that stay writable
}

func (w *Warden) books(r store.Reader) *books {
	return &books{w: w, r: r, writable: make(map[string][]store.ID)}
}

// readOnly says why a vault is read-only, to whoever shows it and to the door
// alike.
func (b *books) readOnly(v store.Vault) (billing.Reason, error) {
	account := v.Account()
	plan, err := b.w.planOf(b.r, account)
	if err != nil {
		return billing.Writable, err
	}
	holding := billing.Holding{Private: v.Private, Org: v.OwnerKind == store.OwnerOrg}
	return plan.ReadOnly(holding, func(n int) (bool, error) {
		first, known := b.writable[account]
		if !known {
			if first, err = b.r.FirstPrivate(account, n); err != nil {
				return false, err
			}
			b.writable[account] = first
		}
		return slices.Contains(first, v.ID), nil
	})
}

// errPlan refuses what the plan does not allow.
func (w *Warden) errPlan(format string, args ...any) *refusal {
	return &refusal{reason: access.PlanDenied, answer: &api.Error{
		Code: api.PlanLimit, UpgradeURL: w.c.UpgradeURL, Message: fmt.Sprintf(format, args...),
	}}
}

func (v *visit) plan() (billing.Plan, error) { return v.w.planOf(v.Reader, v.vault.Account()) }

// withinPlan is asked when the work of a change is done and before it is written.
// So the plan is the last thing to stand in the way, and whatever an operation
// does, it changes no vault that is read-only and grows none past its plan.
func (v *visit) withinPlan() error {
	if v.act.Row().Writable {
		if err := v.refuseReadOnly(); err != nil {
			return err
		}
	}
	plan, err := v.plan()
	if err != nil {
		return err
	}
	secrets, private := v.secrets()+v.would, v.vault.Private
	switch {
	case private && secrets > v.before.secrets && billing.Exceeds(secrets, plan.Secrets):
		return v.errPlan("The plan %q allows %d secrets in a private vault; this would make it %d. Remove some first, or move to a higher plan.",
			plan.Name, plan.Secrets, secrets)
	case len(v.envs) > v.before.environments && billing.Exceeds(len(v.envs), plan.Environments):
		return v.errPlan("The plan %q allows %d environments in a vault; this would make it %d. Delete one first, or move to a higher plan.",
			plan.Name, plan.Environments, len(v.envs))
	}
	return nil
}

func (v *visit) refuseReadOnly() error {
	reason, err := v.books.readOnly(v.vault)
	if err != nil {
		return err
	}
	facts := access.Facts{Role: v.role, Rights: access.Rights{Read: true, Write: true},
		Type: access.Development, ReadOnly: reason != billing.Writable}
	if v.act.Decide(facts) != access.PlanDenied {
		return nil
	}
	plan, err := v.plan()
	if err != nil {
		return err
	}
	if reason == billing.OrgNotIncluded {
		return v.errPlan("%s is read-only: the plan %q has no private repositories of organizations. Move to a higher plan; until then it can be read.",
			v.vault.Repository(), plan.Name)
	}
	return v.errPlan("%s is read-only: the plan %q allows %d private repositories, and older ones come first. Delete one of those, or move to a higher plan; until then it can be read.",
		v.vault.Repository(), plan.Name, plan.PrivateRepos)
}

// errPlan is a refusal that names where it happened.
func (v *visit) errPlan(format string, args ...any) *refusal {
	r := v.w.errPlan(format, args...)
	r.environment = v.where
	return r
}

// secrets counts the vault's active secrets.
func (v *visit) secrets() int {
	n := 0
	for _, e := range v.envs {
		n += e.Secrets
	}
	return n
}

// checkBatch holds the number of secrets in a push against the plan.
func (v *visit) checkBatch(n int) error {
	plan, err := v.plan()
	if err != nil || !billing.Exceeds(n, plan.PushBatch) {
		return err
	}
	return v.errPlan("The plan %q allows %d secrets in one push; this one has %d. Push them in parts with mode \"merge\".",
		plan.Name, plan.PushBatch, n)
}

// checkSizes holds values against what the plan allows. Their fields are prefix
// and their name.
func (v *visit) checkSizes(prefix string, values map[string]api.Secret) error {
	plan, err := v.plan()
	if err != nil {
		return err
	}
	var large []string
	largest := 0
	for name, value := range values {
		if billing.Exceeds(value.Len(), plan.ValueBytes) {
			large = append(large, name)
			largest = max(largest, value.Len())
		}
	}
	if len(large) == 0 {
		return nil
	}
	slices.Sort(large)
	var f api.Fields
	for _, name := range large {
		f.Add(prefix+name, api.FieldTooLarge, "At most %d bytes.", plan.ValueBytes)
	}
	wrong := f.Err()
	if v.w.c.Plans.HigherAllows(plan, func(p billing.Plan) bool { return !billing.Exceeds(largest, p.ValueBytes) }) {
		wrong.UpgradeURL = v.w.c.UpgradeURL
	}
	return wrong
}

// checkNewVault holds an account that just got a vault against its plan.
func (w *Warden) checkNewVault(r store.Reader, v store.Vault) error {
	reason, err := w.books(r).readOnly(v)
	if err != nil || reason == billing.Writable {
		return err
	}
	plan, err := w.planOf(r, v.Account())
	if err != nil {
		return err
	}
	refused := w.errPlan("The plan %q allows %d vaults of private repositories, and this would be one more. Delete one first, or move to a higher plan.",
		plan.Name, plan.PrivateRepos)
	if reason == billing.OrgNotIncluded {
		refused = w.errPlan("The plan %q has no vaults of private organization repositories. Move to a higher plan.", plan.Name)
	}
	refused.repo = v.Repository()
	return refused
}
