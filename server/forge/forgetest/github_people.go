package forgetest

import (
	"net/http"
	"slices"
	"strings"

	"coffer/server/forge"
)

func (g *GitHub) root(c *githubCall) {
	names := map[string]string{}
	for _, name := range []string{
		"current_user_url", "current_user_authorizations_html_url", "authorizations_url", "code_search_url", "commit_search_url",
		"emails_url", "emojis_url", "events_url", "feeds_url", "followers_url", "following_url", "gists_url", "hub_url",
		"issue_search_url", "issues_url", "keys_url", "label_search_url", "notifications_url", "organization_url",
		"organization_repositories_url", "organization_teams_url", "public_gists_url", "rate_limit_url", "repository_url",
		"repository_search_url", "current_user_repositories_url", "starred_url", "starred_gists_url", "topic_search_url", "user_url",
		"user_organizations_url", "user_repositories_url", "user_search_url",
	} {
		names[name] = "/" + strings.TrimSuffix(name, "_url")
	}
	c.json(http.StatusOK, links(g.at(""), names))
}

// mustBeUser refuses strangers, installations and the App itself.
func (c *githubCall) mustBeUser() bool {
	switch {
	case c.user != 0:
		return true
	case c.app != nil:
		c.notForApps()
	default:
		c.fail(http.StatusUnauthorized, "Requires authentication")
	}
	return false
}

// partial says of a list that it leaves organizations out for want of single
// sign-on.
func (c *githubCall) partial(hidden map[int64]bool) {
	var ids []string
	for org := range hidden {
		ids = append(ids, id(org))
	}
	if len(ids) > 0 {
		slices.Sort(ids)
		c.rw.Header().Set("X-GitHub-SSO", "partial-results; organizations="+strings.Join(ids, ","))
	}
}

func (g *GitHub) currentUser(c *githubCall) {
	if !c.mustBeUser() {
		return
	}
	u, _ := g.World.User(c.user)
	c.json(http.StatusOK, g.self(u))
}

func (g *GitHub) userByID(c *githubCall) {
	u, ok := g.World.User(c.pathID("id"))
	g.showUser(c, u, ok)
}

func (g *GitHub) userByLogin(c *githubCall) {
	u, moved, ok := g.World.UserNamed(c.r.PathValue("login"))
	g.showUser(c, u, ok && !moved)
}

func (g *GitHub) showUser(c *githubCall, u User, ok bool) {
	if !ok || u.Blocked && !g.TellSuspended {
		c.notFound()
		return
	}
	body := g.profile(u)
	if u.Blocked {
		body["suspended_at"] = stamp(g.World.Now())
	}
	c.json(http.StatusOK, body)
}

// ownOrgs is empty for fine-grained tokens, and no error.
func (g *GitHub) ownOrgs(c *githubCall) {
	if !c.mustBeUser() {
		return
	}
	mine := g.World.OrgsOf(c.user)
	if c.key.Kind == FineGrained {
		mine = nil
	}
	githubPages(c, "/user/orgs", mine, func(o Org) any { return g.orgSimple(o) })
}

// readsOrgs refuses tokens that may not tell of their user's organizations.
func (c *githubCall) readsOrgs() bool {
	c.rw.Header().Set("X-Accepted-OAuth-Scopes", "admin:org, read:org, user, write:org")
	switch {
	case c.key.Kind == FineGrained && !c.key.Has("members=read"):
		c.notPermitted("members=read")
	case !c.scoped("admin:org", "read:org", "user", "write:org"):
		c.fail(http.StatusForbidden, "You need at least read:org scope or user scope to list your organizations.")
	default:
		return true
	}
	return false
}

func (g *GitHub) ownMemberships(c *githubCall) {
	if !c.mustBeUser() || !c.readsOrgs() {
		return
	}
	var mine []object
	hidden := map[int64]bool{}
	state := c.r.URL.Query().Get("state")
	for _, o := range append(g.World.OrgsOf(c.user), g.invitations(c.user)...) {
		switch m, _ := g.membershipOf(o, c.user); {
		case c.lacksSSO(o.ID):
			hidden[o.ID] = true
		case state == "" || m["state"] == state:
			mine = append(mine, m)
		}
	}
	c.partial(hidden)
	githubPages(c, "/user/memberships/orgs", mine, func(m object) any { return m })
}

func (g *GitHub) invitations(user int64) []Org {
	g.state.Lock()
	defer g.state.Unlock()
	var all []Org
	for i := range g.invited {
		if o, ok := g.World.Org(i.org); ok && i.user == user && g.World.Standing(i.org, user) == "" {
			all = append(all, o)
		}
	}
	return all
}

// membershipOf is a membership, or an invitation to one: the state tells.
func (g *GitHub) membershipOf(o Org, user int64) (object, bool) {
	u, _ := g.World.User(user)
	standing, state := g.World.Standing(o.ID, user), "active"
	if standing == "" {
		g.state.Lock()
		defer g.state.Unlock()
		state = "pending"
		if !g.invited[invitation{o.ID, user}] {
			return nil, false
		}
	}
	role := "member"
	if standing == forge.OrgOwner {
		role = "admin"
	}
	return object{
		"url": g.at("/orgs/%s/memberships/%s", o.Login, u.Login), "state": state, "role": role, "organization_url": g.at("/orgs/%s", o.Login),
		"organization": g.orgSimple(o), "user": g.simple(u),
	}, true
}

func (g *GitHub) ownMembership(c *githubCall) {
	if !c.mustBeUser() || !c.readsOrgs() {
		return
	}
	o, moved, ok := g.World.OrgNamed(c.r.PathValue("org"))
	if ok && !moved && c.ofApp() && !g.appOn(o.ID) {
		c.notForApps()
		return
	}
	m, member := object(nil), false
	if ok && !moved {
		m, member = g.membershipOf(o, c.user)
	}
	switch {
	case !member:
		c.notFound()
	case !c.blockedBySSO(o.ID):
		c.json(http.StatusOK, m)
	}
}

// theOrg is the organization that a request names. Old names lead nowhere.
func (c *githubCall) theOrg() (Org, bool) {
	var o Org
	var moved, ok bool
	if c.r.PathValue("id") != "" {
		o, ok = c.g.World.Org(c.pathID("id"))
	} else {
		o, moved, ok = c.g.World.OrgNamed(c.r.PathValue("org"))
	}
	if !ok || moved {
		c.notFound()
		return Org{}, false
	}
	return o, true
}

func (g *GitHub) org(c *githubCall) {
	if o, ok := c.theOrg(); ok {
		c.json(http.StatusOK, g.orgFull(o))
	}
}

// seesMembers is whether the caller is shown all members.
func (c *githubCall) seesMembers(org int64) bool {
	if c.app != nil {
		return c.app.Account == org && c.app.has("members")
	}
	allowed := c.key.Has("admin:org", "read:org", "write:org", "members=read") || c.ofApp() && c.g.appOn(org)
	return c.user != 0 && allowed && c.g.World.Standing(org, c.user) != ""
}

// members shows outsiders those who made their membership public: here the
// owners. It knows roles only as a filter.
func (g *GitHub) members(c *githubCall) {
	o, ok := c.theOrg()
	if !ok || c.blockedBySSO(o.ID) {
		return
	}
	role := c.r.URL.Query().Get("role")
	all := slices.DeleteFunc(g.World.Members(o.ID), func(m Member) bool {
		owner := m.Standing == forge.OrgOwner
		return role == "admin" && !owner || role == "member" && owner || !owner && !c.seesMembers(o.ID)
	})
	githubPages(c, "/organizations/"+id(o.ID)+"/members", all, func(m Member) any { return g.simple(m.User) })
}

func (g *GitHub) membership(c *githubCall) {
	o, ok := c.theOrg()
	if !ok || c.blockedBySSO(o.ID) {
		return
	}
	if !c.seesMembers(o.ID) {
		if c.app != nil {
			c.notForApps()
		} else {
			c.fail(http.StatusForbidden, "You must be a member of "+o.Login+" to see membership information for others.")
		}
		return
	}
	u, moved, ok := g.World.UserNamed(c.r.PathValue("login"))
	m, member := g.membershipOf(o, u.ID)
	if !ok || moved || !member {
		c.notFound()
		return
	}
	c.json(http.StatusOK, m)
}
