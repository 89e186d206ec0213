package warden_test

import (
	"context"
	"os"
	"sync/atomic"
	"testing"

	"coffer/crypto"
	"coffer/crypto/cryptotest"
	"coffer/server/api"
	"coffer/store"
	"coffer/store/kv"
)

func (u *unlocking) edit(work func(store.Tx) error) {
	u.t.Helper()
	s, err := store.Open(context.Background(), u.h.db)
	must(u.t, err)
	must(u.t, s.Update(u.t.Context(), work))
}

func (u *unlocking) rekeyed(req api.Rekey) (*api.Rekeyed, error) {
	made, err := u.Rekey(u.t.Context(), u.operator, req)
	if err == nil {
		err = u.GoOnRotating(u.t.Context())
	}
	return made, err
}

func TestEveryMethodOpensAfterARekey(t *testing.T) {
	cryptotest.InstallPlugin(t)
	u := newUnlocking(t)
	u.add(api.AddUnsealMethod{Kind: api.MethodPassphrase, Passphrase: secret("another passphrase")})
	shares := u.add(api.AddUnsealMethod{Kind: api.MethodShares, Threshold: 2, Total: 3})
	u.add(api.AddUnsealMethod{Kind: api.MethodPlugin, Identity: string(cryptotest.PluginIdentity(cryptotest.PluginOpens))})
	_, err := u.rekeyed(api.Rekey{})
	u.refused(err, api.Conflict, "its passphrase is needed")
	_, err = u.rekeyed(api.Rekey{Passphrase: secret("a wrong passphrase")})
	u.refused(err, api.Forbidden, "Wrong passphrase")
	made, err := u.rekeyed(api.Rekey{Proof: &api.Unseal{Key: secret(u.recovery)}, Passphrase: secret("another passphrase")})
	must(t, err)
	if len(made.Methods) != 5 || len(made.Dropped) != 0 || made.RecoveryKey != nil || made.Fingerprint == made.Before {
		t.Errorf("%+v", made)
	}
	u.opens(api.Unseal{Passphrase: secret("another passphrase")})
	u.opens(api.Unseal{Key: secret(u.recovery)})
	u.opens(api.Unseal{Share: secret(string(shares.Shares[0] + "\n" + shares.Shares[2]))})
	u.opens(api.Unseal{})
	must(t, os.Remove(u.h.key))
	u.opens(api.Unseal{}) // with the plugin

	passphrase := u.list()[2].ID
	made, err = u.rekeyed(api.Rekey{Drop: []string{passphrase}, NewRecoveryKey: true})
	must(t, err)
	if len(made.Dropped) != 2 || made.RecoveryKey == nil {
		t.Fatalf("%+v", made)
	}
	must(t, u.Seal(t.Context(), u.operator))
	u.refused(u.Unseal(t.Context(), api.Unseal{Key: secret(u.recovery)}), api.Forbidden, "another instance")
	u.refused(u.Unseal(t.Context(), api.Unseal{Passphrase: secret("another passphrase")}), api.Forbidden, "no passphrase")
	must(t, u.Unseal(t.Context(), api.Unseal{Key: secret(string(*made.RecoveryKey))}))
}

func TestTheOldMasterOpensNothing(t *testing.T) {
	u := newUnlocking(t)
	identity, err := crypto.ParseIdentity([]byte(u.recovery))
	must(t, err)
	var before []store.Method
	u.edit(func(tx store.Tx) (err error) {
		before, err = tx.Methods()
		return err
	})
	old, err := crypto.UnwrapIdentity(before[1].File, identity)
	must(t, err)
	_, err = u.rekeyed(api.Rekey{})
	must(t, err)
	u.edit(func(tx store.Tx) error {
		i, err := tx.Instance()
		must(t, err)
		if len(i.OldRootKey) != 0 || i.Epoch != 1 || i.MasterSince == 0 {
			t.Errorf("%d bytes of the old root key, epoch %d", len(i.OldRootKey), i.Epoch)
		}
		if _, err := old.OpenRoot(i.RootKey); err == nil {
			t.Error("the old master key opens the new root key")
		}
		return nil
	})
}

// TestNobodyPutsTheirOwnKeyAmongTheMethods: who can write the data file waits for a
// rekey, to have the new master key sealed to them.
func TestNobodyPutsTheirOwnKeyAmongTheMethods(t *testing.T) {
	u := newUnlocking(t)
	stranger, err := crypto.NewIdentity()
	must(t, err)
	var right string
	u.edit(func(tx store.Tx) error {
		all, err := tx.Methods()
		right = all[1].Recipient
		all[1].Recipient, all[1].Fingerprint = stranger.Recipient(), stranger.Fingerprint()
		must(t, tx.PutMethod(all[1]))
		return err
	})
	_, err = u.rekeyed(api.Rekey{})
	u.refused(err, api.Conflict, "not known for sure")
	_, err = u.rekeyed(api.Rekey{Proof: &api.Unseal{Key: secret(u.recovery)}}) // shown itself, its own half counts
	must(t, err)
	u.edit(func(tx store.Tx) error {
		all, err := tx.Methods()
		if all[1].Recipient != right {
			t.Error("the stranger's key is still there")
		}
		if _, err := crypto.UnwrapIdentity(all[1].File, stranger); err == nil {
			t.Error("the stranger has the new master key")
		}
		return err
	})
	u.opens(api.Unseal{Key: secret(u.recovery)})

	// A method from before the marks is marked when it is used.
	u.edit(func(tx store.Tx) error {
		all, err := tx.Methods()
		all[1].Vouched = nil
		must(t, tx.PutMethod(all[1]))
		return err
	})
	_, err = u.rekeyed(api.Rekey{})
	u.refused(err, api.Conflict, "unseal once with that key")
	u.opens(api.Unseal{Key: secret(u.recovery)})
	_, err = u.rekeyed(api.Rekey{})
	must(t, err)
}

// TestANewRecoveryKeyIsNeverTheOnlyWay: the answer that shows it may get lost.
func TestANewRecoveryKeyIsNeverTheOnlyWay(t *testing.T) {
	u := newUnlocking(t)
	keyFile := u.list()[0].ID
	_, err := u.rekeyed(api.Rekey{NewRecoveryKey: true, Drop: []string{keyFile}})
	u.refused(err, api.Invalid, "the only way to unseal")
	u.opens(api.Unseal{Key: secret(u.recovery)})
}

// doubtful commits once, and says that it does not know.
type doubtful struct {
	kv.DB
	now atomic.Bool
}

func (d *doubtful) Update(ctx context.Context, fn func(kv.Tx) error) error {
	err := d.DB.Update(ctx, fn)
	if err == nil && d.now.CompareAndSwap(true, false) {
		return kv.ErrUnknown
	}
	return err
}

// TestARekeyInDoubtSaysSo: the disk failed in the commit, and only a restart tells which
// master key is in force. Whoever threw the old keys away might be locked out.
func TestARekeyInDoubtSaysSo(t *testing.T) {
	u := newUnlocking(t)
	must(t, u.Close())
	db := &doubtful{DB: u.h.db}
	u.Warden = u.h.warden(db)
	db.now.Store(true)
	made, err := u.Rekey(t.Context(), u.operator, api.Rekey{NewRecoveryKey: true})
	must(t, err)
	if made.RecoveryKey == nil || made.Warning == "" {
		t.Errorf("it is taken for certain: %+v", made)
	}
	u.opens(api.Unseal{Key: secret(string(*made.RecoveryKey))})
}
