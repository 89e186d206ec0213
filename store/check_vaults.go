package store

import "coffer/store/kv"

// strays looks for what lies with vaults, environments and secrets that are gone.
// It would be lost room, and values that somebody has deleted.
func (c *check) strays() error {
	envs := make(map[string]bool) // by vault and environment
	err := each(c, environments, func(k []byte, _ Environment) error {
		envs[string(k[1:])] = true
		return nil
	})
	if err != nil {
		return err
	}
	all, err := c.Vaults()
	if err != nil {
		return err
	}
	there := make(map[string]bool)
	for _, v := range all {
		there[string(v.ID[:])] = true
	}
	for _, of := range []struct {
		tag   byte
		what  string
		owner map[string]bool
		size  int // of the owner's ids
	}{
		{tagEnvironment, "an environment", there, 16},
		{tagVaultKey, "a data key", there, 16},
		{tagSecret, "a secret", there, 16},
		{tagOverride, "a permission override", there, 16},
		{tagLink, "a link", there, 16},
		{tagLedgerKey, "a ledger key", there, 16},
		{tagNewest, "a value", envs, 32},
		{tagRevision, "a revision", envs, 32},
		{tagLedger, "a ledger entry", envs, 32},
	} {
		err := c.kv.Scan(kv.Prefix(key(of.tag)), func(k, _ []byte) error {
			if len(k) > of.size && of.owner[string(k[1:1+of.size])] {
				return nil
			}
			return c.fault("%s (%x) lies where nothing is any more", of.what, k)
		})
		if err != nil {
			return err
		}
	}
	return firstOf(c.vaultLists, c.trashLists, c.strayVersions, c.overrides, c.ledger)
}

// vaultLists wants each vault to be found by its name, its repository and its
// account, and nothing else to be.
func (c *check) vaultLists() error {
	return firstOf(
		func() error {
			return found(c, vaults, "vault", tagVaultName, func(v Vault) (at, id []byte) {
				if v.Overtaken {
					return nil, nil
				}
				return nameKey(v.Repository()), v.ID[:]
			})
		},
		func() error {
			return found(c, vaults, "vault", tagVaultRepo, func(v Vault) (at, id []byte) { return key(tagVaultRepo, v.RepoID), v.ID[:] })
		},
		func() error {
			return indexed(c, vaults, "vault", tagVaultAccount, func(v Vault) []byte { return key(tagVaultAccount, v.Account(), "\x00", v.ID) })
		},
	)
}

// trashLists wants the trash to list trashed secrets and no others.
func (c *check) trashLists() error {
	return firstOf(
		func() error {
			return indexed(c, secrets, "trashed secret", tagTrash, func(s Secret) []byte {
				if s.Trashed == 0 {
					return nil
				}
				return key(tagTrash, s.Vault, s.ID)
			})
		},
		func() error {
			return indexed(c, secrets, "secret that is due", tagTrashDue, func(s Secret) []byte {
				if s.Trashed == 0 {
					return nil
				}
				return key(tagTrashDue, uint64(s.Expires), s.Vault, s.ID)
			})
		},
	)
}

// strayVersions wants each version to belong to a secret.
func (c *check) strayVersions() error {
	return c.kv.Scan(kv.Prefix(key(tagVersion)), func(k, b []byte) error {
		v, err := parseVersion(ID(k[1:]), b)
		if err != nil {
			return err
		}
		return c.want(key(tagSecret, v.Vault, v.Secret), nil, "version %d of secret %s is there, and the secret is not", v.Number, v.Secret)
	})
}

// overrides wants each override to be for an environment that is there.
func (c *check) overrides() error {
	return each(c, overrides, func(_ []byte, o Override) error {
		if o.Environment == (ID{}) {
			return nil
		}
		return c.want(key(tagEnvironment, o.Vault, o.Environment), nil, "permission override %s is for an environment that is gone", o.ID)
	})
}

// ledger wants what is known of places at providers to be readable, with a key.
func (c *check) ledger() error {
	err := readable(c, ledgerKeys)
	if err != nil {
		return err
	}
	last := ""
	return each(c, ledger, func(k []byte, _ LedgerEntry) error {
		if vault := string(k[1:17]); vault != last {
			last = vault
			return c.want(key(tagLedgerKey, k[1:17]), nil, "the ledger of vault %x has no key", vault)
		}
		return nil
	})
}
