package client

import (
	"context"
	"net/http"

	"coffer/server/api"
)

// Vaults is a page of the vaults the caller has a role on.
func (c *Client) Vaults(ctx context.Context, p api.Page) (*api.List[api.Vault], error) {
	return list[api.Vault](ctx, c, request{method: http.MethodGet, path: []string{"vaults"}, query: pageQuery(p)})
}

// CreateVault makes the vault of a repository.
func (c *Client) CreateVault(ctx context.Context, repo string) (*api.CreatedVault, error) {
	return call[api.CreatedVault](ctx, c, request{
		method: http.MethodPost, path: []string{"vaults"}, body: api.CreateVault{RepoFullName: repo},
	})
}

// Vault is the vault of a repository.
func (c *Client) Vault(ctx context.Context, repo string) (*api.Vault, error) {
	return call[api.Vault](ctx, c, inVault(http.MethodGet, repo))
}

// DeleteVault removes the vault of a repository with all it holds, for good.
func (c *Client) DeleteVault(ctx context.Context, repo string) error {
	return c.do(ctx, inVault(http.MethodDelete, repo))
}

// Collaborators lists who may reach a repository.
func (c *Client) Collaborators(ctx context.Context, repo string) (*api.Collaborators, error) {
	return call[api.Collaborators](ctx, c, inVault(http.MethodGet, repo, "collaborators"))
}
