package warden

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"coffer/server/access"
	"coffer/server/api"
	"coffer/store"
)

// Trash is a page of a vault's trashed secrets, last deleted first.
func (w *Warden) Trash(ctx context.Context, who Caller, req api.PageRef) (*api.List[api.TrashedSecret], error) {
	var page *api.List[api.TrashedSecret]
	err := w.read(ctx, who, access.TrashList, req.Repository(), func(v *visit) error {
		all, err := v.Reader.Trash(v.vault.ID)
		if err != nil {
			return err
		}
		all = slices.DeleteFunc(all, func(s store.Secret) bool {
			e := v.environmentByID(s.Environment)
			return e == nil || !v.rights(e).Read
		})
		slices.SortFunc(all, func(a, b store.Secret) int {
			return cmp.Or(cmp.Compare(b.Trashed, a.Trashed), bytes.Compare(a.ID[:], b.ID[:]))
		})
		cut := api.Cut(all, req.Page)
		page = &api.List[api.TrashedSecret]{Limit: cut.Limit, Offset: cut.Offset, Total: cut.Total}
		for _, s := range cut.Items {
			page.Items = append(page.Items, trashed(s, v.environmentByID(s.Environment).Name, v.now))
		}
		return nil
	})
	return page, err
}

func trashed(s store.Secret, environment string, now time.Time) api.TrashedSecret {
	const day = 24 * time.Hour
	left := max(0, s.Expires.Time().Sub(now))
	return api.TrashedSecret{
		ID: s.ID.String(), Key: s.Key, Environment: environment,
		DeletedAt: api.At(s.Trashed.Time()), ExpiresAt: api.At(s.Expires.Time()),
		DaysRemaining: int((left + day - 1) / day),
	}
}

// changeTrashed lets a caller change one trashed secret.
func (w *Warden) changeTrashed(ctx context.Context, who Caller, act access.Action, ref api.SecretRef, work func(*visit, *store.Environment, store.Secret) error) error {
	missing := api.Errorf(api.NotFound, "There is no such secret in this vault's trash.")
	return w.change(ctx, who, act, ref.Repository(), func(v *visit) error {
		id, err := store.ParseID(ref.SecretID)
		if err != nil {
			return missing
		}
		s, err := v.Secret(v.vault.ID, id)
		if errors.Is(err, store.ErrNotFound) || err == nil && s.Trashed == 0 {
			return missing
		}
		if err != nil {
			return err
		}
		e := v.environmentByID(s.Environment)
		if e == nil {
			return missing
		}
		if err := v.allow(e); err != nil {
			return err
		}
		return work(v, e, s)
	})
}

// RestoreSecret takes a secret out of the trash, with its id and its versions.
func (w *Warden) RestoreSecret(ctx context.Context, who Caller, ref api.SecretRef) (*api.RestoredSecret, error) {
	var out *api.RestoredSecret
	err := w.changeTrashed(ctx, who, access.TrashRestore, ref, func(v *visit, e *store.Environment, s store.Secret) error {
		if _, err := v.NewestOf(*e, s.Key); err == nil {
			return api.Errorf(api.Conflict, "%s has another secret %s by now. Delete or rename that one first.", e.Name, s.Key)
		} else if !errors.Is(err, store.ErrNotFound) {
			return err
		}
		n, err := v.revive(e, s)
		if err != nil {
			return err
		}
		if err := v.tx.RestoreSecret(e, s, n); err != nil {
			return err
		}
		v.note("secret_restored", map[string]any{"secretId": s.ID.String(), "key": s.Key, "environment": e.Name})
		out = &api.RestoredSecret{
			ID: s.ID.String(), Key: s.Key, Environment: e.Name,
			Message:   fmt.Sprintf("%s is back in %s.", s.Key, e.Name),
			CreatedAt: api.At(n.Created.Time()), UpdatedAt: api.At(n.Updated.Time()),
		}
		return v.touch(e, s.Key)
	})
	return out, err
}

// count is a number of things in words.
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return strconv.Itoa(n) + " " + thing + "s"
}

// revive makes a trashed secret's newest row again, out of its last version.
func (v *visit) revive(e *store.Environment, s store.Secret) (store.Newest, error) {
	ver, err := v.Version(s.Version)
	if err != nil {
		return store.Newest{}, err
	}
	value, err := v.openVersion(ver)
	if err != nil {
		return store.Newest{}, err
	}
	k, err := v.key(v.vault.Generation)
	if err != nil {
		return store.Newest{}, err
	}
	n := store.Newest{
		Key: s.Key, Secret: s.ID, Version: s.Version, Number: s.Number,
		Created: s.Created, Updated: s.Updated, ModifiedBy: s.ModifiedBy,
	}
	v.sealNewest(k, e, &n, value)
	return n, nil
}

// DestroySecret removes a trashed secret for good.
func (w *Warden) DestroySecret(ctx context.Context, who Caller, ref api.SecretRef) error {
	return w.changeTrashed(ctx, who, access.TrashDelete, ref, func(v *visit, e *store.Environment, s store.Secret) error {
		v.note("secret_permanently_deleted", map[string]any{"secretId": s.ID.String(), "key": s.Key, "environment": e.Name})
		if err := v.tx.DestroySecret(e, s); err != nil {
			return err
		}
		return v.keep(e)
	})
}

// EmptyTrash removes a vault's trashed secrets for good, those in environments
// that the caller may not write excepted.
func (w *Warden) EmptyTrash(ctx context.Context, who Caller, ref api.Ref) (*api.EmptiedTrash, error) {
	var out *api.EmptiedTrash
	err := w.change(ctx, who, access.TrashEmpty, ref.Repository(), func(v *visit) error {
		all, err := v.Reader.Trash(v.vault.ID)
		if err != nil {
			return err
		}
		names := []string{}
		for _, s := range all {
			e := v.environmentByID(s.Environment)
			if e == nil || !v.rights(e).Write {
				continue
			}
			if err := v.tx.DestroySecret(e, s); err != nil {
				return err
			}
			if err := v.keep(e); err != nil {
				return err
			}
			names = append(names, s.Key)
		}
		slices.Sort(names)
		if len(names) > 0 {
			v.note("secret_permanently_deleted", map[string]any{"bulk": true, "count": len(names), "keys": names})
		}
		out = &api.EmptiedTrash{Deleted: len(names), Message: "Removed " + count(len(names), "secret") + " for good."}
		return nil
	})
	return out, err
}
