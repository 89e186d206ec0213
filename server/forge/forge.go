// Package forge asks the code host: who exists there, which repositories, and
// who may do what on them.
//
// An instance is bound to one code host; local is built in. Adapters know their
// host's API and nothing of vaults. They never guess: what cannot be learned is
// an error, never a role. Names are labels that change hands; identity is the
// immutable id.
package forge

import (
	"context"
	"errors"
)

// ErrNotFound means that the host says definitively that there is no such
// thing, or that the one asking may not know of it.
var ErrNotFound = errors.New("not found at the code host")

// ErrRefused means that the host does not let the user do this.
var ErrRefused = errors.New("refused by the code host")

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
	ID    string // immutable
	Login string
}

// What a user is to an organization.
const (
	OrgOwner  = "owner"
	OrgMember = "member"
)

// Collaborator is an account with an explicit role on a repository.
type Collaborator struct {
	User User
	Role Role
	URL  string // of the account's page, or ""
}

// Reachable is a repository together with the role that a user has on it.
type Reachable struct {
	Repository Repository
	Role       Role
}

// Forge is one code host. Methods may be called by many goroutines at once,
// honour ctx, and answer fresh: caching is the caller's.
type Forge interface {
	// Kind is the host's kind: local, github, gitea or gitlab.
	Kind() string

	// Repository finds a repository by its name, in any case, whoever asks.
	Repository(ctx context.Context, owner, name string) (Repository, error)

	// Role is the user's explicit role on a repository, by the ids of both: on a
	// public repository, reading like every stranger is no role.
	Role(ctx context.Context, userID, repoID string) (Role, error)

	// Organization finds an organization by its name, in any case, whoever asks.
	Organization(ctx context.Context, login string) (Organization, error)

	// Standing is what the user is to an organization, by the ids of both:
	// OrgOwner, OrgMember or "".
	Standing(ctx context.Context, userID, orgID string) (string, error)

	// Collaborators lists all who have an explicit role on a repository.
	Collaborators(ctx context.Context, repoID string) ([]Collaborator, error)

	// Repositories lists all repositories on which the user has an explicit role.
	Repositories(ctx context.Context, userID string) ([]Reachable, error)
}

// Registrar is a forge that can register a repository: only the built-in one.
type Registrar interface {
	// Register makes owner/name a private repository if the user may make one
	// there: in the user's own namespace, or in an organization the user owns.
	// Otherwise it answers ErrRefused, and ErrNotFound for an unknown namespace.
	Register(ctx context.Context, userID, owner, name string) (Repository, error)
}
