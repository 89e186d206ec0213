package httpd

import (
	"net/url"
	"slices"

	"coffer/server/api"
	"coffer/server/warden"
	"coffer/web"
)

const (
	syncsPath       = vaultPath + "/syncs"
	newSyncPath     = syncsPath + "/new"
	syncPreviewPath = syncsPath + "/preview"
	syncRunPath     = syncsPath + "/runs/:id"
)

// syncPages are about what a vault is synced with.
func syncPages() []route {
	return []route{
		{method: get, path: syncsPath, bucket: inGeneral, run: inVault(syncs)},
		{method: post, path: syncsPath, bucket: inGeneral, run: actInVault(changeSyncs)},
		{method: get, path: newSyncPath, bucket: inGeneral, run: inVault(newSync)},
		{method: get, path: syncPreviewPath, bucket: inGeneral, run: inVault(syncPreview)},
		{method: post, path: syncPreviewPath, bucket: inGeneral, run: actInVault(startSync)},
		{method: get, path: syncRunPath, bucket: inGeneral, run: inVault(oneSync)},
	}
}

// syncsOf is the path of a vault's syncs.
func syncsOf(v *api.Vault) string { return pathOf(v.RepoOwner, v.RepoName) + "/syncs" }

func syncs(x *exchange, v *api.Vault) (web.Page, error) {
	all, err := x.Warden.VaultSyncs(x.ctx, x.who, refOf(v))
	if err != nil {
		return nil, err
	}
	return x.syncs(v, all), nil
}

func (x *exchange) syncs(v *api.Vault, all *warden.VaultSyncs) web.Syncs {
	p := web.Syncs{Frame: x.frame(), At: syncsOf(v), MayLook: len(v.Environments) > 0, Now: x.Now()}
	for _, l := range all.Links {
		p.Links = append(p.Links, x.shownLink(v, l))
	}
	for _, r := range all.Runs {
		p.Runs = append(p.Runs, x.shownRun(p.At, r))
	}
	return p
}

func (x *exchange) shownLink(v *api.Vault, l warden.SyncLink) web.SyncLink {
	out := web.SyncLink{
		ID: l.ID, Environment: l.KeywayEnvironment, By: l.By, Auto: l.AutoSync, Stopped: l.Wanted && !l.AutoSync,
		Theirs: web.SyncPlace{Provider: x.displayName(l.Provider), Project: l.ProjectName, Service: l.Service, Environment: l.ProviderEnvironment},
		Status: l.LastStatus, Problem: l.LastError,
		Synced: timeOrZero(l.LastSyncedAt), Ran: timeOrZero(l.LastRunAt), Next: timeOrZero(l.NextRunAt), Drift: l.DriftKeys, Checked: timeOrZero(l.CheckedAt),
		MaySync: l.MaySync && !l.Broken, MaySwitch: (l.MaySync || l.Mine && l.AutoSync) && !l.Broken, MayRemove: l.MayRemove,
	}
	if l.Mine && l.Broken {
		out.Again = pageOfConnection(l.ConnectionID)
	}
	if l.Mine && !l.Broken {
		out.Preview = previewOf(v, targetOf(l))
	}
	return out
}

// targetOf is what a link syncs, as the address of a preview says it.
func targetOf(l warden.SyncLink) url.Values {
	q := url.Values{
		"connectionId": {l.ConnectionID}, "projectId": {l.ProjectID},
		"keywayEnvironment": {l.KeywayEnvironment}, "providerEnvironment": {l.ProviderEnvironment},
	}
	if l.ServiceID != nil {
		q.Set("serviceId", *l.ServiceID)
	}
	if l.References {
		q.Set("allowReferences", "true")
	}
	return q
}

func (x *exchange) shownRun(at string, r warden.SyncRun) web.SyncRun {
	out := web.SyncRun{
		ID: r.JobID, Path: at + "/runs/" + r.JobID, Environment: r.Environment,
		Theirs: web.SyncPlace{Provider: x.displayName(r.Provider), Project: r.Project, Environment: r.Target},
		Pull:   r.Pull, Auto: r.Auto, By: r.By, Mine: r.Mine, Canceled: r.Canceled, Status: r.Status,
		Began: r.CreatedAt.Time, Ended: timeOrZero(r.FinishedAt),
	}
	if r.Progress != nil {
		out.Done, out.Total = r.Progress.Done, r.Progress.Total
	}
	if got := r.Result; got != nil {
		out.Counts = web.SyncCounts{Created: got.Created, Updated: got.Updated, Deleted: got.Deleted, Skipped: got.Skipped}
		for _, f := range got.Failed {
			out.Failed = append(out.Failed, web.SyncFailure{Key: f.Key, Operation: f.Operation, Means: f.Message, Request: f.RequestID})
		}
	}
	return out
}

// oneSync shows how a sync went, or how far it has come.
func oneSync(x *exchange, v *api.Vault) (web.Page, error) {
	all, err := x.Warden.VaultSyncs(x.ctx, x.who, refOf(v))
	if err != nil {
		return nil, err
	}
	id := x.c.Param("id")
	i := slices.IndexFunc(all.Runs, func(r warden.SyncRun) bool { return r.JobID == id })
	if i < 0 {
		return nil, api.Errorf(api.NotFound, "This vault has no such sync any more. Syncs are listed for a day after their end.")
	}
	run := all.Runs[i]
	p := web.OneSync{Frame: x.frame(), SyncRun: x.shownRun(syncsOf(v), run), At: syncsOf(v), Now: x.Now()}
	if !run.Mine || run.Result == nil {
		return p, nil
	}
	q := url.Values{
		"connectionId": {run.ConnectionID}, "projectId": {run.ProjectID},
		"keywayEnvironment": {run.Environment}, "providerEnvironment": {run.Target}, "direction": {api.SyncPush},
	}
	if run.Pull {
		q.Set("direction", api.SyncPull)
	}
	if run.ServiceID != "" {
		q.Set("serviceId", run.ServiceID)
	}
	p.Preview = previewOf(v, q)
	if slices.ContainsFunc(run.Result.Failed, func(f api.SyncFailure) bool { return f.Code == credentialRejected }) {
		p.Again = pageOfConnection(run.ConnectionID)
	}
	return p, nil
}

// credentialRejected is why a key was not synced when the connection has to be made
// again.
const credentialRejected = "credential_rejected"

// changeSyncs does what one of the forms beside the links and runs asks for.
func changeSyncs(x *exchange, v *api.Vault, form url.Values) error {
	if form.Get("do") == "stop" {
		return x.stopSync(v, form.Get("run"))
	}
	all, err := x.Warden.VaultSyncs(x.ctx, x.who, refOf(v))
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all.Links, func(l warden.SyncLink) bool { return l.ID == form.Get("link") })
	if i < 0 {
		return api.Errorf(api.NotFound, "This vault has no such link any more. Load the page again.")
	}
	link := all.Links[i]
	switch form.Get("do") {
	case "sync":
		err = x.syncNow(v, link)
	case "auto", "hand":
		err = x.switchLink(v, link, form.Get("do") == "auto")
	case "forget":
		if err = x.Warden.RemoveLink(x.ctx, x.who, api.LinkRef{Ref: refOf(v), LinkID: link.ID}); err == nil {
			x.done(syncsOf(v), linkForgotten)
		}
	default:
		err = errNoDeed
	}
	if err == nil {
		return nil
	}
	return x.shownBeside(err, func(text string) (web.Page, error) {
		if all, err = x.Warden.VaultSyncs(x.ctx, x.who, refOf(v)); err != nil { // what was tried may have changed it
			return nil, err
		}
		p := x.syncs(v, all)
		p.Problem, p.Of = text, link.ID
		return p, nil
	})
}

// stopSync stops a run, unless it has ended meanwhile.
func (x *exchange) stopSync(v *api.Vault, run string) error {
	err := x.Warden.CancelSync(x.ctx, x.who, api.SyncJobRef{ID: run})
	switch {
	case api.CodeOf(err) == api.Conflict:
		x.leadTo(syncsOf(v))
	case err != nil:
		return err
	default:
		x.done(syncsOf(v), syncStopped)
	}
	return nil
}

// shownBeside shows a page that says why something was not done. Who was refused is
// shown nothing else, and neither is what the page is of no use without.
func (x *exchange) shownBeside(failure error, page func(string) (web.Page, error)) error {
	text, err := inWords(failure)
	if err != nil || api.CodeOf(failure) == api.Forbidden {
		return failure
	}
	p, err := page(text)
	if err != nil {
		return err
	}
	e := x.public(failure)
	x.advise(e)
	return x.show(kinds[e.Code].status, p)
}

// syncNow pushes what a link is behind, and never deletes.
func (x *exchange) syncNow(v *api.Vault, l warden.SyncLink) error {
	req, err := x.startOf(v, targetOf(l))
	if err != nil {
		return err
	}
	return x.sync(v, req)
}

// sync syncs, and leads to the page that says how that went.
func (x *exchange) sync(v *api.Vault, req api.StartSync) error {
	got, err := x.Warden.Sync(x.ctx, x.who, req)
	switch {
	case err != nil:
		return err
	case got.JobID == "":
		return api.Errorf(api.ProviderFailed, "%s", got.Error)
	}
	x.leadTo(syncsOf(v) + "/runs/" + url.PathEscape(got.JobID))
	return nil
}

// switchLink lets a link sync by itself, or no more.
func (x *exchange) switchLink(v *api.Vault, l warden.SyncLink, auto bool) error {
	req, err := x.startOf(v, targetOf(l))
	if err != nil {
		return err
	}
	return x.saveLink(v, req, auto)
}

// saveLink remembers a target with the vault.
func (x *exchange) saveLink(v *api.Vault, t api.StartSync, auto bool) error {
	ctx, cancel := x.forProvider()
	defer cancel()
	_, err := x.Warden.SaveLink(ctx, x.who, api.SaveLink{
		Ref: t.Ref, ConnectionID: t.ConnectionID, ProjectID: t.ProjectID, ServiceID: t.ServiceID,
		KeywayEnvironment: t.KeywayEnvironment, ProviderEnvironment: t.ProviderEnvironment, AutoSync: auto, AllowReferences: t.AllowReferences,
	})
	if err != nil {
		return err
	}
	said := linkSaved
	if auto {
		said = linkAuto
	}
	x.done(syncsOf(v), said)
	return nil
}
