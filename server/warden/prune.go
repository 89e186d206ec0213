package warden

import (
	"context"
	"errors"
	"fmt"
	"time"

	"coffer/crypto"
	"coffer/server/api"
	"coffer/store"
	"coffer/store/kv"
)

// PruneActivity removes what the audit log holds from before a time, and returns
// how many records. It removes whole segments, from one signed checkpoint to the
// next, so some records stay up to a day longer. It goes in small steps, each of
// which leaves a log with a signed beginning: who is stopped, or killed, goes on
// next time where it ended.
//
// What was tampered with is removed in its time like everything else, because
// what must be forgotten must be; the record of it says that it was not intact.
func (w *Warden) PruneActivity(ctx context.Context, before time.Time) (removed int, err error) {
	target, err := w.prunable(ctx, before)
	if err != nil || target.Number == 0 {
		return 0, w.outward(err)
	}
	intact := true
	for done := false; !done && err == nil; {
		var step pruned
		step, err = w.pruneStep(ctx, target)
		removed += step.records
		intact = intact && step.intact
		done = step.done
	}
	if errors.Is(err, store.ErrPruned) {
		err = nil // the other one finishes it
	}
	if removed == 0 {
		return 0, w.outward(err)
	}
	j := journal{w: w, now: w.now()}
	j.note("activity_pruned", map[string]any{
		"before": api.At(before).String(), "records": removed, "intact": intact, "lastNumber": target.Number,
	})
	return removed, w.outward(errors.Join(err, w.write(context.WithoutCancel(ctx), j.notes)))
}

// prunable is the last checkpoint that was signed before a time, or the zero
// Checkpoint. The order is that of numbers: the first that is younger ends the
// search, so a clock that once was slow has nothing removed that stands behind
// younger records. A checkpoint from the future proves nothing and is passed
// over, so a clock that once was fast keeps nothing for ever.
func (w *Warden) prunable(ctx context.Context, before time.Time) (store.Checkpoint, error) {
	var old []store.Checkpoint
	now := w.now()
	err := w.store.View(ctx, func(r store.Reader) error {
		base, err := r.ActivityBase()
		if err != nil {
			return err
		}
		return r.ScanCheckpoints(base.Number, 0, func(number uint64, c store.Checkpoint, unreadable error) error {
			switch at := c.At.Time(); {
			case unreadable != nil, c.Number != number, at.After(now):
			case !at.Before(before):
				return kv.Stop
			default:
				old = append(old, c)
			}
			return nil
		})
	})
	if err != nil {
		return store.Checkpoint{}, fmt.Errorf("read the checkpoints of the audit log: %w", err)
	}
	var target store.Checkpoint
	err = w.withKeys(func(k *keyring) error {
		for i := len(old) - 1; i >= 0; i-- {
			if k.audit.signed(crypto.Checkpoint, old[i]) {
				target = old[i]
				return nil
			}
		}
		return nil
	})
	return target, err
}

// pruned is what one step did.
type pruned struct {
	records int
	intact  bool
	done    bool
}

// pruneStep removes the next few records up to the target.
func (w *Warden) pruneStep(ctx context.Context, target store.Checkpoint) (p pruned, err error) {
	p.intact = true
	keys, err := w.holdKeys()
	if err != nil {
		return p, err
	}
	defer keys.users.RUnlock()
	chain := keys.audit.chain
	next := store.Checkpoint{Number: target.Number, Link: target.Link}
	var from uint64
	err = w.store.View(ctx, func(r store.Reader) error {
		base, err := r.ActivityBase()
		if err != nil {
			return err
		}
		from = base.Number
		last, link := base.Number, base.Link
		err = r.ScanActivity(from, store.PruneMost, func(row store.Row) error {
			if row.Number > target.Number {
				return kv.Stop
			}
			proven, err := row.Proven(chain)
			p.intact = p.intact && proven && row.Number == last+1 && row.Prev == link
			p.records++
			last, link = row.Number, row.Link
			return err
		})
		if p.records == store.PruneMost && last < target.Number {
			next.Number, next.Link = last, link
		} else {
			p.intact = p.intact && last == target.Number && link == target.Link
		}
		return err
	})
	if err != nil {
		return pruned{intact: true}, err
	}
	p.done = next.Number == target.Number
	if from >= target.Number {
		return pruned{intact: true, done: true}, nil
	}
	next.At, next.Base = store.At(w.now()), next.Number
	if next, err = keys.audit.sign(crypto.Base, next); err == nil {
		err = w.store.Update(ctx, func(tx store.Tx) error { return tx.PruneActivity(chain, from, next) })
	}
	if err != nil {
		return pruned{intact: true}, fmt.Errorf("prune the audit log: %w", err)
	}
	return p, nil
}
