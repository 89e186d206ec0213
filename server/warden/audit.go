package warden

import (
	"context"
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

func addNotes(tx store.Tx, notes []store.Activity, ids *store.IDs) error {
	for i := range notes {
		notes[i].ID = ids.Next()
	}
	return tx.AddActivity(notes...)
}

// write makes records durable.
func (w *Warden) write(ctx context.Context, notes []store.Activity) error {
	if len(notes) == 0 {
		return nil
	}
	ids := store.NewIDs(w.now())
	return w.store.Update(ctx, func(tx store.Tx) error {
		ids.Rewind()
		return addNotes(tx, notes, ids)
	})
}

// record makes the records of a read durable, at once or with the next batch.
func (w *Warden) record(ctx context.Context, notes []store.Activity) error {
	if !w.c.BatchReads || len(notes) == 0 {
		return w.write(ctx, notes)
	}
	return w.batch.add(ctx, notes)
}

// batchEvery is how long a record of a read may wait when reads are batched;
// batchMost is how many may wait before readers do.
const (
	batchEvery = 10 * time.Millisecond
	batchMost  = 8192
)

// batch gathers the records of reads and writes them together.
type batch struct {
	w     *Warden
	queue chan store.Activity
}

func newBatch(w *Warden) *batch {
	return &batch{w: w, queue: make(chan store.Activity, batchMost)}
}

func (b *batch) add(ctx context.Context, notes []store.Activity) error {
	for _, a := range notes {
		select {
		case b.queue <- a:
		case <-ctx.Done():
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

func (b *batch) flush(ctx context.Context, first store.Activity) {
	notes := []store.Activity{first}
	for len(b.queue) > 0 && len(notes) < batchMost {
		notes = append(notes, <-b.queue)
	}
	if err := b.w.write(ctx, notes); err != nil {
		b.w.log.Error("records of reads could not be written", "records", len(notes), "error", err)
	}
}
