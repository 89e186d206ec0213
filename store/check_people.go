package store

import (
	"strings"

	"coffer/store/kv"
)

// people holds users and what lets them in against the lists that they are found
// by, both ways, and wants all of it to belong to somebody.
func (c *check) people() error {
	return firstOf(
		func() error {
			return found(c, users, "user", tagUserForge, func(u User) (at, id []byte) {
				return key(tagUserForge, u.Forge, "\x00", u.Account), u.ID[:]
			})
		},
		func() error {
			return found(c, apiKeys, "API key", tagAPIKeyHash, func(k APIKey) (at, id []byte) {
				return key(tagAPIKeyHash, k.Hash[:]), k.ID[:]
			})
		},
		func() error {
			return indexed(c, apiKeys, "API key", tagAPIKeyUser, func(k APIKey) []byte { return key(tagAPIKeyUser, k.User, k.ID) })
		},
		func() error {
			return found(c, sessions, "session", tagSessionHash, func(s Session) (at, id []byte) {
				if !s.InBrowser() {
					return nil, nil
				}
				return key(tagSessionHash, s.Hash), s.ID[:]
			})
		},
		func() error {
			return indexed(c, sessions, "session", tagSessionUser, func(s Session) []byte { return key(tagSessionUser, s.User, s.ID) })
		},
		func() error {
			return found(c, devices, "device login", tagDeviceUserCode, func(d Device) (at, code []byte) {
				return key(tagDeviceUserCode, d.UserCode[:]), d.Code[:]
			})
		},
		func() error { return ofUsers(c, apiKeys, "API key", func(k APIKey) ID { return k.User }) },
		func() error { return ofUsers(c, sessions, "session", func(s Session) ID { return s.User }) },
		func() error { return ofUsers(c, grants, "grant", func(g Grant) ID { return g.User }) },
		func() error {
			return ofUsers(c, connections, "connection", func(one Connection) ID { return one.User })
		},
		func() error { return ofUsers(c, orgMembers, "membership", func(m OrgMember) ID { return m.User }) },
	)
}

// ofUsers wants each record of a table to belong to a user.
func ofUsers[T any](c *check, t table[T], what string, user func(T) ID) error {
	return each(c, t, func(k []byte, one T) error {
		return c.want(key(tagUser, user(one)), nil, "%s %x belongs to nobody", what, k[1:])
	})
}

// each decodes all records of a table.
func each[T any](c *check, t table[T], fn func(k []byte, one T) error) error {
	return c.kv.Scan(kv.Prefix(key(t.tag)), func(k, b []byte) error {
		one, err := t.decode(b)
		if err != nil {
			return err
		}
		return fn(k, one)
	})
}

// readable wants the records of a table to be readable, of which nothing else is
// known.
func readable[T any](c *check, t table[T]) error {
	return each(c, t, func([]byte, T) error { return nil })
}

// others reads what no list and no count speaks of.
func (c *check) others() error {
	return firstOf(
		func() error { return readable(c, methods) },
		func() error { return readable(c, jobRuns) },
		func() error { return readable(c, orgs) },
		func() error { return readable(c, usedStates) },
		func() error { return readable(c, deliveries) },
		func() error { return readable(c, events) },
		func() error { return readable(c, syncLeases) },
		func() error { return readable(c, billingEvents) },
		func() error { return readable(c, checkpoints) },
		func() error { return readable(c, cursors) },
		func() error {
			return found(c, billings, "billing state", tagBillingCustomer, func(b Billing) (at, account []byte) {
				if b.Customer == "" {
					return nil, nil
				}
				return key(tagBillingCustomer, b.Customer), []byte(b.Account)
			})
		},
	)
}

// local holds the built-in code host against itself.
func (c *check) local() error {
	names := make(map[string]string)
	var highest uint64
	own := func(name string, kind byte, id uint64) {
		names[string(key(tagLocalName, strings.ToLower(name)))] = string(place([]byte{kind}, id))
		highest = max(highest, id)
	}
	return firstOf(
		func() error {
			return each(c, localUsers, func(_ []byte, u LocalUser) error { own(u.Name, 'u', u.ID); return nil })
		},
		func() error {
			return each(c, localOrgs, func(_ []byte, o LocalOrg) error { own(o.Name, 'o', o.ID); return nil })
		},
		func() error { return c.same(tagLocalName, names, "name at the built-in code host") },
		func() error {
			return found(c, localRepos, "repository", tagLocalRepoName, func(repo LocalRepo) (at, id []byte) {
				highest = max(highest, repo.ID)
				return repoNameKey(repo.Owner, repo.Name), place(nil, repo.ID)
			})
		},
		func() error { return c.pairs(tagLocalMember, tagLocalMemberOf, "membership") },
		func() error { return c.pairs(tagLocalGrant, tagLocalGrantedTo, "role on a repository") },
		func() error {
			if highest == 0 {
				return nil
			}
			b, err := c.kv.Get(key(tagLocalLast))
			if err != nil && !isNotFound(err) {
				return err
			}
			if string(b) < string(place(nil, highest)) {
				return c.fault("id %d of the built-in code host would be given out twice", highest)
			}
			return nil
		},
	)
}

// pairs holds a list of pairs of numbers against the list of the same pairs the
// other way round.
func (c *check) pairs(forward, backward byte, what string) error {
	wanted := make(map[string]string)
	err := c.kv.Scan(kv.Prefix(key(forward)), func(k, _ []byte) error {
		wanted[string(key(backward, k[9:], k[1:9]))] = ""
		return nil
	})
	if err != nil {
		return err
	}
	return c.same(backward, wanted, what)
}
