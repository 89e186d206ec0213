package warden

import (
	"context"
	"errors"

	"coffer/server/access"
	"coffer/server/api"
	"coffer/server/syncplan"
	"coffer/store"
)

// pullSync takes the provider's values over: all of them or, on any error, none.
func (w *Warden) pullSync(ctx context.Context, who Caller, t api.SyncTarget, hash string) (*api.SyncResult, error) {
	for try := 1; ; try++ {
		s, err := w.compare(ctx, who, access.SyncPull, t)
		if failed, ok := s.failedEarly(ctx, err); ok {
			return failed, nil
		}
		if err != nil {
			return nil, s.outward(ctx, err)
		}
		if err := s.refuseOtherPlan(hash); err != nil {
			return nil, err
		}
		run, err := s.takeOver(ctx)
		if errors.Is(err, errOvertaken) && try < pullTries {
			continue
		}
		if errors.Is(err, errOvertaken) {
			return nil, api.Errorf(api.Conflict, "%s keeps being changed by others, so nothing was synced. Try again when they are done.", s.env.Name)
		}
		if err != nil {
			return nil, err
		}
		return w.resultOf(run), nil
	}
}

// errOvertaken means that the environment was changed after it was looked at.
var errOvertaken = errors.New("the environment was changed meanwhile")

// takeOver writes what a pull planned, as one revision.
func (s *sides) takeOver(ctx context.Context) (run store.SyncRun, err error) {
	overtaken := false
	err = s.w.change(ctx, s.who, access.SyncPull, s.asked.Repository(), func(v *visit) error {
		overtaken = false
		e := v.environmentByID(s.env.ID)
		if e == nil {
			return errNoEnvironment(s.env.Name)
		}
		if err := v.allow(e); err != nil {
			return err
		}
		if err := s.stillThere(v.Reader); err != nil {
			return err
		}
		if err := s.allowFlow(v.role, *e); err != nil {
			return err
		}
		if overtaken = e.Revision != s.env.Revision; overtaken {
			return errOvertaken
		}
		run = s.newRun(v.ids.Next(), store.ID{}, v.now)
		if err := s.take(v.tx, run); err != nil {
			return err
		}
		v.note("secrets_sync_started", s.meta(map[string]any{"keys": s.reveals()}))
		p := s.pushOf(v, e)
		if err := p.check(nil); err != nil {
			return err
		}
		if err := p.run(); err != nil {
			return err
		}
		run.Created, run.Updated, run.Deleted = len(p.created), len(p.updated), len(p.deleted)
		run.Ended, run.Status = run.Began, api.SyncSuccess
		v.note("secrets_synced", s.meta(map[string]any{
			"status": run.Status, "created": run.Created, "updated": run.Updated, "deleted": run.Deleted, "revision": e.Revision,
		}))
		return errors.Join(s.learn(v), v.tx.PutSyncRun(run), release(v.tx, run), s.w.tellLinks(v.tx, run, e.Revision, s.place))
	})
	if overtaken {
		return run, errOvertaken
	}
	return run, err
}

// pushOf is a pull's plan as a push into our environment: what it does not name
// stays as it is.
func (s *sides) pushOf(v *visit, e *store.Environment) push {
	p := push{visit: v, e: e, incoming: make(map[string]api.Secret), replace: true, exact: true, spared: make(map[string]bool)}
	for _, step := range s.plan.Steps {
		switch step.Action {
		case syncplan.Create, syncplan.Update:
			p.incoming[step.Key] = step.Value
		case syncplan.Delete:
		default:
			p.spared[step.Key] = true
		}
	}
	return p
}

// learn writes down what the provider was seen to hold of what was pulled.
func (s *sides) learn(v *visit) error {
	for _, step := range s.plan.Of(syncplan.Create, syncplan.Update) {
		err := v.tx.PutLedgerEntry(s.env, s.place, step.Key, store.LedgerEntry{
			Fingerprint: s.fingerprint(step.Key, step.Value), Mark: step.Was.Mark, Revision: s.env.Revision + 1, At: store.At(v.now),
		})
		if err != nil {
			return err
		}
	}
	return nil
}
