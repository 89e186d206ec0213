package forgetest

import (
	"slices"

	"coffer/server/forge"
)

var roles = []forge.Role{forge.None, forge.Read, forge.Triage, forge.Write, forge.Maintain, forge.Admin}

// Least reports whether a role is at least another.
func Least(have, want forge.Role) bool {
	return slices.Index(roles, have) >= slices.Index(roles, want)
}

func most(a, b forge.Role) forge.Role {
	if Least(a, b) {
		return a
	}
	return b
}

// Role is what a user was explicitly given on a repository, the most of: its
// owner's, an organization owner's, the organization's base role, a
// collaborator's, their teams'. That strangers read what is public is no part of
// it; see [World.Sees].
func (w *World) Role(repo, user int64) forge.Role {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.role(w.repos[repo], user)
}

func (w *World) role(r Repo, user int64) forge.Role {
	if _, known := w.users[user]; !known || r.ID == 0 {
		return forge.None
	}
	standing := w.members[r.Owner][user]
	if r.Owner == user || standing == forge.OrgOwner {
		return forge.Admin
	}
	role := w.grants[r.ID][user].Role
	if standing != "" {
		role = most(role, w.orgs[r.Owner].Base)
	}
	return most(role, w.teamRole(r.ID, user))
}

func (w *World) teamRole(repo, user int64) forge.Role {
	role := forge.None
	for id, members := range w.teamMembers {
		if members[user] && w.teamRepos[id][repo] {
			role = most(role, w.teams[id].Role)
		}
	}
	return role
}

// InTeam reports whether a user is in a team of the repository, whatever the
// team may do there: in one for issues only as well.
func (w *World) InTeam(repo, user int64) bool {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.inTeam(repo, user)
}

func (w *World) inTeam(repo, user int64) bool {
	for id, members := range w.teamMembers {
		if members[user] && w.teamRepos[id][repo] {
			return true
		}
	}
	return false
}

// Sees reports whether a user may know of a repository; user 0 is a stranger who
// is not signed in.
func (w *World) Sees(repo, user int64) bool {
	w.mu.RLock()
	defer w.mu.RUnlock()
	r, ok := w.repos[repo]
	if !ok {
		return false
	}
	visibility := r.Visibility
	if org, ok := w.orgs[r.Owner]; ok && visibility == Public && org.Visibility != Public {
		visibility = org.Visibility
	}
	_, known := w.users[user]
	switch {
	case visibility == Public, visibility == Internal && known:
		return true
	case w.members[r.Owner][user] != "" && r.Visibility != Private:
		return true
	}
	return known && (w.role(r, user) != forge.None || w.inTeam(repo, user))
}

// Everyone lists all who have an explicit role on a repository, by id, each with
// the most of their roles.
func (w *World) Everyone(repo int64) []Grant {
	w.mu.RLock()
	defer w.mu.RUnlock()
	r := w.repos[repo]
	found := map[int64]Grant{}
	for _, u := range w.candidates(r) {
		if role := w.role(r, u); role != forge.None {
			found[u] = Grant{User: w.users[u], Role: role, Custom: w.grants[repo][u].Custom}
		}
	}
	return sorted(found)
}

// candidates are the users who can have a role on a repository.
func (w *World) candidates(r Repo) []int64 {
	ids := []int64{r.Owner}
	for id := range w.members[r.Owner] {
		ids = append(ids, id)
	}
	for id := range w.grants[r.ID] {
		ids = append(ids, id)
	}
	for team, members := range w.teamMembers {
		if !w.teamRepos[team][r.ID] {
			continue
		}
		for id := range members {
			ids = append(ids, id)
		}
	}
	return ids
}
