package bolt

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"coffer/store/kv"
)

func TestFullRefusesWritesUntilThereIsRoom(t *testing.T) {
	const limit = 1 << 20
	d := open(t, Options{NoSync: true, MaxSize: limit})
	wantFullThenRoom(t, d)
	if size := d.Size(); size > limit || size < limit*9/10 {
		t.Errorf("the file has %d of %d bytes", size, limit)
	}
}

// TestFullDisk runs where the machine offers a small file system, whose path
// COFFER_SMALL_DISK tells.
func TestFullDisk(t *testing.T) {
	disk := os.Getenv("COFFER_SMALL_DISK")
	if disk == "" {
		t.Skip("COFFER_SMALL_DISK is not set")
	}
	path := filepath.Join(disk, "coffer.db")
	t.Cleanup(func() { os.Remove(path) })
	wantFullThenRoom(t, openAt(t, path, Options{}))
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
