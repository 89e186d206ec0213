package httpd

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"sync"

	"coffer/server/api"
)

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

func takeBuffer() *bytes.Buffer { return buffers.Get().(*bytes.Buffer) }

// releaseBuffer wipes what the buffer held, since that may be values.
func releaseBuffer(b *bytes.Buffer) {
	if b == nil {
		return
	}
	clear(b.Bytes())
	b.Reset()
	if b.Cap() <= 2*api.MaxBody {
		buffers.Put(b)
	}
}

// trustedLength is how much memory a Content-Length gets on its word alone.
const trustedLength = 64 << 10

var errTooLarge = &api.Error{Code: api.TooLarge, Message: "The body is larger than 1,048,576 bytes. Send less at once."}

// readBody takes the body in, whatever the method, up to its limit.
func (x *exchange) readBody() error {
	if x.r.ContentLength > api.MaxBody {
		return errTooLarge
	}
	if x.r.Body == nil || x.r.Body == http.NoBody {
		return nil
	}
	x.body = takeBuffer()
	x.body.Grow(int(min(max(x.r.ContentLength, 0), trustedLength)) + bytes.MinRead)
	n, err := x.body.ReadFrom(io.LimitReader(x.r.Body, api.MaxBody+1))
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return api.Errorf(api.Timeout, "The body took too long to arrive. Nothing was written.")
	case err != nil:
		return api.Errorf(api.BadRequest, "The body ended before it was complete.")
	case n > api.MaxBody:
		return errTooLarge
	}
	return nil
}
