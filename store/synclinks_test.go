package store

import (
	"errors"
	"testing"
)

func TestLinksFollowWhatTheyHangOn(t *testing.T) {
	for name, remove := range map[string]func(Tx, Connection, Environment, Vault) error{
		"the connection":  func(tx Tx, c Connection, _ Environment, _ Vault) error { return tx.DeleteConnection(c) },
		"the environment": func(tx Tx, _ Connection, e Environment, _ Vault) error { return tx.DeleteEnvironment(e) },
		"the vault":       func(tx Tx, _ Connection, _ Environment, v Vault) error { return tx.DeleteVault(v) },
	} {
		t.Run(name, func(t *testing.T) {
			s := openStore(t)
			conn := Connection{ID: id(1), User: id(2), Provider: "vercel"}
			v := Vault{ID: id(3), RepoID: "1", Owner: "ann", Name: "api", OwnerKind: OwnerUser, OwnerID: "1", CreatedBy: id(2), Generation: 1}
			e := Environment{ID: id(4), Vault: v.ID, Name: "production", Type: "protected"}
			l := SyncLink{ID: id(5), Vault: v.ID, Environment: e.ID, Connection: conn.ID, Auto: true}
			must(t, s.Update(ctx, func(tx Tx) error {
				return errors.Join(
					tx.PutUser(User{ID: conn.User, Forge: "local", Account: "1"}), tx.AddVault(v, []byte("key")), tx.PutEnvironment(e), tx.PutConnection(conn), tx.PutSyncLink(l),
					tx.PutLedgerEntry(e, Place{1}, "A", LedgerEntry{Mark: "m"}), tx.PutLedgerKey(v.ID, LedgerKey{Generation: 1}),
					tx.PutSyncRun(SyncRun{ID: id(6), Vault: v.ID, Ended: 1}),
				)
			}))
			must(t, s.Update(ctx, func(tx Tx) error { return remove(tx, conn, e, v) }))
			must(t, s.View(ctx, func(r Reader) error {
				through, err := r.LinksThrough(conn.ID)
				auto, err2 := r.AutoLinks()
				all, err3 := r.SyncLinks(v.ID)
				known, err4 := r.Ledger(e, Place{1})
				if len(through)+len(auto)+len(all) != 0 {
					t.Errorf("left behind: %v %v %v", through, auto, all)
				}
				if name != "the connection" && len(known) != 0 {
					t.Errorf("the ledger outlived %s", name)
				}
				return errors.Join(err, err2, err3, err4)
			}))
			if err := s.Check(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestALinkIsFoundByItsPresentConnectionOnly(t *testing.T) {
	s := openStore(t)
	l := SyncLink{ID: id(1), Vault: id(2), Environment: id(3), Connection: id(4), Auto: true}
	must(t, s.Update(ctx, func(tx Tx) error { return tx.PutSyncLink(l) }))
	l.Connection, l.Disabled = id(5), true
	must(t, s.Update(ctx, func(tx Tx) error { return tx.PutSyncLink(l) }))
	must(t, s.View(ctx, func(r Reader) error {
		before, err := r.LinksThrough(id(4))
		after, err2 := r.LinksThrough(id(5))
		auto, err3 := r.AutoLinks()
		if len(before) != 0 || len(after) != 1 || len(auto) != 0 {
			t.Errorf("through the old connection %d, through the new one %d, by themselves %d", len(before), len(after), len(auto))
		}
		return errors.Join(err, err2, err3)
	}))
}
