package forge

import (
	"context"
	"net/url"
	"strconv"
	"strings"
)

// Organization finds a group on top by its name.
func (g *gitlab) Organization(ctx context.Context, as Asker, login string) (Organization, error) {
	k, err := g.key(as)
	if err != nil {
		return Organization{}, err
	}
	var group gitlabGroup
	if _, err := g.api.get(ctx, k.token, "/groups/"+segment(login), url.Values{"with_projects": {"false"}}, &group); err != nil {
		return Organization{}, g.unseen(ctx, k, err, ErrNotFound)
	}
	// GitLab takes a name of digits for a number.
	if group.ParentID != 0 || !strings.EqualFold(group.Path, login) {
		return Organization{}, ErrNotFound
	}
	return group.organization(), nil
}

func (o gitlabGroup) organization() Organization {
	return Organization{ID: gitlabID(o.ID), Login: o.Path, DisplayName: o.Name, AvatarURL: o.AvatarURL}
}

// Standing is what the asker's access level makes them to a group on top.
func (g *gitlab) Standing(ctx context.Context, as Asker, org Organization) (string, error) {
	k, err := g.key(as)
	if err != nil {
		return "", err
	}
	at, err := gitlabAt("groups", org.ID)
	if err != nil {
		return "", err
	}
	level, err := g.member(ctx, k, at, as.User.ID)
	if err != nil {
		return "", err
	}
	if k.service && level == 0 {
		if knows, err := g.insider(ctx, k, at); err != nil || !knows {
			return "", orElse(err, ErrNoCredential)
		}
	}
	return gitlabStanding(level), nil
}

func gitlabStanding(level int) string {
	switch {
	case level >= gitlabOwner:
		return OrgOwner
	case level >= gitlabGuest:
		return OrgMember
	}
	return ""
}

// Organizations lists the groups on top that the asker is a member of.
func (g *gitlab) Organizations(ctx context.Context, as Asker) ([]Membership, error) {
	if as.Token == "" {
		return nil, ErrNoCredential
	}
	k := gitlabKey{token: as.Token}
	from := func(level int) ([]gitlabGroup, error) {
		return gitlabList[gitlabGroup](ctx, g, k, "/groups", url.Values{
			"min_access_level": {strconv.Itoa(level)}, "top_level_only": {"true"}, "order_by": {"id"},
		})
	}
	owned, err := from(gitlabOwner)
	if err != nil {
		return nil, err
	}
	owns := make(map[int64]bool, len(owned))
	for _, group := range owned {
		owns[group.ID] = true
	}
	groups, err := from(gitlabGuest)
	if err != nil {
		return nil, err
	}
	all := make([]Membership, 0, len(groups))
	for _, group := range groups {
		m := Membership{group.organization(), OrgMember}
		if owns[group.ID] {
			m.Standing = OrgOwner
		}
		if group.ParentID == 0 {
			all = append(all, m)
		}
	}
	return all, nil
}

// Members lists the members of a group on top. To be told of all of them the
// asker must be one.
func (g *gitlab) Members(ctx context.Context, as Asker, org Organization) ([]Member, error) {
	k, err := g.key(as)
	if err != nil {
		return nil, err
	}
	at, err := gitlabAt("groups", org.ID)
	if err != nil {
		return nil, err
	}
	members, levels, err := g.members(ctx, k, at)
	if err != nil {
		return nil, err
	}
	all, knows := make([]Member, 0, len(members)), false
	for _, m := range members {
		if standing := gitlabStanding(levels[m.ID]); standing != "" {
			all = append(all, Member{m.user(), standing})
			knows = knows || !k.service && gitlabID(m.ID) == as.User.ID
		}
	}
	if k.service {
		knows, err = g.insider(ctx, k, at)
	}
	if err != nil || !knows {
		return nil, orElse(err, ErrNoCredential)
	}
	return all, nil
}
