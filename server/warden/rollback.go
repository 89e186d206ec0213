package warden

import (
	"context"
	"errors"
	"time"

	"coffer/server/access"
	"coffer/server/api"
	"coffer/store"
)

// RollbackQuery asks to make an environment hold what it held at a revision.
type RollbackQuery struct {
	api.Ref
	Environment string
	Revision    int
	Base        *int // refuse unless the environment is at this revision
	Incomplete  bool // also if not all of then is left
	DryRun      bool
}

// RolledBack tells what a rollback did, or would do, by key.
type RolledBack struct {
	Then                      time.Time // when the revision began, or zero if that is forgotten
	Current                   uint64    // revision of the environment
	Incomplete                bool      // not all of then is left
	Created, Updated, Deleted []string
}

// Rollback makes an environment what it was: it pushes the values of then, as one
// revision, and what is newer goes to the trash. Nobody gets to see a value. A dry
// run does everything but write.
func (w *Warden) Rollback(ctx context.Context, who Caller, req RollbackQuery) (*RolledBack, error) {
	var out *RolledBack
	err := w.change(ctx, who, access.Rollback, req.Repository(), func(v *visit) error {
		e := v.environment(req.Environment)
		if e == nil {
			return v.errPullEnvironment(req.Environment)
		}
		if err := v.allow(e); err != nil {
			return err
		}
		out = &RolledBack{}
		p := push{visit: v, e: e, replace: true, dry: req.DryRun, exact: true}
		if err := out.find(&p, req); err != nil {
			return err
		}
		if err := p.run(); err != nil {
			return err
		}
		meta := p.meta(api.ModeReplace)
		meta["rollbackTo"] = req.Revision
		v.note("secrets_pushed", meta)
		out.Current, out.Created, out.Updated, out.Deleted = e.Revision, p.created, p.updated, p.deleted
		return nil
	})
	return out, err
}

// find fills in what to push, unless there is something to say against it.
func (out *RolledBack) find(p *push, req RollbackQuery) error {
	var then Compared
	rows, err := p.side(Side{Environment: p.e.Name, Revision: &req.Revision, Field: "revision"}, &then)
	if err != nil {
		return err
	}
	p.incoming = make(map[string]api.Secret, len(rows))
	for _, r := range rows {
		value, err := p.open(nil, r)
		if err != nil {
			return err
		}
		p.incoming[r.key] = api.NewSecret(string(value))
	}
	rev, err := p.Revision(*p.e, then.Revision)
	switch {
	case err == nil:
		out.Then = rev.At.Time()
	case !errors.Is(err, store.ErrNotFound):
		return err
	}
	out.Incomplete = then.Incomplete
	switch {
	case req.Base != nil && uint64(*req.Base) != p.e.Revision:
		return p.overtaken(uint64(*req.Base))
	case out.Incomplete && !req.Incomplete && !req.DryRun:
		return api.Errorf(api.Conflict, "Not all of revision %d of %s is left, so nothing was changed. Say that what is left will do, or choose a later revision.", req.Revision, p.e.Name)
	}
	return nil
}

// overtaken is the conflict of a push, for somebody who looked at what a rollback
// would change.
func (p *push) overtaken(base uint64) error {
	err := p.conflict(base)
	if e, ok := errors.AsType[*api.Error](err); ok && e.Code == api.Conflict {
		e.Message = p.e.Name + " was changed by somebody meanwhile, so nothing was rolled back. Look again at what would change."
	}
	return err
}
