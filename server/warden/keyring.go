package warden

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sync"

	"coffer/crypto"
	"coffer/store"
)

// keyring holds the opened keys of an unsealed instance. Whoever uses one of
// its keys holds users for reading, so that sealing waits for calls under way.
type keyring struct {
	users   sync.RWMutex
	waiting sync.WaitGroup // for records of reads that are not written yet
	root    *crypto.Root
	system  *crypto.DataKey
	audit   auditKeys
	tags    [32]byte        // key of entity tags
	states  [32]byte        // key of the states that browsers bring back from the code host
	tickets *crypto.DataKey // of what a browser keeps meanwhile
	imports *crypto.DataKey // of files that a browser keeps while somebody looks what they would change
	tokens  *crypto.Signer

	mu   sync.RWMutex
	data map[dataKeyID]*crypto.DataKey
}

type dataKeyID struct {
	vault      store.ID
	generation uint64
}

// maxOpenKeys bounds the data keys kept open, at about 200 bytes each. Opening
// one anew costs 30 µs.
const maxOpenKeys = 1 << 16

// newKeyring opens what an instance's record holds under its root key.
func newKeyring(root *crypto.Root, i store.Instance) (*keyring, error) {
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
	return &keyring{
		root: root, system: system, audit: audit, tags: root.Subkey("entity tags"), states: root.Subkey("sign-in states"),
		tickets: root.SubDataKey("sign-in tickets"), imports: root.SubDataKey("imports"), tokens: tokens,
		data: make(map[dataKeyID]*crypto.DataKey),
	}, err
}

// tokenKeyContext is where the key of service tokens stands in the instance's
// record.
var tokenKeyContext = crypto.RecordContext(systemKey, "instance/token-key")

// tag is the strong entity tag of an answer that depends on nothing but what
// text says.
func (k *keyring) tag(text string) string {
	mac := hmac.New(sha256.New, k.tags[:])
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
	open, err = k.root.OpenDataKey(vault, file)
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
	k.tickets.Destroy()
	k.imports.Destroy()
	k.root.Destroy()
	k.users.Unlock()
}

// destroy takes the keys away from calls to come.
func (k *keyring) destroy() {
	k.retire()
	k.wipe()
}
