package web

import "time"

// Orgs lists the organizations of whoever is signed in.
type Orgs struct {
	Frame
	Forge string // name of the code host, or "" for the built-in one
	Rows  []OrgRow
}

// OrgRow is an organization.
type OrgRow struct {
	Login, Name     string // Name is "" where it has none but its login
	At              string // path of its page
	Role, Plan      string
	Members, Vaults int
}

// Org is about one organization.
type Org struct {
	Frame
	Forge   string // name of the code host, or "" for the built-in one
	Tabs    []Place
	Row     OrgRow
	IsOwner bool
	Trial   Trial
	People  []OrgPerson
	Missing string // why there are no people, or ""

	Rename   Form
	Defaults Form
	Sync     Form
	Rights   []OrgDefault
}

// OrgPerson is somebody on an organization's roster.
type OrgPerson struct {
	Name, Role string
	Here       bool      // has an account on this server
	Joined     time.Time // when that was seen, or zero
}

// OrgDefault is what a role may do in vaults of an organization, by type of
// environment.
type OrgDefault struct {
	Role  string
	Cells []Choice
}

// Choice is a field with a choice of values.
type Choice struct {
	Field
	Label   string
	Options []Option
}

// Chosen is how the chosen value is called.
func (c Choice) Chosen() string {
	for _, o := range c.Options {
		if o.Value == c.Value {
			return o.Name
		}
	}
	return c.Value
}

// Option is a value that can be chosen.
type Option struct{ Value, Name string }

func (Orgs) file() string { return "orgs.html" }
func (Org) file() string  { return "org.html" }

// Title is the page's title.
func (Orgs) Title() string { return "Organizations" }

// Title is the page's title.
func (o Org) Title() string { return o.Row.Login + " · Organizations" }
