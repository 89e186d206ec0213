package warden

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"coffer/server/stream"
	"coffer/store"
	"coffer/store/kv"
)

// Times of the pump.
const (
	pumpGather  = 100 * time.Millisecond // records that come together go together
	pumpSave    = time.Second            // how much is sent again after a crash
	pumpPoll    = time.Minute            // records of another process
	pumpRetry   = time.Second            // the first time, then twice as long each time
	pumpRetries = time.Minute            // at most
	pumpFinish  = 3 * time.Second        // how long closing waits for the target
)

// Sizes of the pump.
const (
	pumpRows = 256
	pumpEnds = 1000 // records of a file between two signed ends
)

// neverSaved is a place where no record is.
const neverSaved = ^uint64(0)

// pump hands new records on to where the operator wants them. It reads the log
// behind everybody's back: nobody waits for it, and what could not be handed on
// is still in the log. Where it is, is kept beside the data, so that each record
// is handed on at least once.
type pump struct {
	w     *Warden
	to    stream.Target
	name  string
	files bool // the target is a file: lines with proofs, and signed marks
	fresh chan struct{}

	at      store.Cursor
	known   bool      // at was read
	saved   uint64    // what is kept of at
	savedAt time.Time // when
	ended   uint64    // up to where a signed end was written
	endedAt time.Time
	failing bool

	sent  atomic.Uint64 // one more than the number of the record handed on last; 0 while that is not known
	stuck atomic.Bool   // failing, for others
}

func newPump(w *Warden) *pump {
	return &pump{
		w: w, to: w.c.Stream, name: w.c.StreamName, files: strings.HasPrefix(w.c.StreamName, "file:"),
		fresh: make(chan struct{}, 1), savedAt: time.Now(), endedAt: time.Now(),
	}
}

// wake says that there is something new.
func (p *pump) wake() {
	if p != nil {
		nudge(p.fresh)
	}
}

func (p *pump) run(ctx context.Context) {
	retry := pumpRetry
	wait := time.NewTimer(pumpPoll)
	defer wait.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-wait.C:
		case <-p.fresh:
			if p.failing {
				continue // the timer runs
			}
			select {
			case <-time.After(pumpGather):
			case <-ctx.Done():
				return
			}
		}
		err := p.w.withKeys(func(*keyring) error { return nil })
		if err == nil {
			err = p.drain(ctx)
			p.report(ctx, err)
		}
		switch {
		case p.failing:
			wait.Reset(retry)
			retry = min(2*retry, pumpRetries)
		case err == nil && p.at.Number != p.saved:
			wait.Reset(pumpSave)
			retry = pumpRetry
		default:
			wait.Reset(pumpPoll)
			retry = pumpRetry
		}
	}
}

// report logs the first failure and the end of failing.
func (p *pump) report(ctx context.Context, err error) {
	if ctx.Err() != nil || errors.Is(err, kv.ErrClosed) || err != nil && p.w.keys.Load() == nil {
		return
	}
	if err != nil && !p.failing {
		p.w.log.ErrorContext(ctx, "the audit log cannot be streamed; it is tried again", "to", p.name, "error", err)
	}
	if err == nil && p.failing {
		p.w.log.InfoContext(ctx, "the audit log is streamed again", "to", p.name, "number", p.at.Number)
	}
	p.failing = err != nil
	p.stuck.Store(p.failing)
	if p.known {
		p.sent.Store(p.at.Number + 1)
	}
}

// parcel is a batch on its way.
type parcel struct {
	stream.Batch
	ends   []store.Cursor // where each of its lines ends
	size   int
	more   bool // there is more to come
	marked bool // a signed end is its last line
}

func (p *parcel) add(line stream.Line, end store.Cursor) {
	p.Lines, p.ends = append(p.Lines, line), append(p.ends, end)
	p.size += len(line.Text) + len(line.Message)
}

// drain hands on what there is.
func (p *pump) drain(ctx context.Context) error {
	for more := true; more; {
		var next *parcel
		err := p.w.withKeys(func(k *keyring) (err error) {
			next, err = p.next(ctx, &k.audit)
			return err
		})
		if err == nil && p.saved == neverSaved {
			err = p.save(ctx, 0) // from here on nothing is left out
		}
		if err == nil {
			err = p.send(ctx, next)
		}
		if err == nil {
			err = p.save(ctx, pumpSave)
		}
		if err != nil {
			return err
		}
		more = next.more
	}
	return nil
}

func (p *pump) send(ctx context.Context, next *parcel) error {
	if len(next.Lines) == 0 {
		return nil
	}
	n, err := p.to.Send(ctx, next.Batch)
	if n > 0 {
		p.at = next.ends[n-1]
	}
	if err == nil && next.marked {
		p.ended, p.endedAt = p.at.Number, time.Now()
	}
	return err
}

// next reads the next records and makes lines of them.
func (p *pump) next(ctx context.Context, k *auditKeys) (*parcel, error) {
	next := &parcel{}
	err := p.w.store.View(ctx, func(r store.Reader) error {
		if err := p.place(r); err != nil {
			return err
		}
		last, err := r.LogEnd()
		if err != nil {
			return fmt.Errorf("read the end of the audit log: %w", err)
		}
		return r.ScanActivity(p.at.Number, 0, func(row store.Row) error {
			if row.Number > last.Number {
				return kv.Stop
			}
			if next.more = len(next.Lines) == pumpRows || next.size > exportBatch; next.more {
				return kv.Stop
			}
			line, err := p.line(row)
			next.add(line, store.Cursor{Number: row.Number, Link: row.Link})
			return err
		})
	})
	if err == nil && p.files {
		err = p.mark(k, next)
	}
	return next, err
}

// save keeps where the pump is, unless that was done lately. The target has its
// lines for good by then.
func (p *pump) save(ctx context.Context, every time.Duration) error {
	if p.at.Number == p.saved || time.Since(p.savedAt) < every {
		return nil
	}
	if err := p.to.Sync(); err != nil {
		return err
	}
	err := p.w.store.Update(ctx, func(tx store.Tx) error { return tx.PutCursor(p.name, p.at) })
	if err == nil {
		p.saved, p.savedAt = p.at.Number, time.Now()
	}
	return err
}

// finish hands on what was recorded last, as far as that is possible at once.
// Everybody else has stopped; keys is nil while sealed.
func (p *pump) finish(keys *keyring) error {
	ctx, cancel := context.WithTimeout(context.Background(), pumpFinish)
	defer cancel()
	err := p.last(ctx, keys)
	if err != nil && p.known {
		p.w.log.Warn("the end of the audit log was not streamed; it will be at the next start", "to", p.name, "after", p.at.Number, "error", err)
	}
	return p.to.Close()
}

func (p *pump) last(ctx context.Context, keys *keyring) error {
	if keys == nil {
		return nil
	}
	for more := true; more; {
		next, err := p.next(ctx, &keys.audit)
		if err != nil {
			return err
		}
		if more = next.more; !more && p.files && !next.marked && (len(next.Lines) > 0 || p.at.Number > p.ended) {
			last := p.at
			if n := len(next.ends); n > 0 {
				last = next.ends[n-1]
			}
			if err := p.end(&keys.audit, next, last); err != nil {
				return err
			}
		}
		if err := p.send(ctx, next); err != nil {
			return err
		}
	}
	return p.save(ctx, 0)
}
