package forgetest

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"coffer/server/forge"
)

func hides(h *Host) bool { return h.Hides }

func redirects(h *Host) bool { return h.Redirects }

var identityRules = []Rule{
	{"a repository is found by name in any case", nil, checkByName},
	{"a repository tells its owner and visibility", nil, checkDescription},
	{"internal is not public", func(h *Host) bool { return h.Internal }, checkInternal},
	{"what a hidden organization has is not public", func(h *Host) bool { return h.HiddenOrgs }, checkHiddenOrg},
	{"who may not see a repository does not find it", hides, checkHidden},
	{"what never was is not found", nil, checkUnknown},
	{"a renamed repository is found by its id", nil, checkRenamed},
	{"an old name leads to the renamed repository", redirects, checkOldName},
	{"a repository of a renamed owner is found by its id", nil, checkRenamedOwner},
	{"a transferred repository has its new owner", nil, checkTransferred},
	{"a recycled name is another repository", nil, checkRecycled},
	{"a deleted repository gives no role to its name's next", nil, checkDeletedAndRecycled},
	{"a recycled login gains nothing", nil, checkRecycledLogin},
	{"a recycled login loses nothing of its own", nil, checkNewcomer},
	{"a recycled organization is another", nil, checkRecycledOrg},
}

func checkByName(ctx context.Context, h *Host) error {
	owner, _, repo := h.acme()
	var p problems
	for _, w := range h.ways(owner) {
		for _, name := range [][2]string{{"acme", "engine"}, {"ACME", "Engine"}} {
			got, err := w.forge.Repository(ctx, w.as, name[0], name[1])
			if err != nil {
				p.add("%s: %s: %w", w.name, strings.Join(name[:], "/"), err)
			} else if err := same(got, h.repo(repo)); err != nil {
				p.add("%s: %w", w.name, err)
			}
		}
	}
	return p.err()
}

// described asks for a repository by name and id and compares it with the world.
func (h *Host) described(ctx context.Context, user int64, repos ...int64) error {
	var p problems
	for _, w := range h.ways(user) {
		for _, repo := range repos {
			want := h.repo(repo)
			named, err := w.forge.Repository(ctx, w.as, want.Owner, want.Name)
			p = append(p, because(w.name+", by name", err), because(w.name+", by name", same(named, want)))
			found, err := w.forge.RepositoryByID(ctx, w.as, want)
			p = append(p, because(w.name+", by id", err), because(w.name+", by id", same(found, want)))
		}
	}
	return p.err()
}

func because(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

func checkDescription(ctx context.Context, h *Host) error {
	owner, org, private := h.acme()
	w := h.World
	return h.described(ctx, owner, private, w.AddRepo(org, "website", Public), w.AddRepo(owner, "notes", Private), w.AddRepo(owner, "blog", Public))
}

func checkInternal(ctx context.Context, h *Host) error {
	owner, org, repo := h.acme()
	handbook := h.World.AddRepo(org, "handbook", Internal)
	err := h.described(ctx, owner, handbook, repo)
	h.World.SetVisibility(handbook, Public)
	h.World.SetVisibility(repo, Internal)
	return errors.Join(err, h.described(ctx, owner, handbook, repo))
}

func checkHiddenOrg(ctx context.Context, h *Host) error {
	owner, org, _ := h.acme()
	website := h.World.AddRepo(org, "website", Public)
	var p problems
	for _, v := range []Visibility{Internal, Private, Public} {
		h.World.SetOrgVisibility(org, v)
		p = append(p, because(string(v), h.described(ctx, owner, website)))
	}
	return p.err()
}

func checkHidden(ctx context.Context, h *Host) error {
	_, _, repo := h.acme()
	w := h.own(h.World.AddUser("eve"))
	_, err := w.forge.Repository(ctx, w.as, "acme", "engine")
	byName := want(err, forge.ErrNotFound, "by name")
	_, err = w.forge.RepositoryByID(ctx, w.as, h.repo(repo))
	byID := want(err, forge.ErrNotFound, "by id")
	if errors.Is(err, forge.ErrGone) {
		byID = errors.New("a hidden repository is said to be gone")
	}
	return errors.Join(byName, byID)
}

// want compares errors.
func want(got, want error, what string) error {
	if !errors.Is(got, want) {
		return fmt.Errorf("%s: error %w, want %v", what, orNone(got), want)
	}
	return nil
}

var errNone = errors.New("none")

func orNone(err error) error {
	if err == nil {
		return errNone
	}
	return err
}

func checkUnknown(ctx context.Context, h *Host) error {
	owner, _, repo := h.acme()
	never := h.repo(repo)
	never.ID, never.Name = id(h.World.unused()), "never"
	org := forge.Organization{ID: never.ID, Login: "nobody"}
	var p problems
	for _, w := range h.ways(owner) {
		_, err := w.forge.Repository(ctx, w.as, "acme", "never")
		p = append(p, want(err, forge.ErrNotFound, w.name+", an unknown name"))
		_, err = w.forge.Repository(ctx, w.as, "nobody", "engine")
		p = append(p, want(err, forge.ErrNotFound, w.name+", an unknown owner"))
		if _, err = w.forge.RepositoryByID(ctx, w.as, never); !errors.Is(err, forge.ErrNotFound) && !errors.Is(err, forge.ErrGone) {
			p.add("%s: an unknown id: %w, want not found or gone", w.name, orNone(err))
		}
		_, err = w.forge.Organization(ctx, w.as, "nobody")
		p = append(p, want(err, forge.ErrNotFound, w.name+", an unknown organization"))
		_, err = w.forge.Organization(ctx, w.as, "grace")
		p = append(p, want(err, forge.ErrNotFound, w.name+", a user who is no organization"))
		if _, err := w.forge.Members(ctx, w.as, org); err == nil {
			p.add("%s: an unknown organization has members", w.name)
		}
	}
	return p.err()
}

// byID asks with a record that may be out of date, and wants today's.
func (h *Host) byID(ctx context.Context, user int64, before forge.Repository, repo int64) error {
	var p problems
	for _, w := range h.ways(user) {
		got, err := w.forge.RepositoryByID(ctx, w.as, before)
		p = append(p, because(w.name, err), because(w.name, same(got, h.repo(repo))))
	}
	return p.err()
}

func checkRenamed(ctx context.Context, h *Host) error {
	owner, _, repo := h.acme()
	before := h.repo(repo)
	h.World.Rename(repo, "machine")
	return errors.Join(h.byID(ctx, owner, before, repo), h.described(ctx, owner, repo))
}

func checkOldName(ctx context.Context, h *Host) error {
	owner, _, repo := h.acme()
	h.World.Rename(repo, "machine")
	var p problems
	for _, w := range h.ways(owner) {
		got, err := w.forge.Repository(ctx, w.as, "acme", "engine")
		p = append(p, because(w.name, err), because(w.name, same(got, h.repo(repo))))
	}
	return p.err()
}

func checkRenamedOwner(ctx context.Context, h *Host) error {
	owner, org, repo := h.acme()
	notes := h.World.AddRepo(owner, "notes", Private)
	engineBefore, notesBefore := h.repo(repo), h.repo(notes)
	h.World.RenameOrg(org, "acme-corp")
	h.World.RenameUser(owner, "hopper")
	return errors.Join(
		h.byID(ctx, owner, engineBefore, repo), h.byID(ctx, owner, notesBefore, notes),
		h.roleIs(ctx, owner, repo, forge.Admin), h.roleIs(ctx, owner, notes, forge.Admin),
	)
}

func checkTransferred(ctx context.Context, h *Host) error {
	owner, org, repo := h.acme()
	ada, boss := h.World.AddUser("ada"), h.World.AddUser("boss")
	h.World.SetMember(org, ada, forge.OrgOwner)
	before := h.repo(repo)
	err := h.roleIs(ctx, ada, repo, forge.Admin)
	h.World.Transfer(repo, h.World.AddOrg("umbrella", boss, owner))
	err = errors.Join(err, h.byID(ctx, boss, before, repo), h.roleIs(ctx, ada, repo, forge.None), h.roleIs(ctx, boss, repo, forge.Admin))
	h.World.Transfer(repo, owner)
	return errors.Join(err, h.byID(ctx, owner, before, repo), h.roleIs(ctx, owner, repo, forge.Admin))
}

func checkRecycled(ctx context.Context, h *Host) error {
	owner, org, old := h.acme()
	ada, bob := h.World.AddUser("ada"), h.World.AddUser("bob")
	before := h.repo(old)
	h.World.Rename(old, "machine")
	next := h.World.Recycle(org, "engine")
	h.World.SetRole(old, ada, forge.Write)
	h.World.SetRole(next, bob, forge.Write)
	p := problems{
		h.byID(ctx, owner, before, old), h.described(ctx, owner, old, next),
		h.roleIs(ctx, ada, next, forge.None), h.roleIs(ctx, bob, old, forge.None),
	}
	// The record with the old names is about the old repository still.
	p = append(p, h.neverRole(ctx, h.ways(bob), before))
	for _, w := range h.ways(ada) {
		got, err := w.forge.Role(ctx, w.as, before)
		if err != nil || got.Role != forge.Write || got.Repository.ID != id(old) {
			p.add("%s: role %q on repository %s, want write on %d (%v)", w.name, got.Role, got.Repository.ID, old, err)
		}
	}
	return p.err()
}

func checkDeletedAndRecycled(ctx context.Context, h *Host) error {
	owner, org, old := h.acme()
	before := h.repo(old)
	h.World.DeleteRepo(old)
	h.World.Recycle(org, "engine")
	p := problems{h.neverRole(ctx, h.ways(owner), before)}
	for _, w := range h.ways(owner) {
		got, err := w.forge.RepositoryByID(ctx, w.as, before)
		if !errors.Is(err, forge.ErrNotFound) && !errors.Is(err, forge.ErrGone) {
			p.add("%s: a deleted repository is %+v (%w)", w.name, got, orNone(err))
		}
		if all, err := w.forge.Collaborators(ctx, w.as, before); err == nil {
			p.add("%s: a deleted repository has %d collaborators", w.name, len(all))
		}
	}
	return p.err()
}

// checkRecycledLogin asks about somebody whose last known login belongs to
// another. The true answer, none and an error are right; the newcomer's is not.
func checkRecycledLogin(ctx context.Context, h *Host) error {
	_, org, repo := h.acme()
	w := h.World
	ada := w.AddUser("ada")
	w.SetRole(repo, ada, forge.Write)
	before := h.user(ada)
	ways := h.ways(ada)
	w.RenameUser(ada, "lovelace")
	newcomer := w.RecycleUser("ada")
	w.SetMember(org, newcomer, forge.OrgOwner)
	notes := w.AddRepo(newcomer, "notes", Private)
	var p problems
	for _, way := range ways {
		way.as.User = before
		if got, _ := way.forge.Role(ctx, way.as, h.repo(repo)); got.Role != forge.None && got.Role != forge.Write {
			p.add("%s: role %q is the newcomer's", way.name, got.Role)
		}
		if got, _ := way.forge.Role(ctx, way.as, h.repo(notes)); got.Role != forge.None {
			p.add("%s: role %q on what is the newcomer's", way.name, got.Role)
		}
		if got, _ := way.forge.Standing(ctx, way.as, h.org(org)); got != "" {
			p.add("%s: standing %q is the newcomer's", way.name, got)
		}
		if got, _ := way.forge.Organizations(ctx, way.as); len(got) > 0 {
			p.add("%s: the organizations are the newcomer's", way.name)
		}
		repos, _ := way.forge.Repositories(ctx, way.as)
		for _, r := range repos {
			if r.Repository.ID == id(notes) {
				p.add("%s: the repositories are the newcomer's", way.name)
			}
		}
	}
	return p.err()
}

func checkNewcomer(ctx context.Context, h *Host) error {
	_, org, repo := h.acme()
	w := h.World
	ada := w.AddUser("ada")
	w.SetRole(repo, ada, forge.Admin)
	w.RenameUser(ada, "lovelace")
	newcomer := w.RecycleUser("ada")
	err := h.roleIs(ctx, newcomer, repo, forge.None)
	w.SetMember(org, newcomer, forge.OrgOwner)
	w.SetRole(repo, ada, forge.Read)
	return errors.Join(err, h.roleIs(ctx, newcomer, repo, forge.Admin), h.roleIs(ctx, ada, repo, forge.Read))
}

func checkRecycledOrg(ctx context.Context, h *Host) error {
	owner, org, _ := h.acme()
	before := h.org(org)
	w := h.World
	w.RenameOrg(org, "acme-corp")
	ada := w.AddUser("ada")
	next := w.AddOrg("acme", ada)
	var p problems
	for _, way := range h.ways(ada) {
		if got, err := way.forge.Standing(ctx, way.as, before); got != "" {
			p.add("%s: standing %q in an organization that only has the name (%v)", way.name, got, err)
		}
		got, err := way.forge.Organization(ctx, way.as, "acme")
		if err != nil || got.ID != id(next) {
			p.add("%s: the name leads to %+v (%v)", way.name, got, err)
		}
	}
	for _, way := range h.ways(owner) {
		members, err := way.forge.Members(ctx, way.as, before)
		if err == nil && (len(members) != 1 || members[0].User.ID != id(owner)) {
			p.add("%s: the members are %+v", way.name, members)
		}
	}
	return p.err()
}
