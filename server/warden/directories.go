package warden

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"coffer/server/access"
	"coffer/server/api"
	"coffer/server/forge"
	"coffer/store"
)

// What the built-in code host has, for its operator.

// LocalUsers is a page of the users, by name.
func (w *Warden) LocalUsers(ctx context.Context, who Caller, req api.ListLocal) (*api.List[api.LocalUser], error) {
	return listLocal(ctx, w, who, access.LocalUserList, req, func(r store.Reader) ([]api.LocalUser, error) {
		users, err := r.LocalUsers()
		all := make([]api.LocalUser, 0, len(users))
		for _, u := range users {
			if err != nil {
				break
			}
			var known store.User
			if known, err = r.UserAt(forge.KindLocal, strconv.FormatUint(u.ID, 10)); errors.Is(err, store.ErrNotFound) {
				err = nil // and never was here
			}
			all = append(all, api.LocalUser{ID: int64(u.ID), Username: u.Name, Operator: u.Operator, Disabled: known.Disabled != 0})
		}
		return byName(all, func(u api.LocalUser) string { return u.Username }), err
	})
}

// LocalOrgs is a page of the organizations, by name.
func (w *Warden) LocalOrgs(ctx context.Context, who Caller, req api.ListLocal) (*api.List[api.LocalOrgMembers], error) {
	return listLocal(ctx, w, who, access.LocalOrgList, req, func(r store.Reader) ([]api.LocalOrgMembers, error) {
		orgs, err := r.LocalOrgs()
		all := make([]api.LocalOrgMembers, 0, len(orgs))
		for _, o := range orgs {
			if err != nil {
				break
			}
			shown := api.LocalOrgMembers{LocalOrg: api.LocalOrg{ID: int64(o.ID), Name: o.Name}}
			var members map[uint64]string
			if members, err = r.LocalMembers(o.ID); err == nil {
				shown.Members, err = grantees(r, members)
			}
			all = append(all, shown)
		}
		return byName(all, func(o api.LocalOrgMembers) string { return o.Name }), err
	})
}

// LocalRepos is a page of the repositories, by name.
func (w *Warden) LocalRepos(ctx context.Context, who Caller, req api.ListLocal) (*api.List[api.LocalRepoGrants], error) {
	return listLocal(ctx, w, who, access.LocalRepoList, req, func(r store.Reader) ([]api.LocalRepoGrants, error) {
		repos, err := r.LocalRepos()
		all := make([]api.LocalRepoGrants, 0, len(repos))
		for _, repo := range repos {
			if err != nil {
				break
			}
			var shown api.LocalRepoGrants
			shown, err = localRepo(r, repo)
			all = append(all, shown)
		}
		return byName(all, func(r api.LocalRepoGrants) string { return r.RepoFullName }), err
	})
}

func localRepo(r store.Reader, repo store.LocalRepo) (api.LocalRepoGrants, error) {
	shown := api.LocalRepoGrants{LocalRepo: api.LocalRepo{ID: int64(repo.ID), Public: repo.Public}}
	full, err := records{r}.repo(repo, nil)
	if err != nil {
		return shown, err
	}
	shown.RepoFullName = full.Owner.Name + "/" + full.Name
	grants, err := r.LocalGrants(repo.ID)
	if err != nil {
		return shown, err
	}
	shown.Grants, err = grantees(r, grants)
	return shown, err
}

// grantees names who has which role, by name.
func grantees(r store.Reader, roles map[uint64]string) ([]api.Grantee, error) {
	var all []api.Grantee
	for id, role := range roles {
		u, err := r.LocalUser(id)
		if err != nil {
			return nil, err
		}
		all = append(all, api.Grantee{Username: u.Name, Role: role})
	}
	return byName(all, func(g api.Grantee) string { return g.Username }), nil
}

func byName[T any](all []T, name func(T) string) []T {
	slices.SortFunc(all, func(a, b T) int { return cmp.Compare(strings.ToLower(name(a)), strings.ToLower(name(b))) })
	return all
}

// listLocal is a page of what the built-in code host has of something.
func listLocal[T any](ctx context.Context, w *Warden, who Caller, act access.Action, req api.ListLocal, list func(store.Reader) ([]T, error)) (*api.List[T], error) {
	var all []T
	err := w.self(ctx, who, act, func(r store.Reader) (err error) {
		if err := w.builtIn(); err != nil {
			return err
		}
		all, err = list(r)
		return err
	})
	if err != nil {
		return nil, err
	}
	return api.Cut(all, req.Page), nil
}
