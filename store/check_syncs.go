package store

import (
	"slices"

	"coffer/store/kv"
)

// syncLinks holds a vault's links against what they need.
func (c *check) syncLinks(v Vault, envs []Environment) error {
	all, err := c.SyncLinks(v.ID)
	if err != nil {
		return err
	}
	for _, l := range all {
		if err := c.want(key(tagConnection, l.Connection), nil, "link %s has no connection", l.ID); err != nil {
			return err
		}
		if !slices.ContainsFunc(envs, func(e Environment) bool { return e.ID == l.Environment }) {
			if err := c.fault("link %s is of an environment that is gone", l.ID); err != nil {
				return err
			}
		}
	}
	return nil
}

// syncs holds connections, links and runs against the lists that they are found
// by, both ways.
func (c *check) syncs() error {
	return firstOf(
		func() error {
			return indexed(c, connections, "connection", tagConnectionUser, func(one Connection) []byte {
				return key(tagConnectionUser, one.User, one.ID)
			})
		},
		func() error {
			return indexed(c, links, "link", tagLinkConnection, func(l SyncLink) []byte {
				return key(tagLinkConnection, l.Connection, l.Vault, l.ID)
			})
		},
		func() error {
			return indexed(c, links, "automatic link", tagLinkAuto, func(l SyncLink) []byte {
				if !l.Auto || l.Disabled {
					return nil
				}
				return key(tagLinkAuto, l.Vault, l.ID)
			})
		},
		func() error {
			return indexed(c, syncRuns, "run", tagSyncRunVault, func(run SyncRun) []byte {
				return key(tagSyncRunVault, run.Vault, run.ID)
			})
		},
	)
}

// firstOf does one thing after the other until one fails.
func firstOf(all ...func() error) error {
	for _, do := range all {
		if err := do(); err != nil {
			return err
		}
	}
	return nil
}

// indexed holds a table against a list of it: where says which key of the list
// belongs to a record, nil for none, and the list has no others.
func indexed[T any](c *check, t table[T], what string, list byte, where func(T) []byte) error {
	wanted := make(map[string]bool)
	err := c.kv.Scan(kv.Prefix(key(t.tag)), func(k, b []byte) error {
		one, err := t.decode(b)
		if err != nil {
			return err
		}
		at := where(one)
		if at == nil {
			return nil
		}
		wanted[string(at)] = true
		return c.want(at, nil, "%s %x is not listed", what, k[1:])
	})
	if err != nil {
		return err
	}
	return c.kv.Scan(kv.Prefix(key(list)), func(k, _ []byte) error {
		if wanted[string(k)] {
			return nil
		}
		return c.fault("%s %x is listed, and is not there", what, k[1:])
	})
}
