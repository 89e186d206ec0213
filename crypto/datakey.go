package crypto

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"

	"filippo.io/age"
	"golang.org/x/crypto/chacha20poly1305"
)

// NewDataKey generates a data key and returns it with its age file, of 249
// bytes, which opens under this root key and for this id only. The id is that
// of the vault, or a constant that is no UUID of a record for the system's own.
func (r *Root) NewDataKey(id ID) (*DataKey, []byte, error) {
	var key [KeySize]byte
	defer clear(key[:])
	_, _ = rand.Read(key[:])
	file, err := encryptKey(key[:], &rootStanza{root: r, id: id})
	if err != nil {
		return nil, nil, err
	}
	return newDataKey(&key), file, nil
}

// OpenDataKey opens a file of [Root.NewDataKey]. It fails with [ErrWrongKey] if
// the root key is another one (or the wrapped key was changed, which looks the
// same) and with [ErrDamaged] for everything else, such as another id.
func (r *Root) OpenDataKey(id ID, file []byte) (*DataKey, error) {
	key, err := r.openDataKey(id, file)
	if err != nil {
		return nil, err
	}
	defer clear(key[:])
	return newDataKey(key), nil
}

// RewrapDataKey opens a data key's file under the root key old and returns a
// file of the same key under r. Values sealed by the key stay as they are.
func (r *Root) RewrapDataKey(old *Root, id ID, file []byte) ([]byte, error) {
	key, err := old.openDataKey(id, file)
	if err != nil {
		return nil, err
	}
	defer clear(key[:])
	return encryptKey(key[:], &rootStanza{root: r, id: id})
}

func (r *Root) openDataKey(id ID, file []byte) (*[KeySize]byte, error) {
	payload, err := decryptKey(file, &rootStanza{root: r, id: id})
	if err != nil {
		return nil, fmt.Errorf("data key: %w", err)
	}
	defer clear(payload)
	if len(payload) != KeySize {
		return nil, fmt.Errorf("data key: %w: it has %d bytes", ErrDamaged, len(payload))
	}
	return (*[KeySize]byte)(append([]byte(nil), payload...)), nil
}

const (
	stanzaType     = "coffer-root"
	stanzaSaltSize = 16
	fileKeySize    = 16
)

// rootStanza is the age recipient and identity of data key files. It wraps the
// file key with ChaCha20-Poly1305 under
//
//	HKDF-SHA256(root key, salt, "coffer/data-key/v1" || 0 || id)
//
// into one stanza
//
//	-> coffer-root <id, 32 hex digits> <salt, 16 bytes in base64>
//	<file key and tag, 32 bytes in base64>
//
// The nonce is zero because a wrapping key is used once: its salt is random,
// and for the same id two of 2^48 wraps share one with a probability of 2^-33.
//
// The id is in the derivation, so a file moved to another vault opens no more
// than one of another installation. It stands in the stanza only to be readable;
// Unwrap compares it with the id that was asked for and derives from the latter.
//
// It is symmetric so that whoever makes a file that opens knows the root key.
// With the public recipient of the master somebody who may write to the disk
// could slip in a data key that he knows, and read what is sealed afterwards.
// For the same reason the stanza must be alone in its file: any other holder of
// the file key could change the payload.
//
// The 128-bit file key and what follows from it are age's: the header's HMAC
// commits to it, and the payload is ChaCha20-Poly1305 under a derived key.
type rootStanza struct {
	root *Root
	id   ID
}

// Wrap implements [age.Recipient].
func (s *rootStanza) Wrap(fileKey []byte) ([]*age.Stanza, error) {
	salt := make([]byte, stanzaSaltSize)
	_, _ = rand.Read(salt)
	return s.wrapWith(fileKey, salt)
}

func (s *rootStanza) wrapWith(fileKey, salt []byte) ([]*age.Stanza, error) {
	key, err := s.wrappingKey(salt)
	if err != nil {
		return nil, err
	}
	defer clear(key)
	aead, err := chacha20poly1305.New(key)
	if err != nil {
		return nil, err
	}
	return []*age.Stanza{{
		Type: stanzaType,
		Args: []string{hex.EncodeToString(s.id[:]), base64.RawStdEncoding.EncodeToString(salt)},
		Body: aead.Seal(nil, make([]byte, chacha20poly1305.NonceSize), fileKey, nil),
	}}, nil
}

// WrapWithLabels implements [age.RecipientWithLabels]. The random label equals
// no other, so age refuses to encrypt to this recipient and another one.
func (s *rootStanza) WrapWithLabels(fileKey []byte) ([]*age.Stanza, []string, error) {
	stanzas, err := s.Wrap(fileKey)
	return stanzas, []string{rand.Text()}, err
}

// Unwrap implements [age.Identity]. It accepts only what Wrap makes, so that a
// file has one encoding.
func (s *rootStanza) Unwrap(stanzas []*age.Stanza) ([]byte, error) {
	if len(stanzas) != 1 {
		return nil, errors.New("a data key has exactly one stanza")
	}
	st := stanzas[0]
	if st.Type != stanzaType || len(st.Args) != 2 {
		return nil, errors.New("the stanza is not one of a data key")
	}
	if st.Args[0] != hex.EncodeToString(s.id[:]) {
		return nil, errors.New("it belongs to another vault")
	}
	salt, err := base64.RawStdEncoding.Strict().DecodeString(st.Args[1])
	// The decoder skips line breaks; encoding again shows every deviation.
	if err != nil || len(salt) != stanzaSaltSize || base64.RawStdEncoding.EncodeToString(salt) != st.Args[1] {
		return nil, errors.New("the salt is malformed")
	}
	if len(st.Body) != fileKeySize+chacha20poly1305.Overhead {
		return nil, errors.New("the wrapped key has the wrong size")
	}
	key, err := s.wrappingKey(salt)
	if err != nil {
		return nil, err
	}
	defer clear(key)
	aead, err := chacha20poly1305.New(key)
	if err != nil {
		return nil, err
	}
	fileKey, err := aead.Open(nil, make([]byte, chacha20poly1305.NonceSize), st.Body, nil)
	if err != nil {
		return nil, ErrWrongKey
	}
	return fileKey, nil
}

func (s *rootStanza) wrappingKey(salt []byte) ([]byte, error) {
	var out []byte
	err := s.root.use(func(key []byte) { out = derive(key, salt, labelDataKey+string(s.id[:])) })
	return out, err
}
