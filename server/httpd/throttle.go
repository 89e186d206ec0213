package httpd

import (
	"context"
	"net/netip"
	"time"
)

// Attempts of one client in a minute.
const (
	maxAttempts   = 10
	attemptWindow = time.Minute
)

// throttle slows down guessing at the keys of the instance. Attempts run one
// after another, because each may cost the memory of a key derivation, and a
// client has a fixed number of them in each minute, whatever the other limits
// are set to.
type throttle struct {
	now      func() time.Time
	opened   time.Time
	attempts *counter
	slot     chan struct{}
}

func newThrottle(now func() time.Time) *throttle {
	return &throttle{
		now: now, opened: now(),
		attempts: newCounter(maxAttempts, attemptWindow),
		slot:     make(chan struct{}, 1),
	}
}

// count counts an attempt, and returns how long the client has to wait if it
// had too many of them.
func (t *throttle) count(client netip.Addr) time.Duration {
	at := t.now().Sub(t.opened)
	got := t.attempts.take(addressOf(client), at)
	if got.admitted {
		return 0
	}
	return got.ends - at
}

// enter waits for its turn.
func (t *throttle) enter(ctx context.Context) error {
	select {
	case t.slot <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t *throttle) leave() { <-t.slot }
