package forge

import (
	"errors"
	"fmt"
	"time"
)

// Answers that are definite. Everything else is an [*Unavailable] or a bug, and
// none of them is ever a role.
var (
	// ErrNotFound means that there is no such thing, or that the asker may not
	// know of it.
	ErrNotFound = errors.New("not found at the code host")

	// ErrGone means that the host knows that there is no such thing any more.
	ErrGone = errors.New("no longer at the code host")

	// ErrRefused means that the host does not let the user do this.
	ErrRefused = errors.New("refused by the code host")

	// ErrToken means that the code host turned the user's token down, or that
	// it is none that a person may use here.
	ErrToken = errors.New("token turned down by the code host")

	// ErrNoCredential means that the question was to be asked with the service
	// credential, and that there is none which reaches so far.
	ErrNoCredential = errors.New("no service credential reaches this")

	// ErrGrantEnded means that a refresh token is good no longer: the user must
	// sign in anew.
	ErrGrantEnded = errors.New("the code host ended the sign-in")
)

// ForeignToken is an [ErrToken] that says why: the token is valid at the host
// but not for use here.
type ForeignToken struct{ Why string }

func (e *ForeignToken) Error() string { return ErrToken.Error() + ": " + e.Why }

// Is makes it an ErrToken.
func (e *ForeignToken) Is(target error) bool { return target == ErrToken }

// Unavailable means that the host did not answer, or not with anything that can
// be understood: slow, down, rate limited, truncated. It says nothing about what
// was asked.
type Unavailable struct {
	RetryAfter time.Duration // 0 when the host did not say
	Err        error         // holds no token and no address with one
}

func (e *Unavailable) Error() string { return fmt.Sprintf("the code host did not answer: %v", e.Err) }

// Unwrap is the reason.
func (e *Unavailable) Unwrap() error { return e.Err }

// Missing means that the credential lacks a permission or scope, which What
// names in the host's words: "the scope read:org".
type Missing struct {
	What    string
	Service bool // it is the service credential that lacks it
}

func (e *Missing) Error() string {
	if e.Service {
		return "the service credential lacks " + e.What
	}
	return "the sign-in lacks " + e.What
}
