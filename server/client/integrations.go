package client

import (
	"context"
	"net/http"
	"net/url"

	"coffer/server/api"
)

func integration(method string, path ...string) request {
	return request{method: method, path: append([]string{"integrations"}, path...)}
}

// Providers lists the hosting providers that the server can sync with. It needs no
// token.
func (c *Client) Providers(ctx context.Context) ([]api.Provider, error) {
	l, err := call[api.Providers](ctx, c, integration(http.MethodGet))
	if err != nil {
		return nil, err
	}
	return l.Providers, nil
}

// Connections lists the caller's own connections to hosting providers, oldest first.
func (c *Client) Connections(ctx context.Context) ([]api.Connection, error) {
	l, err := call[api.Connections](ctx, c, integration(http.MethodGet, "connections"))
	if err != nil {
		return nil, err
	}
	return l.Connections, nil
}

// Connect connects to a provider with a token that was made there.
func (c *Client) Connect(ctx context.Context, p api.Connect) (*api.Connected, error) {
	r := integration(http.MethodPost, p.Provider, "connect")
	r.body = struct {
		Token  api.Revealed `json:"token"`
		TeamID string       `json:"teamId,omitempty"`
	}{reveal(p.Token), p.TeamID}
	return call[api.Connected](ctx, c, r)
}

// ConnectTicket makes a ticket with which one browser may begin to connect, within
// a minute. See ConnectURL.
func (c *Client) ConnectTicket(ctx context.Context, provider string) (*api.ConnectTicket, error) {
	return call[api.ConnectTicket](ctx, c, integration(http.MethodPost, provider, "ticket"))
}

// ConnectURL is where a browser that has a ticket begins to connect.
func (c *Client) ConnectURL(provider string, ticket api.Revealed) (string, error) {
	r := integration(http.MethodGet, provider, "authorize")
	r.query = url.Values{"ticket": {string(ticket)}}
	return c.address(r)
}

// Disconnect removes a connection with the links that go through it. What was
// synced stays at the provider.
func (c *Client) Disconnect(ctx context.Context, id string) error {
	return c.do(ctx, integration(http.MethodDelete, "connections", id))
}

// Projects lists what one connection reaches.
func (c *Client) Projects(ctx context.Context, connection string) ([]api.ProviderProject, error) {
	l, err := call[api.ProviderProjects](ctx, c, integration(http.MethodGet, "connections", connection, "projects"))
	if err != nil {
		return nil, err
	}
	return l.Projects, nil
}

// AllProjects lists what all of the caller's connections to a provider reach.
func (c *Client) AllProjects(ctx context.Context, provider string) (*api.AllProjects, error) {
	return call[api.AllProjects](ctx, c, integration(http.MethodGet, "providers", provider, "all-projects"))
}
