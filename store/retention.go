package store

import (
	"slices"

	"coffer/store/kv"
)

// What retention ends leaves in small transactions: methods of Reader find it,
// those of Tx remove a part of it and may meet what is gone by then.

// VaultIDs lists all vaults, oldest first.
func (r Reader) VaultIDs() ([]ID, error) { return ids(r.kv, key(tagVault)) }

// DueTrash lists up to limit secrets whose time in the trash is over.
func (r Reader) DueTrash(now Millis, limit int) ([]Secret, error) {
	due := kv.Range{Start: key(tagTrashDue), End: key(tagTrashDue, uint64(now)+1), Limit: limit}
	var all []Secret
	err := r.kv.Scan(due, func(k, _ []byte) error {
		s, err := r.Secret(ID(k[9:25]), ID(k[25:41]))
		all = append(all, s)
		return err
	})
	return all, err
}

// Cut is a piece off the old end of a secret's history: versions, oldest first,
// and the one that is the oldest without them.
type Cut struct {
	Versions []ID
	Stays    ID
}

// ReplacedBefore lists the versions up to last that another one replaced before
// an instant. The last one itself is never among them.
func (r Reader) ReplacedBefore(last ID, before Millis) (Cut, error) {
	all, err := r.Versions(last)
	if err != nil {
		return Cut{}, err
	}
	for i := 1; i < len(all); i++ {
		if all[i-1].Created < before {
			c := Cut{Stays: all[i-1].ID}
			for _, v := range slices.Backward(all[i:]) {
				c.Versions = append(c.Versions, v.ID)
			}
			return c, nil
		}
	}
	return Cut{}, nil
}

// Split cuts a piece of at most n versions off, and returns what is left to do.
func (c Cut) Split(n int) (first, rest Cut) {
	if len(c.Versions) <= n {
		return c, Cut{}
	}
	return Cut{c.Versions[:n], c.Versions[n]}, Cut{c.Versions[n:], c.Stays}
}

// CutHistory removes versions, and returns how many. A secret that is gone
// altogether by now has none.
func (tx Tx) CutHistory(c Cut) (int, error) {
	oldest, err := tx.Version(c.Stays)
	if isNotFound(err) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	oldest.Previous = ID{}
	if err := tx.addVersion(oldest); err != nil {
		return 0, err
	}
	for _, id := range c.Versions {
		if err := tx.kv.Delete(key(tagVersion, id)); err != nil {
			return 0, err
		}
	}
	return len(c.Versions), nil
}

// OldestNeeded is the revision that was current at an instant, if there are
// records of others from before it, else 0. To find what was current later, it
// and those after it are enough.
func (r Reader) OldestNeeded(e Environment, at Millis) (uint64, error) {
	current, err := r.RevisionAt(e, at)
	if isNotFound(err) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	first, err := firstNumber(r.kv, key(tagRevision, e.Vault, e.ID))
	if first >= current {
		return 0, err
	}
	return current, err
}

// ForgetRevisions removes up to limit records of revisions before one, the oldest
// first, and returns how many.
func (tx Tx) ForgetRevisions(e Environment, before uint64, limit int) (int, error) {
	old := kv.Range{Start: key(tagRevision, e.Vault, e.ID), End: key(tagRevision, e.Vault, e.ID, before), Limit: limit}
	var keys [][]byte
	err := tx.kv.Scan(old, func(k, _ []byte) error {
		keys = append(keys, slices.Clone(k))
		return nil
	})
	for _, k := range keys {
		if err == nil {
			err = tx.kv.Delete(k)
		}
	}
	return len(keys), err
}

// ExpiredSessions lists the sessions that ended before now, and those of browsers
// that were not used since idle.
func (r Reader) ExpiredSessions(now, idle Millis) ([]Session, error) {
	return filter(r, sessions, func(s Session) bool { return s.Expires <= now || s.Idle(idle) })
}

// DeadKeys lists the API keys that expired or were revoked before an instant.
func (r Reader) DeadKeys(before Millis) ([]APIKey, error) {
	return filter(r, apiKeys, func(k APIKey) bool { return k.DeadSince(before) })
}

// DeadSince reports whether a key expired or was revoked before an instant.
func (k APIKey) DeadSince(before Millis) bool {
	return k.Revoked != 0 && k.Revoked < before || k.Expires != 0 && k.Expires < before
}

// filter lists the records that are wanted, and holds no others.
func filter[T any](r Reader, t table[T], want func(T) bool) ([]T, error) {
	var all []T
	err := r.kv.Scan(kv.Prefix(key(t.tag)), func(_, b []byte) error {
		v, err := t.decode(b)
		if err == nil && want(v) {
			all = append(all, v)
		}
		return err
	})
	return all, err
}
