package httpd

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"

	"coffer/server/api"
	"coffer/server/warden"
	"coffer/web"
)

// connectionsPage is where a browser goes that was to connect and has no other way
// back; newConnectionPage is where a token is pasted.
const (
	connectionsPage   = "/connections"
	newConnectionPage = connectionsPage + "/new"
	connectionPage    = connectionsPage + "/:id"
)

// connectionPages are about what connects whoever is signed in with hosting
// providers.
func connectionPages() []route {
	return []route{
		{method: get, path: connectionsPage, bucket: inGeneral, run: signedIn(connections)},
		{method: get, path: newConnectionPage, bucket: inGeneral, run: signedIn(newConnection)},
		{method: post, path: newConnectionPage, bucket: inGeneral, run: act(connect)},
		{method: get, path: connectionPage, bucket: inGeneral, run: signedIn(oneConnection)},
		{method: post, path: connectionPage + "/remove", bucket: inGeneral, run: act(disconnect)},
	}
}

// pasting says what a provider's users have to know to make a token.
type pasting struct {
	make           string
	rights         []string
	team, teamHint string // "" where there are none
}

var pastings = map[string]pasting{
	"vercel": {
		make:   "At vercel.com: Account Settings, Tokens. Choose the team whose projects you want to sync as the token's scope.",
		rights: []string{"to read the team's projects", "to read and change their environment variables: a token may do what you may do in the team"},
		team:   "Team ID", teamHint: "From the team's settings at Vercel, if the token reaches more than one. Without it, the connection is for all that the token reaches.",
	},
	"netlify": {
		make:   "At app.netlify.com: User settings, Applications, Personal access tokens. If your team signs in with SAML, grant the token access to it there.",
		rights: []string{"to read the team's sites", "to read and change their environment variables: a token may do what you may do in the team"},
		team:   "Team ID or slug", teamHint: "The team's name in addresses at Netlify, if you are in more than one. Without it, the connection is for all that the token reaches.",
	},
	"railway": {
		make:   "At railway.com: Account Settings, Tokens. A workspace token is best; a project token reaches one environment of one project.",
		rights: []string{"to read the workspace's projects and services", "to read and change their variables: this takes a member of the workspace"},
		team:   "Workspace ID", teamHint: "From the workspace's settings at Railway, if the token reaches more than one.",
	},
	"github-actions": {
		make:   "At the code host: Settings, Developer settings, Personal access tokens, Fine-grained tokens. Choose the repositories whose secrets you want to sync.",
		rights: []string{"Metadata: read", "Secrets: read and write", "Environments: read and write, to sync with environments of a repository"},
	},
}

// providersToConnect are those that the operator did not turn off.
func (x *exchange) providersToConnect() (all []web.Provider) {
	for _, p := range x.Warden.Providers().Providers {
		if !p.Configured {
			continue
		}
		one := web.Provider{Name: p.Name, Display: p.DisplayName}
		if slices.Contains(p.Methods, api.ConnectByOAuth) {
			one.Authorize = integrationsPath + "/" + p.Name + "/authorize"
		}
		all = append(all, one)
	}
	return all
}

// providerNamed is one of them.
func (x *exchange) providerNamed(name string) (web.Provider, error) {
	all := x.providersToConnect()
	if i := slices.IndexFunc(all, func(p web.Provider) bool { return p.Name == name }); i >= 0 {
		return all[i], nil
	}
	return web.Provider{}, api.Errorf(api.NotFound, "There is no such hosting provider here, or the operator turned it off. Choose one on the page of connections.")
}

// displayName is what people call a provider, whether it is turned off or not.
func (x *exchange) displayName(name string) string {
	for _, p := range x.Warden.Providers().Providers {
		if p.Name == name {
			return p.DisplayName
		}
	}
	return name
}

// connectAgain is the path of the page to make a connection again, for the same team,
// or "" where the provider is turned off.
func (x *exchange) connectAgain(c api.Connection) string {
	if _, err := x.providerNamed(c.Provider); err != nil {
		return ""
	}
	q := url.Values{"provider": {c.Provider}}
	if c.ProviderTeamID != nil {
		q.Set("teamId", *c.ProviderTeamID)
	}
	return withQuery(newConnectionPage, q)
}

// pageOfConnection is the path of the page of one.
func pageOfConnection(id string) string { return connectionsPage + "/" + url.PathEscape(id) }

func connections(x *exchange) (web.Page, error) {
	all, err := x.Warden.OwnConnections(x.ctx, x.who)
	if err != nil {
		return nil, err
	}
	p := web.Connections{Frame: x.frame(), Providers: x.providersToConnect(), Now: x.Now()}
	for _, c := range all {
		p.Rows = append(p.Rows, x.shownConnection(c))
	}
	return p, nil
}

func (x *exchange) shownConnection(c warden.OwnConnection) web.Connection {
	out := web.Connection{
		ID: c.ID, Provider: x.displayName(c.Provider), Name: c.Account,
		Broken: c.Status == api.ConnectionReconnect, Again: x.connectAgain(c.Connection), Since: c.CreatedAt.Time, Links: len(c.Links),
	}
	if c.ProviderTeamName != nil {
		out.Name = *c.ProviderTeamName
	} else if c.ProviderTeamID != nil {
		out.Name = *c.ProviderTeamID
	}
	return out
}

func newConnection(x *exchange) (web.Page, error) {
	q := x.r.URL.Query()
	return x.newConnection(q.Get("provider"), web.Form{Values: map[string]string{"teamId": q.Get("teamId")}})
}

func (x *exchange) newConnection(name string, left web.Form) (web.Page, error) {
	provider, err := x.providerNamed(name)
	how := pastings[name]
	return web.NewConnection{
		Frame: x.frame(), Provider: provider, Make: how.make, Rights: how.rights, Team: how.team, TeamHint: how.teamHint, Form: left,
	}, err
}

// connect takes a token. No page ever shows it again, not even when it is refused.
func connect(x *exchange, form url.Values) error {
	req := api.Connect{
		ProviderRef: api.ProviderRef{Provider: form.Get("provider")},
		Token:       api.NewSecret(strings.TrimSpace(form.Get("token"))), TeamID: strings.TrimSpace(form.Get("teamId")),
	}
	if _, err := x.providerNamed(req.Provider); err != nil {
		return err
	}
	err := x.check(req)
	if err == nil {
		ctx, cancel := x.forProvider()
		defer cancel()
		_, err = x.Warden.Connect(ctx, x.who, req)
	}
	if err == nil {
		x.done(connectionsPage, connectionMade)
		return nil
	}
	return x.again(err, form, []string{"teamId"}, func(f web.Form) (web.Page, error) { return x.newConnection(req.Provider, f) })
}

// oneConnection shows a connection and what it reaches. The page is there, too,
// when the provider does not answer.
func oneConnection(x *exchange) (web.Page, error) {
	ref, err := asked[api.ConnectionRef](x)
	if err != nil {
		return nil, err
	}
	ctx, cancel := x.forProvider()
	defer cancel()
	projects, problem := x.Warden.Projects(ctx, x.who, *ref)
	c, err := x.Warden.OwnConnection(x.ctx, x.who, *ref) // afterwards, to see whether it still holds
	if err != nil {
		return nil, err
	}
	p := web.OneConnection{Frame: x.frame(), Connection: x.shownConnection(c), Now: x.Now()}
	if p.Problem, err = inWords(problem); err != nil {
		return nil, err
	}
	if projects != nil {
		for _, one := range projects.Projects {
			p.Projects = append(p.Projects, web.Project{Name: one.Name, Service: one.ServiceName, Repository: one.LinkedRepo, Environments: one.Environments})
		}
	}
	for _, l := range c.Links {
		through := web.Through{Project: projectName(l.Project, l.Service), Target: l.Target, Vault: l.Vault, Environment: l.Environment, Auto: l.Auto}
		if owner, repo, ok := strings.Cut(l.Vault, "/"); ok {
			through.Path = pathOf(owner, repo) + "/syncs"
		}
		p.Through = append(p.Through, through)
	}
	return p, nil
}

// projectName is a project, or a service in it, in words.
func projectName(project, service string) string {
	if service == "" {
		return project
	}
	return project + ", " + service
}

// forProvider is for asking a provider something for a page. It ends before the
// request does, so that the page can still be shown.
func (x *exchange) forProvider() (context.Context, context.CancelFunc) {
	return context.WithTimeout(x.ctx, x.patience*2/3)
}

// inWords is what went wrong, for a page that is shown nevertheless. What is wrong
// with us is no text but an error still.
func inWords(failure error) (string, error) {
	if failure == nil {
		return "", nil
	}
	e, ok := errors.AsType[*api.Error](failure)
	if !ok || notOnAPage[e.Code] {
		return "", failure
	}
	text := e.Message
	for _, f := range e.Fields {
		text = f.Message
	}
	return text, nil
}

func disconnect(x *exchange, _ url.Values) error {
	ref, err := asked[api.ConnectionRef](x)
	if err != nil {
		return err
	}
	if err := x.Warden.Disconnect(x.ctx, x.who, *ref); err != nil {
		return err
	}
	x.done(connectionsPage, connectionRemoved)
	return nil
}
