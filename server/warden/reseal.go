package warden

import (
	"context"
	"errors"

	"coffer/crypto"
	"coffer/store"
)

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
