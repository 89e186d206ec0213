package store

import (
	"errors"
	"strings"

	"coffer/store/kv"
)

// Vault is the vault of one repository.
type Vault struct {
	ID         ID     `cbor:"1,keyasint"`
	RepoID     string `cbor:"2,keyasint"` // immutable id at the code host
	Owner      string `cbor:"3,keyasint"` // names in the code host's spelling, refreshed
	Name       string `cbor:"4,keyasint"`
	AvatarURL  string `cbor:"5,keyasint"`
	Private    bool   `cbor:"6,keyasint"`
	OwnerKind  string `cbor:"7,keyasint"` // user or org
	OwnerID    string `cbor:"8,keyasint"` // immutable id of the owner there
	CreatedBy  ID     `cbor:"9,keyasint"`
	Generation uint64 `cbor:"10,keyasint"` // of the data key that seals new values
	Created    Millis `cbor:"11,keyasint"`
	Updated    Millis `cbor:"12,keyasint"`           // of the vault's own record; environments carry theirs
	Gone       Millis `cbor:"13,keyasint"`           // since when the code host says that there is no such repository; 0 is not
	Overtaken  bool   `cbor:"14,keyasint,omitempty"` // another repository has had its name since, and nobody saw what it is called now
}

// Repository is "owner/name".
func (v Vault) Repository() string { return v.Owner + "/" + v.Name }

// Account groups the vaults whose quotas are counted together.
func (v Vault) Account() string {
	if v.OwnerKind == OwnerOrg {
		return AccountOfOrg(v.OwnerID)
	}
	return AccountOfUser(v.CreatedBy)
}

// Kinds of repository owners.
const (
	OwnerUser = "user"
	OwnerOrg  = "org"
)

// AccountOfOrg and AccountOfUser name the account that a vault counts for: the
// organization that owns its repository, else the user who made the vault.
func AccountOfOrg(orgID string) string { return "org:" + orgID }

// AccountOfUser names a user's own account.
func AccountOfUser(id ID) string { return "user:" + id.String() }

var vaults = table[Vault]{tagVault, "vault"}

func nameKey(repository string) []byte { return key(tagVaultName, strings.ToLower(repository)) }

// Vault is the vault with this id.
func (r Reader) Vault(id ID) (Vault, error) { return r.memos.vaults.get(r, vaults, id) }

// VaultIDByName finds a vault by the name last seen of its repository, in any
// case.
func (r Reader) VaultIDByName(repository string) (ID, error) {
	return r.idAt(nameKey(repository))
}

// VaultIDByRepo finds a vault by its repository's id at the code host.
func (r Reader) VaultIDByRepo(repoID string) (ID, error) { return r.idAt(key(tagVaultRepo, repoID)) }

// HasVaults reports whether there is any vault.
func (r Reader) HasVaults() (bool, error) { return r.any(key(tagVault)) }

func (r Reader) any(prefix []byte) (found bool, err error) {
	span := kv.Prefix(prefix)
	span.Limit = 1
	err = r.kv.Scan(span, func(_, _ []byte) error {
		found = true
		return nil
	})
	return found, err
}

func (r Reader) idAt(k []byte) (ID, error) {
	b, err := r.kv.Get(k)
	if err != nil {
		return ID{}, err
	}
	return ID(b), nil
}

// Vaults lists all vaults, oldest first.
func (r Reader) Vaults() ([]Vault, error) { return vaults.list(r.kv) }

// VaultsOf lists the vaults of an account, oldest first.
func (r Reader) VaultsOf(account string) ([]Vault, error) {
	found, err := ids(r.kv, key(tagVaultAccount, account, "\x00"))
	if err != nil {
		return nil, err
	}
	all := make([]Vault, 0, len(found))
	for _, id := range found {
		v, err := r.Vault(id)
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, nil
}

// FirstPrivate lists the ids of up to n private vaults of an account, oldest
// first.
func (r Reader) FirstPrivate(account string, n int) ([]ID, error) {
	var first []ID
	err := r.kv.Scan(kv.Prefix(key(tagVaultAccount, account, "\x00")), func(k, _ []byte) error {
		if len(first) >= n {
			return kv.Stop
		}
		v, err := r.Vault(ID(k[len(k)-16:]))
		if err == nil && v.Private {
			first = append(first, v.ID)
		}
		return err
	})
	return first, err
}

// AddVault writes a new vault with the age file of its first data key, or fails
// with ErrExists when its repository has one.
func (tx Tx) AddVault(v Vault, dataKey []byte) error {
	k := key(tagVaultRepo, v.RepoID)
	if there, err := exists(tx.kv, k); err != nil {
		return err
	} else if there {
		return ErrExists
	}
	return errors.Join(
		tx.kv.Put(k, v.ID[:]),
		tx.kv.Put(key(tagVaultKey, v.ID, v.Generation), dataKey),
		tx.file(v),
	)
}

// MoveVault rewrites a vault whose repository got another name, owner or
// visibility. Its own id and its repository's stay.
func (tx Tx) MoveVault(v Vault) error {
	before, err := tx.Vault(v.ID)
	if err != nil {
		return err
	}
	if err := tx.unfile(before); err != nil {
		return err
	}
	return tx.file(v)
}

// file writes a vault's record and finds it by its name and its account. Where
// another vault has that name, the name is an old one of its repository's: names
// change hands at the code host, and the last one seen counts.
func (tx Tx) file(v Vault) error {
	holder, err := tx.VaultIDByName(v.Repository())
	if err != nil && !isNotFound(err) {
		return err
	}
	if err == nil && holder != v.ID {
		other, err := tx.Vault(holder)
		if err != nil {
			return err
		}
		other.Overtaken = true
		if err := tx.PutVault(other); err != nil {
			return err
		}
	}
	v.Overtaken = false
	return errors.Join(
		tx.kv.Put(nameKey(v.Repository()), v.ID[:]),
		tx.kv.Put(key(tagVaultAccount, v.Account(), "\x00", v.ID), nil),
		vaults.put(tx.kv, v, v.ID),
	)
}

// unfile undoes file, but for a name that belongs to another vault by now.
func (tx Tx) unfile(v Vault) error {
	holder, err := tx.VaultIDByName(v.Repository())
	switch {
	case isNotFound(err):
	case err != nil:
		return err
	case holder == v.ID:
		if err := tx.kv.Delete(nameKey(v.Repository())); err != nil {
			return err
		}
	}
	return errors.Join(
		tx.kv.Delete(key(tagVaultAccount, v.Account(), "\x00", v.ID)),
		vaults.delete(tx.kv, v.ID),
	)
}

// PutVault rewrites a vault's own record: not its name, its repository or its
// account, which have indexes.
func (tx Tx) PutVault(v Vault) error { return vaults.put(tx.kv, v, v.ID) }

// VaultKey is the age file of one of a vault's data keys.
func (r Reader) VaultKey(vault ID, generation uint64) ([]byte, error) {
	return r.kv.Get(key(tagVaultKey, vault, generation))
}

// DeleteVault removes a vault with everything in it, its data keys included.
// Its activity stays.
func (tx Tx) DeleteVault(v Vault) error {
	envs, err := tx.Environments(v.ID)
	if err != nil {
		return err
	}
	for _, e := range envs {
		if err := tx.DeleteEnvironment(e); err != nil {
			return err
		}
	}
	return errors.Join(
		tx.kv.Delete(key(tagVaultRepo, v.RepoID)),
		deleteAll(tx.kv, key(tagVaultKey, v.ID)),
		tx.DeleteRotation(Rotation{Kind: RotateVault, Vault: v.ID}),
		deleteAll(tx.kv, key(tagOverride, v.ID)),
		ledgerKeys.delete(tx.kv, v.ID),
		tx.deleteSyncRunsOf(v.ID),
		tx.unfile(v),
	)
}
