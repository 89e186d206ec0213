package client

import (
	"context"
	"net/http"
	"net/url"

	"coffer/server/api"
)

// RepositoryIDs are the code host's numbers of a repository, if the caller has a
// role there.
func (c *Client) RepositoryIDs(ctx context.Context, repo string) (*api.FoundRepositoryIDs, error) {
	return call[api.FoundRepositoryIDs](ctx, c, request{
		method: http.MethodGet, path: []string{"github", "repo-ids"}, query: url.Values{"repo": {repo}},
	})
}

// CheckInstallation tells whether the server reaches a repository.
func (c *Client) CheckInstallation(ctx context.Context, owner, name string) (*api.Installation, error) {
	return call[api.Installation](ctx, c, request{
		method: http.MethodPost, path: []string{"github", "check-installation"},
		body: api.CheckInstallation{RepoOwner: owner, RepoName: name},
	})
}
