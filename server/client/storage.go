package client

import (
	"context"
	"net/http"
	"time"

	"coffer/server/api"
)

// Storage measures the data file. Only an operator may.
func (c *Client) Storage(ctx context.Context) (*api.Storage, error) {
	return call[api.Storage](ctx, c, operator(http.MethodGet, nil, "storage"))
}

// Compact has the data file written anew. The answer may say that it runs still:
// see FollowCompaction.
func (c *Client) Compact(ctx context.Context) (*api.Compaction, error) {
	return call[api.Compaction](ctx, c, operator(http.MethodPost, nil, "compactions"))
}

// compactionPause is between two looks at a compaction.
const compactionPause = 500 * time.Millisecond

// FollowCompaction waits until no compaction is under way, and returns the last
// one. It shows each state that it sees on the way.
func (c *Client) FollowCompaction(ctx context.Context, show func(api.Compaction)) (*api.Compaction, error) {
	for {
		s, err := c.Storage(ctx)
		if err != nil {
			return nil, err
		}
		if s.Running == nil {
			return s.Last, nil
		}
		show(*s.Running)
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(compactionPause):
		}
	}
}

// Erase erases the vault of a repository. Its receipt may be to come.
func (c *Client) Erase(ctx context.Context, repo string) (*api.Erasure, error) {
	return call[api.Erasure](ctx, c, operator(http.MethodPost, api.Erase{RepoFullName: repo}, "erasures"))
}

// Erasures lists the vaults that were erased, newest first.
func (c *Client) Erasures(ctx context.Context) ([]api.Erasure, error) {
	all, err := call[api.Erasures](ctx, c, operator(http.MethodGet, nil, "erasures"))
	if err != nil {
		return nil, err
	}
	return all.Erasures, nil
}

// Erasure is one of them.
func (c *Client) Erasure(ctx context.Context, id string) (*api.Erasure, error) {
	return call[api.Erasure](ctx, c, operator(http.MethodGet, nil, "erasures", id))
}
