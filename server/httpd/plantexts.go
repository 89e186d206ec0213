package httpd

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"coffer/server/api"
	"coffer/server/warden"
	"coffer/web"
)

// planNotes say what came of a checkout that the browser comes back from, and how
// the subscription stands.
func planNotes(o *warden.OrgPlan, checkout string) []web.PlanNote {
	var all []web.PlanNote
	switch {
	case checkout == checkoutCancelled && !o.Grants:
		all = append(all, web.PlanNote{Text: "You left without subscribing. Nothing was changed, and nothing is charged."})
	case checkout == checkoutDone && !o.Grants:
		all = append(all, web.PlanNote{Look: true, Text: "Thank you. The plan is granted once Stripe confirms it, mostly within a minute."})
	case checkout == checkoutDone:
		all = append(all, web.PlanNote{Text: "Thank you. Stripe has confirmed it."})
	}
	if note := subscriptionNote(o); note.Text != "" {
		all = append(all, note)
	}
	return all
}

// subscriptionNote says how a subscription stands.
func subscriptionNote(o *warden.OrgPlan) web.PlanNote {
	until := ""
	if o.CurrentPeriodEnd != nil {
		until = o.CurrentPeriodEnd.Time.UTC().Format("2 January 2006")
	}
	switch o.Status {
	case api.NoSubscription:
		return web.PlanNote{}
	case "past_due":
		return web.PlanNote{Warn: true, Text: fmt.Sprintf("A payment is missing. %s keeps the plan %s while Stripe tries again. %s", o.Login, o.EffectivePlan, mend(o))}
	case "unpaid":
		return web.PlanNote{Warn: true, Text: "The payments for the subscription failed, so it grants nothing. " + consequence(o) + " " + mend(o)}
	case "incomplete":
		return web.PlanNote{Warn: true, Text: "The first payment was not completed, so the subscription grants nothing yet. " + consequence(o)}
	case "canceled", "incomplete_expired":
		return web.PlanNote{Warn: o.ReadOnly > 0, Text: "The subscription has ended. " + consequence(o)}
	}
	switch {
	case o.Grants && o.Subscribed == "":
		return web.PlanNote{Warn: true, Text: fmt.Sprintf("%s pays for a subscription that is to none of the plans here. Ask whoever runs this server.", o.Login)}
	case !o.Grants:
		return web.PlanNote{Warn: true, Text: "The subscription is paused, so it grants nothing. " + consequence(o)}
	case o.CancelAtPeriodEnd && until != "":
		return web.PlanNote{Warn: true, Text: fmt.Sprintf("The subscription to %s ends on %s, and is not renewed. Until then nothing changes; what exceeds the plan afterwards can be read, but not changed.", o.Subscribed, until)}
	case until != "":
		return web.PlanNote{Text: fmt.Sprintf("%s subscribes to %s. It is renewed on %s.", o.Login, o.Subscribed, until)}
	}
	return web.PlanNote{Text: fmt.Sprintf("%s subscribes to %s.", o.Login, o.Subscribed)}
}

// mend says who can mend a payment.
func mend(o *warden.OrgPlan) string {
	if o.CanManage {
		return `Look at how you pay under "Payment and invoices" below.`
	}
	return "An owner of the organization can look at how it is paid."
}

// consequence says what the plan is, and what is read-only under it.
func consequence(o *warden.OrgPlan) string {
	text := fmt.Sprintf("%s has the plan %s", o.Login, o.EffectivePlan)
	switch o.ReadOnly {
	case 0:
		return text + ", and nothing is read-only."
	case 1:
		return text + ": 1 vault of a private repository is read-only. It can be read, but not changed."
	}
	return fmt.Sprintf("%s: %d vaults of private repositories are read-only. They can be read, but not changed.", text, o.ReadOnly)
}

func shownOffer(o warden.Offer) web.PlanOffer {
	out := web.PlanOffer{Plan: o.Plan, Allowed: allowed(o.Allows)}
	for _, p := range []*api.Price{o.Monthly, o.Yearly} {
		if p != nil {
			out.Prices = append(out.Prices, web.PlanPrice{ID: p.ID, Text: priceText(*p)})
		}
	}
	return out
}

// Currencies whose smallest unit, as Stripe counts it, is not a hundredth.
var (
	wholeCurrencies      = []string{"bif", "clp", "djf", "gnf", "jpy", "kmf", "krw", "mga", "pyg", "rwf", "vnd", "vuv", "xaf", "xof", "xpf"}
	thousandthCurrencies = []string{"bhd", "jod", "kwd", "omr", "tnd"}
)

// priceText is a price as people read it.
func priceText(p api.Price) string {
	if p.Price == nil {
		return "a price that Stripe shows"
	}
	every := ""
	if p.Interval != "" {
		every = " a " + p.Interval
	}
	digits := 2
	switch currency := strings.ToLower(p.Currency); {
	case slices.Contains(wholeCurrencies, currency):
		digits = 0
	case slices.Contains(thousandthCurrencies, currency):
		digits = 3
	}
	amount := strconv.FormatInt(*p.Price, 10)
	if digits > 0 {
		amount = fmt.Sprintf("%0*d", digits+1, *p.Price)
		amount = amount[:len(amount)-digits] + "." + amount[len(amount)-digits:]
	}
	return strings.ToUpper(p.Currency) + " " + amount + every
}
