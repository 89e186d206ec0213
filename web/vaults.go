package web

import "time"

// Vaults lists the vaults of whoever is signed in, and makes new ones.
type Vaults struct {
	Frame
	Search  Search
	Rows    []VaultRow
	Pager   Pager
	Cut     bool // there were too many keys to search all
	Create  Form
	Free    []string // repositories that a vault can be made for, as far as known
	Forge   string   // name of the code host, or "" for the built-in one
	Example string   // of a repository's name
	Now     time.Time
}

// VaultRow is one vault.
type VaultRow struct {
	Name, At     string // of its first page
	Private      bool
	Role         string
	Environments []EnvironmentCount
	Secrets      int
	Changed      time.Time
	ReadOnly     string // why it is, or ""
	Gone         bool   // the repository is
	Keys         []string
	MoreKeys     int // that the search found besides
}

// EnvironmentCount is how many secrets an environment has.
type EnvironmentCount struct {
	Name    string
	Secrets int
}

func (Vaults) file() string { return "vaults.html" }

// Title is the page's title.
func (Vaults) Title() string { return "Vaults" }
