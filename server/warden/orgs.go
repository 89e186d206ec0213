package warden

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"coffer/server/access"
	"coffer/server/api"
	"coffer/server/billing"
	"coffer/server/forge"
	"coffer/store"
)

// Orgs lists the organizations that the caller is a member of, by login.
func (w *Warden) Orgs(ctx context.Context, who Caller, _ api.Empty) ([]api.Org, error) {
	const act = access.OrgList
	if err := admit(who, act); err != nil {
		return nil, w.settle(ctx, who, act, store.Vault{}, err)
	}
	mine, err := w.memberships(ctx, who)
	if err != nil {
		return nil, err
	}
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for _, m := range mine {
		group.Go(func() error { return w.recordOrg(groupCtx, who, m.Organization) })
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	var out []api.Org
	err = w.self(ctx, who, act, func(r store.Reader) error {
		out = make([]api.Org, 0, len(mine))
		for _, m := range mine {
			o, err := w.shownOrg(r, m.Organization.ID, standingOf(m.Standing))
			if err != nil {
				return err
			}
			out = append(out, o.Org)
		}
		return nil
	})
	return out, err
}

// memberships asks the code host for the organizations that the caller is a
// member of. Where nobody can list them for the caller, the service credential is
// asked about every organization there is a record of.
func (w *Warden) memberships(ctx context.Context, who Caller) ([]forge.Membership, error) {
	all, err := ask(ctx, w, who, w.forge.Organizations)
	if errors.Is(err, errNoGrant) {
		all, err = w.membershipsOnRecord(ctx, who)
	} else if err != nil {
		err = w.errForge(ctx, who, err)
	}
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(m forge.Membership) bool { return standingOf(m.Standing) == access.Outsider })
	slices.SortFunc(all, func(a, b forge.Membership) int {
		return cmp.Or(cmp.Compare(strings.ToLower(a.Organization.Login), strings.ToLower(b.Organization.Login)),
			cmp.Compare(a.Organization.ID, b.Organization.ID))
	})
	return all, nil
}

func (w *Warden) membershipsOnRecord(ctx context.Context, who Caller) ([]forge.Membership, error) {
	known, err := w.orgsOnRecord(ctx)
	if err != nil {
		return nil, w.outward(err)
	}
	all := make([]forge.Membership, len(known))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for i, o := range known {
		group.Go(func() (err error) {
			all[i].Organization = organizationOf(o)
			if all[i].Standing, err = w.askStanding(ctx, who, all[i].Organization); err != nil {
				err = w.errForge(ctx, who, err)
			}
			return err
		})
	}
	return all, group.Wait()
}

// orgsOnRecord are the organizations of our code host that were ever seen.
func (w *Warden) orgsOnRecord(ctx context.Context) (all []store.Org, err error) {
	err = w.store.View(ctx, func(r store.Reader) (err error) {
		all, err = r.Orgs()
		return err
	})
	return slices.DeleteFunc(all, func(o store.Org) bool { return o.Forge != w.forge.Kind() }), err
}

// organizationOf is an organization as it was last seen.
func organizationOf(o store.Org) forge.Organization {
	return forge.Organization{ID: o.Account, Login: o.Login, AvatarURL: o.AvatarURL}
}

// Org is one organization that the caller is a member of.
func (w *Warden) Org(ctx context.Context, who Caller, req api.OrgRef) (*api.OrgDetail, error) {
	const act = access.OrgGet
	there, standing, err := w.enterOrg(ctx, who, act, req.Org)
	if err != nil {
		return nil, err
	}
	if err := w.recordOrg(ctx, who, there); err != nil {
		return nil, err
	}
	var out api.OrgDetail
	err = w.self(ctx, who, act, func(r store.Reader) (err error) {
		out, err = w.shownOrg(r, there.ID, standing)
		return err
	})
	return &out, err
}

// shownOrg is an organization on record as one of its members sees it.
func (w *Warden) shownOrg(r store.Reader, account string, standing access.Standing) (api.OrgDetail, error) {
	o, err := r.OrgAt(w.forge.Kind(), account)
	if err != nil {
		return api.OrgDetail{}, err
	}
	b, err := r.Billing(store.AccountOfOrg(account))
	if err != nil {
		return api.OrgDetail{}, err
	}
	vaults, err := r.VaultsOf(store.AccountOfOrg(account))
	return api.OrgDetail{
		Org: api.Org{
			ID: o.ID.String(), ForgeType: o.Forge, ForgeOrgID: o.Account, Login: o.Login,
			DisplayName: orNull(o.DisplayName), AvatarURL: orNull(o.AvatarURL), Plan: w.c.Plans.Lasting(w.c.Plan, w.entitlement(b)).Name, Role: wordOf(standing),
			MemberCount: max(o.People, 1), // before any roster was had, whoever asks is one
			VaultCount:  len(vaults),
			CreatedAt:   api.At(o.Created.Time()), UpdatedAt: api.At(o.Updated.Time()),
		},
		EffectivePlan: w.planBy(b, w.now()).Name, DefaultPermissions: defaultsShown(o), Trial: trialOf(b).Shown(w.now()), TrialDurationDays: billing.TrialDays,
	}, err
}

func defaultsShown(o store.Org) api.Matrix {
	if o.Defaults == nil {
		return api.Matrix{}
	}
	return api.Matrix(o.Defaults)
}

// UpdateOrg changes what an organization is called here, and what its roles may
// do by default.
func (w *Warden) UpdateOrg(ctx context.Context, who Caller, req api.UpdateOrg) (*api.UpdatedOrg, error) {
	const act = access.OrgUpdate
	there, _, err := w.enterOrg(ctx, who, act, req.Org)
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
			org.DisplayName, org.Named = "", true
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
			DefaultPermissions: defaultsShown(org), UpdatedAt: api.At(org.Updated.Time()),
		}
		return tx.PutOrg(org)
	})
	return out, err
}

// enterOrg asks the code host for an organization, and holds what the caller is
// to it against what the action needs.
func (w *Warden) enterOrg(ctx context.Context, who Caller, act access.Action, login string) (forge.Organization, access.Standing, error) {
	if err := admit(who, act); err != nil {
		return forge.Organization{}, access.Outsider, w.settle(ctx, who, act, store.Vault{}, err)
	}
	org, standing, err := w.orgOf(ctx, who, login)
	if err == nil && standing == access.Member && act.Row().Standing == access.Installer {
		standing, err = w.asInstaller(ctx, who, org)
	}
	if err != nil || act.Decide(access.Facts{Standing: standing}) == access.Granted {
		return org, standing, err
	}
	switch act.Row().Standing {
	case access.Owner:
		return org, standing, api.Errorf(api.Forbidden, "Only an owner of %s may do this.", org.Login)
	case access.Installer:
		return org, standing, api.Errorf(api.Forbidden, "Only an owner of %s may do this, or a member once the code host's application is installed there.", org.Login)
	}
	return org, standing, api.Errorf(api.Forbidden, "Only members of %s may see this.", org.Login)
}

// asInstaller is what a member is to an organization that our application may be
// installed on.
func (w *Warden) asInstaller(ctx context.Context, who Caller, org forge.Organization) (access.Standing, error) {
	host, ok := w.forge.(forge.Installer)
	if !ok {
		return access.Member, nil
	}
	there, err := host.InstalledOn(ctx, org)
	switch {
	case err != nil:
		return access.Member, w.errForge(ctx, who, err)
	case there:
		return access.Installer, nil
	}
	return access.Member, nil
}

// orgOf asks the code host for an organization and what the caller is to it.
func (w *Warden) orgOf(ctx context.Context, who Caller, login string) (forge.Organization, access.Standing, error) {
	org, err := ask(ctx, w, who, func(ctx context.Context, as forge.Asker) (forge.Organization, error) {
		return w.forge.Organization(ctx, as, login)
	})
	if errors.Is(err, forge.ErrNotFound) {
		return org, access.Outsider, api.Errorf(api.NotFound, "There is no organization %s, or you may not know of it.", login)
	}
	if err != nil {
		return org, access.Outsider, w.errForge(ctx, who, err)
	}
	said, err := w.askStanding(ctx, who, org)
	if err != nil {
		return org, access.Outsider, w.errForge(ctx, who, err)
	}
	return org, standingOf(said), nil
}

// askStanding asks the code host what the caller is to an organization. To one
// that it hides from them, they are nothing.
func (w *Warden) askStanding(ctx context.Context, who Caller, org forge.Organization) (string, error) {
	said, err := ask(ctx, w, who, func(ctx context.Context, as forge.Asker) (string, error) {
		return w.forge.Standing(ctx, as, org)
	})
	if errors.Is(err, forge.ErrNotFound) {
		return "", nil
	}
	return said, err
}

func standingOf(said string) access.Standing {
	switch said {
	case forge.OrgOwner:
		return access.Owner
	case forge.OrgMember:
		return access.Member
	}
	return access.Outsider
}

// wordOf is a member's standing in the words of the wire.
func wordOf(s access.Standing) string {
	if s == access.Owner {
		return forge.OrgOwner
	}
	return forge.OrgMember
}

// recordOrg writes down an organization that the code host showed to a member,
// and reads its roster if that was never done. Without the roster only the number
// of its people is not known yet.
func (w *Warden) recordOrg(ctx context.Context, who Caller, there forge.Organization) error {
	org, err := w.seenOrg(ctx, there)
	if err != nil || org.RosterAt != 0 {
		return err
	}
	within, cancel := context.WithTimeout(ctx, firstRosterTime)
	defer cancel()
	roster, err := w.roster(within, who, there)
	if err == nil {
		err = w.keepRosterUnasked(ctx, there, roster)
	}
	if err != nil && ctx.Err() == nil {
		w.log.InfoContext(ctx, "an organization's roster could not be read", "organization", there.Login, "error", err)
	}
	return w.outward(ctx.Err())
}

// seenOrg is the record of an organization, made now if this is the first time
// that it is seen, and brought up to date.
func (w *Warden) seenOrg(ctx context.Context, there forge.Organization) (org store.Org, err error) {
	err = w.store.View(ctx, func(r store.Reader) (err error) {
		org, err = r.OrgAt(w.forge.Kind(), there.ID)
		return err
	})
	if err == nil && !relabel(&org, there) {
		return org, nil
	}
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return org, w.outward(err)
	}
	_, err = w.step(ctx, func(tx store.Tx, j *journal) (_ int, err error) {
		org, err = w.orgAt(tx, j, there)
		return 0, err
	})
	return org, w.outward(err)
}

// orgAt is seenOrg within a transaction.
func (w *Warden) orgAt(tx store.Tx, j *journal, there forge.Organization) (store.Org, error) {
	org, err := tx.OrgAt(w.forge.Kind(), there.ID)
	if errors.Is(err, store.ErrNotFound) {
		org, err = store.Org{ID: j.ids.Next(), Forge: w.forge.Kind(), Account: there.ID, Created: store.At(j.now)}, nil
	}
	if err != nil || !relabel(&org, there) {
		return org, err
	}
	org.Updated = store.At(j.now)
	return org, tx.PutOrg(org)
}

// relabel gives an organization the names and picture that the code host shows
// today, and reports whether that changed anything. A name that an owner chose
// here stays.
func relabel(o *store.Org, there forge.Organization) bool {
	was := *o
	o.Login = there.Login
	if there.DisplayName != "" && !o.Named {
		o.DisplayName = there.DisplayName
	}
	if there.AvatarURL != "" {
		o.AvatarURL = there.AvatarURL
	}
	return o.Login != was.Login || o.DisplayName != was.DisplayName || o.AvatarURL != was.AvatarURL
}
