package client

import (
	"context"
	"net/http"

	"coffer/server/api"
)

// Rekey replaces the master key and the root key. A new recovery key in the answer is
// shown this once.
func (c *Client) Rekey(ctx context.Context, r api.Rekey) (*api.Rekeyed, error) {
	return call[api.Rekeyed](ctx, c, operator(http.MethodPost, struct {
		Proof          *proof        `json:"proof,omitempty"`
		Passphrase     *api.Revealed `json:"passphrase,omitempty"`
		NewRecoveryKey bool          `json:"newRecoveryKey,omitempty"`
		Drop           []string      `json:"drop,omitempty"`
	}{newProof(r.Proof), revealOrNull(r.Passphrase), r.NewRecoveryKey, r.Drop}, "rekey"))
}

// Rotate replaces the data key of a vault, or of all vaults.
func (c *Client) Rotate(ctx context.Context, r api.Rotate) (*api.Rotation, error) {
	return call[api.Rotation](ctx, c, operator(http.MethodPost, r, "rotations"))
}

// Rotations tells which keys are being replaced.
func (c *Client) Rotations(ctx context.Context) (*api.Rotations, error) {
	return call[api.Rotations](ctx, c, operator(http.MethodGet, nil, "rotations"))
}
