// Package forge asks the code host: who somebody is, which repositories and
// organizations there are, and who may do what on them.
//
// An instance is bound to one code host; local is built in. Adapters know their
// host's API and nothing of vaults. They never guess: what cannot be learned is
// an error, never a role. Names are labels that change hands; identity is the
// immutable id, and every answer is held against it.
//
// The host is asked either with a user's own access token or with the service
// credential that the operator configured. Which of them is the caller's choice;
// see [Asker].
package forge

import "context"

// Role is what a user may do on a repository, in the words of the wire. None is
// no role at all.
type Role string

// The roles, each holding all before it.
const (
	None     Role = ""
	Read     Role = "read"
	Triage   Role = "triage"
	Write    Role = "write"
	Maintain Role = "maintain"
	Admin    Role = "admin"
)

// OwnerKind tells people from organizations.
type OwnerKind string

// The kinds of owners.
const (
	OwnerUser OwnerKind = "user"
	OwnerOrg  OwnerKind = "org"
)

// User is an account at the code host.
type User struct {
	ID        string // immutable
	Login     string
	Email     string
	AvatarURL string
	Bot       bool
}

// Repository is a repository at the code host.
type Repository struct {
	ID        string // immutable
	Owner     string // names, in the host's spelling
	Name      string
	OwnerKind OwnerKind
	OwnerID   string // immutable
	AvatarURL string
	Public    bool // readable by strangers; internal counts as private
}

// FullName is "owner/name".
func (r Repository) FullName() string { return r.Owner + "/" + r.Name }

// Organization is an organization at the code host.
type Organization struct {
	ID          string // immutable
	Login       string
	DisplayName string
	AvatarURL   string
}

// What a user is to an organization.
const (
	OrgOwner  = "owner"
	OrgMember = "member"
)

// Membership is an organization together with what a user is to it.
type Membership struct {
	Organization Organization
	Standing     string // OrgOwner or OrgMember
}

// Member is an account together with what it is to an organization.
type Member struct {
	User     User
	Standing string // OrgOwner or OrgMember
}

// Collaborator is an account with an explicit role on a repository.
type Collaborator struct {
	User User
	Role Role
	URL  string // of the account's page, or ""
}

// Reachable is a repository together with the role that a user has on it, None
// included.
type Reachable struct {
	Repository Repository
	Role       Role
}

// Asker is on whose behalf, and with which credential, a question is asked.
type Asker struct {
	// User is whom the question is about. Its ID counts; the Login is the name
	// last seen, for hosts that know people by name only.
	User User

	// Token is an access token of that user. Empty, the question is asked with
	// the service credential, and answered with ErrNoCredential if there is none
	// or if it does not reach what is asked about.
	Token string
}

// Forge is one code host. Methods may be called by many goroutines at once,
// honour ctx, and answer fresh: caching is the caller's. What is asked about is
// named by a record whose ID counts; its names are those last seen, and may be
// out of date. Answers carry the names of today.
type Forge interface {
	// Kind is the host's kind: local, github, gitea or gitlab.
	Kind() string

	// Bearer is the user that a token belongs to which a request brought along.
	// It refuses, with ErrToken, what the host does not know, tokens that are
	// not a person's, those of accounts that may not sign in, and those that
	// were made for another application.
	Bearer(ctx context.Context, token string) (User, error)

	// Repository finds a repository by its name, in any case. Old names lead to
	// where the host leads them. What the asker may not see is ErrNotFound.
	Repository(ctx context.Context, as Asker, owner, name string) (Repository, error)

	// RepositoryByID finds a repository by its ID. What the asker may not see is
	// ErrNotFound; ErrGone is only said when no such repository exists any more.
	RepositoryByID(ctx context.Context, as Asker, repo Repository) (Repository, error)

	// Role is the asker's explicit role on a repository: on a public one, reading
	// like every stranger is no role. No role is None and no error.
	Role(ctx context.Context, as Asker, repo Repository) (Reachable, error)

	// Repositories lists all repositories on which the asker has an explicit
	// role. Where the service credential cannot list for somebody else, that is
	// ErrNoCredential.
	Repositories(ctx context.Context, as Asker) ([]Reachable, error)

	// Collaborators lists all who have an explicit role on a repository.
	Collaborators(ctx context.Context, as Asker, repo Repository) ([]Collaborator, error)

	// Organization finds an organization by its name, in any case.
	Organization(ctx context.Context, as Asker, login string) (Organization, error)

	// Standing is what the asker is to an organization: OrgOwner, OrgMember or
	// "" for neither.
	Standing(ctx context.Context, as Asker, org Organization) (string, error)

	// Organizations lists the organizations that the asker is a member of.
	Organizations(ctx context.Context, as Asker) ([]Membership, error)

	// Members lists all members of an organization: everybody or an error. An
	// asker who may not see all of them gets ErrNoCredential or a *Missing.
	Members(ctx context.Context, as Asker, org Organization) ([]Member, error)
}

// Overlooker is a forge whose lists of repositories leave some out.
type Overlooker interface {
	// Overlooks reports whether Repositories may leave a repository out on which
	// the asker has a role. Whoever needs to know asks for that role.
	Overlooks(repo Repository) bool
}

// Registrar is a forge that can register a repository: only the built-in one.
type Registrar interface {
	// Register makes owner/name a private repository if the user may make one
	// there: in the user's own namespace, or in an organization the user owns.
	// Otherwise it answers ErrRefused, and ErrNotFound for an unknown namespace.
	Register(ctx context.Context, userID, owner, name string) (Repository, error)
}
