package bolt

import (
	"path/filepath"
	"testing"

	"coffer/store/kv"
)

func TestCommitsAreCounted(t *testing.T) {
	d, err := Open(filepath.Join(t.TempDir(), "data.db"), Options{MaxSize: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	put := func(size int) error {
		return d.Update(t.Context(), func(tx kv.Tx) error { return tx.Put([]byte("k"), make([]byte, size)) })
	}
	if err := put(1); err != nil {
		t.Fatal(err)
	}
	if err := put(4 << 20); err == nil {
		t.Fatal("it outgrew its limit")
	}
	if err := d.Update(t.Context(), func(kv.Tx) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if s := d.Stats(); s.Commits != 2 || s.Failed != 1 || s.Updates != 2 || s.Took <= 0 || s.Stopped {
		t.Errorf("got %+v", s)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
}
