package client

import (
	"context"
	"net/http"

	"coffer/server/api"
)

// Sessions lists the caller's sessions, newest first.
func (c *Client) Sessions(ctx context.Context) ([]api.Session, error) {
	all, err := call[api.Sessions](ctx, c, request{method: http.MethodGet, path: []string{"auth", "sessions"}})
	if err != nil {
		return nil, err
	}
	return all.Sessions, nil
}

// EndSession ends one of the caller's sessions at once.
func (c *Client) EndSession(ctx context.Context, id string) error {
	return c.do(ctx, request{method: http.MethodDelete, path: []string{"auth", "sessions", id}})
}

// Logout ends the session whose token this is.
func (c *Client) Logout(ctx context.Context) error {
	return c.do(ctx, request{method: http.MethodPost, path: []string{"auth", "logout"}})
}

// SignIn gives the operator a service token in a user's name.
func (c *Client) SignIn(ctx context.Context, s api.SignIn) (*api.SignedIn, error) {
	return call[api.SignedIn](ctx, c, request{method: http.MethodPost, path: []string{"operator", "sessions"}, body: s})
}
