package warden

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"coffer/crypto"
	"coffer/server/api"
)

// TestNobodysPasswordCostsAsMuch: a name that nobody has is held against a hash
// of the same cost, and waits for its turn like the others.
func TestNobodysPasswordCostsAsMuch(t *testing.T) {
	p := newPasswords(time.Now)
	anns, err := crypto.HashPassword([]byte("right"))
	if err != nil {
		t.Fatal(err)
	}
	nobodys, err := p.nobodys()
	if err != nil {
		t.Fatal(err)
	}
	cost := func(hash string) string { return strings.Join(strings.Split(hash, "$")[:4], "$") }
	if cost(anns) != cost(nobodys) {
		t.Errorf("%s costs other than %s", nobodys, anns)
	}
	for hash, want := range map[string]bool{anns: true, "": false, nobodys: false} {
		if right, _, err := p.verify(t.Context(), "ann", hash, api.NewSecret("right")); right != want || err != nil {
			t.Errorf("%q: %t %v", hash, right, err)
		}
	}
	if _, _, err := p.verify(t.Context(), "ann", "no hash", api.NewSecret("right")); err == nil {
		t.Error("a damaged hash is no error")
	}
	p.nobodys = func() (string, error) { return "no hash", nil }
	if _, _, err := p.verify(t.Context(), "ann", "", api.NewSecret("right")); err == nil {
		t.Error("a name that nobody has is held against nothing")
	}
	for range cap(p.slots) {
		p.slots <- struct{}{}
	}
	for _, hash := range []string{anns, ""} {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		if _, _, err := p.verify(ctx, "ann", hash, api.NewSecret("right")); api.CodeOf(err) != api.Unavailable {
			t.Errorf("%q does not wait for its turn: %v", hash, err)
		}
		cancel()
	}
}

func TestPausesGrowAndEnd(t *testing.T) {
	now := time.Unix(1e9, 0)
	l := newLockouts(func() time.Time { return now })
	var before time.Duration
	for i := range 20 {
		if wait := l.attempt("ann"); wait != 0 {
			t.Fatalf("attempt %d: wait %s", i, wait)
		}
		wait := l.attempt("ANN")
		switch {
		case i < freeAttempts/2:
		case wait > longestPause || wait < before:
			t.Errorf("attempt %d: %s after %s", i, wait, before)
		}
		before = wait
		now = now.Add(wait)
	}
	if before != longestPause {
		t.Errorf("the longest pause is %s", before)
	}
	if wait := l.attempt("bob"); wait != 0 {
		t.Errorf("bob waits %s", wait)
	}
	l.clear("Ann")
	for i := range freeAttempts {
		if wait := l.attempt("ann"); wait != 0 {
			t.Errorf("after a right one, attempt %d: %s", i, wait)
		}
	}
	now = now.Add(-24 * time.Hour) // a clock that was set back
	if wait := l.attempt("ann"); wait > longestPause {
		t.Errorf("wait %s", wait)
	}
	now = now.Add(24 * time.Hour).Add(2 * attemptsMemory)
	l.attempt("x")
	now = now.Add(attemptsMemory)
	l.attempt("x")
	for i := range freeAttempts {
		if wait := l.attempt("ann"); wait != 0 {
			t.Errorf("hours later, attempt %d: %s", i, wait)
		}
	}
}

// TestManyAttemptsAtOnceGetNoFurther than one after another.
func TestManyAttemptsAtOnceGetNoFurther(t *testing.T) {
	l := newLockouts(time.Now)
	var admitted atomic.Int64
	var all sync.WaitGroup
	for range 200 {
		all.Go(func() {
			if l.attempt("ann") == 0 {
				admitted.Add(1)
			}
		})
	}
	all.Wait()
	if n := admitted.Load(); n != freeAttempts {
		t.Errorf("%d were admitted", n)
	}
}

func TestAFloodOfNamesIsBounded(t *testing.T) {
	l := newLockouts(time.Now)
	for i := range 3 * maxNames {
		l.attempt(fmt.Sprint("name", i))
	}
	if n := len(l.newer) + len(l.older); n > 2*maxNames {
		t.Errorf("%d names are kept", n)
	}
}

// TestWhoDoesNotWaitForTheirTurnIsNotCounted: names that cost no work could be
// sent until the pauses of others are forgotten.
func TestWhoDoesNotWaitForTheirTurnIsNotCounted(t *testing.T) {
	p := newPasswords(time.Now)
	for range cap(p.slots) {
		p.slots <- struct{}{}
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	for range 2 * freeAttempts {
		if _, _, err := p.verify(gone, "ann", "", api.NewSecret("wrong")); api.CodeOf(err) != api.Unavailable {
			t.Fatalf("it was not waited for: %v", err)
		}
	}
	if n := len(p.lockouts.newer); n > 0 {
		t.Errorf("%d names are kept", n)
	}
	if wait := p.lockouts.attempt("ann"); wait > 0 {
		t.Errorf("the next one waits %s", wait)
	}
}
