package client

import (
	"context"
	"net/http"
	"net/url"

	"coffer/server/api"
)

// Push makes an environment hold these secrets. Without a mode the server
// decides whether absent keys go to the trash; say which you mean.
func (c *Client) Push(ctx context.Context, p api.PushSecrets) (*api.Pushed, error) {
	values := make(map[string]api.Revealed, len(p.Secrets))
	for key, value := range p.Secrets {
		if err := checkText("secrets."+key, value); err != nil {
			return nil, err
		}
		values[key] = reveal(value)
	}
	return call[api.Pushed](ctx, c, request{
		method: http.MethodPost, path: []string{"secrets", "push"},
		body: struct {
			RepoFullName string                  `json:"repoFullName"`
			Environment  string                  `json:"environment"`
			Secrets      map[string]api.Revealed `json:"secrets"`
			Mode         *string                 `json:"mode,omitempty"`
			BaseRevision *int                    `json:"baseRevision,omitempty"`
			DryRun       bool                    `json:"dryRun,omitempty"`
		}{p.RepoFullName, p.Environment, values, p.Mode, p.BaseRevision, p.DryRun},
	})
}

// Pull reads the values of an environment.
func (c *Client) Pull(ctx context.Context, p api.PullSecrets) (*api.Pulled, error) {
	q := url.Values{"repo": {p.Repo}}
	setText(q, "environment", p.Environment)
	setText(q, "format", p.Format)
	setInt(q, "limit", p.Limit)
	setInt(q, "offset", p.Offset)
	setText(q, "at", p.At)
	setInt(q, "revision", p.Revision)
	return call[api.Pulled](ctx, c, request{
		method: http.MethodGet, path: []string{"secrets", "pull"}, query: q, limit: maxPullAnswer,
	})
}
