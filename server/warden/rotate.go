package warden

import (
	"context"
	"errors"

	"coffer/server/access"
	"coffer/server/api"
	"coffer/store"
)

// Sizes of a rotation's transactions: see kv.Tx. Two keys are for the note of how far
// it came and its record in the log.
const (
	rotateRows  = 40
	rotateBytes = 256 << 10
	rotateLook  = 4000 // rows that one snapshot looks at
)

// Rotate replaces the data key of a vault, or of all vaults. It answers when new
// values are sealed under the new key; what lies under the old one follows.
func (w *Warden) Rotate(ctx context.Context, who Caller, req api.Rotate) (*api.Rotation, error) {
	if err := admit(who, access.KeysRotate); err != nil {
		return nil, w.settle(ctx, who, access.KeysRotate, store.Vault{}, err)
	}
	var out *api.Rotation
	err := w.underOneRoot(ctx, func(keys *keyring) (err error) {
		if req.RepoFullName == "" {
			out, err = w.rotateAll(ctx, who)
		} else {
			out, err = w.rotateVault(ctx, who, req.RepoFullName, keys)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	w.rotator.rouse()
	return out, nil
}

func errRotating(what string) *api.Error {
	return api.Errorf(api.Conflict, "%s is being replaced already. Wait until that is done: coffer rotate --status.", what)
}

func (w *Warden) rotateVault(ctx context.Context, who Caller, repo string, keys *keyring) (*api.Rotation, error) {
	var vault store.Vault
	err := w.store.View(ctx, func(r store.Reader) error {
		id, err := r.VaultIDByName(repo)
		if err == nil {
			vault, err = r.Vault(id)
		}
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		return nil, api.Errorf(api.NotFound, "There is no vault for %s.", repo)
	}
	if err != nil {
		return nil, w.outward(err)
	}
	next, err := w.nextKey(ctx, vault.ID, keys)
	if err != nil {
		return nil, w.outward(err)
	}
	var out api.Rotation
	err = w.changeSelf(ctx, who, access.KeysRotate, func(tx store.Tx, j *journal) error {
		if _, err := tx.Rotation(store.RotateVault, vault.ID); !errors.Is(err, store.ErrNotFound) {
			return errors.Join(err, errRotating("The data key of "+vault.Repository()))
		}
		o, err := next.begin(tx, j)
		if errors.Is(err, store.ErrNotFound) {
			return api.Errorf(api.NotFound, "There is no vault for %s any more.", repo)
		}
		if err != nil {
			return err
		}
		j.note("rotation_started", nil)
		out, err = shownRotation(tx.Reader, o)
		return err
	})
	return &out, err
}

// nextKey is a data key that is to be a vault's.
type nextKey struct {
	vault store.ID
	key   wrappedKey
	total int // rows that are sealed under the vault's data keys by now
}

func (w *Warden) nextKey(ctx context.Context, vault store.ID, keys *keyring) (nextKey, error) {
	key, err := keys.newDataKey(vault)
	if err != nil {
		return nextKey{}, err
	}
	next := nextKey{vault: vault, key: key}
	for after, end := (store.ID{}), false; !end && err == nil; {
		err = w.store.View(ctx, func(r store.Reader) error {
			found, err := r.SealedUnderOthers(vault, 0, after, rotateLook) // no key has generation 0
			after, end = found.Last, found.End
			next.total += len(found.Rows)
			return err
		})
	}
	return next, err
}

// begin makes the next key the one that new values are sealed under.
func (n nextKey) begin(tx store.Tx, j *journal) (store.Rotation, error) {
	if err := n.key.check(tx.Reader); err != nil {
		return store.Rotation{}, err
	}
	vault, err := tx.Vault(n.vault)
	if err != nil {
		return store.Rotation{}, err
	}
	vault.Generation++
	j.vault = vault
	o := store.Rotation{
		Kind: store.RotateVault, Vault: n.vault, Generation: vault.Generation, Total: n.total,
		Started: store.At(j.now), By: j.who.user.ID, ByName: j.who.user.Login,
	}
	return o, errors.Join(
		tx.PutVault(vault),
		tx.PutVaultKey(store.VaultKey{Vault: n.vault, Generation: vault.Generation, File: n.key.file}),
		tx.PutRotation(o),
	)
}

func (w *Warden) rotateAll(ctx context.Context, who Caller) (*api.Rotation, error) {
	var ids []store.ID
	err := w.store.View(ctx, func(r store.Reader) (err error) {
		ids, err = r.VaultIDs()
		return err
	})
	if err != nil {
		return nil, w.outward(err)
	}
	var out api.Rotation
	err = w.changeSelf(ctx, who, access.KeysRotate, func(tx store.Tx, j *journal) error {
		if _, err := tx.Rotation(store.RotateAll, store.ID{}); !errors.Is(err, store.ErrNotFound) {
			return errors.Join(err, errRotating("The data key of every vault"))
		}
		o := store.Rotation{
			Kind: store.RotateAll, Total: len(ids), Started: store.At(j.now), By: who.user.ID, ByName: who.user.Login,
		}
		if len(ids) > 0 {
			o.Until = ids[len(ids)-1]
		}
		j.note("rotation_started", map[string]any{"all": true, "vaults": len(ids)})
		if err := tx.PutRotation(o); err != nil {
			return err
		}
		out, err = shownRotation(tx.Reader, o)
		return err
	})
	return &out, err
}

// rotateNext begins with the next of all vaults, or ends when there is none.
func (w *Warden) rotateNext(ctx context.Context, all store.Rotation) error {
	id, err := w.vaultAfter(ctx, all)
	if err != nil {
		return err
	}
	if id.IsZero() {
		return unlessOver(w.rotationStep(ctx, all, func(tx store.Tx, j *journal, _ *keyring, there *store.Rotation) error {
			j.note("data_keys_rotated", map[string]any{"all": true, "vaults": there.Done})
			return tx.DeleteRotation(*there)
		}))
	}
	return w.underOneRoot(ctx, func(keys *keyring) error {
		next, err := w.nextKey(ctx, id, keys)
		if err != nil {
			return err
		}
		return unlessOver(w.rotationStep(ctx, all, func(tx store.Tx, j *journal, _ *keyring, there *store.Rotation) error {
			_, err := tx.Rotation(store.RotateVault, id)
			if err == nil {
				return nil // somebody asked for this one; it comes first
			}
			if !errors.Is(err, store.ErrNotFound) {
				return err
			}
			there.At = id
			if _, err = next.begin(tx, j); err == nil {
				there.Done++
			} else if !errors.Is(err, store.ErrNotFound) {
				return err
			}
			return tx.PutRotation(*there)
		}))
	})
}

// vaultAfter is the next vault whose turn it is, zero when there is none.
func (w *Warden) vaultAfter(ctx context.Context, all store.Rotation) (next store.ID, err error) {
	err = w.store.View(ctx, func(r store.Reader) (err error) {
		next, err = r.VaultIDAfter(all.At)
		return err
	})
	if next.After(all.Until) {
		next = store.ID{}
	}
	return next, err
}
