// Package hosting asks hosting providers: whose a token is, which projects there
// are, which variables a project's environment holds; and it writes and deletes
// variables there.
//
// An adapter is one file for one provider: a thin client over the shared HTTP
// layer that knows the provider's API and nothing of vaults. It takes and gives
// single variables as seen from one target, so that nobody above it knows of
// records, contexts or collections. It never touches what a target shares with
// others but to take the target out of it, and it never replaces a collection.
//
// What providers answer never gets out as text: their messages may hold a value.
package hosting

import (
	"cmp"
	"context"
	"time"

	"coffer/server/api"
)

// Description is what holds for a provider whoever asks.
type Description struct {
	Name    string // as in addresses: "vercel"
	Display string // for people: "Vercel"

	// Environments says which of the provider's environments one of ours goes to
	// when nobody says otherwise. Synonyms are other names that users may give to
	// an environment of the provider's.
	Environments map[string]string
	Synonyms     map[string]string

	// ReservedPrefixes begin keys that belong to the provider. ValidKey reports
	// whether a key can be written there; nil allows all of ours.
	ReservedPrefixes []string
	ValidKey         func(key string) bool

	MaxValue  int    // bytes of one value; 0 is no limit
	MaxKeys   int    // variables of one target; 0 is no limit
	Reference string // what makes a value a reference to others: "${{"; "" is no such thing

	WriteOnly bool // no value is ever given back
	NeedsTeam bool // a target's team is part of its address
	OAuth     bool // an application to authorize through is configured
	PKCE      bool // and it takes a code challenge

	Next string // what variables take effect with; "" is the next deployment
}

// Effect is a sentence that says when written variables take effect.
func (d Description) Effect() string {
	return "Takes effect with the next " + cmp.Or(d.Next, "deployment") + "."
}

// Credential is what a provider is asked with. It belongs to whoever keeps it.
type Credential struct {
	Token api.Secret
	Team  string // id; "" is the personal account
	Kind  string // as [Account] said
}

// Account is whose a token is.
type Account struct {
	UserID   string // immutable; "" where a token is nobody's
	UserName string
	TeamID   string // "" is the personal account
	TeamName string
	Kind     string // the adapter's word for the kind of token; to be kept beside it
}

// Project is something that variables can be written to. A provider whose
// projects have services lists one for each service, and one without a service
// for what they share.
type Project struct {
	ID          string
	Name        string
	Service     string // id, or ""
	ServiceName string
	Team        string // id of the team that it belongs to, or ""
	TeamName    string
	Repository  string // "owner/name" of the repository that it is built from, or ""
	Framework   string
	Created     time.Time // zero when the provider does not say

	Environments []Environment
}

// Environment is one of a project's environments.
type Environment struct {
	ID   string // the provider's own; for the adapter
	Name string // as users name it
}

// Target is where variables are: one environment of one project.
type Target struct {
	Project     Project // as the provider's Find answered
	Environment Environment
}

// Origin is who made a variable.
type Origin string

// Origins. Only what users made is written over or deleted.
const (
	FromUser        Origin = "user"
	FromSystem      Origin = "system"
	FromIntegration Origin = "integration"
	FromReference   Origin = "reference" // its value names other variables
	FromAbove       Origin = "inherited" // from the team, or another place that the target only reads
)

// Variable is a key as seen from a target: the value that takes effect there.
type Variable struct {
	Key      string
	Value    api.Secret // the empty value unless Readable
	Readable bool
	Origin   Origin

	// Shared means that other targets have it from the same record. Writing or
	// deleting it leaves theirs as they are.
	Shared bool

	// Mark changes whenever somebody writes the variable at the provider. "" says
	// that the provider does not tell.
	Mark string

	native any // the adapter's own records of it
}

// Write is a variable to be created or changed.
type Write struct {
	Key   string
	Value api.Secret
	Was   *Variable // as List answered; nil creates
}

// Outcome is what became of one variable.
type Outcome struct {
	Key  string
	Mark string // of the variable as written, "" when the provider did not say
	Err  error  // nil when it was done; else a *Failure
}

// Provider is one hosting provider. Methods may be called by many goroutines at
// once, honour ctx, and wait and try again where the provider asks for it, as far
// as ctx allows. Errors are those of this package.
type Provider interface {
	Describe() Description

	// Check says whose a token is. With a team, the token must reach it.
	Check(ctx context.Context, c Credential) (Account, error)

	// Projects lists all projects that the credential reaches: all or an error.
	Projects(ctx context.Context, c Credential) ([]Project, error)

	// Find is a project, or the service in it unless service is "".
	Find(ctx context.Context, c Credential, project, service string) (Project, error)

	// List lists all variables that take effect in a target: all or an error.
	List(ctx context.Context, c Credential, t Target) ([]Variable, error)

	// Write writes variables, and tells done of each as soon as it is known what
	// became of it, from one goroutine. An error of done's, or one after which
	// nothing more can be written, ends it: what done was not told of may or may
	// not have been written.
	Write(ctx context.Context, c Credential, t Target, all []Write, done func(Outcome) error) error

	// Delete deletes variables, each as List answered it, and tells done as Write
	// does. What is gone already counts as deleted.
	Delete(ctx context.Context, c Credential, t Target, all []Variable, done func(Outcome) error) error
}

// Grant is what a user let us have.
type Grant struct {
	Access  api.Secret
	Refresh api.Secret // empty where there is none
	Expires time.Time  // of Access; zero when it does not end
	Team    string     // id that the grant is limited to, or ""
}

// Authorizer is a provider that users can authorize coffer at, in the browser.
type Authorizer interface {
	Provider

	// AuthorizeURL is where the browser goes. The challenge is of PKCE (S256).
	AuthorizeURL(state, challenge string) string

	// Exchange redeems what the browser came back with, once.
	Exchange(ctx context.Context, callback map[string][]string, verifier string) (Grant, error)

	// Refresh renews a grant. The old refresh token may be dead afterwards. It
	// answers ErrCredential only when the grant is over for good.
	Refresh(ctx context.Context, refresh api.Secret) (Grant, error)
}
