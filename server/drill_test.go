package server_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coffer/crypto"
	"coffer/server"
	"coffer/server/backup"
	"coffer/store"
	"coffer/store/kv/bolt"
)

// TestADrillBelievesNoHeaderThatContradictsTheData, though it would read as if the keys
// had been replaced since.
func TestADrillBelievesNoHeaderThatContradictsTheData(t *testing.T) {
	dir := t.TempDir()
	in, _ := audited(t, backingUpTo(dir))
	if failed := runs(t, in.Operator, "backups"); failed != "" {
		t.Fatal(failed)
	}
	path := filepath.Join(dir, keptBackups(t, in.Operator).Backups[0].Name)
	file, err := os.ReadFile(path)
	must(t, err)
	var data bytes.Buffer
	content, err := backup.Read(decryptedBy(t, in.Recovery, file), backup.Sink{Data: &data})
	must(t, err)
	copied := filepath.Join(t.TempDir(), "copy.db")
	must(t, os.WriteFile(copied, data.Bytes(), 0o600))
	db, err := bolt.Open(copied, bolt.Options{})
	must(t, err)
	st, err := store.Open(t.Context(), db)
	must(t, err)
	var recipient string
	must(t, st.View(t.Context(), func(r store.Reader) error {
		i, err := r.Instance()
		recipient = i.BackupRecipient
		return err
	}))
	must(t, st.Close())
	content.Header.Fingerprint = "of another key"
	var altered bytes.Buffer
	sealed, err := crypto.Encrypt(&altered, recipient)
	must(t, err)
	must(t, backup.Write(sealed, *content, &data))
	must(t, sealed.Close())
	must(t, os.WriteFile(path, altered.Bytes(), 0o600))
	if failed := runs(t, in.Operator, "drill"); failed != "" {
		t.Fatal(failed)
	}
	if d := keptBackups(t, in.Operator).Drill; d.Restores || !strings.Contains(*d.Reason, "contradicts itself") {
		t.Errorf("the drill says %+v", d)
	}
}

// TestAPassphraseIsALine, though an environment may bring it with the end of one.
func TestAPassphraseIsALine(t *testing.T) {
	dir := t.TempDir()
	in, _ := audited(t, backingUpTo(dir), func(c *server.Config) { c.Backup.Passphrase = "four or five words\n" })
	if failed := runs(t, in.Operator, "backups"); failed != "" {
		t.Fatal(failed)
	}
	file, err := os.Open(filepath.Join(dir, keptBackups(t, in.Operator).Backups[0].Name))
	must(t, err)
	defer file.Close()
	p, err := server.VerifyBackup(t.Context(), plain(""), file, passphrase("four or five words"), t.TempDir(), nil)
	if err != nil || !p.Good {
		t.Errorf("the line does not open it: %+v, %v", p, err)
	}
}
