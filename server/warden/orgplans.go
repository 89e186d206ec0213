package warden

import (
	"context"

	"coffer/server/access"
	"coffer/server/api"
	"coffer/server/billing"
	"coffer/server/forge"
	"coffer/store"
)

// OrgPlan is an organization's plan as the pages show it: what it allows, what is
// used of it, and what the caller may do about it.
type OrgPlan struct {
	api.Billing
	Login, Name string // Name is "" where it has none but its login
	Subscribed  string // plan of its subscription, or ""
	Grants      bool   // the subscription gives that plan
	Allows      Allowance

	Private, Public int // its vaults
	ReadOnly        int // of Private
	People          int

	CanTry       bool    // a trial would help, and the caller may start it
	TrialPlan    string  // that it gives
	Subscribable bool    // there is no subscription in the way
	CanSubscribe bool    // and the caller may begin one
	CanManage    bool    // there is a subscription, and the caller may change it
	Offers       []Offer // of more than it has without a trial
}

// Allowance is what a plan allows an organization.
type Allowance struct {
	api.PlanLimits
	PrivateOrgRepos bool // none of its private repositories otherwise
}

// Offer is a plan that can be subscribed to.
type Offer struct {
	Plan   string
	Allows Allowance
	api.PlanPrices
}

func allowanceOf(p billing.Plan) Allowance { return Allowance{p.Limits(), p.PrivateOrgRepos} }

// OrgPlan is the plan of an organization that the caller is a member of. A trial is
// offered only where billing is on: where nobody pays there is nothing to try.
func (w *Warden) OrgPlan(ctx context.Context, who Caller, req api.OrgRef) (*OrgPlan, error) {
	const act = access.OrgBilling
	there, standing, err := w.enterOrg(ctx, who, act, req.Org)
	if err != nil {
		return nil, err
	}
	if err := w.recordOrg(ctx, who, there); err != nil {
		return nil, err
	}
	prices := w.shownPrices(ctx)
	var out *OrgPlan
	var triable bool
	err = w.self(ctx, who, act, func(r store.Reader) error {
		b, err := r.Billing(store.AccountOfOrg(there.ID))
		if err != nil {
			return err
		}
		out = w.planSold(b, prices)
		owner := access.OrgCheckout.Decide(access.Facts{Standing: standing}) == access.Granted
		out.CanSubscribe, out.CanManage = out.Subscribable && owner, out.CanManage && owner
		trial, err := w.c.Plans.Find(billing.TrialPlan)
		if err != nil {
			return err
		}
		lasting := w.c.Plans.Lasting(w.c.Plan, w.entitlement(b))
		triable = w.BillingEnabled() && w.noTrial(b, there.Login) == "" && w.c.Plans.Compare(lasting, trial) < 0
		return w.countOrg(r, out, there.ID)
	})
	if err == nil && triable {
		out.CanTry = w.mayTry(ctx, who, there, standing)
	}
	return out, err
}

// planSold is what a billing state says of a plan, and what can be had instead.
func (w *Warden) planSold(b store.Billing, prices *api.Prices) *OrgPlan {
	e := w.entitlement(b)
	out := &OrgPlan{
		Billing: *w.shownBilling(b, prices), Subscribed: e.Plan, Grants: e.Status.Effect().Grants,
		Allows:       allowanceOf(w.planBy(b, w.now())),
		TrialPlan:    billing.TrialPlan,
		Subscribable: w.BillingEnabled() && subscribable(b), CanManage: w.BillingEnabled() && b.Customer != "" && b.Status != "",
	}
	if prices == nil {
		return out
	}
	lasting := w.c.Plans.Lasting(w.c.Plan, e)
	for _, p := range w.c.Plans {
		if w.c.Plans.Compare(p, lasting) <= 0 {
			continue // nobody is to pay for less than what they have anyway
		}
		if of := (*prices)[p.Name]; of.Monthly != nil || of.Yearly != nil {
			out.Offers = append(out.Offers, Offer{p.Name, allowanceOf(p), of})
		}
	}
	return out
}

// countOrg counts what an organization has.
func (w *Warden) countOrg(r store.Reader, out *OrgPlan, account string) error {
	org, err := r.OrgAt(w.forge.Kind(), account)
	if err != nil {
		return err
	}
	out.Login, out.Name, out.People = org.Login, org.DisplayName, max(org.People, 1)
	vaults, err := r.VaultsOf(store.AccountOfOrg(account))
	if err != nil {
		return err
	}
	books := w.books(r)
	for _, v := range vaults {
		if !v.Private {
			out.Public++
			continue
		}
		out.Private++
		reason, err := books.readOnly(v)
		if err != nil {
			return err
		}
		if reason != billing.Writable {
			out.ReadOnly++
		}
	}
	return nil
}

// mayTry reports whether the caller may start the organization's trial. While the
// code host does not say, it is not offered.
func (w *Warden) mayTry(ctx context.Context, who Caller, org forge.Organization, standing access.Standing) bool {
	if standing == access.Member {
		asked, err := w.asInstaller(ctx, who, org)
		if err != nil {
			w.log.WarnContext(ctx, "the code host does not say whether the application is installed", "org", org.Login, "error", err)
			return false
		}
		standing = asked
	}
	return access.OrgTrialStart.Decide(access.Facts{Standing: standing}) == access.Granted
}

// VaultPlan is the plan that a vault is under.
type VaultPlan struct {
	Plan string
	Org  string // whose it is; "" for a person's
}

// VaultPlan is the plan of a vault that the caller can see.
func (w *Warden) VaultPlan(ctx context.Context, who Caller, ref api.Ref) (*VaultPlan, error) {
	out := &VaultPlan{}
	err := w.read(ctx, who, access.VaultGet, ref.Repository(), func(v *visit) error {
		plan, err := v.plan()
		if err != nil {
			return err
		}
		*out = VaultPlan{Plan: plan.Name}
		if v.vault.OwnerKind == store.OwnerOrg {
			out.Org, err = w.orgOwning(v.Reader, v.vault)
		}
		return err
	})
	return out, err
}
