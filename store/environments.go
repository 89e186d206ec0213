package store

import (
	"cmp"
	"slices"

	"coffer/store/kv"
)

// Environment is one environment of a vault. Revision, Secrets and Trashed are
// kept in step by the methods that write secrets.
type Environment struct {
	ID       ID     `cbor:"1,keyasint"`
	Vault    ID     `cbor:"2,keyasint"`
	Name     string `cbor:"3,keyasint"`
	Type     string `cbor:"4,keyasint"`
	Order    int    `cbor:"5,keyasint"`
	Revision uint64 `cbor:"6,keyasint"`
	Secrets  int    `cbor:"7,keyasint"` // active ones
	Trashed  int    `cbor:"8,keyasint"`
	Created  Millis `cbor:"9,keyasint"`
	Updated  Millis `cbor:"10,keyasint"`
	Lost     []Span `cbor:"11,keyasint,omitempty"` // revisions of which secrets were removed for good
	Expired  Millis `cbor:"12,keyasint,omitempty"` // when retention last removed something of it
}

var environments = table[Environment]{tagEnvironment, "environment"}

// Environment is the environment with this id.
func (r Reader) Environment(vault, id ID) (Environment, error) {
	return environments.get(r.kv, vault, id)
}

// Environments lists a vault's environments in display order.
func (r Reader) Environments(vault ID) ([]Environment, error) {
	all := make([]Environment, 0, 4) // most vaults have three
	err := r.kv.Scan(kv.Prefix(key(tagEnvironment, vault)), func(k, b []byte) error {
		e, err := r.memos.environments.decode(environments, k, b)
		all = append(all, e)
		return err
	})
	slices.SortFunc(all, func(a, b Environment) int {
		return cmp.Or(cmp.Compare(a.Order, b.Order), cmp.Compare(a.Name, b.Name))
	})
	return all, err
}

// PutEnvironment writes an environment's own record. That its name is unique in
// its vault is the caller's to see to, who has read them all.
func (tx Tx) PutEnvironment(e Environment) error {
	return environments.put(tx.kv, e, e.Vault, e.ID)
}

// DeleteEnvironment removes an environment with its secrets, active and
// trashed, and all their versions.
func (tx Tx) DeleteEnvironment(e Environment) error {
	active, err := tx.Newest(e)
	if err != nil {
		return err
	}
	for _, n := range active {
		if err := tx.forget(e.Vault, n.Secret, n.Version); err != nil {
			return err
		}
	}
	trashed, err := tx.Trash(e.Vault)
	if err != nil {
		return err
	}
	for _, s := range trashed {
		if s.Environment == e.ID {
			if err := tx.removeTrashed(s); err != nil {
				return err
			}
		}
	}
	if err := tx.deleteOverridesOf(e); err != nil {
		return err
	}
	if err := tx.deleteLinksOf(e); err != nil {
		return err
	}
	for _, prefix := range [][]byte{key(tagNewest, e.Vault, e.ID), key(tagRevision, e.Vault, e.ID), key(tagLedger, e.Vault, e.ID)} {
		if err := deleteAll(tx.kv, prefix); err != nil {
			return err
		}
	}
	return environments.delete(tx.kv, e.Vault, e.ID)
}
