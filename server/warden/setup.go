package warden

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"coffer/crypto"
	"coffer/server/api"
	"coffer/store"
)

// Setup is what a fresh instance is made with.
type Setup struct {
	Passphrase string // one of Passphrase and KeyFile
	KeyFile    string // read if it is there, else written
	Admin      *api.NewOperator
}

// Initialize makes a fresh instance for whoever knows its claim token.
func (w *Warden) Initialize(ctx context.Context, req api.Initialize) (*api.Initialized, error) {
	if err := w.checkClaim(req.ClaimToken); err != nil {
		return nil, err
	}
	w.sealing.Lock()
	defer w.sealing.Unlock()
	if err := w.start.wizard.inUse(w.now()); err != nil {
		return nil, err
	}
	return w.setUp(ctx, w.setupOf(req.Setup))
}

// checkClaim holds a token against the claim token of a fresh instance.
func (w *Warden) checkClaim(token api.Secret) error {
	claim := w.start.claim.Load()
	if claim == nil {
		return errInitialized()
	}
	if subtle.ConstantTimeCompare([]byte(*claim), []byte(token.Reveal())) != 1 {
		return api.Errorf(api.Forbidden, "This is not the claim token that the server printed at its first start. Look into its log.")
	}
	return nil
}

// InitializeHere makes a fresh instance for its operator.
func (w *Warden) InitializeHere(ctx context.Context, req api.Setup) (*api.Initialized, error) {
	return w.SetUp(ctx, w.setupOf(req))
}

// setupOf is what a request over the network asks for: a key file goes where the
// server was told to look for one.
func (w *Warden) setupOf(req api.Setup) Setup {
	setup := Setup{Admin: req.Admin}
	if req.Passphrase != nil {
		setup.Passphrase = req.Passphrase.Reveal()
		return setup
	}
	setup.KeyFile = cmp.Or(w.start.configured.KeyFile, w.start.configured.NewKeyFile)
	return setup
}

func errInitialized() *api.Error {
	return api.Errorf(api.Conflict, "This server is set up already.")
}

// SetUp makes the keys of a fresh instance, and its first user, and leaves it
// unsealed. The recovery key in the answer is kept nowhere.
func (w *Warden) SetUp(ctx context.Context, s Setup) (*api.Initialized, error) {
	w.sealing.Lock()
	defer w.sealing.Unlock()
	return w.setUp(ctx, s)
}

// setUp is SetUp for who holds the sealing lock.
func (w *Warden) setUp(ctx context.Context, s Setup) (*api.Initialized, error) {
	if w.start.initialized.Load() {
		return nil, errInitialized()
	}
	if w.start.wizard.busy {
		return nil, errRestoring()
	}
	if s.Admin != nil {
		if err := w.builtIn(); err != nil {
			return nil, err
		}
	}
	d, err := w.newDraft(s)
	if err != nil {
		return nil, err
	}
	recovery, err := d.newRecovery(w.now())
	if err != nil {
		return nil, err
	}
	if _, err := w.commit(ctx, d, s.Admin); err != nil {
		return nil, err
	}
	return &api.Initialized{
		RecoveryKey: api.Revealed(recovery.Reveal()), Fingerprint: d.master.Fingerprint(), KeyFile: d.first.Path,
	}, nil
}

// draft holds the keys of an instance that is not written yet.
type draft struct {
	master          *crypto.Master
	first, recovery store.Method
}

// newDraft makes a master key and the way to it that somebody chose.
func (w *Warden) newDraft(s Setup) (*draft, error) {
	master, err := crypto.NewMaster()
	if err != nil {
		return nil, err
	}
	now := w.now()
	first, err := w.firstMethod(master, s, store.NewIDs(now), now)
	return &draft{master: master, first: first}, err
}

// newRecovery makes the recovery key, in place of the one before.
func (d *draft) newRecovery(now time.Time) (*crypto.Identity, error) {
	key, method, err := recoveryMethod(d.master, store.NewIDs(now), now)
	d.recovery = method
	return key, err
}

// commit writes the instance, with its first user if there is one, and opens it.
// Its caller holds the sealing lock.
func (w *Warden) commit(ctx context.Context, d *draft, first *api.NewOperator) (admin *store.LocalUser, err error) {
	if admin, err = newOperator(first); err != nil {
		return nil, err
	}
	now := w.now()
	ids := store.NewIDs(now)
	keys, instance, base, err := newInstance(d.master, ids, now)
	if err != nil {
		return nil, err
	}
	instance.ForgeKind, instance.ForgeURL, instance.Version = w.forge.Kind(), w.c.ForgeURL, w.c.Version
	keys.under.Load().vouch(&d.first)
	keys.under.Load().vouch(&d.recovery)
	account := ids.Next()
	err = w.store.Update(ctx, func(tx store.Tx) error {
		if _, err := tx.Instance(); !errors.Is(err, store.ErrNotFound) {
			return errors.Join(err, errInitialized())
		}
		return errors.Join(tx.PutInstance(instance), tx.PutMethod(d.first), tx.PutMethod(d.recovery),
			tx.BeginActivity(keys.audit.chain, base), w.addOperator(tx, admin, account, now))
	})
	if err != nil {
		keys.destroy()
		return nil, w.outward(err)
	}
	w.start.wizard.clear()
	w.start.initialized.Store(true)
	w.start.claim.Store(nil)
	w.keys.Store(keys)
	w.pump.wake()
	return admin, nil
}

func (w *Warden) firstMethod(m *crypto.Master, s Setup, ids *store.IDs, now time.Time) (store.Method, error) {
	if s.KeyFile == "" {
		file, err := crypto.WrapPassphrase(m, []byte(s.Passphrase), w.c.WorkFactor)
		return store.Method{ID: ids.Next(), Kind: api.MethodPassphrase, Created: store.At(now), File: file}, err
	}
	path, err := filepath.Abs(s.KeyFile)
	if err != nil {
		return store.Method{}, err
	}
	identity, err := readOrWriteKeyFile(path)
	if err != nil {
		return store.Method{}, err
	}
	file, err := crypto.WrapIdentity(m, identity.Recipient())
	return store.Method{
		ID: ids.Next(), Kind: api.MethodKeyFile, Created: store.At(now),
		Fingerprint: identity.Fingerprint(), Recipient: identity.Recipient(), Path: path, File: file,
	}, err
}

// readOrWriteKeyFile takes the key in a file, or puts a new one there.
func readOrWriteKeyFile(path string) (*crypto.Identity, error) {
	text, err := os.ReadFile(path)
	if err == nil {
		identity, err := crypto.ParseIdentity(text)
		if err != nil {
			return nil, api.InvalidField("keyFile", api.NotAllowed, "The key file %s holds no usable key (%v). Name a file that does not exist yet to get a new one.", path, err)
		}
		return identity, nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		return nil, api.InvalidField("keyFile", api.NotAllowed, "The key file cannot be read: %v.", err)
	}
	identity, err := crypto.NewIdentity()
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, api.InvalidField("keyFile", api.NotAllowed, "The key file cannot be written: %v.", err)
	}
	_, err = f.Write(identity.File())
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return nil, fmt.Errorf("write the key file: %w", err)
	}
	return identity, nil
}

func recoveryMethod(m *crypto.Master, ids *store.IDs, now time.Time) (*crypto.Identity, store.Method, error) {
	recovery, err := crypto.NewIdentity()
	if err != nil {
		return nil, store.Method{}, err
	}
	file, err := crypto.WrapIdentity(m, recovery.Recipient())
	return recovery, store.Method{
		ID: ids.Next(), Kind: api.MethodRecovery, Created: store.At(now),
		Fingerprint: recovery.Fingerprint(), Recipient: recovery.Recipient(), File: file,
	}, err
}

// newInstance makes the keys of a fresh instance, and the beginning of its log.
func newInstance(m *crypto.Master, ids *store.IDs, now time.Time) (*keyring, store.Instance, store.Checkpoint, error) {
	i := store.Instance{
		ID: ids.Next(), Schema: store.Schema, Created: store.At(now), Fingerprint: m.Fingerprint(), Recipient: m.Recipient(),
	}
	root, rootFile, err := crypto.NewRoot(m)
	if err != nil {
		return nil, i, store.Checkpoint{}, err
	}
	system, systemFile, err := root.NewDataKey(systemKey)
	if err != nil {
		root.Destroy()
		return nil, i, store.Checkpoint{}, err
	}
	defer system.Destroy()
	i.RootKey, i.SystemKey = rootFile, systemFile
	var secret [32]byte
	_, _ = rand.Read(secret[:]) // never fails since Go 1.24
	i.TokenKey = system.Seal(nil, secret[:], tokenKeyContext)
	base, err := newAuditKeys(system, &i, now)
	if err == nil {
		err = newBackupKey(system, &i)
	}
	if err != nil {
		root.Destroy()
		return nil, i, base, err
	}
	keys, err := newKeyring(root, nil, i)
	if err != nil {
		root.Destroy()
	}
	return keys, i, base, err
}

// newOperator hashes the first user's password, before any transaction.
func newOperator(admin *api.NewOperator) (*store.LocalUser, error) {
	if admin == nil {
		return nil, nil
	}
	hash, err := crypto.HashPassword([]byte(admin.Password.Reveal()))
	return &store.LocalUser{Name: admin.Username, Password: hash, Operator: true}, err
}

func (w *Warden) addOperator(tx store.Tx, u *store.LocalUser, id store.ID, now time.Time) error {
	if u == nil {
		return nil
	}
	u.Created = store.At(now)
	if err := tx.AddLocalUser(u); err != nil {
		return err
	}
	return tx.PutUser(store.User{
		ID: id, Forge: "local", Account: fmt.Sprint(u.ID), Login: u.Name, Created: store.At(now),
	})
}
