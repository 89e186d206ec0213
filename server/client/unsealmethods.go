package client

import (
	"context"
	"net/http"

	"coffer/server/api"
)

// UnsealMethods lists the ways to unseal.
func (c *Client) UnsealMethods(ctx context.Context) ([]api.OperatorUnsealMethod, error) {
	all, err := call[[]api.OperatorUnsealMethod](ctx, c, operator(http.MethodGet, nil, "unseal-methods"))
	if err != nil {
		return nil, err
	}
	return *all, nil
}

// AddUnsealMethod adds a way to unseal. What it makes is in the answer this once.
func (c *Client) AddUnsealMethod(ctx context.Context, m api.AddUnsealMethod) (*api.AddedUnsealMethod, error) {
	return call[api.AddedUnsealMethod](ctx, c, operator(http.MethodPost, struct {
		Kind       string        `json:"kind"`
		Label      string        `json:"label,omitempty"`
		Passphrase *api.Revealed `json:"passphrase,omitempty"`
		Key        *api.Revealed `json:"key,omitempty"`
		KeyFile    string        `json:"keyFile,omitempty"`
		Identity   string        `json:"identity,omitempty"`
		Recipient  string        `json:"recipient,omitempty"`
		Threshold  int           `json:"threshold,omitempty"`
		Total      int           `json:"total,omitempty"`
		Proof      *proof        `json:"proof,omitempty"`
	}{m.Kind, m.Label, revealOrNull(m.Passphrase), revealOrNull(m.Key), m.KeyFile, m.Identity, m.Recipient, m.Threshold, m.Total, newProof(m.Proof)},
		"unseal-methods"))
}

// RemoveUnsealMethod takes a way to unseal away.
func (c *Client) RemoveUnsealMethod(ctx context.Context, r api.RemoveUnsealMethod) (*api.RemovedUnsealMethod, error) {
	return call[api.RemovedUnsealMethod](ctx, c, operator(http.MethodDelete, struct {
		Proof *proof `json:"proof,omitempty"`
	}{newProof(r.Proof)}, "unseal-methods", r.ID))
}
