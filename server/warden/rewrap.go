package warden

import (
	"bytes"
	"context"
	"errors"

	"coffer/crypto"
	"coffer/server/api"
	"coffer/store"
)

// rewrap wraps every data key under the new root key, and then lets the old one go. It
// goes through all of them again until none is left, so that the old root key goes
// only when each data key was seen to open under the new one.
func (w *Warden) rewrap(ctx context.Context, o store.Rotation) error {
	// Whoever asked for it may have written its record, and not put the new root key
	// into the keyring yet. The old one must not be taken for it.
	err := w.underOneRoot(ctx, func(keys *keyring) error {
		return w.store.View(ctx, func(r store.Reader) error { return keys.inForce(r) })
	})
	if err != nil {
		return err
	}
	at := store.VaultKey{Vault: o.At, Generation: o.Generation}
	all, done, bad := o.At.IsZero(), 0, 0
	for {
		batch, err := w.keysAfter(ctx, at)
		if err != nil {
			return err
		}
		if len(batch) > 0 {
			at = batch[len(batch)-1]
			n, err := w.rewrapSome(ctx, o, batch)
			if err != nil {
				return unlessOver(err)
			}
			done, bad = done+n.done, bad+n.bad
			continue
		}
		if all && done == 0 {
			return unlessOver(w.endRewrap(ctx, o, bad))
		}
		at, all, done, bad = store.VaultKey{}, true, 0, 0
	}
}

func (w *Warden) keysAfter(ctx context.Context, at store.VaultKey) (batch []store.VaultKey, err error) {
	err = w.store.View(ctx, func(r store.Reader) error {
		found, err := r.VaultKeysAfter(at.Vault, at.Generation, rotateRows)
		for _, k := range found {
			k.File = bytes.Clone(k.File)
			batch = append(batch, k)
		}
		return err
	})
	return batch, err
}

// rewrapSome wraps a batch of data keys outside of any transaction, and writes in one
// those that are still what they were.
func (w *Warden) rewrapSome(ctx context.Context, o store.Rotation, batch []store.VaultKey) (n resealed, err error) {
	fresh := make([][]byte, len(batch))
	err = w.withKeys(func(keys *keyring) error {
		u := keys.under.Load()
		for i, k := range batch {
			file, err := u.rewrap(k)
			if err != nil && !doesNotOpen(err) {
				return err
			}
			if err != nil {
				w.log.Error("a data key opens neither under the new root key nor under the old one", "vault", k.Vault.String(), "error", err)
				n.bad++
			}
			if file != nil {
				fresh[i], n.done = file, n.done+1
			}
		}
		return nil
	})
	if err != nil || n.done == 0 {
		return n, err
	}
	last := batch[len(batch)-1]
	err = w.rotationStep(ctx, o, func(tx store.Tx, _ *journal, _ *keyring, there *store.Rotation) error {
		for i, k := range batch {
			now, err := tx.VaultKey(k.Vault, k.Generation)
			if err := unlessMissing(err); err != nil {
				return err
			}
			if fresh[i] == nil || !bytes.Equal(now, k.File) {
				continue
			}
			if err := tx.PutVaultKey(store.VaultKey{Vault: k.Vault, Generation: k.Generation, File: fresh[i]}); err != nil {
				return err
			}
		}
		there.Done += n.done
		there.At, there.Generation = last.Vault, last.Generation
		return tx.PutRotation(*there)
	})
	return n, err
}

// rewrap is the file of a data key under the new root key, or nil when it is that
// already.
func (u *rooted) rewrap(k store.VaultKey) ([]byte, error) {
	open, err := u.root.OpenDataKey(crypto.ID(k.Vault), k.File)
	switch {
	case err == nil:
		open.Destroy()
		return nil, nil
	case u.old == nil || !errors.Is(err, crypto.ErrWrongKey):
		return nil, err
	}
	return u.root.RewrapDataKey(u.old, crypto.ID(k.Vault), k.File)
}

func (w *Warden) endRewrap(ctx context.Context, o store.Rotation, unreadable int) error {
	var keys *keyring
	err := w.rotationStep(ctx, o, func(tx store.Tx, j *journal, k *keyring, there *store.Rotation) error {
		keys = k
		if err := k.inForce(tx.Reader); err != nil {
			return err
		}
		i, err := tx.Instance()
		if err != nil {
			return err
		}
		i.OldRootKey = nil
		meta := map[string]any{"dataKeys": there.Done, "fingerprint": i.Fingerprint}
		if unreadable > 0 {
			meta["unreadable"] = unreadable
		}
		j.note("root_key_replaced", meta)
		o = *there
		return errors.Join(tx.PutInstance(i), tx.DeleteRotation(*there))
	})
	if err != nil {
		return err
	}
	if old := keys.under.Load().old; old != nil {
		w.dropOldRoot(keys, old)
	}
	w.log.Info("the root key was replaced: every data key is wrapped under the new one", "dataKeys", o.Done)
	return nil
}

// beginRewrap is the note that a root key is being replaced.
func beginRewrap(j *journal, total int) store.Rotation {
	return store.Rotation{
		Kind: store.RotateRoot, Total: total, Started: store.At(j.now), By: j.who.user.ID, ByName: j.who.user.Login,
	}
}

// errRekeying answers who wants a new master key while the one before is not in force
// everywhere.
func errRekeying() *api.Error {
	return api.Errorf(api.Conflict, "The last rekey is not done yet. Wait until it is: coffer rotate --status.")
}
