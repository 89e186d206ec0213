package browsertest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/dom"
)

// choose puts a file into the field for one.
func (b *browser) choose(path string) {
	b.t.Helper()
	root := call(b, dom.GetDocument, dom.GetDocumentParams{}).Root.NodeID
	field := call(b, dom.QuerySelector, dom.QuerySelectorParams{NodeID: root, Selector: "input[type=file]"}).NodeID
	call(b, dom.SetFileInputFiles, dom.SetFileInputFilesParams{Files: []string{path}, NodeID: field})
}

// untick changes the box with a name.
func (b *browser) untick(name string) {
	b.t.Helper()
	do(b, clickOn(b.find(name, "checkbox")))
}

const realFile = "\ufeff# The app\r\nexport DATABASE_URL=\"postgres://app:pass@db/app?sslmode=require\"\r\nSESSION=same\r\n\r\n" +
	"PRIVATE_KEY='-----BEGIN KEY-----\r\nline\r\n-----END KEY-----'\r\nDEBUG=true # only here\r\nlower=1\r\n"

func TestSomebodyImportsAFileAndSkipsALine(t *testing.T) {
	in := serve(t)
	b := in.furnish()
	path := filepath.Join(t.TempDir(), "app.env")
	if err := os.WriteFile(path, []byte(realFile), 0o600); err != nil {
		t.Fatal(err)
	}
	b.open("/vaults/ann/app")
	b.press("Import and export")
	b.wants("Import and export", "Import a .env file")
	b.looksGood("import")
	b.choose(path)
	b.press("See what would change")
	b.wants("What would change in development", "2 to create, 1 to update, 1 unchanged", "Line 9: It is left out.")
	b.looksGood("import-preview")
	b.untick("DEBUG")
	b.press("Import")
	b.wants("Secrets", "What you chose is stored.", "PRIVATE_KEY")
	if text := b.text(); strings.Contains(text, "DEBUG") {
		t.Errorf("what was skipped is there:\n%s", text)
	}

	b.press("Import and export")
	b.press("Show and edit development")
	b.wants("development as a file", "is recorded")
	b.looksGood("raw-asks")
	b.press("Show and edit")
	b.looksGood("raw")
	b.press("See what would change")
	b.wants("What would change in development", "0 to create, 0 to update, 5 unchanged", "Nothing would change.")
	b.press("Cancel")
	b.press("Show and edit")
	b.fill("Keys and values of development", "DATABASE_URL=new\r")
	b.press("See what would change")
	b.wants("What would change in development", "Also move 4 keys that are not in the text to the trash")
	b.looksGood("raw-preview")
	b.press("Save")
	b.wants("Secrets", "What you chose is stored.", "All (2)")
	b.open("/vaults/ann/app/raw/development/save") // where who had to sign in between comes out
	b.looksGood("raw-after-sign-in")
}

// TestAFileCanBeDropped, where scripts run.
func TestAFileCanBeDropped(t *testing.T) {
	in := serve(t)
	b := in.furnish()
	b.scripts(true)
	b.open("/vaults/ann/app/import")
	b.find("See what would change", button)
	b.drops("x.env", "DROPPED=1\n")
	b.wants("What would change in development", "DROPPED", "1 to create")
}
