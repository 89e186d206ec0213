//go:build unix

package depot

import "golang.org/x/sys/unix"

// Free is how many bytes there is room for where path lies, if that can be known.
func Free(path string) (bytes uint64, known bool) {
	var st unix.Statfs_t
	if unix.Statfs(path, &st) != nil {
		return 0, false
	}
	return uint64(st.Bavail) * uint64(st.Bsize), true
}
