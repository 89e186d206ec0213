package web

import "time"

// Connections lists what connects whoever is signed in with hosting providers.
type Connections struct {
	Frame
	Rows      []Connection
	Providers []Provider // to connect to
	Now       time.Time
}

// Connection lets us act at a hosting provider for its user.
type Connection struct {
	ID       string
	Provider string // as people call it
	Name     string // of the team, or of the account, or ""
	Broken   bool   // it has to be made again
	Again    string // path of the page to do that, or "" where the provider is turned off
	Since    time.Time
	Links    int // that sync through it
}

// Provider is a hosting provider that can be connected to.
type Provider struct {
	Name, Display string
	Authorize     string // path that leads to the provider to authorize us there, or ""
}

// NewConnection asks for a token of a provider.
type NewConnection struct {
	Frame
	Provider Provider
	Make     string   // where tokens are made
	Rights   []string // what a token has to be allowed
	Team     string   // what a team is called there, "" where there are none
	TeamHint string   // where its id is found
	Form     Form
}

// OneConnection shows one connection: what it reaches, and what goes with it.
type OneConnection struct {
	Frame
	Connection
	Projects []Project
	Problem  string // why the projects are not there, or ""
	Through  []Through
	Now      time.Time
}

// Project is something at a provider that can be synced with.
type Project struct {
	Name, Service string
	Repository    string // that it is built from, or ""
	Environments  []string
}

// Through is a link that goes through a connection.
type Through struct {
	Project, Target    string
	Vault, Environment string // "" where whoever is signed in may not see them
	Path               string // of the vault's syncs, or ""
	Auto               bool
}

func (Connections) file() string   { return "connections.html" }
func (NewConnection) file() string { return "connection_new.html" }
func (OneConnection) file() string { return "connection.html" }

// Title is the page's title.
func (Connections) Title() string { return "Connections" }

// Title is the page's title.
func (n NewConnection) Title() string { return "Connect to " + n.Provider.Display }

// Title is the page's title.
func (o OneConnection) Title() string { return o.Provider + " · Connections" }
