package api

import (
	"errors"
	"fmt"
	"time"
)

// Code is one kind of failure a user may see. The words are the slugs of the
// wire; httpd maps them to statuses, cli to exit codes, and nobody else does.
type Code string

// The closed list.
const (
	BadRequest       Code = "bad-request"
	Unauthorized     Code = "unauthorized"
	Forbidden        Code = "forbidden"
	PlanLimit        Code = "plan-limit"
	NotFound         Code = "not-found"
	MethodNotAllowed Code = "method-not-allowed"
	Conflict         Code = "conflict"
	TooLarge         Code = "payload-too-large"
	Invalid          Code = "validation-error"
	RateLimited      Code = "rate-limited"
	Internal         Code = "internal-error"
	ProviderFailed   Code = "provider-error"
	Sealed           Code = "sealed"
	Unavailable      Code = "service-unavailable"
	Timeout          Code = "timeout"
)

// Error is a failure in the words of the wire. Message is a sentence that says
// what to do next and holds neither a secret value nor a token.
type Error struct {
	Code       Code
	Message    string
	Fields     []FieldError   // for Invalid: what is wrong with which field
	RetryAfter time.Duration  // for Sealed, Unavailable and RateLimited
	UpgradeURL string         // for PlanLimit
	Extra      map[string]any // members that belong to one endpoint
	RequestID  string         // filled in by the client: names the request in the server's log
}

// Error is the message, with the failing fields where there are any.
func (e *Error) Error() string {
	if len(e.Fields) == 0 {
		return e.Message
	}
	text := e.Message
	for _, f := range e.Fields {
		text += fmt.Sprintf("\n  %s: %s", f.Field, f.Message)
	}
	return text
}

// Is makes errors.Is(err, &Error{Code: c}) true for every error of code c.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code && t.Message == ""
}

// Errorf makes an error of one code.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// CodeOf is the code of err, or Internal for an error that is none of ours.
func CodeOf(err error) Code {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return Internal
}

// FieldCode says how a field is wrong.
type FieldCode string

// The closed list.
const (
	Required      FieldCode = "required"
	InvalidType   FieldCode = "invalid_type"
	InvalidFormat FieldCode = "invalid_format"
	TooShort      FieldCode = "too_short"
	TooLong       FieldCode = "too_long"
	TooSmall      FieldCode = "too_small"
	FieldTooLarge FieldCode = "too_large"
	UnknownValue  FieldCode = "unknown_value"
	NotAllowed    FieldCode = "not_allowed"
	Duplicate     FieldCode = "duplicate"
)

// FieldError names one failing field by its dotted path.
type FieldError struct {
	Field   string    `json:"field"`
	Code    FieldCode `json:"code"`
	Message string    `json:"message"`
}

// InvalidField is the Invalid error about one field.
func InvalidField(field string, code FieldCode, format string, args ...any) *Error {
	var f Fields
	f.Add(field, code, format, args...)
	return f.Err()
}

const maxFields = 100

// Fields gathers what is wrong with a request. The zero value is ready.
type Fields struct {
	// Subgroups lets the owner of a repository be GitLab's groups in groups.
	Subgroups bool

	errs  []FieldError
	count int
	seen  map[string]bool
}

// Add notes one failing field. The first complaint about a field stands.
func (f *Fields) Add(field string, code FieldCode, format string, args ...any) {
	if f.seen[field] {
		return
	}
	if f.seen == nil {
		f.seen = make(map[string]bool)
	}
	f.seen[field] = true
	f.count++
	if len(f.errs) < maxFields {
		f.errs = append(f.errs, FieldError{field, code, fmt.Sprintf(format, args...)})
	}
}

// Has reports whether something was said about the field already.
func (f *Fields) Has(field string) bool { return f.seen[field] }

// Err is nil when nothing was added.
func (f *Fields) Err() *Error {
	switch f.count {
	case 0:
		return nil
	case 1:
		return &Error{Code: Invalid, Message: f.errs[0].Field + ": " + f.errs[0].Message, Fields: f.errs}
	default:
		return &Error{Code: Invalid, Message: fmt.Sprintf("%d fields are invalid.", f.count), Fields: f.errs}
	}
}

func (f *Fields) between(field string, v *int, low, high int) {
	switch {
	case v == nil:
	case *v < low:
		f.Add(field, TooSmall, "At least %d.", low)
	case *v > high:
		f.Add(field, FieldTooLarge, "At most %d.", high)
	}
}

func (f *Fields) oneOf(field, v string, allowed ...string) {
	for _, a := range allowed {
		if v == a {
			return
		}
	}
	f.Add(field, UnknownValue, "One of %s.", join(allowed))
}

func join(words []string) string {
	text := ""
	for i, w := range words {
		switch {
		case i == 0:
		case i == len(words)-1:
			text += " or "
		default:
			text += ", "
		}
		text += w
	}
	return text
}

func (f *Fields) key(field, v string) {
	if !ValidKey(v) {
		f.Add(field, InvalidFormat, KeyRule)
	}
}

func (f *Fields) environment(field, v string) {
	if !ValidEnvironment(v) {
		f.Add(field, InvalidFormat, EnvironmentRule)
	}
}

func (f *Fields) repo(field, v string) {
	owner, _, ok := SplitRepo(v)
	switch {
	case f.Subgroups && !ok:
		f.Add(field, InvalidFormat, SubgroupRule)
	case !f.Subgroups && (!ok || !ValidOwner(owner)):
		f.Add(field, InvalidFormat, RepoRule)
	}
}
