// Package logging writes the server's own log: structured, each line of a request
// with that request's id, and without secrets.
//
// Its invariant: whatever reaches [Handler] leaves it without anything that has the
// shape of a credential, or stands under the name of one. That is the second line
// of defence. The first is that nobody logs secrets, and that types which hold one
// say [redacted] themselves.
package logging

import (
	"context"
	"fmt"
	"io"
	"log/slog"
)

// requestKey is what a request's id is called, in lines and among a context's values.
const requestKey = "request"

type contextKey struct{}

// WithRequest gives everything that is logged with this context the id of a request.
func WithRequest(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, contextKey{}, id)
}

// New is a log that writes lines of at least a level ("" is info) to out, as text
// ("" too) or json.
func New(level, format string, out io.Writer) (*slog.Logger, error) {
	var least slog.Level
	if level != "" {
		if err := least.UnmarshalText([]byte(level)); err != nil {
			return nil, fmt.Errorf("log.level is %q; it is debug, info, warn or error", level)
		}
	}
	options := &slog.HandlerOptions{Level: least}
	switch format {
	case "", "text":
		return slog.New(Handler{slog.NewTextHandler(out, options)}), nil
	case "json":
		return slog.New(Handler{slog.NewJSONHandler(out, options)}), nil
	}
	return nil, fmt.Errorf("log.format is %q; it is text or json", format)
}

// Handler stands before another one: it adds the request's id and takes secrets out.
type Handler struct{ to slog.Handler }

// Enabled implements [slog.Handler].
func (h Handler) Enabled(ctx context.Context, l slog.Level) bool { return h.to.Enabled(ctx, l) }

// Handle implements [slog.Handler].
func (h Handler) Handle(ctx context.Context, r slog.Record) error {
	id, _ := ctx.Value(contextKey{}).(string)
	clean := slog.NewRecord(r.Time, r.Level, Redact(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == requestKey {
			id = ""
		}
		clean.AddAttrs(redacted(a))
		return true
	})
	if id != "" {
		clean.AddAttrs(slog.String(requestKey, id))
	}
	return h.to.Handle(ctx, clean)
}

// WithAttrs implements [slog.Handler].
func (h Handler) WithAttrs(all []slog.Attr) slog.Handler {
	clean := make([]slog.Attr, len(all))
	for i, a := range all {
		clean[i] = redacted(a)
	}
	return Handler{h.to.WithAttrs(clean)}
}

// WithGroup implements [slog.Handler].
func (h Handler) WithGroup(name string) slog.Handler { return Handler{h.to.WithGroup(name)} }
