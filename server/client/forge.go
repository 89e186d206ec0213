package client

import (
	"context"
	"net/http"

	"coffer/server/api"
)

// CheckForge has the server try what it was told of its code host. Only an operator
// may.
func (c *Client) CheckForge(ctx context.Context) (*api.ForgeCheck, error) {
	return call[api.ForgeCheck](ctx, c, operator(http.MethodPost, nil, "forge", "check"))
}
