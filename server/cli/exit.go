package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"time"

	"coffer/server"
	"coffer/server/api"
	"coffer/server/client"
)

// Exit codes. Scripts depend on them.
const (
	exitOK          = 0
	exitError       = 1
	exitAuth        = 2
	exitNotFound    = 3
	exitForbidden   = 4
	exitNetwork     = 5
	exitConflict    = 6
	exitSealed      = 7
	exitLimited     = 8
	exitInvalid     = 9
	exitUsage       = 64
	exitInterrupted = 130
)

// exitCodes is the only map from the server's codes to exit codes; a code that
// is not in it is a plain error.
var exitCodes = map[api.Code]int{
	api.BadRequest:   exitInvalid,
	api.Unauthorized: exitAuth,
	api.Forbidden:    exitForbidden,
	api.PlanLimit:    exitForbidden,
	api.NotFound:     exitNotFound,
	api.Conflict:     exitConflict,
	api.TooLarge:     exitInvalid,
	api.Invalid:      exitInvalid,
	api.RateLimited:  exitLimited,
	api.Sealed:       exitSealed,
	api.Unavailable:  exitNetwork,
	api.Timeout:      exitNetwork,
}

// failure is an error of the command line itself: its text says what to do.
type failure struct {
	exit int
	text string
}

func (f *failure) Error() string { return f.text }

func failf(exit int, format string, args ...any) error {
	return &failure{exit, fmt.Sprintf(format, args...)}
}

func usagef(format string, args ...any) error { return failf(exitUsage, format, args...) }

// childExit is the exit code of a command that run has started, to be passed on.
type childExit int

func (c childExit) Error() string { return fmt.Sprintf("the command ended with %d", int(c)) }

// quietExit is an exit code that needs no words.
type quietExit int

func (q quietExit) Error() string { return fmt.Sprintf("exit code %d", int(q)) }

// hinted is an error with one more way out.
type hinted struct {
	error
	hint string
}

func (h *hinted) Unwrap() error { return h.error }

// advised is an error whose next step only the command knows.
type advised struct {
	error
	advice string
}

func (a *advised) Unwrap() error { return a.error }

func exitCode(err error) int {
	if e, ok := errors.AsType[*api.Error](err); ok {
		if code, ok := exitCodes[e.Code]; ok {
			return code
		}
		return exitError
	}
	if f, ok := errors.AsType[*failure](err); ok {
		return f.exit
	}
	if c, ok := errors.AsType[childExit](err); ok {
		return int(c)
	}
	if q, ok := errors.AsType[quietExit](err); ok {
		return int(q)
	}
	if _, ok := errors.AsType[*client.NetworkError](err); ok || errors.Is(err, server.ErrNotRunning) {
		return exitNetwork
	}
	return exitError
}

// advice is the next step after an error, or "" when its text holds it.
func advice(err error) string {
	if h, ok := errors.AsType[*hinted](err); ok {
		return strings.TrimPrefix(advice(h.error)+"\n"+h.hint, "\n")
	}
	if a, ok := errors.AsType[*advised](err); ok {
		return a.advice
	}
	if n, ok := errors.AsType[*client.NetworkError](err); ok {
		if errors.Is(n, context.DeadlineExceeded) {
			return "It took too long. Try again."
		}
		if n.Server == operatorURL {
			return "See whether it still runs: coffer status --data DIR"
		}
		return "Check the address (--server, COFFER_URL) and that the server runs: coffer status --server URL"
	}
	if errors.Is(err, server.ErrNotRunning) {
		return "Start it: coffer serve --data DIR"
	}
	if errors.Is(err, server.ErrLocked) {
		return "Another coffer works on this data. Wait until it has ended, or stop it.\nTo see whether it is a server: coffer status --data DIR"
	}
	if errors.Is(err, server.ErrOlder) {
		return "A server that starts on it upgrades it, after a snapshot: coffer serve --data DIR"
	}
	if errors.Is(err, server.ErrNewer) {
		return "Start the version of coffer that ran last. To give up what it changed, go back with it to\nthe data from before the upgrade: coffer rollback-upgrade --data DIR"
	}
	if errors.Is(err, syscall.EADDRINUSE) {
		return "Another program listens there. Choose another address: --listen HOST:PORT"
	}
	if errors.Is(err, fs.ErrPermission) {
		return "Run this as the user that owns it, or give yourself access."
	}
	e, ok := errors.AsType[*api.Error](err)
	if !ok {
		return ""
	}
	return adviceFor(e)
}

func adviceFor(e *api.Error) string {
	switch e.Code {
	case api.Unauthorized:
		return "Sign in: coffer login URL"
	case api.RateLimited, api.Unavailable:
		if e.RetryAfter > 0 {
			return fmt.Sprintf("Try again in %s.", e.RetryAfter.Round(time.Second))
		}
		return "Try again later."
	case api.PlanLimit:
		if e.UpgradeURL != "" {
			return "See: " + e.UpgradeURL
		}
	case api.Timeout:
		return "Nothing was written. Try again."
	case api.Internal:
		if e.RequestID != "" {
			return "The server's log says more at request " + e.RequestID + "."
		}
		return "The server's log says more."
	}
	return ""
}
