package httpd

import (
	"cmp"
	"maps"
	"net/url"
	"slices"
	"strings"

	"coffer/server/api"
	"coffer/server/warden"
	"coffer/web"
)

// newSync asks for a connection, then for a project that it reaches, and then for
// the environments and the direction. Every choice is in the address.
func newSync(x *exchange, v *api.Vault) (web.Page, error) {
	q := x.r.URL.Query()
	p := web.NewSync{Frame: x.frame(), At: syncsOf(v), Mine: v.Environments}
	all, err := x.Warden.OwnConnections(x.ctx, x.who)
	if err != nil {
		return nil, err
	}
	for _, c := range all {
		choice := web.SyncChoice{Value: c.ID, Name: x.connectionName(c)}
		p.Connections = append(p.Connections, choice)
		if c.ID == q.Get("connectionId") {
			p.Connection, p.Provider = choice, x.displayName(c.Provider)
			if err := x.chooseProject(&p, c, q.Get("project")); err != nil {
				return nil, err
			}
		}
	}
	if p.Connection.Value == "" && q.Get("connectionId") != "" {
		p.Problem = "You have no such connection any more. Choose another one."
	}
	if len(p.Mine) > 0 {
		p.Chosen = p.Mine[0]
	}
	if slices.Contains(p.Mine, api.DefaultSyncEnvironment) {
		p.Chosen = api.DefaultSyncEnvironment
	}
	return p, nil
}

// connectionName is a connection in words.
func (x *exchange) connectionName(c warden.OwnConnection) string {
	shown := x.shownConnection(c)
	name := shown.Provider + ": " + cmp.Or(shown.Name, "your account")
	if shown.Broken {
		name += " (connect again)"
	}
	return name
}

// chooseProject lists what a connection reaches, and takes the project that was
// chosen, if one was. The page is there, too, when the provider does not answer.
func (x *exchange) chooseProject(p *web.NewSync, c warden.OwnConnection, chosen string) error {
	ctx, cancel := x.forProvider()
	defer cancel()
	found, failure := x.Warden.Projects(ctx, x.who, api.ConnectionRef{ID: c.ID})
	var err error
	if p.Problem, err = inWords(failure); err != nil || failure != nil {
		if api.CodeOf(failure) == api.Conflict {
			p.Again = x.connectAgain(c.Connection)
		}
		return err
	}
	for _, one := range found.Projects {
		choice := web.SyncChoice{Value: one.ID, Name: projectName(one.Name, one.ServiceName)}
		if one.ServiceID != "" {
			choice.Value += " " + one.ServiceID // no id has a space
		}
		if one.TeamName != "" && c.ProviderTeamID == nil {
			choice.Name += " (" + one.TeamName + ")"
		}
		p.Projects = append(p.Projects, choice)
		if choice.Value == chosen {
			p.Project, p.ProjectID, p.ServiceID, p.Theirs = choice, one.ID, one.ServiceID, one.Environments
		}
	}
	if p.Project.Value == "" && chosen != "" {
		p.Problem = "This connection reaches no such project any more. Choose another one."
	}
	return nil
}

// targetFields are what says what is synced, in addresses and forms.
var targetFields = []string{
	"connectionId", "projectId", "serviceId", "keywayEnvironment", "providerEnvironment", "direction", "allowDelete", "allowReferences",
}

// previewOf is the path of the preview of a target.
func previewOf(v *api.Vault, target url.Values) string {
	return withQuery(syncsOf(v)+"/preview", target)
}

// startOf is the request that the fields of an address or a form make.
func (x *exchange) startOf(v *api.Vault, q url.Values) (api.StartSync, error) {
	req := api.StartSync{
		Ref: refOf(v), ConnectionID: q.Get("connectionId"), ProjectID: q.Get("projectId"), ServiceID: q.Get("serviceId"),
		KeywayEnvironment: q.Get("keywayEnvironment"), ProviderEnvironment: q.Get("providerEnvironment"), Direction: q.Get("direction"),
		AllowDelete: q.Get("allowDelete") == "true", AllowReferences: q.Get("allowReferences") == "true", PlanHash: q.Get("planHash"),
	}
	return req, x.check(req)
}

// syncPreview shows what a sync would do.
func syncPreview(x *exchange, v *api.Vault) (web.Page, error) {
	return x.syncPreview(v, x.r.URL.Query())
}

// syncPreview plans what the fields ask for. Why that cannot be done stands on the
// page, from where it can be chosen otherwise.
func (x *exchange) syncPreview(v *api.Vault, q url.Values) (web.SyncPreview, error) {
	p := x.noPreview(v, q)
	req, failure := x.startOf(v, q)
	var plan *warden.SyncPlan
	if failure == nil {
		ctx, cancel := x.forProvider()
		defer cancel()
		plan, failure = x.Warden.PlanSync(ctx, x.who, api.SyncQuery{
			Ref: req.Ref, ConnectionID: req.ConnectionID, ProjectID: req.ProjectID, ServiceID: req.ServiceID, KeywayEnvironment: req.KeywayEnvironment,
			ProviderEnvironment: req.ProviderEnvironment, Direction: req.Direction, AllowDelete: req.AllowDelete, AllowReferences: req.AllowReferences,
		})
	}
	if failure == nil {
		x.planned(&p, v, plan, q)
		return p, nil
	}
	if api.CodeOf(failure) == api.Forbidden {
		return p, failure
	}
	if api.CodeOf(failure) == api.Conflict {
		p.Again = pageOfConnection(req.ConnectionID)
	}
	var err error
	p.Problem, err = inWords(failure)
	return p, err
}

// noPreview is the page before anything was planned.
func (x *exchange) noPreview(v *api.Vault, q url.Values) web.SyncPreview {
	return web.SyncPreview{Frame: x.frame(), At: previewOf(v, kept(q)), Change: changeOf(v, q), Pull: q.Get("direction") == api.SyncPull}
}

// changeOf is the path of the page to choose otherwise.
func changeOf(v *api.Vault, q url.Values) string {
	chosen := url.Values{}
	if id := q.Get("connectionId"); id != "" {
		chosen.Set("connectionId", id)
		if project := q.Get("projectId"); project != "" {
			chosen.Set("project", strings.TrimSpace(project+" "+q.Get("serviceId")))
		}
	}
	return withQuery(syncsOf(v)+"/new", chosen)
}

// planned puts a plan on the page, and what leads on from there.
func (x *exchange) planned(p *web.SyncPreview, v *api.Vault, plan *warden.SyncPlan, q url.Values) {
	p.Planned, p.Environment, p.Barred, p.PlanHash = true, plan.KeywayEnvironment, plan.Barred, plan.PlanHash
	p.Theirs = web.SyncPlace{Provider: x.displayName(plan.Provider), Project: plan.Project, Service: plan.Service, Environment: plan.ProviderEnvironment}
	for _, key := range slices.Sorted(maps.Keys(plan.Details)) {
		step := web.SyncStep{Key: key, Action: plan.Details[key].Action, Reason: plan.Details[key].Reason}
		switch step.Action {
		case "skip":
			p.Skipped = append(p.Skipped, step)
		case "keep":
			p.Kept = append(p.Kept, step)
		default:
			p.Changes = append(p.Changes, step)
		}
	}
	for _, w := range plan.Warnings {
		p.Warnings = append(p.Warnings, w.Message)
		if w.Code == "reference" && !p.Pull && q.Get("allowReferences") != "true" {
			more := kept(q)
			more.Set("allowReferences", "true")
			p.References = previewOf(v, more)
		}
	}
}

// kept are the fields of a target, and nothing else.
func kept(q url.Values) url.Values {
	out := url.Values{}
	for _, name := range targetFields {
		if value := q.Get(name); value != "" {
			out.Set(name, value)
		}
	}
	return out
}

// startSync does what the page of a preview asks for. When the plan is another one
// by now, it shows that. The address says what was chosen, and so leads back there.
func startSync(x *exchange, v *api.Vault, form url.Values) error {
	q := x.r.URL.Query()
	q.Set("planHash", form.Get("planHash"))
	req, err := x.startOf(v, q)
	if err == nil {
		switch form.Get("do") {
		case "sync":
			if req.PlanHash == "" {
				return errNoDeed // nobody saw what it would do
			}
			err = x.sync(v, req)
		case "link", "auto":
			err = x.saveLink(v, req, form.Get("do") == "auto")
		default:
			return errNoDeed
		}
	}
	if err == nil {
		return nil
	}
	return x.shownBeside(err, func(text string) (web.Page, error) {
		p, failure := x.noPreview(v, q), error(nil)
		if api.CodeOf(err) != api.ProviderFailed { // which would be asked again for nothing
			p, failure = x.syncPreview(v, q)
		}
		p.Problem = text
		return p, failure
	})
}
