package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"

	"coffer/store/kv"
	"coffer/store/kv/kvtest"
)

// golden is what stands in a golden file of stored bytes.
func golden(t *testing.T, schema int) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", fmt.Sprintf("schema%d.json", schema)))
	must(t, err)
	var all map[string]string
	must(t, json.Unmarshal(text, &all))
	return all
}

// ofSchema is data with everything that stands in the golden file of a schema.
func ofSchema(t *testing.T, schema int) kv.DB {
	t.Helper()
	db := openDB(t)
	must(t, db.Update(ctx, func(tx kv.Tx) error {
		for k, v := range golden(t, schema) {
			k, errKey := hex.DecodeString(k)
			v, errValue := hex.DecodeString(v)
			if err := errors.Join(errKey, errValue, tx.Put(k, v)); err != nil {
				return err
			}
		}
		return nil
	}))
	return db
}

// contents is every key of data with its value.
func contents(t *testing.T, db kv.DB) map[string]string {
	t.Helper()
	all := make(map[string]string)
	must(t, db.View(ctx, func(r kv.Reader) error {
		return r.Scan(kv.Range{}, func(k, v []byte) error {
			all[string(k)] = string(v)
			return nil
		})
	}))
	return all
}

// frozen are the SHA-256 of golden files of schemas that are out there.
var frozen = []string{
	1: "72628623e3fde20e7c4fe35bfe85c01c824afcd1a6a567bcb9ddade40c44c25d",
}

func TestGoldenFilesOfEarlierSchemasAreFrozen(t *testing.T) {
	for schema := 1; schema < Schema; schema++ {
		text, err := os.ReadFile(filepath.Join("testdata", fmt.Sprintf("schema%d.json", schema)))
		must(t, err)
		if sum := fmt.Sprintf("%x", sha256.Sum256(text)); sum != frozen[schema] {
			t.Errorf("schema%d.json was changed: what is out there is not changed by it (%s)", schema, sum)
		}
	}
}

func TestThereIsOneUpgradeToEachSchema(t *testing.T) {
	if len(upgrades) != Schema-1 {
		t.Errorf("%d upgrades lead to schema %d", len(upgrades), Schema)
	}
}

// TestOlderDataIsLookedAtAndUpgraded takes what the first release wrote.
func TestOlderDataIsLookedAtAndUpgraded(t *testing.T) {
	for schema := 1; schema < Schema; schema++ {
		db := ofSchema(t, schema)
		if _, err := Open(ctx, db); !errors.Is(err, ErrOlder) || !strings.Contains(err.Error(), fmt.Sprintf("schema %d,", schema)) {
			t.Errorf("open: %v", err)
		}
		before := contents(t, db)
		s, err := OpenToLook(ctx, db)
		must(t, err)
		if err := s.Update(ctx, func(tx Tx) error { return tx.Probe() }); !errors.Is(err, ErrLooking) {
			t.Errorf("change: %v", err)
		}
		for _, want := range []int{schema, Schema} { // the second time there is nothing to do
			if from, err := Upgrade(ctx, db); from != want || err != nil {
				t.Errorf("from schema %d, %v", from, err)
			}
		}
		s, err = Open(ctx, db)
		must(t, err)
		must(t, s.NoteVersion(ctx, "1.2.3"))
		h, err := ReadHeader(ctx, db)
		if err != nil || h != (Header{Schema, "1.2.3"}) {
			t.Errorf("%+v, %v", h, err)
		}
		after := contents(t, db)
		for k, v := range before {
			if k[0] != tagInstance && after[k] != v {
				t.Errorf("%x was %x and is %x", k, v, after[k])
			}
		}
		if len(after) != len(before) {
			t.Errorf("%d records became %d", len(before), len(after))
		}
	}
}

// TestAnUpgradeIsWholeOrNothing breaks every step of it in turn.
func TestAnUpgradeIsWholeOrNothing(t *testing.T) {
	db := openOnce(t)
	must(t, (&Store{db: db}).Update(ctx, func(tx Tx) error { return tx.PutInstance(Instance{ID: id(1), Schema: 1}) }))
	kvtest.EveryFault(t, db, func(db kv.DB) error {
		_, err := Upgrade(ctx, db)
		return err
	}, func(err error) {
		h, errRead := ReadHeader(ctx, db)
		must(t, errRead)
		if err != nil && h.Schema != 1 || err == nil && h.Schema != Schema {
			t.Errorf("schema %d after %v", h.Schema, err)
		}
	})
}

func TestNewerDataIsRefused(t *testing.T) {
	db := openDB(t)
	must(t, (&Store{db: db}).Update(ctx, func(tx Tx) error { return tx.PutInstance(Instance{ID: id(1), Schema: 99}) }))
	before := contents(t, db)
	for name, do := range map[string]func(context.Context, kv.DB) error{
		"open":    func(ctx context.Context, db kv.DB) error { _, err := Open(ctx, db); return err },
		"look":    func(ctx context.Context, db kv.DB) error { _, err := OpenToLook(ctx, db); return err },
		"upgrade": func(ctx context.Context, db kv.DB) error { _, err := Upgrade(ctx, db); return err },
	} {
		if err := do(ctx, db); !errors.Is(err, ErrNewer) || !strings.Contains(err.Error(), "it has schema 99, and this version knows") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if after := contents(t, db); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Error("newer data was changed")
	}
	if h, err := ReadHeader(ctx, db); err != nil || h.Schema != 99 {
		t.Errorf("%+v, %v", h, err)
	}
}

func TestDataWithoutASoundSchemaIsDamaged(t *testing.T) {
	db := openDB(t)
	must(t, (&Store{db: db}).Update(ctx, func(tx Tx) error { return tx.PutInstance(Instance{ID: id(1), Schema: -1}) }))
	if _, err := Upgrade(ctx, db); !errors.Is(err, kv.ErrCorrupt) {
		t.Errorf("%v", err)
	}
}

func TestDataThatNobodySetUpNeedsNoUpgrade(t *testing.T) {
	db := openDB(t)
	if from, err := Upgrade(ctx, db); from != 0 || err != nil {
		t.Errorf("from schema %d, %v", from, err)
	}
	s, err := Open(ctx, db)
	must(t, err)
	must(t, s.NoteVersion(ctx, "1"))
	if all := contents(t, db); len(all) != 0 {
		t.Errorf("there is %v", all)
	}
}

// rewritten reads a record and writes it again, by tag.
var rewritten = map[byte]func([]byte) ([]byte, error){
	tagInstance: rewrites(instances), tagMethod: rewrites(methods), tagJob: rewrites(jobRuns), tagUser: rewrites(users),
	tagAPIKey: rewrites(apiKeys), tagVault: rewrites(vaults), tagEnvironment: rewrites(environments), tagSecret: rewrites(secrets),
	tagRevision: rewrites(revisions), tagOverride: rewrites(overrides), tagOrg: rewrites(orgs), tagSession: rewrites(sessions),
	tagActivityBase: rewrites(bases), tagCheckpoint: rewrites(checkpoints), tagActivityCursor: rewrites(cursors),
	tagLocalUser: rewrites(localUsers), tagLocalOrg: rewrites(localOrgs), tagLocalRepo: rewrites(localRepos),
	tagUsedState: rewrites(usedStates), tagGrant: rewrites(grants), tagDevice: rewrites(devices), tagDelivery: rewrites(deliveries),
	tagEvent: rewrites(events), tagOrgMember: rewrites(orgMembers), tagConnection: rewrites(connections), tagLink: rewrites(links),
	tagLedgerKey: rewrites(ledgerKeys), tagLedger: rewrites(ledger), tagSyncRun: rewrites(syncRuns), tagSyncLease: rewrites(syncLeases),
	tagBilling: rewrites(billings), tagBillingEvent: rewrites(billingEvents),
}

func rewrites[T any](t table[T]) func([]byte) ([]byte, error) {
	return func(b []byte) ([]byte, error) {
		v, err := t.decode(b)
		if err != nil {
			return nil, err
		}
		out, err := encoding.Marshal(v)
		return append([]byte{recordVersion}, out...), err
	}
}

// TestRecordsOfEverySchemaAreStillRead: a record that an earlier version wrote
// loses nothing when it is read and written again, and comes out as it was where
// its form is fixed.
func TestRecordsOfEverySchemaAreStillRead(t *testing.T) {
	for schema := 1; schema <= Schema; schema++ {
		for k, v := range golden(t, schema) {
			key, errKey := hex.DecodeString(k)
			was, errValue := hex.DecodeString(v)
			must(t, errors.Join(errKey, errValue))
			is, err := readAndWritten(key, was)
			if err != nil {
				t.Errorf("schema %d: record %s: %v", schema, k, err)
			} else if lost := lost(was, is); lost != "" {
				t.Errorf("schema %d: record %s: %s", schema, k, lost)
			}
		}
		must(t, (&Store{db: ofSchema(t, schema)}).View(ctx, func(r Reader) error {
			end, err := r.LogEnd()
			if err == nil && end.Number == 0 {
				t.Errorf("schema %d: the log ends nowhere", schema)
			}
			return err
		}))
	}
}

func readAndWritten(key, was []byte) ([]byte, error) {
	switch key[0] {
	case tagNewest:
		n, err := parseNewest("A", was)
		return n.frame(), err
	case tagVersion:
		v, err := parseVersion(ID(key[1:]), was)
		return v.frame(), err
	case tagActivity:
		row, err := parseRow(was)
		if err == nil {
			_, err = row.Activity()
		}
		return was, err
	}
	if rewrite, ok := rewritten[key[0]]; ok {
		return rewrite(was)
	}
	if len(was) > 60 && key[0] != tagActivityEnd {
		return nil, errors.New("nobody reads it here, and it is no entry of an index")
	}
	return was, nil
}

// lost says which member of a record is another one after reading and writing.
func lost(was, is []byte) string {
	if bytes.Equal(was, is) {
		return ""
	}
	var before, after map[int]any
	if cbor.Unmarshal(was[1:], &before) != nil || cbor.Unmarshal(is[1:], &after) != nil {
		return fmt.Sprintf("%x became %x", was, is)
	}
	for name := range before {
		if fmt.Sprint(before[name]) != fmt.Sprint(after[name]) {
			return fmt.Sprintf("member %d was %v and is %v", name, before[name], after[name])
		}
	}
	return ""
}
