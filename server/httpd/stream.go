package httpd

import (
	"context"
	"errors"
	"io"
	"net/http"
	"reflect"
	"time"

	"coffer/server/api"
	"coffer/server/warden"
)

// untilStopping is the context of a request without a time limit. It ends with
// the connection, and when the server stops.
func (f *face) untilStopping(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(parent)
	if f.Stopping != nil {
		go func() {
			select {
			case <-f.Stopping:
				cancel()
			case <-ctx.Done():
			}
		}()
	}
	return ctx, cancel
}

// download is the operation whose answer is a file, sent while it is made.
func download[Req request](name string, op func(*warden.Warden, context.Context, warden.Caller, Req, io.Writer) error) operation {
	b := newBinder(reflect.TypeFor[Req]())
	disposition := []string{`attachment; filename="` + name + `"`}
	return func(x *exchange) error {
		req, err := ask[Req](x, b)
		if err != nil {
			return err
		}
		h := x.w.Header()
		out := &sender{x: x, begin: func() {
			h["Content-Type"], h["Content-Disposition"] = linesType, disposition
			x.w.WriteHeader(http.StatusOK)
		}}
		if x.r.Method == http.MethodHead {
			// It is allowed if it comes to writing.
			if err = op(x.Warden, x.ctx, x.who, *req, refuser{}); errors.Is(err, errHead) {
				out.begin()
				return nil
			}
			return err
		}
		defer context.AfterFunc(x.ctx, func() { _ = http.NewResponseController(x.w).SetWriteDeadline(past) })()
		err = op(x.Warden, x.ctx, x.who, *req, out)
		if err == nil || !out.begun {
			return err
		}
		// The status is gone; only a broken connection says that this is not all.
		_ = x.public(err)
		panic(http.ErrAbortHandler)
	}
}

// refuser takes nothing: a HEAD has no body.
type refuser struct{}

var errHead = errors.New("a HEAD has no body")

func (refuser) Write([]byte) (int, error) { return 0, errHead }

// past is a deadline that wakes who waits.
var past = time.Unix(1, 0)

var linesType = []string{"application/x-ndjson; charset=utf-8"}

// sender sends what is written, as long as the client takes it.
type sender struct {
	x     *exchange
	begin func()
	begun bool
}

func (s *sender) Write(b []byte) (int, error) {
	if !s.begun {
		s.begun = true
		s.begin()
	}
	c := http.NewResponseController(s.x.w)
	_ = c.SetWriteDeadline(time.Now().Add(s.x.patience))
	if err := s.x.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := s.x.w.Write(b)
	// The connection may serve other requests.
	_ = c.SetWriteDeadline(time.Time{})
	return n, err
}

// upload is the operation that reads a file of any size from the body, nil when
// there is none. Unlike others it looks at the credential first.
func upload[Res any](op func(*warden.Warden, context.Context, warden.Caller, io.Reader) (Res, error)) operation {
	b := newBinder(reflect.TypeFor[api.Empty]())
	return func(x *exchange) error {
		if err := x.identify(); err != nil {
			return err
		}
		if err := x.limit(); err != nil {
			return err
		}
		in := x.input()
		in.hasBody = false
		_, wrong := bind[api.Empty](b, in)
		if err := x.gate.Admit(x.ctx, x.who, x.route.action, ""); err != nil {
			return err
		}
		if wrong != nil {
			return wrong
		}
		var file io.Reader
		if x.r.Body != nil && x.r.Body != http.NoBody {
			file = &receiver{x: x}
			defer context.AfterFunc(x.ctx, func() { _ = http.NewResponseController(x.w).SetReadDeadline(past) })()
		}
		res, err := op(x.Warden, x.ctx, x.who, file)
		if err != nil {
			return err
		}
		return x.send(res, nil)
	}
}

// receiver reads the body as long as the client sends it.
type receiver struct{ x *exchange }

func (r *receiver) Read(b []byte) (int, error) {
	_ = http.NewResponseController(r.x.w).SetReadDeadline(time.Now().Add(r.x.patience))
	if err := r.x.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := r.x.r.Body.Read(b)
	if err != nil && err != io.EOF {
		err = api.Errorf(api.BadRequest, "The file ended before it was complete.")
	}
	return n, err
}

// verifyAudit judges the log in the data, or the file in the body.
func verifyAudit(w *door, ctx context.Context, who warden.Caller, file io.Reader) (*api.AuditReport, error) {
	if file == nil {
		return w.VerifyAudit(ctx, who)
	}
	return w.VerifyAuditFile(ctx, who, file)
}

func exportAudit(w *door, ctx context.Context, who warden.Caller, _ api.Empty, out io.Writer) error {
	return w.ExportAudit(ctx, who, out)
}
