package store

import (
	"errors"
	"testing"

	"coffer/store/kv"
)

// TestCheckFindsWhatSyncsHaveLost takes away, or puts there, one key after the
// other that connections, links and runs need.
func TestCheckFindsWhatSyncsHaveLost(t *testing.T) {
	conn := Connection{ID: id(1), User: id(2), Provider: "vercel"}
	v := Vault{ID: id(3), RepoID: "1", Owner: "ann", Name: "api", OwnerKind: OwnerUser, OwnerID: "1", CreatedBy: id(2), Generation: 1}
	e := Environment{ID: id(4), Vault: v.ID, Name: "production", Type: "protected"}
	l := SyncLink{ID: id(5), Vault: v.ID, Environment: e.ID, Connection: conn.ID, Auto: true}
	run := SyncRun{ID: id(6), Vault: v.ID, Environment: e.ID}
	drop := func(k []byte) func(Tx) error { return func(tx Tx) error { return tx.kv.Delete(k) } }
	add := func(k []byte) func(Tx) error { return func(tx Tx) error { return tx.kv.Put(k, nil) } }
	for name, damage := range map[string]func(Tx) error{
		"the connection":                     drop(key(tagConnection, conn.ID)),
		"the connection in its user's list":  drop(key(tagConnectionUser, conn.User, conn.ID)),
		"a connection that is only listed":   add(key(tagConnectionUser, conn.User, id(9))),
		"the link in its connection's list":  drop(key(tagLinkConnection, conn.ID, v.ID, l.ID)),
		"a link that is only listed":         add(key(tagLinkConnection, conn.ID, v.ID, id(9))),
		"the link among the automatic":       drop(key(tagLinkAuto, v.ID, l.ID)),
		"a link that is only automatic":      add(key(tagLinkAuto, v.ID, id(9))),
		"the run in its vault's list":        drop(key(tagSyncRunVault, v.ID, run.ID)),
		"a run that is only listed":          add(key(tagSyncRunVault, v.ID, id(9))),
		"a link listed at another's as well": add(key(tagLinkConnection, id(8), v.ID, l.ID)),
	} {
		t.Run(name, func(t *testing.T) {
			s := openStore(t)
			must(t, s.Update(ctx, func(tx Tx) error {
				return errors.Join(tx.PutUser(User{ID: conn.User, Forge: "local", Account: "1"}), tx.AddVault(v, []byte("key")), tx.PutEnvironment(e), tx.PutConnection(conn), tx.PutSyncLink(l), tx.PutSyncRun(run))
			}))
			must(t, s.Check(ctx))
			must(t, s.Update(ctx, damage))
			if err := s.Check(ctx); !errors.Is(err, kv.ErrCorrupt) {
				t.Errorf("it is not found: %v", err)
			}
		})
	}
}

// TestCheckFindsWhatIsLost takes away, or puts there, one key after the other of
// all other records.
func TestCheckFindsWhatIsLost(t *testing.T) {
	user := User{ID: id(30), Forge: "local", Account: "7"}
	apiKey := APIKey{ID: id(31), User: user.ID, Hash: [32]byte{1}}
	session := Session{ID: id(32), User: user.ID, Hash: []byte("a hash of a token in some browser")}
	device := Device{Code: [32]byte{2}, UserCode: [32]byte{3}}
	ann, acme := LocalUser{Name: "Ann"}, LocalOrg{Name: "Acme"}
	repo := LocalRepo{OwnerKind: OwnerUser, Owner: 1, Name: "Api"}
	env := id(101)
	drop := func(k []byte) func(Tx) error { return func(tx Tx) error { return tx.kv.Delete(k) } }
	add := func(k []byte) func(Tx) error { return func(tx Tx) error { return tx.kv.Put(k, nil) } }
	// ruin writes something that cannot be read in the place of the first record.
	ruin := func(tag byte) func(Tx) error {
		return func(tx Tx) error {
			span := kv.Prefix(key(tag))
			span.Limit = 1
			var at []byte
			if err := tx.kv.Scan(span, func(k, _ []byte) error { at = append(at, k...); return nil }); err != nil || at == nil {
				return errors.Join(err, errors.New("there is none"))
			}
			return tx.kv.Put(at, []byte{recordVersion, 0xff})
		}
	}
	for name, damage := range map[string]func(Tx) error{
		"the user":                         drop(key(tagUser, user.ID)),
		"the user by account":              drop(key(tagUserForge, "local", "\x00", "7")),
		"another user by account":          func(tx Tx) error { return tx.kv.Put(key(tagUserForge, "local", "\x00", "7"), bytesOf(id(9))) },
		"a user that is only listed":       add(key(tagUserForge, "local", "\x00", "8")),
		"the key by hash":                  drop(key(tagAPIKeyHash, apiKey.Hash[:])),
		"the key in its user's list":       drop(key(tagAPIKeyUser, user.ID, apiKey.ID)),
		"a key that is only found by hash": add(key(tagAPIKeyHash, make([]byte, 32))),
		"the session by hash":              drop(key(tagSessionHash, session.Hash)),
		"the session in its user's list":   drop(key(tagSessionUser, user.ID, session.ID)),
		"a session that is only listed":    add(key(tagSessionUser, user.ID, id(9))),
		"the device by user code":          drop(key(tagDeviceUserCode, device.UserCode[:])),
		"the grant's user":                 func(tx Tx) error { return tx.PutGrant(Grant{User: id(9)}) },
		"a local name":                     drop(key(tagLocalName, "ann")),
		"a local name that is nobody's":    add(key(tagLocalName, "bob")),
		"the name of a local repository":   drop(repoNameKey(1, "api")),
		"a membership":                     drop(key(tagLocalMemberOf, uint64(1), uint64(2))),
		"a membership of one side":         drop(key(tagLocalMember, uint64(2), uint64(1))),
		"a role":                           drop(key(tagLocalGrantedTo, uint64(1), uint64(3))),
		"the highest local id":             func(tx Tx) error { return tx.kv.Put(key(tagLocalLast), place(nil, 2)) },
		"a customer":                       drop(key(tagBillingCustomer, "cus_1")),
		"a customer of nobody":             add(key(tagBillingCustomer, "cus_2")),
		"a name of a vault that is gone":   func(tx Tx) error { return tx.kv.Put(nameKey("a/b"), bytesOf(id(9))) },
		"a value where nothing is":         add(key(tagNewest, id(1), id(9), "A")),
		"a revision where nothing is":      add(key(tagRevision, id(1), id(9), uint64(1))),
		"an environment where nothing is":  add(key(tagEnvironment, id(9), id(9))),
		"a data key where nothing is":      add(key(tagVaultKey, id(9), uint64(1))),
		"a version of a secret that is gone": func(tx Tx) error {
			v := Version{ID: id(9), Vault: id(1), Secret: id(9), Number: 1}
			return tx.kv.Put(key(tagVersion, v.ID), v.frame())
		},
		"a secret in the trash that is none": add(key(tagTrash, id(1), id(9))),
		"a secret due that is none":          add(key(tagTrashDue, uint64(5), id(1), id(9))),
		"an override for what is gone":       func(tx Tx) error { return tx.PutOverride(Override{ID: id(9), Vault: id(1), Environment: id(9)}) },
		"the key of a ledger":                drop(key(tagLedgerKey, id(1))),
		"a ledger of an environment that went": func(tx Tx) error {
			return tx.PutLedgerEntry(Environment{ID: id(9), Vault: id(1)}, Place{}, "A", LedgerEntry{})
		},
		"a ledger entry":   ruin(tagLedger),
		"a lease":          ruin(tagSyncLease),
		"a payment event":  ruin(tagBillingEvent),
		"an unseal method": ruin(tagMethod),
		"a job":            ruin(tagJob),
	} {
		t.Run(name, func(t *testing.T) {
			s := openStore(t)
			must(t, s.Update(ctx, func(tx Tx) error {
				a, o, r := ann, acme, repo
				return errors.Join(addSample(tx, 1, 2), tx.PutUser(user), tx.PutAPIKey(apiKey), tx.PutSession(session), tx.AddDevice(device), tx.PutGrant(Grant{User: user.ID}),
					tx.AddLocalUser(&a), tx.AddLocalOrg(&o), tx.AddLocalRepo(&r), tx.SetLocalMember(2, 1, "owner"), tx.SetLocalRole(3, 1, "write"),
					tx.PutLedgerKey(id(1), LedgerKey{}), tx.PutLedgerEntry(Environment{ID: env, Vault: id(1)}, Place{}, "A", LedgerEntry{}),
					tx.PutSyncLease(Place{}, SyncLease{}), tx.PutBilling(Billing{Account: "user:1", Customer: "cus_1"}), tx.PutBillingEvent(BillingEvent{ID: []byte("e")}),
					tx.PutMethod(Method{ID: id(33)}), tx.PutJobRun(JobRun{Name: "trash"}))
			}))
			must(t, s.Check(ctx))
			must(t, s.Update(ctx, damage))
			if err := s.Check(ctx); !errors.Is(err, kv.ErrCorrupt) {
				t.Errorf("it is not found: %v", err)
			}
		})
	}
}

func bytesOf(id ID) []byte { return id[:] }
