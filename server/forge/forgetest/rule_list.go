package forgetest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"

	"coffer/server/forge"
	"coffer/server/standin"
)

var listRules = []Rule{
	{"repositories are listed over all pages", nil, checkRepositories},
	{"repositories are listed with the roles on them", nil, checkRepositoryRoles},
	{"collaborators are listed over all pages", nil, checkCollaborators},
	{"collaborators are owners and teams as well", nil, checkEveryone},
	{"members are listed over all pages", nil, checkMembers},
	{"organizations are listed over all pages", nil, checkOrganizations},
	{"members are listed by the thousand", nil, checkManyMembers},
	{"a list whose page fails is an error", func(h *Host) bool { return h.Fake != nil }, checkBrokenLists},
	{"owners and members are told apart from neither", nil, checkStanding},
	{"an outsider's list of members is no truth", nil, checkOutsidersMembers},
}

const (
	many      = 100 // items of a long list
	smallPage = 7
)

func (h *Host) smallPages() {
	if h.Fake != nil {
		h.Fake.SetPageSize(smallPage)
	}
}

// sameMap compares what was listed with what is true, by id. A list names
// nothing twice.
func sameMap[T any, V comparable](all []T, entry func(T) (string, V), want map[string]V) error {
	got := map[string]V{}
	for _, item := range all {
		key, value := entry(item)
		if _, twice := got[key]; twice {
			return fmt.Errorf("%s is listed twice", key)
		}
		got[key] = value
	}
	for key, value := range want {
		if have, ok := got[key]; !ok || have != value {
			return fmt.Errorf("%s is listed as %v, want %v (%d listed, want %d)", key, have, value, len(got), len(want))
		}
	}
	for key, value := range got {
		if _, ok := want[key]; !ok {
			return fmt.Errorf("%s is listed as %v, and should not be", key, value)
		}
	}
	return nil
}

// repositories compares a list of repositories with roles. One without a role is
// as good as none.
func (h *Host) repositories(ctx context.Context, user int64, want map[string]forge.Role) error {
	var p problems
	for _, w := range h.ways(user) {
		all, err := w.forge.Repositories(ctx, w.as)
		if !w.own && errors.Is(err, forge.ErrNoCredential) {
			continue
		}
		var with []forge.Reachable
		for _, r := range all {
			if r.Role != forge.None {
				with = append(with, r)
			}
		}
		p = append(p, because(w.name, err), because(w.name, sameMap(with, func(r forge.Reachable) (string, forge.Role) {
			return r.Repository.ID, r.Role
		}, want)))
	}
	return p.err()
}

func checkRepositories(ctx context.Context, h *Host) error {
	h.smallPages()
	_, _, shared := h.acme()
	ada := h.World.AddUser("ada")
	want := map[string]forge.Role{id(shared): forge.Write}
	h.World.SetRole(shared, ada, forge.Write)
	for i := range many {
		want[id(h.World.AddRepo(ada, fmt.Sprintf("notes-%d", i), Private))] = forge.Admin
	}
	return h.repositories(ctx, ada, want)
}

func checkRepositoryRoles(ctx context.Context, h *Host) error {
	_, org, private := h.acme()
	w := h.World
	ada := w.AddUser("ada")
	own := w.AddRepo(ada, "blog", Public)
	website, docs := w.AddRepo(org, "website", Public), w.AddRepo(org, "docs", Public)
	w.AddRepo(w.AddUser("eve"), "trap", Public)
	w.SetRole(private, ada, forge.Read)
	w.SetRole(website, ada, forge.Write)
	theirs := w.AddOrg("lovelace", ada)
	want := map[string]forge.Role{
		id(own): forge.Admin, id(private): forge.Read, id(website): forge.Write,
		id(w.AddRepo(theirs, "attic", Private)): forge.Admin,
	}
	err := h.repositories(ctx, ada, want)
	w.SetRole(docs, ada, forge.Admin)
	w.SetRole(private, ada, forge.None)
	delete(want, id(private))
	want[id(docs)] = forge.Admin
	return errors.Join(err, h.repositories(ctx, ada, want))
}

func collaborator(c forge.Collaborator) (string, forge.Role) { return c.User.ID, c.Role }

// collaborators compares a list of people with roles on a repository.
func (h *Host) collaborators(ctx context.Context, asker, repo int64, want map[string]forge.Role) error {
	var p problems
	for _, w := range h.ways(asker) {
		all, err := w.forge.Collaborators(ctx, w.as, h.repo(repo))
		p = append(p, because(w.name, err), because(w.name, sameMap(all, collaborator, want)))
	}
	return p.err()
}

func checkCollaborators(ctx context.Context, h *Host) error {
	h.smallPages()
	owner, _, repo := h.acme()
	want := map[string]forge.Role{id(owner): forge.Admin}
	for i := range many {
		user, role := h.World.AddUser(fmt.Sprintf("user-%d", i)), h.Roles[i%len(h.Roles)]
		h.World.SetRole(repo, user, role)
		want[id(user)] = role
	}
	return h.collaborators(ctx, owner, repo, want)
}

func checkEveryone(ctx context.Context, h *Host) error {
	h.smallPages()
	owner, org, repo := h.acme()
	w := h.World
	ada, bob := w.AddUser("ada"), w.AddUser("bob")
	w.SetMember(org, w.AddUser("member"), forge.OrgMember)
	w.SetRole(repo, ada, forge.Write)
	want := map[string]forge.Role{id(owner): forge.Admin, id(ada): forge.Write}
	notes := w.AddRepo(ada, "notes", Private)
	w.SetRole(notes, bob, forge.Write)
	err := h.collaborators(ctx, ada, notes, map[string]forge.Role{id(ada): forge.Admin, id(bob): forge.Write})
	if h.Teams {
		team := w.AddTeam(Team{Org: org, Name: "readers", Role: forge.Read}, ada, bob)
		w.AddTeamRepo(team, repo)
		want[id(bob)] = forge.Read
		for i := range 3 * smallPage {
			user := w.AddUser(fmt.Sprintf("reader-%d", i))
			w.AddTeamRepo(w.AddTeam(Team{Org: org, Name: fmt.Sprintf("team-%d", i), Role: forge.Read}, user), repo)
			want[id(user)] = forge.Read
		}
	}
	return errors.Join(err, h.collaborators(ctx, owner, repo, want))
}

func member(m forge.Member) (string, string) { return m.User.ID, m.Standing }

func (h *Host) fill(org int64, n int) map[string]string {
	want := map[string]string{}
	for i := range n {
		user, standing := h.World.AddUser(fmt.Sprintf("user-%d", i)), forge.OrgMember
		if i%5 == 0 {
			standing = forge.OrgOwner
		}
		h.World.SetMember(org, user, standing)
		want[id(user)] = standing
	}
	return want
}

func (h *Host) members(ctx context.Context, asker, org int64, want map[string]string) error {
	var p problems
	for _, w := range h.ways(asker) {
		all, err := w.forge.Members(ctx, w.as, h.org(org))
		p = append(p, because(w.name, err), because(w.name, sameMap(all, member, want)))
	}
	return p.err()
}

func checkMembers(ctx context.Context, h *Host) error {
	h.smallPages()
	owner, org, _ := h.acme()
	want := h.fill(org, many)
	want[id(owner)] = forge.OrgOwner
	return h.members(ctx, owner, org, want)
}

// checkManyMembers lists ten thousand where there is time, with COFFER_SLOW, and
// otherwise more than a host's page and ours hold.
func checkManyMembers(ctx context.Context, h *Host) error {
	n := 1_000
	if os.Getenv("COFFER_SLOW") != "" {
		n = 10_000
	}
	owner, org, _ := h.acme()
	want := h.fill(org, n)
	want[id(owner)] = forge.OrgOwner
	return h.members(ctx, owner, org, want)
}

func checkOrganizations(ctx context.Context, h *Host) error {
	h.smallPages()
	h.acme()
	ada, boss := h.World.AddUser("ada"), h.World.AddUser("boss")
	want := map[string]string{}
	for i := range many {
		org, standing := h.World.AddOrg(fmt.Sprintf("org-%d", i), boss), forge.OrgMember
		if i%5 == 0 {
			standing = forge.OrgOwner
		}
		h.World.SetMember(org, ada, standing)
		want[id(org)] = standing
	}
	var p problems
	for _, w := range h.ways(ada) {
		all, err := w.forge.Organizations(ctx, w.as)
		if !w.own && errors.Is(err, forge.ErrNoCredential) {
			continue
		}
		p = append(p, because(w.name, err), because(w.name, sameMap(all, func(m forge.Membership) (string, string) {
			return m.Organization.ID, m.Standing
		}, want)))
	}
	return p.err()
}

// checkBrokenLists lets ever later pages fail.
func checkBrokenLists(ctx context.Context, h *Host) error {
	h.smallPages()
	s := h.scene()
	h.fill(s.org, many)
	for i := range many {
		user := h.World.AddUser(fmt.Sprintf("collaborator-%d", i))
		h.World.SetRole(s.private, user, forge.Write)
		h.World.AddRepo(s.owner, fmt.Sprintf("notes-%d", i), Private)
		h.World.AddOrg(fmt.Sprintf("org-%d", i), s.owner)
	}
	var p problems
	for _, q := range s.questions() {
		if q.name != "Repositories" && q.name != "Collaborators" && q.name != "Members" && q.name != "Organizations" {
			continue
		}
		for _, w := range h.ways(s.owner) {
			for _, n := range []int{1, 2, 5, many / smallPage} {
				h.Fake.Break("", standin.After(n, standin.Status(http.StatusInternalServerError)))
				got, err := q.ask(ctx, w)
				h.Fake.Heal()
				if errors.Is(err, forge.ErrNoCredential) && !w.own {
					continue
				}
				if _, ok := errors.AsType[*forge.Unavailable](err); !ok || !empty(got) {
					p.add("%s, %s: the host failed after %d answers, error %w, want that it did not answer and nothing else", q.name, w.name, n, orNone(err))
				}
			}
		}
	}
	return p.err()
}

func checkStanding(ctx context.Context, h *Host) error {
	s := h.scene()
	collaborator := h.World.AddUser("bob")
	h.World.SetRole(s.private, collaborator, forge.Admin)
	var p problems
	for user, want := range map[int64]string{s.owner: forge.OrgOwner, s.member: forge.OrgMember, s.outsider: "", collaborator: ""} {
		for _, w := range h.ways(user) {
			got, err := w.forge.Standing(ctx, w.as, h.org(s.org))
			if err != nil || got != want {
				p.add("%s: %s has standing %q, want %q (%v)", w.name, w.as.User.Login, got, want, err)
			}
		}
	}
	return p.err()
}

func checkOutsidersMembers(ctx context.Context, h *Host) error {
	s := h.scene()
	everybody := map[string]string{id(s.owner): forge.OrgOwner, id(s.member): forge.OrgMember}
	var p problems
	for _, user := range []int64{s.outsider, s.member} {
		w := h.own(user)
		all, err := w.forge.Members(ctx, w.as, h.org(s.org))
		if err == nil {
			p = append(p, because(w.as.User.Login, sameMap(all, member, everybody)))
		} else if len(all) > 0 {
			p.add("%s: an error and %d members", w.as.User.Login, len(all))
		}
	}
	return p.err()
}
