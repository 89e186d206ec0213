package client

import (
	"context"
	"net/http"

	"coffer/server/api"
)

// The calls in this file work over an operator's Transport only: the socket in
// the data directory, or the one of a server in the same process.

// AddLocalUser makes a user of the built-in forge.
func (c *Client) AddLocalUser(ctx context.Context, u api.AddLocalUser) (*api.AddedLocalUser, error) {
	return call[api.AddedLocalUser](ctx, c, operator(http.MethodPost, struct {
		Username string       `json:"username"`
		Password api.Revealed `json:"password"`
		Operator bool         `json:"operator"`
	}{u.Username, reveal(u.Password), u.Operator}, "users"))
}

// DisableLocalUser keeps a user of the built-in forge out, or lets them in again.
func (c *Client) DisableLocalUser(ctx context.Context, username string, disabled bool) (*api.LocalUser, error) {
	return call[api.LocalUser](ctx, c, operator(http.MethodPut, api.DisableLocalUser{Username: username, Disabled: disabled}, "users", "disabled"))
}

// SetLocalPassword gives a user of the built-in forge another password.
func (c *Client) SetLocalPassword(ctx context.Context, p api.SetLocalPassword) (*api.LocalUser, error) {
	return call[api.LocalUser](ctx, c, operator(http.MethodPut, struct {
		Username string       `json:"username"`
		Password api.Revealed `json:"password"`
	}{p.Username, reveal(p.Password)}, "users", "password"))
}

// AddLocalOrg makes an organization of the built-in forge.
func (c *Client) AddLocalOrg(ctx context.Context, o api.AddLocalOrg) (*api.LocalOrg, error) {
	return call[api.LocalOrg](ctx, c, operator(http.MethodPost, o, "orgs"))
}

// SetLocalMember gives a user a role in an organization, or takes them out of it.
func (c *Client) SetLocalMember(ctx context.Context, m api.SetLocalMember) error {
	return c.do(ctx, operator(http.MethodPut, m, "orgs", "members"))
}

// AddLocalRepo makes a repository of the built-in forge.
func (c *Client) AddLocalRepo(ctx context.Context, r api.AddLocalRepo) (*api.LocalRepo, error) {
	return call[api.LocalRepo](ctx, c, operator(http.MethodPost, r, "repos"))
}

// GrantLocalRepo gives a user a role on a repository, or takes it away.
func (c *Client) GrantLocalRepo(ctx context.Context, g api.GrantLocalRepo) error {
	return c.do(ctx, operator(http.MethodPut, g, "repos", "grants"))
}

// SetPlan gives an account a plan that nobody pays for, or takes it away.
func (c *Client) SetPlan(ctx context.Context, p api.SetPlan) (*api.AccountPlan, error) {
	return call[api.AccountPlan](ctx, c, operator(http.MethodPut, p, "plans"))
}

// IssueToken makes an API key in a user's name.
func (c *Client) IssueToken(ctx context.Context, t api.IssueToken) (*api.CreatedAPIKey, error) {
	return call[api.CreatedAPIKey](ctx, c, operator(http.MethodPost, t, "tokens"))
}

// Jobs lists what the server does by itself.
func (c *Client) Jobs(ctx context.Context) ([]api.Job, error) {
	all, err := call[[]api.Job](ctx, c, operator(http.MethodGet, nil, "jobs"))
	if err != nil {
		return nil, err
	}
	return *all, nil
}

// RunJob has a job run now.
func (c *Client) RunJob(ctx context.Context, name string) (*api.Job, error) {
	return call[api.Job](ctx, c, operator(http.MethodPost, nil, "jobs", name, "run"))
}

func operator(method string, body any, path ...string) request {
	return request{method: method, path: append([]string{"operator"}, path...), body: body}
}
