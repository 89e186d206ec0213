package kvtest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// Disk is a small file system of its own, which a test may fill up or make
// read-only for real.
type Disk struct {
	// Path is the directory that it is mounted at; it is empty at first.
	Path string

	filler string
}

// SmallDisk mounts a file system of about size bytes and takes it away again
// when the test ends; everything that was opened on it must be closed by then.
// The test is skipped where mounting is not permitted, as it is to most users
// but root.
func SmallDisk(t testing.TB, size int64) *Disk {
	t.Helper()
	d := &Disk{Path: filepath.Join(t.TempDir(), "disk")}
	if err := os.Mkdir(d.Path, 0o700); err != nil {
		t.Fatal(err)
	}
	err := syscall.Mount("tmpfs", d.Path, "tmpfs", 0, fmt.Sprintf("size=%d,mode=700", size))
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENODEV) {
		t.Skipf("mounting a small file system is not permitted here (%v): run this test as root", err)
	}
	if err != nil {
		t.Fatalf("mount a small file system: %v", err)
	}
	t.Cleanup(func() {
		// Something of the test may still be letting go of a file: detach at once,
		// and let the system free it when the last one is closed.
		if err := syscall.Unmount(d.Path, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmount %s: %v", d.Path, err)
		}
	})
	return d
}

// Free is how many bytes can still be written to the disk.
func (d *Disk) Free(t testing.TB) int64 {
	t.Helper()
	var s syscall.Statfs_t
	if err := syscall.Statfs(d.Path, &s); err != nil {
		t.Fatal(err)
	}
	return int64(s.Bavail) * int64(s.Bsize)
}

// Fill takes all room of the disk but about leave bytes, with a file outside of
// the directories that the test uses. Filling again replaces that file.
func (d *Disk) Fill(t testing.TB, leave int64) {
	t.Helper()
	d.Empty(t)
	f, err := os.Create(filepath.Join(d.Path, "filler"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	d.filler = f.Name()
	block := make([]byte, 4096)
	for d.Free(t) > leave {
		if _, err := f.Write(block); err != nil {
			if errors.Is(err, syscall.ENOSPC) {
				return
			}
			t.Fatal(err)
		}
	}
}

// Empty gives back the room that Fill took.
func (d *Disk) Empty(t testing.TB) {
	t.Helper()
	if d.filler == "" {
		return
	}
	if err := os.Remove(d.filler); err != nil {
		t.Fatal(err)
	}
	d.filler = ""
}

// ReadOnly makes the whole disk refuse every write, or take them again. Nothing
// on it may be open for writing while it becomes read-only.
func (d *Disk) ReadOnly(t testing.TB, yes bool) {
	t.Helper()
	flags := uintptr(syscall.MS_REMOUNT)
	if yes {
		flags |= syscall.MS_RDONLY
	}
	if err := syscall.Mount("tmpfs", d.Path, "tmpfs", flags, ""); err != nil {
		t.Fatalf("remount %s: %v", d.Path, err)
	}
}

// NoNewFiles makes the disk's own directory, or one below it, refuse to take
// new names, while files that are open stay writable; undo takes it back when
// the test ends.
func (d *Disk) NoNewFiles(t testing.TB, dir string) (undo func()) {
	t.Helper()
	// A bind mount of the directory on itself can be read-only by itself, which
	// binds root, too; what was opened before goes on through the old mount.
	if err := syscall.Mount(dir, dir, "", syscall.MS_BIND, ""); err != nil {
		t.Fatalf("bind %s: %v", dir, err)
	}
	if err := syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_BIND|syscall.MS_RDONLY, ""); err != nil {
		t.Fatalf("make %s read-only: %v", dir, err)
	}
	done := false
	undo = func() {
		if done {
			return
		}
		done = true
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmount %s: %v", dir, err)
		}
	}
	t.Cleanup(undo)
	return undo
}
