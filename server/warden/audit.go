package warden

import (
	"context"
	"sync/atomic"
	"time"

	"coffer/store"
)

// journal notes what a caller does, in the words of the activity log.
type journal struct {
	w     *Warden
	who   Caller
	now   time.Time
	ids   *store.IDs
	vault store.Vault // zero when no vault is concerned
	notes []store.Activity
}

// note adds a record. meta becomes the record's and must hold no value.
func (j *journal) note(action string, meta map[string]any) {
	if meta == nil {
		meta = make(map[string]any, 2)
	}
	a := store.Activity{
		Action: action, At: store.At(j.now), Metadata: meta,
		Actor: j.who.user.ID, ActorName: j.who.user.Login,
		Vault: j.vault.ID, Platform: j.who.platform(),
		UserAgent: j.who.userAgent,
	}
	if j.who.ip.IsValid() {
		a.IP = j.who.ip.String()
	}
	if j.vault.Owner != "" {
		a.Repository = j.vault.Repository()
		meta["repoFullName"] = a.Repository
	}
	if !j.who.key.ID.IsZero() && meta["apiKeyId"] == nil {
		meta["apiKeyId"] = j.who.key.ID.String()
	}
	j.notes = append(j.notes, a)
}

// append runs work in a transaction, and appends to the log what it noted: both
// become durable together or not at all. It takes a keyring, which its caller
// holds: who has none cannot append.
func (w *Warden) append(ctx context.Context, keys *keyring, ids *store.IDs, work func(store.Tx) ([]store.Activity, error)) error {
	var last uint64
	err := w.store.Update(ctx, func(tx store.Tx) error {
		ids.Rewind()
		notes, err := work(tx)
		if err != nil || len(notes) == 0 {
			return err
		}
		for i := range notes {
			notes[i].ID = ids.Next()
		}
		last, err = tx.AddActivity(keys.audit.chain, notes...)
		return err
	})
	if err == nil && last != 0 {
		w.notary.appended(last)
		w.pump.wake()
	}
	return err
}

// write makes records durable.
func (w *Warden) write(ctx context.Context, notes []store.Activity) error {
	if len(notes) == 0 {
		return nil
	}
	keys, err := w.holdKeys()
	if err != nil {
		return err
	}
	defer keys.users.RUnlock()
	return w.writeWith(ctx, keys, notes)
}

func (w *Warden) writeWith(ctx context.Context, keys *keyring, notes []store.Activity) error {
	return w.append(ctx, keys, store.NewIDs(w.now()), func(store.Tx) ([]store.Activity, error) { return notes, nil })
}

// record makes the records of a read durable, at once or with the next batch.
// Its caller holds the keys.
func (w *Warden) record(ctx context.Context, keys *keyring, notes []store.Activity) error {
	switch {
	case len(notes) == 0:
		return nil
	case w.c.BatchReads && !w.batch.broken.Load():
		return w.batch.add(ctx, keys, notes)
	default:
		err := w.writeWith(ctx, keys, notes)
		if err == nil {
			w.batch.broken.Store(false)
		}
		return err
	}
}

// batchEvery is how long a record of a read may wait when reads are batched;
// batchMost is how many may wait before readers do.
const (
	batchEvery = 10 * time.Millisecond
	batchMost  = 8192
)

// batch gathers the records of reads and writes them together.
type batch struct {
	w      *Warden
	queue  chan waiting
	broken atomic.Bool // the last could not be written: reads wait for their records until one can
}

// waiting is a record that is not written yet. It keeps its keyring from being
// wiped: sealing waits for it.
type waiting struct {
	note store.Activity
	keys *keyring
}

func newBatch(w *Warden) *batch {
	return &batch{w: w, queue: make(chan waiting, batchMost)}
}

// add queues records of somebody who holds the keys.
func (b *batch) add(ctx context.Context, keys *keyring, notes []store.Activity) error {
	for _, a := range notes {
		keys.waiting.Add(1)
		select {
		case b.queue <- waiting{a, keys}:
		case <-ctx.Done():
			keys.waiting.Done()
			return ctx.Err()
		}
	}
	return nil
}

// run writes what gathers, until ctx ends and nothing is left.
func (b *batch) run(ctx context.Context) {
	for {
		select {
		case first := <-b.queue:
			select {
			case <-time.After(batchEvery):
			case <-ctx.Done():
			}
			b.flush(context.WithoutCancel(ctx), first)
		case <-ctx.Done():
			select {
			case first := <-b.queue:
				b.flush(context.WithoutCancel(ctx), first)
			default:
				return
			}
		}
	}
}

// flush writes what waits. Records of two keyrings, when the instance was sealed
// and unsealed between them, go one after the other.
func (b *batch) flush(ctx context.Context, first waiting) {
	keys, notes := first.keys, []store.Activity{first.note}
	for n := len(b.queue); n > 0 && len(notes) < batchMost; n-- {
		next := <-b.queue
		if next.keys != keys {
			b.write(ctx, keys, notes)
			keys, notes = next.keys, nil
		}
		notes = append(notes, next.note)
	}
	b.write(ctx, keys, notes)
}

func (b *batch) write(ctx context.Context, keys *keyring, notes []store.Activity) {
	defer keys.waiting.Add(-len(notes))
	err := b.w.writeWith(ctx, keys, notes)
	b.broken.Store(err != nil)
	if err != nil {
		b.w.log.ErrorContext(ctx, "records of reads could not be written", "records", len(notes), "error", err)
	}
}
