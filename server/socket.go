package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// socketName is the operator's way in: a socket in the data directory that only
// its owner may open.
const socketName = "coffer.sock"

// ErrNotRunning means that no server serves a data directory.
var ErrNotRunning = errors.New("no coffer server is running on this data directory")

// listenOperator listens on the operator's socket. A socket left behind by a
// killed server is in nobody's way: whoever holds the data file is the server.
func listenOperator(data string) (net.Listener, error) {
	path := filepath.Join(data, socketName)
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("remove the old operator socket: %w", err)
	}
	address, done, err := socketAddress(path)
	if err != nil {
		return nil, err
	}
	defer done()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: address, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("listen on the operator socket: %w", err)
	}
	l.SetUnlinkOnClose(false)
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return &operatorListener{l, path}, nil
}

// operatorListener removes its socket by its real path, which is not always the
// one that it was bound by.
type operatorListener struct {
	*net.UnixListener
	path string
}

func (l *operatorListener) Close() error {
	_ = os.Remove(l.path)
	return l.UnixListener.Close()
}

// DialOperator is a transport to the server that runs on a data directory, with
// the powers of the operator, or ErrNotRunning.
func DialOperator(data string) (http.RoundTripper, error) {
	path := filepath.Join(data, socketName)
	dial := func(ctx context.Context) (net.Conn, error) {
		address, done, err := socketAddress(path)
		if err != nil {
			return nil, err
		}
		defer done()
		return (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, "unix", address)
	}
	conn, err := dial(context.Background())
	if err != nil {
		return nil, fmt.Errorf("%w (%s): %w", ErrNotRunning, data, err)
	}
	_ = conn.Close()
	return &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dial(ctx)
		},
	}, nil
}
