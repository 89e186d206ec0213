package forge

import (
	"context"
	"errors"
	"net/url"
)

// Organization finds an organization by name.
func (g *github) Organization(ctx context.Context, as Asker, login string) (Organization, error) {
	if login == "" || login == "." || login == ".." {
		return Organization{}, ErrNotFound
	}
	k, err := g.key(ctx, as, "", login)
	if errors.Is(err, errNotInstalled) {
		err = errAppUnseen
	}
	if err != nil {
		return Organization{}, err
	}
	var org githubAccount
	if _, err := g.get(ctx, k, "/orgs/"+segment(login), &org); err != nil {
		return Organization{}, err
	}
	return org.organization(), nil
}

// Standing is what the asker is to an organization.
func (g *github) Standing(ctx context.Context, as Asker, org Organization) (string, error) {
	k, err := g.key(ctx, as, org.ID, org.Login)
	if err != nil {
		return "", err
	}
	var standing string
	if k.at != nil {
		var who githubAccount
		if who, err = g.person(ctx, k, as.User.ID); err == nil {
			standing, err = g.standingByApp(ctx, k, who, org.ID)
		}
	} else {
		var now githubAccount
		if now, err = g.today(ctx, k, "/organizations/", org.ID); err == nil {
			standing, err = g.ownStanding(ctx, k, now.Login, org.ID)
		}
	}
	if errors.Is(err, ErrNotFound) {
		return "", nil
	}
	return standing, err
}

// Organizations lists the organizations that the asker is an active member of.
// An App cannot list for somebody else.
func (g *github) Organizations(ctx context.Context, as Asker) ([]Membership, error) {
	if as.Token == "" {
		return nil, ErrNoCredential
	}
	found, err := githubList[githubMembership](ctx, g, githubKey{token: as.Token}, "/user/memberships/orgs",
		url.Values{"state": {"active"}, "per_page": {"100"}})
	if err != nil {
		return nil, err
	}
	all := make([]Membership, 0, len(found))
	for _, m := range found {
		if standing := m.standing(); standing != "" {
			all = append(all, Membership{m.Organization.organization(), standing})
		}
	}
	return all, nil
}

// Members lists an organization's members, to the App or to another member:
// outsiders are shown some of them only.
func (g *github) Members(ctx context.Context, as Asker, org Organization) ([]Member, error) {
	k, err := g.key(ctx, as, org.ID, org.Login)
	switch {
	case err != nil:
		return nil, err
	case k.at == nil:
		if standing, err := g.Standing(ctx, as, org); err != nil || standing == "" {
			return nil, githubWhole(err)
		}
	case !k.at.readsMembers():
		return nil, beyondApp(noMembers)
	}
	// Everybody, and then who of them are owners: the role is only a filter, and
	// whoever changes sides between two halves would be in neither.
	path := "/organizations/" + segment(org.ID) + "/members"
	all, err := githubList[githubAccount](ctx, g, k, path, url.Values{"role": {"all"}, "per_page": {"100"}})
	if err != nil {
		return nil, githubWhole(err)
	}
	owners, err := githubList[githubAccount](ctx, g, k, path, url.Values{"role": {"admin"}, "per_page": {"100"}})
	if err != nil {
		return nil, githubWhole(err)
	}
	owns := make(map[int64]bool, len(owners))
	for _, a := range owners {
		owns[a.ID] = true
	}
	members := make([]Member, len(all))
	for i, a := range all {
		members[i] = Member{a.user(), OrgMember}
		if owns[a.ID] {
			members[i].Standing = OrgOwner
		}
	}
	return members, nil
}

// githubWhole is for lists that not everybody may see, and that are none in part.
func githubWhole(err error) error {
	if err == nil || errors.Is(err, ErrRefused) {
		return ErrNoCredential
	}
	return err
}
