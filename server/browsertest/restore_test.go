package browsertest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTheFirstRunRestoresABackup brings a server back from one file and one key,
// without scripts and with them.
func TestTheFirstRunRestoresABackup(t *testing.T) {
	needBrowser(t)
	c := newTerminal(t)
	dir := t.TempDir()
	data, backup := filepath.Join(dir, "data"), filepath.Join(dir, "b.tar.age")
	c.file("password", password)
	key := strings.TrimSpace(c.run("init", "--data", data, "--admin", "ann", "--password-file", "password"))
	c.run("backup", "--data", data, "--to", backup)
	if err := os.Rename(data, filepath.Join(dir, "lost")); err != nil {
		t.Fatal(err)
	}
	for _, scripts := range []bool{false, true} {
		in, setup := serveFresh(t)
		b := newBrowser(t, in.url)
		b.scripts(scripts)
		b.open("/")
		b.tick("#restore")
		b.fill("Claim token", claimOf(t, setup))
		b.press("Begin")
		b.wants("Restore a backup")
		b.choose(backup)
		b.fill("Or the passphrase of the backup, if it was made with one", "not this one")
		if !scripts {
			b.looksGood("setup-restore")
			b.press("Restore")
			b.wants("Restore a backup", "A passphrase does not open this backup")
			b.looksGood("setup-restore-wrong")
			b.choose(backup)
		}
		b.fill("Or the passphrase of the backup, if it was made with one", "")
		b.fill("Recovery key, or the text of a key file", key)
		if scripts {
			b.click("Restore")
			b.says("The backup is restored", true)
		} else {
			b.press("Restore")
		}
		b.wants("The backup is restored", "Master key")
		b.looksGood("setup-restored")
		b.press("Sign in")
		b.signIn("ann", password)
	}
}
