package forgetest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"coffer/server/forge"
)

func (w *World) next() int64 {
	w.last++
	return w.last
}

// claim gives a login to an account. Whoever had it before is no longer found by
// it.
func (w *World) claim(login string, id int64) {
	key := strings.ToLower(login)
	if _, taken := w.logins[key]; taken {
		panic(fmt.Sprintf("forgetest: the login %q is taken", login))
	}
	w.logins[key] = id
	delete(w.formerly, key)
}

// AddUser makes an account.
func (w *World) AddUser(login string) int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	id := w.next()
	w.claim(login, id)
	w.users[id] = User{ID: id, Login: login, Email: login + "@example.com"}
	return id
}

// AddOrg makes a public organization with these owners.
func (w *World) AddOrg(login string, owners ...int64) int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	id := w.next()
	w.claim(login, id)
	w.orgs[id] = Org{ID: id, Login: login, Visibility: Public}
	w.members[id] = map[int64]string{}
	for _, user := range owners {
		w.enroll(id, user, forge.OrgOwner)
	}
	return id
}

// AddRepo makes a repository of a user or an organization.
func (w *World) AddRepo(owner int64, name string, v Visibility) int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.addRepo(owner, name, v)
}

func (w *World) addRepo(owner int64, name string, v Visibility) int64 {
	r := Repo{ID: w.next(), Owner: owner, Name: name, Visibility: v}
	w.grants[r.ID] = map[int64]Grant{}
	w.place(r)
	return r.ID
}

// place puts a repository where its owner and name say. A redirect that was there
// ends.
func (w *World) place(r Repo) {
	_, user := w.users[r.Owner]
	if _, org := w.orgs[r.Owner]; !user && !org {
		panic(fmt.Sprintf("forgetest: there is no owner %d", r.Owner))
	}
	at := path{r.Owner, strings.ToLower(r.Name)}
	if other, taken := w.paths[at]; taken && other != r.ID {
		panic(fmt.Sprintf("forgetest: the name %q is taken", r.Name))
	}
	delete(w.oldPaths, at)
	w.paths[at], w.repos[r.ID] = r.ID, r
}

// AddTeam makes a team of an organization with these members, who become members
// of that as well. Its repositories come with [World.AddTeamRepo].
func (w *World) AddTeam(t Team, members ...int64) int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	must(w.orgs, "organization", t.Org)
	t.ID, t.Units = w.next(), maps.Clone(t.Units)
	w.teams[t.ID] = t
	w.teamMembers[t.ID], w.teamRepos[t.ID] = map[int64]bool{}, map[int64]bool{}
	for _, user := range members {
		w.teamMembers[t.ID][user] = true
		if w.members[t.Org][user] == "" {
			w.enroll(t.Org, user, forge.OrgMember)
		}
	}
	return t.ID
}

// AddTeamRepo gives a team its role on a repository.
func (w *World) AddTeamRepo(team, repo int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	must(w.teams, "team", team)
	must(w.repos, "repository", repo)
	w.teamRepos[team][repo] = true
}

// SetMember makes a user forge.OrgOwner or forge.OrgMember of an organization;
// "" ends the membership and takes the user out of its teams.
func (w *World) SetMember(org, user int64, standing string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	must(w.orgs, "organization", org)
	w.enroll(org, user, standing)
	if standing != "" {
		return
	}
	for id, t := range w.teams {
		if t.Org == org {
			delete(w.teamMembers[id], user)
		}
	}
}

func (w *World) enroll(org, user int64, standing string) {
	must(w.users, "user", user)
	at, there := slices.BinarySearch(w.rosters[org], user)
	switch {
	case standing == "" && there:
		w.rosters[org] = slices.Delete(w.rosters[org], at, at+1)
	case standing != "" && !there:
		w.rosters[org] = slices.Insert(w.rosters[org], at, user)
	}
	if standing == "" {
		delete(w.members[org], user)
	} else {
		w.members[org][user] = standing
	}
}

// SetBase gives a role to every member of an organization, on everything of it.
func (w *World) SetBase(org int64, role forge.Role) {
	w.changeOrg(org, func(o *Org) { o.Base = role })
}

// SetOrgVisibility shows or hides an organization.
func (w *World) SetOrgVisibility(org int64, v Visibility) {
	w.changeOrg(org, func(o *Org) { o.Visibility = v })
}

func (w *World) changeOrg(id int64, change func(*Org)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	o := must(w.orgs, "organization", id)
	change(&o)
	w.orgs[id] = o
}

// SetRole makes a user a collaborator with this role; None removes them.
func (w *World) SetRole(repo, user int64, role forge.Role) { w.SetCustomRole(repo, user, role, "") }

// SetCustomRole makes a user a collaborator with a role of the host's operator's
// own naming, which has base beneath it.
func (w *World) SetCustomRole(repo, user int64, base forge.Role, name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	must(w.repos, "repository", repo)
	must(w.users, "user", user)
	if base == forge.None {
		delete(w.grants[repo], user)
		return
	}
	w.grants[repo][user] = Grant{Role: base, Custom: name}
}

// Rename gives a repository another name. The old one redirects to it.
func (w *World) Rename(repo int64, name string) {
	w.move(repo, func(r *Repo) { r.Name = name })
}

// Transfer gives a repository to another owner. The old path redirects to it.
func (w *World) Transfer(repo, owner int64) {
	w.move(repo, func(r *Repo) { r.Owner = owner })
}

func (w *World) move(repo int64, change func(*Repo)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := must(w.repos, "repository", repo)
	old := path{r.Owner, strings.ToLower(r.Name)}
	delete(w.paths, old)
	change(&r)
	w.place(r)
	if w.paths[old] != repo {
		w.oldPaths[old] = repo
	}
}

// Recycle makes a new private repository under a name that another one had.
func (w *World) Recycle(owner int64, name string) int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.addRepo(owner, name, Private)
}

// SetVisibility shows or hides a repository.
func (w *World) SetVisibility(repo int64, v Visibility) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := must(w.repos, "repository", repo)
	r.Visibility = v
	w.repos[repo] = r
}

// DeleteRepo ends a repository. Nothing redirects to it any more.
func (w *World) DeleteRepo(repo int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.deleteRepo(must(w.repos, "repository", repo))
}

func (w *World) deleteRepo(r Repo) {
	delete(w.paths, path{r.Owner, strings.ToLower(r.Name)})
	maps.DeleteFunc(w.oldPaths, func(_ path, id int64) bool { return id == r.ID })
	delete(w.repos, r.ID)
	delete(w.grants, r.ID)
	for _, repos := range w.teamRepos {
		delete(repos, r.ID)
	}
}

// RenameUser gives a user another login. The old one redirects until somebody
// takes it.
func (w *World) RenameUser(user int64, login string) {
	w.changeUser(user, func(u *User) { w.relabel(u.Login, login, u.ID); u.Login = login })
}

// RenameOrg gives an organization another name. The old one redirects until
// somebody takes it.
func (w *World) RenameOrg(org int64, login string) {
	w.changeOrg(org, func(o *Org) { w.relabel(o.Login, login, o.ID); o.Login = login })
}

func (w *World) relabel(old, login string, id int64) {
	delete(w.logins, strings.ToLower(old))
	w.claim(login, id)
	if !strings.EqualFold(old, login) {
		w.formerly[strings.ToLower(old)] = id
	}
}

// RecycleUser makes a new account under a login that another one had.
func (w *World) RecycleUser(login string) int64 { return w.AddUser(login) }

// BlockUser keeps a user from signing in and from using tokens.
func (w *World) BlockUser(user int64) { w.changeUser(user, func(u *User) { u.Blocked = true }) }

// SetSiteAdmin makes a user an administrator of the whole host.
func (w *World) SetSiteAdmin(user int64) { w.changeUser(user, func(u *User) { u.SiteAdmin = true }) }

// SetBot makes an account a machine's.
func (w *World) SetBot(user int64) { w.changeUser(user, func(u *User) { u.Bot = true }) }

func (w *World) changeUser(id int64, change func(*User)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	u := must(w.users, "user", id)
	change(&u)
	w.users[id] = u
}

// DeleteUser ends an account, its repositories, memberships and tokens.
func (w *World) DeleteUser(user int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	u := must(w.users, "user", user)
	for _, r := range w.repos {
		if r.Owner == user {
			w.deleteRepo(r)
		}
	}
	for org := range w.members {
		w.enroll(org, user, "")
	}
	for _, grants := range w.grants {
		delete(grants, user)
	}
	for _, members := range w.teamMembers {
		delete(members, user)
	}
	w.revokeAll(func(t Token) bool { return t.User == user })
	maps.DeleteFunc(w.formerly, func(_ string, id int64) bool { return id == user })
	delete(w.logins, strings.ToLower(u.Login))
	delete(w.users, user)
}

// DeleteOrg ends an organization, its teams and repositories.
func (w *World) DeleteOrg(org int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	o := must(w.orgs, "organization", org)
	for _, r := range w.repos {
		if r.Owner == org {
			w.deleteRepo(r)
		}
	}
	for id, t := range w.teams {
		if t.Org == org {
			delete(w.teams, id)
			delete(w.teamMembers, id)
			delete(w.teamRepos, id)
		}
	}
	delete(w.members, org)
	delete(w.rosters, org)
	maps.DeleteFunc(w.formerly, func(_ string, id int64) bool { return id == org })
	delete(w.logins, strings.ToLower(o.Login))
	delete(w.orgs, org)
}
