package server_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coffer/crypto"
	"coffer/server"
	"coffer/server/api"
	"coffer/server/client"
	"coffer/server/servertest"
	"coffer/store"
	"coffer/store/kv"
	"coffer/store/kv/bolt"
)

// Tags of the rows that hold what must not be found later.
const (
	tagVaultKey = 0x24
	tagNewest   = 0x26
	tagVersion  = 0x2a

	versionHeader = 1 + 16 + 16 + 4 + 4 + 8 + 8 + 16 + 16
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// trace is a text that must be nowhere once its vault is erased.
type trace struct {
	what string
	text []byte
}

// traces reads what there is of a vault in the data of an instance that is stopped:
// ciphertexts, wrapped keys, and the places of secrets, which hold their names.
// It proves with the recovery key that they are what they seem.
func traces(t *testing.T, data, recovery, repo string) (all []trace) {
	t.Helper()
	db, err := bolt.Open(filepath.Join(data, server.DataFile), bolt.Options{})
	must(t, err)
	defer db.Close()
	st, err := store.Open(t.Context(), db)
	must(t, err)
	must(t, st.View(t.Context(), func(r store.Reader) error {
		id, err := r.VaultIDByName(repo)
		if err != nil {
			return err
		}
		root := oldRoot(t, r, recovery)
		file, err := r.VaultKey(id, 1)
		if err != nil {
			return err
		}
		key, err := root.OpenDataKey(crypto.ID(id), file)
		if err != nil {
			return err
		}
		all = append(all, trace{"the data key's file", bytes.Clone(file)}, trace{"its stanza", []byte("coffer-root " + hex.EncodeToString(id[:]))})
		return db.View(t.Context(), func(raw kv.Reader) error {
			return raw.Scan(kv.Range{}, func(k, v []byte) error {
				switch {
				case k[0] == tagVersion && bytes.HasPrefix(v[1:], id[:]):
					sealed := v[versionHeader:]
					number := uint32(v[33])<<24 | uint32(v[34])<<16 | uint32(v[35])<<8 | uint32(v[36])
					if _, err := key.Open(nil, sealed, crypto.VersionContext(crypto.ID(id), crypto.ID(v[17:33]), number)); err != nil {
						return fmt.Errorf("a kept ciphertext does not open with the kept keys: %w", err)
					}
					all = append(all, trace{"the ciphertext of a version", bytes.Clone(sealed)})
				case k[0] == tagNewest && bytes.HasPrefix(k[1:], id[:]):
					all = append(all, trace{"the place and the name of a secret", bytes.Clone(k[1:])}, trace{"the ciphertext of a newest value", bytes.Clone(v[len(v)-40:])})
				}
				return nil
			})
		})
	}))
	return all
}

// oldRoot is the root key as it is now, opened with the recovery key.
func oldRoot(t *testing.T, r store.Reader, recovery string) *crypto.Root {
	t.Helper()
	i, err := r.Instance()
	must(t, err)
	methods, err := r.Methods()
	must(t, err)
	identity, err := crypto.ParseIdentity([]byte(recovery))
	must(t, err)
	for _, m := range methods {
		if master, err := crypto.UnwrapIdentity(m.File, identity); err == nil {
			root, err := master.OpenRoot(i.RootKey)
			must(t, err)
			return root
		}
	}
	t.Fatal("the recovery key opens no method")
	return nil
}

// found counts the traces in the files of a directory.
func found(t *testing.T, dir string, all []trace) map[string]int {
	t.Helper()
	counts := map[string]int{}
	must(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		for _, x := range all {
			if bytes.Contains(text, x.text) {
				counts[x.what]++
			}
		}
		return err
	}))
	return counts
}

// estate is a stopped instance with two vaults; old is full of what a vault can
// have.
func estate(t *testing.T) (in *servertest.Instance, ann *client.Client, all []trace) {
	t.Helper()
	in = servertest.New(t, servertest.Plain)
	ann = in.User("ann")
	for _, repo := range []string{"ann/kept", "ann/old"} {
		in.Vault(ann, repo)
		for round := range 3 {
			values := map[string]string{}
			for n := range 40 {
				values[fmt.Sprintf("NAME_%02d", n)] = fmt.Sprintf("a value of %s, %d, %d", repo, round, n)
			}
			in.Push(ann, repo, "production", values)
		}
		secrets, err := ann.Secrets(t.Context(), repo, "production", api.Page{})
		must(t, err)
		for _, s := range secrets.Items[:10] {
			must(t, ann.DeleteSecret(t.Context(), repo, s.ID))
		}
	}
	in.Stop()
	all = traces(t, in.Data, in.Recovery, "ann/old")
	if len(all) < 2+3*40+2*30 {
		t.Fatalf("only %d traces", len(all))
	}
	in.Restart()
	ann.URL = in.URL
	return in, ann, all
}

func wantNothing(t *testing.T, in *servertest.Instance, all []trace) {
	t.Helper()
	if left := found(t, in.Data, all); len(left) > 0 {
		t.Errorf("left of the erased vault: %v", left)
	}
}

func wantTraces(t *testing.T, in *servertest.Instance, all []trace) {
	t.Helper()
	kinds := map[string]bool{}
	for _, x := range all {
		kinds[x.what] = true
	}
	if there := found(t, in.Data, all); len(there) != len(kinds) {
		t.Errorf("found only %v", there)
	}
}

func TestNothingOfAnErasedVaultIsLeftInAnyFile(t *testing.T) {
	in, ann, all := estate(t)
	wantTraces(t, in, all)
	e, err := in.Operator.Erase(t.Context(), "ann/old")
	must(t, err)
	wantNothing(t, in, all)
	if len(in.Pull(ann, "ann/kept", "production")) != 30 {
		t.Error("another vault lost something")
	}
	if _, err := ann.Vault(t.Context(), "ann/old"); err == nil {
		t.Error("the vault is still there")
	}
	in.Stop()
	wantNothing(t, in, all)
	must(t, second(server.Check(server.Config{Data: in.Data})))
	in.Restart()
	wantNothing(t, in, all)

	st, err := in.Operator.Status(t.Context())
	must(t, err)
	r, err := server.VerifyReceipt([]byte(*e.Receipt), st.AuditKey)
	must(t, err)
	if r.RepoFullName != "ann/old" || r.VaultID != e.VaultID || r.BeforeBytes < r.AfterBytes || r.AfterBytes == 0 || r.AuditRecord == 0 {
		t.Errorf("%+v", r)
	}
	again, err := in.Operator.Erasure(t.Context(), e.ID)
	must(t, err)
	if *again.Receipt != *e.Receipt || again.ErasedBy != nil {
		t.Errorf("%+v", again)
	}
	wantRecord(t, in, r)
}

// wantRecord wants the audit log to hold the record that a receipt names.
func wantRecord(t *testing.T, in *servertest.Instance, r *api.Receipt) {
	t.Helper()
	var log bytes.Buffer
	must(t, in.Operator.ExportAudit(t.Context(), &log))
	for line := range strings.Lines(log.String()) {
		var record struct {
			Number uint64
			Action string
			Link   string
		}
		must(t, json.Unmarshal([]byte(line), &record))
		if record.Number == r.AuditRecord && record.Action == "vault_erased" {
			if !strings.Contains(line, r.AuditLink) {
				t.Errorf("the record has another link: %s", line)
			}
			return
		}
	}
	t.Errorf("there is no record %d of the erasure in the log", r.AuditRecord)
}

func TestCompactingDropsWhatDeletionsLeft(t *testing.T) {
	in, ann, all := estate(t)
	must(t, ann.DeleteVault(t.Context(), "ann/old"))
	wantTraces(t, in, all)
	done, err := in.Operator.Compact(t.Context())
	must(t, err)
	wantNothing(t, in, all)
	if done.Error != nil || done.EndedAt == nil || done.AfterBytes == 0 {
		t.Errorf("%+v", done)
	}
	s, err := in.Operator.Storage(t.Context())
	must(t, err)
	if s.Running != nil || s.Last == nil || *s.Last.EndedAt != *done.EndedAt || s.SizeBytes != done.AfterBytes || s.UsedBytes > s.SizeBytes || s.RoomBytes == nil {
		t.Errorf("%+v", s)
	}
}

func TestOnlyOperatorsEraseAndCompact(t *testing.T) {
	in := servertest.New(t)
	ann := in.User("ann")
	in.Vault(ann, "ann/api")
	ctx := context.Background()
	for name, err := range map[string]error{
		"compact": second(ann.Compact(ctx)), "storage": second(ann.Storage(ctx)), "erase": second(ann.Erase(ctx, "ann/api")),
		"list": second(ann.Erasures(ctx)), "get": second(ann.Erasure(ctx, "x")),
	} {
		if err == nil {
			t.Errorf("%s: anybody may", name)
		}
	}
	if _, err := ann.Vault(ctx, "ann/api"); err != nil {
		t.Error(err)
	}
}

func TestAnAlteredReceiptProvesNothing(t *testing.T) {
	in := servertest.New(t)
	in.Vault(in.User("ann"), "ann/api")
	e, err := in.Operator.Erase(t.Context(), "ANN/api")
	must(t, err)
	text := []byte(*e.Receipt)
	must(t, second(server.VerifyReceipt(text, "")))
	for n := range text {
		other := bytes.Clone(text)
		if other[n] ^= 1; server.IsReceipt(other) != server.IsReceipt(text) {
			continue
		}
		if _, err := server.VerifyReceipt(other, ""); err == nil {
			t.Fatalf("it holds with byte %d altered: %s", n, other)
		}
	}
	for _, other := range [][]byte{text[:len(text)-1], append(bytes.Clone(text), '\n'), nil, []byte("{}")} {
		if _, err := server.VerifyReceipt(other, ""); err == nil {
			t.Errorf("it holds as %q", other)
		}
	}
	key := servertest.New(t)
	st, err := key.Operator.Status(t.Context())
	must(t, err)
	if _, err := server.VerifyReceipt(text, st.AuditKey); err == nil || !strings.Contains(err.Error(), "another instance") {
		t.Errorf("with another instance's key: %v", err)
	}
}
