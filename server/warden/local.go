package warden

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"coffer/crypto"
	"coffer/server/access"
	"coffer/server/api"
	"coffer/server/forge"
	"coffer/store"
)

// AddLocalUser adds a user to the built-in code host.
func (w *Warden) AddLocalUser(ctx context.Context, who Caller, req api.AddLocalUser) (*api.AddedLocalUser, error) {
	if err := admit(who, access.LocalUserAdd); err != nil {
		return nil, w.settle(ctx, who, access.LocalUserAdd, store.Vault{}, err)
	}
	if err := w.builtIn(); err != nil {
		return nil, err
	}
	hash, err := crypto.HashPassword([]byte(req.Password.Reveal()))
	if err != nil {
		return nil, err
	}
	u := store.LocalUser{Name: req.Username, Password: hash, Operator: req.Operator}
	err = w.changeSelf(ctx, who, access.LocalUserAdd, func(tx store.Tx, j *journal) error {
		u.Created = store.At(j.now)
		if err := nameTaken(tx.AddLocalUser(&u), u.Name); err != nil {
			return err
		}
		j.note("local_user_added", map[string]any{"username": u.Name, "operator": u.Operator})
		_, err := w.userAt(tx, j, strconv.FormatUint(u.ID, 10), u.Name)
		return err
	})
	return &api.AddedLocalUser{LocalUser: api.LocalUser{ID: int64(u.ID), Username: u.Name, Operator: u.Operator}}, err
}

// DisableLocalUser keeps a user of the built-in code host out, or lets them in
// again. Their sessions end for good; their API keys work again once they may come
// in, unless somebody revokes them. What they have made stays.
func (w *Warden) DisableLocalUser(ctx context.Context, who Caller, req api.DisableLocalUser) (*api.LocalUser, error) {
	out := &api.LocalUser{Disabled: req.Disabled}
	err := w.changeSelf(ctx, who, access.LocalUserDisable, func(tx store.Tx, j *journal) error {
		if err := w.builtIn(); err != nil {
			return err
		}
		account, err := localUser(tx.Reader, req.Username)
		if err != nil {
			return err
		}
		u, err := w.userAt(tx, j, strconv.FormatUint(account.ID, 10), account.Name)
		if err != nil {
			return err
		}
		out.ID, out.Username, out.Operator = int64(account.ID), account.Name, account.Operator
		if !req.Disabled {
			u.Disabled = 0
			j.note("local_user_enabled", map[string]any{"username": account.Name})
			return tx.PutUser(u)
		}
		if u.ID == who.user.ID {
			return api.Errorf(api.Conflict, "You cannot disable yourself. Have another operator do it, or use coffer admin user disable.")
		}
		u.Disabled = store.At(j.now)
		j.note("local_user_disabled", map[string]any{"username": account.Name})
		return errors.Join(tx.PutUser(u), endSessionsOf(tx, u, store.ID{}))
	})
	return out, err
}

// SetLocalPassword gives a user of the built-in code host another password, for one
// that was lost or seen. Whoever is signed in as them is no more, except for the
// session that asks; attempts that failed under the old one count no more.
func (w *Warden) SetLocalPassword(ctx context.Context, who Caller, req api.SetLocalPassword) (*api.LocalUser, error) {
	if err := admit(who, access.LocalPasswordSet); err != nil {
		return nil, w.settle(ctx, who, access.LocalPasswordSet, store.Vault{}, err)
	}
	if err := w.builtIn(); err != nil {
		return nil, err
	}
	hash, err := crypto.HashPassword([]byte(req.Password.Reveal()))
	if err != nil {
		return nil, err
	}
	out := &api.LocalUser{}
	err = w.changeSelf(ctx, who, access.LocalPasswordSet, func(tx store.Tx, j *journal) error {
		account, err := localUser(tx.Reader, req.Username)
		if err != nil {
			return err
		}
		u, err := w.userAt(tx, j, strconv.FormatUint(account.ID, 10), account.Name)
		if err != nil {
			return err
		}
		account.Password = hash
		*out = api.LocalUser{ID: int64(account.ID), Username: account.Name, Operator: account.Operator, Disabled: u.Disabled != 0}
		j.note("local_password_set", map[string]any{"username": account.Name})
		return errors.Join(tx.PutLocalUser(account), endSessionsOf(tx, u, who.session.ID))
	})
	if err == nil {
		w.passwords.lockouts.clear(out.Username)
	}
	return out, err
}

// endSessionsOf ends all sessions of a user but one.
func endSessionsOf(tx store.Tx, u store.User, but store.ID) error {
	all, err := tx.Sessions(u.ID)
	if err != nil {
		return err
	}
	for _, s := range all {
		if s.ID == but {
			continue
		}
		if err := tx.DeleteSession(s); err != nil {
			return err
		}
	}
	return nil
}

// errDisabled means that somebody is kept out, and is said to nobody who does not
// have what would let them in.
func errDisabled() *api.Error {
	return api.Errorf(api.Unauthorized, "This account is disabled. The operator of this server can let it in again.")
}

// builtIn refuses what only the built-in code host can do while the instance is
// bound to another: the ids that it gives out would be those of strangers there.
func (w *Warden) builtIn() error {
	if w.forge.Kind() == forge.KindLocal {
		return nil
	}
	return api.Errorf(api.Conflict, "This instance is bound to %s: its people, organizations and repositories are kept there. Change them there.", w.forge.Kind())
}

// userNamed is the user of this name: of the built-in code host, or who has been
// here before.
func (w *Warden) userNamed(tx store.Tx, j *journal, name string) (store.User, error) {
	if w.builtIn() == nil {
		account, err := localUser(tx.Reader, name)
		if err != nil {
			return store.User{}, err
		}
		u, err := w.userAt(tx, j, strconv.FormatUint(account.ID, 10), account.Name)
		if err == nil && u.Disabled != 0 {
			err = api.Errorf(api.Conflict, "%s is disabled. Enable them first.", account.Name)
		}
		return u, err
	}
	all, err := tx.Users()
	if err != nil {
		return store.User{}, err
	}
	all = slices.DeleteFunc(all, func(u store.User) bool { return !strings.EqualFold(u.Login, name) })
	switch len(all) {
	case 1:
		return all[0], nil
	case 0:
		return store.User{}, api.InvalidField("username", api.UnknownValue, "Nobody of this name has signed in here yet.")
	}
	// Names change hands at the code host, and the one who had it first may be meant
	// by nobody any more.
	return store.User{}, api.Errorf(api.Conflict, "%d people have signed in here as %s, and all but one of them have another name by now. Have them sign in again.", len(all), name)
}

func nameTaken(err error, name string) error {
	if errors.Is(err, store.ErrExists) {
		return api.Errorf(api.Conflict, "The name %s is taken already.", name)
	}
	return err
}

// AddLocalOrg adds an organization to the built-in code host.
func (w *Warden) AddLocalOrg(ctx context.Context, who Caller, req api.AddLocalOrg) (*api.LocalOrg, error) {
	o := store.LocalOrg{Name: req.Name}
	err := w.changeSelf(ctx, who, access.LocalOrgAdd, func(tx store.Tx, j *journal) error {
		if err := w.builtIn(); err != nil {
			return err
		}
		o.Created = store.At(j.now)
		j.note("local_org_added", map[string]any{"org": o.Name})
		return nameTaken(tx.AddLocalOrg(&o), o.Name)
	})
	return &api.LocalOrg{ID: int64(o.ID), Name: o.Name}, err
}

// SetLocalMember gives a user a role in an organization of the built-in code host,
// or takes them out of it.
func (w *Warden) SetLocalMember(ctx context.Context, who Caller, req api.SetLocalMember) error {
	err := w.changeSelf(ctx, who, access.LocalMemberSet, func(tx store.Tx, j *journal) error {
		if err := w.builtIn(); err != nil {
			return err
		}
		org, err := tx.LocalNamespace(req.Org)
		if err = unknownName(err, "org", req.Org, org.Kind == store.OwnerOrg); err != nil {
			return err
		}
		user, err := localUser(tx.Reader, req.Username)
		if err != nil {
			return err
		}
		if req.Role == "none" {
			j.note("org_member_removed", map[string]any{"org": req.Org, "username": user.Name})
			return tx.SetLocalMember(org.ID, user.ID, "")
		}
		j.note("org_member_set", map[string]any{"org": req.Org, "username": user.Name, "role": req.Role})
		return tx.SetLocalMember(org.ID, user.ID, req.Role)
	})
	w.host.roles.forget()
	return err
}

func unknownName(err error, field, name string, rightKind bool) error {
	if errors.Is(err, store.ErrNotFound) || err == nil && !rightKind {
		return api.InvalidField(field, api.UnknownValue, "There is no %s %q. Add it first.", field, name)
	}
	return err
}

func localUser(r store.Reader, name string) (store.LocalUser, error) {
	ns, err := r.LocalNamespace(name)
	if err := unknownName(err, "username", name, ns.Kind == store.OwnerUser); err != nil {
		return store.LocalUser{}, err
	}
	return r.LocalUser(ns.ID)
}

// AddLocalRepo registers a repository at the built-in code host.
func (w *Warden) AddLocalRepo(ctx context.Context, who Caller, req api.AddLocalRepo) (*api.LocalRepo, error) {
	owner, name, _ := api.SplitRepo(req.RepoFullName)
	repo := store.LocalRepo{Name: name, Public: req.Public}
	var spelled string
	err := w.changeSelf(ctx, who, access.LocalRepoAdd, func(tx store.Tx, j *journal) error {
		if err := w.builtIn(); err != nil {
			return err
		}
		ns, err := tx.LocalNamespace(owner)
		if err := unknownName(err, "repoFullName", owner, true); err != nil {
			return err
		}
		repo.OwnerKind, repo.Owner, repo.Created = ns.Kind, ns.ID, store.At(j.now)
		named, err := records{tx.Reader}.Namespace(owner)
		if err != nil {
			return err
		}
		spelled = named.Name + "/" + name
		err = tx.AddLocalRepo(&repo)
		if errors.Is(err, store.ErrExists) {
			return api.Errorf(api.Conflict, "The repository %s exists already.", spelled)
		}
		j.note("local_repo_added", map[string]any{"repoFullName": spelled, "public": repo.Public})
		return err
	})
	w.host.roles.forget()
	return &api.LocalRepo{ID: int64(repo.ID), RepoFullName: spelled, Public: repo.Public}, err
}

// GrantLocalRepo gives a user a role on a repository of the built-in code host,
// or takes it away.
func (w *Warden) GrantLocalRepo(ctx context.Context, who Caller, req api.GrantLocalRepo) error {
	owner, name, _ := api.SplitRepo(req.RepoFullName)
	role := req.Role
	if role == "none" {
		role = ""
	}
	err := w.changeSelf(ctx, who, access.LocalRoleGrant, func(tx store.Tx, j *journal) error {
		if err := w.builtIn(); err != nil {
			return err
		}
		ns, err := tx.LocalNamespace(owner)
		if err := unknownName(err, "repoFullName", owner, true); err != nil {
			return err
		}
		repo, err := tx.LocalRepoNamed(ns, name)
		if err := unknownName(err, "repoFullName", req.RepoFullName, true); err != nil {
			return err
		}
		user, err := localUser(tx.Reader, req.Username)
		if err != nil {
			return err
		}
		j.note("repository_role_set", map[string]any{"repoFullName": req.RepoFullName, "username": user.Name, "role": req.Role})
		return tx.SetLocalRole(repo.ID, user.ID, role)
	})
	w.host.roles.forget()
	return err
}

// IssueToken makes an API key in the name of a user.
func (w *Warden) IssueToken(ctx context.Context, who Caller, req api.IssueToken) (*api.CreatedAPIKey, error) {
	now := w.now()
	var expires time.Time
	if req.TTLSeconds > 0 {
		expires = now.Add(time.Duration(req.TTLSeconds) * time.Second)
	}
	k, token, err := newKey(now, req.Name, req.Environment, req.Scopes, req.AllowedIPs, expires)
	if err != nil {
		return nil, err
	}
	err = w.changeSelf(ctx, who, access.TokenIssue, func(tx store.Tx, j *journal) error {
		user, err := w.userNamed(tx, j, req.Username)
		if err != nil {
			return err
		}
		k.User = user.ID
		j.who.user = user
		j.note("api_key_created", keyMeta(k))
		return tx.PutAPIKey(k)
	})
	if err != nil {
		return nil, err
	}
	return &api.CreatedAPIKey{APIKey: w.shownKey(k), Token: api.Revealed(token)}, nil
}
