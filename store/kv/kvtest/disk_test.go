package kvtest

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestASmallDiskFillsUpAndBecomesReadOnly(t *testing.T) {
	d := SmallDisk(t, 1<<20)
	file := filepath.Join(d.Path, "data")
	d.Fill(t, 0)
	if err := os.WriteFile(file, make([]byte, 8192), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("writing to a full disk: %v", err)
	}
	d.Fill(t, 256<<10)
	if free := d.Free(t); free < 128<<10 || free > 256<<10 {
		t.Errorf("%d bytes are free", free)
	}
	if err := os.WriteFile(file, make([]byte, 8192), 0o600); err != nil {
		t.Error(err)
	}
	d.ReadOnly(t, true)
	if err := os.WriteFile(file, nil, 0o600); !errors.Is(err, syscall.EROFS) {
		t.Errorf("writing to a read-only disk: %v", err)
	}
	d.ReadOnly(t, false)
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Error(err)
	}
}

func TestADirectoryTakesNoNewNamesWhileOpenFilesGoOn(t *testing.T) {
	d := SmallDisk(t, 1<<20)
	dir := filepath.Join(d.Path, "dir")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	open, err := os.Create(filepath.Join(dir, "open"))
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	undo := d.NoNewFiles(t, dir)
	if err := os.WriteFile(filepath.Join(dir, "new"), nil, 0o600); !errors.Is(err, syscall.EROFS) {
		t.Errorf("a new name: %v", err)
	}
	if _, err := open.WriteString("still here"); err != nil {
		t.Error(err)
	}
	undo()
	if err := os.WriteFile(filepath.Join(dir, "new"), nil, 0o600); err != nil {
		t.Error(err)
	}
}
