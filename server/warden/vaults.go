package warden

import (
	"context"
	"errors"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"coffer/server/access"
	"coffer/server/api"
	"coffer/server/billing"
	"coffer/server/forge"
	"coffer/store"
)

// ListVaults is a page of all vaults on whose repositories the caller has a
// role, latest change first.
func (w *Warden) ListVaults(ctx context.Context, who Caller, req api.ListVaults) (*api.List[api.Vault], error) {
	found, err := w.FindVaults(ctx, who, VaultSearch{Page: req.Page})
	if err != nil {
		return nil, err
	}
	l := &api.List[api.Vault]{Limit: found.Limit, Offset: found.Offset, Total: found.Total}
	for _, v := range found.Items {
		l.Items = append(l.Items, v.Vault)
	}
	return l, nil
}

// reachable lists the repositories on which the caller has a role, of those that
// have a vault at least. Where nobody can list them for the caller, the service
// credential is asked about every vault there is.
func (w *Warden) reachable(ctx context.Context, who Caller) ([]forge.Reachable, error) {
	k := listOf{who.user.Account, who.credential()}
	all, epoch, ok := recall(w.host.roles, &w.host.roles.lists, k)
	if ok {
		return slices.Clone(all), nil
	}
	all, err := w.askReachable(ctx, who)
	if err == nil {
		w.host.roles.keepList(k, slices.Clone(all), epoch)
	}
	return all, err
}

func (w *Warden) askReachable(ctx context.Context, who Caller) ([]forge.Reachable, error) {
	asked := w.now()
	all, err := ask(ctx, w, who, w.forge.Repositories)
	if errors.Is(err, errNoGrant) {
		return w.reachableOf(ctx, who, func(store.Vault) bool { return true })
	}
	if err != nil {
		return nil, w.errForge(ctx, who, err)
	}
	listed := make(map[string]bool, len(all))
	for _, there := range all {
		listed[there.Repository.ID] = true
		if err := w.followListed(ctx, there, asked); err != nil {
			return nil, err
		}
	}
	if lists, ok := w.forge.(forge.Overlooker); ok {
		more, err := w.reachableOf(ctx, who, func(v store.Vault) bool {
			return !listed[v.RepoID] && lists.Overlooks(repositoryOf(v))
		})
		return append(all, more...), err
	}
	return all, nil
}

// followListed writes down what a list of repositories shows to have changed.
func (w *Warden) followListed(ctx context.Context, there forge.Reachable, asked time.Time) error {
	v, err := w.vaultBy(ctx, func(r store.Reader) (store.ID, error) { return r.VaultIDByRepo(there.Repository.ID) })
	if err == nil && !v.ID.IsZero() {
		w.follow(ctx, v, found{repo: there.Repository, asked: asked})
	}
	return err
}

// reachableOf asks for the caller's role on the repositories of some vaults.
func (w *Warden) reachableOf(ctx context.Context, who Caller, some func(store.Vault) bool) ([]forge.Reachable, error) {
	var vaults []store.Vault
	err := w.store.View(ctx, func(r store.Reader) (err error) {
		vaults, err = r.Vaults()
		return err
	})
	if err != nil {
		return nil, w.outward(err)
	}
	vaults = slices.DeleteFunc(vaults, func(v store.Vault) bool { return !some(v) })
	roles := make([]found, len(vaults))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for i, v := range vaults {
		group.Go(func() (err error) {
			roles[i], err = w.role(ctx, who, v)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	var all []forge.Reachable
	for _, f := range roles {
		if f.role != access.None {
			all = append(all, forge.Reachable{Repository: f.repo, Role: forge.Role(f.role.String())})
		}
	}
	return all, nil
}

func (w *Warden) listed(r store.Reader, who Caller, there forge.Reachable) (*visit, error) {
	id, err := r.VaultIDByRepo(there.Repository.ID)
	if err != nil {
		return nil, err
	}
	vault, err := r.Vault(id)
	if err != nil {
		return nil, err
	}
	role, err := access.ParseRole(string(there.Role))
	if err != nil {
		return nil, err
	}
	return w.visitOf(r, who, access.VaultList, vault, role, nil, w.now())
}

// Vault is one vault.
func (w *Warden) Vault(ctx context.Context, who Caller, ref api.Ref) (*api.Vault, error) {
	var found api.Vault
	err := w.read(ctx, who, access.VaultGet, ref.Repository(), func(v *visit) (err error) {
		found, err = v.record()
		return err
	})
	return &found, err
}

// record is the vault as the visitor may see it.
func (v *visit) record() (api.Vault, error) {
	reason, err := v.books.readOnly(v.vault)
	out := api.Vault{
		ID:                 v.vault.ID.String(),
		RepoFullName:       v.vault.Repository(),
		RepoOwner:          v.vault.Owner,
		RepoName:           v.vault.Name,
		RepoAvatar:         orNull(v.vault.AvatarURL),
		IsPrivate:          v.vault.Private,
		Permission:         permission(v.role),
		Environments:       []string{},
		EnvironmentDetails: v.details(),
		IsReadOnly:         reason != billing.Writable,
		ReadonlyReason:     orNull(string(reason)),
		CreatedAt:          api.At(v.vault.Created.Time()),
	}
	if v.vault.Gone != 0 {
		out.Warning = new("repo_inaccessible")
	}
	updated := v.vault.Updated
	for _, e := range v.readable() {
		out.Environments = append(out.Environments, e.Name)
		out.SecretCount += e.Secrets
		updated = max(updated, e.Updated)
	}
	out.UpdatedAt = api.At(updated.Time())
	if err == nil {
		out.Syncs, err = v.vaultSyncs()
	}
	return out, err
}

func permission(r access.Role) *string {
	if r == access.None {
		return nil
	}
	return new(r.String())
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// CreateVault makes the vault of a repository, with the three usual
// environments. The caller must be an admin of the repository; in the built-in
// code host, the owner of a namespace may name a repository that is not
// registered yet.
func (w *Warden) CreateVault(ctx context.Context, who Caller, req api.CreateVault) (*api.CreatedVault, error) {
	const act = access.VaultCreate
	if err := admit(who, act); err != nil {
		return nil, w.settle(ctx, who, act, w.vaultNamed(ctx, req.RepoFullName), err)
	}
	repo, role, err := w.repositoryFor(ctx, who, req.RepoFullName)
	if err != nil {
		return nil, err
	}
	if err := refuseRole(who, act, role, access.Outsider, req.RepoFullName); err != nil {
		w.nameInstallURL(ctx, err)
		return nil, w.settle(ctx, who, act, w.vaultNamed(ctx, req.RepoFullName), err)
	}
	var made *api.Vault
	err = w.underOneRoot(ctx, func(keys *keyring) (err error) {
		made, err = w.createVault(ctx, who, repo, role, keys)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &api.CreatedVault{Vault: *made, VaultID: made.ID, Message: "Vault created for " + made.RepoFullName + "."}, nil
}

func (w *Warden) createVault(ctx context.Context, who Caller, repo forge.Repository, role access.Role, keys *keyring) (*api.Vault, error) {
	vault, dataKey, err := w.newVault(who, repo, keys)
	if err != nil {
		return nil, err
	}
	var made api.Vault
	err = w.changeSelf(ctx, who, access.VaultCreate, func(tx store.Tx, j *journal) error {
		if err := w.addVault(tx, j, vault, dataKey); err != nil {
			return err
		}
		v, err := w.visitOf(tx.Reader, who, access.VaultCreate, vault, role, keys, j.now)
		if err == nil {
			made, err = v.record()
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	w.host.confirmed.note(vault.ID, w.now())
	return &made, nil
}

// repositoryFor is lookUp, and registers at the built-in code host what the caller
// may register.
func (w *Warden) repositoryFor(ctx context.Context, who Caller, name string) (forge.Repository, access.Role, error) {
	repo, role, err := w.lookUp(ctx, who, name)
	registrar, ok := w.forge.(forge.Registrar)
	if !ok || err != nil || repo.ID != "" {
		return repo, role, err
	}
	owner, short, _ := api.SplitRepo(name)
	repo, err = registrar.Register(ctx, who.user.Account, owner, short)
	w.host.roles.forget()
	switch {
	case errors.Is(err, forge.ErrNotFound), errors.Is(err, forge.ErrRefused):
		return repo, access.None, nil
	case err != nil:
		return repo, access.None, w.errForge(ctx, who, err)
	}
	role, err = w.roleOn(ctx, who, repo)
	return repo, role, err
}

func (w *Warden) newVault(who Caller, repo forge.Repository, keys *keyring) (store.Vault, wrappedKey, error) {
	now := w.now()
	v := store.Vault{
		ID: store.NewIDs(now).Next(), RepoID: repo.ID, Owner: repo.Owner, Name: repo.Name,
		AvatarURL: repo.AvatarURL, Private: !repo.Public,
		OwnerKind: string(repo.OwnerKind), OwnerID: repo.OwnerID, CreatedBy: who.user.ID,
		Generation: 1, Created: store.At(now), Updated: store.At(now),
	}
	dataKey, err := keys.newDataKey(v.ID)
	return v, dataKey, err
}

func (w *Warden) addVault(tx store.Tx, j *journal, vault store.Vault, dataKey wrappedKey) error {
	if err := dataKey.check(tx.Reader); err != nil {
		return err
	}
	err := tx.AddVault(vault, dataKey.file)
	if errors.Is(err, store.ErrExists) {
		return api.Errorf(api.Conflict, "%s has a vault already.", vault.Repository())
	}
	if err != nil {
		return err
	}
	for i, name := range []string{"development", "staging", "production"} {
		e := store.Environment{
			ID: j.ids.Next(), Vault: vault.ID, Name: name, Type: access.Infer(name).String(), Order: i,
			Created: vault.Created, Updated: vault.Created,
		}
		if err := tx.PutEnvironment(e); err != nil {
			return err
		}
	}
	if vault.OwnerKind == store.OwnerOrg {
		if _, err := w.orgAt(tx, j, organizationWith(vault)); err != nil {
			return err
		}
	}
	if err := w.checkNewVault(tx.Reader, vault); err != nil {
		return err
	}
	j.vault = vault
	j.note("vault_created", map[string]any{"isPrivate": vault.Private})
	return nil
}

// DeleteVault removes a vault with everything in it but its activity, and with
// the key that could have opened its values.
func (w *Warden) DeleteVault(ctx context.Context, who Caller, ref api.Ref) error {
	var gone store.ID
	err := w.change(ctx, who, access.VaultDelete, ref.Repository(), func(v *visit) error {
		gone = v.vault.ID
		v.note("vault_deleted", nil)
		return v.tx.DeleteVault(v.vault)
	})
	if keys := w.keys.Load(); err == nil && keys != nil {
		keys.forget(gone)
	}
	return err
}

// Collaborators lists who has a role on a vault's repository.
func (w *Warden) Collaborators(ctx context.Context, who Caller, ref api.Ref) (*api.Collaborators, error) {
	vault, people, err := w.collaborators(ctx, who, ref)
	if err != nil {
		return nil, err
	}
	out := &api.Collaborators{RepoFullName: vault.Repository(), Provider: w.forge.Kind(), Collaborators: []api.Collaborator{}}
	for _, p := range people {
		c, err := collaborator(p)
		if err != nil {
			return nil, w.errForge(ctx, who, err)
		}
		out.Collaborators = append(out.Collaborators, c)
	}
	return out, nil
}

func (w *Warden) collaborators(ctx context.Context, who Caller, ref api.Ref) (vault store.Vault, people []forge.Collaborator, err error) {
	err = w.read(ctx, who, access.CollaboratorList, ref.Repository(), func(v *visit) error {
		vault = v.vault
		return nil
	})
	if err != nil {
		return vault, nil, err
	}
	people, err = ask(ctx, w, who, func(ctx context.Context, as forge.Asker) ([]forge.Collaborator, error) {
		return w.forge.Collaborators(ctx, as, repositoryOf(vault))
	})
	if err != nil {
		return vault, nil, w.errForge(ctx, who, err)
	}
	return vault, people, nil
}

func collaborator(p forge.Collaborator) (api.Collaborator, error) {
	role, err := access.ParseRole(string(p.Role))
	if err != nil {
		return api.Collaborator{}, err
	}
	kind := "user"
	if p.User.Bot {
		kind = "bot"
	}
	return api.Collaborator{
		Login: p.User.Login, AvatarURL: orNull(p.User.AvatarURL), HTMLURL: orNull(p.URL),
		GithubPermission: role.String(), Type: kind,
		KeywayPermissions: api.KeywayPermissions{
			CanRead: true, CanWrite: role >= access.Write, CanManage: role == access.Admin,
		},
	}, nil
}
