package warden

import (
	"context"
	"errors"
	"strings"

	"coffer/server/access"
	"coffer/server/api"
	"coffer/server/forge"
	"coffer/store"
)

// A vault belongs to the repository's immutable id. Everything else about the
// repository may change at the code host; whatever an answer of it shows to be
// new is written down here.

// follow writes down what an answer about a vault's repository shows to have
// changed. It stands behind a question that was answered already, so what goes
// wrong is only logged: the next answer will show the same. Answers may overtake
// each other: what was asked before something that is written down undoes nothing.
func (w *Warden) follow(ctx context.Context, vault store.Vault, f found) {
	if f.repo.ID != "" || f.gone {
		w.host.confirmed.note(vault.ID, f.asked)
	}
	if !changed(vault, f) {
		return
	}
	_, err := w.step(ctx, func(tx store.Tx, j *journal) (int, error) {
		return 0, w.followIn(tx, j, vault.ID, f)
	})
	if err != nil {
		w.log.ErrorContext(ctx, "a change of a repository could not be written down", "vault", vault.ID.String(), "error", err)
	}
}

// changed reports whether an answer says anything new of a vault's repository.
func changed(v store.Vault, f found) bool {
	if f.repo.ID == "" {
		return f.gone && v.Gone == 0
	}
	was, is := repositoryOf(v), f.repo
	if is.AvatarURL == "" {
		is.AvatarURL = was.AvatarURL
	}
	return was != is || v.Gone != 0
}

func (w *Warden) followIn(tx store.Tx, j *journal, id store.ID, f found) error {
	v, err := tx.Vault(id)
	if errors.Is(err, store.ErrNotFound) || err == nil && (!changed(v, f) || f.asked.Before(w.host.confirmed.last(id))) {
		return nil
	}
	if err != nil {
		return err
	}
	if f.repo.ID == "" {
		v.Gone = store.At(j.now)
		return tx.PutVault(v)
	}
	was := v
	v.Owner, v.Name, v.Private, v.Gone = f.repo.Owner, f.repo.Name, !f.repo.Public, 0
	v.OwnerKind, v.OwnerID = string(f.repo.OwnerKind), f.repo.OwnerID
	if f.repo.AvatarURL != "" {
		v.AvatarURL = f.repo.AvatarURL
	}
	j.vault = v
	if was.Repository() != v.Repository() {
		j.note("vault_renamed", map[string]any{"from": was.Repository(), "to": v.Repository()})
	}
	if was.Private != v.Private {
		j.note("vault_visibility_changed", map[string]any{"isPrivate": v.Private})
	}
	if v.OwnerKind == store.OwnerOrg {
		if _, err := w.orgAt(tx, j, organizationWith(v)); err != nil {
			return err
		}
	}
	return tx.MoveVault(v)
}

// vaultCalled finds the vault of the repository that the code host leads a name
// to: after a rename that nobody told us of, or for an old name. It is the zero
// Vault where there is none, or the caller may not see the repository.
func (w *Warden) vaultCalled(ctx context.Context, who Caller, name string) (v store.Vault, err error) {
	k := nameOf{who.user.Account, strings.ToLower(name), who.credential()}
	id, epoch, known := recall(w.host.roles, &w.host.roles.names, k)
	if !known {
		owner, short, _ := api.SplitRepo(name)
		repo, err := ask(ctx, w, who, func(ctx context.Context, as forge.Asker) (forge.Repository, error) {
			return w.forge.Repository(ctx, as, owner, short)
		})
		if err != nil && !errors.Is(err, forge.ErrNotFound) {
			return v, w.errForge(ctx, who, err)
		}
		id = repo.ID
		keep(w.host.roles, &w.host.roles.names, k, id, epoch, noRoleTTL)
	}
	if id == "" {
		return v, nil
	}
	return w.vaultBy(ctx, func(r store.Reader) (store.ID, error) { return r.VaultIDByRepo(id) })
}

// vaultBy is the vault that an index leads to, or the zero Vault.
func (w *Warden) vaultBy(ctx context.Context, index func(store.Reader) (store.ID, error)) (v store.Vault, err error) {
	err = w.store.View(ctx, func(r store.Reader) error {
		id, err := index(r)
		if err != nil {
			return err
		}
		v, err = r.Vault(id)
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		err = nil
	}
	return v, w.outward(err)
}

// find is the vault of the repository that a name means today, with what the
// code host says of the caller there. Without a vault it is the zero Vault.
func (w *Warden) find(ctx context.Context, who Caller, name string) (v store.Vault, f found, err error) {
	v, err = w.vaultBy(ctx, func(r store.Reader) (store.ID, error) { return r.VaultIDByName(name) })
	if err != nil {
		return v, f, err
	}
	if !v.ID.IsZero() {
		f, err = w.role(ctx, who, v)
		if err != nil || f.role != access.None && strings.EqualFold(f.repo.FullName(), name) {
			return v, f, err
		}
	}
	// The name may not, or no longer, be the one that we have on record.
	today, err := w.vaultCalled(ctx, who, name)
	switch {
	case err != nil || today.ID == v.ID:
		return v, f, err
	case today.ID.IsZero() && f.role != access.None:
		return today, found{}, nil // the name belongs to another repository, which has no vault
	case today.ID.IsZero():
		return v, f, nil
	}
	f, err = w.role(ctx, who, today)
	return today, f, err
}

// orphaned reports whether a caller may still see, and delete, the vault of a
// repository that is gone: the user who owned it, or an owner of the organization
// that did, as last recorded.
func (w *Warden) orphaned(ctx context.Context, who Caller, act access.Action, vault store.Vault, f found) (bool, error) {
	if act != access.VaultGet && act != access.VaultDelete || f.role != access.None || !f.gone && vault.Gone == 0 {
		return false, nil
	}
	if vault.OwnerKind == store.OwnerUser {
		return vault.OwnerID == who.user.Account, nil
	}
	owns := false
	err := w.store.View(ctx, func(r store.Reader) error {
		org, err := r.OrgAt(w.forge.Kind(), vault.OwnerID)
		if err != nil {
			return err
		}
		m, err := r.OrgMember(org.ID, who.user.ID)
		owns = err == nil && m.Role == forge.OrgOwner
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		err = nil
	}
	return owns, w.outward(err)
}
