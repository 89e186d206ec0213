package warden

import (
	"context"
	"errors"
	"time"

	"coffer/server/access"
	"coffer/server/api"
	"coffer/store"
)

// Keys are replaced while everything goes on. Whoever asks for it has one small
// transaction done, from which on new data goes under new keys; what lies under the
// old ones follows in small transactions, by a worker of the warden's. A kill
// between two of them leaves nothing to mend: what is left to do shows in the
// records, and goes on after the next unsealing.

// rotator goes on with what is under way.
type rotator struct {
	life context.Context
	wake chan bool     // whether it was cut short before
	turn chan struct{} // held by whoever goes on with it
}

func newRotator(life context.Context) *rotator {
	return &rotator{life: life, wake: make(chan bool, 1), turn: make(chan struct{}, 1)}
}

// rouse has the worker look for something to do.
func (o *rotator) rouse() { o.wakeWith(false) }

// resume is rouse after unsealing, when whatever there is was cut short.
func (o *rotator) resume() { o.wakeWith(true) }

func (o *rotator) wakeWith(resumed bool) {
	select {
	case o.wake <- resumed:
	default:
	}
}

func (w *Warden) runRotations() {
	for {
		select {
		case <-w.rotator.life.Done():
			return
		case resumed := <-w.rotator.wake:
			err := w.rotateOn(w.rotator.life, resumed)
			if err != nil && w.rotator.life.Err() == nil && w.keys.Load() != nil {
				w.log.Error("the replacement of keys was cut short; it goes on with the job rotation", "error", err)
			}
		}
	}
}

// GoOnRotating goes on with the replacement of keys, if any is under way, until it is
// done or ctx ends.
func (w *Warden) GoOnRotating(ctx context.Context) error { return w.rotateOn(ctx, false) }

func (w *Warden) rotateOn(ctx context.Context, resumed bool) error {
	select {
	case w.rotator.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-w.rotator.turn }()
	for {
		all, err := w.rotationsUnderWay(ctx)
		if err != nil || len(all) == 0 {
			return err
		}
		if resumed {
			w.log.Info("the replacement of keys was cut short; it goes on", "of", rotationKinds[all[0].Kind], "done", all[0].Done, "total", all[0].Total)
			resumed = false
		}
		if err := w.rotateSome(ctx, all); err != nil {
			return err
		}
	}
}

// rotateSome goes on with one of those that are under way: with the root key's first,
// then with a vault's, and only then begins with the next vault.
func (w *Warden) rotateSome(ctx context.Context, all []store.Rotation) error {
	last := all[len(all)-1]
	switch {
	case all[0].Kind == store.RotateRoot:
		return w.rewrap(ctx, all[0])
	case last.Kind == store.RotateVault:
		return w.reseal(ctx, last)
	default:
		return w.rotateNext(ctx, last)
	}
}

func (w *Warden) rotationsUnderWay(ctx context.Context) (all []store.Rotation, err error) {
	err = w.store.View(ctx, func(r store.Reader) (err error) {
		all, err = r.Rotations()
		return err
	})
	return all, err
}

// rotationStep is one transaction of a rotation: it looks up how far that came, and
// writes how far it came. One that is over by now, because its vault is gone, ends
// with errRotationOver.
func (w *Warden) rotationStep(ctx context.Context, o store.Rotation, work func(store.Tx, *journal, *keyring, *store.Rotation) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return w.withKeys(func(keys *keyring) error {
		now := w.now()
		ids := store.NewIDs(now)
		return w.append(ctx, keys, ids, func(tx store.Tx) ([]store.Activity, error) {
			there, err := tx.Rotation(o.Kind, o.Vault)
			over := o.Kind == store.RotateVault && there.Generation != o.Generation
			if errors.Is(err, store.ErrNotFound) || err == nil && over {
				return nil, errRotationOver
			}
			if err != nil {
				return nil, err
			}
			j := &journal{w: w, now: now, ids: ids}
			j.who.user.ID, j.who.user.Login = there.By, there.ByName
			if err := work(tx, j, keys, &there); err != nil {
				return nil, err
			}
			return j.notes, nil
		})
	})
}

// errRotationOver says that there is nothing to go on with.
var errRotationOver = errors.New("this rotation is over")

func unlessOver(err error) error {
	if errors.Is(err, errRotationOver) {
		return nil
	}
	return err
}

// Names of rotations on the wire.
var rotationKinds = map[byte]string{
	store.RotateRoot: api.RotationRoot, store.RotateAll: api.RotationAll, store.RotateVault: api.RotationVault,
}

// Rotations tells which keys are being replaced, and how far that came.
func (w *Warden) Rotations(ctx context.Context, who Caller, _ api.Empty) (*api.Rotations, error) {
	out := &api.Rotations{UnderWay: []api.Rotation{}}
	err := w.self(ctx, who, access.RotationList, func(r store.Reader) error {
		i, err := r.Instance()
		if err != nil {
			return err
		}
		since := i.MasterSince
		if since == 0 {
			since = i.Created
		}
		out.Fingerprint, out.MasterSince = i.Fingerprint, api.At(since.Time())
		all, err := r.Rotations()
		for _, o := range all {
			shown, errShow := shownRotation(r, o)
			out.UnderWay, err = append(out.UnderWay, shown), errors.Join(err, errShow)
		}
		return err
	})
	return out, err
}

func shownRotation(r store.Reader, o store.Rotation) (api.Rotation, error) {
	out := api.Rotation{Of: rotationKinds[o.Kind], StartedAt: api.At(o.Started.Time()), Done: o.Done, Total: max(o.Total, o.Done)}
	switch o.Kind {
	case store.RotateVault:
		v, err := r.Vault(o.Vault)
		if errors.Is(err, store.ErrNotFound) {
			return out, nil
		}
		out.RepoFullName = v.Repository()
		return out, err
	case store.RotateAll:
		_, err := r.Rotation(store.RotateVault, o.At)
		if err == nil {
			out.Done-- // the last that was begun is not done yet
		}
		return out, unlessMissing(err)
	}
	return out, nil
}

func unlessMissing(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// RotationCounts is what is under way, for the metrics: how many replacements of keys
// there are, and how much of the first one is done.
func (w *Warden) RotationCounts(ctx context.Context) (underWay, done, total int, err error) {
	all, err := w.rotationsUnderWay(ctx)
	if len(all) > 0 {
		done, total = all[0].Done, all[0].Total
	}
	return len(all), done, total, err
}

// oldRootTime is how long a root key that nothing is wrapped under any more stays in
// memory: a snapshot that was taken before may still be read. No snapshot is held for
// nearly as long.
const oldRootTime = 15 * time.Second
