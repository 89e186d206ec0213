package httpd

import (
	"context"
	"fmt"
	"net/url"

	"coffer/server/api"
	"coffer/server/warden"
	"coffer/web"
)

const (
	planPath    = orgPath + "/plan"
	upgradePath = "/upgrade"
)

// planPages are about the plans of organizations.
func planPages() []route {
	return []route{
		{method: get, path: planPath, bucket: inGeneral, run: signedIn(plan)},
		{method: post, path: planPath, bucket: inGeneral, run: act(changePlan)},
		{method: get, path: upgradePath, bucket: inGeneral, run: signedIn(upgrade)},
	}
}

// planOf is the path of the page about an organization's plan.
func planOf(org string) string { return orgsPath + "/" + url.PathEscape(org) + "/plan" }

// planRequest is what the address of the page says.
type planRequest struct {
	api.OrgRef
	Checkout string `query:"checkout"`
}

// How a checkout ended, as the address says to which the browser comes back. Anybody
// can write that address, so it changes what the page says and nothing else.
const (
	checkoutDone      = "done"
	checkoutCancelled = "cancelled"
)

// Check lets an end of a checkout through that exists.
func (r planRequest) Check(f *api.Fields) {
	switch r.Checkout {
	case "", checkoutDone, checkoutCancelled:
	default:
		f.Add("checkout", api.UnknownValue, "One of done or cancelled.")
	}
}

func plan(x *exchange) (web.Page, error) {
	req, err := asked[planRequest](x)
	if err != nil {
		return nil, err
	}
	return x.plans(req.Org, req.Checkout, web.Form{})
}

// plans is the page about an organization's plan, with its forms as they were left.
func (x *exchange) plans(org, checkout string, left web.Form) (web.Page, error) {
	o, err := x.Warden.OrgPlan(x.ctx, x.who, api.OrgRef{Org: org})
	if err != nil {
		return nil, err
	}
	at := planOf(o.Login)
	p := web.OrgPlan{
		Frame: x.frame(), Tabs: x.tabs(orgPlaces, orgPath, orgsPath+"/"+url.PathEscape(o.Login)), At: at,
		Login: o.Login, Name: o.Name, Plan: o.EffectivePlan, Trial: shownTrial(o.Trial, o.Plan, o.EffectivePlan),
		Usage: usageOf(o), Allowed: allowed(o.Allows), Form: left,
	}
	if !o.BillingEnabled {
		return p, nil
	}
	p.Paid, p.Said = true, planNotes(o, checkout)
	p.CanTry, p.TrialDays, p.TrialPlan = o.CanTry, o.Trial.TrialDurationDays, o.TrialPlan
	p.CanManage, p.CanSubscribe, p.Subscribable = o.CanManage, o.CanSubscribe, o.Subscribable && (o.Prices == nil || len(o.Offers) > 0)
	for _, offer := range o.Offers {
		p.Offers = append(p.Offers, shownOffer(offer))
	}
	return p, nil
}

// shownTrial is what came of a trial, beside a plan that lasts and the one that counts
// now.
func shownTrial(t api.Trial, lasting, now string) web.Trial {
	if !t.HasStarted {
		return web.Trial{}
	}
	out := web.Trial{Status: t.Status, DaysLeft: t.DaysRemaining, Ends: timeOrZero(t.EndsAt)}
	if lasting != now {
		out.Plan = lasting
	}
	return out
}

// usageOf is what an organization uses of its plan.
func usageOf(o *warden.OrgPlan) []web.PlanUsage {
	private := o.Allows.MaxPrivateRepos
	if !o.Allows.PrivateOrgRepos {
		private = 0
	}
	return []web.PlanUsage{
		{Name: "Vaults of private repositories", Used: o.Private, Limit: int(private)},
		{Name: "Vaults of public repositories", Used: o.Public, Limit: int(o.Allows.MaxPublicRepos)},
		{Name: "Members", Used: o.People, Limit: int(api.Unlimited)},
	}
}

// allowed is what a plan allows an organization.
func allowed(a warden.Allowance) []web.PlanAllows {
	private := limitText(a.MaxPrivateRepos)
	if !a.PrivateOrgRepos {
		private = "none"
	}
	return []web.PlanAllows{
		{Name: "Vaults of private repositories", Much: private},
		{Name: "Vaults of public repositories", Much: limitText(a.MaxPublicRepos)},
		{Name: "Environments in a vault", Much: limitText(a.MaxEnvironmentsPerVault)},
		{Name: "Secrets in a private vault", Much: limitText(a.MaxSecretsPerPrivateVault)},
	}
}

// changePlan does what one of the page's forms asks for.
func changePlan(x *exchange, form url.Values) error {
	ref, err := asked[api.OrgRef](x)
	if err != nil {
		return err
	}
	at := planOf(ref.Org)
	ctx, cancel := x.forProvider()
	defer cancel()
	switch form.Get("do") {
	case "trial":
		if _, err = x.Warden.StartTrial(x.ctx, x.who, *ref); err == nil {
			x.done(at, trialStarted)
			return nil
		}
	case "checkout":
		var to *api.Visit
		if to, err = x.openCheckout(ctx, *ref, form.Get("priceId")); err == nil {
			return x.leadOut(web.Visit{
				Heading: "Continue to payment", Link: "Continue to payment", URL: to.URL, Back: at,
				Text: fmt.Sprintf("You pay at Stripe. Nothing is charged before you confirm it there, and %s has its new plan once Stripe confirms it.", ref.Org),
			})
		}
	case "portal":
		var to *api.Visit
		if to, err = x.Warden.OpenPortal(ctx, x.who, api.OpenPortal{OrgRef: *ref, ReturnURL: x.PublicURL + at}); err == nil {
			return x.leadOut(web.Visit{
				Heading: "Continue to payment and invoices", Link: "Continue to Stripe", URL: to.URL, Back: at,
				Text: "At Stripe you see invoices, and change how you pay, or change or end the subscription.",
			})
		}
	default:
		return errNoDeed
	}
	return x.againUnlessRefused(err, form, nil, func(f web.Form) (web.Page, error) {
		if api.CodeOf(err) == api.ProviderFailed {
			f.Problem += " Your vaults work on meanwhile."
		}
		return x.plans(ref.Org, "", f)
	})
}

func (x *exchange) openCheckout(ctx context.Context, ref api.OrgRef, price string) (*api.Visit, error) {
	back := x.PublicURL + planOf(ref.Org) + "?checkout="
	req := api.OpenCheckout{OrgRef: ref, PriceID: price, SuccessURL: back + checkoutDone, CancelURL: back + checkoutCancelled}
	if err := x.check(req); err != nil {
		return nil, err
	}
	return x.Warden.OpenCheckout(ctx, x.who, req)
}

// leadOut shows a page with a link to another server, because Chromium lets no form
// lead there.
func (x *exchange) leadOut(v web.Visit) error {
	v.Frame = x.frame()
	return x.showPage(v, nil)
}

// upgrade is where refusals by a plan lead to. Where nobody pays there is no such
// page.
func upgrade(x *exchange) (web.Page, error) {
	if !x.Warden.BillingEnabled() {
		return nil, errNoSuchAddress
	}
	usage, err := x.Warden.Usage(x.ctx, x.who, api.Empty{})
	if err != nil {
		return nil, err
	}
	all, err := x.Warden.Orgs(x.ctx, x.who, api.Empty{})
	if err != nil {
		return nil, err
	}
	p := web.Upgrade{Frame: x.frame(), Plan: usage.Plan}
	for _, o := range all {
		p.Rows = append(p.Rows, orgRow(o))
	}
	return p, nil
}
