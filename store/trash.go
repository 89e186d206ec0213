package store

import (
	"errors"
	"slices"
)

// Trash lists a vault's trashed secrets, oldest secret first.
func (r Reader) Trash(vault ID) ([]Secret, error) {
	found, err := ids(r.kv, key(tagTrash, vault))
	if err != nil {
		return nil, err
	}
	all := make([]Secret, 0, len(found))
	for _, id := range found {
		s, err := r.Secret(vault, id)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

func (tx Tx) addTrashed(s Secret) error {
	return errors.Join(
		secrets.put(tx.kv, s, s.Vault, s.ID),
		tx.kv.Put(key(tagTrash, s.Vault, s.ID), nil),
		tx.kv.Put(key(tagTrashDue, uint64(s.Expires), s.Vault, s.ID), nil),
	)
}

func (tx Tx) leaveTrash(s Secret) error {
	return errors.Join(
		tx.kv.Delete(key(tagTrash, s.Vault, s.ID)),
		tx.kv.Delete(key(tagTrashDue, uint64(s.Expires), s.Vault, s.ID)),
	)
}

// RestoreSecret makes a trashed secret active again with the environment's next
// revision; n.Sealed is its value, sealed for its place among the newest.
func (tx Tx) RestoreSecret(e *Environment, s Secret, n Newest) error {
	if err := tx.leaveTrash(s); err != nil {
		return err
	}
	e.Trashed--
	e.Secrets++
	row := Secret{ID: s.ID, Vault: s.Vault, Environment: s.Environment, Key: s.Key, Created: s.Created, Since: s.Since}
	row.Gone = append(slices.Clip(s.Gone), Span{s.GoneSince, e.Revision + 1})
	if err := secrets.put(tx.kv, row, s.Vault, s.ID); err != nil {
		return err
	}
	return tx.putNewest(*e, n)
}

// DestroySecret removes a trashed secret for good, counts it, and notes for
// which revisions it is missing from now on.
func (tx Tx) DestroySecret(e *Environment, s Secret) error {
	e.Trashed--
	from := s.Since
	for _, gone := range append(slices.Clip(s.Gone), Span{From: s.GoneSince}) {
		e.Lost = addSpan(e.Lost, Span{from, gone.From})
		from = gone.To
	}
	return tx.removeTrashed(s)
}

func (tx Tx) removeTrashed(s Secret) error {
	if err := tx.leaveTrash(s); err != nil {
		return err
	}
	return tx.forget(s.Vault, s.ID, s.Version)
}
