package httpd

import (
	"net/netip"
	"sync"
	"time"
)

// maxTallies bounds each of a counter's two generations to about two megabytes.
// A flood of subjects beyond it makes the counter forget the eldest early,
// which is better than to refuse whoever comes new.
const maxTallies = 1 << 15

// counter counts requests by who sends them, in windows of one length that open
// with their first request. It sweeps itself: tallies lie in two generations,
// and after a window the older one, in which every tally has ended, goes.
//
// Times are durations since any one instant, so that a caller can measure them
// on a clock that nobody sets.
type counter struct {
	limit  int
	window time.Duration

	mu    sync.Mutex
	newer map[subject]tally
	older map[subject]tally
	since time.Duration // the newer generation
}

// subject is whose requests are counted.
type subject struct {
	credential bool // else an address
	id         [16]byte
}

type tally struct {
	used int
	ends time.Duration
}

// allowance is what a subject has left of its window.
type allowance struct {
	admitted  bool
	remaining int
	ends      time.Duration
}

func newCounter(limit int, window time.Duration) *counter {
	return &counter{limit: limit, window: window, newer: make(map[subject]tally)}
}

// take counts a request at a time, if it fits in.
func (c *counter) take(s subject, at time.Duration) allowance {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.turn(at)
	t, home := c.find(s)
	switch {
	case home == nil || at >= t.ends:
		t, home = tally{ends: at + c.window}, c.newer
	case t.ends > at+c.window:
		// The clock went back. The window begins anew, so that it locks nobody
		// out for longer, but what was used stays used.
		t.ends, home = at+c.window, c.newer
	}
	admitted := t.used < c.limit
	if admitted {
		t.used++
	}
	home[s] = t
	return allowance{admitted, c.limit - t.used, t.ends}
}

// full reports whether take would admit no more.
func (c *counter) full(s subject, at time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	t, home := c.find(s)
	return home != nil && at < t.ends && t.used >= c.limit
}

// refund takes back one request that was counted in the window with this end.
// It reports false if that window is over: the next one never had the request.
func (c *counter) refund(s subject, ends time.Duration) (allowance, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t, home := c.find(s)
	if home == nil || t.ends != ends || t.used == 0 {
		return allowance{}, false
	}
	t.used--
	home[s] = t
	return allowance{true, c.limit - t.used, t.ends}, true
}

// find returns a subject's tally and the generation it lies in, or nil.
func (c *counter) find(s subject) (tally, map[subject]tally) {
	if t, ok := c.newer[s]; ok {
		return t, c.newer
	}
	if t, ok := c.older[s]; ok {
		return t, c.older
	}
	return tally{}, nil
}

// turn begins another generation when it is time. A tally that was made in one
// has ended when the next but one begins, since generations last a window.
func (c *counter) turn(at time.Duration) {
	switch {
	case at < c.since:
		c.since = at
	case at-c.since >= c.window || len(c.newer) >= maxTallies:
		c.older, c.newer, c.since = c.newer, make(map[subject]tally), at
	}
}

// addressOf is who sends from an address. Whoever has one address of IPv6 has
// the 2^64 beside it, so these count as one: otherwise no limit would hold.
func addressOf(ip netip.Addr) subject {
	if ip.Is6() {
		network, _ := ip.Prefix(64)
		ip = network.Addr()
	}
	return subject{id: ip.As16()}
}
