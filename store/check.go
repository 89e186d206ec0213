package store

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"coffer/store/kv"
)

// maxFaults is how many faults Check names before it gives up.
const maxFaults = 20

// Check holds every record against the indexes and counts that speak of it, and
// names what does not agree. It reads all records of an instance, but opens no
// value: that takes keys.
func (s *Store) Check(ctx context.Context) error {
	return s.View(ctx, func(r Reader) error {
		c := &check{Reader: r}
		err := firstOf(c.vaults, c.strays, c.people, c.local, c.syncs, c.others, c.activity)
		if err != nil && !errors.Is(err, errEnough) {
			return err
		}
		if len(c.faults) == 0 {
			return nil
		}
		return fmt.Errorf("%w: restore the last backup, and keep this file for an inquiry:\n%s", kv.ErrCorrupt, strings.Join(c.faults, "\n"))
	})
}

var errEnough = errors.New("enough faults")

type check struct {
	Reader
	faults []string
}

// fault notes that something does not agree.
func (c *check) fault(format string, args ...any) error {
	c.faults = append(c.faults, "- "+fmt.Sprintf(format, args...))
	if len(c.faults) >= maxFaults {
		return errEnough
	}
	return nil
}

// want notes a fault unless the key is there with this value.
func (c *check) want(k, value []byte, format string, args ...any) error {
	b, err := c.kv.Get(k)
	switch {
	case isNotFound(err):
		return c.fault(format, args...)
	case err != nil:
		return err
	case value != nil && string(b) != string(value):
		return c.fault(format, args...)
	}
	return nil
}

func (c *check) vaults() error {
	return c.kv.Scan(kv.Prefix(key(tagVault)), func(_, b []byte) error {
		v, err := vaults.decode(b)
		if err != nil {
			return err
		}
		return c.vault(v)
	})
}

func (c *check) vault(v Vault) error {
	if !v.Overtaken {
		if err := c.want(nameKey(v.Repository()), v.ID[:], "vault %s (%s) is not found by its name", v.ID, v.Repository()); err != nil {
			return err
		}
	}
	for _, index := range []struct {
		key, value []byte
		name       string
	}{
		{key(tagVaultRepo, v.RepoID), v.ID[:], "by its repository"},
		{key(tagVaultAccount, v.Account(), "\x00", v.ID), nil, "by its account"},
		{key(tagVaultKey, v.ID, v.Generation), nil, "with a data key"},
	} {
		if err := c.want(index.key, index.value, "vault %s (%s) is not found %s", v.ID, v.Repository(), index.name); err != nil {
			return err
		}
	}
	envs, err := c.Environments(v.ID)
	if err != nil {
		return err
	}
	if err := c.syncLinks(v, envs); err != nil {
		return err
	}
	return c.secrets(v, envs)
}

// secrets holds a vault's secrets against the counts of its environments.
func (c *check) secrets(v Vault, envs []Environment) error {
	active, trashed := 0, make(map[ID]int)
	for _, e := range envs {
		if err := c.environment(e); err != nil {
			return err
		}
		active += e.Secrets
	}
	all, err := secrets.list(c.kv, v.ID)
	if err != nil {
		return err
	}
	for _, s := range all {
		if s.Trashed == 0 {
			active--
			continue
		}
		trashed[s.Environment]++
		if err := c.trashed(s); err != nil {
			return err
		}
	}
	if active != 0 {
		if err := c.fault("vault %s has %d more newest values than active secrets", v.ID, active); err != nil {
			return err
		}
	}
	for _, e := range envs {
		if trashed[e.ID] != e.Trashed {
			if err := c.fault("environment %s counts %d trashed secrets and has %d", e.ID, e.Trashed, trashed[e.ID]); err != nil {
				return err
			}
		}
		delete(trashed, e.ID)
	}
	if len(trashed) > 0 {
		return c.fault("vault %s has trashed secrets of environments that are gone", v.ID)
	}
	return nil
}

func (c *check) environment(e Environment) error {
	newest, err := c.Newest(e)
	if err != nil {
		return err
	}
	if len(newest) != e.Secrets {
		if err := c.fault("environment %s counts %d secrets and has %d", e.ID, e.Secrets, len(newest)); err != nil {
			return err
		}
	}
	for _, n := range newest {
		s, err := c.Secret(e.Vault, n.Secret)
		if err != nil && !isNotFound(err) {
			return err
		}
		if err != nil || s.Environment != e.ID || s.Key != n.Key || s.Trashed != 0 {
			if err := c.fault("secret %s is not found by its id", n.Secret); err != nil {
				return err
			}
		}
		if err := c.versions(e.Vault, n.Secret, n.Version, n.Number); err != nil {
			return err
		}
	}
	return nil
}

func (c *check) trashed(s Secret) error {
	if err := c.want(key(tagTrash, s.Vault, s.ID), nil, "trashed secret %s is in no trash", s.ID); err != nil {
		return err
	}
	if err := c.want(key(tagTrashDue, uint64(s.Expires), s.Vault, s.ID), nil, "trashed secret %s is due never", s.ID); err != nil {
		return err
	}
	return c.versions(s.Vault, s.ID, s.Version, s.Number)
}

// versions follows a secret's versions from its last one.
func (c *check) versions(vault, secret, last ID, number uint32) error {
	all, err := c.Versions(last)
	if isNotFound(err) {
		return c.fault("secret %s lacks its current version", secret)
	}
	if err != nil {
		return err
	}
	for _, v := range all {
		if v.Vault != vault || v.Secret != secret || v.Number != number {
			return c.fault("version %d of secret %s is another one's", number, secret)
		}
		number--
	}
	return nil
}

// activity holds the log against itself, as far as that goes without keys:
// numbers, links, lists and end must agree. Whether they are genuine is for
// verifying the log, which takes keys.
func (c *check) activity() error {
	base, err := c.ActivityBase()
	if isNotFound(err) {
		_, err := c.Instance()
		if isNotFound(err) {
			return nil // not set up yet
		}
		return c.fault("the audit log has no beginning")
	}
	if err != nil {
		return err
	}
	number, link := base.Number, base.Link
	err = c.kv.Scan(kv.Prefix(key(tagActivity)), func(k, b []byte) error {
		row, err := parseRow(b)
		if err != nil {
			return err
		}
		row.Number = binary.BigEndian.Uint64(k[1:])
		if err := c.row(row, number, link); err != nil {
			return err
		}
		number, link = row.Number, row.Link
		return nil
	})
	if err != nil {
		return err
	}
	end, err := c.LogEnd()
	if err != nil && !isNotFound(err) {
		return err
	}
	if end.Number != number || end.Link != link {
		return c.fault("the audit log ends with record %d and should end with %d", number, end.Number)
	}
	return nil
}

// row checks a record behind the one with this number and link.
func (c *check) row(row Row, number uint64, link Link) error {
	if row.Number != number+1 {
		if err := c.fault("the audit log jumps from record %d to %d", number, row.Number); err != nil {
			return err
		}
	} else if row.Prev != link {
		if err := c.fault("record %d of the audit log does not follow the one before it", row.Number); err != nil {
			return err
		}
	}
	a, err := row.Activity()
	if err != nil {
		return err
	}
	if a.Number != row.Number {
		if err := c.fault("record %d of the audit log stands in place %d", a.Number, row.Number); err != nil {
			return err
		}
	}
	actor, vault, err := c.Listed(a)
	if err != nil {
		return err
	}
	if !actor {
		if err := c.fault("record %d is not in its actor's list", a.Number); err != nil {
			return err
		}
	}
	if !vault {
		return c.fault("record %d is not in its vault's list", a.Number)
	}
	return nil
}
