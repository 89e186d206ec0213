package forgetest_test

import (
	"context"
	"slices"
	"testing"

	"coffer/server/forge"
	"coffer/server/forge/forgetest"
)

func TestLocal(t *testing.T) { forgetest.Run(t, local) }

// local is the built-in code host over a world.
func local(*testing.T) *forgetest.Host {
	w := forgetest.NewWorld()
	return &forgetest.Host{
		World: w,
		Forge: func(forgetest.Options) forge.Forge { return forge.NewLocal(directory{w}) },
		Features: forgetest.Features{
			Roles:             []forge.Role{forge.Read, forge.Triage, forge.Write, forge.Maintain, forge.Admin},
			MembersReadPublic: true,
		},
	}
}

// directory keeps the built-in code host's records in a world.
type directory struct{ w *forgetest.World }

func (d directory) Read(_ context.Context, fn func(forge.Records) error) error { return fn(d) }

func (d directory) AddRepo(_ context.Context, owner forge.Namespace, name string) (forge.LocalRepo, error) {
	return d.Repo(uint64(d.w.AddRepo(int64(owner.ID), name, forgetest.Private)))
}

func (d directory) Namespace(name string) (forge.Namespace, error) {
	if u, moved, ok := d.w.UserNamed(name); ok && !moved {
		return d.Owner(forge.OwnerUser, uint64(u.ID))
	}
	o, moved, ok := d.w.OrgNamed(name)
	if !ok || moved {
		return forge.Namespace{}, forge.ErrNotFound
	}
	return d.Owner(forge.OwnerOrg, uint64(o.ID))
}

func (d directory) Owner(kind forge.OwnerKind, id uint64) (forge.Namespace, error) {
	owner, ok := d.w.Owner(int64(id))
	if !ok || owner.Kind != kind {
		return forge.Namespace{}, forge.ErrNotFound
	}
	return forge.Namespace{Kind: kind, ID: id, Name: owner.Login}, nil
}

func (d directory) Repo(id uint64) (forge.LocalRepo, error) {
	r, ok := d.w.Repo(int64(id))
	if !ok {
		return forge.LocalRepo{}, forge.ErrNotFound
	}
	owner, _ := d.w.Owner(r.Owner)
	return forge.LocalRepo{
		ID: id, Name: r.Name, Public: r.Visibility == forgetest.Public,
		Owner: forge.Namespace{Kind: owner.Kind, ID: uint64(owner.ID), Name: owner.Login},
	}, nil
}

func (d directory) RepoNamed(owner forge.Namespace, name string) (forge.LocalRepo, error) {
	r, moved, ok := d.w.RepoNamed(owner.Name, name)
	if !ok || moved {
		return forge.LocalRepo{}, forge.ErrNotFound
	}
	return d.Repo(uint64(r.ID))
}

func (d directory) ReposOf(owner forge.Namespace) (all []forge.LocalRepo, err error) {
	for _, r := range d.w.Repos() {
		if r.Owner == int64(owner.ID) {
			repo, err := d.Repo(uint64(r.ID))
			if err != nil {
				return nil, err
			}
			all = append(all, repo)
		}
	}
	return all, nil
}

func (d directory) Grant(repo, user uint64) (forge.Role, error) {
	grants, err := d.Grants(repo)
	return grants[user], err
}

func (d directory) Grants(repo uint64) (map[uint64]forge.Role, error) {
	all := map[uint64]forge.Role{}
	for _, g := range d.w.Direct(int64(repo)) {
		all[uint64(g.User.ID)] = g.Role
	}
	return all, nil
}

func (d directory) GrantedTo(user uint64) (all []uint64, err error) {
	for _, r := range d.w.Repos() {
		if role, _ := d.Grant(uint64(r.ID), user); role != forge.None {
			all = append(all, uint64(r.ID))
		}
	}
	return all, nil
}

func (d directory) Membership(org, user uint64) (string, error) {
	return d.w.Standing(int64(org), int64(user)), nil
}

func (d directory) Members(org uint64) (map[uint64]string, error) {
	all := map[uint64]string{}
	for _, m := range d.w.Members(int64(org)) {
		all[uint64(m.User.ID)] = m.Standing
	}
	return all, nil
}

func (d directory) OrgsOf(user uint64) (all []uint64, err error) {
	for _, o := range d.w.OrgsOf(int64(user)) {
		all = append(all, uint64(o.ID))
	}
	return all, nil
}

// welcoming takes reading what is public for a role.
type welcoming struct{ forge.Forge }

func (f welcoming) Role(ctx context.Context, as forge.Asker, repo forge.Repository) (forge.Reachable, error) {
	got, err := f.Forge.Role(ctx, as, repo)
	if err == nil && got.Role == forge.None && got.Repository.Public {
		got.Role = forge.Read
	}
	return got, err
}

// hasty takes the first page of a list for all of it.
type hasty struct{ forge.Forge }

func (f hasty) Members(ctx context.Context, as forge.Asker, org forge.Organization) ([]forge.Member, error) {
	all, err := f.Forge.Members(ctx, as, org)
	return all[:min(len(all), 100)], err
}

// trusting believes every token.
type trusting struct{ forge.Forge }

func (trusting) Bearer(context.Context, string) (forge.User, error) {
	return forge.User{ID: "1001", Login: "grace"}, nil
}

func TestTheRulesSeeWhatIsBroken(t *testing.T) {
	for name, broken := range map[string]struct {
		around func(forge.Forge) forge.Forge
		rules  []string
	}{
		"follows names instead of ids": {
			func(f forge.Forge) forge.Forge { return byName{f} },
			[]string{
				"a deleted repository gives no role to its name's next", "a recycled name is another repository",
				"a renamed repository is found by its id", "a repository of a renamed owner is found by its id",
				"a transferred repository has its new owner",
			},
		},
		"lets strangers in": {
			func(f forge.Forge) forge.Forge { return welcoming{f} },
			[]string{"a member who left has no role", "outsiders have no role, not even on what is public"},
		},
		"stops after a page": {
			func(f forge.Forge) forge.Forge { return hasty{f} },
			[]string{"members are listed by the thousand", "members are listed over all pages"},
		},
		"believes every token": {
			func(f forge.Forge) forge.Forge { return trusting{f} },
			[]string{"an unknown token is turned down"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := forgetest.Broken(t, func(t *testing.T) *forgetest.Host { return local(t).Wrap(broken.around) })
			slices.Sort(got)
			if !slices.Equal(got, broken.rules) {
				t.Errorf("broken are %q, want %q", got, broken.rules)
			}
		})
	}
}
