package depot_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coffer/server/depot"
)

// TestADirectoryFollowsNoLinks that somebody else laid there, who shares it: what they
// lead to is not written over.
func TestADirectoryFollowsNoLinks(t *testing.T) {
	dir, target := t.TempDir(), filepath.Join(t.TempDir(), "coffer.db")
	if err := os.WriteFile(target, []byte("the data"), 0o600); err != nil {
		t.Fatal(err)
	}
	name := depot.Name{Instance: "0a1b2c3d", At: time.Date(2026, 11, 20, 9, 15, 0, 0, time.UTC)}
	for _, link := range []string{"coffer-0a1b2c3d-check.partial", name.String() + ".partial", name.String()} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Skip(err)
		}
	}
	d, err := depot.Open(depot.Config{To: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Check(t.Context(), name.Instance); err != nil {
		t.Error(err)
	}
	if _, err := d.Put(t.Context(), name, strings.NewReader("a backup")); err != nil {
		t.Error(err)
	}
	if text, _ := os.ReadFile(target); string(text) != "the data" {
		t.Errorf("the data are %q", text)
	}
	if all, err := d.List(t.Context(), name.Instance); err != nil || len(all) != 1 || all[0].Size != 8 {
		t.Errorf("%v, %v", all, err)
	}
}
