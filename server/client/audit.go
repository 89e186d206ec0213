package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"coffer/server/api"
)

// ExportAudit writes the whole audit log to w, as lines of JSON. Only an operator
// may. What was written when it fails is not all: it has no signed end.
func (c *Client) ExportAudit(ctx context.Context, w io.Writer) error {
	return c.download(ctx, operator(http.MethodGet, nil, "audit", "export"), w)
}

// ExportVaultActivity writes a vault's part of the audit log to w, as ExportAudit
// does. It takes the role admin.
func (c *Client) ExportVaultActivity(ctx context.Context, repo string, w io.Writer) error {
	return c.download(ctx, inVault(http.MethodGet, repo, "activity", "export"), w)
}

// VerifyAudit judges the audit log of the server or, when file is not nil, a file
// that it was exported or streamed to. Only an operator may.
func (c *Client) VerifyAudit(ctx context.Context, file io.Reader) (*api.AuditReport, error) {
	req, err := c.newRequest(ctx, operator(http.MethodPost, nil, "audit", "verify"))
	if err != nil {
		return nil, err
	}
	if file != nil {
		req.Body, req.ContentLength = io.NopCloser(file), -1
		req.Header.Set("Content-Type", "application/x-ndjson")
	}
	res, err := c.begin(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	raw, err := read(res.Body, 0)
	if err != nil {
		return nil, c.networkError(err)
	}
	var a answer[api.AuditReport]
	if err := json.Unmarshal(raw, &a); err != nil {
		return nil, c.networkError(errors.New("the answer is not what coffer sends"))
	}
	return &a.Data, nil
}

// download copies an answer of any size.
func (c *Client) download(ctx context.Context, r request, w io.Writer) error {
	req, err := c.newRequest(ctx, r)
	if err != nil {
		return err
	}
	res, err := c.begin(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	_, err = io.Copy(w, fromServer{c, res.Body})
	return err
}

// fromServer tells failures to read an answer from failures to write it on.
type fromServer struct {
	c    *Client
	body io.Reader
}

func (f fromServer) Read(b []byte) (int, error) {
	n, err := f.body.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		err = f.c.networkError(fmt.Errorf("the answer broke off: %w", err))
	}
	return n, err
}

// begin sends a request that may take as long as it moves on, and returns its
// answer if that is a success.
func (c *Client) begin(req *http.Request) (*http.Response, error) {
	hc := http.Client{Transport: c.Transport, CheckRedirect: sameServer}
	res, err := hc.Do(req)
	if err != nil {
		return nil, c.networkError(err)
	}
	if res.StatusCode >= 200 && res.StatusCode < 300 {
		return res, nil
	}
	defer res.Body.Close()
	raw, err := read(res.Body, 0)
	if err != nil {
		return nil, c.networkError(err)
	}
	if e := problem(res, raw); e != nil {
		return nil, e
	}
	return nil, c.networkError(fmt.Errorf("answered %s, and not in the words of coffer", res.Status))
}
