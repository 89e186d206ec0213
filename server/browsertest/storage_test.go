package browsertest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTheStorageIsCompactedAndAVaultErased by an operator in a browser.
func TestTheStorageIsCompactedAndAVaultErased(t *testing.T) {
	in := serve(t)
	name := strings.Repeat("ann-", 9) + "ann"
	repo := name + "/" + strings.Repeat("repository-", 9)
	in.operator(password, "admin", "user", "add", name, "--password-file", "-", "--operator")
	b := newBrowser(t, in.url)
	b.open("/")
	b.signIn(name, password)
	b.fill("Repository", repo)
	b.press("Create vault")
	b.open("/operator")
	b.press("Storage")
	b.wants("Storage", "Data file", "never", "No vault was erased.")
	b.looksGood("storage-empty")
	if err := os.WriteFile(filepath.Join(in.data, "coffer.db.schema-1"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	b.press("Compact now")
	b.wants("Storage", "The data file was written anew.", " became ", "coffer.db.schema-1")

	b.fill("Type the vault's name, as owner/repository", name+"/none")
	b.press("Erase the vault for good")
	b.wants("Storage", "There is no vault for "+name+"/none.")
	b.looksGood("storage-wrong")
	b.fill("Type the vault's name, as owner/repository", repo)
	b.press("Erase the vault for good")
	b.wants("Storage", "The vault is erased: nothing of it is left in the data file.", repo, "Download")
	b.looksGood("storage")
}
