package forgetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"coffer/server/forge"
	"coffer/server/standin"
)

// Host is a code host together with clients of it: what the rules are checked
// against.
type Host struct {
	World *World
	Fake  *Fake // nil for a host that is not asked over the network

	// Forge makes a new client of the host.
	Forge func(Options) forge.Forge

	// Token makes an access token of a user that suffices for every question.
	// Nil is a host without tokens, where everybody is asked about without any
	// credential.
	Token func(user int64) string

	// Limited makes tokens of a user, each lacking a scope. Nil is a host without
	// scopes.
	Limited func(user int64) []Limited

	// OAuth is nil for a host without sign-in.
	OAuth *SignIn

	// Hooks is every kind of delivery that the host sends, not signed yet. The
	// rules ask for it once they have made their world. Nil is a host without.
	Hooks func() []Hook

	Features
}

// Options say how a client of the host is configured.
type Options struct {
	Service       bool   // with a service credential that reaches all of the world
	WebhookSecret string // "" is none
}

// Limited is a token that does not suffice for a question.
type Limited struct {
	Token    string
	Question string // a method of forge.Forge; the client answers with a *forge.Missing
	Scope    string // part of what that names
}

// SignIn is the application that the client is configured with.
type SignIn struct {
	App    App
	Scopes []string // that it must ask for; empty for a GitHub App
}

// Features are the ways in which hosts truly differ.
type Features struct {
	Roles             []forge.Role // that a collaborator of an organization's repository can have
	Teams             bool         // teams give roles
	Base              bool         // an organization gives a role to all of its members
	Roleless          bool         // a team without a role on code still lets its members see the repository
	MembersReadPublic bool         // membership alone makes reading a public repository explicit
	Internal          bool         // there are internal repositories
	HiddenOrgs        bool         // an organization's visibility hides its public repositories
	BlindToOwnRead    bool         // one's own token does not tell that one is a collaborator with read on what is public
	Hides             bool         // what the asker may not see is not found; false for local, which hides nothing
	Redirects         bool         // old names lead to the repository
	Machines          []Kind       // kinds of tokens that are no person's
	Refreshes         bool         // grants are refreshed
	SingleUse         bool         // a refresh token works once
	Revokes           bool         // a grant can be ended from here
}

// Rule is something that holds at every code host.
type Rule struct {
	Name  string
	Needs func(*Host) bool // nil: nothing
	Check func(context.Context, *Host) error
}

// Rules are all of them.
func Rules() []Rule {
	return slices.Concat(roleRules, identityRules, credentialRules, bearerRules, listRules, faultRules, signInRules, hookRules)
}

// Run checks every rule against a host of its own. See [standin.Suite].
func Run(t *testing.T, host func(*testing.T) *Host) { suite().Run(t, host) }

// Broken checks every rule and returns the names of those that do not hold. No
// rules named means all.
func Broken(t *testing.T, host func(*testing.T) *Host, only ...string) []string {
	t.Helper()
	return suite().Broken(t, host, only...)
}

func suite() standin.Suite[*Host] {
	var all []standin.Rule[*Host]
	for _, r := range Rules() {
		all = append(all, standin.Rule[*Host](r))
	}
	return standin.Suite[*Host]{Rules: all, Alone: alone, Time: 2 * time.Minute, Always: (*Host).kept}
}

// kept is what must hold whatever is asked.
func (h *Host) kept() error {
	if h.Fake == nil {
		return nil
	}
	if leaks := h.Fake.Leaks(); len(leaks) > 0 {
		return fmt.Errorf("a secret is in an address or went to another host: %q", leaks)
	}
	return nil
}

// Wrap changes every client that the host makes, to break a rule on purpose.
func (h *Host) Wrap(around func(forge.Forge) forge.Forge) *Host {
	inner := h.Forge
	h.Forge = func(o Options) forge.Forge { return around(inner(o)) }
	return h
}

// way is a client and a credential to ask about a user with.
type way struct {
	name  string
	forge forge.Forge
	as    forge.Asker
	own   bool // with the user's own token
}

// ways are all ways to ask about a user, each with a new client.
func (h *Host) ways(user int64) []way {
	as := forge.Asker{User: h.user(user)}
	if h.Token == nil {
		return []way{{name: "asked without a credential", forge: h.Forge(Options{}), as: as}}
	}
	return []way{h.own(user), {name: "asked with the service credential", forge: h.Forge(Options{Service: true}), as: as}}
}

// own is the way to ask with a user's own token, where there are any.
func (h *Host) own(user int64) way {
	if h.Token == nil {
		return h.ways(user)[0]
	}
	as := forge.Asker{User: h.user(user), Token: h.Token(user)}
	return way{"asked with the own token", h.Forge(Options{}), as, true}
}

func id(n int64) string { return strconv.FormatInt(n, 10) }

func (h *Host) user(n int64) forge.User {
	u, _ := h.World.User(n)
	return forge.User{ID: id(n), Login: u.Login}
}

func (h *Host) org(n int64) forge.Organization {
	o, _ := h.World.Org(n)
	return forge.Organization{ID: id(n), Login: o.Login}
}

// repo is a repository's record as of now.
func (h *Host) repo(n int64) forge.Repository {
	r, _ := h.World.Repo(n)
	owner, _ := h.World.Owner(r.Owner)
	return forge.Repository{
		ID: id(n), Owner: owner.Login, Name: r.Name, OwnerKind: owner.Kind, OwnerID: id(owner.ID),
		Public: r.Visibility == Public && owner.Visibility == Public,
	}
}

// problems collects what does not hold.
type problems []error

func (p *problems) add(format string, args ...any) { *p = append(*p, fmt.Errorf(format, args...)) }

func (p problems) err() error { return errors.Join(p...) }
