package warden

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"

	"coffer/crypto"
	"coffer/server/access"
	"coffer/server/api"
	"coffer/store"
)

func errNoSecret() *api.Error {
	return api.Errorf(api.NotFound, "This vault has no such secret. It may be in the trash.")
}

func (v *visit) meta(e *store.Environment, n store.Newest) (api.SecretMeta, error) {
	by, err := v.person(n.ModifiedBy)
	out := api.SecretMeta{
		ID: n.Secret.String(), Key: n.Key, Environment: e.Name,
		CreatedAt: api.At(n.Created.Time()), UpdatedAt: api.At(n.Updated.Time()),
	}
	if by != nil {
		out.LastModifiedBy = &api.Person{ID: by.ID.String(), Username: by.Login, AvatarURL: orNull(by.AvatarURL)}
	}
	return out, err
}

// Secrets is a page of a vault's active secrets, without values, latest change
// first.
func (w *Warden) Secrets(ctx context.Context, who Caller, req api.ListSecrets) (*api.List[api.SecretMeta], error) {
	type place struct {
		e *store.Environment
		n store.Newest
	}
	var page *api.List[api.SecretMeta]
	err := w.read(ctx, who, access.SecretList, req.Repository(), func(v *visit) error {
		var all []place
		for _, e := range v.readable() {
			if req.Environment != "" && req.Environment != e.Name {
				continue
			}
			newest, err := v.Newest(*e)
			if err != nil {
				return err
			}
			for _, n := range newest {
				all = append(all, place{e, n})
			}
		}
		slices.SortFunc(all, func(a, b place) int {
			return cmp.Or(cmp.Compare(b.n.Updated, a.n.Updated), bytes.Compare(a.n.Secret[:], b.n.Secret[:]))
		})
		cut := api.Cut(all, req.Page)
		page = &api.List[api.SecretMeta]{Limit: cut.Limit, Offset: cut.Offset, Total: cut.Total}
		for _, p := range cut.Items {
			m, err := v.meta(p.e, p.n)
			if err != nil {
				return err
			}
			page.Items = append(page.Items, m)
		}
		return nil
	})
	return page, err
}

// secret finds an active secret by its id, and asks whether the visit's action
// is allowed where it is.
func (v *visit) secret(ref api.SecretRef) (*store.Environment, store.Newest, error) {
	id, err := store.ParseID(ref.SecretID)
	if err != nil {
		return nil, store.Newest{}, errNoSecret()
	}
	s, err := v.Secret(v.vault.ID, id)
	if errors.Is(err, store.ErrNotFound) || err == nil && s.Trashed != 0 {
		return nil, store.Newest{}, errNoSecret()
	}
	if err != nil {
		return nil, store.Newest{}, err
	}
	e := v.environmentByID(s.Environment)
	if e == nil {
		return nil, store.Newest{}, errNoSecret()
	}
	if err := v.allow(e); err != nil {
		return nil, store.Newest{}, err
	}
	n, err := v.NewestOf(*e, s.Key)
	return e, n, err
}

// named finds the environment that a request's body names, and asks whether the
// visit's action is allowed there.
func (v *visit) named(name string) (*store.Environment, error) {
	e := v.environment(name)
	if e == nil {
		return nil, api.InvalidField("environment", api.UnknownValue,
			"This vault has no environment %q. Create it first.", name)
	}
	return e, v.allow(e)
}

// SetSecret creates a secret, or gives an existing key a value.
func (w *Warden) SetSecret(ctx context.Context, who Caller, req api.SetSecret) (*api.SavedSecret, error) {
	var out *api.SavedSecret
	err := w.change(ctx, who, access.SecretCreate, req.Repository(), func(v *visit) error {
		e, err := v.named(req.Environment)
		if err != nil {
			return err
		}
		if err := v.checkSizes("", map[string]api.Secret{"value": req.Value}); err != nil {
			return err
		}
		n, err := v.NewestOf(*e, req.Key)
		action, status := "secret_updated", "updated"
		switch {
		case errors.Is(err, store.ErrNotFound):
			action, status = "secret_created", "created"
			n, err = v.create(e, req.Key, []byte(req.Value.Reveal()))
		case err == nil:
			n, _, err = v.setValue(e, n, []byte(req.Value.Reveal()))
		}
		if err != nil {
			return err
		}
		v.note(action, map[string]any{"secretId": n.Secret.String(), "key": n.Key, "environment": e.Name})
		out = &api.SavedSecret{
			ID: n.Secret.String(), Key: n.Key, Environment: e.Name, Status: status,
			CreatedAt: api.At(n.Created.Time()), UpdatedAt: api.At(n.Updated.Time()),
		}
		return nil
	})
	return out, err
}

// create adds a secret and counts a new revision.
func (v *visit) create(e *store.Environment, name string, value []byte) (store.Newest, error) {
	n, err := v.add(e, name, value)
	if err != nil {
		return n, err
	}
	return n, v.touch(e, name)
}

// add adds a secret.
func (v *visit) add(e *store.Environment, name string, value []byte) (store.Newest, error) {
	n := store.Newest{Key: name, Secret: v.ids.Next(), Created: store.At(v.now)}
	ver, err := v.seal(e, &n, value)
	if err != nil {
		return n, err
	}
	return n, v.tx.AddSecret(e, n, ver)
}

// setValue gives an active secret a value, unless it has it, and reports whether
// anything changed.
func (v *visit) setValue(e *store.Environment, n store.Newest, value []byte) (store.Newest, bool, error) {
	old, err := v.openNewest(e, n)
	if err != nil || bytes.Equal(old, value) {
		return n, false, err
	}
	if n, err = v.replace(e, n, value); err != nil {
		return n, false, err
	}
	return n, true, v.touch(e, n.Key)
}

// replace appends a version with this value.
func (v *visit) replace(e *store.Environment, n store.Newest, value []byte) (store.Newest, error) {
	ver, err := v.seal(e, &n, value)
	if err != nil {
		return n, err
	}
	return n, v.tx.SetValue(*e, n, ver)
}

// PatchSecret renames a secret, gives it another value, or both.
func (w *Warden) PatchSecret(ctx context.Context, who Caller, req api.PatchSecret) (*api.SecretMeta, error) {
	var out api.SecretMeta
	err := w.change(ctx, who, access.SecretUpdate, req.Repository(), func(v *visit) error {
		e, n, err := v.secret(req.SecretRef)
		if err != nil {
			return err
		}
		if req.Value != nil {
			if err := v.checkSizes("", map[string]api.Secret{"value": *req.Value}); err != nil {
				return err
			}
		}
		oldKey := n.Key
		changed, n, err := v.patch(e, n, req)
		if err != nil {
			return err
		}
		meta := map[string]any{"secretId": n.Secret.String(), "key": n.Key, "environment": e.Name, "changed": changed}
		if n.Key != oldKey {
			meta["oldKey"] = oldKey
		}
		v.note("secret_updated", meta)
		out, err = v.meta(e, n)
		return err
	})
	return &out, err
}

// patch does what the request asks, and names what changed.
func (v *visit) patch(e *store.Environment, n store.Newest, req api.PatchSecret) ([]string, store.Newest, error) {
	changed, from := []string{}, n.Key
	value, err := v.openNewest(e, n)
	if err != nil {
		return nil, n, err
	}
	if name := req.NewName(); name != "" && name != n.Key {
		if n, err = v.rename(e, n, name, value); err != nil {
			return nil, n, err
		}
		changed = append(changed, "name")
	}
	if req.Value != nil && req.Value.Reveal() != string(value) {
		if n, err = v.replace(e, n, []byte(req.Value.Reveal())); err != nil {
			return nil, n, err
		}
		changed = append(changed, "value")
	}
	if len(changed) == 0 {
		return changed, n, nil
	}
	return changed, n, v.touch(e, from, n.Key)
}

func (v *visit) rename(e *store.Environment, n store.Newest, name string, value []byte) (store.Newest, error) {
	if _, err := v.NewestOf(*e, name); err == nil {
		return n, api.Errorf(api.Conflict, "%s has a secret %s already. Delete or rename that one first.", e.Name, name)
	} else if !errors.Is(err, store.ErrNotFound) {
		return n, err
	}
	k, err := v.key(v.vault.Generation)
	if err != nil {
		return n, err
	}
	from := n.Key
	n.Key, n.Updated, n.ModifiedBy = name, store.At(v.now), v.who.user.ID
	v.sealNewest(k, e, &n, value)
	return n, v.tx.RenameSecret(*e, from, n)
}

// TrashSecret moves a secret to the trash.
func (w *Warden) TrashSecret(ctx context.Context, who Caller, ref api.SecretRef) error {
	return w.change(ctx, who, access.SecretDelete, ref.Repository(), func(v *visit) error {
		e, n, err := v.secret(ref)
		if err != nil {
			return err
		}
		expires, err := v.trash(e, n)
		if err != nil {
			return err
		}
		v.note("secret_trashed", map[string]any{
			"secretId": n.Secret.String(), "key": n.Key, "environment": e.Name, "expiresAt": api.At(expires.Time()).String(),
		})
		return v.touch(e, n.Key)
	})
}

func (v *visit) trash(e *store.Environment, n store.Newest) (expires store.Millis, err error) {
	expires = store.At(v.now.Add(v.w.c.TrashRetention))
	return expires, v.tx.TrashSecret(e, n, store.At(v.now), expires)
}

// sealed is a value copied out of a transaction, with what opens it.
type sealed struct {
	key     *crypto.DataKey
	bytes   []byte
	context []byte
}

func (s sealed) open() (string, error) {
	plain, err := s.key.Open(nil, s.bytes, s.context)
	return string(plain), err
}

func (v *visit) copyNewest(e *store.Environment, n store.Newest) (sealed, error) {
	k, err := v.key(uint64(n.Generation))
	return sealed{k, bytes.Clone(n.Sealed), newestContext(e, n)}, err
}

// RevealSecret is the value of a secret.
func (w *Warden) RevealSecret(ctx context.Context, who Caller, ref api.SecretRef) (*api.Value, error) {
	var s sealed
	var value string
	err := w.readThen(ctx, who, access.SecretValue, ref.Repository(), func(v *visit) error {
		e, n, err := v.secret(ref)
		if err != nil {
			return err
		}
		v.note("secret_value_accessed", map[string]any{
			"secretId": n.Secret.String(), "key": n.Key, "environment": e.Name, "via": "value",
		})
		s, err = v.copyNewest(e, n)
		return err
	}, func(*visit) (err error) {
		value, err = s.open()
		return err
	})
	return &api.Value{Value: api.Revealed(value), Preview: api.Revealed(api.Preview(value))}, err
}

// ViewSecret is the value of a secret, found by its name.
func (w *Warden) ViewSecret(ctx context.Context, who Caller, req api.ViewSecret) (*api.ViewedSecret, error) {
	var s sealed
	var value string
	err := w.readThen(ctx, who, access.SecretView, req.Repo, func(v *visit) error {
		e := v.environment(req.Environment)
		if e == nil {
			return errNoEnvironment(req.Environment)
		}
		if err := v.allow(e); err != nil {
			return err
		}
		n, err := v.NewestOf(*e, req.Key)
		if errors.Is(err, store.ErrNotFound) {
			return api.Errorf(api.NotFound, "%s has no secret %s.", e.Name, req.Key)
		}
		if err != nil {
			return err
		}
		v.note("secret_value_accessed", map[string]any{
			"secretId": n.Secret.String(), "key": n.Key, "environment": e.Name, "via": "view",
		})
		s, err = v.copyNewest(e, n)
		return err
	}, func(*visit) (err error) {
		value, err = s.open()
		return err
	})
	return &api.ViewedSecret{
		Key: req.Key, Environment: req.Environment,
		Value: api.Revealed(value), Preview: api.Revealed(api.Preview(value)),
	}, err
}
