package client

import (
	"context"
	"net/http"

	"coffer/server/api"
)

// Trash is a page of the secrets in a vault's trash, the last deleted first.
func (c *Client) Trash(ctx context.Context, repo string, p api.Page) (*api.List[api.TrashedSecret], error) {
	r := inVault(http.MethodGet, repo, "trash")
	r.query = pageQuery(p)
	return list[api.TrashedSecret](ctx, c, r)
}

// RestoreSecret takes a secret out of the trash.
func (c *Client) RestoreSecret(ctx context.Context, repo, id string) (*api.RestoredSecret, error) {
	return call[api.RestoredSecret](ctx, c, inVault(http.MethodPost, repo, "trash", id, "restore"))
}

// DestroySecret removes a secret in the trash, for good.
func (c *Client) DestroySecret(ctx context.Context, repo, id string) error {
	return c.do(ctx, inVault(http.MethodDelete, repo, "trash", id))
}

// EmptyTrash removes what the caller may write of a vault's trash, for good.
func (c *Client) EmptyTrash(ctx context.Context, repo string) (*api.EmptiedTrash, error) {
	return call[api.EmptiedTrash](ctx, c, inVault(http.MethodDelete, repo, "trash"))
}
