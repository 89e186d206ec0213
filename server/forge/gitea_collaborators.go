package forge

import (
	"context"
	"errors"
	"fmt"
)

// Collaborators lists all who have an explicit role on a repository. The host
// shows them to the repository's and the organization's owners only.
func (g *Gitea) Collaborators(ctx context.Context, as Asker, repo Repository) ([]Collaborator, error) {
	v, err := g.seer(as)
	if err != nil {
		return nil, err
	}
	raw, err := g.repo(ctx, v, repo.ID)
	if errors.Is(err, ErrNotFound) && v.service {
		err = ErrGone
	}
	if err != nil {
		return nil, err
	}
	found, err := g.repository(ctx, v, raw)
	if err != nil {
		return nil, err
	}
	all := &giteaPeople{at: map[int64]int{}}
	if found.OwnerKind == OwnerUser {
		all.add(raw.Owner, Admin)
	} else {
		err = g.fromOrg(ctx, v, raw, all)
	}
	if err == nil {
		err = g.direct(ctx, v, raw, all)
	}
	if errors.Is(err, ErrRefused) || errors.Is(err, ErrNotFound) {
		err = fmt.Errorf("%w: only owners see everybody who has a role on %s", ErrNoCredential, found.FullName())
	}
	if err != nil {
		return nil, err
	}
	return all.list, nil
}

// giteaPeople gathers people, each with the most of their roles.
type giteaPeople struct {
	list []Collaborator
	at   map[int64]int
}

func (p *giteaPeople) add(u giteaUser, role Role) {
	at, known := p.at[u.ID]
	switch {
	case role == None:
	case !known:
		p.at[u.ID] = len(p.list)
		p.list = append(p.list, Collaborator{User: u.user(), Role: role, URL: u.HTMLURL})
	case giteaRank[role] > giteaRank[p.list[at].Role]:
		p.list[at].Role = role
	}
}

var giteaRank = map[Role]int{Read: 1, Write: 2, Admin: 3}

// giteaRole is a right in the host's words.
func giteaRole(word string) Role {
	return map[string]Role{"read": Read, "write": Write, "admin": Admin, "owner": Admin}[word]
}

// code is what a team may do with code. Its permission says so only where it has
// no rights by unit.
func (t giteaTeam) code() Role {
	if role := giteaRole(t.Permission); role == Admin || len(t.Units) == 0 {
		return role
	}
	return giteaRole(t.Units["repo.code"])
}

// fromOrg adds those who have their role by a team, or read an open repository
// because they are members.
func (g *Gitea) fromOrg(ctx context.Context, v voice, raw giteaRepo, all *giteaPeople) error {
	var teams []giteaTeam
	if _, err := g.get(ctx, v, raw.path()+"/teams", nil, &teams); err != nil {
		return err
	}
	for _, t := range teams {
		role := t.code()
		if role == None {
			continue
		}
		users, err := giteaList[giteaUser](ctx, g, v, "/teams/"+format64(t.ID)+"/members")
		if err != nil {
			return err
		}
		for _, u := range users {
			all.add(u, role)
		}
	}
	if !raw.open() {
		return nil
	}
	members, err := giteaList[giteaUser](ctx, g, v, "/orgs/"+segment(raw.Owner.Login)+"/members")
	for _, u := range members {
		all.add(u, Read)
	}
	return err
}

// direct adds those who are collaborators by name.
func (g *Gitea) direct(ctx context.Context, v voice, raw giteaRepo, all *giteaPeople) error {
	users, err := giteaList[giteaUser](ctx, g, v, raw.path()+"/collaborators")
	if err != nil {
		return err
	}
	for _, u := range users {
		role, err := g.directRole(ctx, v, raw, u.Login)
		if err != nil {
			return err
		}
		all.add(u, role)
	}
	return nil
}

// directRole is a collaborator's role. The host's own endpoint for it is right
// about rights that were given by name, but not about those of teams: it is asked
// for want of better, for the list only, and never to decide what somebody may do.
func (g *Gitea) directRole(ctx context.Context, v voice, raw giteaRepo, login string) (Role, error) {
	if v.service {
		v.login = login
		theirs, err := g.repo(ctx, v, format64(raw.ID))
		if errors.Is(err, ErrNotFound) {
			return None, nil // barred for now: a second factor is asked for
		}
		return theirs.role(), err
	}
	var said giteaPermission
	_, err := g.get(ctx, v, raw.path()+"/collaborators/"+segment(login)+"/permission", nil, &said)
	return giteaRole(said.Permission), err
}

type giteaPermission struct{ Permission string }

func (p giteaPermission) whole() bool { return p.Permission != "" }
