package api

import (
	"net/url"
	"strings"
)

// Billing is what an organization pays for, and what it could.
type Billing struct {
	Plan              string  `json:"plan"` // without the trial
	Status            string  `json:"status"`
	CurrentPeriodEnd  *Time   `json:"currentPeriodEnd"`
	CancelAtPeriodEnd bool    `json:"cancelAtPeriodEnd"`
	EffectivePlan     string  `json:"effectivePlan"`
	BillingEnabled    bool    `json:"billingEnabled"`
	Trial             Trial   `json:"trial"`
	Prices            *Prices `json:"prices"` // null while there are none, or they cannot be had
}

// Prices are what plans cost, by plan.
type Prices map[string]PlanPrices

// NoSubscription is the status of a billing without any subscription ever.
const NoSubscription = "none"

// PlanPrices are what a plan costs, by how often it is paid.
type PlanPrices struct {
	Monthly *Price `json:"monthly"`
	Yearly  *Price `json:"yearly"`
}

// Price is what a plan costs, in the smallest unit of the currency; null when that
// is no fixed amount.
type Price struct {
	ID       string `json:"id"`
	Price    *int64 `json:"price"`
	Currency string `json:"currency"`
	Interval string `json:"interval"`
}

// OpenCheckout asks for the form where an organization subscribes.
type OpenCheckout struct {
	OrgRef
	PriceID    string `json:"priceId" need:"true"`
	SuccessURL string `json:"successUrl" need:"true"`
	CancelURL  string `json:"cancelUrl" need:"true"`
}

// Check wants a price and addresses.
func (r OpenCheckout) Check(f *Fields) {
	switch {
	case r.PriceID == "":
		f.Add("priceId", TooShort, "The id of one of the prices that the organization's billing shows.")
	case len(r.PriceID) > 255:
		f.Add("priceId", TooLong, "At most 255 characters.")
	}
	f.address("successUrl", r.SuccessURL)
	f.address("cancelUrl", r.CancelURL)
}

// OpenPortal asks for the pages where an organization changes its subscription.
type OpenPortal struct {
	OrgRef
	ReturnURL string `json:"returnUrl" need:"true"`
}

// Check wants an address.
func (r OpenPortal) Check(f *Fields) { f.address("returnUrl", r.ReturnURL) }

// maxAddress is how long an address may be that a browser is sent back to.
const maxAddress = 2048

// address wants what a browser can be sent to.
func (f *Fields) address(field, text string) {
	u, err := url.Parse(text)
	switch {
	case len(text) > maxAddress:
		f.Add(field, TooLong, "At most %d characters.", maxAddress)
	case err != nil, u.Scheme != "https" && u.Scheme != "http", u.Host == "", u.User != nil, strings.ContainsAny(text, "\\ \t\r\n"):
		f.Add(field, InvalidFormat, "An address, like https://vault.example/billing.")
	}
}

// Visit is where a browser is to go next, for this person only.
type Visit struct {
	URL string `json:"url"`
}

// StartedTrial answers the start of a trial.
type StartedTrial struct {
	Trial
	Now     Trial  `json:"trial"`
	Message string `json:"message"`
}

// TrialInfo says, beside a refusal by the plan, whether a trial would help.
type TrialInfo struct {
	Eligible      bool   `json:"eligible"`
	DaysAvailable int    `json:"daysAvailable"`
	OrgLogin      string `json:"orgLogin"`
	Reason        string `json:"reason"`
}

// Kinds of accounts that a plan can be given to.
const (
	PlanOfUser = "user"
	PlanOfOrg  = "org"
)

// NoPlan takes away the plan that the operator gave.
const NoPlan = "none"

// SetPlan asks to give an account a plan that nobody pays for, or with "none" to
// take it away.
type SetPlan struct {
	Kind string `json:"kind" need:"true"`
	Name string `json:"name" need:"true"`
	Plan string `json:"plan" need:"true"`
}

// Check holds the kind against those there are; the plans are the server's.
func (r SetPlan) Check(f *Fields) { f.oneOf("kind", r.Kind, PlanOfUser, PlanOfOrg) }

// AccountPlan is an account with its plan.
type AccountPlan struct {
	Kind          string  `json:"kind"`
	Name          string  `json:"name"`
	GivenPlan     *string `json:"givenPlan"`
	EffectivePlan string  `json:"effectivePlan"`
}
