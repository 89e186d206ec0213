package client

import (
	"context"
	"net/http"

	"coffer/server/api"
)

// Me is the caller.
func (c *Client) Me(ctx context.Context) (*api.User, error) {
	return call[api.User](ctx, c, request{method: http.MethodGet, path: []string{"users", "me"}})
}

// Usage is what the caller's plan allows and what is used of it.
func (c *Client) Usage(ctx context.Context) (*api.Usage, error) {
	return call[api.Usage](ctx, c, request{method: http.MethodGet, path: []string{"users", "me", "usage"}})
}

// ValidateToken asks whose credential the token is.
func (c *Client) ValidateToken(ctx context.Context) (*api.ValidatedToken, error) {
	return call[api.ValidatedToken](ctx, c, request{
		method: http.MethodPost, path: []string{"auth", "token", "validate"}, body: api.Empty{},
	})
}

// Activity is a page of the caller's own activity, newest first.
func (c *Client) Activity(ctx context.Context, p api.Page) (*api.List[api.Activity], error) {
	return list[api.Activity](ctx, c, request{method: http.MethodGet, path: []string{"activity"}, query: pageQuery(p)})
}

// VaultActivity is a page of everyone's activity in a vault, newest first.
func (c *Client) VaultActivity(ctx context.Context, l api.ListVaultActivity) (*api.List[api.Activity], error) {
	r := inVault(http.MethodGet, l.Repository(), "activity")
	r.query = pageQuery(l.Page)
	setText(r.query, "action", l.Action)
	setText(r.query, "environment", l.Environment)
	setText(r.query, "actor", l.Actor)
	return list[api.Activity](ctx, c, r)
}
