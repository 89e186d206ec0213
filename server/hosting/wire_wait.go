package hosting

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"
)

// When something is asked again.

// jitter is a random pause that may grow with every try.
func jitter(try int) time.Duration {
	top := min(minPause<<try, maxPause)
	return time.Duration(rand.Int64N(int64(top)) + 1)
}

// pause remembers how long a token must be quiet.
func (w *wire) pause(c Credential, d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.now()
	maps.DeleteFunc(w.quiet, func(_ string, until time.Time) bool { return !now.Before(until) }) // many tokens are never asked with again
	if until := now.Add(d); until.After(w.quiet[c.key()]) {
		w.quiet[c.key()] = until
	}
}

// key tells credentials apart.
func (c Credential) key() string { return c.Token.Reveal() }

// hush waits until a token may speak again.
func (w *wire) hush(ctx context.Context, c Credential) error {
	w.mu.Lock()
	until, ok := w.quiet[c.key()]
	w.mu.Unlock()
	if d := until.Sub(w.now()); ok && d > 0 {
		if err := w.wait(ctx, d); err != nil {
			return &Unavailable{RetryAfter: d, Limited: true, Err: errLimited}
		}
		if w.sleep != nil { // no time has passed
			w.mu.Lock()
			delete(w.quiet, c.key())
			w.mu.Unlock()
		}
	}
	return nil
}

// wait waits, unless ctx ends before that.
func (w *wire) wait(ctx context.Context, d time.Duration) error {
	if end, ok := ctx.Deadline(); ok && time.Until(end) < d {
		return context.DeadlineExceeded
	}
	if w.sleep != nil {
		w.sleep(d)
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// limited is the fault of having asked too often.
func (w *wire) limited(a *answer) error {
	return &fault{wait: cmp.Or(w.asked(a), w.limitPause), limited: true, id: a.requestID(), why: errLimited.Error()}
}

// asked is how long the provider wants to be left alone: the longest of what it
// says in its different ways, within bounds, because some of it is nonsense at
// times. 0 is when it does not say.
func (w *wire) asked(a *answer) time.Duration {
	var d time.Duration
	said := false
	say := func(x time.Duration) { d, said = max(d, x), true }
	text := a.Header.Get("Retry-After")
	if n, ok := seconds(text); ok {
		say(n)
	} else if at, err := http.ParseTime(text); err == nil {
		say(at.Sub(w.now()))
	}
	// Many say with every answer when they will count anew. It is to be waited for
	// only once nothing is left.
	left := a.Header.Get("X-Ratelimit-Remaining")
	if at, ok := seconds(a.Header.Get("X-Ratelimit-Reset")); ok && a.Status/100 == 4 && (left == "" || left == "0") {
		say(w.until(at))
	}
	var body struct {
		Error struct {
			Limit struct {
				Reset float64 `json:"reset"`
			} `json:"limit"`
		} `json:"error"`
	}
	if a.isJSON() && json.Unmarshal(a.Body, &body) == nil && body.Error.Limit.Reset != 0 {
		if at, ok := seconds(fmt.Sprintf("%.0f", body.Error.Limit.Reset)); ok {
			say(w.until(at))
		}
	}
	if !said {
		return 0
	}
	return min(max(d, minWait), maxWait)
}

// until is how long it is until a time given as seconds since 1970.
func (w *wire) until(epoch time.Duration) time.Duration {
	return time.Unix(int64(epoch/time.Second), 0).Sub(w.now())
}

// seconds reads a number of seconds, as far as a Duration can hold it.
func seconds(text string) (time.Duration, bool) {
	d, err := time.ParseDuration(strings.TrimSpace(text) + "s")
	return d, err == nil && text != ""
}
