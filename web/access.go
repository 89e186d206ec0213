package web

import (
	"slices"
	"time"
)

// Access says who may do what in a vault.
type Access struct {
	Frame
	Role      string   // of whoever is signed in
	Columns   []string // environments
	Mine      []Rights
	People    []Person // nil for who is not shown them
	Members   []Person // of the organization, for who manages overrides and is not shown the people
	Unlisted  string   // why an admin is not shown them, or ""
	Overrides []Override
	CanManage bool
	Roles     []string
	Create    Form
	Defaults  []Default
}

// Rights are what somebody may do in an environment.
type Rights struct{ Read, Write bool }

// Words are the rights as people read them.
func (r Rights) Words() string {
	switch {
	case r.Read && r.Write:
		return "read and write"
	case r.Read:
		return "read"
	case r.Write:
		return "write only"
	}
	return "nothing"
}

// Person is somebody with a role on the repository.
type Person struct {
	ID         string // "" for who has never signed in here
	Name, Role string
	Bot        bool
	Rights     []Rights // by column
}

// Override sets what somebody may do.
type Override struct {
	ID          string
	Who         string // a user's name or a role's, or "" for a user that is gone
	IsRole      bool
	Environment string // "*" is all
	Rights      Rights
	By          string // who made it, or ""
	When        time.Time
}

// Default is what a role may do by the types of environments, in the order
// development, standard, protected.
type Default struct {
	Role   string
	Rights []Rights
}

func (Access) file() string { return "access.html" }

// Title is the page's title.
func (a Access) Title() string { return "Access · " + a.Inside.Name }

// Known are the people that an override can name: those who have signed in here.
func (a Access) Known() (all []Person) {
	for _, p := range slices.Concat(a.People, a.Members) {
		if p.ID != "" {
			all = append(all, p)
		}
	}
	return all
}
