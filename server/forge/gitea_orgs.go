package forge

import (
	"context"
	"errors"
	"fmt"
)

type giteaOrg struct {
	ID        int64
	Name      string
	FullName  string `json:"full_name"`
	AvatarURL string `json:"avatar_url"`
}

func (o giteaOrg) whole() bool { return o.ID != 0 && o.Name != "" }

func (o giteaOrg) organization() Organization {
	return Organization{ID: format64(o.ID), Login: o.Name, DisplayName: o.FullName, AvatarURL: o.AvatarURL}
}

// Organization finds an organization by its name.
func (g *Gitea) Organization(ctx context.Context, as Asker, login string) (Organization, error) {
	v, err := g.looker(ctx, as)
	if err != nil {
		return Organization{}, err
	}
	org, err := g.orgNamed(ctx, v, login)
	if err != nil {
		return Organization{}, err
	}
	return org.organization(), nil
}

func (g *Gitea) orgNamed(ctx context.Context, v voice, login string) (org giteaOrg, err error) {
	_, err = g.get(ctx, v, "/orgs/"+segment(login), nil, &org)
	return org, err
}

// Standing is what the asker is to an organization. The host finds organizations
// by name only, so it is looked for by its id among those of the asker.
func (g *Gitea) Standing(ctx context.Context, as Asker, org Organization) (string, error) {
	v, err := g.voice(ctx, as)
	if errors.Is(err, ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	mine, err := g.mine(ctx, v, org.ID)
	if errors.Is(err, ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	login, err := g.loginOf(ctx, v, as)
	if err != nil {
		return "", err
	}
	return g.standing(ctx, v, login, mine.Name)
}

// mine is the organization with this id of those that a voice's user is in.
func (g *Gitea) mine(ctx context.Context, v voice, id string) (giteaOrg, error) {
	all, err := giteaList[giteaOrg](ctx, g, v, "/user/orgs")
	if err != nil {
		return giteaOrg{}, err
	}
	for _, org := range all {
		if format64(org.ID) == id {
			return org, nil
		}
	}
	return giteaOrg{}, ErrNotFound
}

// standing is what a member is to an organization. About people who are none the
// host says the same as about members without rights.
func (g *Gitea) standing(ctx context.Context, v voice, member, org string) (string, error) {
	var may giteaRights
	_, err := g.get(ctx, v, "/users/"+segment(member)+"/orgs/"+segment(org)+"/permissions", nil, &may)
	if errors.Is(err, ErrNotFound) {
		return "", errMoved
	}
	if err != nil {
		return "", err
	}
	if *may.Owner {
		return OrgOwner, nil
	}
	return OrgMember, nil
}

type giteaRights struct {
	Owner *bool `json:"is_owner"`
}

func (r giteaRights) whole() bool { return r.Owner != nil }

// Organizations lists the organizations that the asker is a member of.
func (g *Gitea) Organizations(ctx context.Context, as Asker) ([]Membership, error) {
	v, err := g.voice(ctx, as)
	if errors.Is(err, ErrNotFound) {
		return []Membership{}, nil
	}
	if err != nil {
		return nil, err
	}
	login, err := g.loginOf(ctx, v, as)
	if err != nil {
		return nil, err
	}
	mine, err := giteaList[giteaOrg](ctx, g, v, "/user/orgs")
	if err != nil {
		return nil, err
	}
	all := make([]Membership, 0, len(mine))
	for _, org := range mine {
		standing, err := g.standing(ctx, v, login, org.Name)
		if err != nil {
			return nil, err
		}
		all = append(all, Membership{org.organization(), standing})
	}
	return all, nil
}

// Members lists all members of an organization. Strangers see those who want to
// be seen, and restricted members those of their own teams: neither is told of a
// list that is not all, so neither may ask.
func (g *Gitea) Members(ctx context.Context, as Asker, org Organization) ([]Member, error) {
	v, err := g.seer(as)
	if err != nil {
		return nil, err
	}
	who, err := g.self(ctx, v)
	if err != nil {
		return nil, err
	}
	there, err := g.roster(ctx, v, as, org)
	if err != nil {
		return nil, err
	}
	if who.Restricted || v.service && !who.IsAdmin {
		return nil, fmt.Errorf("%w: %s sees only some members of %s", ErrNoCredential, who.Login, there.Name)
	}
	users, err := giteaList[giteaUser](ctx, g, v, "/orgs/"+segment(there.Name)+"/members")
	if err != nil {
		return nil, err
	}
	return g.members(ctx, v, there, users)
}

// roster is the organization of today whose members are asked for.
func (g *Gitea) roster(ctx context.Context, v voice, as Asker, org Organization) (giteaOrg, error) {
	if v.service {
		there, err := g.orgNamed(ctx, v, org.Login)
		if err == nil && format64(there.ID) == org.ID || err != nil && !errors.Is(err, ErrNotFound) {
			return there, err
		}
		// The name is another's now, and only its members know the new one.
		if v, err = g.voice(ctx, as); err != nil {
			return giteaOrg{}, err
		}
		return g.mine(ctx, v, org.ID)
	}
	there, err := g.mine(ctx, v, org.ID)
	if errors.Is(err, ErrNotFound) {
		err = fmt.Errorf("%w: only members see all members of %s", ErrNoCredential, org.Login)
	}
	return there, err
}

// members tells owners from members: by the team of the owners, or one by one
// where that is not shown.
func (g *Gitea) members(ctx context.Context, v voice, org giteaOrg, users []giteaUser) ([]Member, error) {
	owners, err := g.owners(ctx, v, org)
	known := err == nil
	if err != nil && !errors.Is(err, ErrRefused) {
		return nil, err
	}
	all := make([]Member, 0, len(users))
	for _, u := range users {
		standing := OrgMember
		if owners[u.ID] {
			standing = OrgOwner
		}
		if !known {
			if standing, err = g.standing(ctx, v, u.Login, org.Name); err != nil {
				return nil, err
			}
		}
		all = append(all, Member{u.user(), standing})
	}
	return all, nil
}

type giteaTeam struct {
	ID         int64
	Name       string
	Permission string
	Units      map[string]string `json:"units_map"`
}

func (t giteaTeam) whole() bool { return t.ID != 0 && t.Permission != "" }

// owners are the members of the one team that owns an organization. The host
// shows them to site administrators and to one another.
func (g *Gitea) owners(ctx context.Context, v voice, org giteaOrg) (map[int64]bool, error) {
	teams, err := giteaList[giteaTeam](ctx, g, v, "/orgs/"+segment(org.Name)+"/teams")
	if err != nil {
		return nil, err
	}
	ids := map[int64]bool{}
	for _, t := range teams {
		if t.Permission != "owner" {
			continue
		}
		users, err := giteaList[giteaUser](ctx, g, v, "/teams/"+format64(t.ID)+"/members")
		if err != nil {
			return nil, err
		}
		for _, u := range users {
			ids[u.ID] = true
		}
	}
	return ids, nil
}
