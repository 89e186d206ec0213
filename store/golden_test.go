package store

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestStoredBytesNeverChange holds every byte that is written for sample records
// against what was written of this schema before. Data that is out there has this
// form: a difference means that old data no longer opens, unless the schema rose,
// or the record's version did and the old one is still read. The golden files of
// earlier schemas are never written again.
func TestStoredBytesNeverChange(t *testing.T) {
	db := openDB(t)
	s, err := Open(ctx, db)
	must(t, err)
	must(t, s.Update(ctx, writeSamples))
	got := make(map[string]string)
	for k, v := range contents(t, db) {
		got[hex.EncodeToString([]byte(k))] = hex.EncodeToString([]byte(v))
	}
	if *update {
		text, err := json.MarshalIndent(got, "", " ")
		must(t, err)
		must(t, os.WriteFile(filepath.Join("testdata", fmt.Sprintf("schema%d.json", Schema)), append(text, '\n'), 0o644))
	}
	if diff := cmp.Diff(golden(t, Schema), got); diff != "" {
		t.Error(diff)
	}
}

func writeSamples(tx Tx) error {
	if err := addSample(tx, 1, 2); err != nil {
		return err
	}
	envs, err := tx.Environments(id(1))
	if err != nil {
		return err
	}
	n, err := tx.NewestOf(envs[0], "A1")
	if err != nil {
		return err
	}
	user := LocalUser{Name: "Ann", Password: "$argon2id$", Operator: true, Created: 5}
	org := LocalOrg{Name: "Acme", Created: 5}
	repo := LocalRepo{OwnerKind: OwnerUser, Owner: 1, Name: "Api", Public: true, Created: 5}
	for _, write := range []func() error{
		func() error {
			return tx.PutInstance(Instance{ID: id(1), Schema: Schema, Created: 5, Fingerprint: "f", Version: "1", Recipient: "age1", RootKey: []byte("r"), SystemKey: []byte("s"),
				AuditChain: []byte("c"), AuditNotary: []byte("n"), ForgeKind: "gitea", ForgeURL: "https://git.example",
				OldRootKey: []byte("o"), MasterSince: 6, Epoch: 1})
		},
		func() error {
			return tx.PutMethod(Method{ID: id(2), Kind: "key-file", Created: 5, Fingerprint: "f", Recipient: "age1", Path: "/k", File: []byte("m"),
				Identity: "AGE-PLUGIN-X", Threshold: 2, Total: 3, Label: "rack", Vouched: []byte("v")})
		},
		func() error {
			return tx.PutUser(User{ID: id(3), Forge: "local", Account: "1", Login: "Ann", Email: "a@example", AvatarURL: "u", Created: 5, Disabled: 6})
		},
		func() error {
			return tx.PutErasure(Erasure{ID: id(4), Vault: id(9), Repository: "ann/old", At: 5, By: "ann", Receipt: []byte("{}")})
		},
		func() error {
			return tx.PutCompaction(Compaction{Started: 5, Ended: 6, Before: 7, After: 8, Error: "e"})
		},
		func() error { return tx.TakeDelivery(Delivery{ID: []byte("d"), At: 5}) },
		func() error {
			return tx.AddEvent(Event{At: 5, Topic: "roles", Name: "member", Repo: "1", Org: "2", User: "3", Login: "Acme", Tries: 1, Next: 6})
		},
		func() error {
			return tx.PutOrg(Org{ID: id(9), Forge: "local", Account: "2", Login: "Acme", DisplayName: "Acme, Inc.",
				Defaults: map[string]map[string]map[string]bool{"write": {"protected": {"read": true}}},
				Created:  5, Updated: 6, AvatarURL: "u", People: 3, RosterAt: 7, Named: true})
		},
		func() error { return tx.PutOrgMember(OrgMember{Org: id(9), User: id(3), Role: "owner", Joined: 5}) },
		func() error {
			return tx.PutGrant(Grant{User: id(3), Access: []byte("a"), Refresh: []byte("r"), Expires: 6, Renewed: 5, Generation: 2})
		},
		func() error {
			return tx.PutAPIKey(APIKey{ID: id(4), User: id(3), Hash: [32]byte{1}, Prefix: "coffer_live_aaaa", Name: "ci", Environment: "live",
				Scopes: 3, Sources: []string{"10.0.0.0/8"}, Created: 5, Expires: 6, Revoked: 7, Reason: "manual", LastUsed: 8, Uses: 9, Form: "f"})
		},
		func() error {
			s := Session{ID: id(6), User: id(3), Created: 5, Expires: 6, LastUsed: 7, IP: "127.0.0.1", UserAgent: "coffer/1"}
			browser := s
			browser.ID, browser.Hash = id(7), make([]byte, 32)
			return errors.Join(tx.PutSession(s), tx.PutSession(browser))
		},
		func() error { return tx.UseState(UsedState{Nonce: []byte("nonce"), Expires: 6}) },
		func() error { return tx.TrashSecret(&envs[0], n, 10, 20) },
		func() error { return tx.AddRevision(&envs[0], Revision{At: 5, By: id(3), Keys: []string{"A1"}}) },
		func() error { return tx.PutEnvironment(envs[0]) },
		func() error {
			base := Checkpoint{Number: 7, Link: Link{7}, At: 5, Base: 7, Signature: []byte("signature")}
			return errors.Join(tx.BeginActivity(testChain{}, base), tx.putEnd(testChain{}, LogEnd{Number: 7, Link: Link{7}}))
		},
		func() error {
			_, err := tx.AddActivity(testChain{}, Activity{ID: id(5), Action: "secrets_pulled", At: 5, Actor: id(3), ActorName: "Ann", Vault: id(1),
				Repository: "Ann/Repo1", Platform: "cli", Metadata: map[string]any{"secretCount": 2, "secretKeys": []string{"A0", "A1"}, "at": nil},
				IP: "127.0.0.1", UserAgent: "coffer/1"})
			return err
		},
		func() error {
			return tx.PutJobRun(JobRun{Name: "trash", Started: 5, Ended: 6, Removed: 7, Error: "full"})
		},
		func() error {
			return tx.AddBackupRun(BackupRun{ID: id(10), Started: 5, Ended: 6, Where: "/b", Name: "n", Size: 7, AuditNumber: 8, AuditLink: "l", Error: "full", Left: "locked"})
		},
		func() error {
			return tx.PutDrill(Drill{At: 5, Where: "/b", Name: "n", Reason: "damaged", Said: "s", Good: "m", GoodAt: 4})
		},
		func() error {
			return tx.AddCheckpoint(Checkpoint{Number: 8, Link: Link{8}, At: 6, Base: 7, Signature: []byte("signature")})
		},
		func() error { return tx.kv.Put(key(tagActivityLast, key(tagActivityVault, id(9))), place(nil, 12)) },
		func() error { return tx.PutCursor("file:/log", Cursor{Number: 8, Link: Link{8}}) },
		func() error { return tx.AddLocalUser(&user) },
		func() error { return tx.AddLocalOrg(&org) },
		func() error { return tx.AddLocalRepo(&repo) },
		func() error { return tx.SetLocalMember(org.ID, user.ID, "owner") },
		func() error { return tx.SetLocalRole(repo.ID, user.ID, "write") },
		func() error {
			return tx.AddDevice(Device{Code: [32]byte{2}, UserCode: [32]byte{3}, Repository: "Ann/Repo1", OwnerID: 1, RepoID: 1 << 63,
				IP: "127.0.0.1", UserAgent: "coffer/1", Requested: 5, Expires: 6, State: DeviceApproved, DecidedBy: id(3), DecidedIn: id(6), Decided: 5,
				Confirm: [32]byte{4}, ConfirmIn: id(6), Session: id(7), Login: "Ann", Consumed: 6})
		},
		func() error {
			return tx.PutConnection(Connection{ID: id(10), User: id(3), Provider: "vercel", Account: "u1", AccountName: "ann", Team: "t1", TeamName: "Acme",
				Kind: "pasted", Access: []byte("a"), Refresh: []byte("r"), Expires: 6, Broken: true, Created: 5, Updated: 6, Generation: 2})
		},
		func() error {
			return tx.PutSyncLink(SyncLink{ID: id(11), Vault: id(1), Environment: envs[0].ID, User: id(3), Connection: id(10), Provider: "vercel",
				Project: "p1", ProjectName: "api", Service: "s1", ServiceName: "web", Target: "production", Auto: true, References: true, Created: 5,
				Synced: 6, Revision: 2, Status: "partial", Problem: "A sentence.", Ended: 6, Failures: 1, Next: 7, Drift: 3, Checked: 8})
		},
		func() error { return tx.PutLedgerKey(id(1), LedgerKey{Generation: 1, Sealed: []byte("k")}) },
		func() error {
			return tx.PutLedgerEntry(envs[0], Place{1}, "A1", LedgerEntry{Fingerprint: []byte("f"), Mark: "m", Revision: 2, At: 5})
		},
		func() error {
			return tx.PutSyncRun(SyncRun{ID: id(12), Vault: id(1), Environment: envs[0].ID, User: id(3), Connection: id(10), SyncLink: id(11), Place: Place{1},
				Provider: "vercel", Project: "p1", ProjectName: "api", Service: "s1", Target: "production", Pull: true, References: true, Deletes: []string{"A9"},
				Status: "partial", Created: 1, Updated: 2, Deleted: 3, Skipped: 4, Failed: []SyncFailure{{Key: "A1", Operation: "update", Code: "too_large", RequestID: "r"}},
				Total: 7, Began: 5, Ended: 6, Canceled: true, Test: true})
		},
		func() error {
			return tx.PutOverride(Override{ID: id(13), Vault: id(1), Environment: envs[0].ID, User: id(3), Role: "write", Read: true, Write: true, CreatedBy: id(3), Created: 5, Updated: 6})
		},
		func() error { return tx.PutSyncLease(Place{1}, SyncLease{Run: id(12), Until: 9}) },
		func() error {
			return tx.PutBilling(Billing{Account: AccountOfOrg("2"), Given: "pro", TrialStarted: 5, TrialEnds: 6, TrialConverted: 7, TrialExpired: 8,
				Customer: "cus_1", Gone: "cus_0", Subscription: "sub_1", Status: "past_due", Plan: "team", Price: "price_1", PeriodEnd: 9, Canceling: true})
		},
		func() error {
			return tx.PutRotation(Rotation{Kind: RotateVault, Vault: id(1), Started: 5, By: id(3), ByName: "Ann", Total: 9, Done: 3, At: id(2), Generation: 2,
				Until: id(4), Values: 1, Versions: 2, Unreadable: 1})
		},
		func() error { return tx.PutBillingEvent(BillingEvent{ID: []byte("e"), At: 5}) },
	} {
		if err := write(); err != nil {
			return err
		}
	}
	return nil
}

// FuzzRecords: whatever lies in the file, reading it is an error at worst.
func FuzzRecords(f *testing.F) {
	n := Newest{Key: "A", Sealed: []byte("x")}
	v := Version{Sealed: []byte("x")}
	f.Add(n.frame())
	f.Add(v.frame())
	f.Add([]byte{recordVersion, 0xa0})
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		if n, err := parseNewest("A", b); err == nil {
			if diff := cmp.Diff(b, n.frame()); diff != "" {
				t.Error(diff)
			}
		}
		if v, err := parseVersion(ID{}, b); err == nil {
			if diff := cmp.Diff(b, v.frame()); diff != "" {
				t.Error(diff)
			}
		}
		_, _ = vaults.decode(b)
		_, _ = environments.decode(b)
		_, _ = secrets.decode(b)
		_, _ = activities.decode(b)
		if row, err := parseRow(b); err == nil {
			_, _ = row.Activity()
		}
		_, _ = checkpoints.decode(b)
		_, _ = apiKeys.decode(b)
		_, _ = devices.decode(b)
		_, _ = instances.decode(b)
		_, _ = methods.decode(b)
		_, _ = billings.decode(b)
	})
}
