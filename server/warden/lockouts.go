package warden

import (
	"hash/maphash"
	"strings"
	"sync"
	"time"
)

// Passwords can be guessed, so each name has a few attempts, and then ever longer
// pauses between them.
const (
	freeAttempts   = 5
	firstPause     = 2 * time.Second
	longestPause   = 15 * time.Minute
	attemptsMemory = time.Hour // attempts longer ago than this count no more

	// maxNames bounds each of two generations of names to about a megabyte. A
	// flood of names beyond it makes the eldest be forgotten early. Since each
	// of the flood costs the hash of a password, and two are computed at a time,
	// it takes longer than the pause that it shortens.
	maxNames = 1 << 14
)

// lockouts count attempts to sign in by name, whether or not somebody has it: a
// pause must not tell which names there are. Names are kept as hashes under a key
// of this process only.
type lockouts struct {
	now  func() time.Time
	seed maphash.Seed

	mu           sync.Mutex
	newer, older map[uint64]attempts
	since        time.Time // the newer generation
}

type attempts struct {
	count int
	until time.Time // the end of the pause
}

func newLockouts(now func() time.Time) *lockouts {
	return &lockouts{now: now, seed: maphash.MakeSeed(), newer: make(map[uint64]attempts)}
}

func (l *lockouts) name(text string) uint64 {
	return maphash.String(l.seed, strings.ToLower(text))
}

// attempt counts an attempt for a name before it is made, so that many at once
// get no further than one after another; or returns how long to wait first.
func (l *lockouts) attempt(name string) (wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now, n := l.now(), l.name(name)
	l.turn(now)
	a, known := l.newer[n]
	if !known {
		a = l.older[n]
	}
	// A clock that was set back must not make a pause longer than it was meant.
	if wait := min(a.until.Sub(now), longestPause); wait > 0 {
		return wait
	}
	a.count++
	a.until = now.Add(pause(a.count))
	l.newer[n] = a
	return 0
}

// pause is how long to wait after so many attempts.
func pause(count int) time.Duration {
	if count < freeAttempts {
		return 0
	}
	doublings := min(count-freeAttempts, 30)
	return min(firstPause<<doublings, longestPause)
}

// clear forgets the attempts for a name: the last one was right.
func (l *lockouts) clear(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.name(name)
	delete(l.newer, n)
	delete(l.older, n)
}

// turn begins another generation when it is time.
func (l *lockouts) turn(now time.Time) {
	if now.Sub(l.since).Abs() >= attemptsMemory || len(l.newer) >= maxNames {
		l.older, l.newer, l.since = l.newer, make(map[uint64]attempts), now
	}
}
