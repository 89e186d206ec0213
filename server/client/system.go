package client

import (
	"context"
	"net/http"

	"coffer/server/api"
)

// Status tells whether the instance is initialized and unsealed.
func (c *Client) Status(ctx context.Context) (*api.Status, error) {
	return call[api.Status](ctx, c, request{method: http.MethodGet, path: []string{"sys", "status"}})
}

// Initialize makes the keys of a fresh instance. The recovery key in the answer
// is shown this once.
func (c *Client) Initialize(ctx context.Context, i api.Initialize) (*api.Initialized, error) {
	type operator struct {
		Username string       `json:"username"`
		Password api.Revealed `json:"password"`
	}
	body := struct {
		ClaimToken api.Revealed  `json:"claimToken"`
		Passphrase *api.Revealed `json:"passphrase,omitempty"`
		KeyFile    bool          `json:"keyFile,omitempty"`
		Admin      *operator     `json:"admin,omitempty"`
	}{ClaimToken: reveal(i.ClaimToken), Passphrase: revealOrNull(i.Passphrase), KeyFile: i.KeyFile}
	if i.Admin != nil {
		body.Admin = &operator{i.Admin.Username, reveal(i.Admin.Password)}
	}
	return call[api.Initialized](ctx, c, request{method: http.MethodPost, path: []string{"sys", "init"}, body: body})
}

// Unseal opens a sealed instance.
func (c *Client) Unseal(ctx context.Context, u api.Unseal) error {
	return c.do(ctx, request{method: http.MethodPost, path: []string{"sys", "unseal"}, body: struct {
		Passphrase *api.Revealed `json:"passphrase,omitempty"`
		Key        *api.Revealed `json:"key,omitempty"`
	}{revealOrNull(u.Passphrase), revealOrNull(u.Key)}})
}

// Seal closes the instance at once. Only an operator may.
func (c *Client) Seal(ctx context.Context) error {
	return c.do(ctx, request{method: http.MethodPost, path: []string{"sys", "seal"}, body: api.Empty{}})
}
