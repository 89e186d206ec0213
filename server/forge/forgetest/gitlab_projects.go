package forgetest

import (
	"cmp"
	"coffer/server/standin"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"coffer/server/forge"
)

// level is what a user is to a project by all ways, and the membership that says
// so; 0 is nothing.
func (g *GitLab) level(repo Repo, user int64) Membership {
	best := Membership{Level: gitlabLevels[g.World.Role(repo.ID, user)]}
	if g.World.InTeam(repo.ID, user) {
		best.Level = max(best.Level, Guest)
	}
	best = higher(best, g.specially(repo.ID, user))
	if _, org := g.World.Org(repo.Owner); org {
		best = higher(best, g.groupLevel(g.groupOf(repo), user))
	}
	return best
}

// groupLevel is what a user is to a group, by itself or by one that it is in.
func (g *GitLab) groupLevel(group, user int64) Membership {
	var best Membership
	for group != 0 {
		best = higher(best, g.specially(group, user))
		if org, ok := g.World.Org(group); ok {
			switch g.World.Standing(group, user) {
			case forge.OrgOwner:
				best = higher(best, Membership{Level: gitlabLevels[forge.Admin]})
			case forge.OrgMember:
				best = higher(best, Membership{Level: max(Guest, gitlabLevels[org.Base])})
			}
		}
		group = g.parent(group)
	}
	return best
}

func higher(a, b Membership) Membership {
	if b.Level > a.Level {
		return b
	}
	return a
}

func (g *GitLab) specially(of, user int64) Membership {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.special[memberOf{of, user}]
}

func (g *GitLab) parent(group int64) int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.groups[group].Parent
}

// groupOf is the group that an organization's project is in.
func (g *GitLab) groupOf(repo Repo) int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return cmp.Or(g.places[repo.ID], repo.Owner)
}

func (g *GitLab) groupPath(group int64) string {
	if org, ok := g.World.Org(group); ok {
		return org.Login
	}
	g.mu.Lock()
	sub := g.groups[group]
	g.mu.Unlock()
	return g.groupPath(sub.Parent) + "/" + sub.Name
}

func (g *GitLab) projectPath(repo Repo) string {
	if owner, ok := g.World.User(repo.Owner); ok {
		return owner.Login + "/" + repo.Name
	}
	return g.groupPath(g.groupOf(repo)) + "/" + repo.Name
}

func (g *GitLab) sees(repo Repo, u User) bool {
	return u.SiteAdmin || repo.Visibility != Private || g.level(repo, u.ID).Level >= Guest
}

// find is the project that a request's path names, by number or by path. Moved
// says that it was by a path of old.
func (g *GitLab) find(r *http.Request, s session) (repo Repo, moved, ok bool) {
	name := r.PathValue("id")
	if id, err := strconv.ParseInt(name, 10, 64); err == nil {
		repo, ok = g.World.Repo(id)
		return repo, false, ok && g.sees(repo, s.user)
	}
	parts := strings.Split(name, "/")
	if len(parts) < 2 {
		return Repo{}, false, false
	}
	last := len(parts) - 1
	repo, moved, ok = g.World.RepoNamed(parts[0], parts[last])
	if !ok || !g.sees(repo, s.user) {
		return Repo{}, false, false
	}
	between := strings.Split(g.projectPath(repo), "/")
	between = between[1 : len(between)-1]
	return repo, moved, slices.EqualFunc(between, parts[1:last], strings.EqualFold)
}

func (g *GitLab) project(rw http.ResponseWriter, r *http.Request, s session) {
	repo, moved, ok := g.find(r, s)
	switch {
	case !ok:
		absent(rw, "Project")
	case moved && r.Method != http.MethodGet:
		standin.Answer(rw, http.StatusMethodNotAllowed, map[string]any{"message": "Non GET methods are not allowed for moved projects"})
	case r.Method != http.MethodGet:
		standin.Answer(rw, http.StatusForbidden, map[string]any{"message": "403 Forbidden"})
	case moved:
		http.Redirect(rw, r, fmt.Sprintf("%s/api/v4/projects/%d", g.URL, repo.ID), http.StatusMovedPermanently)
	default:
		standin.Answer(rw, http.StatusOK, g.describe(repo, s))
	}
}

// simply is what a list tells of a project when it is asked to be brief.
func (g *GitLab) simply(repo Repo) map[string]any {
	path := g.projectPath(repo)
	return map[string]any{
		"id": repo.ID, "name": repo.Name, "path": repo.Name, "path_with_namespace": path, "description": nil,
		"name_with_namespace": strings.ReplaceAll(path, "/", " / "), "created_at": "2024-01-02T03:04:05.000Z",
		"avatar_url": nil, "web_url": g.URL + "/" + path, "namespace": g.namespace(repo),
	}
}

func (g *GitLab) describe(repo Repo, s session) map[string]any {
	about := g.simply(repo)
	about["visibility"], about["archived"] = repo.Visibility, repo.Archived
	about["marked_for_deletion_on"] = nil
	if owner, ok := g.World.User(repo.Owner); ok {
		about["owner"] = g.basic(owner)
	}
	about["permissions"] = g.permissions(repo, s.user.ID)
	return about
}

// permissions leaves out who came through a group that the project is shared
// with.
func (g *GitLab) permissions(repo Repo, user int64) map[string]any {
	about := map[string]any{"project_access": nil, "group_access": nil}
	if grant, ok := g.World.Given(repo.ID, user); ok {
		about["project_access"] = map[string]any{"access_level": gitlabLevels[grant.Role], "notification_level": 3}
	}
	if _, org := g.World.Org(repo.Owner); org {
		if m := g.groupLevel(g.groupOf(repo), user); m.Level > 0 {
			about["group_access"] = map[string]any{"access_level": m.Level, "notification_level": 3}
		}
	}
	return about
}

// namespaces of users have numbers of their own.
const userNamespace = 1 << 40

func (g *GitLab) namespace(repo Repo) map[string]any {
	if u, ok := g.World.User(repo.Owner); ok {
		return map[string]any{
			"id": userNamespace + u.ID, "name": u.Login, "path": u.Login, "kind": "user", "full_path": u.Login,
			"parent_id": nil, "avatar_url": nil, "web_url": g.URL + "/" + u.Login,
		}
	}
	group := g.groupOf(repo)
	path := g.groupPath(group)
	name := path[strings.LastIndexByte(path, '/')+1:]
	return map[string]any{
		"id": group, "name": name, "path": name, "kind": "group", "full_path": path,
		"parent_id": number(g.parent(group)), "avatar_url": nil, "web_url": g.URL + "/groups/" + path,
	}
}

// number is an id that may be missing.
func number(id int64) any {
	if id == 0 {
		return nil
	}
	return id
}

func (g *GitLab) listProjects(rw http.ResponseWriter, r *http.Request, s session) {
	least, _ := strconv.Atoi(r.FormValue("min_access_level"))
	var all []Repo
	for _, repo := range g.World.Repos() {
		level := g.level(repo, s.user.ID).Level
		if r.FormValue("membership") == "true" && level < Guest || least > 0 && level < least || !g.sees(repo, s.user) {
			continue
		}
		all = append(all, repo)
	}
	if r.FormValue("sort") != "asc" {
		slices.Reverse(all)
	}
	page(g, rw, r, all, func(repo Repo) map[string]any {
		if r.FormValue("simple") == "true" {
			return g.simply(repo)
		}
		return g.describe(repo, s)
	})
}

// member describes a user with a membership.
func (g *GitLab) member(u User, m Membership, custom string) map[string]any {
	about := g.basic(u)
	about["access_level"], about["created_at"], about["expires_at"] = m.Level, "2024-01-02T03:04:05.000Z", day(m.Expires)
	about["membership_state"] = "active"
	if m.Waiting {
		about["membership_state"] = "awaiting"
	}
	if custom != "" {
		about["member_role"] = map[string]any{"id": 12, "group_id": 84, "name": custom, "base_access_level": m.Level}
	}
	return about
}

// custom is the name of the custom role that a user's level comes from, or "".
func (g *GitLab) custom(repo Repo, user int64, m Membership) string {
	if grant, ok := g.World.Given(repo.ID, user); ok && gitlabLevels[grant.Role] == m.Level {
		return grant.Custom
	}
	return ""
}

func (g *GitLab) projectMember(rw http.ResponseWriter, r *http.Request, s session) {
	if members, ok := g.onProject(rw, r, s); ok {
		g.answerMember(rw, r, members)
	}
}

func (g *GitLab) projectMembers(rw http.ResponseWriter, r *http.Request, s session) {
	if members, ok := g.onProject(rw, r, s); ok {
		g.listMembers(rw, r, members)
	}
}

// membership is what a user is to something, with the name of their custom role.
type membership func(user int64) (m Membership, custom string)

func (g *GitLab) onProject(rw http.ResponseWriter, r *http.Request, s session) (membership, bool) {
	repo, _, ok := g.find(r, s)
	if !ok {
		absent(rw, "Project")
	}
	return func(user int64) (Membership, string) {
		m := g.level(repo, user)
		return m, g.custom(repo, user, m)
	}, ok
}

func (g *GitLab) answerMember(rw http.ResponseWriter, r *http.Request, of membership) {
	id, _ := strconv.ParseInt(r.PathValue("user"), 10, 64)
	u, known := g.World.User(id)
	m, custom := of(id)
	if !known || m.Level == 0 {
		absent(rw, "")
		return
	}
	standin.Answer(rw, http.StatusOK, g.member(u, m, custom))
}

func (g *GitLab) listMembers(rw http.ResponseWriter, r *http.Request, of membership) {
	var all []User
	for _, u := range g.World.Users() {
		if m, _ := of(u.ID); m.Level > 0 {
			all = append(all, u)
		}
	}
	page(g, rw, r, all, func(u User) map[string]any {
		m, custom := of(u.ID)
		return g.member(u, m, custom)
	})
}
