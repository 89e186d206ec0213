package forge

import (
	"context"
	"errors"
)

type giteaRepo struct {
	ID          int64
	Name        string
	Private     bool
	Internal    bool
	AvatarURL   string `json:"avatar_url"`
	Owner       giteaUser
	Permissions struct{ Admin, Push, Pull bool }
}

func (r giteaRepo) whole() bool { return r.ID != 0 && r.Name != "" && r.Owner.whole() }

// open reports whether people without any right on it can read a repository.
func (r giteaRepo) open() bool { return !r.Private }

// role is what the booleans say. On an open repository read is everybody's.
func (r giteaRepo) role() Role {
	switch p := r.Permissions; {
	case p.Admin:
		return Admin
	case p.Push:
		return Write
	case p.Pull:
		return Read
	}
	return None
}

func (r giteaRepo) path() string { return "/repos/" + segment(r.Owner.Login) + "/" + segment(r.Name) }

// Repository finds a repository by its name.
func (g *Gitea) Repository(ctx context.Context, as Asker, owner, name string) (Repository, error) {
	v, err := g.looker(ctx, as)
	if err != nil {
		return Repository{}, err
	}
	raw, err := g.repoNamed(ctx, v, owner, name)
	if err != nil {
		return Repository{}, err
	}
	return g.repository(ctx, v, raw)
}

// RepositoryByID finds a repository by its id. Only the service credential can
// tell what is gone from what the user may not see.
func (g *Gitea) RepositoryByID(ctx context.Context, as Asker, repo Repository) (Repository, error) {
	v, err := g.looker(ctx, as)
	if err != nil {
		return Repository{}, err
	}
	raw, err := g.repo(ctx, v, repo.ID)
	if errors.Is(err, ErrNotFound) && v.service {
		if _, err := g.hidden(ctx, repo.ID); err != nil {
			return Repository{}, err
		}
	}
	if err != nil {
		return Repository{}, err
	}
	return g.repository(ctx, v, raw)
}

// hidden is a repository as the administrator sees it.
func (g *Gitea) hidden(ctx context.Context, id string) (Repository, error) {
	v, err := g.admin()
	if err != nil {
		return Repository{}, err
	}
	raw, err := g.repo(ctx, v, id)
	if errors.Is(err, ErrNotFound) {
		return Repository{}, ErrGone
	}
	if err != nil {
		return Repository{}, err
	}
	return g.repository(ctx, v, raw)
}

func (g *Gitea) repoNamed(ctx context.Context, v voice, owner, name string) (raw giteaRepo, err error) {
	_, err = g.get(ctx, v, giteaRepo{Name: name, Owner: giteaUser{Login: owner}}.path(), nil, &raw)
	return raw, err
}

// repo asks for a repository twice, and believes only what both answers say. By
// its id the host says what it is called today, and hides what single units of a
// private repository show to everybody. By that name it heeds what the id is
// given out without: a token for public repositories only, a second factor that
// the user lacks.
func (g *Gitea) repo(ctx context.Context, v voice, id string) (giteaRepo, error) {
	if _, err := giteaID(id); err != nil {
		return giteaRepo{}, err
	}
	var raw giteaRepo
	if _, err := g.get(ctx, v, "/repositories/"+segment(id), nil, &raw); err != nil {
		return giteaRepo{}, err
	}
	named, err := g.repoNamed(ctx, v, raw.Owner.Login, raw.Name)
	if err != nil {
		return giteaRepo{}, err
	}
	if format64(raw.ID) != id || named.ID != raw.ID {
		return giteaRepo{}, errMoved
	}
	p, q := raw.Permissions, &named.Permissions
	q.Admin, q.Push, q.Pull = q.Admin && p.Admin, q.Push && p.Push, q.Pull && p.Pull
	return named, nil
}

func (g *Gitea) repository(ctx context.Context, v voice, raw giteaRepo) (Repository, error) {
	kind, err := g.ownerKind(ctx, v, raw.Owner)
	if err != nil {
		return Repository{}, err
	}
	return Repository{
		ID: format64(raw.ID), Owner: raw.Owner.Login, Name: raw.Name,
		OwnerKind: kind, OwnerID: format64(raw.Owner.ID), AvatarURL: raw.AvatarURL,
		Public: !raw.Private && !raw.Internal && raw.Owner.Visibility == "public",
	}, nil
}

// ownerKind tells people from organizations, which the host does not say with a
// repository. An owner who is found as neither is hidden from who asks, and
// taken for an organization: few people hide, and plans ask more of these.
func (g *Gitea) ownerKind(ctx context.Context, v voice, owner giteaUser) (OwnerKind, error) {
	id := format64(owner.ID)
	g.mu.Lock()
	kind, known := g.kinds[id]
	g.mu.Unlock()
	if known {
		return kind, nil
	}
	org, err := g.orgNamed(ctx, v, owner.Login)
	switch {
	case err == nil && org.ID != owner.ID:
		return "", errMoved
	case err == nil:
		kind = OwnerOrg
	case errors.Is(err, ErrNotFound):
		if _, err := g.userByID(ctx, v, id); errors.Is(err, ErrNotFound) {
			return OwnerOrg, nil
		} else if err != nil {
			return "", err
		}
		kind = OwnerUser
	default:
		return "", err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.kinds[id] = kind
	return kind, nil
}

// Role is the asker's explicit role on a repository. A site administrator is
// admin of everything.
func (g *Gitea) Role(ctx context.Context, as Asker, repo Repository) (Reachable, error) {
	v, err := g.voice(ctx, as)
	if err != nil {
		return g.noRole(ctx, v, repo, err)
	}
	raw, err := g.repo(ctx, v, repo.ID)
	if err != nil {
		return g.noRole(ctx, v, repo, err)
	}
	role := raw.role()
	if role == Read && raw.open() {
		explicit, err := g.explicit(ctx, v, as, raw)
		if err != nil {
			return Reachable{}, err
		}
		if !explicit {
			role = None
		}
	}
	found, err := g.repository(ctx, v, raw)
	if err != nil {
		return Reachable{}, err
	}
	return Reachable{found, role}, nil
}

// noRole is for what a user does not find: whether it is there at all, only the
// administrator sees.
func (g *Gitea) noRole(ctx context.Context, v voice, repo Repository, err error) (Reachable, error) {
	if !v.service || !errors.Is(err, ErrNotFound) {
		return Reachable{}, err
	}
	found, err := g.hidden(ctx, repo.ID)
	return Reachable{Repository: found}, err
}

// explicit reports whether somebody who reads an open repository is named there:
// as a collaborator, or as a member of the organization that owns it.
func (g *Gitea) explicit(ctx context.Context, v voice, as Asker, raw giteaRepo) (bool, error) {
	login, err := g.loginOf(ctx, v, as)
	if err != nil {
		return false, err
	}
	named, err := g.found(ctx, v, raw.path()+"/collaborators/"+segment(login))
	if named || err != nil {
		return named, err
	}
	kind, err := g.ownerKind(ctx, v, raw.Owner)
	if err != nil || kind != OwnerOrg {
		return false, err
	}
	return g.found(ctx, v, "/orgs/"+segment(raw.Owner.Login)+"/members/"+segment(login))
}

// loginOf is what the asker is called today. The token must be theirs.
func (g *Gitea) loginOf(ctx context.Context, v voice, as Asker) (string, error) {
	if v.login != "" {
		return v.login, nil
	}
	u, err := g.self(ctx, v)
	if err == nil && format64(u.ID) != as.User.ID {
		err = &ForeignToken{Why: "it belongs to somebody else"}
	}
	return u.Login, err
}

// Overlooks is true of public repositories: the host has no list of those on which
// somebody is a collaborator with read only.
func (g *Gitea) Overlooks(repo Repository) bool { return repo.Public }

// Repositories lists what the asker owns, has a team's or a collaborator's role
// on, or reads as a member of an organization; see Overlooks for the rest.
func (g *Gitea) Repositories(ctx context.Context, as Asker) ([]Reachable, error) {
	v, err := g.voice(ctx, as)
	if errors.Is(err, ErrNotFound) {
		return []Reachable{}, nil
	}
	if err != nil {
		return nil, err
	}
	raws, err := giteaList[giteaRepo](ctx, g, v, "/user/repos")
	if err != nil {
		return nil, err
	}
	orgs, err := giteaList[giteaOrg](ctx, g, v, "/user/orgs")
	if err != nil {
		return nil, err
	}
	for _, org := range orgs {
		more, err := giteaList[giteaRepo](ctx, g, v, "/orgs/"+segment(org.Name)+"/repos")
		if err != nil && !errors.Is(err, ErrNotFound) { // an organization may be closed to a token
			return nil, err
		}
		raws = append(raws, more...)
	}
	return g.reachable(ctx, v, raws)
}

func (g *Gitea) reachable(ctx context.Context, v voice, raws []giteaRepo) ([]Reachable, error) {
	shut, err := g.shut(ctx, v, raws)
	if err != nil {
		return nil, err
	}
	all := []Reachable{}
	seen := map[int64]bool{}
	for _, raw := range raws {
		if seen[raw.ID] || raw.role() == None || shut && raw.Private {
			continue
		}
		seen[raw.ID] = true
		repo, err := g.repository(ctx, v, raw)
		if err != nil {
			return nil, err
		}
		all = append(all, Reachable{repo, raw.role()})
	}
	return all, nil
}

// shut reports whether private repositories are closed to a token, although the
// lists hold them.
func (g *Gitea) shut(ctx context.Context, v voice, raws []giteaRepo) (bool, error) {
	for _, raw := range raws {
		if !raw.Private {
			continue
		}
		_, err := g.repoNamed(ctx, v, raw.Owner.Login, raw.Name)
		if errors.Is(err, ErrNotFound) {
			return true, nil
		}
		return false, err
	}
	return false, nil
}
