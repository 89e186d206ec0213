package warden

import (
	"context"
	"slices"

	"coffer/server/access"
	"coffer/server/api"
	"coffer/store"
)

func detail(e *store.Environment) api.EnvironmentDetail {
	return api.EnvironmentDetail{
		Name: e.Name, Type: e.Type, DisplayOrder: e.Order, Revision: e.Revision, SecretCount: e.Secrets,
	}
}

// details are the environments that the visitor may see, in display order.
func (v *visit) details() []api.EnvironmentDetail {
	all := []api.EnvironmentDetail{}
	for _, e := range v.readable() {
		all = append(all, detail(e))
	}
	return all
}

func errNoEnvironment(name string) *api.Error {
	return api.Errorf(api.NotFound, "This vault has no environment %q.", name)
}

// Environments lists a vault's environments.
func (w *Warden) Environments(ctx context.Context, who Caller, ref api.Ref) (*api.Environments, error) {
	out := &api.Environments{}
	err := w.read(ctx, who, access.EnvironmentList, ref.Repository(), func(v *visit) error {
		out.Environments = v.details()
		return nil
	})
	return out, err
}

// CreateEnvironment adds an empty environment to a vault.
func (w *Warden) CreateEnvironment(ctx context.Context, who Caller, req api.CreateEnvironment) (*api.CreatedEnvironment, error) {
	out := &api.CreatedEnvironment{}
	err := w.change(ctx, who, access.EnvironmentCreate, req.Repository(), func(v *visit) error {
		kind := access.Infer(req.Name)
		if req.Type != nil {
			kind = envType(*req.Type)
		}
		if err := v.allowTypes(req.Name, access.Rights{}, kind); err != nil {
			return err
		}
		if v.environment(req.Name) != nil {
			return api.Errorf(api.Conflict, "This vault has an environment %q already.", req.Name)
		}
		e := &store.Environment{
			ID: v.ids.Next(), Vault: v.vault.ID, Name: req.Name, Type: kind.String(),
			Order: v.lastOrder() + 1, Created: store.At(v.now),
		}
		if err := v.keep(e); err != nil {
			return err
		}
		v.envs = append(v.envs, e)
		v.note("environment_created", map[string]any{"environment": e.Name, "type": e.Type})
		out.Environment, out.Environments = detail(e), v.details()
		return nil
	})
	return out, err
}

func (v *visit) lastOrder() int {
	last := -1
	for _, e := range v.envs {
		last = max(last, e.Order)
	}
	return last
}

// changeEnvironment lets a caller change one environment of a vault.
func (w *Warden) changeEnvironment(ctx context.Context, who Caller, act access.Action, ref api.EnvironmentRef, work func(*visit, *store.Environment) error) error {
	return w.change(ctx, who, act, ref.Repository(), func(v *visit) error {
		e := v.environment(ref.Environment)
		if e == nil {
			return errNoEnvironment(ref.Environment)
		}
		if err := v.allow(e); err != nil {
			return err
		}
		return work(v, e)
	})
}

// RenameEnvironment gives an environment another name. Everything in it is kept
// under its id and follows.
func (w *Warden) RenameEnvironment(ctx context.Context, who Caller, req api.RenameEnvironment) (*api.RenamedEnvironment, error) {
	out := &api.RenamedEnvironment{OldName: req.Environment, NewName: req.NewName}
	err := w.changeEnvironment(ctx, who, access.EnvironmentRename, req.EnvironmentRef, func(v *visit, e *store.Environment) error {
		if there := v.environment(req.NewName); there != nil && there != e {
			return api.Errorf(api.Conflict, "This vault has an environment %q already.", req.NewName)
		}
		e.Name = req.NewName
		if err := v.keep(e); err != nil {
			return err
		}
		// Overrides are by name in here, and must be found under the new one.
		v.overrides = nil
		if err := v.loadRules(); err != nil {
			return err
		}
		v.note("environment_renamed", map[string]any{"oldName": req.Environment, "newName": req.NewName})
		out.Environments = v.details()
		return nil
	})
	return out, err
}

// DeleteEnvironment removes an environment with all its secrets, trashed ones
// included, for good. A vault keeps at least one environment.
func (w *Warden) DeleteEnvironment(ctx context.Context, who Caller, ref api.EnvironmentRef) (*api.DeletedEnvironment, error) {
	out := &api.DeletedEnvironment{Deleted: ref.Environment}
	err := w.changeEnvironment(ctx, who, access.EnvironmentDelete, ref, func(v *visit, e *store.Environment) error {
		if len(v.envs) == 1 {
			return api.Errorf(api.Conflict, "%s is the vault's last environment. Create another one first, or delete the vault.", e.Name)
		}
		v.note("environment_deleted", map[string]any{"environment": e.Name, "secretCount": e.Secrets})
		if err := v.tx.DeleteEnvironment(*e); err != nil {
			return err
		}
		v.envs = slices.DeleteFunc(v.envs, func(other *store.Environment) bool { return other == e })
		v.vault.Updated = store.At(v.now)
		out.Environments = v.details()
		return v.tx.PutVault(v.vault)
	})
	return out, err
}

// RetypeEnvironment changes how guarded an environment is.
func (w *Warden) RetypeEnvironment(ctx context.Context, who Caller, req api.RetypeEnvironment) (*api.RetypedEnvironment, error) {
	out := &api.RetypedEnvironment{Environment: req.Environment, NewType: req.Type}
	err := w.changeEnvironment(ctx, who, access.EnvironmentRetype, req.EnvironmentRef, func(v *visit, e *store.Environment) error {
		if err := v.allowTypes(e.Name, v.rights(e), envType(req.Type)); err != nil {
			return err
		}
		out.OldType, e.Type = e.Type, req.Type
		v.note("environment_type_changed", map[string]any{"environment": e.Name, "oldType": out.OldType, "newType": e.Type})
		return v.keep(e)
	})
	return out, err
}

// MoveEnvironment gives an environment another place in the order in which
// environments are shown everywhere. Those in between make room.
func (w *Warden) MoveEnvironment(ctx context.Context, who Caller, req api.MoveEnvironment) (*api.MovedEnvironment, error) {
	out := &api.MovedEnvironment{Environment: req.Environment}
	err := w.changeEnvironment(ctx, who, access.EnvironmentMove, req.EnvironmentRef, func(v *visit, e *store.Environment) error {
		if last := v.lastOrder(); req.DisplayOrder > last {
			return api.InvalidField("displayOrder", api.FieldTooLarge, "At most %d, where the last one stands.", last)
		}
		out.OldOrder = e.Order
		if err := v.moveTo(e, req.DisplayOrder); err != nil {
			return err
		}
		out.NewOrder, out.Environments = e.Order, v.details()
		v.note("environment_moved", map[string]any{"environment": e.Name, "oldOrder": out.OldOrder, "newOrder": out.NewOrder})
		return nil
	})
	return out, err
}

// moveTo puts an environment where the one with this order stands, and closes the
// gaps that deleted ones have left. The visitor need not see all that it passes.
func (v *visit) moveTo(e *store.Environment, order int) error {
	to := slices.IndexFunc(v.envs, func(other *store.Environment) bool { return other.Order >= order })
	if order > e.Order { // past that one, and not to what comes behind a gap
		to = len(v.envs) - 1
		for v.envs[to].Order > order {
			to--
		}
	}
	from := slices.Index(v.envs, e)
	v.envs = slices.Insert(slices.Delete(v.envs, from, from+1), to, e)
	for i, other := range v.envs {
		if other.Order == i {
			continue
		}
		other.Order = i
		if err := v.keep(other); err != nil {
			return err
		}
	}
	return nil
}
