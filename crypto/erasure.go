package crypto

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/binary"
	"errors"
)

// labelErasure begins every text that a Notary signs about an erasure, so that
// such a signature means nothing as a [Statement], and the other way round.
const labelErasure = "coffer/erasure-receipt/v1\x00"

// Erasure is what a Notary signs about a vault that was erased. Every field is
// signed.
type Erasure struct {
	Instance   ID
	Vault      ID
	Number     uint64 // of the record of the audit log that tells of it
	Link       Link   // of that record
	ErasedAt   int64  // Unix milliseconds
	Compacted  int64  // when the data file without it took the place of the old one, likewise
	Before     uint64 // bytes in the data file
	After      uint64
	Repository string
	By         string // who had it done; "" is whoever had the data directory
}

// text is what is signed: a fixed layout, so that an erasure has one text.
func (e Erasure) text() []byte {
	b := make([]byte, 0, 256)
	b = append(b, labelErasure...)
	b = append(b, e.Instance[:]...)
	b = append(b, e.Vault[:]...)
	b = binary.BigEndian.AppendUint64(b, e.Number)
	b = append(b, e.Link[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(e.ErasedAt))
	b = binary.BigEndian.AppendUint64(b, uint64(e.Compacted))
	b = binary.BigEndian.AppendUint64(b, e.Before)
	b = binary.BigEndian.AppendUint64(b, e.After)
	for _, s := range []string{e.Repository, e.By} {
		b = binary.BigEndian.AppendUint64(b, uint64(len(s)))
		b = append(b, s...)
	}
	return b
}

// SignErasure signs what is said of an erasure.
func (n *Notary) SignErasure(e Erasure) ([]byte, error) { return n.sign(e.text()) }

// ErrNoNotaryKey means that a text is no public key of a notary.
var ErrNoNotaryKey = errors.New("this is no public key: it must be 32 bytes in base64, 44 characters")

// ErasureSigned reports whether the notary with this public key, in the form of
// [Notary.PublicKey], signed what is said of an erasure.
func ErasureSigned(publicKey string, e Erasure, signature []byte) (bool, error) {
	key, err := base64.StdEncoding.Strict().DecodeString(publicKey)
	if err != nil || len(key) != ed25519.PublicKeySize {
		return false, ErrNoNotaryKey
	}
	return ed25519.Verify(key, e.text(), signature), nil
}
