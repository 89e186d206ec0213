package crypto

import (
	"fmt"
	"io"
	"log/slog"
)

const redactedText = "[redacted]"

// redacted gives the type that embeds it every print form that fmt, slog and
// the text encoders know, all of them without content. The receivers are
// values so that pointers and copies are covered alike.
//
// It cannot help in an unexported field of somebody else's struct, where fmt
// calls no methods. fmt follows one pointer there and prints the next one as an
// address, so key material lies behind two.
type redacted struct{}

func (redacted) String() string               { return redactedText }
func (redacted) GoString() string             { return redactedText }
func (redacted) LogValue() slog.Value         { return slog.StringValue(redactedText) }
func (redacted) MarshalText() ([]byte, error) { return []byte(redactedText), nil }
func (redacted) MarshalJSON() ([]byte, error) { return []byte(`"` + redactedText + `"`), nil }
func (redacted) Format(f fmt.State, _ rune)   { _, _ = io.WriteString(f, redactedText) }

// Secret holds a value that does not print itself.
//
// The value sits in a function because fmt calls no method on an unexported
// field of somebody else's struct: it walks into the field and through
// pointers, and stops at a function.
type Secret[T ~string | ~[]byte] struct {
	redacted
	value func() T
}

// NewSecret returns a Secret that holds v, without copying bytes.
func NewSecret[T ~string | ~[]byte](v T) Secret[T] {
	return Secret[T]{value: func() T { return v }}
}

// Reveal returns the value.
func (s Secret[T]) Reveal() T {
	if s.value == nil {
		var zero T
		return zero
	}
	return s.value()
}
