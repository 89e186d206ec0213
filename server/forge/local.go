package forge

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
)

// Directory is where the built-in code host keeps its accounts and
// repositories. Ids are numbers that are never given out twice. A missing
// record is ErrNotFound; a missing grant or membership is "".
type Directory interface {
	Read(ctx context.Context, fn func(Records) error) error
	AddRepo(ctx context.Context, owner Namespace, name string) (LocalRepo, error)
}

// Records is one consistent look into a Directory.
type Records interface {
	Namespace(name string) (Namespace, error) // by name, in any case
	Owner(kind OwnerKind, id uint64) (Namespace, error)
	Repo(id uint64) (LocalRepo, error)
	RepoNamed(owner Namespace, name string) (LocalRepo, error)
	ReposOf(owner Namespace) ([]LocalRepo, error)

	Grant(repo, user uint64) (Role, error)
	Grants(repo uint64) (map[uint64]Role, error)
	GrantedTo(user uint64) ([]uint64, error)

	Membership(org, user uint64) (string, error) // "owner", "member" or ""
	Members(org uint64) (map[uint64]string, error)
	OrgsOf(user uint64) ([]uint64, error)
}

// Namespace is a user or an organization of the built-in code host.
type Namespace struct {
	Kind OwnerKind
	ID   uint64
	Name string
}

// LocalRepo is a repository of the built-in code host.
type LocalRepo struct {
	ID     uint64
	Owner  Namespace
	Name   string
	Public bool
}

// Local is the built-in code host. A user is admin of what lies in their own
// namespace, an organization's owner of what the organization has; everybody
// else has the role they were given. Members of an organization read its public
// repositories.
type Local struct{ dir Directory }

// NewLocal makes the built-in code host over its directory.
func NewLocal(dir Directory) *Local { return &Local{dir} }

// Kind is "local".
func (l *Local) Kind() string { return KindLocal }

// Bearer knows no token: the built-in code host gives none out.
func (l *Local) Bearer(context.Context, string) (User, error) { return User{}, ErrToken }

// Repository finds a registered repository by name.
func (l *Local) Repository(ctx context.Context, _ Asker, owner, name string) (found Repository, err error) {
	err = l.dir.Read(ctx, func(r Records) error {
		ns, err := r.Namespace(owner)
		if err != nil {
			return err
		}
		repo, err := r.RepoNamed(ns, name)
		found = repo.repository()
		return err
	})
	return found, err
}

// RepositoryByID finds a registered repository by its id.
func (l *Local) RepositoryByID(ctx context.Context, _ Asker, repo Repository) (found Repository, err error) {
	_, id, err := parseIDs("0", repo.ID)
	if err != nil {
		return Repository{}, err
	}
	err = l.dir.Read(ctx, func(r Records) error {
		there, err := gone(r.Repo(id))
		found = there.repository()
		return err
	})
	return found, err
}

// gone is for what was asked by its id: ids are ours, and never given out twice.
func gone(repo LocalRepo, err error) (LocalRepo, error) {
	if errors.Is(err, ErrNotFound) {
		err = ErrGone
	}
	return repo, err
}

// Role is the asker's role on a repository.
func (l *Local) Role(ctx context.Context, as Asker, repo Repository) (found Reachable, err error) {
	user, id, err := parseIDs(as.User.ID, repo.ID)
	if err != nil {
		return Reachable{}, err
	}
	err = l.dir.Read(ctx, func(r Records) error {
		there, err := gone(r.Repo(id))
		if err != nil {
			return err
		}
		found.Repository = there.repository()
		found.Role, err = roleOn(r, there, user)
		return err
	})
	return found, err
}

func roleOn(r Records, repo LocalRepo, user uint64) (Role, error) {
	if repo.Owner.Kind == OwnerUser && repo.Owner.ID == user {
		return Admin, nil
	}
	member := ""
	if repo.Owner.Kind == OwnerOrg {
		var err error
		if member, err = r.Membership(repo.Owner.ID, user); err != nil {
			return None, err
		}
	}
	if member == OrgOwner {
		return Admin, nil
	}
	role, err := r.Grant(repo.ID, user)
	if err == nil && role == None && member == OrgMember && repo.Public {
		role = Read
	}
	return role, err
}

// Organization finds an organization by name.
func (l *Local) Organization(ctx context.Context, _ Asker, login string) (found Organization, err error) {
	err = l.dir.Read(ctx, func(r Records) error {
		ns, err := r.Namespace(login)
		if err == nil && ns.Kind != OwnerOrg {
			err = ErrNotFound
		}
		found = Organization{ID: format(ns.ID), Login: ns.Name}
		return err
	})
	return found, err
}

// Standing is what the asker is to an organization.
func (l *Local) Standing(ctx context.Context, as Asker, org Organization) (standing string, err error) {
	user, id, err := parseIDs(as.User.ID, org.ID)
	if err != nil {
		return "", err
	}
	err = l.dir.Read(ctx, func(r Records) error {
		standing, err = r.Membership(id, user)
		return err
	})
	return standing, err
}

// Organizations lists the organizations that the asker belongs to, by login.
func (l *Local) Organizations(ctx context.Context, as Asker) (all []Membership, err error) {
	user, _, err := parseIDs(as.User.ID, "0")
	if err != nil {
		return nil, err
	}
	err = l.dir.Read(ctx, func(r Records) error {
		ids, err := r.OrgsOf(user)
		if err != nil {
			return err
		}
		all = make([]Membership, 0, len(ids))
		for _, id := range ids {
			org, err := r.Owner(OwnerOrg, id)
			if err != nil {
				return err
			}
			standing, err := r.Membership(id, user)
			if err != nil {
				return err
			}
			all = append(all, Membership{Organization{ID: format(id), Login: org.Name}, standing})
		}
		return nil
	})
	slices.SortFunc(all, func(a, b Membership) int { return cmp.Compare(a.Organization.Login, b.Organization.Login) })
	return all, err
}

// Members lists all members of an organization, by login.
func (l *Local) Members(ctx context.Context, _ Asker, org Organization) (all []Member, err error) {
	_, id, err := parseIDs("0", org.ID)
	if err != nil {
		return nil, err
	}
	err = l.dir.Read(ctx, func(r Records) error {
		if _, err := r.Owner(OwnerOrg, id); err != nil {
			return err
		}
		members, err := r.Members(id)
		if err != nil {
			return err
		}
		all = make([]Member, 0, len(members))
		for user, standing := range members {
			account, err := r.Owner(OwnerUser, user)
			if err != nil {
				return err
			}
			all = append(all, Member{User{ID: format(user), Login: account.Name}, standing})
		}
		return nil
	})
	slices.SortFunc(all, func(a, b Member) int { return cmp.Compare(a.User.Login, b.User.Login) })
	return all, err
}

// Collaborators lists the owner or owners of a repository and everybody with a
// grant on it, by login.
func (l *Local) Collaborators(ctx context.Context, _ Asker, of Repository) (all []Collaborator, err error) {
	_, id, err := parseIDs("0", of.ID)
	if err != nil {
		return nil, err
	}
	err = l.dir.Read(ctx, func(r Records) error {
		repo, err := gone(r.Repo(id))
		if err != nil {
			return err
		}
		all, err = collaborators(r, repo)
		return err
	})
	slices.SortFunc(all, func(a, b Collaborator) int { return cmp.Compare(a.User.Login, b.User.Login) })
	return all, err
}

func collaborators(r Records, repo LocalRepo) ([]Collaborator, error) {
	people, err := r.Grants(repo.ID)
	if err != nil {
		return nil, err
	}
	switch repo.Owner.Kind {
	case OwnerUser:
		people[repo.Owner.ID] = Admin
	case OwnerOrg:
		members, err := r.Members(repo.Owner.ID)
		if err != nil {
			return nil, err
		}
		for id := range members {
			if people[id], err = roleOn(r, repo, id); err != nil {
				return nil, err
			}
		}
	}
	var all []Collaborator
	for id, role := range people {
		if role == None {
			continue
		}
		user, err := r.Owner(OwnerUser, id)
		if err != nil {
			return nil, err
		}
		all = append(all, Collaborator{User: User{ID: format(id), Login: user.Name}, Role: role})
	}
	return all, nil
}

// Repositories lists the repositories that the asker owns, alone or as an
// organization's owner, is a member of, or was given a role on.
func (l *Local) Repositories(ctx context.Context, as Asker) (all []Reachable, err error) {
	user, _, err := parseIDs(as.User.ID, "0")
	if err != nil {
		return nil, err
	}
	err = l.dir.Read(ctx, func(r Records) error {
		candidates, err := candidates(r, user)
		if err != nil {
			return err
		}
		all = all[:0]
		seen := make(map[uint64]bool, len(candidates))
		for _, repo := range candidates {
			if seen[repo.ID] {
				continue
			}
			seen[repo.ID] = true
			role, err := roleOn(r, repo, user)
			if err != nil {
				return err
			}
			if role != None {
				all = append(all, Reachable{repo.repository(), role})
			}
		}
		return nil
	})
	return all, err
}

func candidates(r Records, user uint64) ([]LocalRepo, error) {
	orgs, err := r.OrgsOf(user)
	if err != nil {
		return nil, err
	}
	owners := make([]Namespace, 0, len(orgs)+1)
	own, err := r.Owner(OwnerUser, user)
	if err != nil {
		return nil, err
	}
	owners = append(owners, own)
	for _, id := range orgs {
		org, err := r.Owner(OwnerOrg, id)
		if err != nil {
			return nil, err
		}
		owners = append(owners, org)
	}
	var all []LocalRepo
	for _, ns := range owners {
		repos, err := r.ReposOf(ns)
		if err != nil {
			return nil, err
		}
		all = append(all, repos...)
	}
	granted, err := r.GrantedTo(user)
	if err != nil {
		return nil, err
	}
	for _, id := range granted {
		repo, err := r.Repo(id)
		if err != nil {
			return nil, err
		}
		all = append(all, repo)
	}
	return all, nil
}

// Register makes owner/name a private repository.
func (l *Local) Register(ctx context.Context, userID, owner, name string) (Repository, error) {
	user, _, err := parseIDs(userID, "0")
	if err != nil {
		return Repository{}, err
	}
	var ns Namespace
	err = l.dir.Read(ctx, func(r Records) error {
		if ns, err = r.Namespace(owner); err != nil {
			return err
		}
		owns := ns.Kind == OwnerUser && ns.ID == user
		if ns.Kind == OwnerOrg {
			member, err := r.Membership(ns.ID, user)
			if err != nil {
				return err
			}
			owns = member == OrgOwner
		}
		if !owns {
			return ErrRefused
		}
		return nil
	})
	if err != nil {
		return Repository{}, err
	}
	repo, err := l.dir.AddRepo(ctx, ns, name)
	return repo.repository(), err
}

func (r LocalRepo) repository() Repository {
	return Repository{
		ID: format(r.ID), Owner: r.Owner.Name, Name: r.Name,
		OwnerKind: r.Owner.Kind, OwnerID: format(r.Owner.ID), Public: r.Public,
	}
}

func format(id uint64) string { return strconv.FormatUint(id, 10) }

// parseIDs reads two ids of ours. An id that we never made names nothing.
func parseIDs(a, b string) (uint64, uint64, error) {
	x, errX := strconv.ParseUint(a, 10, 64)
	y, errY := strconv.ParseUint(b, 10, 64)
	if errors.Join(errX, errY) != nil {
		return 0, 0, ErrNotFound
	}
	return x, y, nil
}
