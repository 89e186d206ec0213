package forgetest

import (
	"net/http"
	"strconv"
	"strings"

	"coffer/server/forge"
	"coffer/server/standin"
)

// shown is a user or an organization as the host shows either to others: alike.
func (a *giteaAsk) shown(id int64, login, email string, v Visibility) map[string]any {
	return map[string]any{
		"id": id, "login": login, "username": login, "full_name": "", "email": email,
		"avatar_url": "http://" + a.Host + a.base + "/avatars/" + strconv.FormatInt(id, 10),
		"html_url":   "http://" + a.Host + a.base + "/" + login,
		"visibility": giteaVisibility(v), "restricted": false,
		"is_admin": false, "active": false, "prohibit_login": false,
	}
}

// giteaVisibility is the host's word: internal organizations are limited.
func giteaVisibility(v Visibility) string {
	if v == Internal {
		return "limited"
	}
	return string(v)
}

// person is a user. What concerns the account itself is shown to it and to
// administrators only.
func (a *giteaAsk) person(u User) map[string]any {
	shown := a.shown(u.ID, u.Login, u.Email, Public)
	if a.doer.id == u.ID || a.doer.admin {
		shown["is_admin"], shown["active"], shown["prohibit_login"] = u.SiteAdmin, true, u.Blocked
	}
	return shown
}

func (a *giteaAsk) owner(o Owner) map[string]any { return a.shown(o.ID, o.Login, "", o.Visibility) }

func (g *Gitea) user(a *giteaAsk) {
	shown := a.shown(a.doer.id, a.doer.login, "", Public)
	shown["active"] = true
	if u, ok := g.World.User(a.doer.id); ok {
		shown = a.person(u)
	}
	standin.Answer(a.rw, http.StatusOK, shown)
}

// search looks people up. An id that is no number filters nothing.
func (g *Gitea) search(a *giteaAsk) {
	id, _ := strconv.ParseInt(a.URL.Query().Get("uid"), 10, 64)
	found := []any{}
	for _, u := range g.World.Users() {
		if id == 0 || u.ID == id {
			found = append(found, a.person(u))
		}
	}
	a.rw.Header().Set("X-Total-Count", strconv.Itoa(len(found)))
	standin.Answer(a.rw, http.StatusOK, map[string]any{"ok": true, "data": found[:min(len(found), 50)]})
}

func (g *Gitea) showOrg(a *giteaAsk, o Org) any {
	return map[string]any{
		"id": o.ID, "name": o.Login, "username": o.Login, "full_name": "The " + o.Login, "email": "",
		"avatar_url": "http://" + a.Host + a.base + "/avatars/" + strconv.FormatInt(o.ID, 10),
		"visibility": giteaVisibility(o.Visibility),
	}
}

// seesOrg reports whether an organization is shown to somebody.
func (g *Gitea) seesOrg(a *giteaAsk, o Org) bool {
	switch {
	case o.Visibility == Public, a.doer.admin:
		return true
	case o.Visibility == Internal && a.doer.id != 0:
		return true
	}
	return g.World.Standing(o.ID, a.doer.id) != ""
}

// inOrg finds the organization that a path names.
func (g *Gitea) inOrg(handle func(*giteaAsk, Org)) func(*giteaAsk) {
	return func(a *giteaAsk) {
		name := a.PathValue("org")
		o, moved, known := g.World.OrgNamed(name)
		if _, wasUser, isUser := g.World.UserNamed(name); isUser && wasUser {
			u, _, _ := g.World.UserNamed(name)
			a.moved(http.StatusTemporaryRedirect, "/orgs/"+name, "/orgs/"+u.Login)
			return
		}
		switch {
		case known && moved:
			a.moved(http.StatusTemporaryRedirect, "/orgs/"+name, "/orgs/"+o.Login)
		case !known:
			a.fail(http.StatusNotFound, "GetOrgByName")
		case a.publicOnly(o.Visibility == Public, "orgs"):
			handle(a, o)
		}
	}
}

func (g *Gitea) org(a *giteaAsk, o Org) {
	if !g.seesOrg(a, o) {
		a.notFound()
		return
	}
	standin.Answer(a.rw, http.StatusOK, g.showOrg(a, o))
}

func (g *Gitea) userOrgs(a *giteaAsk) {
	giteaPages(g, a, g.World.OrgsOf(a.doer.id), true, func(o Org) any { return g.showOrg(a, o) })
}

// adminOrgs shows what the adapter has no business with.
func (g *Gitea) adminOrgs(a *giteaAsk) {
	if !a.doer.admin {
		a.fail(http.StatusForbidden, "user should be the site admin")
		return
	}
	standin.Answer(a.rw, http.StatusOK, []any{})
}

// orgPermissions says the same of members without rights as of strangers.
func (g *Gitea) orgPermissions(a *giteaAsk) {
	u, userMoved, known := g.World.UserNamed(a.PathValue("login"))
	o, orgMoved, there := g.World.OrgNamed(a.PathValue("org"))
	switch {
	case known && userMoved:
		a.moved(http.StatusTemporaryRedirect, "/users/"+a.PathValue("login"), "/users/"+u.Login)
		return
	case known && !a.signed():
		return
	case !known || !there || orgMoved || !g.seesOrg(a, o):
		a.notFound()
		return
	}
	owns, admin := g.World.Standing(o.ID, u.ID) == forge.OrgOwner, false
	for _, t := range g.teams(o.ID) {
		admin = admin || t.Role == forge.Admin && g.inTeam(t, u.ID)
	}
	any := owns || admin
	standin.Answer(a.rw, http.StatusOK, map[string]bool{
		"is_owner": owns, "is_admin": any, "can_write": any, "can_read": any, "can_create_repository": owns,
	})
}

// orgMembers shows strangers those who want to be seen: here nobody.
func (g *Gitea) orgMembers(a *giteaAsk, o Org) {
	members := g.World.Members(o.ID)
	if g.World.Standing(o.ID, a.doer.id) == "" && !a.doer.admin {
		members = nil
	}
	giteaPages(g, a, members, true, func(m Member) any { return a.person(m.User) })
}

func (g *Gitea) isMember(a *giteaAsk, o Org) {
	u, moved, known := g.World.UserNamed(a.PathValue("login"))
	switch {
	case !known:
		a.notFound()
	case moved:
		a.moved(http.StatusTemporaryRedirect, "/members/"+a.PathValue("login"), "/members/"+u.Login)
	case g.World.Standing(o.ID, a.doer.id) != "" || a.doer.admin:
		a.yes(g.World.Standing(o.ID, u.ID) != "")
	case u.ID == a.doer.id:
		a.notFound()
	default:
		http.Redirect(a.rw, a.Request, a.base+strings.Replace(a.URL.EscapedPath(), "/members/", "/public_members/", 1), http.StatusSeeOther)
	}
}

func (g *Gitea) isPublicMember(a *giteaAsk, _ Org) { a.yes(false) }

// yes is how the host answers whether something is so.
func (a *giteaAsk) yes(so bool) {
	if so {
		a.rw.WriteHeader(http.StatusNoContent)
		return
	}
	a.notFound()
}

// owners stands for an organization's team of owners, which the world does not
// keep as a team.
const owners = 1 << 40

// teams are an organization's teams, its owners' first.
func (g *Gitea) teams(org int64) []Team {
	all := []Team{{ID: owners + org, Org: org, Name: "Owners", Role: forge.Admin}}
	seen := map[int64]bool{}
	for _, r := range g.World.Repos() {
		if r.Owner != org {
			continue
		}
		for _, t := range g.World.TeamsOn(r.ID) {
			if !seen[t.ID] {
				seen[t.ID] = true
				all = append(all, t)
			}
		}
	}
	return all
}

func (g *Gitea) members(t Team) []User {
	if t.ID < owners {
		return g.World.TeamMembers(t.ID)
	}
	var all []User
	for _, m := range g.World.Members(t.Org) {
		if m.Standing == forge.OrgOwner {
			all = append(all, m.User)
		}
	}
	return all
}

func (g *Gitea) inTeam(t Team, user int64) bool {
	for _, u := range g.members(t) {
		if u.ID == user {
			return true
		}
	}
	return false
}

// showTeam shows a team. One that is not of administrators has its rights by
// unit, and its permission says nothing, or at Forgejo the most of them.
func (g *Gitea) showTeam(t Team) any {
	permission, units := "none", giteaUnits(t)
	switch {
	case t.ID >= owners:
		permission = "owner"
	case t.Role == forge.Admin:
		permission = "admin"
	case g.forgejo:
		permission = giteaHighest(units)
	}
	return map[string]any{
		"id": t.ID, "name": t.Name, "organization": nil, "permission": permission, "units_map": units,
		"includes_all_repositories": t.ID >= owners,
	}
}

var giteaWords = []string{"none", "read", "write", "admin", "owner"}

// giteaWord is a role in the host's words, which know three.
func giteaWord(r forge.Role) string {
	switch r {
	case forge.Admin:
		return "admin"
	case forge.Write, forge.Maintain:
		return "write"
	case forge.Read, forge.Triage:
		return "read"
	}
	return "none"
}

func giteaUnits(t Team) map[string]string {
	units := map[string]string{}
	for unit, right := range t.Units {
		units[unit] = right
	}
	if t.Role != forge.None {
		for _, unit := range []string{"repo.code", "repo.issues", "repo.pulls"} {
			units[unit] = giteaWord(t.Role)
			if t.ID >= owners {
				units[unit] = "owner"
			}
		}
	}
	return units
}

func giteaHighest(units map[string]string) string {
	at := 0
	for _, right := range units {
		for i, word := range giteaWords {
			if word == right {
				at = max(at, i)
			}
		}
	}
	return giteaWords[at]
}

func (g *Gitea) orgTeams(a *giteaAsk, o Org) {
	if g.World.Standing(o.ID, a.doer.id) == "" && !a.doer.admin {
		a.fail(http.StatusForbidden, "Must be an organization member")
		return
	}
	giteaPages(g, a, g.teams(o.ID), true, g.showTeam)
}

// teamMembers are shown to the team itself, to the organization's owners and to
// administrators.
func (g *Gitea) teamMembers(a *giteaAsk) {
	id, _ := strconv.ParseInt(a.PathValue("id"), 10, 64)
	t, known := g.World.Team(id)
	if o, ok := g.World.Org(id - owners); id >= owners && ok {
		t, known = Team{ID: id, Org: o.ID, Name: "Owners", Role: forge.Admin}, true
	}
	standing := g.World.Standing(t.Org, a.doer.id)
	switch {
	case !known || standing == "" && !a.doer.admin:
		a.notFound()
	case standing == forge.OrgOwner, a.doer.admin, g.inTeam(t, a.doer.id):
		giteaPages(g, a, g.members(t), true, func(u User) any { return a.person(u) })
	default:
		a.fail(http.StatusForbidden, "Must be a team member")
	}
}
