package crypto

import (
	"crypto/cipher"
	"crypto/rand"
	"fmt"
	"slices"
	"sync/atomic"

	"golang.org/x/crypto/chacha20poly1305"
)

// Overhead is how many bytes sealing adds to a value: nonce and tag.
const Overhead = chacha20poly1305.NonceSizeX + chacha20poly1305.Overhead

// KeySize is the size of root keys, data keys and subkeys in bytes.
const KeySize = 32

// DataKey seals and opens values. It is safe for concurrent use, also with
// Destroy. It does not print itself.
type DataKey struct {
	redacted
	// The cipher holds the only copy of the key. It is behind an atomic pointer
	// so that Destroy needs no lock on the path of Seal and Open.
	cipher atomic.Pointer[cipher.AEAD]
}

// newDataKey makes a DataKey of a copy of key.
func newDataKey(key *[KeySize]byte) *DataKey {
	aead, err := chacha20poly1305.NewX(key[:])
	if err != nil {
		panic("crypto: internal error: " + err.Error())
	}
	wipeWhenUnused(aead, key)
	k := new(DataKey)
	k.cipher.Store(&aead)
	return k
}

// Destroy takes the key away: afterwards Open fails with [ErrDestroyed] and
// Seal panics. Calls under way finish with the whole key; its bytes are cleared
// by the garbage collection after the last of them.
func (k *DataKey) Destroy() { k.cipher.Store(nil) }

// Seal appends nonce, ciphertext and tag of plaintext to dst and returns the
// result; it allocates only when dst lacks capacity for [Overhead] more bytes
// than plaintext. The free capacity of dst must not overlap plaintext.
//
// The primitive is XChaCha20-Poly1305 with a random nonce of 24 bytes. Nonces
// need no counter, no state that a restored backup would reset and no agreement
// between nodes: of 2^80 values under one key two share a nonce with a
// probability of 2^-33 (birthday bound, n²/2^193), and a data key seals a few
// billion values at most in its life.
//
// The key is symmetric because nobody may seal who cannot open: with a public
// key, whoever can write the data file could plant values of his own.
//
// context is authenticated and not stored. It says where the value belongs, and
// Open is given the place where the value was found. So a sealed value that was
// copied to another row, or whose row was repointed to another secret, vault or
// environment, or that was put in the place of a later version, does not open.
// A row that is restored as a whole, version number included, does: it is in
// its place. Only the audit log tells that it is old.
//
// The primitive does not commit to its key. That matters where somebody may
// choose keys; every data key is random and authenticated by the root key.
func (k *DataKey) Seal(dst, plaintext, context []byte) []byte {
	aead := k.cipher.Load()
	if aead == nil {
		panic("crypto: data key used after Destroy")
	}
	dst = slices.Grow(dst, Overhead+len(plaintext))
	n := len(dst)
	dst = dst[:n+chacha20poly1305.NonceSizeX]
	// Never fails: crypto/rand ends the process when the system has no
	// randomness, which is the right answer where a nonce is at stake.
	_, _ = rand.Read(dst[n:])
	return (*aead).Seal(dst, dst[n:], plaintext, context)
}

// Open appends the plaintext of sealed to dst and returns the result, or fails
// with [ErrOpen]. context must be the one the value was sealed with. The free
// capacity of dst must not overlap sealed.
func (k *DataKey) Open(dst, sealed, context []byte) ([]byte, error) {
	aead := k.cipher.Load()
	if aead == nil {
		return nil, fmt.Errorf("data key: %w", ErrDestroyed)
	}
	if len(sealed) < Overhead {
		return nil, ErrOpen
	}
	nonce, box := sealed[:chacha20poly1305.NonceSizeX], sealed[chacha20poly1305.NonceSizeX:]
	out, err := (*aead).Open(dst, nonce, box, context)
	if err != nil {
		return nil, ErrOpen
	}
	return out, nil
}
