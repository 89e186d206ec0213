package client

import (
	"context"
	"io"
	"net/http"
	"net/url"

	"coffer/server/api"
)

// KeptBackups says how it stands with the backups that the server makes by itself.
// Brief leaves out what is where they are kept.
func (c *Client) KeptBackups(ctx context.Context, brief bool) (*api.KeptBackups, error) {
	req := operator(http.MethodGet, nil, "backups")
	if brief {
		req.query = url.Values{"brief": {"true"}}
	}
	return call[api.KeptBackups](ctx, c, req)
}

// FetchBackup downloads a backup from where they are kept, to where begin says when
// it is known to be there. What was written when it fails is no backup.
func (c *Client) FetchBackup(ctx context.Context, name string, begin func() (io.Writer, error)) error {
	req, err := c.newRequest(ctx, operator(http.MethodGet, nil, "backups", name))
	if err != nil {
		return err
	}
	res, err := c.begin(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	out, err := begin()
	if err == nil {
		_, err = io.Copy(out, fromServer{c, res.Body})
	}
	return err
}
