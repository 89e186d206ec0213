package hosting

import (
	"errors"
	"fmt"
	"time"
)

// Answers that are definite.
var (
	// ErrCredential means that the provider turned the credential down, or wants
	// the user to confirm who they are: the user must connect anew.
	ErrCredential = errors.New("credential turned down by the hosting provider")

	// ErrNotFound means that there is no such project, service or environment, or
	// that the credential does not reach it.
	ErrNotFound = errors.New("not found at the hosting provider")
)

// Unavailable means that the provider did not answer, or not with anything that
// can be understood. It says nothing about what was asked.
type Unavailable struct {
	RetryAfter time.Duration // 0 when the provider did not say
	Limited    bool          // it was asked too often
	RequestID  string        // the provider's name for the request, or ""
	Err        error         // holds no token, no value and no text of the provider's
}

func (e *Unavailable) Error() string {
	return fmt.Sprintf("the hosting provider did not answer: %v", e.Err)
}

// Unwrap is the reason.
func (e *Unavailable) Unwrap() error { return e.Err }

// Code says why a variable could not be written or deleted. The list is closed.
type Code string

// Codes of failures, as on the wire.
const (
	CodeTooLarge    Code = "too_large"
	CodeInvalidKey  Code = "invalid_key"
	CodeInvalid     Code = "invalid_value"
	CodeReserved    Code = "reserved_key"
	CodeLimit       Code = "limit_reached"
	CodeConflict    Code = "conflict"
	CodeForbidden   Code = "forbidden"
	CodePlan        Code = "plan_required"
	CodeRefused     Code = "refused"
	CodeLimited     Code = "rate_limited"
	CodeUnavailable Code = "unavailable"
	CodeCredential  Code = "credential_rejected"
	CodeNotFound    Code = "not_found"
	CodeCancelled   Code = "cancelled"
	CodeNotReached  Code = "not_reached"
)

// messages are our own words for what providers say.
var messages = map[Code]string{
	CodeTooLarge:    "Over the provider's limit for a value. Shorten it, or keep it out of this environment.",
	CodeInvalidKey:  "The provider does not take this name. Rename the secret.",
	CodeInvalid:     "The provider does not take this value. Check it in the provider's own form.",
	CodeReserved:    "The provider keeps this name for itself. Rename the secret.",
	CodeLimit:       "The provider takes no more variables in this place. Delete some there.",
	CodeConflict:    "Somebody else is changing this variable at the provider. Sync again.",
	CodeForbidden:   "The connected account may not change this variable. Ask for the right, or connect another account.",
	CodePlan:        "The account's plan at the provider does not allow this. Change the plan or the variable's kind there.",
	CodeRefused:     "The provider refused it. Try the same in its own form to see why.",
	CodeLimited:     "The provider was asked too often. Sync again in some minutes.",
	CodeUnavailable: "The provider did not answer. Sync again later.",
	CodeCredential:  "The provider turned the connection's credential down. Connect again, then sync again.",
	CodeNotFound:    "It is no longer at the provider. Sync again.",
	CodeCancelled:   "The run was stopped before it got here. Sync again to finish.",
	CodeNotReached:  "Not tried, because something before it failed. Sync again once that is mended.",
}

// Message is what a code means and what to do about it, in our own words.
func (c Code) Message() string { return messages[c] }

// Retryable reports whether trying again later may help without anybody doing
// anything.
func (c Code) Retryable() bool {
	switch c {
	case CodeConflict, CodeLimited, CodeUnavailable, CodeNotFound, CodeCancelled, CodeNotReached:
		return true
	}
	return false
}

// Failure is why one variable could not be written or deleted.
type Failure struct {
	Code      Code
	RequestID string // the provider's name for the request, or ""
}

func (e *Failure) Error() string { return e.Code.Message() }

// FailureOf is what an error means for a variable that it kept from being done.
func FailureOf(err error) *Failure {
	var f *Failure
	var u *Unavailable
	switch {
	case errors.As(err, &f):
		return f
	case errors.Is(err, ErrCredential):
		return &Failure{Code: CodeCredential}
	case errors.Is(err, ErrNotFound):
		return &Failure{Code: CodeNotFound}
	case errors.As(err, &u) && u.Limited:
		return &Failure{Code: CodeLimited, RequestID: u.RequestID}
	case errors.As(err, &u):
		return &Failure{Code: CodeUnavailable, RequestID: u.RequestID}
	default:
		return &Failure{Code: CodeUnavailable}
	}
}
