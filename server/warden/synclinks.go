package warden

import (
	"context"
	"errors"

	"coffer/server/access"
	"coffer/server/api"
	"coffer/server/billing"
	"coffer/store"
)

// SaveLink remembers a target with a vault. The same target twice is one link.
func (w *Warden) SaveLink(ctx context.Context, who Caller, req api.SaveLink) (*api.SavedLink, error) {
	s := &sides{w: w, who: who, act: access.SyncLinkSave, asked: req.Target()}
	if err := s.findTarget(ctx); err != nil {
		return nil, s.outward(ctx, err)
	}
	out := &api.SavedLink{}
	err := w.change(ctx, who, access.SyncLinkSave, req.Repository(), func(v *visit) error {
		e, _, err := s.ours(v)
		if err != nil {
			return err
		}
		l, fresh, err := s.linkIn(v, e)
		if err != nil {
			return err
		}
		if l.References != req.AllowReferences {
			l.Revision = 0 // other values than before are to be there
		}
		l.Auto, l.References = req.AutoSync, req.AllowReferences
		l.Disabled, l.Failures, l.Next = false, 0, 0
		if l.Problem != "" && l.Auto {
			l.Problem = ""
		}
		v.note("sync_link_saved", map[string]any{"provider": l.Provider, "environment": e.Name, "autoSync": l.Auto})
		out.Link = api.LinkDetail{VaultSync: vaultSync(l, e.Name), VaultID: v.vault.ID.String(), IsNew: fresh}
		return v.tx.PutSyncLink(l)
	})
	if err == nil {
		w.syncs.engage()
	}
	return out, err
}

// findTarget finds the target of a request, without a value of ours.
func (s *sides) findTarget(ctx context.Context) error {
	var connection store.ID
	err := s.w.read(ctx, s.who, s.act, s.asked.Repository(), func(v *visit) error {
		e, conn, err := s.ours(v)
		if err == nil {
			s.vault, s.env, s.role, connection = v.vault, *e, v.role, conn.ID
		}
		return err
	})
	if err != nil {
		return err
	}
	if s.to, err = s.w.reach(ctx, connection); err != nil {
		return err
	}
	return s.aim(ctx)
}

// linkIn is the link of the target, which is made when there is none.
func (s *sides) linkIn(v *visit, e *store.Environment) (l store.SyncLink, fresh bool, err error) {
	all, err := v.SyncLinks(v.vault.ID)
	if err != nil {
		return l, false, err
	}
	at := s.target
	for _, l := range all {
		same := l.Environment == e.ID && l.Provider == s.to.conn.Provider && l.Project == at.Project.ID && l.Service == at.Project.Service && l.Target == at.Environment.Name
		if !same {
			continue
		}
		if l.User != s.who.user.ID && v.role < access.Admin {
			return l, false, api.Errorf(api.Conflict, "Somebody else has linked this already. Ask them or an admin of the repository to change it.")
		}
		if l.User != s.who.user.ID {
			if err := v.checkLinks(); err != nil {
				return l, false, err
			}
		}
		l.User, l.Connection, l.ProjectName, l.ServiceName = s.who.user.ID, s.to.conn.ID, at.Project.Name, at.Project.ServiceName
		return l, false, nil
	}
	if err := v.checkLinks(); err != nil {
		return l, false, err
	}
	return store.SyncLink{
		ID: v.ids.Next(), Vault: v.vault.ID, Environment: e.ID, User: s.who.user.ID, Connection: s.to.conn.ID, Provider: s.to.conn.Provider,
		Project: at.Project.ID, ProjectName: at.Project.Name, Service: at.Project.Service, ServiceName: at.Project.ServiceName,
		Target: at.Environment.Name, Created: store.At(v.now),
	}, true, nil
}

// checkLinks holds one more link of the visitor's against their own plan.
func (v *visit) checkLinks() error {
	conns, err := v.ConnectionsOf(v.who.user.ID)
	if err != nil {
		return err
	}
	there := 0
	for _, c := range conns {
		through, err := v.LinksThrough(c.ID)
		if err != nil {
			return err
		}
		there += len(through)
	}
	plan, err := v.w.planOf(v.Reader, store.AccountOfUser(v.who.user.ID))
	if err != nil {
		return err
	}
	if billing.Exceeds(there+1, plan.SyncLinks) {
		return v.errPlan("The plan %q allows %d saved syncs. Remove one first, or move to a higher plan.", plan.Name, plan.SyncLinks)
	}
	return nil
}

// RemoveLink forgets a target. What was synced there stays there.
func (w *Warden) RemoveLink(ctx context.Context, who Caller, ref api.LinkRef) error {
	missing := api.Errorf(api.NotFound, "This vault has no such link.")
	return w.change(ctx, who, access.SyncLinkDelete, ref.Repository(), func(v *visit) error {
		id, err := store.ParseID(ref.LinkID)
		if err != nil {
			return missing
		}
		l, err := v.SyncLink(v.vault.ID, id)
		if errors.Is(err, store.ErrNotFound) {
			return missing
		}
		if err != nil {
			return err
		}
		e := v.environmentByID(l.Environment)
		if e == nil {
			return missing
		}
		if l.User != who.user.ID && v.role < access.Admin {
			return &refusal{reason: access.RoleTooLow, environment: e.Name, answer: api.Errorf(api.Forbidden,
				"Only who saved this link, or an admin of the repository, may remove it.")}
		}
		v.note("sync_link_removed", map[string]any{"provider": l.Provider, "environment": e.Name, "autoSync": l.Auto})
		return v.tx.DeleteSyncLink(l)
	})
}

// vaultSyncs are the links of environments that the visitor may see.
func (v *visit) vaultSyncs() ([]api.VaultSync, error) {
	out := []api.VaultSync{}
	all, err := v.SyncLinks(v.vault.ID)
	for _, l := range all {
		if e := v.environmentByID(l.Environment); e != nil && v.rights(e).Read {
			out = append(out, vaultSync(l, e.Name))
		}
	}
	return out, err
}

// statusDisabled is how a link stands that syncs by itself no more.
const statusDisabled = "disabled"

func vaultSync(l store.SyncLink, environment string) api.VaultSync {
	out := api.VaultSync{
		ID: l.ID.String(), Provider: l.Provider, ConnectionID: l.Connection.String(), ProjectID: l.Project, ProjectName: l.ProjectName,
		KeywayEnvironment: environment, ProviderEnvironment: l.Target, AutoSync: l.Auto && !l.Disabled,
		LastSyncedAt: instant(l.Synced), LastStatus: l.Status, LastError: l.Problem, LastRunAt: instant(l.Ended),
		DriftKeys: l.Drift, CheckedAt: instant(l.Checked),
	}
	if l.Service != "" {
		out.ServiceID = &l.Service
	}
	if l.Disabled {
		out.LastStatus = statusDisabled
	}
	if l.Auto && !l.Disabled {
		out.NextRunAt = instant(l.Next)
	}
	return out
}

// instant is a time of the wire, or nil for never.
func instant(at store.Millis) *api.Time {
	if at == 0 {
		return nil
	}
	t := api.At(at.Time())
	return &t
}

// tellLinks notes with the links of a run's target how it went. After a pull it is
// not known that all of ours is there: what only we have is not.
func (w *Warden) tellLinks(tx store.Tx, run store.SyncRun, revision uint64, place store.Place) error {
	all, err := tx.SyncLinks(run.Vault)
	if err != nil {
		return err
	}
	for _, l := range all {
		if l.Environment != run.Environment || l.Provider != run.Provider || l.Project != run.Project || l.Service != run.Service || l.Target != run.Target {
			continue
		}
		l.Status, l.Ended = run.Status, run.Ended
		if !l.Disabled { // else it says why
			l.Problem = w.resultOf(run).Error
		}
		switch {
		case run.Status == api.SyncSuccess && run.Pull:
			l.Synced = run.Ended
		case run.Status == api.SyncSuccess:
			l.Synced, l.Revision, l.Failures, l.Next, l.Drift = run.Ended, revision, 0, 0, 0
		case l.ID == run.SyncLink:
			backOff(&l, run.Ended)
		}
		if err := tx.PutSyncLink(l); err != nil {
			return err
		}
	}
	return nil
}
