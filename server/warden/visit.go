package warden

import (
	"errors"
	"time"

	"coffer/crypto"
	"coffer/server/access"
	"coffer/server/api"
	"coffer/store"
)

// visit is one caller inside one vault, for one action, in one transaction.
type visit struct {
	journal
	store.Reader
	tx    store.Tx // of change only
	act   access.Action
	role  access.Role
	envs  []*store.Environment // in display order
	keys  *keyring
	books *books

	before struct{ secrets, environments int }
	would  int // secrets that a dry run would add

	touched bool                     // an environment is at another revision
	where   string                   // the environment that was let in to
	seen    map[store.ID]*store.User // people looked up so far

	overrides []access.Override
	defaults  access.Defaults // of the organization
}

// visit looks the vault up again, in the transaction that the work is done in:
// it may have gone since the door was opened.
func (p *pass) visit(r store.Reader, now time.Time) (*visit, error) {
	vault, err := r.Vault(p.vault.ID)
	if errors.Is(err, store.ErrNotFound) {
		return nil, errNoVault(p.vault.Repository())
	}
	if err != nil {
		return nil, err
	}
	return p.w.visitOf(r, p.who, p.act, vault, p.found.role, p.keys, now)
}

func (w *Warden) visitOf(r store.Reader, who Caller, act access.Action, vault store.Vault, role access.Role, keys *keyring, now time.Time) (*visit, error) {
	envs, err := r.Environments(vault.ID)
	if err != nil {
		return nil, err
	}
	v := &visit{
		journal: journal{w: w, who: who, now: now, vault: vault},
		Reader:  r, act: act, role: role, keys: keys,
		envs: make([]*store.Environment, len(envs)), books: w.books(r),
	}
	for i := range envs {
		v.envs[i] = &envs[i]
	}
	v.before.secrets, v.before.environments = v.secrets(), len(envs)
	return v, v.loadRules()
}

// environment is the vault's environment of this name, or nil.
func (v *visit) environment(name string) *store.Environment {
	for _, e := range v.envs {
		if e.Name == name {
			return e
		}
	}
	return nil
}

func (v *visit) environmentByID(id store.ID) *store.Environment {
	for _, e := range v.envs {
		if e.ID == id {
			return e
		}
	}
	return nil
}

// rights are what the caller may do in an environment.
func (v *visit) rights(e *store.Environment) access.Rights {
	rights := access.Resolve(access.Subject{
		Role: v.role, UserID: v.who.user.ID.String(), Environment: e.Name, Type: envType(e.Type),
	}, v.overrides, v.defaults)
	if v.who.isTest() {
		rights = access.TestKey(rights, envType(e.Type))
	}
	return rights
}

func envType(name string) access.EnvType {
	t, err := access.ParseEnvType(name)
	if err != nil {
		return access.Protected
	}
	return t
}

// allow asks whether the visit's action is allowed in an environment.
func (v *visit) allow(e *store.Environment) error {
	return v.allowTypes(e.Name, v.rights(e), envType(e.Type))
}

func (v *visit) allowTypes(name string, rights access.Rights, t access.EnvType) error {
	denial := v.act.Decide(access.Facts{Role: v.role, Rights: rights, Type: t, TestKey: v.who.isTest()})
	switch {
	case denial == access.Granted:
		v.where = name
		return nil
	case v.who.isTest() && t == access.Protected:
		return &refusal{reason: access.TestKeyUsed, environment: name, answer: api.Errorf(api.Forbidden,
			"A test key has no access to protected environments like %s. Use a live key.", name)}
	default:
		verb := "read"
		if v.act.Row().Rights.Write {
			verb = "write"
		}
		return &refusal{reason: denial, environment: name, answer: api.Errorf(api.Forbidden,
			"Your role on %s (%s) may not %s %s. Ask an admin of the repository.", v.vault.Repository(), v.role, verb, name)}
	}
}

// readable are the environments whose names, counts and keys the caller may see.
func (v *visit) readable() []*store.Environment {
	var all []*store.Environment
	for _, e := range v.envs {
		if v.rights(e).Read {
			all = append(all, e)
		}
	}
	return all
}

// touch counts a revision of an environment whose active keys or values changed,
// and writes it.
func (v *visit) touch(e *store.Environment, keys ...string) error {
	rev := store.Revision{At: store.At(v.now), By: v.who.user.ID, Keys: keys}
	if err := v.tx.AddRevision(e, rev); err != nil {
		return err
	}
	v.touched = true
	return v.keep(e)
}

// keep writes an environment whose counts or name changed.
func (v *visit) keep(e *store.Environment) error {
	e.Updated = store.At(v.now)
	return v.tx.PutEnvironment(*e)
}

// person is a user as others see them, or nil for nobody and for users that are
// gone.
func (v *visit) person(id store.ID) (*store.User, error) {
	if id.IsZero() {
		return nil, nil
	}
	if u, ok := v.seen[id]; ok {
		return u, nil
	}
	if v.seen == nil {
		v.seen = make(map[store.ID]*store.User)
	}
	u, err := v.User(id)
	switch {
	case errors.Is(err, store.ErrNotFound):
		v.seen[id] = nil
		return nil, nil
	case err != nil:
		return nil, err
	}
	v.seen[id] = &u
	return &u, nil
}

// key is the vault's data key of a generation.
func (v *visit) key(generation uint64) (*crypto.DataKey, error) {
	return v.keys.dataKey(v.Reader, v.vault.ID, generation)
}

// openNewest opens the value of an active secret.
func (v *visit) openNewest(e *store.Environment, n store.Newest) ([]byte, error) {
	k, err := v.key(uint64(n.Generation))
	if err != nil {
		return nil, err
	}
	return k.Open(nil, n.Sealed, newestContext(e, n))
}

func newestContext(e *store.Environment, n store.Newest) []byte {
	return crypto.NewestContext(e.Vault, e.ID, n.Secret, n.Number, n.Key)
}

// seal makes value the value of n and of a new version of it.
func (v *visit) seal(e *store.Environment, n *store.Newest, value []byte) (store.Version, error) {
	k, err := v.key(v.vault.Generation)
	if err != nil {
		return store.Version{}, err
	}
	previous := n.Version
	n.Version = v.ids.Next()
	n.Number++
	n.Updated = store.At(v.now)
	n.ModifiedBy = v.who.user.ID
	v.sealNewest(k, e, n, value)
	ver := store.Version{
		ID: n.Version, Vault: e.Vault, Secret: n.Secret, Number: n.Number,
		Generation: n.Generation, Revision: e.Revision + 1, Created: n.Updated, CreatedBy: n.ModifiedBy, Previous: previous,
	}
	ver.Sealed = k.Seal(nil, value, crypto.VersionContext(e.Vault, n.Secret, n.Number))
	return ver, nil
}

// sealNewest seals value for its place among the newest, which is its
// environment, its number and its name.
func (v *visit) sealNewest(k *crypto.DataKey, e *store.Environment, n *store.Newest, value []byte) {
	n.Generation = uint32(v.vault.Generation)
	n.Sealed = k.Seal(nil, value, newestContext(e, *n))
}

// openVersion opens the value of a version.
func (v *visit) openVersion(ver store.Version) ([]byte, error) {
	k, err := v.key(uint64(ver.Generation))
	if err != nil {
		return nil, err
	}
	return k.Open(nil, ver.Sealed, crypto.VersionContext(ver.Vault, ver.Secret, ver.Number))
}
