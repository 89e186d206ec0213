package store

import (
	"encoding/binary"
	"errors"
	"fmt"

	"coffer/store/kv"
)

// PruneMost is how many records one transaction may prune, so that every driver
// can take it.
const PruneMost = 16

// ErrPruned means that somebody else pruned meanwhile.
var ErrPruned = errors.New("pruned by somebody else meanwhile")

// PruneActivity removes the oldest records: those behind from, which is where
// the log begins, up to and including that of base, which becomes its new
// beginning. What speaks of them goes with them. There are at most PruneMost.
func (tx Tx) PruneActivity(c Chain, from uint64, base Checkpoint) error {
	old, err := tx.ActivityBase()
	if err == nil && old.Number != from {
		err = ErrPruned
	}
	if err != nil {
		return err
	}
	var rows []Row
	err = tx.ScanActivity(from, PruneMost+1, func(row Row) error {
		if row.Number > base.Number {
			return kv.Stop
		}
		rows = append(rows, row)
		return nil
	})
	if err == nil && len(rows) > PruneMost {
		err = fmt.Errorf("prune %d records at once: %w", len(rows), kv.ErrTooLarge)
	}
	if err != nil {
		return err
	}
	for _, row := range rows {
		if err := tx.pruneRow(c, row); err != nil {
			return err
		}
	}
	gone, err := tx.checkpointsUpTo(base.Number)
	if err != nil {
		return err
	}
	for _, number := range gone {
		if err := checkpoints.delete(tx.kv, number); err != nil {
			return err
		}
	}
	return bases.put(tx.kv, base)
}

// pruneRow removes a record, and its entries in lists if it is authentic: an
// altered one could name those of others.
func (tx Tx) pruneRow(c Chain, row Row) error {
	proven, err := row.Proven(c)
	if err != nil {
		return err
	}
	a, unreadable := row.Activity()
	if proven && unreadable == nil && a.ActorNumber != 0 {
		if err := tx.unlist(key(tagActivityActor, a.Actor), a.ActorNumber, key(tagUser, a.Actor)); err != nil {
			return err
		}
	}
	if proven && unreadable == nil && a.VaultNumber != 0 {
		if err := tx.unlist(key(tagActivityVault, a.Vault), a.VaultNumber, key(tagVault, a.Vault)); err != nil {
			return err
		}
	}
	return activities.delete(tx.kv, row.Number)
}

// unlist removes the oldest entry of a list, and what an altered record may have
// left before it. When that was all, the list remembers its last number as long
// as it may grow: that is while its owner is there.
func (tx Tx) unlist(list []byte, number uint64, owner []byte) error {
	var entries [][]byte
	span := kv.Range{Start: list, End: place(list, number+1), Limit: PruneMost}
	err := tx.kv.Scan(span, func(k, _ []byte) error {
		entries = append(entries, append([]byte(nil), k...))
		return nil
	})
	for _, k := range entries {
		if err == nil {
			err = tx.kv.Delete(k)
		}
	}
	if err != nil {
		return err
	}
	if last, err := lastNumber(tx.kv, list); err != nil || last != 0 {
		return err
	}
	remember := key(tagActivityLast, list)
	there, err := exists(tx.kv, owner)
	switch {
	case err != nil:
		return err
	case there:
		return tx.kv.Put(remember, place(nil, number))
	default:
		return tx.kv.Delete(remember)
	}
}

func (tx Tx) checkpointsUpTo(number uint64) (all []uint64, err error) {
	span := kv.Range{Start: key(tagCheckpoint), End: key(tagCheckpoint, number+1), Limit: PruneMost}
	err = tx.kv.Scan(span, func(k, _ []byte) error {
		all = append(all, binary.BigEndian.Uint64(k[1:]))
		return nil
	})
	return all, err
}

// Listed reports whether the lists of its actor and its vault name a record.
func (r Reader) Listed(a Activity) (actor, vault bool, err error) {
	actor, vault = true, true
	if a.ActorNumber != 0 {
		if actor, err = r.names(key(tagActivityActor, a.Actor, a.ActorNumber), a.Number); err != nil {
			return false, false, err
		}
	}
	if a.VaultNumber != 0 {
		vault, err = r.names(key(tagActivityVault, a.Vault, a.VaultNumber), a.Number)
	}
	return actor, vault, err
}

func (r Reader) names(entry []byte, number uint64) (bool, error) {
	b, err := r.kv.Get(entry)
	if isNotFound(err) {
		return false, nil
	}
	return err == nil && string(b) == string(place(nil, number)), err
}

// ScanActivityLists calls fn for at most limit entries of all lists, behind the
// entry after, which is nil at first, and returns the last one.
func (r Reader) ScanActivityLists(after []byte, limit int, fn func(number uint64)) (last []byte, err error) {
	span := kv.Range{Start: []byte{tagActivityActor}, End: []byte{tagActivityVault + 1}, Limit: limit}
	if after != nil {
		span.Start = append(after, 0)
	}
	err = r.kv.Scan(span, func(k, b []byte) error {
		number := uint64(0)
		if len(b) == 8 {
			number = binary.BigEndian.Uint64(b)
		}
		fn(number)
		last = append(last[:0], k...)
		return nil
	})
	return last, err
}
