package access

import (
	"fmt"
	"strings"
)

// Scope is one thing that an API key may be made for.
type Scope uint8

// Scopes that exist.
const (
	ReadSecrets Scope = iota
	WriteSecrets
	DeleteSecrets
	AdminKeys
)

var scopeNames = [...]string{"read:secrets", "write:secrets", "delete:secrets", "admin:api-keys"}

// String returns the wire name.
func (s Scope) String() string {
	if int(s) < len(scopeNames) {
		return scopeNames[s]
	}
	return fmt.Sprintf("scope(%d)", uint8(s))
}

// ParseScope reads a wire name.
func ParseScope(name string) (Scope, error) {
	for i, known := range scopeNames {
		if known == name {
			return Scope(i), nil
		}
	}
	return 0, fmt.Errorf("no scope %q: one of %s", name, strings.Join(scopeNames[:], ", "))
}

// Scopes is a set of scopes; its zero value is empty.
type Scopes uint8

// All holds every scope: what people have, as opposed to API keys.
const All = Scopes(1<<len(scopeNames) - 1)

// ScopesOf returns the set of the scopes given.
func ScopesOf(scopes ...Scope) (set Scopes) {
	for _, s := range scopes {
		set |= 1 << s
	}
	return set
}

// ParseScopes reads wire names; duplicates merge.
func ParseScopes(names []string) (Scopes, error) {
	var set Scopes
	for _, name := range names {
		s, err := ParseScope(name)
		if err != nil {
			return 0, err
		}
		set |= ScopesOf(s)
	}
	return set, nil
}

// Names returns the wire names, always in the same order; never nil.
func (set Scopes) Names() []string {
	names := []string{}
	for i, name := range scopeNames {
		if set.Has(Scope(i)) {
			names = append(names, name)
		}
	}
	return names
}

// String returns the wire names, separated by commas.
func (set Scopes) String() string { return strings.Join(set.Names(), ",") }

// Has reports whether s is in the set.
func (set Scopes) Has(s Scope) bool { return set&(1<<s) != 0 }

// Meets reports whether the sets have a scope in common.
func (set Scopes) Meets(other Scopes) bool { return set&other != 0 }

// SubsetOf reports whether other holds every scope of the set.
func (set Scopes) SubsetOf(other Scopes) bool { return set&^other == 0 }
