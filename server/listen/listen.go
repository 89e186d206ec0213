// Package listen is how the server is reached: its sockets, its own or those that
// a service manager opened for it, TLS on them, and what the service manager is
// told. It knows nothing of what is served.
//
// Its invariant: a certificate that worked is given up only for another one that
// works, so nothing that changes while the server runs can make it unreachable.
package listen

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"
	"syscall"
	"time"
)

// unixPrefix is what an address that is a path begins with.
const unixPrefix = "unix:"

// defaultMode lets the owner of a Unix socket and its group connect.
const defaultMode fs.FileMode = 0o660

// SocketPath is the path of an address like unix:/run/coffer/coffer.sock.
func SocketPath(address string) (path string, ok bool) {
	return strings.CutPrefix(address, unixPrefix)
}

// Open listens on an address: HOST:PORT, or unix: and a path, whose socket gets
// the mode; zero is for its owner and their group.
func Open(address string, mode fs.FileMode) (net.Listener, error) {
	path, ok := SocketPath(address)
	if !ok {
		return net.Listen("tcp", address)
	}
	if err := removeStale(path); err != nil {
		return nil, err
	}
	l, err := net.Listen("unix", path)
	if errors.Is(err, syscall.EINVAL) {
		return nil, fmt.Errorf("the path of the socket, %s, is too long; the system allows about 100 bytes: %w", path, err)
	}
	if err != nil {
		return nil, err
	}
	if mode == 0 {
		mode = defaultMode
	}
	if err := os.Chmod(path, mode); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// removeStale removes a socket that a killed server left behind, and nothing else.
func removeStale(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("%s is there and is no socket; choose another path for listen, or remove it", path)
	}
	conn, err := net.DialTimeout("unix", path, time.Second)
	if err == nil {
		_ = conn.Close()
		return fmt.Errorf("%s: %w", path, syscall.EADDRINUSE)
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return err
	}
	return os.Remove(path)
}
