package bolt

import (
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"go.etcd.io/bbolt"

	"coffer/store/kv"
)

const (
	// A group takes no more calls above these, so that nobody waits long for
	// neighbours.
	maxGroupCalls  = 1024
	maxGroupWrites = 1 << 14
	maxGroupBytes  = 8 << 20
)

// fill is how full a page is left when it is split. Most of what we write is
// appended, or replaces something of its own length: at bbolt's 50 % a third of
// the file would be air.
const fill = 0.9

// group is what goes into one commit.
type group struct {
	tx      *bbolt.Tx
	base    base
	over    overlay
	calls   []*call
	writers int // calls that wrote something so far
}

func (g *group) large() bool {
	return len(g.calls) >= maxGroupCalls || g.over.count >= maxGroupWrites || g.over.bytes >= maxGroupBytes
}

func (g *group) reset() {
	clear(g.calls)
	g.calls = g.calls[:0]
	g.over.reset()
	g.tx, g.base, g.writers = nil, base{}, 0
}

// lead runs and commits one group: own, which stands at the head of the queue,
// and what has gathered behind it.
func (d *DB) lead(own *call) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	g := &d.group
	finished := false
	defer func() {
		if !finished {
			d.abandon(g, own)
		}
	}()
	err := d.start(g)
	for c := d.take(g); c != nil; c = d.take(g) {
		g.calls = append(g.calls, c)
		if c.err = c.ctx.Err(); c.err != nil {
			continue
		}
		if c.err = err; err == nil {
			d.run(g, c)
		}
	}
	if err == nil {
		d.settle(g, d.finish(g))
	}
	finished = true
	d.dismiss(g, own)
}

// dismiss hands the lead over before it wakes the group: the next commit is on
// its way while the outcomes of this one are told.
func (d *DB) dismiss(g *group, own *call) {
	told := g.calls
	g.calls = nil
	g.reset()
	d.handOver()
	for _, c := range told {
		if c != own {
			c.wake <- done
		}
	}
}

func (d *DB) start(g *group) (err error) {
	if g.tx, err = d.begin(d.file.Load(), true); err != nil {
		return err
	}
	err = guard(func() error {
		g.base.bucket = g.tx.Bucket(bucketName)
		return nil
	})
	if err != nil {
		d.rollback(g.tx)
	}
	return err
}

// run runs the function of c over what the group has written so far.
func (d *DB) run(g *group, c *call) {
	u := update{base: &g.base, over: &g.over}
	c.err = errVanished
	defer func() {
		u.ended = true
		if p := recover(); p != nil {
			if c.err = d.file.Load().damage(p, g.base.inside); c.err == nil {
				c.panic = &panicked{p, debug.Stack()}
				c.err = c.panic
			}
			g.base.inside = false
		}
		if c.err != nil {
			c.stale = u.met && g.writers > 0
			g.over.undo()
			return
		}
		if len(g.over.journal) > 0 {
			g.writers++
		}
		g.over.keep()
	}()
	err := c.fn(&u)
	if err == nil {
		err = u.err
	}
	c.err = err
}

// finish writes what the group wrote, durably.
func (d *DB) finish(g *group) error {
	if g.over.count == 0 {
		return g.tx.Rollback()
	}
	id, begun := g.tx.ID(), time.Now()
	err := d.commit(g)
	d.stats.note(g.writers, time.Since(begun), err)
	if err != nil {
		return d.failed(id, err)
	}
	if n := d.written.Load(); n != nil {
		n.add(&g.over)
	}
	return nil
}

func (d *DB) commit(g *group) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = corrupt(p)
		}
		if err != nil {
			d.rollback(g.tx)
		}
	}()
	d.file.Load().growBy(g.tx.Size())
	g.base.bucket.FillPercent = fill
	for _, block := range g.over.blocks {
		for _, e := range block {
			if e.value == nil {
				err = g.base.bucket.Delete(e.key)
			} else {
				err = g.base.bucket.Put(e.key, e.value)
			}
			if err != nil {
				return err
			}
		}
	}
	return g.tx.Commit()
}

// rollback ends t, which may be nil, half broken, or ended already.
func (d *DB) rollback(t *bbolt.Tx) {
	if t == nil {
		return
	}
	err := guard(func() error {
		_ = t.Rollback()
		return nil
	})
	if err != nil {
		// bbolt's lock went with it.
		d.stuck.CompareAndSwap(nil, &err)
	}
}

// failed says what a failed commit means, and whether writing can go on.
func (d *DB) failed(id int, err error) error {
	err = explain(err, d.path)
	if errors.Is(err, kv.ErrCorrupt) {
		return d.stop(err, err)
	}
	t, readErr := d.begin(d.file.Load(), false)
	if readErr != nil {
		return d.stop(err, err)
	}
	seen := t.ID()
	_ = t.Rollback()
	if seen < id {
		return err
	}
	// The commit is visible, but whether it is on the disk only a restart tells:
	// after a failed sync the system's own copy proves nothing.
	return d.stop(
		fmt.Errorf("%w: %w", kv.ErrUnknown, err),
		fmt.Errorf("%s: no more writes before a restart, because the disk failed: %v", d.path, err))
}

// stop refuses all later writes with later, and returns now.
func (d *DB) stop(now, later error) error {
	d.bad.CompareAndSwap(nil, &later)
	return now
}

// settle gives the outcome of the commit to every call of the group.
func (d *DB) settle(g *group, err error) {
	if err == nil {
		return
	}
	for _, c := range g.calls {
		// Who failed because of what a neighbour wrote failed for nothing.
		if c.err == nil || c.stale && c.panic == nil {
			c.err = err
		}
	}
}

// abandon cleans up after a function that ended the leader's goroutine. Nothing
// of the group was committed: its other calls go back to the queue.
func (d *DB) abandon(g *group, own *call) {
	d.rollback(g.tx)
	var back []*call
	for _, c := range g.calls {
		switch {
		case c == own:
		case errors.Is(c.err, errVanished):
			c.wake <- done
		default:
			back = append(back, c)
		}
	}
	d.requeue(back)
	g.reset()
	d.handOver()
}
