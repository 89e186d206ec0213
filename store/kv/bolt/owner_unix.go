//go:build unix && !solaris && !aix

package bolt

import (
	"fmt"
	"os"
	"syscall"
)

// sameOwner gives f the owner and the mode of the file at path: who compacts the
// data of a server as root must not take them away from it.
func sameOwner(path string, f *os.File) error {
	was, err := os.Stat(path)
	if err != nil {
		return err
	}
	is, err := f.Stat()
	if err != nil {
		return err
	}
	a, ok := was.Sys().(*syscall.Stat_t)
	b, ok2 := is.Sys().(*syscall.Stat_t)
	if ok && ok2 && (a.Uid != b.Uid || a.Gid != b.Gid) {
		if err := f.Chown(int(a.Uid), int(a.Gid)); err != nil {
			return fmt.Errorf("the new file would not belong to whom the old one does (run this as its owner): %w", err)
		}
	}
	return f.Chmod(was.Mode().Perm())
}
