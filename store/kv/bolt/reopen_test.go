package bolt

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"coffer/store/kv"
)

func TestClosingInOrderKeepsTheFreelist(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data.db")
	synced := func() bool {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		fi, err := f.Stat()
		if err != nil {
			t.Fatal(err)
		}
		metas, err := readMetas(f, fi.Size())
		if err != nil {
			t.Fatal(err)
		}
		return metas[0].freelist != noFreelist
	}
	for range 3 {
		d := openAt(t, path, Options{})
		err := d.Update(background, func(tx kv.Tx) error { return tx.Put([]byte("k"), []byte("v")) })
		if err != nil {
			t.Fatal(err)
		}
		if synced() {
			t.Error("a running database pays for a freelist with every commit")
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		if !synced() {
			t.Error("the freelist was not kept")
		}
	}
}

func TestALargeFileClosedInOrderIsStillCheckedAtItsEnds(t *testing.T) {
	good := sample(t)
	metas, err := readMetas(bytes.NewReader(good), int64(len(good)))
	if err != nil {
		t.Fatal(err)
	}
	large := int64(walkBelow + 1)
	if err := verifyAtOpen(bytes.NewReader(good), large); err != nil {
		t.Errorf("a sound file: %v", err)
	}
	m := metas[0]
	for name, page := range map[string]uint64{"freelist": m.freelist, "root": m.root} {
		bad := append([]byte(nil), good...)
		clear(bad[page*uint64(m.pageSize):][:pageHeader])
		if err := verifyAtOpen(bytes.NewReader(bad), large); !errors.Is(err, kv.ErrCorrupt) {
			t.Errorf("damaged %s: %v", name, err)
		}
	}
}
