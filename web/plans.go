package web

import (
	"fmt"
	"net/url"
	"time"
)

// OrgPlan is about the plan of an organization.
type OrgPlan struct {
	Frame
	Tabs    []Place
	At      string // path of this page
	Login   string
	Name    string // "" where it has none but its login
	Plan    string // that counts now
	Trial   Trial
	Usage   []PlanUsage
	Allowed []PlanAllows
	Form    Form

	// Where nobody pays, nothing below is set.
	Paid         bool       // plans are paid for
	Said         []PlanNote // what came of a payment, and how the subscription stands
	CanTry       bool
	TrialDays    int
	TrialPlan    string
	CanManage    bool
	CanSubscribe bool
	Subscribable bool // somebody may subscribe, if not whoever is looking
	Offers       []PlanOffer
}

// Trial is what came of an organization's trial.
type Trial struct {
	Status   string // active, expired or converted; "" for none
	DaysLeft int
	Ends     time.Time
	Plan     string // that counts after it, where that is another one; or ""
	At       string // path of the page about the plan, from elsewhere; or ""
}

// soon is how many days before a trial ends everybody is told.
const soon = 5

// Soon reports whether a trial is about to end that makes a difference.
func (t Trial) Soon() bool { return t.Status == "active" && t.Plan != "" && t.DaysLeft <= soon }

// PlanNote says how something stands.
type PlanNote struct {
	Text string
	Warn bool // somebody has something to do
	Look bool // it may stand otherwise by now
}

// PlanUsage is how much there is of what a plan limits.
type PlanUsage struct {
	Name        string
	Used, Limit int // Limit is below 0 for none
}

// Measured reports whether there is a limit to measure by.
func (u PlanUsage) Measured() bool { return u.Limit > 0 }

// Words is how much there is of how much.
func (u PlanUsage) Words() string {
	switch {
	case u.Limit < 0:
		return fmt.Sprintf("%d, no limit", u.Used)
	case u.Limit == 0 && u.Used == 0:
		return "none, and the plan allows none"
	case u.Used > u.Limit:
		return fmt.Sprintf("%d, and the plan allows %d", u.Used, u.Limit)
	}
	return fmt.Sprintf("%d of %d", u.Used, u.Limit)
}

// PlanAllows is one thing that a plan allows, or does not.
type PlanAllows struct{ Name, Much string }

// PlanOffer is a plan that can be subscribed to.
type PlanOffer struct {
	Plan    string
	Allowed []PlanAllows
	Prices  []PlanPrice
}

// PlanPrice is what a plan costs.
type PlanPrice struct {
	ID   string
	Text string // EUR 15.00 a month
}

// Visit leads to where something is done that our pages cannot do. Browsers let no
// form lead there, but links may.
type Visit struct {
	Frame
	Heading, Text string
	Link          string // what the link is called
	URL           string // where it leads to, at another server
	Back          string // path of the page that it began on
}

// Server is the name of the server that the link leads to.
func (v Visit) Server() string {
	u, err := url.Parse(v.URL)
	if err != nil {
		return ""
	}
	return u.Host
}

// Upgrade leads to the plans of the organizations of whoever is signed in.
type Upgrade struct {
	Frame
	Plan string // of their own account
	Rows []OrgRow
}

func (OrgPlan) file() string { return "plan.html" }
func (Visit) file() string   { return "visit.html" }
func (Upgrade) file() string { return "upgrade.html" }

// Title is the page's title.
func (p OrgPlan) Title() string { return "Plan · " + p.Login }

// Title is the page's title.
func (v Visit) Title() string { return v.Heading }

// Title is the page's title.
func (Upgrade) Title() string { return "Plans" }
