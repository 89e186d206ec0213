// Package hostingtest holds the rules that every hosting provider's client keeps,
// and stand-ins for the providers' servers to check them against.
//
// A stand-in keeps what the provider keeps, in the provider's own form: records
// with several targets, contexts, sealed values. It is told what somebody else
// does there, and what is really held, by the functions of [Host]; everything
// else goes over its API.
package hostingtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"coffer/server/hosting"
	"coffer/server/standin"
)

// Host is a provider together with clients of it: what the rules are checked
// against. It has a project with at least two environments, both without
// variables.
type Host struct {
	Fake *standin.Fake

	// Provider makes a new client of the provider. It does not really wait:
	// Waited is how long all of them would have.
	Provider func() hosting.Provider
	Waited   func() time.Duration

	// Credential makes one that reaches the project and may do everything there.
	// Revoke ends it. Stranger's reaches other projects only.
	Credential func() hosting.Credential
	Revoke     func(hosting.Credential)
	Stranger   func() hosting.Credential

	Project string // id
	Service string // id, or ""
	Here    string // name of the environment that is synced
	There   string // name of another environment of the same project

	// AddProjects adds this many projects that the credential reaches.
	AddProjects func(n int)

	// Put is somebody else's setting of a plain variable in one environment, and
	// Remove their taking it away.
	Put    func(environment, key, value string)
	Remove func(environment, key string)

	// Held is what really takes effect in an environment, unreadable values
	// included, of what users set there.
	Held func(environment string) map[string]string

	// Share makes one record that takes effect in both environments. Nil is a
	// provider without such.
	Share func(key, value string)

	// Hide makes a variable in Here whose value is never given back. Nil is a
	// provider where that cannot be asked for, or where all are so. Hidden reports
	// whether a variable in Here is such a one.
	Hide   func(key, value string)
	Hidden func(key string) bool

	// Foreign makes a variable in Here of each origin but the user's that the
	// provider knows, and says which has which key.
	Foreign func() map[string]hosting.Origin

	// Refused is a key that the provider's server itself turns down, though it is
	// none of the reserved ones, and the code that it is reported with. "" is a
	// provider that turns nothing down by its name.
	Refused     string
	RefusedCode hosting.Code

	// Writing reports whether a request changes variables.
	Writing func(standin.Call) bool

	// Limits are all ways in which the provider says that it was asked too often,
	// each asking for a wait of three seconds where it can name one.
	Limits map[string]standin.Fault

	// Fewest is the fewest writing calls with which the provider's API can have
	// this many variables created, and changed, and deleted, in one target.
	Fewest func(n int) (create, change, remove int)

	// RefusesEmpty says that the provider takes no empty value.
	RefusesEmpty bool

	// OAuth is nil for a provider that nobody can authorize at.
	OAuth *OAuth

	mu      sync.Mutex
	values  []string // that no address, header or error may hold
	tokens  []string // the same, but for the header that is there for them
	wrong   problems // what no answer may be like, whatever a rule looks for
	counter int
}

// OAuth is how users authorize at a provider.
type OAuth struct {
	// Authorize plays a user who agrees in the browser: it is given the address
	// that the browser is sent to, and answers the query that comes back.
	Authorize func(address string) map[string][]string

	Secret    string // of our application; in no address
	PKCE      bool
	Refreshes bool // grants end, and are renewed
	Rotates   bool // a refresh token works once, and using it again ends the grant

	// Expire ends an access token, and Revoke all of a grant, at the provider.
	Expire func(hosting.Grant)
	Revoke func(hosting.Grant)
}

// Rule is something that holds at every provider.
type Rule struct {
	Name  string
	Needs func(*Host) bool // nil: nothing
	Check func(context.Context, *Host) error
}

// Rules are all of them.
func Rules() []Rule {
	return slices.Concat(findRules, listRules, writeRules, deleteRules, outcomeRules, limitRules, faultRules, lostRules, credentialRules, callRules, oauthRules)
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
	return standin.Suite[*Host]{Rules: all, Alone: alone, Time: 5 * time.Minute, Always: (*Host).kept}
}

// kept is what must hold whatever is asked.
func (h *Host) kept() error { return errors.Join(h.leaks(), h.complaints()) }

// Wrap changes every client that the host makes, to break a rule on purpose.
func (h *Host) Wrap(around func(hosting.Provider) hosting.Provider) *Host {
	inner := h.Provider
	h.Provider = func() hosting.Provider { return around(inner()) }
	return h
}

// problems collects what does not hold.
type problems []error

func (p *problems) add(format string, args ...any) { *p = append(*p, fmt.Errorf(format, args...)) }

func (p problems) err() error { return errors.Join(p...) }

func because(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

var errNone = errors.New("none")

func orNone(err error) error {
	if err == nil {
		return errNone
	}
	return err
}
