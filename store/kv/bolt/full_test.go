package bolt

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"coffer/store/kv"
	"coffer/store/kv/kvtest"
)

func TestFullRefusesWritesUntilThereIsRoom(t *testing.T) {
	const limit = 1 << 20
	d := open(t, Options{NoSync: true, MaxSize: limit})
	wantFullThenRoom(t, d)
	if size := d.Size(); size > limit || size < limit*9/10 {
		t.Errorf("the file has %d of %d bytes", size, limit)
	}
}

func TestFullDisk(t *testing.T) {
	d := openAt(t, filepath.Join(kvtest.SmallDisk(t, 8<<20).Path, "coffer.db"), Options{})
	wantFullThenRoom(t, d)
	if err := d.Close(); err != nil { // before the disk goes
		t.Error(err)
	}
}

func TestAReadOnlyDiskSaysSo(t *testing.T) {
	disk := kvtest.SmallDisk(t, 8<<20)
	path := filepath.Join(disk.Path, "coffer.db")
	wantReadOnly := func(what string) {
		t.Helper()
		disk.ReadOnly(t, true)
		_, err := Open(path, Options{})
		if !errors.Is(err, kv.ErrReadOnly) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "make it writable") {
			t.Errorf("%s: %v", what, err)
		}
		disk.ReadOnly(t, false)
	}
	wantReadOnly("a new file")
	d, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	put(t, d, "a", nil)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	wantReadOnly("an old one")
	if d, err = Open(path, Options{}); err != nil || !has(t, d, "a") {
		t.Errorf("writable again: %v", err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

func wantFullThenRoom(t *testing.T, d *DB) {
	t.Helper()
	value := make([]byte, 10<<10)
	n, err := 0, error(nil)
	for ; err == nil; n++ {
		err = tryPut(d, fmt.Sprintf("%06d", n), value)
	}
	if !errors.Is(err, kv.ErrFull) {
		t.Fatalf("after %d values: %v", n, err)
	}
	n--
	if has(t, d, fmt.Sprintf("%06d", n)) {
		t.Error("the refused value was written")
	}
	if n == 0 || !has(t, d, fmt.Sprintf("%06d", n-1)) {
		t.Error("reads do not go on")
	}
	err = d.Update(background, func(tx kv.Tx) error {
		for i := range n / 2 {
			if err := tx.Delete(fmt.Appendf(nil, "%06d", i)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatalf("deleting from a full file: %v", err)
	}
	for i := range n / 4 {
		put(t, d, fmt.Sprintf("new%06d", i), value)
	}
	if err := d.Check(background); err != nil {
		t.Error(err)
	}
}
