package warden

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"coffer/crypto"
	"coffer/store"
)

// keyring holds the opened keys of an unsealed instance. Whoever uses one of
// its keys holds users for reading, so that sealing waits for calls under way.
type keyring struct {
	users   sync.RWMutex
	waiting sync.WaitGroup         // for records of reads that are not written yet
	under   atomic.Pointer[rooted] // replaced as a whole when the root key is
	system  *crypto.DataKey
	audit   auditKeys
	tokens  *crypto.Signer

	mu   sync.RWMutex
	data map[dataKeyID]*crypto.DataKey
}

// rooted is a root key with what follows from it.
type rooted struct {
	root    *crypto.Root
	old     *crypto.Root    // the one before, while data keys are still wrapped under it; else nil
	epoch   uint64          // of the instance's record: counts the root keys that were replaced
	tags    [32]byte        // key of entity tags
	states  [32]byte        // key of the states that browsers bring back from the code host
	vouches [32]byte        // key of what vouches for the public halves of unseal methods
	tickets *crypto.DataKey // of what a browser keeps meanwhile
	imports *crypto.DataKey // of files that a browser keeps while somebody looks what they would change
}

func newRooted(root, old *crypto.Root, epoch uint64) *rooted {
	return &rooted{
		root: root, old: old, epoch: epoch,
		tags: root.Subkey("entity tags"), states: root.Subkey("sign-in states"), vouches: root.Subkey("unseal methods"),
		tickets: root.SubDataKey("sign-in tickets"), imports: root.SubDataKey("imports"),
	}
}

// openDataKey opens a data key that was read before u was looked up: u is then at
// least as new as what was read, and knows the root key that wraps it.
func (u *rooted) openDataKey(vault store.ID, file []byte) (*crypto.DataKey, error) {
	open, err := u.root.OpenDataKey(vault, file)
	if u.old != nil && errors.Is(err, crypto.ErrWrongKey) {
		return u.old.OpenDataKey(vault, file)
	}
	return open, err
}

func (u *rooted) destroy() {
	u.tickets.Destroy()
	u.imports.Destroy()
	u.root.Destroy()
	if u.old != nil {
		u.old.Destroy()
	}
}

type dataKeyID struct {
	vault      store.ID
	generation uint64
}

// maxOpenKeys bounds the data keys kept open, at about 200 bytes each. Opening
// one anew costs 30 µs.
const maxOpenKeys = 1 << 16

// newKeyring opens what an instance's record holds under its root key. Old is the
// root key that is being replaced, or nil.
func newKeyring(root, old *crypto.Root, i store.Instance) (*keyring, error) {
	system, err := root.OpenDataKey(systemKey, i.SystemKey)
	if err != nil {
		return nil, fmt.Errorf("open the system key: %w", err)
	}
	audit, err := openAuditKeys(system, i)
	if err != nil {
		return nil, err
	}
	secret, err := system.Open(nil, i.TokenKey, tokenKeyContext)
	if err != nil {
		return nil, fmt.Errorf("open the key of service tokens: %w", err)
	}
	tokens, err := crypto.NewSigner("coffer-"+i.ID.String()[:8], secret)
	k := &keyring{system: system, audit: audit, tokens: tokens, data: make(map[dataKeyID]*crypto.DataKey)}
	k.under.Store(newRooted(root, old, i.Epoch))
	return k, err
}

// tokenKeyContext is where the key of service tokens stands in the instance's
// record.
var tokenKeyContext = crypto.RecordContext(systemKey, "instance/token-key")

// tag is the strong entity tag of an answer that depends on nothing but what
// text says.
func (k *keyring) tag(text string) string {
	mac := hmac.New(sha256.New, k.under.Load().tags[:])
	mac.Write([]byte(text))
	return `"` + hex.EncodeToString(mac.Sum(nil)[:16]) + `"`
}

// dataKey is a vault's data key, read from r unless it is open already.
func (k *keyring) dataKey(r store.Reader, vault store.ID, generation uint64) (*crypto.DataKey, error) {
	id := dataKeyID{vault, generation}
	k.mu.RLock()
	open := k.data[id]
	k.mu.RUnlock()
	if open != nil {
		return open, nil
	}
	file, err := r.VaultKey(vault, generation)
	if err != nil {
		return nil, fmt.Errorf("read data key %d of vault %s: %w", generation, vault, err)
	}
	open, err = k.under.Load().openDataKey(vault, file)
	if err != nil {
		return nil, fmt.Errorf("open data key %d of vault %s: %w", generation, vault, err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.data) >= maxOpenKeys {
		for other := range k.data {
			delete(k.data, other)
			break
		}
	}
	k.data[id] = open
	return open, nil
}

// forget drops a vault's data keys.
func (k *keyring) forget(vault store.ID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for id := range k.data {
		if id.vault == vault {
			delete(k.data, id)
		}
	}
}

// forgetBefore drops the data keys of a vault that came before a generation.
func (k *keyring) forgetBefore(vault store.ID, generation uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for id := range k.data {
		if id.vault == vault && id.generation < generation {
			delete(k.data, id)
		}
	}
}

// retire waits for calls under way and for the records that they left behind.
// The keyring must be out of everybody's reach before; wipe must follow.
func (k *keyring) retire() {
	k.users.Lock()
	k.waiting.Wait()
}

// wipe ends the use of all keys of a retired keyring.
func (k *keyring) wipe() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, open := range k.data {
		open.Destroy()
	}
	clear(k.data)
	k.audit.destroy()
	k.system.Destroy()
	k.under.Load().destroy()
	k.users.Unlock()
}

// destroy takes the keys away from calls to come.
func (k *keyring) destroy() {
	k.retire()
	k.wipe()
}
