package warden

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"coffer/server/access"
	"coffer/server/api"
	"coffer/server/forge"
	"coffer/store"
)

// VaultAccess says who may do what in a vault, as far as the caller may know.
type VaultAccess struct {
	Role      string   // the caller's
	CanManage bool     // the caller may change overrides
	Columns   []string // environments: all of them, or those that the caller may read
	Mine      []api.Permission
	People    []PersonAccess // of the repository, for its admins
	Overrides []api.Override
	Defaults  api.Matrix // what holds without overrides

	// Members are the people of the organization that have an account, for who may
	// change overrides and is not shown the people of the repository.
	Members []api.OrgMember

	// Unlisted is why an admin is not shown the people, or nil.
	Unlisted error
}

// PersonAccess is somebody with a role on the repository.
type PersonAccess struct {
	Username, Role string
	UserID         string // "" for who has never signed in here
	Bot            bool
	Rights         []api.Permission // by column
}

// VaultAccess is what the access page of a vault shows. The code host is asked for
// the people; where it does not list them, the rest is there all the same.
func (w *Warden) VaultAccess(ctx context.Context, who Caller, ref api.Ref) (*VaultAccess, error) {
	rules, err := w.Overrides(ctx, who, ref)
	if err != nil {
		return nil, err
	}
	var v *visit
	err = w.read(ctx, who, access.PermissionEffective, ref.Repository(), func(here *visit) error {
		v = here
		return nil
	})
	if err != nil {
		return nil, err
	}
	out := &VaultAccess{Role: v.role.String(), Overrides: rules.Overrides, Defaults: rules.Defaults}
	if out.CanManage, err = w.manages(ctx, who, v); err != nil {
		return nil, err
	}
	columns := v.envs
	if !out.CanManage {
		columns = v.readable()
	}
	for _, e := range columns {
		rights := v.rights(e)
		out.Columns = append(out.Columns, e.Name)
		out.Mine = append(out.Mine, api.Permission{Read: rights.Read, Write: rights.Write})
	}
	if v.role == access.Admin {
		out.People, err = w.peopleOf(ctx, who, ref, v)
		if _, known := errors.AsType[*api.Error](err); known {
			out.Unlisted, err = err, nil
		}
	}
	if err == nil && out.CanManage && out.People == nil {
		out.Members, err = w.membersAround(ctx, who, v.vault)
	}
	return out, err
}

// membersAround are the people with an account in the organization that a vault's
// repository belongs to; none where the caller may not see them.
func (w *Warden) membersAround(ctx context.Context, who Caller, vault store.Vault) ([]api.OrgMember, error) {
	if vault.OwnerKind != store.OwnerOrg {
		return nil, nil
	}
	all, err := w.OrgMembers(ctx, who, api.OrgRef{Org: vault.Owner})
	if _, known := errors.AsType[*api.Error](err); known {
		return nil, nil // overrides for roles can be made all the same
	}
	return slices.DeleteFunc(all, func(m api.OrgMember) bool { return !m.OnKeyway }), err
}

// manages reports whether the caller may change overrides: by role, or as an owner
// of the vault's organization.
func (w *Warden) manages(ctx context.Context, who Caller, v *visit) (bool, error) {
	if admit(who, access.OverrideUpdate) != nil {
		return false, nil
	}
	if v.role >= access.OverrideUpdate.Row().Role {
		return true, nil
	}
	standing, err := w.standing(ctx, who, v.vault)
	return standing == access.Owner, err
}

// peopleOf lists who has a role on the repository of a vault, the strongest first,
// with their rights in each environment.
func (w *Warden) peopleOf(ctx context.Context, who Caller, ref api.Ref, v *visit) ([]PersonAccess, error) {
	_, people, err := w.collaborators(ctx, who, ref)
	if err != nil {
		return nil, err
	}
	var all []PersonAccess
	err = w.self(ctx, who, access.PermissionEffective, func(r store.Reader) error {
		for _, p := range people {
			one, err := v.accessOf(r, p)
			if err != nil {
				return err
			}
			all = append(all, one)
		}
		return nil
	})
	slices.SortFunc(all, func(a, b PersonAccess) int {
		return cmp.Or(slices.Index(api.Roles, b.Role)-slices.Index(api.Roles, a.Role), cmp.Compare(strings.ToLower(a.Username), strings.ToLower(b.Username)))
	})
	return all, err
}

func (v *visit) accessOf(r store.Reader, p forge.Collaborator) (PersonAccess, error) {
	role, err := access.ParseRole(string(p.Role))
	if err != nil {
		return PersonAccess{}, err
	}
	out := PersonAccess{Username: p.User.Login, Role: role.String(), Bot: p.User.Bot}
	u, err := r.UserAt(v.w.forge.Kind(), p.User.ID)
	switch {
	case err == nil:
		out.UserID = u.ID.String()
	case !errors.Is(err, store.ErrNotFound):
		return out, err
	}
	for _, e := range v.envs {
		rights := access.Resolve(access.Subject{Role: role, UserID: out.UserID, Environment: e.Name, Type: envType(e.Type)}, v.overrides, v.defaults)
		out.Rights = append(out.Rights, api.Permission{Read: rights.Read, Write: rights.Write})
	}
	return out, nil
}
