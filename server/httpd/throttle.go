package httpd

import (
	"context"
	"net/netip"
	"sync"
	"time"
)

// Attempts of one client in a minute.
const (
	maxAttempts   = 10
	attemptWindow = time.Minute
	maxClients    = 10_000
)

// throttle slows down guessing at the keys of the instance. Attempts run one
// after another, because each may cost the memory of a key derivation, and a
// client has a fixed number of them in each minute.
type throttle struct {
	now  func() time.Time
	slot chan struct{}

	mu       sync.Mutex
	ends     time.Time
	attempts map[netip.Addr]int
}

func newThrottle(now func() time.Time) *throttle {
	return &throttle{now: now, slot: make(chan struct{}, 1)}
}

// count counts an attempt, and returns how long the client has to wait if it
// had too many of them.
func (t *throttle) count(client netip.Addr) time.Duration {
	if client.Is6() {
		// Whoever has one address of IPv6 has the 2^64 beside it.
		network, _ := client.Prefix(64)
		client = network.Addr()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	if !now.Before(t.ends) {
		t.ends = now.Add(attemptWindow)
		t.attempts = make(map[netip.Addr]int)
	}
	n, seen := t.attempts[client]
	if n >= maxAttempts || !seen && len(t.attempts) >= maxClients {
		return t.ends.Sub(now)
	}
	t.attempts[client] = n + 1
	return 0
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
