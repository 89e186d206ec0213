package warden

import (
	"context"
	"errors"

	"coffer/crypto"
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

// reseal seals everything of a vault under its new data key. It goes through all of
// it again until there is nothing left, and only then lets the old keys go: whatever
// is written meanwhile is sealed under the new key.
func (w *Warden) reseal(ctx context.Context, o store.Rotation) error {
	after, all, done, bad := o.At, o.At.IsZero(), 0, 0
	for {
		var found store.SealedRows
		err := w.store.View(ctx, func(r store.Reader) (err error) {
			found, err = r.SealedUnderOthers(o.Vault, o.Generation, after, rotateLook)
			return err
		})
		if err != nil {
			return err
		}
		for rows := found.Rows; len(rows) > 0; {
			n := rotatePiece(rows)
			part, err := w.resealRows(ctx, o, rows[:n])
			if err != nil {
				return unlessOver(err)
			}
			done, bad, rows = done+part.done, bad+part.bad, rows[n:]
		}
		switch after = found.Last; {
		case !found.End:
			err = w.noteSecret(ctx, o, after)
		case all && done == 0:
			return unlessOver(w.endReseal(ctx, o, bad))
		default:
			after, all, done, bad = store.ID{}, true, 0, 0
		}
		if err != nil {
			return unlessOver(err)
		}
	}
}

// rotatePiece is how many of the rows fit into one transaction.
func rotatePiece(rows []store.SealedRow) int {
	size := 0
	for i, row := range rows {
		if size += row.Size; i == rotateRows || i > 0 && size > rotateBytes {
			return i
		}
	}
	return len(rows)
}

// resealed counts what one transaction did.
type resealed struct{ done, values, versions, bad int }

func (w *Warden) resealRows(ctx context.Context, o store.Rotation, rows []store.SealedRow) (n resealed, err error) {
	err = w.rotationStep(ctx, o, func(tx store.Tx, _ *journal, keys *keyring, there *store.Rotation) error {
		n = resealed{}
		r, err := newResealer(tx, keys, o)
		if err != nil {
			return err
		}
		for _, row := range rows {
			if err := r.row(row, &n); err != nil {
				return err
			}
		}
		there.Done += n.done
		there.Values += n.values
		there.Versions += n.versions
		return tx.PutRotation(*there)
	})
	return n, err
}

// noteSecret notes that all secrets up to this one are done.
func (w *Warden) noteSecret(ctx context.Context, o store.Rotation, last store.ID) error {
	return w.rotationStep(ctx, o, func(tx store.Tx, _ *journal, _ *keyring, there *store.Rotation) error {
		there.At = last
		return tx.PutRotation(*there)
	})
}

// resealer seals rows of one vault anew in one transaction.
type resealer struct {
	tx    store.Tx
	keys  *keyring
	vault store.ID
	to    uint64
	key   *crypto.DataKey
	plain []byte
}

func newResealer(tx store.Tx, keys *keyring, o store.Rotation) (*resealer, error) {
	key, err := keys.dataKey(tx.Reader, o.Vault, o.Generation)
	return &resealer{tx: tx, keys: keys, vault: o.Vault, to: o.Generation, key: key}, err
}

// row seals a row anew, unless it is gone or was written again by now.
func (s *resealer) row(row store.SealedRow, n *resealed) error {
	if row.Version.IsZero() {
		return s.newest(row, n)
	}
	v, err := s.tx.Version(row.Version)
	if err != nil || uint64(v.Generation) == s.to {
		return unlessMissing(err)
	}
	sealed, err := s.again(uint64(v.Generation), v.Sealed, crypto.VersionContext(v.Vault, v.Secret, v.Number))
	if err != nil || sealed == nil {
		n.bad++
		return err
	}
	v.Sealed, v.Generation = sealed, uint32(s.to)
	n.done++
	n.versions++
	return s.tx.ResealVersion(v)
}

func (s *resealer) newest(row store.SealedRow, n *resealed) error {
	e := store.Environment{ID: row.Environment, Vault: s.vault}
	v, err := s.tx.NewestOf(e, row.Key)
	if err != nil || uint64(v.Generation) == s.to {
		return unlessMissing(err)
	}
	sealed, err := s.again(uint64(v.Generation), v.Sealed, newestContext(&e, v))
	if err != nil || sealed == nil {
		n.bad++
		return err
	}
	v.Sealed, v.Generation = sealed, uint32(s.to)
	n.done++
	n.values++
	return s.tx.Reseal(e, v)
}

// again seals what is sealed under another generation's key, or answers nil when it
// does not open, which only damage or a stranger's hand can be the reason for.
func (s *resealer) again(generation uint64, sealed, context []byte) ([]byte, error) {
	old, err := s.keys.dataKey(s.tx.Reader, s.vault, generation)
	if err == nil {
		s.plain, err = old.Open(s.plain[:0], sealed, context)
	}
	if err != nil {
		if doesNotOpen(err) {
			return nil, nil
		}
		return nil, err
	}
	fresh := s.key.Seal(nil, s.plain, context)
	clear(s.plain)
	return fresh, nil
}

func doesNotOpen(err error) bool {
	for _, known := range []error{crypto.ErrOpen, crypto.ErrWrongKey, crypto.ErrDamaged, store.ErrNotFound} {
		if errors.Is(err, known) {
			return true
		}
	}
	return false
}

// endReseal lets the old keys of a vault go, when nothing lies under them any more. If
// something does not open they stay: what cannot be read today might be mended.
func (w *Warden) endReseal(ctx context.Context, o store.Rotation, unreadable int) error {
	var ended store.Rotation
	err := w.rotationStep(ctx, o, func(tx store.Tx, j *journal, keys *keyring, there *store.Rotation) (err error) {
		if j.vault, err = tx.Vault(o.Vault); err != nil {
			return err
		}
		r, err := newResealer(tx, keys, o)
		if err != nil {
			return err
		}
		bad, err := r.ledger()
		if err != nil {
			return err
		}
		there.Unreadable = unreadable + bad
		if there.Unreadable == 0 {
			err = r.dropOldKeys()
		}
		meta := map[string]any{"generation": o.Generation, "values": there.Values, "versions": there.Versions}
		if there.Unreadable > 0 {
			meta["unreadable"] = there.Unreadable
		}
		j.note("data_keys_rotated", meta)
		ended = *there
		return errors.Join(err, tx.DeleteRotation(*there))
	})
	if err != nil {
		return err
	}
	_ = w.withKeys(func(k *keyring) error {
		k.forgetBefore(o.Vault, o.Generation)
		return nil
	})
	if ended.Unreadable > 0 {
		w.log.Error("some values of a vault do not open; they were left as they are, with the data keys before", "vault", o.Vault.String(), "unreadable", ended.Unreadable)
	}
	w.log.Info("the data key of a vault was replaced", "vault", o.Vault.String(), "values", ended.Values, "versions", ended.Versions)
	return nil
}

// ledger seals the key of the vault's fingerprints anew, if it has one.
func (s *resealer) ledger() (unreadable int, err error) {
	k, err := s.tx.LedgerKey(s.vault)
	if err != nil || k.Generation == s.to {
		return 0, unlessMissing(err)
	}
	sealed, err := s.again(k.Generation, k.Sealed, ledgerPlace(s.vault))
	if err != nil || sealed == nil {
		return 1, err
	}
	return 0, s.tx.PutLedgerKey(s.vault, store.LedgerKey{Generation: s.to, Sealed: sealed})
}

func (s *resealer) dropOldKeys() error {
	all, err := s.tx.VaultKeys(s.vault)
	for _, k := range all {
		if err == nil && k.Generation != s.to {
			err = s.tx.DeleteVaultKey(s.vault, k.Generation)
		}
	}
	return err
}
