//go:build unix

package server

import (
	"path/filepath"

	"golang.org/x/sys/unix"
)

// openFiles is how many files this process may have open.
func openFiles() (uint64, bool) {
	var l unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &l) != nil {
		return 0, false
	}
	return uint64(l.Cur), true
}

// sameDisk reports whether two files are on one file system, or would be once they
// exist.
func sameDisk(a, b string) bool {
	one, ok := device(a)
	other, known := device(b)
	return ok && known && one == other
}

func device(path string) (uint64, bool) {
	var st unix.Stat_t
	if unix.Stat(path, &st) == nil || unix.Stat(filepath.Dir(path), &st) == nil {
		return uint64(st.Dev), true
	}
	return 0, false
}
