package store

import (
	"errors"
	"slices"
)

// APIKey is an API key. Its token is nowhere: Hash finds it.
type APIKey struct {
	ID          ID       `cbor:"1,keyasint"`
	User        ID       `cbor:"2,keyasint"`
	Hash        [32]byte `cbor:"3,keyasint"` // SHA-256 of the whole token
	Prefix      string   `cbor:"4,keyasint"` // its first 16 characters
	Name        string   `cbor:"5,keyasint"`
	Environment string   `cbor:"6,keyasint"` // live or test
	Scopes      uint8    `cbor:"7,keyasint"`
	Sources     []string `cbor:"8,keyasint"` // CIDR ranges; empty = anywhere
	Created     Millis   `cbor:"9,keyasint"`
	Expires     Millis   `cbor:"10,keyasint"`
	Revoked     Millis   `cbor:"11,keyasint"`
	Reason      string   `cbor:"12,keyasint"`
	LastUsed    Millis   `cbor:"13,keyasint"`
	Uses        uint64   `cbor:"14,keyasint"`
	Form        string   `cbor:"15,keyasint,omitempty"` // that made it, or "": none makes two
}

var apiKeys = table[APIKey]{tagAPIKey, "API key"}

// APIKey is the key with this id.
func (r Reader) APIKey(id ID) (APIKey, error) { return r.memos.apiKeys.get(r, apiKeys, id) }

// APIKeyByHash is the key whose token has this SHA-256.
func (r Reader) APIKeyByHash(hash [32]byte) (APIKey, error) {
	id, err := r.kv.Get(key(tagAPIKeyHash, hash[:]))
	if err != nil {
		return APIKey{}, err
	}
	return r.APIKey(ID(id))
}

// APIKeys lists a user's keys, newest first.
func (r Reader) APIKeys(user ID) ([]APIKey, error) {
	found, err := ids(r.kv, key(tagAPIKeyUser, user))
	if err != nil {
		return nil, err
	}
	slices.Reverse(found)
	all := make([]APIKey, 0, len(found))
	for _, id := range found {
		k, err := r.APIKey(id)
		if err != nil {
			return nil, err
		}
		all = append(all, k)
	}
	return all, nil
}

// PutAPIKey writes a key with its indexes.
func (tx Tx) PutAPIKey(k APIKey) error {
	if err := tx.kv.Put(key(tagAPIKeyHash, k.Hash[:]), k.ID[:]); err != nil {
		return err
	}
	if err := tx.kv.Put(key(tagAPIKeyUser, k.User, k.ID), nil); err != nil {
		return err
	}
	return apiKeys.put(tx.kv, k, k.ID)
}

// DeleteAPIKey removes a key with its indexes.
func (tx Tx) DeleteAPIKey(k APIKey) error {
	return errors.Join(
		tx.kv.Delete(key(tagAPIKeyHash, k.Hash[:])),
		tx.kv.Delete(key(tagAPIKeyUser, k.User, k.ID)),
		apiKeys.delete(tx.kv, k.ID),
	)
}
