package store

import (
	"bytes"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"coffer/store/kv"
)

func TestErasuresAreListedNewestFirstBesideTheLastCompaction(t *testing.T) {
	db := openDB(t)
	s, err := Open(ctx, db)
	must(t, err)
	first, second := Erasure{ID: id(1), Vault: id(9), Repository: "ann/api", At: 5, By: "ann"}, Erasure{ID: id(2), Vault: id(8), Repository: "ann/web", At: 6}
	must(t, s.View(ctx, func(r Reader) error {
		if _, err := r.Compaction(); !errors.Is(err, ErrNotFound) {
			t.Errorf("before any: %v", err)
		}
		return nil
	}))
	second.Receipt = []byte("{}")
	c := Compaction{Started: 1, Ended: 2, Before: 30, After: 10, Error: "no"}
	must(t, s.Update(ctx, func(tx Tx) error {
		return errors.Join(tx.PutErasure(first), tx.PutErasure(second), tx.PutCompaction(c))
	}))
	must(t, s.View(ctx, func(r Reader) error {
		all, err := r.Erasures()
		if diff := cmp.Diff([]Erasure{second, first}, all); diff != "" {
			t.Error(diff)
		}
		one, oneErr := r.Erasure(id(1))
		last, lastErr := r.Compaction()
		if one.Repository != "ann/api" || last != c {
			t.Errorf("%+v, %+v", one, last)
		}
		return errors.Join(err, oneErr, lastErr)
	}))
}

// TestADeletedVaultLeavesNoRow adds one with everything that a vault can have, and
// compares all rows with those that were there before.
func TestADeletedVaultLeavesNoRow(t *testing.T) {
	db := openDB(t)
	s, err := Open(ctx, db)
	must(t, err)
	rows := func() map[string]string {
		all := map[string]string{}
		must(t, db.View(ctx, func(r kv.Reader) error {
			return r.Scan(kv.Range{}, func(k, v []byte) error {
				all[string(k)] = string(v)
				return nil
			})
		}))
		return all
	}
	must(t, s.Update(ctx, func(tx Tx) error { return addSample(tx, 2, 3) }))
	before := rows()
	must(t, s.Update(ctx, writeSamples))
	must(t, s.Update(ctx, func(tx Tx) error { return tx.PutOverride(Override{ID: id(7), Vault: id(1), Role: "read", Read: true}) }))
	full := rows()
	vault := id(1)
	must(t, s.Update(ctx, func(tx Tx) error {
		v, err := tx.Vault(vault)
		if err != nil {
			return err
		}
		return tx.DeleteVault(v)
	}))
	after := rows()
	kinds := map[byte]bool{}
	for k := range full {
		if _, old := before[k]; !old && bytes.Contains([]byte(k), vault[:]) {
			kinds[k[0]] = true
		}
	}
	// A sample of each must have been there, or this proves nothing.
	for _, tag := range []byte{tagVault, tagVaultAccount, tagVaultKey, tagEnvironment, tagNewest, tagSecret, tagTrash, tagTrashDue,
		tagRevision, tagOverride, tagLink, tagLinkConnection, tagLinkAuto, tagLedgerKey, tagLedger, tagSyncRunVault} {
		if !kinds[tag] {
			t.Errorf("the sample vault has no row with the tag %#x", tag)
		}
	}
	for k, v := range after {
		if _, old := before[k]; old {
			continue
		}
		switch k[0] {
		case tagActivity, tagActivityVault, tagActivityLast: // stays, as it says what was done
			continue
		case tagInstance: // its id is the vault's, in the samples
			continue
		}
		if bytes.Contains([]byte(k+v), vault[:]) {
			t.Errorf("a row with the tag %#x is left: %x", k[0], k)
		}
	}
	for k := range full {
		if _, there := after[k]; there && k[0] == tagVersion && before[k] == "" {
			t.Errorf("a version is left: %x", k)
		}
	}
}
