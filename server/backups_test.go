package server_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"coffer/crypto"
	"coffer/server/api"
	"coffer/server/backup"
	"coffer/server/client"
	"coffer/server/servertest"
)

// backedUp is a backup that was just made, and what it says of itself.
func backedUp(t testing.TB, op *client.Client, req api.NewBackup) ([]byte, *api.Backup) {
	t.Helper()
	var file bytes.Buffer
	about, err := op.Backup(context.Background(), req, func(api.Backup) (io.Writer, error) { return &file, nil })
	if err != nil {
		t.Fatal(err)
	}
	return file.Bytes(), about
}

func decryptedBy(t testing.TB, key string, file []byte) io.Reader {
	t.Helper()
	id, err := crypto.ParseIdentity([]byte(key))
	if err != nil {
		t.Fatal(err)
	}
	r, err := id.Decrypt(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestABackupOpensWithTheRecoveryKey(t *testing.T) {
	in, _ := audited(t)
	for name, op := range map[string]*client.Client{"in process": in.Operator, "over the socket": byOperator(t, in)} {
		t.Run(name, func(t *testing.T) {
			file, about := backedUp(t, op, api.NewBackup{})
			var data bytes.Buffer
			c, err := backup.Read(decryptedBy(t, in.Recovery, file), backup.Sink{Data: &data})
			if err != nil {
				t.Fatal(err)
			}
			if c.Header.Name() != about.Name || about.DataSize != int64(data.Len()) || c.Header.AuditNumber == 0 || c.Master != nil {
				t.Errorf("%+v\n%+v", c.Header, about)
			}
			if kinds := kindsOf(about); kinds != "master-key key-file recovery-key backup-key" {
				t.Errorf("it opens with %s", kinds)
			}
			for what, text := range map[string][]byte{"the file": file, "its data": data.Bytes()} {
				if bytes.Contains(text, []byte(canary)) {
					t.Errorf("a value stands in %s", what)
				}
			}
		})
	}
	var log bytes.Buffer
	if err := in.Operator.ExportAudit(t.Context(), &log); err != nil || strings.Count(log.String(), "backup_created") != 2 {
		t.Errorf("the log tells of %d backups, %v", strings.Count(log.String(), "backup_created"), err)
	}
}

func kindsOf(b *api.Backup) string {
	var kinds []string
	for _, k := range b.OpensWith {
		kinds = append(kinds, k.Kind)
	}
	return strings.Join(kinds, " ")
}

func TestAPassphraseOpensABackupAlone(t *testing.T) {
	in, _ := audited(t)
	passphrase := api.NewSecret("four or five words")
	file, about := backedUp(t, in.Operator, api.NewBackup{Passphrase: &passphrase})
	if kindsOf(about) != "passphrase" {
		t.Errorf("%+v", about)
	}
	if _, err := crypto.DecryptPassphrase(bytes.NewReader(file), []byte("others")); !errors.Is(err, crypto.ErrWrongPassphrase) {
		t.Errorf("another passphrase: %v", err)
	}
	r, err := crypto.DecryptPassphrase(bytes.NewReader(file), []byte("four or five words"))
	if err != nil {
		t.Fatal(err)
	}
	c, err := backup.Read(r, backup.Sink{})
	if err != nil {
		t.Fatal(err)
	}
	once, err := crypto.ParseMaster(c.Master)
	if err != nil {
		t.Fatal(err)
	}
	root, err := once.OpenRoot(c.Root)
	if err != nil {
		t.Fatal(err)
	}
	root.Destroy()
	short := api.NewSecret("short")
	_, err = in.Operator.Backup(t.Context(), api.NewBackup{Passphrase: &short}, nil)
	if api.CodeOf(err) != api.Invalid {
		t.Errorf("a short passphrase: %v", err)
	}
}

func TestABackupIsMadeWhileSealed(t *testing.T) {
	in, ann := audited(t)
	if err := in.Operator.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	file, _ := backedUp(t, byOperator(t, in), api.NewBackup{})
	if _, err := backup.Read(decryptedBy(t, in.Recovery, file), backup.Sink{}); err != nil {
		t.Error(err)
	}
	passphrase := api.NewSecret("four or five words")
	_, err := in.Operator.Backup(t.Context(), api.NewBackup{Passphrase: &passphrase}, nil)
	if api.CodeOf(err) != api.Sealed {
		t.Errorf("with a passphrase: %v", err)
	}
	// Others get the same word as everywhere else.
	ann.Transport = nil
	if _, err := ann.Backup(t.Context(), api.NewBackup{}, nil); api.CodeOf(err) != api.Sealed {
		t.Errorf("somebody: %v", err)
	}
	if _, err := in.Operator.Jobs(t.Context()); api.CodeOf(err) != api.Sealed {
		t.Errorf("other things on the socket: %v", err)
	}
}

func TestOnlyOperatorsMakeBackups(t *testing.T) {
	in, ann := audited(t)
	if _, err := ann.Backup(t.Context(), api.NewBackup{}, nil); api.CodeOf(err) != api.Forbidden {
		t.Errorf("a user with a key: %v", err)
	}
	res, err := http.Post(in.URL+"/v1/operator/backups", "application/json", nil)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusUnauthorized {
		t.Errorf("a stranger: %d", res.StatusCode)
	}
	fresh, _ := servertest.Fresh(t)
	if _, err := fresh.Operator.Backup(t.Context(), api.NewBackup{}, nil); api.CodeOf(err) != api.Sealed {
		t.Errorf("of nothing: %v", err)
	}
}
