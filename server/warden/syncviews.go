package warden

import (
	"context"
	"errors"

	"coffer/server/access"
	"coffer/server/api"
	"coffer/store"
)

// What pages show of syncs beyond what the API tells: names for people, and what
// whoever looks at them may do.

// VaultSyncs is what a vault is synced with, and how the last runs went.
type VaultSyncs struct {
	Links []SyncLink
	Runs  []SyncRun // newest first
}

// SyncLink is a link as the pages of its vault show it.
type SyncLink struct {
	api.VaultSync
	Service    string // its name, or ""
	By         string // name of whoever saved it, or ""
	Mine       bool   // it goes through a connection of the caller's
	Broken     bool   // that connection has to be made again
	Wanted     bool   // it was saved to sync by itself, even if it does so no more
	References bool
	MaySync    bool // the caller may, now
	MayRemove  bool
}

// SyncRun is a run as the pages of its vault show it.
type SyncRun struct {
	api.SyncJob
	Provider, Project   string
	Environment, Target string // ours and theirs
	Pull, Auto          bool
	By                  string // name of whoever began it, or ""
	Mine                bool   // the caller began it, and may stop it
	Canceled            bool

	// What it syncs, to preview that again.
	ConnectionID, ProjectID, ServiceID string
}

// VaultSyncs lists the links and the remembered runs of the environments that the
// caller may see.
func (w *Warden) VaultSyncs(ctx context.Context, who Caller, ref api.Ref) (*VaultSyncs, error) {
	out := &VaultSyncs{}
	err := w.read(ctx, who, access.VaultGet, ref.Repository(), func(v *visit) error {
		links, err := v.SyncLinks(v.vault.ID)
		if err != nil {
			return err
		}
		runs, err := v.SyncRunsOf(v.vault.ID)
		if err != nil {
			return err
		}
		for _, l := range links {
			if e := v.environmentByID(l.Environment); e != nil && v.rights(e).Read {
				shown, err := v.syncLink(l, e)
				if err != nil {
					return err
				}
				out.Links = append(out.Links, shown)
			}
		}
		for i := len(runs) - 1; i >= 0; i-- {
			if e := v.environmentByID(runs[i].Environment); e != nil && v.rights(e).Read {
				shown, err := v.syncRun(runs[i], e)
				if err != nil {
					return err
				}
				out.Runs = append(out.Runs, shown)
			}
		}
		return nil
	})
	return out, err
}

func (v *visit) syncLink(l store.SyncLink, e *store.Environment) (SyncLink, error) {
	conn, err := v.Connection(l.Connection)
	if err != nil {
		return SyncLink{}, err
	}
	out := SyncLink{
		VaultSync: vaultSync(l, e.Name), Service: l.ServiceName, Wanted: l.Auto, References: l.References, Broken: conn.Broken,
		Mine: l.User == v.who.user.ID, MaySync: l.User == v.who.user.ID && v.mayFlow(e, l.Target, false),
		MayRemove: l.User == v.who.user.ID || v.role >= access.Admin,
	}
	by, err := v.person(l.User)
	if by != nil {
		out.By = by.Login
	}
	return out, err
}

func (v *visit) syncRun(run store.SyncRun, e *store.Environment) (SyncRun, error) {
	out := SyncRun{
		SyncJob: *v.w.syncJob(run), Provider: run.Provider, Project: run.ProjectName, Environment: e.Name, Target: run.Target,
		Pull: run.Pull, Auto: !run.SyncLink.IsZero(), Mine: run.User == v.who.user.ID, Canceled: run.Canceled,
		ConnectionID: run.Connection.String(), ProjectID: run.Project, ServiceID: run.Service,
	}
	by, err := v.person(run.User)
	if by != nil {
		out.By = by.Login
	}
	return out, err
}

// mayFlow reports whether the visitor's role lets values flow between an
// environment of ours and one of the provider's.
func (v *visit) mayFlow(e *store.Environment, target string, pull bool) bool {
	return v.role >= access.Admin || !flowNeedsAdmin(e, target, pull)
}

// SyncPlan is a preview with what its page says besides.
type SyncPlan struct {
	api.SyncPreview
	Provider, Project, Service string
	Barred                     string // why the caller may not do it, or ""
}

// PlanSync is PreviewSync for the page that asks whether to do it.
func (w *Warden) PlanSync(ctx context.Context, who Caller, req api.SyncQuery) (*SyncPlan, error) {
	s, err := w.compare(ctx, who, access.SyncPreview, req.Target())
	if err != nil {
		return nil, s.outward(ctx, err)
	}
	at := s.target.Project
	out := &SyncPlan{SyncPreview: *s.preview(), Provider: s.to.conn.Provider, Project: at.Name, Service: at.ServiceName}
	err = w.read(ctx, who, access.SyncPreview, req.Repository(), func(v *visit) error {
		out.Barred, err = v.barred(s)
		return err
	})
	return out, err
}

// barred says why a visitor who may look at a plan may not do it, or "".
func (v *visit) barred(s *sides) (string, error) {
	e := v.environmentByID(s.env.ID)
	switch {
	case e == nil:
		return "", errNoEnvironment(s.env.Name)
	case !v.mayFlow(e, s.target.Environment.Name, s.asked.Pull()):
		return "Values would come into a more protected environment: only an admin of the repository may do that.", nil
	case s.asked.Pull() && !v.rights(e).Write:
		return "You may read " + e.Name + " but not change it. Ask an admin of the repository.", nil
	case s.asked.Pull():
		return v.closed()
	}
	return "", nil
}

// closed says why nothing in the vault can be changed, or "".
func (v *visit) closed() (string, error) {
	err := v.refuseReadOnly()
	if r, ok := errors.AsType[*refusal](err); ok {
		return r.Error(), nil
	}
	return "", err
}
