package httpd

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"coffer/server/api"
	"coffer/server/logging"
	"coffer/server/warden"
)

// exchange is one request and its answer.
type exchange struct {
	*face
	c     *gin.Context
	w     gin.ResponseWriter
	r     *http.Request
	ctx   context.Context
	id    string
	start time.Time
	route *route
	who   warden.Caller
	spent spending
	body  *bytes.Buffer
	vault *api.Vault        // that a page is about, or nil
	plan  *warden.VaultPlan // of that vault where it is read-only, or nil
}

// Header values that every answer shares.
var (
	noStore    = []string{"no-store"}
	noSniff    = []string{"nosniff"}
	noReferrer = []string{"no-referrer"}
)

// handle makes a handler for gin: everything that happens around a route's run.
func (f *face) handle(r route) gin.HandlerFunc {
	return func(c *gin.Context) {
		ctx, cancel := f.within(c.Request.Context(), r)
		defer cancel()
		x := &exchange{face: f, c: c, w: c.Writer, r: c.Request, ctx: ctx, route: &r, start: time.Now()}
		x.id = requestID(x.r.Header["X-Request-Id"])
		x.ctx = logging.WithRequest(ctx, x.id)
		x.enter()
		defer x.leave()
		if err := x.sealed(); err != nil {
			x.fail(err)
		} else if err := r.run(x); err != nil {
			x.fail(err)
		}
	}
}

// within is the context of a request: how long it may take.
func (f *face) within(parent context.Context, r route) (context.Context, context.CancelFunc) {
	if lasting[r.action] || r.path == restorePath {
		return f.untilStopping(parent)
	}
	return context.WithTimeout(parent, f.patience)
}

func (x *exchange) enter() {
	if x.r.Body != nil && x.r.Body != http.NoBody {
		// A client that sends its body a byte at a time must not hold on to
		// its connection. The server sets another deadline for what comes next.
		_ = http.NewResponseController(x.w).SetReadDeadline(x.start.Add(x.patience))
	}
	h := x.w.Header()
	h["X-Request-Id"] = []string{x.id}
	h["Cache-Control"] = noStore
	h["X-Content-Type-Options"] = noSniff
	h["Referrer-Policy"] = noReferrer
}

// requestID adopts the id that came with the request if we could have made it.
func requestID(inbound []string) string {
	if len(inbound) == 1 && canonicalID(inbound[0]) {
		return inbound[0]
	}
	return uuid.Must(uuid.NewV7()).String()
}

// sealed refuses what needs an open vault while there is none. It comes before
// the route, so that a sealed instance says the same about every address.
func (x *exchange) sealed() error {
	path := x.r.URL.Path
	if path != "/v1" && !strings.HasPrefix(path, "/v1/") {
		return nil
	}
	if path == backupPath && x.r.Method == http.MethodPost && x.operator {
		return nil // what it makes of sealed data is sealed
	}
	if path == "/v1/health" || path == openAPIPath || strings.HasPrefix(path, "/v1/sys/") || path == doctorPath && x.operator {
		return nil
	}
	return x.closed()
}

// closed is what a sealed instance answers, or nil.
func (x *exchange) closed() error {
	switch x.gate.State() {
	case api.StateOK:
		return nil
	case api.StateUninitialized:
		return api.Errorf(api.Sealed, "The vault is not set up yet. Its operator can do so with coffer init.")
	default:
		return api.Errorf(api.Sealed, "The vault is sealed. Its operator can open it with coffer unseal.")
	}
}

func (x *exchange) leave() {
	if p := recover(); p != nil {
		x.panicked(p)
	}
	releaseBuffer(x.body)
	took := time.Since(x.start)
	x.Metrics.Requests.Note(x.c.FullPath(), x.r.Method, x.w.Status(), took)
	level := x.level()
	if !x.Log.Enabled(x.ctx, level) {
		return
	}
	x.Log.LogAttrs(x.ctx, level, "request",
		slog.String("method", x.method()),
		slog.String("route", x.c.FullPath()),
		slog.Int("status", x.w.Status()),
		slog.Duration("took", took),
		slog.String("request", x.id),
		slog.String("caller", x.who.Kind()))
}

// probes are what machines ask for every few seconds.
var probes = map[string]bool{"/health": true, "/ready": true, "/metrics": true, "/v1/health": true}

// level is how much a request matters to whoever reads the log: answered probes fill
// it and say nothing.
func (x *exchange) level() slog.Level {
	if probes[x.c.FullPath()] && x.w.Status() < http.StatusBadRequest {
		return slog.LevelDebug
	}
	return slog.LevelInfo
}

// method is the request's method as a log may show it: an unknown one can be
// any text that a client made up.
func (x *exchange) method() string {
	if x.c.FullPath() == "" && len(x.r.Method) > len(http.MethodConnect) {
		return "other"
	}
	return x.r.Method
}

// panicked answers for a bug. The panic's own text may hold a value, unless it
// is the runtime's; the stack says where it was.
func (x *exchange) panicked(p any) {
	if p == http.ErrAbortHandler {
		panic(p)
	}
	what := fmt.Sprintf("%T", p)
	if err, ok := p.(runtime.Error); ok {
		what = err.Error()
	}
	x.Log.LogAttrs(x.ctx, slog.LevelError, "panic",
		slog.String("what", what),
		slog.String("route", x.c.FullPath()),
		slog.String("request", x.id),
		slog.String("stack", string(debug.Stack())))
	if !x.w.Written() {
		x.write(http.StatusInternalServerError, x.problem(&api.Error{Code: api.Internal}))
	}
}
