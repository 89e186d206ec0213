package depot

import (
	"context"
	"io"
	"net"
	"net/http"
	"time"
)

type hardEnd struct{}

// outlasting is ctx with a hard end a little after its own: a client that cleans
// up after ctx ended must not hang there.
func outlasting(ctx context.Context) context.Context {
	hard, cancel := context.WithCancel(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, func() { time.AfterFunc(grace, cancel) })
	return context.WithValue(ctx, hardEnd{}, hard)
}

// bounded keeps requests to the hard end of their context.
type bounded struct{ http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	hard, ok := r.Context().Value(hardEnd{}).(context.Context)
	if !ok {
		return b.RoundTripper.RoundTrip(r)
	}
	ctx, cancel := context.WithCancel(r.Context())
	release := context.AfterFunc(hard, cancel)
	answer, err := b.RoundTripper.RoundTrip(r.WithContext(ctx))
	if err != nil {
		release()
		cancel()
		return nil, err
	}
	answer.Body = &closing{answer.Body, func() { release(); cancel() }}
	return answer, nil
}

type closing struct {
	io.ReadCloser
	end func()
}

func (e *closing) Close() error {
	defer e.end()
	return e.ReadCloser.Close()
}

var dialer = net.Dialer{Timeout: 15 * time.Second, KeepAlive: 30 * time.Second}

func dialWatched(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return watched{c}, nil
}

// watched ends a connection on which nothing moves, in either direction. How long
// a whole backup takes is nobody's business.
type watched struct{ net.Conn }

func (w watched) Read(p []byte) (int, error) {
	if err := w.SetDeadline(time.Now().Add(quiet)); err != nil {
		return 0, err
	}
	return w.Conn.Read(p)
}

func (w watched) Write(p []byte) (int, error) {
	if err := w.SetDeadline(time.Now().Add(quiet)); err != nil {
		return 0, err
	}
	return w.Conn.Write(p)
}
