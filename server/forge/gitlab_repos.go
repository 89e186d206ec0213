package forge

import (
	"context"
	"errors"
	"net/url"
	"strconv"
	"strings"
)

// GitLab's access levels, as far as they make a difference.
const (
	gitlabGuest      = 10
	gitlabReporter   = 20
	gitlabDeveloper  = 30
	gitlabMaintainer = 40
	gitlabOwner      = 50
)

// gitlabMaxDepth is more groups in groups than GitLab allows.
const gitlabMaxDepth = 30

type gitlabGroup struct {
	ID        int64  `json:"id"`
	Path      string `json:"path"`
	FullPath  string `json:"full_path"`
	Name      string `json:"name"`
	ParentID  int64  `json:"parent_id"`
	AvatarURL string `json:"avatar_url"`
	Kind      string `json:"kind"` // of a project's namespace: user or group
}

func (o gitlabGroup) whole() bool { return o.ID != 0 && o.Path != "" }

type gitlabProject struct {
	ID         int64       `json:"id"`
	Path       string      `json:"path_with_namespace"`
	Visibility string      `json:"visibility"`
	AvatarURL  string      `json:"avatar_url"`
	Namespace  gitlabGroup `json:"namespace"`
	Owner      gitlabUser  `json:"owner"` // of personal projects only
}

func (p gitlabProject) whole() bool { return p.ID != 0 && strings.Contains(p.Path, "/") }

type gitlabMember struct {
	gitlabUser
	AccessLevel     int    `json:"access_level"`
	ExpiresAt       string `json:"expires_at"`
	MembershipState string `json:"membership_state"`
	MemberRole      struct {
		BaseAccessLevel int `json:"base_access_level"`
	} `json:"member_role"`
}

// level is what a member may do today.
func (g *gitlab) level(m gitlabMember) int {
	pending := m.MembershipState != "" && m.MembershipState != "active"
	switch {
	case m.State != "active", pending, g.passed(m.ExpiresAt):
		return 0
	case m.MemberRole.BaseAccessLevel > 0:
		return m.MemberRole.BaseAccessLevel
	}
	return m.AccessLevel
}

func (g *gitlab) role(level int) Role {
	switch {
	case level >= g.admin:
		return Admin
	case level >= gitlabMaintainer:
		return Maintain
	case level >= gitlabDeveloper:
		return Write
	case level >= gitlabReporter:
		return Read
	}
	return None
}

// member is what a user is to a project or a group, by all ways; no member is
// level 0. Whether the asker sees the project or group is for the caller to know.
func (g *gitlab) member(ctx context.Context, k gitlabKey, of, user string) (int, error) {
	if _, err := gitlabAt("users", user); err != nil {
		return 0, err
	}
	var m gitlabMember
	_, err := g.api.get(ctx, k.token, of+"/members/all/"+user, nil, &m)
	switch {
	case errors.Is(err, ErrNotFound):
		return 0, nil
	case err != nil:
		return 0, k.blame(err)
	case gitlabID(m.ID) != user:
		return 0, errGitLabAnswer
	}
	return g.level(m), nil
}

// members lists everybody who is something to a project or a group, once each.
func (g *gitlab) members(ctx context.Context, k gitlabKey, of string) ([]gitlabMember, map[int64]int, error) {
	all, err := gitlabList[gitlabMember](ctx, g, k, of+"/members/all", nil)
	if err != nil {
		return nil, nil, err
	}
	once, levels := all[:0], make(map[int64]int, len(all))
	for _, m := range all {
		known, twice := levels[m.ID]
		levels[m.ID] = max(known, g.level(m))
		if !twice {
			once = append(once, m)
		}
	}
	return once, levels, nil
}

// insider reports whether the service token is a member of a project or group,
// or an administrator's. To others, members who came by a private group may be
// hidden: their no is not to be relied upon.
func (g *gitlab) insider(ctx context.Context, k gitlabKey, of string) (bool, error) {
	self, err := g.self(ctx, k.token)
	if err != nil {
		return false, k.blame(err)
	}
	level, err := g.member(ctx, k, of, self.ID)
	if err != nil || level >= gitlabGuest {
		return err == nil, err
	}
	return g.administers(ctx, k)
}

// administers reports whether a token may do what only administrators may, and
// so sees everything there is.
func (g *gitlab) administers(ctx context.Context, k gitlabKey) (bool, error) {
	err := g.get(ctx, k, "/application/statistics", nil, &struct{}{})
	missing := (*Missing)(nil)
	if errors.Is(err, ErrNoCredential) || errors.As(err, &missing) {
		return false, nil
	}
	return err == nil, err
}

// unseen says what it means when there was no answer: that something is not there
// is for those to say who see everything.
func (g *gitlab) unseen(ctx context.Context, k gitlabKey, err, absent error) error {
	if !k.service || !errors.Is(err, ErrNotFound) {
		return k.blame(err)
	}
	all, err := g.administers(ctx, k)
	switch {
	case err != nil:
		return err
	case all:
		return absent
	}
	return ErrNoCredential
}

// Repository finds a project by its path.
func (g *gitlab) Repository(ctx context.Context, as Asker, owner, name string) (Repository, error) {
	k, err := g.key(as)
	if err != nil {
		return Repository{}, err
	}
	path := strings.ReplaceAll(owner, ":", "/") + "/" + name
	var p gitlabProject
	if _, err := g.api.get(ctx, k.token, "/projects/"+segment(path), nil, &p); err != nil {
		return Repository{}, g.unseen(ctx, k, err, ErrNotFound)
	}
	return g.repository(ctx, k, p, nil)
}

// RepositoryByID finds a project by its number.
func (g *gitlab) RepositoryByID(ctx context.Context, as Asker, repo Repository) (Repository, error) {
	k, p, err := g.projectOf(ctx, as, repo)
	if err != nil {
		return Repository{}, err
	}
	return g.repository(ctx, k, p, nil)
}

// Role is the asker's access level on a project.
func (g *gitlab) Role(ctx context.Context, as Asker, repo Repository) (Reachable, error) {
	k, p, err := g.projectOf(ctx, as, repo)
	if err != nil {
		return Reachable{}, err
	}
	at := "/projects/" + repo.ID
	level, err := g.member(ctx, k, at, as.User.ID)
	if err != nil {
		return Reachable{}, err
	}
	if k.service && level == 0 && p.Visibility != "private" {
		if knows, err := g.insider(ctx, k, at); err != nil || !knows {
			return Reachable{}, orElse(err, ErrNoCredential)
		}
	}
	there, err := g.repository(ctx, k, p, nil)
	return Reachable{there, g.role(level)}, err
}

func orElse(err, other error) error {
	if err != nil {
		return err
	}
	return other
}

// projectOf is a project as the asker sees it.
func (g *gitlab) projectOf(ctx context.Context, as Asker, repo Repository) (k gitlabKey, p gitlabProject, err error) {
	if k, err = g.key(as); err != nil {
		return k, p, err
	}
	at, err := gitlabAt("projects", repo.ID)
	if err != nil {
		return k, p, err
	}
	if _, err = g.api.get(ctx, k.token, at, nil, &p); err != nil {
		return k, p, g.unseen(ctx, k, err, ErrGone)
	}
	if gitlabID(p.ID) != repo.ID {
		return k, p, errGitLabAnswer
	}
	return k, p, nil
}

// repository is a project in our words. Tops remembers the groups on top of one
// list by the first name of their paths; it may be nil.
func (g *gitlab) repository(ctx context.Context, k gitlabKey, p gitlabProject, tops map[string]int64) (Repository, error) {
	cut := strings.LastIndexByte(p.Path, '/')
	if p.ID == 0 || cut <= 0 || p.Visibility == "" {
		return Repository{}, errGitLabAnswer
	}
	r := Repository{
		ID: gitlabID(p.ID), Owner: strings.ReplaceAll(p.Path[:cut], "/", ":"), Name: p.Path[cut+1:],
		AvatarURL: p.AvatarURL, Public: p.Visibility == "public",
	}
	var owner int64
	switch p.Namespace.Kind {
	case "user":
		r.OwnerKind, owner = OwnerUser, p.Owner.ID
	case "group":
		first, _, _ := strings.Cut(p.Path, "/")
		r.OwnerKind, owner = OwnerOrg, tops[first]
		if owner == 0 {
			var err error
			if owner, err = g.top(ctx, k, p.Namespace); err != nil {
				return Repository{}, err
			}
		}
		if tops != nil {
			tops[first] = owner
		}
	}
	if owner == 0 {
		return Repository{}, errGitLabAnswer
	}
	r.OwnerID = gitlabID(owner)
	return r, nil
}

// top is the group on top of a group. By number: names change hands. Whoever
// sees a project sees the groups that it is in.
func (g *gitlab) top(ctx context.Context, k gitlabKey, group gitlabGroup) (int64, error) {
	for range gitlabMaxDepth {
		if group.ParentID == 0 {
			return group.ID, nil
		}
		at := "/groups/" + gitlabID(group.ParentID)
		group = gitlabGroup{}
		err := g.get(ctx, k, at, url.Values{"with_projects": {"false"}}, &group)
		switch {
		case errors.Is(err, ErrNotFound), errors.Is(err, ErrNoCredential):
			return 0, &Unavailable{Err: errors.New("it hides a group that a visible project is in")}
		case err != nil:
			return 0, err
		}
	}
	return 0, errGitLabAnswer
}

// Repositories lists the projects that the asker is a member of. GitLab does not
// list them with their levels but from a level on, so it is asked for each.
func (g *gitlab) Repositories(ctx context.Context, as Asker) ([]Reachable, error) {
	if as.Token == "" {
		return nil, ErrNoCredential
	}
	k := gitlabKey{token: as.Token}
	levels := make(map[int64]int)
	for _, level := range []int{gitlabDeveloper, gitlabMaintainer, gitlabOwner} {
		query := gitlabMine(level)
		query.Set("simple", "true")
		some, err := gitlabList[gitlabProject](ctx, g, k, "/projects", query)
		if err != nil {
			return nil, err
		}
		for _, p := range some {
			levels[p.ID] = level
		}
	}
	projects, err := gitlabList[gitlabProject](ctx, g, k, "/projects", gitlabMine(gitlabReporter))
	if err != nil {
		return nil, err
	}
	all, tops := make([]Reachable, 0, len(projects)), make(map[string]int64)
	for _, p := range projects {
		there, err := g.repository(ctx, k, p, tops)
		if err != nil {
			return nil, err
		}
		all = append(all, Reachable{there, g.role(max(levels[p.ID], gitlabReporter))})
	}
	return all, nil
}

// gitlabMine asks for the projects on which one has at least a level, in an order
// in which pages do not shift when something is added.
func gitlabMine(level int) url.Values {
	return url.Values{
		"membership": {"true"}, "min_access_level": {strconv.Itoa(level)}, "order_by": {"id"}, "sort": {"asc"},
	}
}

// Collaborators lists the members of a project, by whatever way.
func (g *gitlab) Collaborators(ctx context.Context, as Asker, repo Repository) ([]Collaborator, error) {
	k, _, err := g.projectOf(ctx, as, repo)
	if err != nil {
		return nil, err
	}
	members, levels, err := g.members(ctx, k, "/projects/"+repo.ID)
	if err != nil {
		return nil, err
	}
	all := make([]Collaborator, 0, len(members))
	for _, m := range members {
		if role := g.role(levels[m.ID]); role != None {
			all = append(all, Collaborator{User: m.user(), Role: role, URL: m.WebURL})
		}
	}
	return all, nil
}
