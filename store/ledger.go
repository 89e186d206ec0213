package store

import "coffer/store/kv"

// Place names a target at a hosting provider: a hash of all that it is.
type Place [16]byte

// LedgerEntry is what is known of a variable at a hosting provider: what we wrote
// there last.
type LedgerEntry struct {
	Fingerprint []byte `cbor:"1,keyasint"` // of the value, under the vault's ledger key
	Mark        string `cbor:"2,keyasint"` // of the variable as it was then; the provider's business
	Revision    uint64 `cbor:"3,keyasint"` // of our environment
	At          Millis `cbor:"4,keyasint"`
}

// LedgerKey is the key of a vault's fingerprints. It outlives rotations of the
// data key.
type LedgerKey struct {
	Generation uint64 `cbor:"1,keyasint"` // of the data key that seals it
	Sealed     []byte `cbor:"2,keyasint"`
}

var (
	ledger     = table[LedgerEntry]{tagLedger, "ledger entry"}
	ledgerKeys = table[LedgerKey]{tagLedgerKey, "ledger key"}
)

// Ledger is all that is known of a place, by key.
func (r Reader) Ledger(e Environment, at Place) (map[string]LedgerEntry, error) {
	all := make(map[string]LedgerEntry)
	prefix := key(tagLedger, e.Vault, e.ID, at[:])
	err := r.kv.Scan(kv.Prefix(prefix), func(k, b []byte) error {
		entry, err := ledger.decode(b)
		all[string(k[len(prefix):])] = entry
		return err
	})
	return all, err
}

// PutLedgerEntry writes what is known of one variable.
func (tx Tx) PutLedgerEntry(e Environment, at Place, name string, entry LedgerEntry) error {
	return ledger.put(tx.kv, entry, e.Vault, e.ID, at[:], name)
}

// DeleteLedgerEntry forgets what was known of one variable.
func (tx Tx) DeleteLedgerEntry(e Environment, at Place, name string) error {
	return ledger.delete(tx.kv, e.Vault, e.ID, at[:], name)
}

// LedgerKey is the key of a vault's fingerprints.
func (r Reader) LedgerKey(vault ID) (LedgerKey, error) { return ledgerKeys.get(r.kv, vault) }

// PutLedgerKey writes the key of a vault's fingerprints.
func (tx Tx) PutLedgerKey(vault ID, k LedgerKey) error { return ledgerKeys.put(tx.kv, k, vault) }
