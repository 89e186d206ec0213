package warden

import (
	"context"
	"errors"
	"fmt"
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
	given       given                  // shares that were given; under the sealing lock
	mu          sync.Mutex
	lastError   string
	attempts    []api.UnsealAttempt
	progress    *api.GivenShares
	configured  Start
}

// Start is how an instance may be unsealed without anybody asking: what its
// operator configured. The key file comes first, then the sources in their order,
// then the places where key files were when they were added, then plugins.
type Start struct {
	KeyFile    string // where a new key file goes, too
	Sources    []Source
	NewKeyFile string // where Initialize writes a key file when KeyFile names no place
}

// Open looks at what the store holds and tries to unseal as configured. Failing
// to is not an error: the instance stays sealed and Status says why. The claim
// token is for whoever may initialise a fresh instance, and "" otherwise.
func (w *Warden) Open(ctx context.Context, s Start) (claim string, err error) {
	w.start.configured = s
	err = w.store.View(ctx, func(r store.Reader) error {
		_, err := r.Instance()
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		w.start.initialized.Store(err == nil)
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
	if err := w.Unseal(ctx, api.Unseal{}); err != nil {
		w.log.WarnContext(ctx, "still sealed", "reason", err)
	}
	return "", nil
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
		Version: w.c.Version,
		Forge:   api.ForgeStatus{Kind: w.forge.Kind(), URL: w.c.ForgeURL, Credential: w.c.ForgeCredential},
	}
	if s.Sealed {
		w.start.mu.Lock()
		s.LastError, s.Attempts, s.Shares = w.start.lastError, w.start.attempts, w.start.progress
		if s.Shares != nil && !w.now().Before(s.Shares.ExpiresAt.Time) {
			s.Shares = nil
		}
		w.start.mu.Unlock()
	}
	_ = w.withKeys(func(k *keyring) error {
		s.AuditKey = k.audit.notary.PublicKey()
		return nil
	})
	methods, err := w.methods(ctx)
	s.Methods = shownMethods(methods)
	if err != nil {
		w.log.ErrorContext(ctx, "the unseal methods cannot be read", "error", err)
		s.LastError = "The data cannot be read. See the server's log."
	}
	return s
}

func shownMethods(all []store.Method) []api.UnsealMethod {
	shown := make([]api.UnsealMethod, 0, len(all))
	for _, m := range all {
		shown = append(shown, shownMethod(m))
	}
	return shown
}

// Unseal opens the instance with what the request brings or, when it brings
// nothing, with what its operator configured. Unsealing an open instance does
// nothing. Shares may come one after another: while there are too few of them the
// instance stays sealed, there is no error, and Status says how many are missing.
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
	w.tallies.unseals.note(outcomeOf(err))
	w.start.mu.Lock()
	defer w.start.mu.Unlock()
	w.start.lastError, w.start.attempts = "", nil
	if err != nil {
		w.start.lastError = err.Error()
	}
	if failed, ok := errors.AsType[*attemptsError](err); ok {
		w.start.attempts = failed.attempts
		err = failed.answer()
	}
	w.start.progress = w.start.given.shown()
	return err
}

func (w *Warden) unseal(ctx context.Context, req api.Unseal) error {
	methods, err := w.methods(ctx)
	if err != nil {
		return w.outward(err)
	}
	o, err := w.unlockStepwise(ctx, methods, req)
	if err != nil || o.master == nil {
		return err
	}
	master := o.master
	var instance store.Instance
	err = w.store.View(ctx, func(r store.Reader) (err error) {
		instance, err = r.Instance()
		return err
	})
	if err == nil {
		err = w.findSyncs(ctx)
	}
	var erased []store.Erasure
	if err == nil {
		erased, err = w.openErasures(ctx)
	}
	var cut []store.Rotation
	if err == nil {
		cut, err = w.rotationsUnderWay(ctx)
	}
	if err != nil {
		return w.outward(err)
	}
	keys, err := openKeyring(master, instance)
	if err != nil {
		return err
	}
	w.haveBackupKey(ctx, keys, instance)
	w.keys.Store(keys)
	w.syncs.rouse()
	w.log.InfoContext(ctx, "unsealed", "key", instance.Fingerprint)
	w.pump.wake()
	w.start.given.drop()
	w.remember(ctx, o, instance)
	w.compactions.resume(erased)
	if len(cut) > 0 {
		w.rotator.resume()
	}
	return nil
}

// openKeyring opens what an instance's record holds with its master key.
func openKeyring(master *crypto.Master, i store.Instance) (*keyring, error) {
	root, err := master.OpenRoot(i.RootKey)
	if errors.Is(err, crypto.ErrWrongKey) {
		return nil, api.Errorf(api.Forbidden, "The master key was changed: this method opens key %s, the data is sealed under %s. Restore the method's key from a backup, or use another method.", master.Fingerprint(), i.Fingerprint)
	}
	if err != nil {
		return nil, err
	}
	var old *crypto.Root
	if len(i.OldRootKey) > 0 {
		old, err = master.OpenRoot(i.OldRootKey)
	}
	var keys *keyring
	if err == nil {
		keys, err = newKeyring(root, old, i)
	}
	if err != nil {
		root.Destroy()
		if old != nil {
			old.Destroy()
		}
	}
	return keys, err
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

// Seal takes the keys out of memory at once. Calls under way finish first.
func (w *Warden) Seal(ctx context.Context, who Caller) error {
	if err := admit(who, access.SystemSeal); err != nil {
		return w.settle(ctx, who, access.SystemSeal, store.Vault{}, err)
	}
	j := journal{w: w, who: who, now: w.now()}
	j.note("system_sealed", nil)
	if err := w.write(ctx, j.notes); err != nil {
		// A store that cannot be written to must not keep the keys in memory.
		w.log.ErrorContext(ctx, "the sealing could not be recorded", "error", err)
	}
	w.sealing.Lock()
	defer w.sealing.Unlock()
	w.start.given.drop()
	w.dropKeys()
	w.log.InfoContext(ctx, "sealed")
	return nil
}

// Hardening is how far the memory of this process is its own.
type Hardening struct {
	NotDumpable bool   // other processes of the same user cannot read it
	NoCore      bool   // a crash leaves no core file
	Locked      bool   // the root key is never swapped to the disk
	Memory      string // the kind of memory that the root key gets
}

// Missing are sentences about what the system does not allow.
func (h Hardening) Missing() (missing []string) {
	if !h.NotDumpable {
		missing = append(missing, "other processes of this user may read the server's memory")
	}
	if !h.NoCore {
		missing = append(missing, "a crash may leave a core file")
	}
	if !h.Locked {
		missing = append(missing, "the root key may be swapped to disk")
	}
	return missing
}

// Harden keeps the memory of this process to itself as far as the system
// allows, and reports what was reached.
func Harden() Hardening {
	h := crypto.Harden()
	return Hardening{NotDumpable: h.NotDumpable, NoCore: h.NoCore, Locked: h.KeyMemory != crypto.MemoryPlain, Memory: string(h.KeyMemory)}
}

// KeyFile is where the first of the key files is that the instance remembers, and ""
// if it opens without one.
func (w *Warden) KeyFile(ctx context.Context) string {
	methods, err := w.methods(ctx)
	if err != nil {
		return ""
	}
	for _, m := range methods {
		if m.Path != "" {
			return m.Path
		}
	}
	return ""
}
