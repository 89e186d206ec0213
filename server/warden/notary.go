package warden

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"coffer/crypto"
	"coffer/store"
	"coffer/store/kv"
)

// A checkpoint is signed after so many records, and after so long when there is
// a new one. Whether it is that long is looked at now and then, the first time
// shortly after the start: whoever starts and stops all the time gets some too.
const (
	checkpointRecords = 1000
	checkpointEvery   = 24 * time.Hour
	checkpointLook    = time.Hour
	checkpointFirst   = time.Minute
)

// notary signs checkpoints of the audit log, beside the requests whose records
// make them due.
type notary struct {
	w       *Warden
	records uint64
	last    atomic.Uint64 // number of the last record that was appended here
	marked  atomic.Uint64 // number of the last record with a checkpoint
	due     chan struct{}
}

func newNotary(w *Warden) *notary {
	n := &notary{w: w, records: w.c.TestOnlyCheckpoints, due: make(chan struct{}, 1)}
	if n.records == 0 {
		n.records = checkpointRecords
	}
	return n
}

// appended takes note that the log has grown up to a record.
func (n *notary) appended(number uint64) {
	n.last.Store(number) // may go back by a few: numbers only say when to look
	if number >= n.marked.Load()+n.records {
		n.wake()
	}
}

func (n *notary) wake() { nudge(n.due) }

// nudge wakes whoever waits on c, which has room for one.
func nudge(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func (n *notary) run(ctx context.Context) {
	look := time.NewTimer(checkpointFirst)
	defer look.Stop()
	for {
		select {
		case <-n.due:
		case <-look.C:
			look.Reset(checkpointLook)
		case <-ctx.Done():
			return
		}
		if _, err := n.w.checkpoint(ctx, n.isDue); err != nil && !errors.Is(err, kv.ErrClosed) && n.w.keys.Load() != nil {
			n.w.log.ErrorContext(ctx, "no checkpoint of the audit log could be signed", "error", err)
		}
	}
}

// isDue reports whether a checkpoint is due, so many records and so long after
// the last. A clock that jumped makes one due early.
func (n *notary) isDue(records uint64, since time.Duration) bool {
	return records >= n.records || records > 0 && since.Abs() >= checkpointEvery
}

// errEnd is what the log's end not holding means.
var errEnd = errors.New("the end of the audit log does not hold: somebody without the keys changed the data; see coffer audit verify")

// checkpoint signs that the log holds what it holds now, if that is due, and
// returns the newest checkpoint. In place of the first one stands the log's
// beginning.
func (w *Warden) checkpoint(ctx context.Context, due func(records uint64, since time.Duration) bool) (store.Checkpoint, error) {
	keys, err := w.holdKeys()
	if err != nil {
		return store.Checkpoint{}, err
	}
	defer keys.users.RUnlock()
	last, end, err := w.newest(ctx)
	if err != nil {
		return last, err
	}
	if ok, err := end.Holds(keys.audit.chain); err != nil || !ok {
		return last, errors.Join(err, errEnd)
	}
	w.notary.marked.Store(last.Number)
	now := w.now()
	if !due(end.Number-min(last.Number, end.Number), now.Sub(last.At.Time())) {
		return last, nil
	}
	next, err := keys.audit.sign(crypto.Checkpoint, store.Checkpoint{
		Number: end.Number, Link: end.Link, At: store.At(now), Base: last.Base,
	})
	if err == nil {
		err = w.store.Update(ctx, func(tx store.Tx) error { return tx.AddCheckpoint(next) })
	}
	if err != nil {
		return last, fmt.Errorf("sign a checkpoint of the audit log: %w", err)
	}
	w.notary.marked.Store(next.Number)
	w.log.InfoContext(ctx, "checkpoint of the audit log", "number", next.Number, "link", fmt.Sprintf("%x", next.Link))
	return next, nil
}

// newest is the newest checkpoint, with the present base, and the log's end.
func (w *Warden) newest(ctx context.Context) (last store.Checkpoint, end store.LogEnd, err error) {
	err = w.store.View(ctx, func(r store.Reader) error {
		base, err := r.ActivityBase()
		if err != nil {
			return fmt.Errorf("read the beginning of the audit log: %w", err)
		}
		if last, err = r.LastCheckpoint(); errors.Is(err, store.ErrNotFound) {
			last, err = base, nil
		}
		last.Base = base.Number
		if err == nil {
			end, err = r.LogEnd()
		}
		return err
	})
	return last, end, err
}
