package cli

import (
	"os"
	"path/filepath"
	"testing"
)

// TestABackupReplacesNothingButFiles, even with --force: a device that is replaced by a
// file is gone for everybody.
func TestABackupReplacesNothingButFiles(t *testing.T) {
	in := t.TempDir()
	for name, refused := range map[string]bool{os.DevNull: true, in: false, filepath.Join(in, "new"): false} {
		w := &backupFile{o: backupOptions{to: name, force: true}}
		if err := w.check(name); (err != nil) != refused {
			t.Errorf("%s: %v", name, err)
		}
	}
}
