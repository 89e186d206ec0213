package crypto

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"sync"
)

// Labels of everything that is derived from a root or master key. None is the
// beginning of another, so that no two uses can derive the same key.
const (
	labelDataKey  = "coffer/data-key/v1\x00"
	labelSubkey   = "coffer/subkey/v1\x00"
	labelRootAuth = "coffer/root-auth/v1\x00"
)

// Root is the root key: the key of all data keys and the source of subkeys. It
// lies outside of Go's heap, in the best memory the system gives. It is safe
// for concurrent use and does not print itself.
type Root struct {
	redacted
	state *rootState
}

type rootState struct {
	mu     sync.RWMutex // for Destroy: the memory is unmapped then
	memory *keyMemory
}

func newRoot(key []byte) *Root {
	memory := newKeyMemory()
	copy(memory.bytes, key)
	return &Root{state: &rootState{memory: memory}}
}

// NewRoot generates a root key and returns it with its age file to the master.
func NewRoot(m *Master) (*Root, []byte, error) {
	key := make([]byte, KeySize)
	defer clear(key)
	_, _ = rand.Read(key)
	r := newRoot(key)
	file, err := m.WrapRoot(r)
	if err != nil {
		r.Destroy()
		return nil, nil, err
	}
	return r, file, nil
}

// WrapRoot returns an age file of the root key to the master, for a master that
// replaces another.
//
// The content is the key and an HMAC of it under a key derived from the
// master's secret. age alone would not say who made the file: the recipient is
// public, so whoever may write to the disk could put in a root key of his own
// and read what is sealed from then on. With the HMAC only who holds the master
// can make a file that OpenRoot takes.
func (m *Master) WrapRoot(r *Root) ([]byte, error) {
	payload := make([]byte, 0, KeySize+sha256.Size)
	defer func() { clear(payload[:cap(payload)]) }()
	err := r.use(func(key []byte) {
		payload = append(payload, key...)
		payload = append(payload, m.rootTag(key)...)
	})
	if err != nil {
		return nil, err
	}
	return encryptKey(payload, hintedRecipient{m.id.Recipient()})
}

// OpenRoot opens a file of [NewRoot] or [Master.WrapRoot]. It fails with a
// [*KeyError], which is an [ErrWrongKey], if the file is for another master.
func (m *Master) OpenRoot(file []byte) (*Root, error) {
	payload, err := decryptKey(file, hintedIdentity{m.id})
	if err != nil {
		return nil, fmt.Errorf("root key: %w", err)
	}
	defer clear(payload)
	if len(payload) != KeySize+sha256.Size {
		return nil, fmt.Errorf("root key: %w: it has %d bytes", ErrDamaged, len(payload))
	}
	key, tag := payload[:KeySize], payload[KeySize:]
	if !hmac.Equal(tag, m.rootTag(key)) {
		return nil, fmt.Errorf("root key: %w: it was not made by the holder of this master key", ErrDamaged)
	}
	return newRoot(key), nil
}

func (m *Master) rootTag(key []byte) []byte {
	mac := hmac.New(sha256.New, derive([]byte(m.id.String()), nil, labelRootAuth))
	mac.Write(key)
	return mac.Sum(nil)
}

// Subkey derives a key for one purpose, such as "etag". It is HKDF-SHA256
// with a label of its own, so a subkey says nothing about the root key, about
// other subkeys or about the keys that wrap data keys. It changes when the root
// key does. It panics after Destroy.
func (r *Root) Subkey(purpose string) [KeySize]byte {
	var out [KeySize]byte
	err := r.use(func(key []byte) { copy(out[:], derive(key, nil, labelSubkey+purpose)) })
	if err != nil {
		panic("crypto: " + err.Error())
	}
	return out
}

// SubDataKey is a [Root.Subkey] to seal with, for what lies nowhere and so needs no
// key that is kept.
func (r *Root) SubDataKey(purpose string) *DataKey {
	key := r.Subkey(purpose)
	defer clear(key[:])
	return newDataKey(&key)
}

// Memory says where the key lives.
func (r *Root) Memory() Memory { return r.state.memory.kind }

// Destroy wipes the key, after the calls that use it. Afterwards every method
// that needs it fails with [ErrDestroyed], or panics where it returns no error.
// It may be called again.
func (r *Root) Destroy() {
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	if r.state.memory.bytes != nil {
		r.state.memory.wipe()
	}
}

// use runs fn with the key, which fn must not keep.
func (r *Root) use(fn func(key []byte)) error {
	r.state.mu.RLock()
	defer r.state.mu.RUnlock()
	if r.state.memory.bytes == nil {
		return fmt.Errorf("root key: %w", ErrDestroyed)
	}
	fn(r.state.memory.bytes)
	return nil
}

// derive is HKDF-SHA256. Its arguments are ours alone, so an error is a bug.
func derive(secret, salt []byte, info string) []byte {
	key, err := hkdf.Key(sha256.New, secret, salt, info, KeySize)
	if err != nil {
		panic("crypto: internal error: " + err.Error())
	}
	return key
}
