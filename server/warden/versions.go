package warden

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"coffer/crypto"
	"coffer/server/access"
	"coffer/server/api"
	"coffer/server/billing"
	"coffer/store"
)

// Versions lists what a secret's value was, newest first.
func (w *Warden) Versions(ctx context.Context, who Caller, ref api.SecretRef) ([]api.Version, error) {
	var out []api.Version
	err := w.read(ctx, who, access.VersionList, ref.Repository(), func(v *visit) error {
		_, n, err := v.secret(ref)
		if err != nil {
			return err
		}
		out, err = v.versions(n)
		return err
	})
	return out, err
}

func (v *visit) versions(n store.Newest) ([]api.Version, error) {
	all, err := v.history(n)
	if err != nil {
		return nil, err
	}
	var out []api.Version
	for _, ver := range all {
		line, err := v.versionMeta(ver)
		if err != nil {
			return nil, err
		}
		out = append(out, line)
	}
	return out, nil
}

// SecretDetail is one secret with its versions, and no value.
type SecretDetail struct {
	api.SecretMeta
	Type     string        // of the environment
	CanWrite bool          // the caller may change it
	Versions []api.Version // newest first
}

// Secret is one secret. It says what the lists of secrets and versions say.
func (w *Warden) Secret(ctx context.Context, who Caller, ref api.SecretRef) (*SecretDetail, error) {
	var out *SecretDetail
	err := w.read(ctx, who, access.VersionList, ref.Repository(), func(v *visit) error {
		e, n, err := v.secret(ref)
		if err != nil {
			return err
		}
		out = &SecretDetail{Type: e.Type}
		if out.SecretMeta, err = v.meta(e, n); err != nil {
			return err
		}
		reason, err := v.books.readOnly(v.vault)
		if err != nil {
			return err
		}
		out.CanWrite = v.rights(e).Write && reason == billing.Writable
		out.Versions, err = v.versions(n)
		return err
	})
	return out, err
}

func (v *visit) versionMeta(ver store.Version) (api.Version, error) {
	out := api.Version{ID: ver.ID.String(), VersionNumber: ver.Number, CreatedAt: api.At(ver.Created.Time())}
	by, err := v.person(ver.CreatedBy)
	if by != nil {
		id := by.ID.String()
		out.CreatedBy = &id
		out.CreatedByUser = &api.VersionUser{Username: by.Login, AvatarURL: orNull(by.AvatarURL)}
	}
	return out, err
}

// version finds a version of an active secret: never one of another secret.
func (v *visit) version(ref api.VersionRef) (*store.Environment, store.Newest, store.Version, error) {
	e, n, err := v.secret(ref.SecretRef)
	if err != nil {
		return nil, n, store.Version{}, err
	}
	missing := api.Errorf(api.NotFound, "This secret has no such version.")
	id, err := store.ParseID(ref.VersionID)
	if err != nil {
		return nil, n, store.Version{}, missing
	}
	ver, err := v.Version(id)
	if errors.Is(err, store.ErrNotFound) || err == nil && (ver.Vault != v.vault.ID || ver.Secret != n.Secret) {
		return nil, n, store.Version{}, missing
	}
	if err != nil {
		return nil, n, ver, err
	}
	_, ends, err := v.w.versionsFrom(v.Reader, v.vault, v.now)
	if err != nil || !ends {
		return e, n, ver, err
	}
	all, err := v.history(n)
	if err == nil && !slices.ContainsFunc(all, func(other store.Version) bool { return other.ID == id }) {
		err = missing
	}
	return e, n, ver, err
}

// history lists the versions of a secret, newest first. What retention ends is
// not among them, whether it was removed by now or not.
func (v *visit) history(n store.Newest) ([]store.Version, error) {
	all, err := v.Reader.Versions(n.Version)
	if err != nil {
		return nil, err
	}
	before, ends, err := v.w.versionsFrom(v.Reader, v.vault, v.now)
	for i := 1; ends && i < len(all); i++ {
		if all[i-1].Created < before {
			return all[:i], err
		}
	}
	return all, err
}

// RevealVersion is the value of a version.
func (w *Warden) RevealVersion(ctx context.Context, who Caller, ref api.VersionRef) (*api.VersionValue, error) {
	var s sealed
	out := &api.VersionValue{}
	err := w.readThen(ctx, who, access.VersionValue, ref.Repository(), func(v *visit) error {
		e, n, ver, err := v.version(ref)
		if err != nil {
			return err
		}
		out.VersionNumber = ver.Number
		v.note("secret_version_value_accessed", map[string]any{
			"secretId": n.Secret.String(), "versionId": ver.ID.String(), "versionNumber": ver.Number,
			"key": n.Key, "environment": e.Name,
		})
		k, err := v.key(uint64(ver.Generation))
		s = sealed{k, bytes.Clone(ver.Sealed), crypto.VersionContext(ver.Vault, ver.Secret, ver.Number)}
		return err
	}, func(*visit) error {
		value, err := s.open()
		out.Value = api.Value{Value: api.Revealed(value), Preview: api.Revealed(api.Preview(value))}
		return err
	})
	return out, err
}

// RestoreVersion makes the value of a version the value of a new one, even when
// it is current already.
func (w *Warden) RestoreVersion(ctx context.Context, who Caller, ref api.VersionRef) (*api.RestoredVersion, error) {
	var out *api.RestoredVersion
	err := w.change(ctx, who, access.VersionRestore, ref.Repository(), func(v *visit) error {
		e, n, ver, err := v.version(ref)
		if err != nil {
			return err
		}
		value, err := v.openVersion(ver)
		if err != nil {
			return err
		}
		current, err := v.openNewest(e, n)
		if err != nil {
			return err
		}
		same, since := bytes.Equal(value, current), *e
		if same {
			since.Revision-- // no new revision comes of it: this is the value since the present one
		}
		if n, err = v.replace(&since, n, value); err != nil {
			return err
		}
		v.note("secret_version_restored", map[string]any{
			"secretId": n.Secret.String(), "key": n.Key, "environment": e.Name,
			"versionNumber": ver.Number, "newVersionNumber": n.Number,
		})
		out = &api.RestoredVersion{
			Message: fmt.Sprintf("%s is back at version %d, now as version %d.", n.Key, ver.Number, n.Number),
			Key:     n.Key, VersionNumber: ver.Number, NewVersionNumber: n.Number,
		}
		if same {
			return v.keep(e)
		}
		return v.touch(e, n.Key)
	})
	return out, err
}
