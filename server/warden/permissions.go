package warden

import (
	"context"
	"errors"
	"slices"

	"coffer/server/access"
	"coffer/server/api"
	"coffer/store"
)

// loadRules reads what decides about rights in a vault beside the matrix.
func (v *visit) loadRules() error {
	all, err := v.Overrides(v.vault.ID)
	if err != nil {
		return err
	}
	for _, o := range all {
		if rule, ok := v.rule(o); ok {
			v.overrides = append(v.overrides, rule)
		}
	}
	if v.vault.OwnerKind != store.OwnerOrg {
		return nil
	}
	org, err := v.OrgAt(v.w.forge.Kind(), v.vault.OwnerID)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	v.defaults = defaultsOf(org.Defaults)
	return err
}

// rule is an override in the words of access.
func (v *visit) rule(o store.Override) (access.Override, bool) {
	rule := access.Override{Environment: access.Everywhere, Rights: access.Rights{Read: o.Read, Write: o.Write}}
	if !o.Environment.IsZero() {
		e := v.environmentByID(o.Environment)
		if e == nil {
			return rule, false
		}
		rule.Environment = e.Name
	}
	if o.User.IsZero() {
		role, err := access.ParseRole(o.Role)
		rule.Role = role
		return rule, err == nil
	}
	rule.UserID = o.User.String()
	return rule, true
}

func defaultsOf(stored map[string]map[string]map[string]bool) access.Defaults {
	all := make(access.Defaults)
	for name, types := range stored {
		role, err := access.ParseRole(name)
		if err != nil {
			continue
		}
		all[role] = make(map[access.EnvType]access.Choice)
		for kind, rights := range types {
			var c access.Choice
			if read, ok := rights["read"]; ok {
				c.Read = &read
			}
			if write, ok := rights["write"]; ok {
				c.Write = &write
			}
			all[role][envType(kind)] = c
		}
	}
	return all
}

// matrix is what holds in the vault without overrides.
func (v *visit) matrix() api.Matrix {
	m := make(api.Matrix)
	for _, role := range access.Roles() {
		types := make(map[string]map[string]bool)
		for _, t := range access.EnvTypes() {
			rights := access.Resolve(access.Subject{Role: role, Type: t}, nil, v.defaults)
			types[t.String()] = map[string]bool{"read": rights.Read, "write": rights.Write}
		}
		m[role.String()] = types
	}
	return m
}

// EffectivePermissions is what the caller may do in a vault.
func (w *Warden) EffectivePermissions(ctx context.Context, who Caller, ref api.Ref) (*api.EffectivePermissions, error) {
	out := &api.EffectivePermissions{}
	err := w.read(ctx, who, access.PermissionEffective, ref.Repository(), func(v *visit) error {
		out.Role, out.Permissions = v.role.String(), make(map[string]api.Permission)
		for _, e := range v.envs {
			if rights := v.rights(e); rights.Read || rights.Write {
				out.Permissions[e.Name] = api.Permission{Read: rights.Read, Write: rights.Write}
			}
		}
		return nil
	})
	return out, err
}

// DefaultPermissions is what holds in a vault without overrides.
func (w *Warden) DefaultPermissions(ctx context.Context, who Caller, ref api.Ref) (*api.DefaultPermissions, error) {
	out := &api.DefaultPermissions{
		Description: "What each role on the repository may do in environments of each type, unless an override says otherwise.",
	}
	err := w.read(ctx, who, access.PermissionDefaults, ref.Repository(), func(v *visit) error {
		out.Matrix = v.matrix()
		return nil
	})
	return out, err
}

// Overrides lists a vault's overrides. Who does not manage them sees those for
// all environments and for environments that they may read.
func (w *Warden) Overrides(ctx context.Context, who Caller, ref api.Ref) (*api.Overrides, error) {
	out := &api.Overrides{}
	var vault store.Vault
	var hidden map[string]bool // by id, from whoever does not manage them
	err := w.read(ctx, who, access.OverrideList, ref.Repository(), func(v *visit) error {
		all, err := v.Reader.Overrides(v.vault.ID)
		if err != nil {
			return err
		}
		vault, hidden = v.vault, make(map[string]bool)
		out.Overrides, out.Defaults = make([]api.Override, 0, len(all)), v.matrix()
		for _, o := range all {
			shown, err := v.shownOverride(o)
			if err != nil {
				return err
			}
			if e := v.environmentByID(o.Environment); v.role != access.Admin && e != nil && !v.rights(e).Read {
				hidden[shown.ID] = true
			}
			out.Overrides = append(out.Overrides, shown)
		}
		return nil
	})
	if err != nil || len(hidden) == 0 {
		return out, err
	}
	standing, err := w.standing(ctx, who, vault)
	if err != nil {
		return nil, err
	}
	if standing < access.Owner {
		out.Overrides = slices.DeleteFunc(out.Overrides, func(o api.Override) bool { return hidden[o.ID] })
	}
	return out, nil
}

func (v *visit) shownOverride(o store.Override) (api.Override, error) {
	out := api.Override{
		ID: o.ID.String(), Environment: v.overrideEnvironment(o), TargetType: "role", TargetRole: orNull(o.Role),
		CanRead: o.Read, CanWrite: o.Write, CreatedAt: api.At(o.Created.Time()), UpdatedAt: api.At(o.Updated.Time()),
	}
	if !o.User.IsZero() {
		out.TargetType = "user"
		u, err := v.person(o.User)
		if err != nil {
			return out, err
		}
		if u != nil {
			out.TargetUser = &api.Person{ID: u.ID.String(), Username: u.Login, AvatarURL: orNull(u.AvatarURL)}
		}
	}
	by, err := v.person(o.CreatedBy)
	if by != nil {
		out.CreatedBy = &api.Author{ID: by.ID.String(), Username: by.Login}
	}
	return out, err
}

func (v *visit) overrideEnvironment(o store.Override) string {
	if e := v.environmentByID(o.Environment); e != nil {
		return e.Name
	}
	return access.Everywhere
}

// overrideMeta is what the activity log says of an override.
func (v *visit) overrideMeta(o store.Override) map[string]any {
	meta := map[string]any{
		"overrideId": o.ID.String(), "environment": v.overrideEnvironment(o),
		"targetType": "role", "target": o.Role, "canRead": o.Read, "canWrite": o.Write,
	}
	if !o.User.IsZero() {
		meta["targetType"], meta["target"] = "user", o.User.String()
		if u, err := v.person(o.User); err == nil && u != nil {
			meta["target"] = u.Login
		}
	}
	return meta
}

// CreateOverride sets what a user or a role may do in an environment or in all.
func (w *Warden) CreateOverride(ctx context.Context, who Caller, req api.CreateOverride) (*api.CreatedOverride, error) {
	var out *api.CreatedOverride
	err := w.change(ctx, who, access.OverrideCreate, req.Repository(), func(v *visit) error {
		o, err := v.newOverride(req)
		if err != nil {
			return err
		}
		all, err := v.Reader.Overrides(v.vault.ID)
		if err != nil {
			return err
		}
		for _, other := range all {
			if other.Environment == o.Environment && other.User == o.User && other.Role == o.Role {
				return api.Errorf(api.Conflict, "There is an override for this target already. Change that one.")
			}
		}
		if err := v.tx.PutOverride(o); err != nil {
			return err
		}
		v.note("permission_override_created", v.overrideMeta(o))
		shown, err := v.shownOverride(o)
		out = &api.CreatedOverride{Override: shown}
		return err
	})
	return out, err
}

func (v *visit) newOverride(req api.CreateOverride) (store.Override, error) {
	o := store.Override{
		ID: v.ids.Next(), Vault: v.vault.ID, Read: req.CanRead, Write: req.CanWrite,
		CreatedBy: v.who.user.ID, Created: store.At(v.now), Updated: store.At(v.now),
	}
	if req.Environment != access.Everywhere {
		e := v.environment(req.Environment)
		if e == nil {
			return o, api.InvalidField("environment", api.UnknownValue, "This vault has no environment %q.", req.Environment)
		}
		o.Environment = e.ID
	}
	if req.TargetType == "role" {
		o.Role = *req.TargetRole
		return o, nil
	}
	unknown := api.InvalidField("targetUserId", api.UnknownValue, "There is no user with this id. Who has an account has signed in once.")
	id, err := store.ParseID(*req.TargetUserID)
	if err != nil {
		return o, unknown
	}
	u, err := v.person(id)
	if err == nil && u == nil {
		err = unknown
	}
	o.User = id
	return o, err
}

// changeOverride lets a caller change one override of a vault: never one of
// another vault.
func (w *Warden) changeOverride(ctx context.Context, who Caller, act access.Action, ref api.OverrideRef, work func(*visit, store.Override) error) error {
	return w.change(ctx, who, act, ref.Repository(), func(v *visit) error {
		missing := api.Errorf(api.NotFound, "This vault has no such override.")
		id, err := store.ParseID(ref.OverrideID)
		if err != nil {
			return missing
		}
		o, err := v.Override(v.vault.ID, id)
		if errors.Is(err, store.ErrNotFound) {
			return missing
		}
		if err != nil {
			return err
		}
		return work(v, o)
	})
}

// UpdateOverride changes an override's rights.
func (w *Warden) UpdateOverride(ctx context.Context, who Caller, req api.UpdateOverride) (*api.Override, error) {
	var out api.Override
	err := w.changeOverride(ctx, who, access.OverrideUpdate, req.OverrideRef, func(v *visit, o store.Override) error {
		before := map[string]any{"canRead": o.Read, "canWrite": o.Write}
		if req.CanRead != nil {
			o.Read = *req.CanRead
		}
		if req.CanWrite != nil {
			o.Write = *req.CanWrite
		}
		o.Updated = store.At(v.now)
		if err := v.tx.PutOverride(o); err != nil {
			return err
		}
		meta := v.overrideMeta(o)
		meta["before"] = before
		v.note("permission_override_updated", meta)
		var err error
		out, err = v.shownOverride(o)
		return err
	})
	return &out, err
}

// DeleteOverride removes an override.
func (w *Warden) DeleteOverride(ctx context.Context, who Caller, ref api.OverrideRef) (*api.Deleted, error) {
	err := w.changeOverride(ctx, who, access.OverrideDelete, ref, func(v *visit, o store.Override) error {
		v.note("permission_override_deleted", v.overrideMeta(o))
		return v.tx.DeleteOverride(o)
	})
	return &api.Deleted{Deleted: true}, err
}

// ResetOverrides removes all overrides of a vault.
func (w *Warden) ResetOverrides(ctx context.Context, who Caller, ref api.Ref) (*api.ResetOverrides, error) {
	out := &api.ResetOverrides{}
	err := w.change(ctx, who, access.OverrideReset, ref.Repository(), func(v *visit) error {
		all, err := v.Reader.Overrides(v.vault.ID)
		if err != nil {
			return err
		}
		for _, o := range all {
			if err := v.tx.DeleteOverride(o); err != nil {
				return err
			}
		}
		v.note("permission_overrides_reset", map[string]any{"count": len(all)})
		out.Message = "Removed " + count(len(all), "override") + "."
		out.Defaults = v.matrix()
		return nil
	})
	return out, err
}
