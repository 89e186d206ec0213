package forgetest

import (
	"context"
	"errors"
	"fmt"

	"coffer/server/forge"
)

var roleRules = []Rule{
	{"a collaborator has the role they were given", nil, checkDirect},
	{"owners are admin of what is theirs", nil, checkOwners},
	{"a member of a team has the team's role", func(h *Host) bool { return h.Teams }, checkTeams},
	{"the highest of several roles counts", func(h *Host) bool { return h.Teams }, checkMost},
	{"an organization's base role is every member's", func(h *Host) bool { return h.Base }, checkBase},
	{"outsiders have no role, not even on what is public", nil, checkOutsiders},
	{"signed-in outsiders have no role on what is internal", hasInternal, checkInternalOutsiders},
	{"reading what is public counts for who was let in", nil, checkExplicitRead},
	{"reading what is internal counts for who was let in", hasInternal, checkInternalRead},
	{"seeing a repository is no role", func(h *Host) bool { return h.Roleless }, checkRoleless},
	{"a role that was taken away is gone", nil, checkTakenAway},
	{"a blocked user has no role", hasTokens, checkBlocked},
	{"a deleted user has no role", nil, checkDeletedUser},
	{"a member who left has no role", nil, checkLeft},
	{"an answer about a role carries the repository of today", nil, checkRoleRepository},
}

// roleIs asks in every way and compares.
func (h *Host) roleIs(ctx context.Context, user, repo int64, want forge.Role) error {
	var p problems
	for _, w := range h.ways(user) {
		got, err := w.forge.Role(ctx, w.as, h.repo(repo))
		if want == forge.None {
			if none := noRole(got, err); none != nil {
				p.add("%s: %w", w.name, none)
			}
			continue
		}
		if err != nil || got.Role != want {
			p.add("%s: role %q on %s, want %q (%v)", w.name, got.Role, h.repo(repo).FullName(), want, err)
		}
	}
	return p.err()
}

// noRole accepts None, and that the asker may not know of the repository.
func noRole(got forge.Reachable, err error) error {
	if got.Role != forge.None {
		return fmt.Errorf("role %q, want none (%v)", got.Role, err)
	}
	if err != nil && !errors.Is(err, forge.ErrNotFound) {
		return fmt.Errorf("no role should be none or not found: %w", err)
	}
	return nil
}

// neverRole accepts None and every error.
func (h *Host) neverRole(ctx context.Context, ways []way, repo forge.Repository) error {
	var p problems
	for _, w := range ways {
		if got, err := w.forge.Role(ctx, w.as, repo); got.Role != forge.None {
			p.add("%s: role %q, want none (%v)", w.name, got.Role, err)
		}
	}
	return p.err()
}

// acme makes an organization with an owner and a private repository.
func (h *Host) acme() (owner, org, repo int64) {
	owner = h.World.AddUser("grace")
	org = h.World.AddOrg("acme", owner)
	return owner, org, h.World.AddRepo(org, "engine", Private)
}

func checkDirect(ctx context.Context, h *Host) error {
	_, org, private := h.acme()
	public := h.World.AddRepo(org, "website", Public)
	var p problems
	for _, role := range h.Roles {
		user := h.World.AddUser("collaborator-" + string(role))
		h.World.SetRole(private, user, role)
		p = append(p, h.roleIs(ctx, user, private, role))
		if role != forge.Read { // which is a rule of its own
			h.World.SetRole(public, user, role)
			p = append(p, h.roleIs(ctx, user, public, role))
		}
	}
	return p.err()
}

func checkOwners(ctx context.Context, h *Host) error {
	owner, org, repo := h.acme()
	ada := h.World.AddUser("ada")
	return errors.Join(
		h.roleIs(ctx, owner, repo, forge.Admin),
		h.roleIs(ctx, owner, h.World.AddRepo(org, "website", Public), forge.Admin),
		h.roleIs(ctx, ada, h.World.AddRepo(ada, "notes", Private), forge.Admin),
		h.roleIs(ctx, ada, h.World.AddRepo(ada, "blog", Public), forge.Admin),
	)
}

func checkTeams(ctx context.Context, h *Host) error {
	_, org, repo := h.acme()
	other := h.World.AddRepo(org, "other", Private)
	var p problems
	for _, role := range h.Roles {
		user := h.World.AddUser("in-team-" + string(role))
		h.World.AddTeamRepo(h.World.AddTeam(Team{Org: org, Name: "team-" + string(role), Role: role}, user), repo)
		p = append(p, h.roleIs(ctx, user, repo, role), h.roleIs(ctx, user, other, forge.None))
	}
	return p.err()
}

func checkMost(ctx context.Context, h *Host) error {
	_, org, repo := h.acme()
	ada, bob := h.World.AddUser("ada"), h.World.AddUser("bob")
	h.World.AddTeamRepo(h.World.AddTeam(Team{Org: org, Name: "writers", Role: forge.Write}, ada), repo)
	h.World.AddTeamRepo(h.World.AddTeam(Team{Org: org, Name: "readers", Role: forge.Read}, ada, bob), repo)
	h.World.SetRole(repo, ada, forge.Read)
	h.World.SetRole(repo, bob, forge.Admin)
	return errors.Join(h.roleIs(ctx, ada, repo, forge.Write), h.roleIs(ctx, bob, repo, forge.Admin))
}

func checkBase(ctx context.Context, h *Host) error {
	_, org, repo := h.acme()
	ada := h.World.AddUser("ada")
	h.World.SetMember(org, ada, forge.OrgMember)
	err := h.roleIs(ctx, ada, repo, forge.None)
	h.World.SetBase(org, forge.Read)
	err = errors.Join(err, h.roleIs(ctx, ada, repo, forge.Read))
	h.World.SetBase(org, forge.Write)
	return errors.Join(err, h.roleIs(ctx, ada, repo, forge.Write))
}

func checkOutsiders(ctx context.Context, h *Host) error {
	grace, org, private := h.acme()
	eve := h.World.AddUser("eve")
	h.World.AddOrg("evil", eve)
	return errors.Join(
		h.roleIs(ctx, eve, private, forge.None),
		h.roleIs(ctx, eve, h.World.AddRepo(org, "website", Public), forge.None),
		h.roleIs(ctx, eve, h.World.AddRepo(grace, "blog", Public), forge.None),
	)
}

func checkInternalOutsiders(ctx context.Context, h *Host) error {
	_, org, _ := h.acme()
	return h.roleIs(ctx, h.World.AddUser("eve"), h.internal(org), forge.None)
}

func checkExplicitRead(ctx context.Context, h *Host) error {
	_, org, _ := h.acme()
	return h.explicitRead(ctx, org, h.World.AddRepo(org, "website", Public))
}

func checkInternalRead(ctx context.Context, h *Host) error {
	_, org, _ := h.acme()
	return h.explicitRead(ctx, org, h.internal(org))
}

func hasInternal(h *Host) bool { return h.Internal || h.HiddenOrgs }

// internal makes a repository which everybody reads who is signed in. Where
// repositories cannot be so themselves, their organization is.
func (h *Host) internal(org int64) int64 {
	if h.Internal {
		return h.World.AddRepo(org, "handbook", Internal)
	}
	h.World.SetOrgVisibility(org, Internal)
	return h.World.AddRepo(org, "handbook", Public)
}

func (h *Host) explicitRead(ctx context.Context, org, repo int64) error {
	ada, bob := h.World.AddUser("ada"), h.World.AddUser("bob")
	h.World.SetRole(repo, ada, forge.Read)
	h.World.SetMember(org, bob, forge.OrgMember)
	var p problems
	for _, w := range h.ways(ada) {
		want := forge.Read
		if w.own && h.BlindToOwnRead {
			want = forge.None
		}
		if got, err := w.forge.Role(ctx, w.as, h.repo(repo)); err != nil || got.Role != want {
			p.add("%s: a collaborator's role is %q, want %q (%v)", w.name, got.Role, want, err)
		}
	}
	want := forge.None
	if h.MembersReadPublic {
		want = forge.Read
	}
	if err := h.roleIs(ctx, bob, repo, want); err != nil {
		p.add("a member: %w", err)
	}
	return p.err()
}

func checkRoleless(ctx context.Context, h *Host) error {
	_, org, private := h.acme()
	public := h.World.AddRepo(org, "website", Public)
	ada := h.World.AddUser("ada")
	team := h.World.AddTeam(Team{Org: org, Name: "reporters", Units: map[string]string{"repo.issues": "write"}}, ada)
	h.World.AddTeamRepo(team, private)
	err := h.roleIs(ctx, ada, private, forge.None)
	if !h.MembersReadPublic {
		h.World.AddTeamRepo(team, public)
		err = errors.Join(err, h.roleIs(ctx, ada, public, forge.None))
	}
	return err
}

func checkTakenAway(ctx context.Context, h *Host) error {
	_, _, repo := h.acme()
	ada := h.World.AddUser("ada")
	h.World.SetRole(repo, ada, forge.Write)
	ways := h.ways(ada)
	var p problems
	for _, w := range ways {
		if got, err := w.forge.Role(ctx, w.as, h.repo(repo)); err != nil || got.Role != forge.Write {
			p.add("%s: role %q, want write (%v)", w.name, got.Role, err)
		}
	}
	h.World.SetRole(repo, ada, forge.None)
	return errors.Join(p.err(), h.neverRole(ctx, ways, h.repo(repo)))
}

func checkBlocked(ctx context.Context, h *Host) error {
	_, _, repo := h.acme()
	ada := h.World.AddUser("ada")
	h.World.SetRole(repo, ada, forge.Admin)
	own := h.World.AddRepo(ada, "notes", Private)
	ways := h.ways(ada)
	h.World.BlockUser(ada)
	return errors.Join(h.neverRole(ctx, ways, h.repo(repo)), h.neverRole(ctx, ways, h.repo(own)))
}

func checkDeletedUser(ctx context.Context, h *Host) error {
	_, org, repo := h.acme()
	ada := h.World.AddUser("ada")
	h.World.SetRole(repo, ada, forge.Admin)
	h.World.SetMember(org, ada, forge.OrgOwner)
	ways := h.ways(ada)
	h.World.DeleteUser(ada)
	return h.neverRole(ctx, ways, h.repo(repo))
}

func checkLeft(ctx context.Context, h *Host) error {
	_, org, repo := h.acme()
	public := h.World.AddRepo(org, "website", Public)
	ada := h.World.AddUser("ada")
	h.World.SetMember(org, ada, forge.OrgOwner)
	ways := h.ways(ada)
	err := h.roleIs(ctx, ada, repo, forge.Admin)
	h.World.SetMember(org, ada, "")
	return errors.Join(err, h.neverRole(ctx, ways, h.repo(repo)), h.neverRole(ctx, ways, h.repo(public)))
}

func checkRoleRepository(ctx context.Context, h *Host) error {
	owner, _, repo := h.acme()
	before := h.repo(repo)
	h.World.Rename(repo, "machine")
	var p problems
	for _, w := range h.ways(owner) {
		got, err := w.forge.Role(ctx, w.as, before)
		if err != nil || got.Role != forge.Admin {
			p.add("%s: role %q, want admin (%v)", w.name, got.Role, err)
		}
		if err := same(got.Repository, h.repo(repo)); err != nil {
			p.add("%s: %w", w.name, err)
		}
	}
	return p.err()
}

// same compares repositories but for pictures.
func same(got, want forge.Repository) error {
	got.AvatarURL = want.AvatarURL
	if got != want {
		return fmt.Errorf("the repository is %+v, want %+v", got, want)
	}
	return nil
}
