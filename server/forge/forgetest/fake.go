package forgetest

import (
	"net/http"
	"testing"

	"coffer/server/standin"
)

// Fake is a listening code host.
type Fake struct {
	*standin.Fake
	World *World
}

// NewFake listens on loopback until the test ends, and answers with host. No
// secret of w's may go astray.
func NewFake(t testing.TB, w *World, host http.Handler) *Fake {
	return &Fake{standin.New(t, w.secrets, host), w}
}
