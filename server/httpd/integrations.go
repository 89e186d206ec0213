package httpd

import (
	"fmt"
	"net/http"
	"net/url"
	"reflect"

	"coffer/server/access"
	"coffer/server/api"
	"coffer/web"
)

const (
	integrationsPath = "/v1/integrations"
	connectCookie    = "coffer_connect"
)

// integrationRoutes are the routes of hosting providers and syncs.
func integrationRoutes() []route {
	const (
		connection = integrationsPath + "/connections/:id"
		provider   = integrationsPath + "/:provider"
		vault      = integrationsPath + "/vaults/:owner/:repo/sync"
		job        = integrationsPath + "/jobs/:id"
	)
	return []route{
		{get, integrationsPath + "/connections", access.ConnectionList, inGeneral, answer((*door).Connections)},
		{get, connection + "/projects", access.ProjectList, inGeneral, answer((*door).Projects)},
		{remove, connection, access.ConnectionDelete, inGeneral, nothing((*door).Disconnect)},
		{get, integrationsPath + "/providers/:provider/all-projects", access.ProjectListAll, inGeneral, answer((*door).AllProjects)},
		{get, provider + "/authorize", access.ConnectionAuthorize, inGeneral, authorizeProvider()},
		{post, provider + "/ticket", access.ConnectionTicket, inGeneral, answer((*door).ConnectTicket)},
		{post, provider + "/connect", access.ConnectionCreate, inGeneral, answer((*door).Connect)},

		{get, vault + "/preview", access.SyncPreview, inGeneral, answer((*door).PreviewSync)},
		{get, vault + "/status", access.SyncStatus, inGeneral, answer((*door).SyncStatus)},
		{get, vault + "/diff", access.SyncDiff, inGeneral, answer((*door).SyncDiff)},
		{post, vault + "/link", access.SyncLinkSave, inGeneral, answer((*door).SaveLink)},
		{remove, vault + "/link/:id", access.SyncLinkDelete, inGeneral, nothing((*door).RemoveLink)},
		{post, vault, access.SyncPush, inGeneral, answer((*door).Sync)},
		{get, job, access.SyncJob, inGeneral, answer((*door).SyncJob)},
		{remove, job, access.SyncCancel, inGeneral, nothing((*door).CancelSync)},
	}
}

// listProviders tells anybody which hosting providers there are.
func listProviders(x *exchange) error {
	if err := x.limit(); err != nil {
		return err
	}
	return x.send(x.Warden.Providers(), nil)
}

// authorizeProvider sends a browser to a hosting provider, for whoever asks: with
// a header, with the browser's session, or, because a program that opens a browser
// can give it neither, with a ticket or a token in the address.
func authorizeProvider() operation {
	b := newBinder(reflect.TypeFor[api.AuthorizeProvider]())
	return func(x *exchange) error {
		if err := x.readBody(); err != nil {
			return err
		}
		req, wrong := bind[api.AuthorizeProvider](b, x.input())
		if err := x.identifyBrowser(req.Provider); err != nil {
			return err
		}
		if err := x.limit(); err != nil {
			return err
		}
		if err := x.gate.Admit(x.ctx, x.who, x.route.action, ""); err != nil {
			return err
		}
		if wrong != nil {
			return wrong
		}
		return x.departToProvider(req)
	}
}

// departToProvider sends the browser to a provider or, where nobody can authorize
// there, to our page for pasting a token.
func (x *exchange) departToProvider(req *api.AuthorizeProvider) error {
	page, err := x.wayBack(req.RedirectURI)
	if err != nil {
		return err
	}
	d, err := x.Warden.DepartToProvider(x.ctx, x.who, req.Provider, page)
	if err != nil {
		return err
	}
	to := x.pages.Path(newConnectionPage + "?provider=" + url.QueryEscape(req.Provider))
	if d != nil {
		to = d.URL
		x.setCookie(connectCookie, x.pages.Path(integrationsPath), d.Ticket.Reveal(), d.Expires)
	}
	x.w.Header().Set("Location", to)
	x.write(http.StatusFound, nil)
	return nil
}

// identifyBrowser finds out who wants a browser to go to a provider.
func (x *exchange) identifyBrowser(provider string) (err error) {
	q := x.r.URL.Query()
	c := x.credential()
	c.Exhausted = func() bool { return x.full(inLogin, addressOf(c.IP)) }
	switch {
	case q.Get("ticket") != "":
		x.who, err = x.Warden.ByConnectTicket(x.ctx, c, provider, api.NewSecret(q.Get("ticket")))
	case q.Get("token") != "" && c.Bearer == "":
		c.Bearer, c.Cookie = q.Get("token"), ""
		x.who, err = x.gate.Identify(x.ctx, c)
	default:
		return x.identify()
	}
	if err != nil {
		return x.limitFailure(c, err)
	}
	return nil
}

// wayBack is where a browser is to go from a provider: a page of ours, or one of
// an origin that the operator allows.
func (x *exchange) wayBack(text string) (string, error) {
	if text == "" {
		return x.pages.Path(connectionsPage), nil
	}
	if len(text) <= maxReturn && api.LeadsTo(text, x.Origins) {
		return text, nil
	}
	return "", api.InvalidField("redirect_uri", api.NotAllowed, "An address of this server, or of one of the operator's allowed_origins.")
}

// returnFromProvider takes the browser back from a hosting provider.
func returnFromProvider(x *exchange) error {
	if err := x.limit(); err != nil {
		return err
	}
	q := x.r.URL.Query()
	ticket := api.NewSecret(x.cookie(connectCookie))
	x.dropCookie(connectCookie, x.pages.Path(integrationsPath))
	page, err := x.Warden.ArriveFromProvider(x.ctx, x.credential(), x.c.Param("provider"), q, ticket)
	if err != nil {
		return x.notConnected(err)
	}
	x.w.Header().Set("Location", page)
	x.write(http.StatusFound, nil)
	return nil
}

// notConnected says why a provider's answer connected nobody.
func (x *exchange) notConnected(err error) error {
	e := x.public(err)
	if e.Code == api.Internal {
		return fmt.Errorf("connect to a hosting provider: %w", err)
	}
	status := kinds[e.Code].status
	if e.Code == api.Invalid {
		status = http.StatusBadRequest
	}
	x.advise(e)
	text := e.Message
	for _, f := range e.Fields {
		text = f.Message
	}
	return x.show(status, web.Message{
		Heading: "Nothing was connected", Text: text, Next: []web.Link{{Text: "Connections", Path: connectionsPage}}, Trace: x.id,
	})
}
