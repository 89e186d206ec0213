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
				return errors.Join(tx.AddVault(v, []byte("key")), tx.PutEnvironment(e), tx.PutConnection(conn), tx.PutSyncLink(l), tx.PutSyncRun(run))
			}))
			must(t, s.Check(ctx))
			must(t, s.Update(ctx, damage))
			if err := s.Check(ctx); !errors.Is(err, kv.ErrCorrupt) {
				t.Errorf("it is not found: %v", err)
			}
		})
	}
}
