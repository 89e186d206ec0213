package store

import (
	"maps"
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
	return found(c, t, what, list, func(one T) (at, value []byte) { return where(one), nil })
}

// found is indexed for a list whose entries have values.
func found[T any](c *check, t table[T], what string, list byte, where func(T) (at, value []byte)) error {
	wanted := make(map[string]string)
	err := each(c, t, func(_ []byte, one T) error {
		if at, value := where(one); at != nil {
			wanted[string(at)] = string(value)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return c.same(list, wanted, what)
}

// same wants a list to have these entries and no others.
func (c *check) same(list byte, wanted map[string]string, what string) error {
	for _, at := range slices.Sorted(maps.Keys(wanted)) {
		if err := c.want([]byte(at), []byte(wanted[at]), "%s %x is not listed", what, at[1:]); err != nil {
			return err
		}
	}
	return c.kv.Scan(kv.Prefix(key(list)), func(k, _ []byte) error {
		if _, ok := wanted[string(k)]; ok {
			return nil
		}
		return c.fault("%s %x is listed, and is not there", what, k[1:])
	})
}
