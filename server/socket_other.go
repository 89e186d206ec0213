//go:build !linux

package server

import "fmt"

// longestSocket is how long a socket's path may be on the BSDs, macOS included.
const longestSocket = 103

// socketAddress is a path by which a socket can be bound or dialled. done
// releases it.
func socketAddress(path string) (address string, done func(), err error) {
	if len(path) > longestSocket {
		return "", nil, fmt.Errorf("the path of the operator socket, %s, is too long; choose a data directory with a shorter path", path)
	}
	return path, func() {}, nil
}
