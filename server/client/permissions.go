package client

import (
	"context"
	"net/http"

	"coffer/server/api"
)

// EffectivePermissions is what the caller may do in a vault.
func (c *Client) EffectivePermissions(ctx context.Context, repo string) (*api.EffectivePermissions, error) {
	return call[api.EffectivePermissions](ctx, c, inVault(http.MethodGet, repo, "permissions", "effective"))
}

// DefaultPermissions is what holds in a vault without overrides.
func (c *Client) DefaultPermissions(ctx context.Context, repo string) (*api.DefaultPermissions, error) {
	return call[api.DefaultPermissions](ctx, c, inVault(http.MethodGet, repo, "permissions", "defaults"))
}

// Overrides lists a vault's permission overrides.
func (c *Client) Overrides(ctx context.Context, repo string) (*api.Overrides, error) {
	return call[api.Overrides](ctx, c, inVault(http.MethodGet, repo, "permissions", "overrides"))
}

// CreateOverride sets what a user or a role may do in an environment or in all.
func (c *Client) CreateOverride(ctx context.Context, o api.CreateOverride) (*api.CreatedOverride, error) {
	r := inVault(http.MethodPost, o.Repository(), "permissions", "overrides")
	r.body = struct {
		Environment  string  `json:"environment"`
		TargetType   string  `json:"targetType"`
		TargetUserID *string `json:"targetUserId,omitempty"`
		TargetRole   *string `json:"targetRole,omitempty"`
		CanRead      bool    `json:"canRead"`
		CanWrite     bool    `json:"canWrite"`
	}{o.Environment, o.TargetType, o.TargetUserID, o.TargetRole, o.CanRead, o.CanWrite}
	return call[api.CreatedOverride](ctx, c, r)
}

// UpdateOverride changes an override's rights.
func (c *Client) UpdateOverride(ctx context.Context, o api.UpdateOverride) (*api.Override, error) {
	r := inVault(http.MethodPut, o.Repository(), "permissions", "overrides", o.OverrideID)
	r.body = struct {
		CanRead  *bool `json:"canRead,omitempty"`
		CanWrite *bool `json:"canWrite,omitempty"`
	}{o.CanRead, o.CanWrite}
	return call[api.Override](ctx, c, r)
}

// DeleteOverride removes an override.
func (c *Client) DeleteOverride(ctx context.Context, repo, id string) error {
	return c.do(ctx, inVault(http.MethodDelete, repo, "permissions", "overrides", id))
}

// ResetOverrides removes all overrides of a vault.
func (c *Client) ResetOverrides(ctx context.Context, repo string) (*api.ResetOverrides, error) {
	return call[api.ResetOverrides](ctx, c, inVault(http.MethodDelete, repo, "permissions", "reset"))
}
