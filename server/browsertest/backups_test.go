package browsertest

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestTheOperatorLooksAtBackups from the first one to one that was altered.
func TestTheOperatorLooksAtBackups(t *testing.T) {
	plain := serve(t)
	plain.operator(password, "admin", "user", "add", "root", "--password-file", "-", "--operator")
	b := newBrowser(t, plain.url)
	b.open("/operator/backups")
	b.signIn("root", password)
	b.wants("Backups", "The server makes no backups by itself", "Download a new backup")
	b.looksGood("backups-nowhere")

	kept := filepath.Join(t.TempDir(), "kept")
	in := serve(t, "BACKUP_TO="+kept)
	in.mayFail = true
	in.operator(password, "admin", "user", "add", "root", "--password-file", "-", "--operator")
	in.operator(password, "admin", "user", "add", "ann", "--password-file", "-")
	b = newBrowser(t, in.url)
	b.open("/operator/backups")
	b.signIn("root", password)
	b.wants("Backups", "none yet", "there is no directory")
	b.press("Back up now")
	b.wants("Backups", "There is no new backup: there is no directory", "the last one failed")
	b.looksGood("backups-failed")

	if err := os.Mkdir(kept, 0o700); err != nil {
		t.Fatal(err)
	}
	b.press("Back up now")
	b.wants("Backups", "The backup was made, or is being made.", "coffer-", "KiB", "Download")
	b.press("Try the newest now")
	b.wants("Backups", "it restores", "0 vaults")
	b.looksGood("backups")

	files, err := filepath.Glob(filepath.Join(kept, "coffer-*.tar.age"))
	if err != nil || len(files) != 1 {
		t.Fatalf("there is %q, %v", files, err)
	}
	time.Sleep(1100 * time.Millisecond) // names tell seconds
	b.press("Back up now")
	files, _ = filepath.Glob(filepath.Join(kept, "coffer-*.tar.age"))
	if len(files) != 2 {
		t.Fatalf("there is %q", files)
	}
	if err := os.Truncate(files[1], 2000); err != nil {
		t.Fatal(err)
	}
	b.press("Try the newest now")
	b.wants("Backups", "The last drill failed.", "it does not restore", "The last one that did: "+filepath.Base(files[0]))
	b.looksGood("backups-red")

	b = newBrowser(t, in.url)
	b.open("/operator/backups")
	b.signIn("ann", password)
	b.wants("You may not do that", "Only operators of this server may do this.")
}
