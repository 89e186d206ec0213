package warden

import (
	"context"
	"errors"
	"sync"
	"time"

	"coffer/server/access"
	"coffer/server/api"
	"coffer/store"
	"coffer/store/kv"
)

// compactionWait is how long whoever asks for a compaction waits for its end.
const compactionWait = 20 * time.Second

// compactor has the data file written anew, one time after the other, beside the
// requests that ask for it.
type compactor struct {
	w   *Warden
	due chan struct{}

	mu      sync.Mutex
	stopped bool
	asked   *compaction // waits for its turn
	now     *compaction // is under way
}

// compaction is one run, of which any number of callers may await the end.
type compaction struct {
	who     Caller // who asked last; nobody for what a start takes up again
	done    chan struct{}
	err     error // once done is closed
	outcome store.Compaction

	mu          sync.Mutex
	started     time.Time
	copied, all int64
}

var errCompactorStops = api.Errorf(api.Unavailable, "The server is stopping: the data file is as it was. Compact when the server is back.")

func newCompactor(w *Warden) *compactor { return &compactor{w: w, due: make(chan struct{}, 1)} }

// ask asks for a run that begins from now on, so that what was deleted before is
// not in its outcome.
func (c *compactor) ask(who Caller) *compaction {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asked == nil {
		c.asked = &compaction{done: make(chan struct{}), started: c.w.now()}
	}
	c.asked.who = who
	if c.stopped {
		return c.endAsked()
	}
	nudge(c.due)
	return c.asked
}

// endAsked turns away who waits for a turn that never comes. The caller holds mu.
func (c *compactor) endAsked() *compaction {
	run := c.asked
	c.asked = nil
	if run != nil {
		run.err = errCompactorStops
		close(run.done)
	}
	return run
}

func (c *compactor) run(ctx context.Context) {
	for {
		select {
		case <-c.due:
		case <-ctx.Done():
			c.mu.Lock()
			defer c.mu.Unlock()
			c.stopped = true
			c.endAsked()
			return
		}
		c.mu.Lock()
		run := c.asked
		c.now, c.asked = run, nil
		c.mu.Unlock()
		if run == nil {
			continue
		}
		run.err = c.w.compact(ctx, run)
		c.mu.Lock()
		c.now = nil
		c.mu.Unlock()
		close(run.done)
	}
}

// resume has finished what a process that ended left: vaults that are erased and
// have no receipt yet.
func (c *compactor) resume(open []store.Erasure) {
	if c.w.c.File != nil && len(open) > 0 {
		c.w.log.Info("an erasure was not finished: the data are compacted", "vaults", len(open))
		c.ask(Caller{})
	}
}

func (r *compaction) told(copied, all int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.copied, r.all = copied, all
}

// compact writes the data file anew, records that, and gives the vaults that were
// erased before their receipts.
func (w *Warden) compact(ctx context.Context, run *compaction) error {
	open, err := w.openErasures(ctx)
	if err != nil {
		return err
	}
	run.outcome.Started = store.At(w.now())
	done, err := w.c.File.Rewrite(ctx, run.told)
	if ctx.Err() != nil && err != nil {
		return errCompactorStops
	}
	run.outcome.Before, run.outcome.After, run.outcome.Ended = done.Before, done.After, store.At(w.now())
	// What is done is done: it is written down, even while the server stops.
	ctx = context.WithoutCancel(ctx)
	if err != nil {
		w.log.Error("the data could not be compacted", "error", err)
		run.outcome.Error = err.Error()
		// Where nothing can be written, the log has it.
		_ = w.store.Update(ctx, func(tx store.Tx) error { return tx.PutCompaction(run.outcome) })
		return compactionError(err)
	}
	keys, err := w.holdKeys()
	if err != nil {
		// It was sealed meanwhile: receipts come after unsealing, with another one.
		return errors.Join(err, w.store.Update(ctx, func(tx store.Tx) error { return tx.PutCompaction(run.outcome) }))
	}
	defer keys.users.RUnlock()
	ids := store.NewIDs(w.now())
	err = w.append(ctx, keys, ids, func(tx store.Tx) ([]store.Activity, error) {
		for _, e := range open {
			if err := w.attest(tx, keys, e, run.outcome); err != nil {
				return nil, err
			}
		}
		j := &journal{w: w, who: run.who, now: run.outcome.Ended.Time(), ids: ids}
		j.note("data_compacted", map[string]any{"beforeBytes": done.Before, "afterBytes": done.After})
		return j.notes, tx.PutCompaction(run.outcome)
	})
	if err == nil {
		w.log.Info("the data were compacted", "before", done.Before, "after", done.After, "receipts", len(open))
	}
	return err
}

// compactionError is what the operator is told, who may know paths.
func compactionError(err error) error {
	switch {
	case errors.Is(err, kv.ErrFull), errors.Is(err, kv.ErrReadOnly):
		return &api.Error{Code: api.Unavailable, RetryAfter: 30 * time.Second, Message: "Nothing was changed: " + err.Error()}
	case errors.Is(err, kv.ErrCorrupt), errors.Is(err, kv.ErrUnknown), errors.Is(err, kv.ErrClosed):
		return err
	}
	return api.Errorf(api.Unavailable, "Nothing was changed: %v", err)
}

// Compact writes the data file anew, so that nothing of what was deleted before is
// left in it. The file is used meanwhile. After a while the answer says that it
// runs still; Storage tells how far it is.
func (w *Warden) Compact(ctx context.Context, who Caller, _ api.Empty) (*api.Compaction, error) {
	if err := w.mayCompact(ctx, who, access.DataCompact); err != nil {
		return nil, err
	}
	run := w.compactions.ask(who)
	err := run.wait(ctx)
	return run.shown(), w.outward(err)
}

// mayCompact lets in who may use the data file as a whole, while there are the
// keys to record it with.
func (w *Warden) mayCompact(ctx context.Context, who Caller, act access.Action) error {
	if err := admit(who, act); err != nil {
		return w.settle(ctx, who, act, store.Vault{}, err)
	}
	if w.c.File == nil {
		return api.Errorf(api.Conflict, "This instance keeps its data in no file of its own. Compact them where they are.")
	}
	keys, err := w.holdKeys()
	if err == nil {
		keys.users.RUnlock()
	}
	return err
}

// wait waits for the end of a run, but not longer than a request may.
func (r *compaction) wait(ctx context.Context) error {
	select {
	case <-r.done:
		return r.err
	case <-time.After(compactionWait):
	case <-ctx.Done():
	}
	return nil
}

// shown is the run as it is now. It began when it was asked for, in the eyes of who
// did so.
func (r *compaction) shown() *api.Compaction {
	select {
	case <-r.done:
		return shownCompaction(r.outcome)
	default:
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return &api.Compaction{StartedAt: api.At(r.started), CopiedBytes: r.copied, AllBytes: r.all}
}

func shownCompaction(c store.Compaction) *api.Compaction {
	return &api.Compaction{
		StartedAt: api.At(c.Started.Time()), EndedAt: api.AtOrNull(c.Ended.Time()),
		BeforeBytes: c.Before, AfterBytes: c.After, Error: orNull(c.Error),
	}
}

// Storage measures the data file, and says what was done to it last.
func (w *Warden) Storage(ctx context.Context, who Caller, _ api.Empty) (*api.Storage, error) {
	if err := w.mayCompact(ctx, who, access.DataMeasure); err != nil {
		return nil, err
	}
	usage, err := w.c.File.Usage(ctx)
	if err != nil {
		return nil, w.outward(err)
	}
	out := &api.Storage{SizeBytes: usage.Size, UsedBytes: usage.Used, OldCopies: []string{}}
	if w.c.OldCopies != nil {
		found, err := w.c.OldCopies()
		if err != nil {
			return nil, err
		}
		out.OldCopies = append(out.OldCopies, found...)
	}
	if usage.Room >= 0 {
		out.RoomBytes = &usage.Room
	}
	err = w.store.View(ctx, func(r store.Reader) error {
		last, err := r.Compaction()
		if err == nil {
			out.Last = shownCompaction(last)
		}
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		return err
	})
	w.compactions.mu.Lock()
	defer w.compactions.mu.Unlock()
	for _, run := range []*compaction{w.compactions.asked, w.compactions.now} {
		if run != nil {
			out.Running = run.shown()
		}
	}
	return out, w.outward(err)
}
