package client

import (
	"context"
	"net/http"

	"coffer/server/api"
)

// OrgBilling is what an organization pays for, and what it could.
func (c *Client) OrgBilling(ctx context.Context, org string) (*api.Billing, error) {
	return call[api.Billing](ctx, c, request{method: http.MethodGet, path: []string{"orgs", org, "billing"}})
}

// OpenCheckout answers where an organization subscribes.
func (c *Client) OpenCheckout(ctx context.Context, o api.OpenCheckout) (*api.Visit, error) {
	return call[api.Visit](ctx, c, request{method: http.MethodPost, path: []string{"orgs", o.Org, "billing", "checkout"},
		body: map[string]string{"priceId": o.PriceID, "successUrl": o.SuccessURL, "cancelUrl": o.CancelURL}})
}

// OpenPortal answers where an organization changes or ends its subscription.
func (c *Client) OpenPortal(ctx context.Context, o api.OpenPortal) (*api.Visit, error) {
	return call[api.Visit](ctx, c, request{method: http.MethodPost, path: []string{"orgs", o.Org, "billing", "portal"},
		body: map[string]string{"returnUrl": o.ReturnURL}})
}

// OrgTrial is what an organization's one trial has come to.
func (c *Client) OrgTrial(ctx context.Context, org string) (*api.Trial, error) {
	return call[api.Trial](ctx, c, request{method: http.MethodGet, path: []string{"orgs", org, "trial"}})
}

// StartTrial begins an organization's one trial.
func (c *Client) StartTrial(ctx context.Context, org string) (*api.StartedTrial, error) {
	return call[api.StartedTrial](ctx, c, request{method: http.MethodPost, path: []string{"orgs", org, "trial", "start"}})
}
