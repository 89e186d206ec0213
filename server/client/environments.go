package client

import (
	"context"
	"net/http"

	"coffer/server/api"
)

// Environments lists the environments of a vault that the caller may read.
func (c *Client) Environments(ctx context.Context, repo string) ([]api.EnvironmentDetail, error) {
	l, err := call[api.Environments](ctx, c, inVault(http.MethodGet, repo, "environments"))
	if err != nil {
		return nil, err
	}
	return l.Environments, nil
}

// CreateEnvironment makes an environment; with kind "" its type follows from its name.
func (c *Client) CreateEnvironment(ctx context.Context, repo, name, kind string) (*api.CreatedEnvironment, error) {
	r := inVault(http.MethodPost, repo, "environments")
	body := map[string]string{"name": name}
	if kind != "" {
		body["type"] = kind
	}
	r.body = body
	return call[api.CreatedEnvironment](ctx, c, r)
}

// RenameEnvironment gives an environment another name. Its type stays.
func (c *Client) RenameEnvironment(ctx context.Context, repo, name, newName string) (*api.RenamedEnvironment, error) {
	r := inVault(http.MethodPatch, repo, "environments", name)
	r.body = map[string]string{"newName": newName}
	return call[api.RenamedEnvironment](ctx, c, r)
}

// DeleteEnvironment removes an environment with all it holds, for good.
func (c *Client) DeleteEnvironment(ctx context.Context, repo, name string) (*api.DeletedEnvironment, error) {
	return call[api.DeletedEnvironment](ctx, c, inVault(http.MethodDelete, repo, "environments", name))
}

// RetypeEnvironment makes an environment protected, standard or development.
func (c *Client) RetypeEnvironment(ctx context.Context, repo, name, kind string) (*api.RetypedEnvironment, error) {
	r := inVault(http.MethodPatch, repo, "environments", name, "type")
	r.body = map[string]string{"type": kind}
	return call[api.RetypedEnvironment](ctx, c, r)
}

// MoveEnvironment puts an environment where the one with this displayOrder stands.
func (c *Client) MoveEnvironment(ctx context.Context, repo, name string, displayOrder int) (*api.MovedEnvironment, error) {
	r := inVault(http.MethodPatch, repo, "environments", name, "order")
	r.body = map[string]int{"displayOrder": displayOrder}
	return call[api.MovedEnvironment](ctx, c, r)
}
