package api

import (
	"encoding/json"
	"fmt"
	"log/slog"
)

const redacted = "[redacted]"

// Secret is a value that will not print itself: every form of it says
// "[redacted]" but Reveal. The zero Secret is the empty value.
type Secret struct{ value string }

// NewSecret wraps a value.
func NewSecret(value string) Secret { return Secret{value} }

// Reveal is the value itself: the one way to read it.
func (s Secret) Reveal() string { return s.value }

// Len is the value's length in bytes.
func (s Secret) Len() int { return len(s.value) }

// String redacts.
func (s Secret) String() string { return redacted }

// GoString redacts.
func (s Secret) GoString() string { return redacted }

// Format redacts, whatever the verb.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(redacted)) }

// LogValue redacts.
func (s Secret) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalJSON redacts: a value leaves the process as [Revealed] or not at all.
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }

// UnmarshalJSON takes a JSON string.
func (s *Secret) UnmarshalJSON(b []byte) error { return json.Unmarshal(b, &s.value) }

// Revealed is a value that is meant to be seen by whoever reads the JSON it
// stands in: the answer of a reveal, or a request of our own client. Logs and
// prints still redact it.
type Revealed string

// String redacts.
func (Revealed) String() string { return redacted }

// GoString redacts.
func (Revealed) GoString() string { return redacted }

// Format redacts, whatever the verb.
func (Revealed) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(redacted)) }

// LogValue redacts.
func (Revealed) LogValue() slog.Value { return slog.StringValue(redacted) }
