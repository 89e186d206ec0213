//go:build unix

package server

import "golang.org/x/sys/unix"

// freeDisk is how many bytes this process may still write where a directory is.
func freeDisk(dir string) (int64, error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return 0, err
	}
	return int64(fs.Bavail) * int64(fs.Bsize), nil
}
