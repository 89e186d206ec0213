package forgetest

import (
	"net/http"
	"strconv"

	"coffer/server/forge"
	"coffer/server/standin"
)

// can is what somebody may do with a repository's code: whoever may know of what
// is not private reads it. Sees is whether they are shown it at all.
func (g *Gitea) can(a *giteaAsk, r Repo) (word string, sees bool) {
	role := forge.None
	if !a.doer.org {
		role = g.World.Role(r.ID, a.doer.id)
	}
	sees = a.doer.admin || g.World.Sees(r.ID, a.doer.id) || r.Owner == a.doer.id
	switch {
	case a.doer.admin, r.Owner == a.doer.id:
		return "owner", true
	case sees && role == forge.None && r.Visibility != Private:
		return "read", true
	}
	return giteaWord(role), sees
}

func (g *Gitea) showRepo(a *giteaAsk, r Repo) map[string]any {
	word, _ := g.can(a, r)
	owner, _ := g.World.Owner(r.Owner)
	admin := word == "admin" || word == "owner"
	push := admin || word == "write"
	return map[string]any{
		"id": r.ID, "name": r.Name, "full_name": owner.Login + "/" + r.Name, "owner": a.owner(owner),
		"private":  r.Visibility == Private,
		"internal": r.Visibility == Internal || r.Visibility == Public && owner.Visibility == Private,
		"archived": false, "avatar_url": "",
		"html_url":    "http://" + a.Host + a.base + "/" + owner.Login + "/" + r.Name,
		"permissions": map[string]bool{"admin": admin, "push": push, "pull": push || word == "read"},
	}
}

// repoByID heeds no token that is for public things only.
func (g *Gitea) repoByID(a *giteaAsk) {
	id, _ := strconv.ParseInt(a.PathValue("id"), 10, 64)
	r, known := g.World.Repo(id)
	if _, sees := g.can(a, r); !known || !sees {
		a.notFound()
		return
	}
	standin.Answer(a.rw, http.StatusOK, g.showRepo(a, r))
}

// inRepo finds the repository that a path names. Names of old redirect, to
// whomever.
func (g *Gitea) inRepo(handle func(*giteaAsk, Repo)) func(*giteaAsk) {
	return func(a *giteaAsk) {
		r, moved, known := g.World.RepoNamed(a.PathValue("owner"), a.PathValue("repo"))
		if known && moved {
			g.repoMoved(a, r)
			return
		}
		if _, sees := g.can(a, r); !known || !sees {
			a.notFound()
			return
		}
		if a.publicOnly(r.Visibility != Private, "repos") {
			handle(a, r)
		}
	}
}

// signedIn is for what strangers are not told, even of what they see.
func signedIn(handle func(*giteaAsk, Repo)) func(*giteaAsk, Repo) {
	return func(a *giteaAsk, r Repo) {
		if a.signed() {
			handle(a, r)
		}
	}
}

// repoMoved redirects: 301 for a repository, 307 for its owner.
func (g *Gitea) repoMoved(a *giteaAsk, r Repo) {
	owner, _ := g.World.Owner(r.Owner)
	name := a.PathValue("owner")
	_, user, isUser := g.World.UserNamed(name)
	_, org, isOrg := g.World.OrgNamed(name)
	if isUser && user || isOrg && org {
		a.moved(http.StatusTemporaryRedirect, "/repos/"+name+"/", "/repos/"+owner.Login+"/")
		return
	}
	a.moved(http.StatusMovedPermanently, "/repos/"+name+"/"+a.PathValue("repo"), "/repos/"+owner.Login+"/"+r.Name)
}

func (g *Gitea) repoByName(a *giteaAsk, r Repo) {
	standin.Answer(a.rw, http.StatusOK, g.showRepo(a, r))
}

// userRepos are those somebody owns or has a role or a team on: but not what is
// public and theirs to read only.
func (g *Gitea) userRepos(a *giteaAsk) {
	var all []Repo
	for _, r := range g.World.Repos() {
		role := g.World.Role(r.ID, a.doer.id)
		if role == forge.Read && r.Visibility != Private && !g.World.InTeam(r.ID, a.doer.id) {
			continue
		}
		if r.Owner == a.doer.id || role != forge.None || g.World.InTeam(r.ID, a.doer.id) {
			all = append(all, r)
		}
	}
	giteaPages(g, a, all, true, func(r Repo) any { return g.showRepo(a, r) })
}

// orgRepos counts what it does not show to who is signed in.
func (g *Gitea) orgRepos(a *giteaAsk, o Org) {
	var all []Repo
	for _, r := range g.World.Repos() {
		if r.Owner == o.ID && (a.doer.id != 0 || r.Visibility != Private) {
			all = append(all, r)
		}
	}
	giteaPages(g, a, all, true, func(r Repo) any {
		if _, sees := g.can(a, r); !sees {
			return nil
		}
		return g.showRepo(a, r)
	})
}

// repoTeams has no pages.
func (g *Gitea) repoTeams(a *giteaAsk, r Repo) {
	if _, ok := g.World.Org(r.Owner); !ok {
		a.fail(http.StatusMethodNotAllowed, "repo is not owned by an organization")
		return
	}
	shown := []any{g.showTeam(Team{ID: owners + r.Owner, Org: r.Owner, Name: "Owners", Role: forge.Admin})}
	for _, t := range g.World.TeamsOn(r.ID) {
		shown = append(shown, g.showTeam(t))
	}
	standin.Answer(a.rw, http.StatusOK, shown)
}

// collaborators are people without their roles, and neither owners nor teams.
func (g *Gitea) collaborators(a *giteaAsk, r Repo) {
	giteaPages(g, a, g.World.Direct(r.ID), false, func(d Grant) any { return a.person(d.User) })
}

func (g *Gitea) isCollaborator(a *giteaAsk, r Repo) {
	u, moved, known := g.World.UserNamed(a.PathValue("login"))
	if !known || moved {
		a.fail(http.StatusUnprocessableEntity, "user does not exist [uid: 0, name: "+a.PathValue("login")+"]")
		return
	}
	_, direct := g.World.Given(r.ID, u.ID)
	a.yes(direct)
}

// permission is the endpoint that must decide nothing. Of people in teams with
// rights by unit, Gitea says too little and Forgejo too much.
func (g *Gitea) permission(a *giteaAsk, r Repo) {
	u, moved, known := g.World.UserNamed(a.PathValue("login"))
	asker, _ := g.can(a, r)
	switch {
	case !known || moved:
		a.notFound()
		return
	case asker != "admin" && asker != "owner" && u.ID != a.doer.id:
		a.fail(http.StatusForbidden, "Only admins can query all permissions, repo admins can query all repo permissions, collaborators can query only their own")
		return
	}
	word := g.claimed(r, u)
	standin.Answer(a.rw, http.StatusOK, map[string]any{"permission": word, "role_name": word, "user": a.shown(u.ID, u.Login, u.Email, Public)})
}

func (g *Gitea) claimed(r Repo, u User) string {
	if u.SiteAdmin || r.Owner == u.ID || g.World.Standing(r.Owner, u.ID) == forge.OrgOwner {
		return "owner"
	}
	rights := map[string]string{"public": "none"}
	if r.Visibility != Private {
		rights["public"] = "read"
	}
	if d, ok := g.World.Given(r.ID, u.ID); ok {
		rights["direct"] = giteaWord(d.Role)
	}
	for _, t := range g.World.TeamsOn(r.ID) {
		switch {
		case !g.inTeam(t, u.ID):
		case t.Role == forge.Admin:
			rights["team"] = "owner"
		case g.forgejo:
			rights["units"] = "write"
		}
	}
	return giteaHighest(rights)
}
