package forgetest

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"coffer/server/standin"
)

// allGroups are the ids of groups and subgroups.
func (g *GitLab) allGroups() []int64 {
	g.World.mu.RLock()
	var ids []int64
	for id := range g.World.orgs {
		ids = append(ids, id)
	}
	g.World.mu.RUnlock()
	g.mu.Lock()
	defer g.mu.Unlock()
	for id := range g.groups {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// seesGroup is for members, and for whoever sees a project in the group.
func (g *GitLab) seesGroup(group int64, u User) bool {
	if u.SiteAdmin || g.groupLevel(group, u.ID).Level > 0 {
		return true
	}
	top := group
	for g.parent(top) != 0 {
		top = g.parent(top)
	}
	if org, _ := g.World.Org(top); org.Visibility != Private {
		return true
	}
	return slices.ContainsFunc(g.World.Repos(), func(repo Repo) bool {
		in := strings.HasPrefix(g.projectPath(repo), g.groupPath(group)+"/")
		return in && g.sees(repo, u)
	})
}

// findGroup takes a name of digits for a number.
func (g *GitLab) findGroup(r *http.Request, s session) (int64, bool) {
	name := r.PathValue("id")
	id, err := strconv.ParseInt(name, 10, 64)
	for _, group := range g.allGroups() {
		if (err == nil && group == id || err != nil && strings.EqualFold(g.groupPath(group), name)) && g.seesGroup(group, s.user) {
			return group, true
		}
	}
	return 0, false
}

func (g *GitLab) describeGroup(group int64) map[string]any {
	path := g.groupPath(group)
	name := path[strings.LastIndexByte(path, '/')+1:]
	about := map[string]any{
		"id": group, "name": name, "path": name, "full_path": path, "full_name": strings.ReplaceAll(path, "/", " / "),
		"description": "", "visibility": Private, "parent_id": number(g.parent(group)), "avatar_url": nil,
		"web_url": g.URL + "/groups/" + path, "created_at": "2024-01-02T03:04:05.000Z",
	}
	if org, ok := g.World.Org(group); ok {
		about["visibility"] = org.Visibility
	}
	return about
}

func (g *GitLab) group(rw http.ResponseWriter, r *http.Request, s session) {
	group, ok := g.findGroup(r, s)
	if !ok {
		absent(rw, "Group")
		return
	}
	about := g.describeGroup(group)
	if r.FormValue("with_projects") != "false" {
		projects := []map[string]any{}
		for _, repo := range g.World.Repos() {
			if repo.Owner == group && g.sees(repo, s.user) {
				projects = append(projects, g.describe(repo, s))
			}
		}
		about["projects"] = projects
	}
	standin.Answer(rw, http.StatusOK, about)
}

func (g *GitLab) listGroups(rw http.ResponseWriter, r *http.Request, s session) {
	least, _ := strconv.Atoi(r.FormValue("min_access_level"))
	var all []int64
	for _, group := range g.allGroups() {
		if r.FormValue("top_level_only") == "true" && g.parent(group) != 0 {
			continue
		}
		if least > 0 && g.groupLevel(group, s.user.ID).Level < least || !g.seesGroup(group, s.user) {
			continue
		}
		all = append(all, group)
	}
	page(g, rw, r, all, g.describeGroup)
}

func (g *GitLab) groupMember(rw http.ResponseWriter, r *http.Request, s session) {
	if members, ok := g.inGroup(rw, r, s); ok {
		g.answerMember(rw, r, members)
	}
}

func (g *GitLab) groupMembers(rw http.ResponseWriter, r *http.Request, s session) {
	if members, ok := g.inGroup(rw, r, s); ok {
		g.listMembers(rw, r, members)
	}
}

func (g *GitLab) inGroup(rw http.ResponseWriter, r *http.Request, s session) (membership, bool) {
	group, ok := g.findGroup(r, s)
	if !ok {
		absent(rw, "Group")
	}
	return func(user int64) (Membership, string) { return g.groupLevel(group, user), "" }, ok
}
