package store

import (
	"encoding/binary"

	"coffer/store/kv"
)

// Rotation is a replacement of keys that is under way: a note of how far it came,
// so that whoever goes on with it need not begin anew. What is left to do shows in
// the records themselves; nothing depends on this note being right.
type Rotation struct {
	Kind       byte   `cbor:"1,keyasint"`
	Vault      ID     `cbor:"2,keyasint"` // of RotateVault
	Started    Millis `cbor:"3,keyasint"`
	By         ID     `cbor:"4,keyasint"` // who asked, zero for the server's own operator
	ByName     string `cbor:"5,keyasint"`
	Total      int    `cbor:"6,keyasint"`            // how much there was to do when it began
	Done       int    `cbor:"7,keyasint"`            // how much is done
	At         ID     `cbor:"8,keyasint"`            // all up to this vault or secret is done
	Generation uint64 `cbor:"9,keyasint"`            // RotateVault: of the new data key; RotateRoot: of the last key of the vault At that is done
	Until      ID     `cbor:"10,keyasint"`           // RotateAll: the last vault that there was when it began
	Values     int    `cbor:"11,keyasint,omitempty"` // newest values that were sealed anew
	Versions   int    `cbor:"12,keyasint,omitempty"` // versions that were sealed anew
	Unreadable int    `cbor:"13,keyasint,omitempty"` // what did not open and was left as it was
}

// Kinds of rotations.
const (
	RotateRoot  byte = 1 // the root key: every data key is wrapped anew
	RotateAll   byte = 2 // the data keys of all vaults, one after the other
	RotateVault byte = 3 // the data key of one vault: everything under it is sealed anew
)

var rotations = table[Rotation]{tagRotation, "rotation"}

// Rotations lists the replacements of keys that are under way: that of the root
// key first, then that of all vaults, then those of single vaults.
func (r Reader) Rotations() ([]Rotation, error) { return rotations.list(r.kv) }

// Rotation is the one of this kind, of a vault if it is of one.
func (r Reader) Rotation(kind byte, vault ID) (Rotation, error) {
	return rotations.get(r.kv, []byte{kind}, vault)
}

// PutRotation writes how far a replacement of keys came.
func (tx Tx) PutRotation(o Rotation) error {
	return rotations.put(tx.kv, o, []byte{o.Kind}, o.Vault)
}

// DeleteRotation forgets a replacement of keys that is done.
func (tx Tx) DeleteRotation(o Rotation) error {
	return rotations.delete(tx.kv, []byte{o.Kind}, o.Vault)
}

// VaultKey is a data key of a vault, as an age file.
type VaultKey struct {
	Vault      ID
	Generation uint64
	File       []byte
}

// VaultKeysAfter lists up to limit data keys of all vaults, those that follow the
// key of this vault and generation in the order of vaults.
func (r Reader) VaultKeysAfter(vault ID, generation uint64, limit int) ([]VaultKey, error) {
	span := kv.Prefix(key(tagVaultKey))
	span.Start, span.Limit = key(tagVaultKey, vault, generation+1), limit
	return r.vaultKeys(span)
}

// VaultKeys lists the data keys of a vault, oldest first. There is more than one
// while something is still sealed under an older one.
func (r Reader) VaultKeys(vault ID) ([]VaultKey, error) {
	return r.vaultKeys(kv.Prefix(key(tagVaultKey, vault)))
}

func (r Reader) vaultKeys(span kv.Range) ([]VaultKey, error) {
	var all []VaultKey
	err := r.kv.Scan(span, func(k, b []byte) error {
		all = append(all, VaultKey{ID(k[1:17]), binary.BigEndian.Uint64(k[17:]), b})
		return nil
	})
	return all, err
}

// CountVaultKeys counts the data keys of all vaults.
func (r Reader) CountVaultKeys() (n int, err error) {
	err = r.kv.Scan(kv.Prefix(key(tagVaultKey)), func(_, _ []byte) error {
		n++
		return nil
	})
	return n, err
}

// PutVaultKey writes a data key of a vault.
func (tx Tx) PutVaultKey(k VaultKey) error {
	return tx.kv.Put(key(tagVaultKey, k.Vault, k.Generation), k.File)
}

// DeleteVaultKey destroys a data key of a vault. Nothing may be sealed under it.
func (tx Tx) DeleteVaultKey(vault ID, generation uint64) error {
	return tx.kv.Delete(key(tagVaultKey, vault, generation))
}

// SealedRow names a row that is sealed under a data key of its vault: a version,
// or the newest value of a secret.
type SealedRow struct {
	Secret      ID
	Version     ID     // zero for the newest value
	Environment ID     // of the newest value
	Key         string // likewise
	Size        int    // of what is sealed
}

// SealedRows is a piece of what is sealed under the data keys of a vault.
type SealedRows struct {
	Rows []SealedRow
	Last ID   // the last secret that was looked at
	End  bool // there are no more
}

// SealedUnderOthers lists what is sealed under another data key of a vault than that of
// a generation, from behind a secret on. It ends with a secret after about most
// rows were looked at, so that no snapshot is held for long.
func (r Reader) SealedUnderOthers(vault ID, generation uint64, after ID, most int) (SealedRows, error) {
	span := kv.Prefix(key(tagSecret, vault))
	span.Start = append(key(tagSecret, vault, after), 0)
	found, seen := SealedRows{Last: after, End: true}, 0
	err := r.kv.Scan(span, func(_, b []byte) error {
		if seen >= most {
			found.End = false
			return kv.Stop
		}
		s, err := secrets.decode(b)
		if err != nil {
			return err
		}
		n, err := r.sealedOf(s, generation, &found.Rows)
		seen += n
		found.Last = s.ID
		return err
	})
	return found, err
}

// sealedOf adds a secret's rows of other generations, and counts those that it
// looked at.
func (r Reader) sealedOf(s Secret, generation uint64, rows *[]SealedRow) (seen int, err error) {
	last := s.Version
	if s.Trashed == 0 {
		n, err := r.NewestOf(Environment{ID: s.Environment, Vault: s.Vault}, s.Key)
		if err != nil {
			return 0, err
		}
		seen, last = 1, n.Version
		if uint64(n.Generation) != generation {
			*rows = append(*rows, SealedRow{Secret: s.ID, Environment: s.Environment, Key: s.Key, Size: len(n.Sealed)})
		}
	}
	versions, err := r.Versions(last)
	for _, v := range versions {
		seen++
		if uint64(v.Generation) != generation {
			*rows = append(*rows, SealedRow{Secret: s.ID, Version: v.ID, Size: len(v.Sealed)})
		}
	}
	return seen, err
}

// Reseal rewrites a newest value that was sealed anew and is the same otherwise.
func (tx Tx) Reseal(e Environment, n Newest) error { return tx.putNewest(e, n) }

// ResealVersion rewrites a version that was sealed anew and is the same otherwise.
func (tx Tx) ResealVersion(v Version) error { return tx.addVersion(v) }

// VaultIDAfter is the vault that follows one, oldest first; zero when there is none.
func (r Reader) VaultIDAfter(id ID) (next ID, err error) {
	span := kv.Prefix(key(tagVault))
	span.Start, span.Limit = append(key(tagVault, id), 0), 1
	err = r.kv.Scan(span, func(k, _ []byte) error {
		next = ID(k[1:17])
		return nil
	})
	return next, err
}
