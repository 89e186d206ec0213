// Package forgetest stands in for other people's code hosts in tests, and holds
// the rules that every [forge.Forge] keeps.
//
// A [World] is the truth: people, organizations, repositories, tokens. A fake
// is a host's HTTP API over a World, with that host's awkward habits. It embeds
// a [Fake], which listens, logs what was asked, and breaks things on demand:
//
//	type GitHub struct {
//		*Fake
//	}
//
//	func NewGitHub(t testing.TB, w *World) *GitHub {
//		w.Shape(func(k Token) string { return "ghp_" + k.Random })
//		g := &GitHub{}
//		mux := http.NewServeMux()
//		mux.HandleFunc("GET /user", g.user)
//		g.Fake = NewFake(t, w, mux)
//		return g
//	}
//
//	func (g *GitHub) user(rw http.ResponseWriter, r *http.Request) {
//		token, ok := g.World.Live(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
//		user, known := g.World.User(token.User)
//		if !ok || !known || user.Blocked {
//			Answer(rw, http.StatusUnauthorized, map[string]any{"message": "Bad credentials"})
//			return
//		}
//		Answer(rw, http.StatusOK, map[string]any{"id": user.ID, "login": user.Login})
//	}
//
// A test then changes the World between two questions:
//
//	w := NewWorld()
//	ada, repo := w.AddUser("ada"), ...
//	w.SetRole(repo, ada, forge.Write)
//	w.Rename(repo, "other")
//	fake.Break("/repos/", TooMany("7"))
//
// Asking for what does not exist answers false; changing what does not exist is
// a mistake in the test and panics.
package forgetest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"coffer/server/forge"
)

// Visibility says who may see a repository or an organization.
type Visibility string

// The visibilities. Internal is for everybody who is signed in; Gitea's word for
// it at an organization is limited.
const (
	Public   Visibility = "public"
	Internal Visibility = "internal"
	Private  Visibility = "private"
)

// User is a person's account.
type User struct {
	ID        int64
	Login     string
	Email     string
	Bot       bool
	Blocked   bool // may not sign in; tokens are dead as well
	SiteAdmin bool
}

// Org is an organization, or in GitLab's words a top-level group.
type Org struct {
	ID         int64
	Login      string
	Visibility Visibility
	Base       forge.Role // of every member, on every repository of it
}

// Member is a user's membership of an organization.
type Member struct {
	User     User
	Standing string // forge.OrgOwner or forge.OrgMember
}

// Team gives its members a role on its repositories. At GitLab it is a group
// that a project is shared with.
type Team struct {
	ID    int64
	Org   int64
	Name  string
	Role  forge.Role        // on code
	Units map[string]string // Gitea: rights by unit, such as "repo.code": "write"; nil for a team without units
}

// Owner is whoever a repository belongs to.
type Owner struct {
	ID         int64
	Login      string
	Kind       forge.OwnerKind
	Visibility Visibility
}

// Repo is a repository.
type Repo struct {
	ID         int64
	Owner      int64
	Name       string
	Visibility Visibility
	Archived   bool
}

// Grant is the role of one account on a repository.
type Grant struct {
	User   User
	Role   forge.Role
	Custom string // name of a custom role whose base is Role, or ""
}

// World is the state of a code host. Its methods may be called by many
// goroutines at once. Ids are never given out twice, not even to things of
// different kinds.
type World struct {
	mu    sync.RWMutex
	last  int64
	clock time.Time

	users    map[int64]User
	orgs     map[int64]Org
	repos    map[int64]Repo
	teams    map[int64]Team
	logins   map[string]int64 // of users and organizations, in lower case
	formerly map[string]int64 // logins of old
	paths    map[path]int64
	oldPaths map[path]int64

	members     map[int64]map[int64]string // by organization and user
	rosters     map[int64][]int64          // the same users by organization, in order
	grants      map[int64]map[int64]Grant  // by repository and user; User is empty
	teamMembers map[int64]map[int64]bool   // by team and user
	teamRepos   map[int64]map[int64]bool   // by team and repository

	tokenState
}

type path struct {
	owner int64
	name  string // in lower case
}

// NewWorld makes an empty world.
func NewWorld() *World {
	return &World{
		last:  1000,
		clock: time.Now().Truncate(time.Second),
		users: map[int64]User{}, orgs: map[int64]Org{}, repos: map[int64]Repo{}, teams: map[int64]Team{},
		logins: map[string]int64{}, formerly: map[string]int64{}, paths: map[path]int64{}, oldPaths: map[path]int64{},
		members: map[int64]map[int64]string{}, rosters: map[int64][]int64{}, grants: map[int64]map[int64]Grant{},
		teamMembers: map[int64]map[int64]bool{}, teamRepos: map[int64]map[int64]bool{},
		tokenState: newTokenState(),
	}
}

// Now is the world's time, which stands still.
func (w *World) Now() time.Time {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.clock
}

// Advance lets time pass.
func (w *World) Advance(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.clock = w.clock.Add(d)
}

// User finds a user by id.
func (w *World) User(id int64) (User, bool) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	u, ok := w.users[id]
	return u, ok
}

// UserNamed finds a user by login, in any case. Moved is true if that is a login
// of old.
func (w *World) UserNamed(login string) (u User, moved, ok bool) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	id, moved := w.named(login)
	u, ok = w.users[id]
	return u, moved && ok, ok
}

// Org finds an organization by id.
func (w *World) Org(id int64) (Org, bool) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	o, ok := w.orgs[id]
	return o, ok
}

// OrgNamed finds an organization by name, in any case. Moved is true if that is
// a name of old.
func (w *World) OrgNamed(login string) (o Org, moved, ok bool) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	id, moved := w.named(login)
	o, ok = w.orgs[id]
	return o, moved && ok, ok
}

// named resolves a login of today, or else one of old.
func (w *World) named(login string) (id int64, moved bool) {
	if id, ok := w.logins[strings.ToLower(login)]; ok {
		return id, false
	}
	id, moved = w.formerly[strings.ToLower(login)]
	return id, moved
}

// Repo finds a repository by id.
func (w *World) Repo(id int64) (Repo, bool) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	r, ok := w.repos[id]
	return r, ok
}

// RepoNamed finds a repository by its owner's and its own name, in any case.
// Moved is true if one of them is of old; the host would redirect.
func (w *World) RepoNamed(owner, name string) (r Repo, moved, ok bool) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	of, moved := w.named(owner)
	at := path{of, strings.ToLower(name)}
	id, now := w.paths[at]
	if !now {
		id, moved = w.oldPaths[at], true
	}
	r, ok = w.repos[id]
	return r, moved && ok, ok
}

// Owner finds a user or an organization by id.
func (w *World) Owner(id int64) (Owner, bool) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if u, ok := w.users[id]; ok {
		return Owner{u.ID, u.Login, forge.OwnerUser, Public}, true
	}
	o, ok := w.orgs[id]
	return Owner{o.ID, o.Login, forge.OwnerOrg, o.Visibility}, ok
}

// Users lists all users by id.
func (w *World) Users() []User {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return sorted(w.users)
}

// Orgs lists all organizations by id.
func (w *World) Orgs() []Org {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return sorted(w.orgs)
}

// Repos lists all repositories by id.
func (w *World) Repos() []Repo {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return sorted(w.repos)
}

// Members lists an organization's members by id.
func (w *World) Members(org int64) []Member {
	w.mu.RLock()
	defer w.mu.RUnlock()
	all := make([]Member, 0, len(w.members[org]))
	for _, user := range w.rosters[org] {
		all = append(all, Member{w.users[user], w.members[org][user]})
	}
	return all
}

// Standing is what a user is to an organization, or "".
func (w *World) Standing(org, user int64) string {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.members[org][user]
}

// OrgsOf lists the organizations that a user is a member of, by id.
func (w *World) OrgsOf(user int64) []Org {
	w.mu.RLock()
	defer w.mu.RUnlock()
	mine := map[int64]Org{}
	for id, members := range w.members {
		if members[user] != "" {
			mine[id] = w.orgs[id]
		}
	}
	return sorted(mine)
}

// Direct lists a repository's explicit collaborators by id: neither its owners
// nor teams.
func (w *World) Direct(repo int64) []Grant {
	w.mu.RLock()
	defer w.mu.RUnlock()
	all := make([]Grant, 0, len(w.grants[repo]))
	for _, user := range slices.Sorted(maps.Keys(w.grants[repo])) {
		g := w.grants[repo][user]
		g.User = w.users[user]
		all = append(all, g)
	}
	return all
}

// Given is a user's explicit grant on a repository, neither an owner's nor a
// team's.
func (w *World) Given(repo, user int64) (Grant, bool) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	g, ok := w.grants[repo][user]
	g.User = w.users[user]
	return g, ok
}

// TeamsOn lists the teams of a repository by id.
func (w *World) TeamsOn(repo int64) []Team {
	w.mu.RLock()
	defer w.mu.RUnlock()
	found := map[int64]Team{}
	for id, repos := range w.teamRepos {
		if repos[repo] {
			found[id] = w.teams[id]
		}
	}
	return sorted(found)
}

// Team finds a team by id.
func (w *World) Team(id int64) (Team, bool) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	t, ok := w.teams[id]
	return t, ok
}

// TeamMembers lists a team's members by id.
func (w *World) TeamMembers(team int64) []User {
	w.mu.RLock()
	defer w.mu.RUnlock()
	found := map[int64]User{}
	for id := range w.teamMembers[team] {
		found[id] = w.users[id]
	}
	return sorted(found)
}

// sorted lists a map's values by id.
func sorted[T any](m map[int64]T) []T {
	all := make([]T, 0, len(m))
	for _, id := range slices.Sorted(maps.Keys(m)) {
		all = append(all, m[id])
	}
	return all
}

func must[T any](m map[int64]T, what string, id int64) T {
	v, ok := m[id]
	if !ok {
		panic(fmt.Sprintf("forgetest: there is no %s %d", what, id))
	}
	return v
}

// unused is an id that nothing has.
func (w *World) unused() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.next()
}
