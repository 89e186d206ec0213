package web

import (
	"strings"
	"time"
)

// Keys lists the API keys of whoever is signed in, and makes new ones.
type Keys struct {
	Frame
	Live   []Key // those that can be used
	Ended  []Key // revoked and expired ones
	Scopes []Scope
	Create Form
	Once   string // tells this form from all others
	Now    time.Time
}

// Key is an API key without its token.
type Key struct {
	ID, Name, Prefix, Environment string
	Scopes                        []Scope
	Sources                       []string // addresses that it may be used from; none is all
	Uses                          int
	Created, Used, Expires        time.Time
	Revoked                       time.Time
}

// Scope is one thing that an API key may be made for.
type Scope struct{ Name, Means string }

// CreatedKey shows a new API key, once.
type CreatedKey struct {
	Frame
	Name, Environment string
	Token             string
	Server            string // address for the command line
	Expires           time.Time
}

func (Keys) file() string       { return "keys.html" }
func (CreatedKey) file() string { return "createdkey.html" }

// Title is the page's title.
func (Keys) Title() string { return "API keys" }

// Title is the page's title.
func (CreatedKey) Title() string { return "New API key" }

// Script copies the key.
func (CreatedKey) Script() string { return "copy.js" }

// Chosen reports whether a scope is chosen in the form, which begins with the
// first.
func (k Keys) Chosen(scope string) bool {
	if k.Create.Values == nil {
		return scope == k.Scopes[0].Name
	}
	for _, chosen := range strings.Fields(k.Create.Values["scopes"]) {
		if chosen == scope {
			return true
		}
	}
	return false
}
