package client

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"coffer/server/api"
)

// PreviewSync tells what a sync would do, and changes nothing.
func (c *Client) PreviewSync(ctx context.Context, q api.SyncQuery) (*api.SyncPreview, error) {
	return call[api.SyncPreview](ctx, c, askSync(q, "preview"))
}

// SyncStatus tells what is where, for somebody who has not synced yet.
func (c *Client) SyncStatus(ctx context.Context, q api.SyncQuery) (*api.SyncStatus, error) {
	return call[api.SyncStatus](ctx, c, askSync(q, "status"))
}

// SyncDiff compares what both sides hold, by name.
func (c *Client) SyncDiff(ctx context.Context, q api.SyncQuery) (*api.SyncDiff, error) {
	return call[api.SyncDiff](ctx, c, askSync(q, "diff"))
}

// Sync does what a preview said. A sync that takes long goes on without the request:
// the result is [api.SyncRunning] then, and FollowSync waits for the job it names.
func (c *Client) Sync(ctx context.Context, s api.StartSync) (*api.SyncResult, error) {
	r := inSync(http.MethodPost, s.Ref)
	body := syncBody(s.Target())
	body["direction"], body["allowDelete"], body["planHash"], body["async"] = s.Direction, s.AllowDelete, s.PlanHash, s.Async
	r.body = body
	return call[api.SyncResult](ctx, c, r)
}

// SyncJob tells how a sync stands that the caller began.
func (c *Client) SyncJob(ctx context.Context, id string) (*api.SyncJob, error) {
	return call[api.SyncJob](ctx, c, integration(http.MethodGet, "jobs", id))
}

// CancelSync stops a sync. What is done stays done.
func (c *Client) CancelSync(ctx context.Context, id string) error {
	return c.do(ctx, integration(http.MethodDelete, "jobs", id))
}

// Pauses between two looks at a sync. The longer one keeps a sync of any length
// within what the server lets a caller ask.
const (
	firstPause = time.Second / 4
	laterPause = 10 * time.Second
)

// FollowSync waits for the end of a sync, and shows each look at it on the way,
// unless show is nil.
func (c *Client) FollowSync(ctx context.Context, id string, show func(api.SyncJob)) (*api.SyncJob, error) {
	for pause := firstPause; ; pause = min(2*pause, laterPause) {
		job, err := c.SyncJob(ctx, id)
		var e *api.Error
		switch {
		case errors.As(err, &e) && e.Code == api.RateLimited:
			pause = max(pause, e.RetryAfter)
		case err != nil:
			return nil, err
		case job.FinishedAt != nil:
			return job, nil
		case show != nil:
			show(*job)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, c.networkError(ctx.Err())
		}
	}
}

// SaveLink remembers a target with a vault, or changes the link that there is.
func (c *Client) SaveLink(ctx context.Context, l api.SaveLink) (*api.LinkDetail, error) {
	r := inSync(http.MethodPost, l.Ref, "link")
	body := syncBody(l.Target())
	body["autoSync"] = l.AutoSync
	r.body = body
	saved, err := call[api.SavedLink](ctx, c, r)
	if err != nil {
		return nil, err
	}
	return &saved.Link, nil
}

// RemoveLink forgets a target. What was synced stays at the provider.
func (c *Client) RemoveLink(ctx context.Context, ref api.LinkRef) error {
	return c.do(ctx, inSync(http.MethodDelete, ref.Ref, "link", ref.LinkID))
}

// inSync is a request about what a vault is synced with.
func inSync(method string, ref api.Ref, path ...string) request {
	return integration(method, append([]string{"vaults", ref.Owner, ref.Repo, "sync"}, path...)...)
}

// askSync asks what a sync would do, or would find.
func askSync(q api.SyncQuery, what string) request {
	t := q.Target()
	r := inSync(http.MethodGet, t.Ref, what)
	r.query = url.Values{}
	for name, text := range map[string]string{
		"connectionId": t.ConnectionID, "projectId": t.ProjectID, "serviceId": t.ServiceID,
		"keywayEnvironment": t.Environment, "providerEnvironment": t.ProviderEnvironment, "direction": t.Direction,
	} {
		setText(r.query, name, text)
	}
	for name, on := range map[string]bool{"allowDelete": t.AllowDelete, "allowReferences": t.AllowReferences} {
		if on {
			r.query.Set(name, "true")
		}
	}
	return r
}

// syncBody names a target.
func syncBody(t api.SyncTarget) map[string]any {
	return map[string]any{
		"connectionId": t.ConnectionID, "projectId": t.ProjectID, "serviceId": t.ServiceID,
		"keywayEnvironment": t.Environment, "providerEnvironment": t.ProviderEnvironment, "allowReferences": t.AllowReferences,
	}
}
