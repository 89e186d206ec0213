package client

import (
	"context"
	"net/http"

	"coffer/server/api"
)

// CreateAPIKey makes an API key of the caller's own. The token in the answer is
// shown this once.
func (c *Client) CreateAPIKey(ctx context.Context, r api.CreateAPIKey) (*api.CreatedAPIKey, error) {
	return call[api.CreatedAPIKey](ctx, c, request{method: http.MethodPost, path: []string{"api-keys"}, body: r})
}

// APIKeys lists the caller's keys, newest first, with revoked and expired ones.
func (c *Client) APIKeys(ctx context.Context) ([]api.APIKey, error) {
	keys, err := call[api.APIKeys](ctx, c, request{method: http.MethodGet, path: []string{"api-keys"}})
	if err != nil {
		return nil, err
	}
	return keys.Keys, nil
}

// APIKey is one of the caller's keys.
func (c *Client) APIKey(ctx context.Context, id string) (*api.APIKey, error) {
	return call[api.APIKey](ctx, c, request{method: http.MethodGet, path: []string{"api-keys", id}})
}

// RevokeAPIKey ends a key at once.
func (c *Client) RevokeAPIKey(ctx context.Context, id string) error {
	return c.do(ctx, request{method: http.MethodDelete, path: []string{"api-keys", id}})
}
