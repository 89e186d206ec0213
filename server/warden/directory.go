package warden

import (
	"context"
	"errors"
	"maps"

	"coffer/server/forge"
	"coffer/store"
)

// directory keeps the built-in code host's records in the store.
type directory struct{ w *Warden }

// Read gives fn one consistent look.
func (d directory) Read(ctx context.Context, fn func(forge.Records) error) error {
	return d.w.store.View(ctx, func(r store.Reader) error { return fn(records{r}) })
}

// AddRepo registers a private repository.
func (d directory) AddRepo(ctx context.Context, owner forge.Namespace, name string) (forge.LocalRepo, error) {
	repo := store.LocalRepo{OwnerKind: string(owner.Kind), Owner: owner.ID, Name: name, Created: store.At(d.w.now())}
	err := d.w.store.Update(ctx, func(tx store.Tx) error {
		err := tx.AddLocalRepo(&repo)
		if errors.Is(err, store.ErrExists) { // somebody else was faster
			repo, err = tx.LocalRepoNamed(store.LocalNamespace{Kind: string(owner.Kind), ID: owner.ID}, name)
		}
		return err
	})
	return forge.LocalRepo{ID: repo.ID, Owner: owner, Name: repo.Name, Public: repo.Public}, err
}

// records translates the store's records for the built-in code host.
type records struct{ r store.Reader }

func absent(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return forge.ErrNotFound
	}
	return err
}

func (d records) Namespace(name string) (forge.Namespace, error) {
	ns, err := d.r.LocalNamespace(name)
	if err != nil {
		return forge.Namespace{}, absent(err)
	}
	return d.Owner(forge.OwnerKind(ns.Kind), ns.ID)
}

func (d records) Owner(kind forge.OwnerKind, id uint64) (forge.Namespace, error) {
	if kind == forge.OwnerOrg {
		o, err := d.r.LocalOrg(id)
		return forge.Namespace{Kind: kind, ID: id, Name: o.Name}, absent(err)
	}
	u, err := d.r.LocalUser(id)
	return forge.Namespace{Kind: kind, ID: id, Name: u.Name}, absent(err)
}

func (d records) repo(repo store.LocalRepo, err error) (forge.LocalRepo, error) {
	if err != nil {
		return forge.LocalRepo{}, absent(err)
	}
	owner, err := d.Owner(forge.OwnerKind(repo.OwnerKind), repo.Owner)
	return forge.LocalRepo{ID: repo.ID, Owner: owner, Name: repo.Name, Public: repo.Public}, err
}

func (d records) Repo(id uint64) (forge.LocalRepo, error) { return d.repo(d.r.LocalRepo(id)) }

func (d records) RepoNamed(owner forge.Namespace, name string) (forge.LocalRepo, error) {
	return d.repo(d.r.LocalRepoNamed(store.LocalNamespace{Kind: string(owner.Kind), ID: owner.ID}, name))
}

func (d records) ReposOf(owner forge.Namespace) ([]forge.LocalRepo, error) {
	repos, err := d.r.LocalReposOf(owner.ID)
	all := make([]forge.LocalRepo, len(repos))
	for i, repo := range repos {
		all[i] = forge.LocalRepo{ID: repo.ID, Owner: owner, Name: repo.Name, Public: repo.Public}
	}
	return all, err
}

func (d records) Grant(repo, user uint64) (forge.Role, error) {
	role, err := d.r.LocalRole(repo, user)
	return forge.Role(role), err
}

func (d records) Grants(repo uint64) (map[uint64]forge.Role, error) {
	words, err := d.r.LocalGrants(repo)
	all := make(map[uint64]forge.Role, len(words))
	for id, role := range maps.All(words) {
		all[id] = forge.Role(role)
	}
	return all, err
}

func (d records) GrantedTo(user uint64) ([]uint64, error) { return d.r.LocalGrantedTo(user) }

func (d records) Membership(org, user uint64) (string, error) { return d.r.LocalMembership(org, user) }

func (d records) Members(org uint64) (map[uint64]string, error) { return d.r.LocalMembers(org) }

func (d records) OrgsOf(user uint64) ([]uint64, error) { return d.r.LocalOrgsOf(user) }
