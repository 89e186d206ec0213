package server_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"coffer/crypto"
	"coffer/server"
	"coffer/server/api"
	"coffer/server/backup"
	"coffer/server/client"
	"coffer/server/servertest"
	"coffer/store"
	"coffer/store/kv"
	"coffer/store/kv/bolt"
	"coffer/store/kv/kvtest"
)

// lived is an instance in which something of everything has happened.
func lived(t *testing.T, options ...func(*server.Config)) *servertest.Instance {
	t.Helper()
	in, ann := audited(t, options...)
	bob := in.User("bob")
	in.Grant(repo, "bob", "admin")
	in.Push(bob, repo, "production", map[string]string{"A": canary + " again", "C": strings.Repeat("long ", 5000)})
	in.Push(ann, repo, "development", map[string]string{"D": "d", "GONE": "g"})
	all, err := ann.Secrets(t.Context(), repo, "development", api.Page{})
	if err == nil {
		for _, s := range all.Items {
			if s.Key == "GONE" {
				err = ann.DeleteSecret(t.Context(), repo, s.ID)
			}
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	in.Vault(bob, "bob/other")
	in.Push(bob, "bob/other", "staging", map[string]string{"X": "x"})
	in.Restart() // so that it is written down when keys were last used
	return in
}

// keyspace is everything in a data file.
func keyspace(t testing.TB, path string) map[string]string {
	t.Helper()
	db, err := bolt.Open(path, bolt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	err = db.View(context.Background(), func(r kv.Reader) error {
		return r.Scan(kv.Range{}, func(k, v []byte) error {
			all[hex.EncodeToString(k)] = hex.EncodeToString(v)
			return nil
		})
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	return all
}

func key(text string) api.OpenBackup {
	k := api.NewSecret(text)
	return api.OpenBackup{Key: &k}
}

func passphrase(text string) api.OpenBackup {
	p := api.NewSecret(text)
	return api.OpenBackup{Passphrase: &p}
}

func plain(data string) server.Config {
	return server.Config{Listen: "127.0.0.1:0", Data: data, Version: "test", Upgrade: true, Limits: server.NoLimits(), Log: server.LogConfig{Level: "error"}}
}

// tagged are the kinds of records that differ, by the first byte of their keys.
func tagged(a, b map[string]string) []string {
	tags := map[string]bool{}
	for _, k := range slices.Concat(slices.Collect(maps.Keys(a)), slices.Collect(maps.Keys(b))) {
		if one, ok := a[k]; !ok || one != b[k] {
			tags[k[:2]] = true
		} else if _, ok := b[k]; !ok {
			tags[k[:2]] = true
		}
	}
	return slices.Sorted(maps.Keys(tags))
}

func TestABlankMachineIsWhatItWasFromOneFileAndOneKey(t *testing.T) {
	in := lived(t)
	file, about := backedUp(t, in.Operator, api.NewBackup{})
	in.Stop()
	before := keyspace(t, filepath.Join(in.Data, server.DataFile))

	// A machine on which the key file of the old one is not.
	lost := in.KeyFile() + ".lost"
	if err := os.Rename(in.KeyFile(), lost); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(t.TempDir(), "data")
	restored, err := server.Restore(t.Context(), plain(data), bytes.NewReader(file), server.RestoreOptions{With: key(in.Recovery)})
	if err != nil {
		t.Fatal(err)
	}
	if restored.KeyFile != filepath.Join(data, "coffer.key") || !restored.NewKeyFile || restored.Removed != 1 || restored.Aside != "" ||
		restored.RecoveryKey != "" || restored.Fingerprint != about.Fingerprint {
		t.Errorf("%+v", restored)
	}

	after := keyspace(t, filepath.Join(data, server.DataFile))
	// What may differ: the way to unseal (02); in the audit log (30) and at its end
	// (31) the record of the backup there, and of the restoring here.
	if diff := tagged(before, after); !slices.Equal(diff, []string{"02", "30", "31"}) {
		t.Errorf("these kinds of records differ: %v", diff)
	}
	number := hex.EncodeToString(binaryNumber(about.AuditNumber + 1))
	for k := range before {
		if strings.HasPrefix(k, "30") && before[k] != after[k] && k != "30"+number {
			t.Errorf("record %s of the audit log differs", k)
		}
	}
	if len(after) != len(before) {
		t.Errorf("%d keys became %d", len(before), len(after))
	}

	s, err := server.New(plain(data))
	if err != nil {
		t.Fatal(err)
	}
	back := servertest.Serving(t, s, data)
	ann := back.SignIn("ann")
	if got := back.Pull(ann, repo, "production"); got["A"] != canary+" again" || got["C"] != strings.Repeat("long ", 5000) {
		t.Errorf("pulled %d values", len(got))
	}
	r, err := back.Operator.VerifyAudit(t.Context(), nil)
	if err != nil || !r.Intact || !r.Complete {
		t.Errorf("%+v, %v", r, err)
	}
	// The key file of the lost machine opens nothing here, and the recovery key does.
	if err := back.Operator.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(lost)
	if err != nil {
		t.Fatal(err)
	}
	old, recovery := api.NewSecret(string(text)), api.NewSecret(in.Recovery)
	if err := back.Operator.Unseal(t.Context(), api.Unseal{Key: &old}); api.CodeOf(err) != api.Forbidden {
		t.Errorf("with the old key file: %v", err)
	}
	if err := back.Operator.Unseal(t.Context(), api.Unseal{Key: &recovery}); err != nil {
		t.Error(err)
	}
}

func binaryNumber(n uint64) []byte {
	b := make([]byte, 8)
	for i := range b {
		b[7-i] = byte(n >> (8 * i))
	}
	return b
}

func TestAPassphraseBackupRestoresWithItAlone(t *testing.T) {
	in := lived(t)
	words := api.NewSecret("four or five words")
	file, about := backedUp(t, in.Operator, api.NewBackup{Passphrase: &words})
	in.Stop()
	data := t.TempDir()
	shown := api.Revealed("")
	restored, err := server.Restore(t.Context(), plain(data), bytes.NewReader(file), server.RestoreOptions{
		With: passphrase("four or five words"), Ready: func(r *api.Restored) error {
			shown = r.RecoveryKey
			if left, _ := os.ReadDir(data); len(left) != 1 {
				t.Errorf("the data is there before the recovery key was shown: %v", left)
			}
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if shown == "" || shown != restored.RecoveryKey || restored.Fingerprint == about.Fingerprint || !restored.NewKeyFile {
		t.Errorf("%+v", restored)
	}
	before, after := keyspace(t, filepath.Join(in.Data, server.DataFile)), keyspace(t, filepath.Join(data, server.DataFile))
	// The instance's record too (01): it has a new master key.
	if diff := tagged(before, after); !slices.Equal(diff, []string{"01", "02", "30", "31"}) {
		t.Errorf("these kinds of records differ: %v", diff)
	}
	s, err := server.New(plain(data))
	if err != nil {
		t.Fatal(err)
	}
	back := servertest.Serving(t, s, data)
	if got := back.Pull(back.SignIn("ann"), repo, "production"); got["A"] != canary+" again" {
		t.Errorf("pulled %d values", len(got))
	}
	// Backups go on with the new keys, and restore with the new recovery key.
	file, _ = backedUp(t, back.Operator, api.NewBackup{})
	if p, err := server.VerifyBackup(t.Context(), plain(""), bytes.NewReader(file), key(string(shown)), t.TempDir(), nil); err != nil || !p.Good {
		t.Errorf("%+v, %v", p, err)
	}
	if _, err := server.VerifyBackup(t.Context(), plain(""), bytes.NewReader(file), key(in.Recovery), t.TempDir(), nil); api.CodeOf(err) != api.Forbidden {
		t.Errorf("with the old recovery key: %v", err)
	}
}

func TestWhatUnsealsHereStays(t *testing.T) {
	in := lived(t)
	file, _ := backedUp(t, in.Operator, api.NewBackup{})
	in.Stop()
	text, err := os.ReadFile(in.KeyFile())
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := filepath.Join(t.TempDir(), "moved.key")
	if err := os.WriteFile(elsewhere, text, 0o600); err != nil {
		t.Fatal(err)
	}
	restore := func(o server.RestoreOptions, change func(*server.Config)) (*api.Restored, string) {
		t.Helper()
		c := plain(t.TempDir())
		if change != nil {
			change(&c)
		}
		r, err := server.Restore(t.Context(), c, bytes.NewReader(file), o)
		if err != nil {
			t.Fatal(err)
		}
		s, err := server.New(c)
		if err != nil {
			t.Fatal(err)
		}
		state := servertest.Serving(t, s, c.Data)
		st, err := state.Operator.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if st.Sealed {
			return r, "sealed"
		}
		return r, "open"
	}
	if r, state := restore(server.RestoreOptions{With: key(in.Recovery)}, nil); r.NewKeyFile || r.KeyFile != in.KeyFile() || state != "open" {
		t.Errorf("the recorded key file: %+v, %s", r, state)
	}
	if err := os.Remove(in.KeyFile()); err != nil {
		t.Fatal(err)
	}
	if r, state := restore(server.RestoreOptions{With: key(string(text)), KeyFile: elsewhere}, nil); r.NewKeyFile || r.KeyFile != elsewhere || state != "open" {
		t.Errorf("the key file that was given: %+v, %s", r, state)
	}
	configured := func(c *server.Config) { c.Unseal.KeyFile = elsewhere }
	if r, state := restore(server.RestoreOptions{With: key(in.Recovery)}, configured); r.NewKeyFile || r.KeyFile != elsewhere || state != "open" {
		t.Errorf("the key file that is configured: %+v, %s", r, state)
	}
	if r, state := restore(server.RestoreOptions{With: key(in.Recovery), NoKeyFile: true}, nil); r.NewKeyFile || r.UnsealedBy != "" || r.Removed != 0 || state != "sealed" {
		t.Errorf("none: %+v, %s", r, state)
	}
}

// TestAKeyFileBesideTheDataIsNotLost restores where a key file is and no data: one
// that opens them stays in use, and another one is moved aside.
func TestAKeyFileBesideTheDataIsNotLost(t *testing.T) {
	in := lived(t)
	file, _ := backedUp(t, in.Operator, api.NewBackup{})
	in.Stop()
	own, err := os.ReadFile(in.KeyFile())
	must(t, err)
	must(t, os.Remove(in.KeyFile()))
	other, err := os.ReadFile(servertest.New(t).KeyFile())
	must(t, err)
	for name, text := range map[string][]byte{"its own": own, "another": other} {
		data := t.TempDir()
		path := filepath.Join(data, "coffer.key")
		must(t, os.WriteFile(path, text, 0o600))
		r, err := server.Restore(t.Context(), plain(data), bytes.NewReader(file), server.RestoreOptions{With: key(in.Recovery)})
		must(t, err)
		if r.NewKeyFile != (name == "another") || r.KeyFile != path {
			t.Errorf("%s: %+v", name, r)
		}
		if r.NewKeyFile {
			path = filepath.Join(r.Aside, "coffer.key")
		}
		if left, err := os.ReadFile(path); !bytes.Equal(left, text) {
			t.Errorf("%s is gone: %v", name, err)
		}
	}
}

// TestAPassphraseThatCannotBeReadBecomesNoKeyFile: where a passphrase is configured, a
// key file beside the data would make the server weaker than somebody wanted it.
func TestAPassphraseThatCannotBeReadBecomesNoKeyFile(t *testing.T) {
	in := lived(t)
	words := api.NewSecret("four or five words")
	byWords, _ := backedUp(t, in.Operator, api.NewBackup{Passphrase: &words})
	byKeys, _ := backedUp(t, in.Operator, api.NewBackup{})
	in.Stop()
	must(t, os.Remove(in.KeyFile()))
	for name, file := range map[string][]byte{"with a passphrase": byWords, "with the recovery key": byKeys} {
		c := plain(filepath.Join(t.TempDir(), "data"))
		c.Unseal.PassphraseFile = filepath.Join(t.TempDir(), "pass")
		o := server.RestoreOptions{With: key(in.Recovery)}
		if name == "with a passphrase" {
			o.With = passphrase("four or five words")
		}
		for _, what := range []string{"missing", "empty"} {
			if what == "empty" {
				must(t, os.WriteFile(c.Unseal.PassphraseFile, []byte("\n"), 0o600))
			}
			_, err := server.Restore(t.Context(), c, bytes.NewReader(file), o)
			if api.CodeOf(err) != api.Invalid || !strings.Contains(err.Error(), c.Unseal.PassphraseFile) {
				t.Errorf("%s, %s: %v", name, what, err)
			}
			if _, err := os.Stat(c.Data); err == nil {
				t.Errorf("%s, %s: something was restored", name, what)
			}
		}
	}
}

// TestARestoreSaysWhatItFound of one that was cut short, also when it then refuses.
func TestARestoreSaysWhatItFound(t *testing.T) {
	for name, says := range map[string]string{"restore.tmp": "is undone", "restore.ready": "is finished now"} {
		data, said := t.TempDir(), ""
		must(t, os.Mkdir(filepath.Join(data, name), 0o700))
		must(t, os.WriteFile(filepath.Join(data, name, server.DataFile), []byte("of before"), 0o600))
		o := server.RestoreOptions{With: key("none"), Found: func(text string) { said += text }}
		if _, err := server.Restore(t.Context(), plain(data), strings.NewReader(""), o); err == nil {
			t.Errorf("%s: nothing was restored", name)
		}
		if !strings.Contains(said, says) {
			t.Errorf("%s: it says %q", name, said)
		}
	}
}

func TestARestoreOverSomethingIsRefused(t *testing.T) {
	in := lived(t)
	file, _ := backedUp(t, in.Operator, api.NewBackup{})
	again := server.RestoreOptions{With: key(in.Recovery)}
	if _, err := server.Restore(t.Context(), plain(in.Data), bytes.NewReader(file), again); api.CodeOf(err) != api.Conflict || !strings.Contains(err.Error(), "running") {
		t.Errorf("beside a running server: %v", err)
	}
	in.Stop()
	path := filepath.Join(in.Data, server.DataFile)
	before := keyspace(t, path)
	if _, err := server.Restore(t.Context(), plain(in.Data), bytes.NewReader(file), again); api.CodeOf(err) != api.Conflict || !strings.Contains(err.Error(), "--force") {
		t.Errorf("without --force: %v", err)
	}
	if diff := tagged(before, keyspace(t, path)); len(diff) > 0 {
		t.Errorf("what was there changed: %v", diff)
	}
	again.Force = true
	r, err := server.Restore(t.Context(), plain(in.Data), bytes.NewReader(file), again)
	if err != nil {
		t.Fatal(err)
	}
	if diff := tagged(before, keyspace(t, filepath.Join(r.Aside, server.DataFile))); len(diff) > 0 {
		t.Errorf("what lies aside is not what was there: %v", diff)
	}
	if r.NewKeyFile {
		t.Error("its own key file was there, and it got another")
	}
}

// TestBadBackupsLeaveTheDirectoryUntouched gives what does not restore.
func TestBadBackupsLeaveTheDirectoryUntouched(t *testing.T) {
	in := lived(t)
	file, _ := backedUp(t, in.Operator, api.NewBackup{})
	words := api.NewSecret("four or five words")
	locked, _ := backedUp(t, in.Operator, api.NewBackup{Passphrase: &words})
	other := servertest.New(t)
	flipped := func(at int) []byte {
		b := bytes.Clone(file)
		b[at] ^= 1
		return b
	}
	foreign := func(text string) []byte {
		id, err := crypto.ParseIdentity([]byte(in.Recovery))
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		w, err := crypto.Encrypt(&b, id.Recipient())
		if err == nil {
			_, err = io.WriteString(w, text)
		}
		if err := errors.Join(err, w.Close()); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	for name, c := range map[string]struct {
		file []byte
		with api.OpenBackup
		says string
	}{
		"nothing":                 {nil, key(in.Recovery), "damaged"},
		"text":                    {[]byte(strings.Repeat("no backup\n", 1000)), key(in.Recovery), "damaged"},
		"another age file":        {foreign("hello"), key(in.Recovery), "damaged"},
		"cut in the header":       {file[:100], key(in.Recovery), "damaged"},
		"cut in the middle":       {file[:len(file)/2], key(in.Recovery), "cut off"},
		"cut at the end":          {file[:len(file)-1], key(in.Recovery), "cut off"},
		"longer":                  {append(bytes.Clone(file), 0), key(in.Recovery), "damaged"},
		"altered in the header":   {flipped(60), key(in.Recovery), ""},
		"altered in the middle":   {flipped(len(file) / 2), key(in.Recovery), "altered"},
		"altered at the end":      {flipped(len(file) - 1), key(in.Recovery), "altered"},
		"another instance's key":  {file, key(other.Recovery), "opens with"},
		"no key":                  {file, key("hello"), "not a usable key"},
		"nothing to open it with": {file, api.OpenBackup{}, "recovery key"},
		"a passphrase for a key":  {file, passphrase("four or five words"), "recovery key"},
		"a key for a passphrase":  {locked, key(in.Recovery), "passphrase"},
		"another passphrase":      {locked, passphrase("others than those"), "Wrong passphrase"},
	} {
		t.Run(name, func(t *testing.T) {
			data := filepath.Join(t.TempDir(), "data")
			for _, there := range []bool{false, true} {
				if there {
					if err := errors.Join(os.Mkdir(data, 0o700), os.WriteFile(filepath.Join(data, "coffer.key"), []byte("k"), 0o600)); err != nil {
						t.Fatal(err)
					}
				}
				_, err := server.Restore(t.Context(), plain(data), bytes.NewReader(c.file), server.RestoreOptions{With: c.with})
				if e, ok := errors.AsType[*api.Error](err); !ok || !strings.Contains(e.Message, c.says) {
					t.Errorf("got %v", err)
				}
				left, err := os.ReadDir(data)
				if there && len(left) != 1 || !there && !errors.Is(err, os.ErrNotExist) {
					t.Errorf("left are %v, %v", left, err)
				}
			}
		})
	}
}

func TestWhatABackupSaysWithoutAKey(t *testing.T) {
	in := lived(t)
	file, about := backedUp(t, in.Operator, api.NewBackup{})
	p, err := server.LookAtBackup(bytes.NewReader(file))
	if err != nil || p.Opened || p.Passphrase || len(p.Keys) != len(about.OpensWith) {
		t.Errorf("%+v, %v", p, err)
	}
	if _, err := server.LookAtBackup(strings.NewReader("hello")); api.CodeOf(err) != api.Invalid {
		t.Errorf("of something else: %v", err)
	}
}

func TestVerifyingOpensEverything(t *testing.T) {
	in := lived(t)
	file, about := backedUp(t, in.Operator, api.NewBackup{})
	temp := t.TempDir()
	calls := 0
	p, err := server.VerifyBackup(t.Context(), plain(""), bytes.NewReader(file), key(in.Recovery), temp, func(done, total int64) {
		if calls++; total != about.DataSize || done > total {
			t.Errorf("%d of %d", done, total)
		}
	})
	if err != nil || !p.Good || !p.Opened || p.Vaults != 2 || p.Values < 10 || p.Log == nil || p.Size != int64(len(file)) || calls == 0 {
		t.Fatalf("%+v, %v", p, err)
	}
	if diff := cmp.Diff(about, p.Backup); diff != "" {
		t.Error(diff)
	}
	if left, _ := os.ReadDir(temp); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestStockProgramsOpenABackup follows what package backup says.
func TestStockProgramsOpenABackup(t *testing.T) {
	age := os.Getenv("COFFER_AGE")
	if age == "" {
		var err error
		if age, err = exec.LookPath("age"); err != nil {
			t.Skip("no age program")
		}
	}
	in := lived(t)
	file, _ := backedUp(t, in.Operator, api.NewBackup{})
	dir := t.TempDir()
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "recovery.txt"), []byte(in.Recovery+"\n"), 0o600),
		os.WriteFile(filepath.Join(dir, "b.tar.age"), file, 0o600)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-ec", `"$AGE" --decrypt --identity recovery.txt b.tar.age | tar --extract --verbose; sha256sum --check coffer.sum`)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "AGE="+age)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "coffer.json\ncoffer.db\ncoffer.sum\n") || !strings.Contains(string(out), "coffer.db: OK") {
		t.Fatalf("%v\n%s", err, out)
	}
	if all := keyspace(t, filepath.Join(dir, "coffer.db")); len(all) == 0 {
		t.Error("the data in it is empty")
	}
}

// TestABackupOfEveryEarlierSchemaRestores makes a backup of the data that earlier
// versions left, in the form that backups have, and restores it.
func TestABackupOfEveryEarlierSchemaRestores(t *testing.T) {
	for _, schema := range schemas {
		o := openOld(t, schema)
		recovery, err := os.ReadFile(filepath.Join("testdata", fmt.Sprintf("schema%d", schema), "recovery.key"))
		o.must(err)
		file := oldBackup(o, schema, recovery)
		o.must(errors.Join(os.Remove(o.key), os.Remove(filepath.Join(o.dir, server.DataFile))))
		c := o.config(io.Discard)
		c.Unseal = server.UnsealConfig{}
		restored, err := server.Restore(t.Context(), c, bytes.NewReader(file), server.RestoreOptions{With: key(string(recovery))})
		o.must(err)
		if !restored.NewKeyFile || restored.KeyFile != o.key || o.files() != "coffer.db coffer.key" {
			t.Errorf("%+v; there are %s", restored, o.files())
		}
		s, err := server.New(c)
		o.must(err)
		o.holdsAll(s.Operator(), "http://in.process")
		got := auditOf(t, &client.Client{URL: "http://operator", Transport: s.Operator()})
		if got.Instance != o.Audit.Instance || got.PublicKey != o.Audit.PublicKey || got.Last < o.Audit.Last {
			t.Errorf("the audit log is %+v and was %+v", got, o.Audit)
		}
		o.must(s.Close())
		if got := o.header(server.DataFile); got.Schema != store.Schema {
			t.Errorf("the data has the header %+v", got)
		}
	}
}

func oldBackup(o *old, schema int, recovery []byte) []byte {
	o.Helper()
	data, err := os.ReadFile(filepath.Join(o.dir, server.DataFile))
	o.must(err)
	db, err := bolt.Open(filepath.Join(o.dir, server.DataFile), bolt.Options{})
	o.must(err)
	c := backup.Content{Header: backup.Header{Format: backup.Format, Schema: schema, DataSize: int64(len(data))}}
	st, err := store.OpenToLook(o.Context(), db)
	o.must(err)
	o.must(st.View(o.Context(), func(r store.Reader) error {
		i, errInstance := r.Instance()
		end, errEnd := r.LogEnd()
		c.Header.Instance, c.Header.Fingerprint = i.ID.String(), i.Fingerprint
		c.Header.AuditNumber, c.Header.AuditLink = end.Number, hex.EncodeToString(end.Link[:])
		return errors.Join(errInstance, errEnd)
	}))
	o.must(st.Close())
	id, err := crypto.ParseIdentity(recovery)
	o.must(err)
	var file bytes.Buffer
	w, err := crypto.Encrypt(&file, id.Recipient())
	o.must(err)
	o.must(errors.Join(backup.Write(w, c, bytes.NewReader(data)), w.Close()))
	return file.Bytes()
}

// TestAFullDisk has too little room for a backup, and for what is restored.
func TestAFullDisk(t *testing.T) {
	disk := kvtest.SmallDisk(t, 8<<20)
	in := servertest.New(t, func(c *server.Config) { c.Data = filepath.Join(disk.Path, "data") })
	ann := in.User("ann")
	in.Vault(ann, repo)
	for i := range 20 {
		in.Push(ann, repo, "production", map[string]string{"BIG": fmt.Sprint(i, strings.Repeat(canary, 2000))})
	}
	file, _ := backedUp(t, in.Operator, api.NewBackup{})

	disk.Fill(t, 200<<10)
	_, err := in.Operator.Backup(t.Context(), api.NewBackup{}, func(api.Backup) (io.Writer, error) { return io.Discard, nil })
	if api.CodeOf(err) != api.Unavailable || !strings.Contains(err.Error(), "storage is full") {
		t.Errorf("a backup: %v", err)
	}
	if got := in.Pull(ann, repo, "production"); len(got) != 1 {
		t.Errorf("then %d values are there", len(got))
	}
	data := filepath.Join(disk.Path, "other")
	o := server.RestoreOptions{With: key(in.Recovery)}
	if _, err := server.Restore(t.Context(), plain(data), bytes.NewReader(file), o); api.CodeOf(err) != api.Unavailable || !strings.Contains(err.Error(), "not enough room") {
		t.Errorf("a restore: %v", err)
	}
	if _, err := os.Stat(data); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("something is left of it: %v", err)
	}
	if _, err := server.VerifyBackup(t.Context(), plain(""), bytes.NewReader(file), key(in.Recovery), disk.Path, nil); api.CodeOf(err) != api.Unavailable {
		t.Errorf("a verification: %v", err)
	}

	disk.Empty(t)
	if _, err := server.Restore(t.Context(), plain(data), bytes.NewReader(file), o); err != nil {
		t.Errorf("when there is room again: %v", err)
	}
	backedUp(t, in.Operator, api.NewBackup{})
	in.Stop()
}

// TestABackupOpensWithSharesOfAKey that was split among several people, with enough
// of them and in any order.
func TestABackupOpensWithSharesOfAKey(t *testing.T) {
	in := lived(t)
	made, err := in.Operator.AddUnsealMethod(t.Context(), api.AddUnsealMethod{Kind: api.MethodShares, Threshold: 2, Total: 3})
	if err != nil {
		t.Fatal(err)
	}
	file, about := backedUp(t, in.Operator, api.NewBackup{})
	in.Stop()
	restore := func(shares ...api.Revealed) error {
		var text strings.Builder
		for _, s := range shares {
			text.WriteString(string(s) + "\n")
		}
		data := filepath.Join(t.TempDir(), "data")
		restored, err := server.Restore(t.Context(), plain(data), bytes.NewReader(file), server.RestoreOptions{With: key(text.String())})
		if err == nil && restored.Fingerprint != about.Fingerprint {
			t.Errorf("%+v", restored)
		}
		return err
	}
	if err := restore(made.Shares[2], made.Shares[0]); err != nil {
		t.Error(err)
	}
	for what, err := range map[string]error{"one": restore(made.Shares[1]), "the same twice": restore(made.Shares[1], made.Shares[1])} {
		if api.CodeOf(err) != api.Invalid || !strings.Contains(err.Error(), "all at once") || strings.Contains(err.Error(), string(made.Shares[1])) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
