package warden

import (
	"context"
	"errors"
	"strconv"

	"coffer/server/access"
	"coffer/server/api"
	"coffer/server/forge"
	"coffer/store"
)

// lookUp asks the code host for the repository that a name means today, and for
// the caller's role on it. Without one that the caller may know of, the repository
// is the zero one.
func (w *Warden) lookUp(ctx context.Context, who Caller, name string) (repo forge.Repository, role access.Role, err error) {
	owner, short, _ := api.SplitRepo(name)
	repo, err = ask(ctx, w, who, func(ctx context.Context, as forge.Asker) (forge.Repository, error) {
		return w.forge.Repository(ctx, as, owner, short)
	})
	if errors.Is(err, forge.ErrNotFound) || errors.Is(err, forge.ErrRefused) {
		return forge.Repository{}, access.None, nil
	}
	if err != nil {
		return forge.Repository{}, access.None, w.errForge(ctx, who, err)
	}
	role, err = w.roleOn(ctx, who, repo)
	return repo, role, err
}

// roleOn is the caller's role on a repository that may have no vault.
func (w *Warden) roleOn(ctx context.Context, who Caller, repo forge.Repository) (access.Role, error) {
	f, err := w.role(ctx, who, store.Vault{
		RepoID: repo.ID, Owner: repo.Owner, Name: repo.Name,
		OwnerKind: string(repo.OwnerKind), OwnerID: repo.OwnerID, AvatarURL: repo.AvatarURL, Private: !repo.Public,
	})
	return f.role, err
}

// RepositoryIDs tells the code host's numbers of a repository and its owner to
// whoever has a role there, and to everybody else nothing.
func (w *Warden) RepositoryIDs(ctx context.Context, who Caller, req api.RepositoryIDs) (*api.FoundRepositoryIDs, error) {
	const act = access.RepositoryIDs
	if err := admit(who, act); err != nil {
		return nil, w.settle(ctx, who, act, store.Vault{}, err)
	}
	repo, role, err := w.lookUp(ctx, who, req.Repo)
	if err != nil || role == access.None {
		return &api.FoundRepositoryIDs{}, err
	}
	return &api.FoundRepositoryIDs{OwnerID: numberOrNull(repo.OwnerID), RepoID: numberOrNull(repo.ID)}, nil
}

func numberOrNull(id string) *int64 {
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return nil
	}
	return &n
}

// CheckInstallation tells whether the server reaches a repository that the caller
// has a role on. It does not for sure only where the caller's own token of the
// code host sees the repository, the server without it does not, and there is
// something to install that would change that.
func (w *Warden) CheckInstallation(ctx context.Context, who Caller, req api.CheckInstallation) (*api.Installation, error) {
	const act = access.CheckInstallation
	if err := admit(who, act); err != nil {
		return nil, w.settle(ctx, who, act, store.Vault{}, err)
	}
	name := req.RepoOwner + "/" + req.RepoName
	repo, role, err := w.lookUp(ctx, who, name)
	if err != nil {
		return nil, err
	}
	if role == access.None {
		return nil, api.Errorf(api.NotFound, "There is no repository %s, or you have no access to it.", name)
	}
	out := &api.Installation{Installed: true, InstallURL: orNull(w.installURL(ctx))}
	if who.kind == access.PAT && out.InstallURL != nil {
		if out.Installed, err = w.reaches(ctx, who.user, repo); err != nil {
			return nil, err
		}
	}
	if installer, ok := w.forge.(forge.Installer); ok && out.Installed {
		// It adds to the answer and decides nothing, so it may be missing.
		if id, err := installer.InstallationID(ctx, repo); err == nil {
			out.InstallationID = numberOrNull(id)
		}
	}
	return out, nil
}

// reaches reports whether the server sees a repository by itself: with the service
// credential, or what the user let it do by signing in.
func (w *Warden) reaches(ctx context.Context, user store.User, repo forge.Repository) (bool, error) {
	who := Caller{kind: access.JWT, user: user}
	_, err := ask(ctx, w, who, func(ctx context.Context, as forge.Asker) (forge.Repository, error) {
		return w.forge.RepositoryByID(ctx, as, repo)
	})
	switch {
	case errors.Is(err, forge.ErrNotFound), errors.Is(err, forge.ErrNoCredential), errors.Is(err, errNoGrant):
		return false, nil
	case err != nil:
		return false, w.errForge(ctx, who, err)
	}
	return true, nil
}

// nameInstallURL adds to a refusal that hides a repository how it is opened to
// this instance. The words are the same whether there is one or not.
func (w *Warden) nameInstallURL(ctx context.Context, err error) {
	refused, ok := errors.AsType[*refusal](err)
	if link := w.installURL(ctx); ok && refused.reason == access.NoRole && link != "" {
		refused.answer.Message += " If there is one, open it to this server: " + link
	}
}
