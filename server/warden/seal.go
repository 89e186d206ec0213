package warden

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"coffer/crypto"
	"coffer/server/access"
	"coffer/server/api"
	"coffer/store"
)

// systemKey stands where a vault's id stands for other data keys. It is no UUID,
// so no vault ever has it.
var systemKey = crypto.ID([]byte("coffer:systemkey"))

// startState is what is known about an instance that is not unsealed.
type startState struct {
	initialized atomic.Bool
	claim       atomic.Pointer[string] // the one-time token, while uninitialised
	wizard      wizard                 // a browser that is setting the instance up; under the sealing lock
	mu          sync.Mutex
	lastError   string
	keyFile     string // where a key file asked for by Initialize goes, and what Unseal tries by itself
	passphrase  func() ([]byte, error)
}

// Start is how an instance may be unsealed without anybody asking: what its
// operator configured.
type Start struct {
	KeyFile    string                 // "" means where the key file was when it was added; a new one goes there
	Passphrase func() ([]byte, error) // nil for none
	NewKeyFile string                 // where Initialize writes a key file when KeyFile names no place
}

// Open looks at what the store holds and tries to unseal as configured. Failing
// to is not an error: the instance stays sealed and Status says why. The claim
// token is for whoever may initialise a fresh instance, and "" otherwise.
func (w *Warden) Open(ctx context.Context, s Start) (claim string, err error) {
	w.start.keyFile, w.start.passphrase = cmp.Or(s.KeyFile, s.NewKeyFile), s.Passphrase
	var methods []store.Method
	err = w.store.View(ctx, func(r store.Reader) error {
		_, err := r.Instance()
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		w.start.initialized.Store(err == nil)
		if err == nil {
			methods, err = r.Methods()
		}
		return err
	})
	if err != nil {
		return "", fmt.Errorf("read the instance's record: %w", err)
	}
	if err := w.bind(ctx); err != nil {
		return "", err
	}
	if !w.start.initialized.Load() {
		claim, err = crypto.NewToken(32)
		w.start.claim.Store(&claim)
		return claim, err
	}
	if s.KeyFile != "" {
		w.start.keyFile = s.KeyFile
	} else {
		w.start.keyFile = recordedKeyFile(methods)
	}
	if err := w.Unseal(ctx, api.Unseal{}); err != nil {
		w.log.Warn("still sealed", "reason", err)
	}
	return "", nil
}

func recordedKeyFile(methods []store.Method) string {
	for _, m := range methods {
		if m.Path != "" {
			return m.Path
		}
	}
	return ""
}

func (w *Warden) errSealed() *api.Error {
	e := &api.Error{Code: api.Sealed, RetryAfter: 5 * time.Second,
		Message: "This vault is sealed. Its operator must unseal it: coffer unseal."}
	if !w.start.initialized.Load() {
		e.Message = "This server is not set up yet. Its operator must run: coffer init."
	}
	return e
}

// holdKeys is the keyring, held for use; the caller releases its users lock. Who
// holds it already may hold it again: it never waits, and sealing comes first.
func (w *Warden) holdKeys() (*keyring, error) {
	k := w.keys.Load()
	if k == nil || !k.users.TryRLock() {
		return nil, w.errSealed()
	}
	if w.keys.Load() != k {
		k.users.RUnlock()
		return nil, w.errSealed()
	}
	return k, nil
}

// withKeys lends the keyring to use.
func (w *Warden) withKeys(use func(*keyring) error) error {
	keys, err := w.holdKeys()
	if err != nil {
		return err
	}
	defer keys.users.RUnlock()
	return use(keys)
}

func (w *Warden) dropKeys() {
	if k := w.keys.Swap(nil); k != nil {
		w.syncs.halt()
		k.destroy()
	}
}

// Status tells whether the instance can serve, and how it can be unsealed.
func (w *Warden) Status(ctx context.Context) api.Status {
	s := api.Status{
		Initialized: w.start.initialized.Load(), Sealed: w.keys.Load() == nil,
		Version: w.c.Version, Methods: []api.UnsealMethod{},
		Forge: api.ForgeStatus{Kind: w.forge.Kind(), URL: w.c.ForgeURL, Credential: w.c.ForgeCredential},
	}
	if s.Sealed {
		w.start.mu.Lock()
		s.LastError = w.start.lastError
		w.start.mu.Unlock()
	}
	_ = w.withKeys(func(k *keyring) error {
		s.AuditKey = k.audit.notary.PublicKey()
		return nil
	})
	methods, err := w.methods(ctx)
	for _, m := range methods {
		s.Methods = append(s.Methods, api.UnsealMethod{
			ID: m.ID.String(), Kind: m.Kind, Fingerprint: m.Fingerprint, CreatedAt: api.At(m.Created.Time()),
		})
	}
	if err != nil {
		w.log.Error("the unseal methods cannot be read", "error", err)
		s.LastError = "The data cannot be read. See the server's log."
	}
	return s
}

// Unseal opens the instance with what the request brings or, when it brings
// nothing, with what its operator configured. Unsealing an open instance does
// nothing.
func (w *Warden) Unseal(ctx context.Context, req api.Unseal) error {
	w.sealing.Lock()
	defer w.sealing.Unlock()
	if !w.start.initialized.Load() {
		return w.errSealed()
	}
	if w.keys.Load() != nil {
		return nil
	}
	err := w.unseal(ctx, req)
	w.start.mu.Lock()
	defer w.start.mu.Unlock()
	w.start.lastError = ""
	if err != nil {
		w.start.lastError = err.Error()
	}
	return err
}

func (w *Warden) unseal(ctx context.Context, req api.Unseal) error {
	methods, err := w.methods(ctx)
	if err != nil {
		return w.outward(err)
	}
	master, err := w.master(methods, req)
	if err != nil {
		return err
	}
	var instance store.Instance
	err = w.store.View(ctx, func(r store.Reader) (err error) {
		instance, err = r.Instance()
		return err
	})
	if err == nil {
		err = w.findSyncs(ctx)
	}
	if err != nil {
		return w.outward(err)
	}
	root, err := master.OpenRoot(instance.RootKey)
	if errors.Is(err, crypto.ErrWrongKey) {
		return api.Errorf(api.Forbidden, "The master key was changed: this method opens key %s, the data is sealed under %s. Restore the method's key from a backup, or use another method.", master.Fingerprint(), instance.Fingerprint)
	}
	if err != nil {
		return err
	}
	keys, err := newKeyring(root, instance)
	if err != nil {
		root.Destroy()
		return err
	}
	w.haveBackupKey(ctx, keys, instance)
	w.keys.Store(keys)
	w.syncs.rouse()
	w.log.Info("unsealed", "key", instance.Fingerprint)
	w.pump.wake()
	return nil
}

func (w *Warden) methods(ctx context.Context) (all []store.Method, err error) {
	err = w.store.View(ctx, func(r store.Reader) error {
		found, err := r.Methods()
		for _, m := range found {
			m.File = append([]byte(nil), m.File...)
			all = append(all, m)
		}
		return err
	})
	return all, err
}

// master gets the master key with the first thing there is: what the request
// brings, the configured passphrase, the key file.
func (w *Warden) master(methods []store.Method, req api.Unseal) (*crypto.Master, error) {
	switch {
	case req.Passphrase != nil:
		return byPassphrase(methods, []byte(req.Passphrase.Reveal()))
	case req.Key != nil:
		return byKey(methods, []byte(req.Key.Reveal()), "This key")
	case w.start.passphrase != nil:
		passphrase, err := w.start.passphrase()
		if err != nil {
			return nil, api.Errorf(api.Forbidden, "The passphrase cannot be read: %v. Mend unseal.passphrase_file, or unseal by hand: coffer unseal.", err)
		}
		return byPassphrase(methods, passphrase)
	case w.start.keyFile != "":
		text, err := os.ReadFile(w.start.keyFile)
		if err != nil {
			return nil, api.Errorf(api.Forbidden, "The key file is missing: %v. Bring it back, or unseal with the recovery key: coffer unseal --recovery-key-file FILE.", err)
		}
		return byKey(methods, text, "The key file "+w.start.keyFile)
	default:
		return nil, api.Errorf(api.Forbidden, "No way to unseal is configured. Unseal by hand: coffer unseal.")
	}
}

func byPassphrase(methods []store.Method, passphrase []byte) (*crypto.Master, error) {
	tried := false
	for _, m := range methods {
		if m.Kind != api.MethodPassphrase {
			continue
		}
		tried = true
		master, err := crypto.UnwrapPassphrase(m.File, passphrase)
		if err == nil {
			return master, nil
		}
		if !errors.Is(err, crypto.ErrWrongPassphrase) {
			return nil, err
		}
	}
	if !tried {
		return nil, api.Errorf(api.Forbidden, "This instance has no passphrase. Unseal with its key file or recovery key.")
	}
	return nil, api.Errorf(api.Forbidden, "Wrong passphrase. Try again; if it is lost, unseal with the recovery key.")
}

func byKey(methods []store.Method, text []byte, what string) (*crypto.Master, error) {
	identity, err := crypto.ParseIdentity(text)
	if err != nil {
		return nil, api.Errorf(api.Forbidden, "%s is not a usable key (%v). It should hold one line that begins with AGE-SECRET-KEY-PQ-1.", what, err)
	}
	wanted := ""
	for _, m := range methods {
		if m.Kind == api.MethodPassphrase {
			continue
		}
		master, err := crypto.UnwrapIdentity(m.File, identity)
		if err == nil {
			return master, nil
		}
		if !errors.Is(err, crypto.ErrWrongKey) {
			return nil, err
		}
		wanted += " " + m.Fingerprint + " (" + m.Kind + ")"
	}
	return nil, api.Errorf(api.Forbidden, "%s belongs to another instance: it is %s, and this one opens with%s.", what, identity.Fingerprint(), wanted)
}

// Seal takes the keys out of memory at once. Calls under way finish first.
func (w *Warden) Seal(ctx context.Context, who Caller) error {
	if err := admit(who, access.SystemSeal); err != nil {
		return w.settle(ctx, who, access.SystemSeal, store.Vault{}, err)
	}
	j := journal{w: w, who: who, now: w.now()}
	j.note("system_sealed", nil)
	if err := w.write(ctx, j.notes); err != nil {
		// A store that cannot be written to must not keep the keys in memory.
		w.log.Error("the sealing could not be recorded", "error", err)
	}
	w.sealing.Lock()
	defer w.sealing.Unlock()
	w.dropKeys()
	w.log.Info("sealed")
	return nil
}

// Harden keeps the memory of this process to itself as far as the system
// allows, and reports what could not be done.
func Harden() []string {
	h := crypto.Harden()
	var missing []string
	if !h.NotDumpable {
		missing = append(missing, "other processes of this user may read the server's memory")
	}
	if !h.NoCore {
		missing = append(missing, "a crash may leave a core file")
	}
	if h.KeyMemory == crypto.MemoryPlain {
		missing = append(missing, "the root key may be swapped to disk")
	}
	return missing
}
