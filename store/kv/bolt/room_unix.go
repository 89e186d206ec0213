//go:build linux || darwin

package bolt

import (
	"math"
	"syscall"
)

// room is how many bytes may be written into a directory, as far as the system
// tells.
func room(dir string) int64 {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil {
		return math.MaxInt64
	}
	if fs.Bavail > math.MaxInt64/uint64(max(fs.Bsize, 1)) {
		return math.MaxInt64
	}
	return int64(fs.Bavail) * int64(fs.Bsize)
}
