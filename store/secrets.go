package store

import (
	"encoding/binary"
	"fmt"

	"coffer/store/kv"
)

// Newest is an active secret with its current value: what a pull reads. The
// values of an environment lie side by side, in the order of their keys.
type Newest struct {
	Key        string // the secret's name
	Secret     ID
	Version    ID     // of the current version
	Number     uint32 // of the current version
	Generation uint32 // of the data key that sealed the value
	Created    Millis // of the secret
	Updated    Millis
	ModifiedBy ID
	Sealed     []byte
}

// The frame: format, secret, version, number, generation, created, updated,
// modified by, sealed value.
const (
	newestFormat = 1
	newestHeader = 1 + 16 + 16 + 4 + 4 + 8 + 8 + 16
)

func (n Newest) frame() []byte {
	b := make([]byte, 0, newestHeader+len(n.Sealed))
	b = append(b, newestFormat)
	b = append(b, n.Secret[:]...)
	b = append(b, n.Version[:]...)
	b = binary.BigEndian.AppendUint32(b, n.Number)
	b = binary.BigEndian.AppendUint32(b, n.Generation)
	b = binary.BigEndian.AppendUint64(b, uint64(n.Created))
	b = binary.BigEndian.AppendUint64(b, uint64(n.Updated))
	b = append(b, n.ModifiedBy[:]...)
	return append(b, n.Sealed...)
}

func parseNewest(name string, b []byte) (Newest, error) {
	if len(b) < newestHeader || b[0] != newestFormat {
		return Newest{}, fmt.Errorf("%w: the newest value of a secret has an unknown form", kv.ErrCorrupt)
	}
	return Newest{
		Key:        name,
		Secret:     ID(b[1:17]),
		Version:    ID(b[17:33]),
		Number:     binary.BigEndian.Uint32(b[33:]),
		Generation: binary.BigEndian.Uint32(b[37:]),
		Created:    Millis(binary.BigEndian.Uint64(b[41:])),
		Updated:    Millis(binary.BigEndian.Uint64(b[49:])),
		ModifiedBy: ID(b[57:73]),
		Sealed:     b[newestHeader:],
	}, nil
}

// Secret says where a secret is: active secrets by the name under which their
// newest value stands, trashed ones with what is needed to bring them back.
type Secret struct {
	ID          ID     `cbor:"1,keyasint"`
	Vault       ID     `cbor:"2,keyasint"`
	Environment ID     `cbor:"3,keyasint"`
	Key         string `cbor:"4,keyasint"`
	Created     Millis `cbor:"5,keyasint"`
	Since       uint64 `cbor:"12,keyasint"`           // revision that created it
	Gone        []Span `cbor:"13,keyasint,omitempty"` // when it was in the trash before

	// Of trashed secrets only.
	Trashed    Millis `cbor:"6,keyasint,omitempty"`
	Expires    Millis `cbor:"7,keyasint,omitempty"`
	Version    ID     `cbor:"8,keyasint,omitempty"` // the current version when it was trashed
	Number     uint32 `cbor:"9,keyasint,omitempty"`
	Updated    Millis `cbor:"10,keyasint,omitempty"`
	ModifiedBy ID     `cbor:"11,keyasint,omitempty"`
	GoneSince  uint64 `cbor:"14,keyasint,omitempty"` // revision that trashed it
}

// ActiveAt reports whether the secret was active at a revision of its
// environment.
func (s Secret) ActiveAt(revision uint64) bool {
	if revision < s.Since || s.Trashed != 0 && revision >= s.GoneSince {
		return false
	}
	for _, gone := range s.Gone {
		if gone.Holds(revision) {
			return false
		}
	}
	return true
}

var secrets = table[Secret]{tagSecret, "secret"}

// Secret is the secret with this id, active or trashed.
func (r Reader) Secret(vault, id ID) (Secret, error) { return secrets.get(r.kv, vault, id) }

// Newest lists an environment's active secrets with their values, sorted by key.
func (r Reader) Newest(e Environment) ([]Newest, error) {
	prefix := key(tagNewest, e.Vault, e.ID)
	all := make([]Newest, 0, e.Secrets)
	err := r.kv.Scan(kv.Prefix(prefix), func(k, b []byte) error {
		n, err := parseNewest(string(k[len(prefix):]), b)
		all = append(all, n)
		return err
	})
	return all, err
}

// Keys names an environment's active secrets to visit, in order, until that returns
// an error; kv.Stop ends it without one. Values are not looked at.
func (r Reader) Keys(e Environment, visit func(name string) error) error {
	prefix := key(tagNewest, e.Vault, e.ID)
	return r.kv.Scan(kv.Prefix(prefix), func(k, _ []byte) error { return visit(string(k[len(prefix):])) })
}

// NewestOf is the active secret of this name.
func (r Reader) NewestOf(e Environment, name string) (Newest, error) {
	b, err := r.kv.Get(newestKey(e, name))
	if err != nil {
		return Newest{}, err
	}
	return parseNewest(name, b)
}

// AddSecret writes a new secret with its first version, and counts it.
func (tx Tx) AddSecret(e *Environment, n Newest, v Version) error {
	s := Secret{ID: n.Secret, Vault: e.Vault, Environment: e.ID, Key: n.Key, Created: n.Created, Since: v.Revision}
	if err := secrets.put(tx.kv, s, e.Vault, s.ID); err != nil {
		return err
	}
	e.Secrets++
	return tx.SetValue(*e, n, v)
}

// SetValue writes a secret's newest value together with the version it is of.
func (tx Tx) SetValue(e Environment, n Newest, v Version) error {
	if err := tx.addVersion(v); err != nil {
		return err
	}
	return tx.putNewest(e, n)
}

func (tx Tx) putNewest(e Environment, n Newest) error {
	return tx.kv.Put(newestKey(e, n.Key), n.frame())
}

// newestKey is key without its detour through interfaces: a push calls it for
// every secret.
func newestKey(e Environment, name string) []byte {
	k := make([]byte, 1, 1+16+16+len(name))
	k[0] = tagNewest
	k = append(k, e.Vault[:]...)
	k = append(k, e.ID[:]...)
	return append(k, name...)
}

// RenameSecret moves an active secret to n.Key; n.Sealed is the value, sealed
// for its new name.
func (tx Tx) RenameSecret(e Environment, from string, n Newest) error {
	s, err := tx.Secret(e.Vault, n.Secret)
	if err != nil {
		return err
	}
	s.Key = n.Key
	if err := secrets.put(tx.kv, s, e.Vault, s.ID); err != nil {
		return err
	}
	if err := tx.kv.Delete(key(tagNewest, e.Vault, e.ID, from)); err != nil {
		return err
	}
	return tx.putNewest(e, n)
}

// TrashSecret moves an active secret to the trash until expires, with the
// environment's next revision, and counts it.
func (tx Tx) TrashSecret(e *Environment, n Newest, now, expires Millis) error {
	s, err := tx.Secret(e.Vault, n.Secret)
	if err != nil {
		return err
	}
	if err := tx.kv.Delete(key(tagNewest, e.Vault, e.ID, n.Key)); err != nil {
		return err
	}
	e.Secrets--
	e.Trashed++
	s.Trashed, s.Expires, s.GoneSince = now, expires, e.Revision+1
	s.Version, s.Number, s.Updated, s.ModifiedBy = n.Version, n.Number, n.Updated, n.ModifiedBy
	return tx.addTrashed(s)
}

// forget removes an active secret's row and its versions; its newest value is
// the caller's.
func (tx Tx) forget(vault, secret, newest ID) error {
	if err := tx.deleteVersions(newest); err != nil {
		return err
	}
	return secrets.delete(tx.kv, vault, secret)
}
