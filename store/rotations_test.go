package store

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// rest lists all that is sealed under another generation, in pieces of most rows.
func rest(t *testing.T, s *Store, vault ID, generation uint64, most int) (all []SealedRow) {
	t.Helper()
	must(t, s.View(ctx, func(r Reader) error {
		for after, end := (ID{}), false; !end; {
			found, err := r.SealedUnderOthers(vault, generation, after, most)
			if err != nil {
				return err
			}
			all, after, end = append(all, found.Rows...), found.Last, found.End
		}
		return nil
	}))
	return all
}

func TestEverySealedRowIsFoundInPieces(t *testing.T) {
	s := openStore(t)
	must(t, s.Update(ctx, func(tx Tx) error {
		return errors.Join(addSample(tx, 1, 5), addSample(tx, 2, 3))
	}))
	must(t, s.Update(ctx, func(tx Tx) error {
		e, err := tx.Environment(id(1), id(101))
		if err != nil {
			return err
		}
		n, err := tx.NewestOf(e, "A3")
		if err != nil {
			return err
		}
		return errors.Join(tx.TrashSecret(&e, n, 10, 20), tx.PutEnvironment(e))
	}))
	whole := rest(t, s, id(1), 2, 1000)
	if len(whole) != 4*3+2 {
		t.Errorf("found %d rows, not four secrets with two versions and one in the trash", len(whole))
	}
	for _, most := range []int{1, 2, 4} {
		if diff := cmp.Diff(whole, rest(t, s, id(1), 2, most)); diff != "" {
			t.Errorf("in pieces of %d: %s", most, diff)
		}
	}
	if left := rest(t, s, id(1), 1, 2); len(left) != 0 {
		t.Errorf("of another generation than 1 there is %+v", left)
	}
}

func TestKeysOfAllVaultsAreReadInOrder(t *testing.T) {
	s := openStore(t)
	must(t, s.Update(ctx, func(tx Tx) error {
		return errors.Join(addSample(tx, 1, 0), addSample(tx, 2, 0), tx.PutVaultKey(VaultKey{id(1), 2, []byte("second")}))
	}))
	must(t, s.View(ctx, func(r Reader) error {
		var got []VaultKey
		var last VaultKey
		for {
			next, err := r.VaultKeysAfter(last.Vault, last.Generation, 1)
			if err != nil {
				return err
			}
			if len(next) == 0 {
				break
			}
			last = next[0]
			got = append(got, last)
		}
		want := []VaultKey{{id(1), 1, []byte("key")}, {id(1), 2, []byte("second")}, {id(2), 1, []byte("key")}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		n, err := r.CountVaultKeys()
		if n != 3 {
			t.Errorf("counted %d keys", n)
		}
		return err
	}))
}

func TestADeletedVaultLeavesNoRotation(t *testing.T) {
	s := openStore(t)
	must(t, s.Update(ctx, func(tx Tx) error {
		return errors.Join(addSample(tx, 1, 1), tx.PutVaultKey(VaultKey{id(1), 2, []byte("second")}),
			tx.PutRotation(Rotation{Kind: RotateVault, Vault: id(1)}), tx.PutRotation(Rotation{Kind: RotateAll}))
	}))
	must(t, s.Update(ctx, func(tx Tx) error {
		v, err := tx.Vault(id(1))
		if err != nil {
			return err
		}
		return tx.DeleteVault(v)
	}))
	must(t, s.View(ctx, func(r Reader) error {
		left, err := r.Rotations()
		if len(left) != 1 || left[0].Kind != RotateAll {
			t.Errorf("left are %+v", left)
		}
		n, errCount := r.CountVaultKeys()
		if n != 0 {
			t.Errorf("%d data keys are left", n)
		}
		return errors.Join(err, errCount)
	}))
}
