package server

import (
	"fmt"
	"os"
	"path/filepath"
)

// longestSocket is how long a socket's path may be (unix(7)).
const longestSocket = 107

// socketAddress is a path by which a socket can be bound or dialled: its own, or
// a short one through an open directory when its own is too long. done releases
// it.
func socketAddress(path string) (address string, done func(), err error) {
	if len(path) <= longestSocket {
		return path, func() {}, nil
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return "", nil, err
	}
	return fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(path)), func() { _ = dir.Close() }, nil
}
