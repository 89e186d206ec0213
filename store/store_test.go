package store

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"coffer/store/kv"
	"coffer/store/kv/bolt"
	"coffer/store/kv/kvtest"
)

var ctx = context.Background()

func openDB(t *testing.T) kv.DB {
	t.Helper()
	return kvtest.Twice(openOnce(t))
}

// openOnce runs transactions once, for tests that make one of their steps fail.
func openOnce(t *testing.T) kv.DB {
	t.Helper()
	db, err := bolt.Open(filepath.Join(t.TempDir(), "data.db"), bolt.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func openStore(t *testing.T) *Store {
	t.Helper()
	s, err := Open(ctx, openDB(t))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// id is a fixed id for tests.
func id(n byte) ID { return ID{0: 1, 6: 0x70, 8: 0x80, 15: n} }

func sampleVault(n byte) (Vault, Environment) {
	v := Vault{ID: id(n), RepoID: fmt.Sprint(n), Owner: "Ann", Name: fmt.Sprintf("Repo%d", n), OwnerKind: OwnerUser,
		OwnerID: "1", CreatedBy: id(200), Generation: 1, Created: 5, Updated: 5}
	return v, Environment{ID: id(n + 100), Vault: v.ID, Name: "production", Type: "protected", Created: 5, Updated: 5}
}

// addSample adds a vault with one environment and secrets A0, A1, … in it, each
// with two versions.
func addSample(tx Tx, n byte, count int) error {
	v, e := sampleVault(n)
	if err := tx.AddVault(v, []byte("key")); err != nil {
		return err
	}
	for i := range count {
		first := ID{0: 9, 1: n, 2: byte(i), 15: 1}
		second := ID{0: 9, 1: n, 2: byte(i), 15: 2}
		secret := ID{0: 8, 1: n, 2: byte(i)}
		row := Newest{Key: fmt.Sprint("A", i), Secret: secret, Version: first, Number: 1, Generation: 1, Created: 6, Updated: 6, Sealed: []byte("x")}
		ver := Version{ID: first, Vault: v.ID, Secret: secret, Number: 1, Generation: 1, Revision: 1, Created: 6, Sealed: []byte("x")}
		if err := tx.AddSecret(&e, row, ver); err != nil {
			return err
		}
		row.Version, row.Number, row.Sealed = second, 2, []byte("y")
		ver.ID, ver.Number, ver.Previous, ver.Sealed = second, 2, first, []byte("y")
		if err := tx.SetValue(e, row, ver); err != nil {
			return err
		}
	}
	return tx.PutEnvironment(e)
}

func TestAVaultIsFoundByNameRepositoryAndAccount(t *testing.T) {
	s := openStore(t)
	must(t, s.Update(ctx, func(tx Tx) error { return addSample(tx, 1, 2) }))
	must(t, s.View(ctx, func(r Reader) error {
		for _, name := range []string{"Ann/Repo1", "ann/repo1", "ANN/REPO1"} {
			if got, err := r.VaultIDByName(name); err != nil || got != id(1) {
				t.Errorf("by name %s: %v, %v", name, got, err)
			}
		}
		if got, err := r.VaultIDByRepo("1"); err != nil || got != id(1) {
			t.Errorf("by repository: %v, %v", got, err)
		}
		all, err := r.VaultsOf(AccountOfUser(id(200)))
		if len(all) != 1 {
			t.Errorf("by account: %v", all)
		}
		return err
	}))
	v, _ := sampleVault(1)
	v.ID, v.Name = id(2), "other"
	err := s.Update(ctx, func(tx Tx) error { return tx.AddVault(v, nil) })
	if !errors.Is(err, ErrExists) {
		t.Errorf("a second vault for the same repository: %v", err)
	}
	must(t, s.Check(ctx))
}

// TestNamesChangeHands moves vaults to names that others had: the last one that
// took a name is found by it, and losing or leaving one takes nothing from its
// new holder.
func TestNamesChangeHands(t *testing.T) {
	s := openStore(t)
	must(t, s.Update(ctx, func(tx Tx) error { return addSample(tx, 1, 1) }))
	first, _ := sampleVault(1)
	second := first
	second.ID, second.RepoID = id(2), "other"
	found := func(name string) (at ID) {
		t.Helper()
		must(t, s.View(ctx, func(r Reader) (err error) {
			if at, err = r.VaultIDByName(name); errors.Is(err, ErrNotFound) {
				err = nil
			}
			return err
		}))
		must(t, s.Check(ctx))
		return at
	}
	name := first.Repository()
	must(t, s.Update(ctx, func(tx Tx) error { return tx.AddVault(second, []byte("k")) }))
	if at := found(name); at != second.ID {
		t.Errorf("after another repository took the name it leads to %s", at)
	}
	first.Name, first.OwnerKind, first.OwnerID = "moved", OwnerOrg, "7"
	must(t, s.Update(ctx, func(tx Tx) error { return tx.MoveVault(first) }))
	if a, b := found(name), found(first.Repository()); a != second.ID || b != first.ID {
		t.Errorf("after the first one moved on: %s, %s", a, b)
	}
	must(t, s.View(ctx, func(r Reader) error {
		all, err := r.VaultsOf(AccountOfOrg("7"))
		if len(all) != 1 || all[0].ID != first.ID {
			t.Errorf("by its new account: %v", all)
		}
		return err
	}))
	must(t, s.Update(ctx, func(tx Tx) error { return tx.DeleteVault(second) }))
	if at := found(name); !at.IsZero() {
		t.Errorf("the name of a deleted vault leads to %s", at)
	}

	// One that was overtaken need not have been seen under another name when the
	// new holder goes.
	third := second
	third.ID, third.RepoID, third.Name = id(3), "third", first.Name
	must(t, s.Update(ctx, func(tx Tx) error { return tx.AddVault(third, []byte("k")) }))
	must(t, s.Update(ctx, func(tx Tx) error { return tx.DeleteVault(third) }))
	if at := found(first.Repository()); !at.IsZero() {
		t.Errorf("a name that was lost leads to %s", at)
	}
	must(t, s.Update(ctx, func(tx Tx) error { return tx.MoveVault(first) }))
	if at := found(first.Repository()); at != first.ID {
		t.Errorf("a name that was had again leads to %s", at)
	}
	must(t, s.Update(ctx, func(tx Tx) error { return tx.kv.Delete(nameKey(first.Repository())) }))
	if err := s.Check(ctx); !errors.Is(err, kv.ErrCorrupt) {
		t.Errorf("a name that went missing: %v", err)
	}
}

func TestNewestAreSortedByKeyAndCounted(t *testing.T) {
	s := openStore(t)
	must(t, s.Update(ctx, func(tx Tx) error { return errors.Join(addSample(tx, 1, 12), addSample(tx, 2, 3)) }))
	must(t, s.View(ctx, func(r Reader) error {
		envs, err := r.Environments(id(1))
		must(t, err)
		if envs[0].Secrets != 12 {
			t.Errorf("counted %d", envs[0].Secrets)
		}
		newest, err := r.Newest(envs[0])
		var keys []string
		for _, n := range newest {
			keys = append(keys, n.Key)
		}
		want := []string{"A0", "A1", "A10", "A11", "A2", "A3", "A4", "A5", "A6", "A7", "A8", "A9"}
		if diff := cmp.Diff(want, keys); diff != "" {
			t.Error(diff)
		}
		return err
	}))
}

func TestVersionsAreFoundNewestFirst(t *testing.T) {
	s := openStore(t)
	must(t, s.Update(ctx, func(tx Tx) error { return addSample(tx, 1, 1) }))
	must(t, s.View(ctx, func(r Reader) error {
		_, e := sampleVault(1)
		n, err := r.NewestOf(e, "A0")
		must(t, err)
		all, err := r.Versions(n.Version)
		if len(all) != 2 || all[0].Number != 2 || all[1].Number != 1 {
			t.Errorf("got %v", all)
		}
		return err
	}))
}

func TestTrashAndBack(t *testing.T) {
	s := openStore(t)
	must(t, s.Update(ctx, func(tx Tx) error { return addSample(tx, 1, 3) }))
	change := func(work func(Tx, *Environment) error) {
		t.Helper()
		must(t, s.Update(ctx, func(tx Tx) error {
			envs, err := tx.Environments(id(1))
			if err != nil {
				return err
			}
			return errors.Join(work(tx, &envs[0]), tx.PutEnvironment(envs[0]))
		}))
		must(t, s.Check(ctx))
	}
	trash := func(name string) {
		change(func(tx Tx, e *Environment) error {
			n, err := tx.NewestOf(*e, name)
			if err != nil {
				return err
			}
			return tx.TrashSecret(e, n, 10, 20)
		})
	}
	trash("A0")
	trash("A1")
	change(func(tx Tx, e *Environment) error {
		all, err := tx.Trash(e.Vault)
		if err != nil || len(all) != 2 {
			return fmt.Errorf("trash holds %d: %w", len(all), err)
		}
		n := Newest{Key: "A0", Secret: all[0].ID, Version: all[0].Version, Number: all[0].Number, Sealed: []byte("z")}
		return errors.Join(tx.RestoreSecret(e, all[0], n), tx.DestroySecret(e, all[1]))
	})
	must(t, s.View(ctx, func(r Reader) error {
		envs, err := r.Environments(id(1))
		if envs[0].Secrets != 2 || envs[0].Trashed != 0 {
			t.Errorf("counts: %+v", envs[0])
		}
		return err
	}))
}

// TestNothingOfADeletedVaultStays also proves that every kind of key belongs to
// somebody who deletes it.
func TestNothingOfADeletedVaultStays(t *testing.T) {
	db := openDB(t)
	s, err := Open(ctx, db)
	must(t, err)
	must(t, s.Update(ctx, func(tx Tx) error { return addSample(tx, 1, 3) }))
	must(t, s.Update(ctx, func(tx Tx) error {
		_, e := sampleVault(1)
		e.Secrets = 3
		n, err := tx.NewestOf(e, "A1")
		if err != nil {
			return err
		}
		return errors.Join(tx.TrashSecret(&e, n, 10, 20), tx.PutEnvironment(e))
	}))
	must(t, s.Update(ctx, func(tx Tx) error {
		v, err := tx.Vault(id(1))
		if err != nil {
			return err
		}
		return tx.DeleteVault(v)
	}))
	must(t, db.View(ctx, func(r kv.Reader) error {
		return r.Scan(kv.Range{}, func(k, _ []byte) error {
			t.Errorf("key %x stayed", k)
			return nil
		})
	}))
}

func TestActivityPagesAreExactToTheLast(t *testing.T) {
	s := openLog(t, openDB(t))
	const mine, all = 57, 114
	for i := range all {
		appendTo(t, s, Activity{ID: id(byte(i)), Action: fmt.Sprint(i), Actor: id(byte(i % 2)), Vault: id(9)})
	}
	must(t, s.Check(ctx))
	must(t, s.View(ctx, func(r Reader) error {
		want := all - 1
		for offset := 0; offset < mine+20; offset += 10 {
			page, total, err := r.ActivityOf(id(1), 10, offset)
			must(t, err)
			if total != mine {
				t.Errorf("total %d at offset %d", total, offset)
			}
			for _, a := range page {
				if a.Action != fmt.Sprint(want) {
					t.Errorf("offset %d holds %s, want %d", offset, a.Action, want)
				}
				want -= 2
			}
		}
		if want != -1 {
			t.Errorf("the pages end before %d", want)
		}
		_, total, err := r.ActivityIn(id(9), 1, 0)
		if total != all {
			t.Errorf("the vault has %d records", total)
		}
		return err
	}))
}

func TestIDsOfOneSourceRiseAndRepeat(t *testing.T) {
	src := NewIDs(time.UnixMilli(1_800_000_000_000))
	var first []string
	for range 5000 {
		first = append(first, src.Next().String())
	}
	for i := 1; i < len(first); i++ {
		if first[i] <= first[i-1] {
			t.Fatalf("%s after %s", first[i], first[i-1])
		}
	}
	if v := first[0][14]; v != '7' {
		t.Errorf("version %c", v)
	}
	src.Rewind()
	if again := src.Next().String(); again != first[0] {
		t.Errorf("after Rewind: %s, was %s", again, first[0])
	}
}

func TestASessionLeavesNothingBehind(t *testing.T) {
	db := openDB(t)
	s, err := Open(ctx, db)
	must(t, err)
	hash := [32]byte{1}
	browser := Session{ID: id(1), User: id(3), Expires: 10, Hash: hash[:]}
	token := Session{ID: id(2), User: id(3), Expires: 10}
	must(t, s.Update(ctx, func(tx Tx) error { return errors.Join(tx.PutSession(browser), tx.PutSession(token)) }))
	must(t, s.View(ctx, func(r Reader) error {
		got, err := r.SessionByHash(hash)
		if got.ID != browser.ID {
			t.Errorf("found %v", got)
		}
		return err
	}))
	must(t, s.Update(ctx, func(tx Tx) error { return errors.Join(tx.DeleteSession(browser), tx.DeleteSession(token)) }))
	must(t, db.View(ctx, func(r kv.Reader) error {
		return r.Scan(kv.Range{}, func(k, _ []byte) error {
			t.Errorf("key %x is left", k)
			return nil
		})
	}))
}

func TestAStateIsUsedOnce(t *testing.T) {
	s := openStore(t)
	state := UsedState{Nonce: []byte("nonce"), Expires: 5}
	use := func(tx Tx) error { return tx.UseState(state) }
	must(t, s.Update(ctx, use))
	if err := s.Update(ctx, use); !errors.Is(err, ErrExists) {
		t.Errorf("used again: %v", err)
	}
	must(t, s.View(ctx, func(r Reader) error {
		for now, want := range map[Millis]int{4: 0, 5: 1} {
			due, err := r.ExpiredStates(now)
			if err != nil || len(due) != want {
				t.Errorf("at %d: %v %v", now, due, err)
			}
		}
		return nil
	}))
	must(t, s.Update(ctx, func(tx Tx) error { return tx.ForgetState(state) }))
	must(t, s.Update(ctx, use))
}
