package client

import (
	"context"
	"net/http"

	"coffer/server/api"
)

// Orgs lists the organizations that the caller is a member of.
func (c *Client) Orgs(ctx context.Context) ([]api.Org, error) {
	l, err := list[api.Org](ctx, c, request{method: http.MethodGet, path: []string{"orgs"}})
	if err != nil {
		return nil, err
	}
	return l.Items, nil
}

// Org is one organization that the caller is a member of.
func (c *Client) Org(ctx context.Context, org string) (*api.OrgDetail, error) {
	return call[api.OrgDetail](ctx, c, request{method: http.MethodGet, path: []string{"orgs", org}})
}

// UpdateOrg changes what an organization is called and what its roles may do by
// default. What is not given stays.
func (c *Client) UpdateOrg(ctx context.Context, org string, u api.UpdateOrg) (*api.UpdatedOrg, error) {
	body := map[string]any{}
	if u.DefaultPermissions != nil {
		body["defaultPermissions"] = u.DefaultPermissions
	}
	if u.DisplayName.Given {
		body["displayName"] = u.DisplayName.Text
	}
	return call[api.UpdatedOrg](ctx, c, request{method: http.MethodPut, path: []string{"orgs", org}, body: body})
}

// OrgMembers lists everybody on an organization's roster, owners first.
func (c *Client) OrgMembers(ctx context.Context, org string) ([]api.OrgMember, error) {
	l, err := list[api.OrgMember](ctx, c, request{method: http.MethodGet, path: []string{"orgs", org, "members"}})
	if err != nil {
		return nil, err
	}
	return l.Items, nil
}

// SyncMembers has an organization's roster read at the code host.
func (c *Client) SyncMembers(ctx context.Context, org string) (*api.SyncedMembers, error) {
	return call[api.SyncedMembers](ctx, c, request{method: http.MethodPost, path: []string{"orgs", org, "members", "sync"}})
}
