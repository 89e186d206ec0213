package client

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"coffer/server/api"
)

// Backup has a backup made. begin is told what it will be, before any of it came,
// and says where it goes. Only an operator may. What was written when it fails is
// no backup: it does not open.
func (c *Client) Backup(ctx context.Context, b api.NewBackup, begin func(api.Backup) (io.Writer, error)) (*api.Backup, error) {
	body := struct {
		Passphrase *api.Revealed `json:"passphrase,omitempty"`
	}{}
	if b.Passphrase != nil {
		body.Passphrase = new(reveal(*b.Passphrase))
	}
	req, err := c.newRequest(ctx, operator(http.MethodPost, body, "backups"))
	if err != nil {
		return nil, err
	}
	res, err := c.begin(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	var about api.Backup
	if err := json.Unmarshal([]byte(res.Header.Get(api.BackupHeader)), &about); err != nil {
		return nil, c.networkError(errors.New("the answer is not what coffer sends"))
	}
	out, err := begin(about)
	if err != nil {
		return nil, err
	}
	_, err = io.Copy(out, fromServer{c, res.Body})
	return &about, err
}
