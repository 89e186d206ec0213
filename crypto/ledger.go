package crypto

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
)

const labelLedger = "coffer/ledger/v1\x00"

// Ledger makes fingerprints of values: two are equal when the values are, and
// nobody without the key learns anything else from one. It is safe for concurrent
// use. It does not print itself.
type Ledger struct {
	redacted
	key []byte
}

// NewLedger makes a ledger with a random key, and returns that sealed by k for the
// place that context names.
func (k *DataKey) NewLedger(context []byte) (*Ledger, []byte) {
	secret := make([]byte, KeySize)
	defer clear(secret)
	_, _ = rand.Read(secret)
	return newLedger(secret), k.Seal(nil, secret, context)
}

// OpenLedger opens what [DataKey.NewLedger] sealed.
func (k *DataKey) OpenLedger(sealed, context []byte) (*Ledger, error) {
	secret, err := k.openSecret(sealed, context)
	if err != nil {
		return nil, fmt.Errorf("ledger key: %w", err)
	}
	defer clear(secret)
	return newLedger(secret), nil
}

func newLedger(secret []byte) *Ledger { return &Ledger{key: derive(secret, nil, labelLedger)} }

// Fingerprint is the HMAC-SHA256 of a value that belongs to a key of this name.
// The name is in it so that two keys with one value do not show that they have it.
func (l *Ledger) Fingerprint(name, value string) []byte {
	mac := hmac.New(sha256.New, l.key)
	fmt.Fprintf(mac, "%d:%s", len(name), name)
	mac.Write([]byte(value))
	return mac.Sum(nil)
}
