package bolt

import (
	"context"
	"errors"
	"slices"

	"coffer/store/kv"
)

// call is one Update on its way: queued, then either withdrawn because its
// context ended, or taken into a group, or told to lead the next group.
type call struct {
	ctx  context.Context
	fn   func(kv.Tx) error
	solo bool // wants the lead to itself, for work that is no update
	wake chan wake

	// Guarded by DB.mu.
	queued bool // in the queue, so that it may be withdrawn
	chosen bool // told to lead: still in the queue, no longer to be withdrawn

	// Written by the leader before it wakes the owner.
	err   error
	panic *panicked
	stale bool // fn failed after it had read what a neighbour wrote
}

// wake is what a waiting call is told.
type wake int

const (
	done wake = iota // the call was in a group, and has its outcome
	lead             // the call stands at the head of the queue, and leads
)

// Update is part of kv.DB.
func (d *DB) Update(ctx context.Context, fn func(kv.Tx) error) error {
	c, _ := d.calls.Get().(*call)
	if c == nil {
		c = &call{wake: make(chan wake, 1)}
	}
	*c = call{ctx: ctx, fn: fn, wake: c.wake}
	leads, err := d.admit(c)
	if leads {
		d.lead(c)
		err = c.err
	}
	p := c.panic
	*c = call{wake: c.wake}
	d.calls.Put(c)
	if p != nil {
		panic(p)
	}
	return err
}

// alone runs fn while no update runs, for work that needs the writer's place.
func (d *DB) alone(ctx context.Context, fn func() error) error {
	c := &call{ctx: ctx, solo: true, wake: make(chan wake, 1)}
	leads, err := d.admit(c)
	if !leads {
		return err
	}
	defer d.handOver()
	d.mu.Lock()
	d.pop()
	d.mu.Unlock()
	return fn()
}

// admit queues c and waits for its turn. It returns true when c leads, and the
// outcome of c otherwise.
func (d *DB) admit(c *call) (leads bool, err error) {
	if err := d.ready(c.ctx); err != nil {
		return false, err
	}
	d.mu.Lock()
	if d.closed.Load() {
		d.mu.Unlock()
		return false, kv.ErrClosed
	}
	d.queue = append(d.queue, c)
	c.queued = true
	if !d.leading {
		d.leading, c.chosen = true, true
		d.mu.Unlock()
		return true, nil
	}
	d.mu.Unlock()
	return d.wait(c)
}

func (d *DB) wait(c *call) (leads bool, err error) {
	var w wake
	select {
	case w = <-c.wake:
	case <-c.ctx.Done():
		if d.withdraw(c) {
			return false, c.ctx.Err()
		}
		// Too late: it is part of a commit whose outcome is the true one.
		w = <-c.wake
	}
	return w == lead, c.err
}

// withdraw takes c out of the queue, and reports whether it was still there.
func (d *DB) withdraw(c *call) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !c.queued || c.chosen {
		return false
	}
	i := slices.Index(d.queue, c)
	d.queue = slices.Delete(d.queue, i, i+1)
	c.queued = false
	return true
}

// take returns the next call for the group, nil when there is none or the group
// is large enough.
func (d *DB) take(g *group) *call {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.queue) == 0 || d.queue[0].solo || g.large() {
		return nil
	}
	return d.pop()
}

// pop removes the head of the queue. The caller holds mu.
func (d *DB) pop() *call {
	c := d.queue[0]
	d.queue[0] = nil
	d.queue = d.queue[1:]
	c.queued = false
	return c
}

// handOver makes the head of the queue the next leader, or ends leading.
func (d *DB) handOver() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.queue) == 0 {
		d.leading = false
		d.idle.Broadcast()
		return
	}
	next := d.queue[0]
	next.chosen = true
	next.wake <- lead
}

// requeue puts calls back to the head of the queue, in their order.
func (d *DB) requeue(back []*call) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range back {
		c.queued, c.chosen = true, false
		c.err, c.stale = nil, false
	}
	d.queue = slices.Concat(back, d.queue)
}

// errVanished is the outcome of a call whose function ended the goroutine that
// it ran on, as t.FailNow does.
var errVanished = errors.New("the function given to Update called runtime.Goexit")
