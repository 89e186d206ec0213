package warden

import (
	"context"
	"errors"
	"maps"

	"coffer/server/access"
	"coffer/server/api"
	"coffer/server/forge"
	"coffer/store"
)

// UpdateOrg changes what an organization is called here, and what its roles may
// do by default.
func (w *Warden) UpdateOrg(ctx context.Context, who Caller, req api.UpdateOrg) (*api.UpdatedOrg, error) {
	const act = access.OrgUpdate
	if err := admit(who, act); err != nil {
		return nil, w.settle(ctx, who, act, store.Vault{}, err)
	}
	there, err := w.ownOrg(ctx, who, req.Org)
	if err != nil {
		return nil, err
	}
	var out *api.UpdatedOrg
	err = w.changeSelf(ctx, who, act, func(tx store.Tx, j *journal) error {
		org, err := w.orgAt(tx, j, there)
		if err != nil {
			return err
		}
		changed := []string{}
		if req.DisplayName.Given {
			org.DisplayName = ""
			if req.DisplayName.Text != nil {
				org.DisplayName = *req.DisplayName.Text
			}
			changed = append(changed, "displayName")
		}
		if req.DefaultPermissions != nil {
			org.Defaults = maps.Clone(req.DefaultPermissions)
			changed = append(changed, "defaultPermissions")
		}
		org.Updated = store.At(j.now)
		j.note("org_updated", map[string]any{"org": org.Login, "changed": changed})
		out = &api.UpdatedOrg{
			ID: org.ID.String(), Login: org.Login, DisplayName: orNull(org.DisplayName),
			DefaultPermissions: api.Matrix(org.Defaults), UpdatedAt: api.At(org.Updated.Time()),
		}
		if out.DefaultPermissions == nil {
			out.DefaultPermissions = api.Matrix{}
		}
		return tx.PutOrg(org)
	})
	return out, err
}

// ownOrg asks the code host for an organization that the caller owns.
func (w *Warden) ownOrg(ctx context.Context, who Caller, login string) (forge.Organization, error) {
	org, standing, err := w.orgOf(ctx, who, login)
	if err == nil && standing < access.Owner {
		err = api.Errorf(api.Forbidden, "Only an owner of %s may do this.", org.Login)
	}
	return org, err
}

// orgOf asks the code host for an organization and what the caller is to it.
func (w *Warden) orgOf(ctx context.Context, who Caller, login string) (forge.Organization, access.Standing, error) {
	org, err := ask(ctx, w, who, func(ctx context.Context, as forge.Asker) (forge.Organization, error) {
		return w.forge.Organization(ctx, as, login)
	})
	if errors.Is(err, forge.ErrNotFound) {
		return org, access.Outsider, api.Errorf(api.NotFound, "There is no organization %s.", login)
	}
	if err != nil {
		return org, access.Outsider, w.errForge(who, err)
	}
	said, err := ask(ctx, w, who, func(ctx context.Context, as forge.Asker) (string, error) {
		return w.forge.Standing(ctx, as, org)
	})
	if err != nil && !errors.Is(err, forge.ErrNotFound) {
		return org, access.Outsider, w.errForge(who, err)
	}
	return org, standingOf(said), nil
}

// orgAt is the record of an organization, made now if this is the first time it
// is seen.
func (w *Warden) orgAt(tx store.Tx, j *journal, there forge.Organization) (store.Org, error) {
	org, err := tx.OrgAt(w.forge.Kind(), there.ID)
	if !errors.Is(err, store.ErrNotFound) {
		org.Login = there.Login
		return org, err
	}
	org = store.Org{
		ID: j.ids.Next(), Forge: w.forge.Kind(), Account: there.ID, Login: there.Login,
		Created: store.At(j.now), Updated: store.At(j.now),
	}
	return org, tx.PutOrg(org)
}
