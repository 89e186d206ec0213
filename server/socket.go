package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
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

// inProcess is a transport that asks a handler directly.
type inProcess struct{ handler http.Handler }

// RoundTrip implements http.RoundTripper.
func (t inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	if r.Body == nil {
		r.Body = http.NoBody
	}
	defer func() { _ = r.Body.Close() }()
	r.RequestURI, r.RemoteAddr = r.URL.RequestURI(), "@"
	a := answer{header: make(http.Header), status: http.StatusOK}
	t.handler.ServeHTTP(&a, r)
	return &http.Response{
		Status: http.StatusText(a.status), StatusCode: a.status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: a.header, Body: io.NopCloser(&a.body), ContentLength: int64(a.body.Len()), Request: r,
	}, nil
}

// answer keeps what a handler wrote.
type answer struct {
	header http.Header
	body   bytes.Buffer
	status int
	wrote  bool
}

// Header implements http.ResponseWriter.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(status int) {
	if !a.wrote {
		a.status, a.wrote = status, true
	}
}

// Write implements http.ResponseWriter.
func (a *answer) Write(b []byte) (int, error) {
	a.wrote = true
	return a.body.Write(b)
}
