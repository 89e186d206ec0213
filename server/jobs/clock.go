package jobs

import (
	"context"
	"time"
)

// A clock that is set a year ahead by mistake makes everything look old. What jobs
// remove then is gone when the clock is set right. So a leap is not believed at once:
// jobs that remove wait until the server has run for a day with it, which gives the
// time services and the operator time to mend it. One that really was off for long
// loses nothing but that day. A clock that is behind needs no such care: less looks
// old, not more.
const (
	leapTime = 7 * 24 * time.Hour // more than this between two looks is a leap
	waitTime = 24 * time.Hour     // for how long a leap must last to be believed
)

// clock tells leaps of the wall clock. It belongs to the runner's lock.
type clock struct {
	known time.Time // a time of the wall clock that is believed
	at    time.Time // when it was, by the process's own clock, which nobody sets
	leapt time.Time // since when a leap is seen, by the process's own clock; zero without one
}

// look takes what the wall clock says, and returns for how long removing waits.
func (c *clock) look(wall, own time.Time) time.Duration {
	if c.known.IsZero() {
		c.known, c.at = wall, own
		return 0
	}
	believed := c.known.Add(own.Sub(c.at))
	if wall.Sub(believed) <= leapTime {
		c.known, c.at, c.leapt = wall, own, time.Time{}
		return 0
	}
	if c.leapt.IsZero() {
		c.leapt = own
	}
	left := waitTime - own.Sub(c.leapt)
	if left <= 0 {
		c.known, c.at, c.leapt = wall, own, time.Time{}
		return 0
	}
	return left
}

// lookAtClock says for how long jobs that remove wait, because the clock leapt. It
// logs the beginning and the end of that.
func (r *Runner) lookAtClock(ctx context.Context) time.Duration {
	r.mu.Lock()
	fresh := r.clock.known.IsZero()
	r.mu.Unlock()
	var known time.Time
	if fresh {
		var err error
		if known, err = r.lastKnown(ctx); err != nil {
			r.log.WarnContext(ctx, "could not look up when the server last worked", "error", err)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	own := time.Now()
	if fresh && !known.IsZero() {
		r.clock.look(known, own)
	}
	before := !r.clock.leapt.IsZero()
	left := r.clock.look(r.warden.Now(), own)
	switch {
	case left > 0 && !before:
		r.log.WarnContext(ctx, "the clock leapt ahead, so nothing is removed for a day; set it right, or run the jobs by hand if it is",
			"now", r.warden.Now().UTC(), "expected_about", r.clock.known.Add(own.Sub(r.clock.at)).UTC())
	case left == 0 && before:
		r.log.InfoContext(ctx, "jobs remove again what is over its time", "now", r.warden.Now().UTC())
	}
	return left
}

// lastKnown is when a job that removes last ran, or zero. What else the data know of
// times may come from the clock that leapt, before a restart.
func (r *Runner) lastKnown(ctx context.Context) (last time.Time, err error) {
	runs, err := r.runs(ctx)
	for _, j := range r.jobs {
		if at := runs[j.Name].Ended; !j.Keeps && at.After(last) {
			last = at
		}
	}
	return last, err
}

// believe takes the clock for right: somebody had a job removed what looks old by it.
func (r *Runner) believe() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.clock = clock{known: r.warden.Now(), at: time.Now()}
}

// Leap is for how long jobs that remove wait because the clock leapt ahead; 0 when it
// did not.
func (r *Runner) Leap() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.clock.leapt.IsZero() {
		return 0
	}
	return max(waitTime-time.Since(r.clock.leapt), 0)
}
