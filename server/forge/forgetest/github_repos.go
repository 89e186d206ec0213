package forgetest

import (
	"net/http"
	"slices"
	"strings"

	"coffer/server/forge"
)

// theRepo is the repository that a request names, or answers why not. Old names
// redirect, whoever asks, to an address by id.
func (c *githubCall) theRepo() (Repo, bool) {
	var r Repo
	var moved, ok bool
	if c.r.PathValue("id") != "" {
		r, ok = c.g.World.Repo(c.pathID("id"))
	} else {
		r, moved, ok = c.g.World.RepoNamed(c.r.PathValue("owner"), c.r.PathValue("repo"))
	}
	if ok && moved {
		to := c.g.at("/repositories/%d", r.ID)
		if parts := strings.SplitN(c.r.URL.Path, "/", 5); len(parts) == 5 {
			to += "/" + parts[4]
		}
		if c.r.URL.RawQuery != "" {
			to += "?" + c.r.URL.RawQuery
		}
		c.rw.Header().Set("Location", to)
		c.json(http.StatusMovedPermanently, object{"message": "Moved Permanently", "url": to, "documentation_url": "https://docs.github.com/rest"})
		return Repo{}, false
	}
	if !ok || !c.jwt && !c.sees(r) {
		c.notFound()
		return Repo{}, false
	}
	if r.Visibility != Public && c.blockedBySSO(r.Owner) {
		return Repo{}, false
	}
	return r, true
}

// sees is whether GitHub admits to the caller that there is such a repository.
func (c *githubCall) sees(r Repo) bool {
	switch {
	case r.Visibility == Public:
		return true
	case c.app != nil:
		return c.app.covers(r)
	case c.user == 0 || !c.g.World.Sees(r.ID, c.user):
		return false
	case c.ofApp():
		return c.g.appCovers(r)
	}
	return c.scoped("repo")
}

// role is what a user may do there, reading like every stranger included.
func (g *GitHub) role(r Repo, user int64) forge.Role {
	role := g.World.Role(r.ID, user)
	if role == forge.None && r.Visibility != Private && user != 0 {
		return forge.Read
	}
	return role
}

func (g *GitHub) repo(c *githubCall) {
	r, ok := c.theRepo()
	if !ok {
		return
	}
	body := c.g.repoFull(r, g.role(r, c.user))
	if c.user == 0 {
		delete(body, "permissions")
	}
	c.json(http.StatusOK, body)
}

// mayList reports whether the caller may ask who has which role, or answers that
// it may not.
func (c *githubCall) mayList(r Repo, what string) bool {
	switch {
	case c.app != nil && !c.app.covers(r), c.ofApp() && !c.g.appCovers(r):
		c.notForApps()
	case c.app == nil && c.user == 0:
		c.fail(http.StatusUnauthorized, "Requires authentication")
	case c.app == nil && !Least(c.g.World.Role(r.ID, c.user), forge.Write):
		c.fail(http.StatusForbidden, "Must have push access to view "+what+".")
	default:
		return true
	}
	return false
}

func (g *GitHub) collaborators(c *githubCall) {
	r, ok := c.theRepo()
	if !ok || !c.mayList(r, "repository collaborators") {
		return
	}
	githubPages(c, "/repositories/"+id(r.ID)+"/collaborators", g.World.Everyone(r.ID), func(e Grant) any {
		return with(g.simple(e.User), object{"permissions": permissions(e.Role), "role_name": g.roleName(r, e.User.ID, e.Role)})
	})
}

// roleName is the role's own name, for instance one of the organization's
// making.
func (g *GitHub) roleName(r Repo, user int64, role forge.Role) string {
	if d, ok := g.World.Given(r.ID, user); ok && d.Role == role && d.Custom != "" {
		return d.Custom
	}
	return string(role)
}

// isCollaborator has no body. An App needs to read an organization's members for
// it.
func (g *GitHub) isCollaborator(c *githubCall) {
	r, ok := c.theRepo()
	if !ok || !c.mayList(r, "collaborators") {
		return
	}
	if _, org := g.World.Org(r.Owner); org && c.app != nil && !c.app.has("members") {
		c.notForApps()
		return
	}
	u, moved, ok := g.World.UserNamed(c.r.PathValue("login"))
	explicit := slices.ContainsFunc(g.World.Everyone(r.ID), func(e Grant) bool { return e.User.ID == u.ID })
	if !ok || moved || !explicit {
		c.notFound()
		return
	}
	c.rw.WriteHeader(http.StatusNoContent)
}

// permission says read of everybody on what is not private.
func (g *GitHub) permission(c *githubCall) {
	r, ok := c.theRepo()
	if !ok || !c.mayList(r, "collaborator permission") {
		return
	}
	login := c.r.PathValue("login")
	u, moved, ok := g.World.UserNamed(login)
	if !ok || moved {
		c.fail(http.StatusNotFound, login+" is not a user")
		return
	}
	role := g.role(r, u.ID)
	name := g.roleName(r, u.ID, role)
	c.json(http.StatusOK, object{
		"permission": collapsed(role), "role_name": name,
		"user": with(g.simple(u), object{"permissions": permissions(role), "role_name": name}),
	})
}

// ownRepos lists by affiliation. What a token does not reach is left out without
// a word.
func (g *GitHub) ownRepos(c *githubCall) {
	if !c.mustBeUser() {
		return
	}
	wanted := strings.Split(c.r.URL.Query().Get("affiliation"), ",")
	if wanted[0] == "" {
		wanted = []string{"owner", "collaborator", "organization_member"}
	}
	var mine []Repo
	hidden := map[int64]bool{}
	for _, r := range g.World.Repos() {
		if !slices.ContainsFunc(g.affiliations(r, c.user), func(a string) bool { return slices.Contains(wanted, a) }) || !c.sees(r) {
			continue
		}
		if r.Visibility != Public && c.lacksSSO(r.Owner) {
			hidden[r.Owner] = true
			continue
		}
		mine = append(mine, r)
	}
	c.partial(hidden)
	githubPages(c, "/user/repos", mine, func(r Repo) any { return g.repoListed(r, g.role(r, c.user)) })
}

func (g *GitHub) affiliations(r Repo, user int64) []string {
	var all []string
	if r.Owner == user {
		all = append(all, "owner")
	}
	if _, direct := g.World.Given(r.ID, user); direct {
		all = append(all, "collaborator")
	}
	if g.World.Standing(r.Owner, user) != "" && g.role(r, user) != forge.None {
		all = append(all, "organization_member")
	}
	return all
}
