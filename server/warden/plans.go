package warden

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"coffer/server/access"
	"coffer/server/api"
	"coffer/server/billing"
	"coffer/server/forge"
	"coffer/store"
)

// planOf is the effective plan of an account. It is the one place that knows. It
// goes by dates and by what the payment provider said last, so that no job has to
// run for it to be right.
func (w *Warden) planOf(r store.Reader, account string) (billing.Plan, error) {
	if account == "" {
		return billing.Plan{}, fmt.Errorf("warden: internal error: no account has no plan")
	}
	b, err := r.Billing(account)
	return w.planBy(b, w.now()), err
}

// planBy is the plan that a billing state gives at an instant.
func (w *Warden) planBy(b store.Billing, now time.Time) billing.Plan {
	return w.c.Plans.Effective(w.c.Plan, w.entitlement(b), now)
}

// entitlement is what gives an account its plan. A subscription counts while
// somebody can be asked about it.
func (w *Warden) entitlement(b store.Billing) billing.Entitlement {
	e := billing.Entitlement{Given: b.Given, Trial: trialOf(b)}
	if w.c.Payments != nil {
		e.Status, e.Plan = billing.Status(b.Status), b.Plan
	}
	return e
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
		refused := v.errPlan("%s is read-only: the plan %q has no private repositories of organizations. Move to a higher plan; until then it can be read.",
			v.vault.Repository(), plan.Name)
		if err := v.w.offerTrial(v.Reader, refused.answer, v.vault); err != nil {
			return err
		}
		return refused
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
		if err := w.offerTrial(r, refused.answer, v); err != nil {
			return err
		}
	}
	refused.repo = v.Repository()
	return refused
}

// SetPlan gives an account a plan that nobody pays for, or takes it away.
func (w *Warden) SetPlan(ctx context.Context, who Caller, req api.SetPlan) (*api.AccountPlan, error) {
	given := req.Plan
	if given == api.NoPlan {
		given = ""
	}
	if names := w.c.Plans.Names(); given != "" && !slices.Contains(names, given) {
		return nil, api.InvalidField("plan", api.UnknownValue, "One of %s, or %s.", strings.Join(names, ", "), api.NoPlan)
	}
	var out *api.AccountPlan
	err := w.changeSelf(ctx, who, access.PlanSet, func(tx store.Tx, j *journal) error {
		account, meta, err := w.payingName(tx, j, req.Kind, req.Name)
		if err != nil {
			return err
		}
		before, err := tx.Billing(account)
		if err != nil {
			return err
		}
		after := before
		after.Given = given
		meta["plan"] = req.Plan
		j.note("plan_set", meta)
		out = &api.AccountPlan{Kind: req.Kind, Name: req.Name, GivenPlan: orNull(given), EffectivePlan: w.planBy(after, j.now).Name}
		return errors.Join(tx.PutBilling(after), w.notePlan(tx.Reader, j, before, after))
	})
	return out, err
}

// payingName is the account of a user or an organization, and what the activity
// log calls it.
func (w *Warden) payingName(tx store.Tx, j *journal, kind, name string) (string, map[string]any, error) {
	if kind == api.PlanOfUser {
		u, err := w.userNamed(tx, j, name)
		return store.AccountOfUser(u.ID), map[string]any{"username": u.Login}, err
	}
	if w.builtIn() != nil {
		return w.accountOnRecord(tx.Reader, name)
	}
	ns, err := records{tx.Reader}.Namespace(name)
	if err != nil && !errors.Is(err, forge.ErrNotFound) {
		return "", nil, err
	}
	if err != nil || ns.Kind != forge.OwnerOrg {
		return "", nil, api.InvalidField("name", api.UnknownValue, "There is no organization %q. Add it first.", name)
	}
	org, err := w.orgAt(tx, j, forge.Organization{ID: strconv.FormatUint(ns.ID, 10), Login: ns.Name})
	return store.AccountOfOrg(org.Account), map[string]any{"org": org.Login}, err
}

// accountOnRecord is the account of an organization that was seen at the code host.
func (w *Warden) accountOnRecord(r store.Reader, login string) (string, map[string]any, error) {
	all, err := r.Orgs()
	if err != nil {
		return "", nil, err
	}
	all = slices.DeleteFunc(all, func(o store.Org) bool { return o.Forge != w.forge.Kind() || !strings.EqualFold(o.Login, login) })
	switch len(all) {
	case 1:
		return store.AccountOfOrg(all[0].Account), map[string]any{"org": all[0].Login}, nil
	case 0:
		return "", nil, api.InvalidField("name", api.UnknownValue, "Nobody of an organization of this name has been here yet.")
	}
	// Names change hands at the code host, as those of users do.
	return "", nil, api.Errorf(api.Conflict, "%d organizations were seen here as %s, and all but one of them have another name by now. Have a member of the one you mean open it here.", len(all), login)
}
