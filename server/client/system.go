package client

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"coffer/server/api"
)

// Status tells whether the instance is initialized and unsealed.
func (c *Client) Status(ctx context.Context) (*api.Status, error) {
	return call[api.Status](ctx, c, request{method: http.MethodGet, path: []string{"sys", "status"}})
}

// Initialize makes the keys of a fresh instance. The recovery key in the answer
// is shown this once.
func (c *Client) Initialize(ctx context.Context, i api.Initialize) (*api.Initialized, error) {
	type operator struct {
		Username string       `json:"username"`
		Password api.Revealed `json:"password"`
	}
	body := struct {
		ClaimToken api.Revealed  `json:"claimToken"`
		Passphrase *api.Revealed `json:"passphrase,omitempty"`
		KeyFile    bool          `json:"keyFile,omitempty"`
		Admin      *operator     `json:"admin,omitempty"`
	}{ClaimToken: reveal(i.ClaimToken), Passphrase: revealOrNull(i.Passphrase), KeyFile: i.KeyFile}
	if i.Admin != nil {
		body.Admin = &operator{i.Admin.Username, reveal(i.Admin.Password)}
	}
	return call[api.Initialized](ctx, c, request{method: http.MethodPost, path: []string{"sys", "init"}, body: body})
}

// Unseal opens a sealed instance.
func (c *Client) Unseal(ctx context.Context, u api.Unseal) error {
	return c.do(ctx, unsealing(u))
}

// UnsealWithShares gives a share of a key, or several in one text. While more are
// needed it says how many; it returns nil when the instance is open.
func (c *Client) UnsealWithShares(ctx context.Context, share api.Secret) (*api.GivenShares, error) {
	raw, err := c.roundTrip(ctx, unsealing(api.Unseal{Share: &share}))
	if err != nil || len(raw) == 0 {
		return nil, err
	}
	var a answer[api.GivenShares]
	if err := json.Unmarshal(raw, &a); err != nil {
		return nil, c.networkError(errors.New("the answer is not what coffer sends"))
	}
	return &a.Data, nil
}

func unsealing(u api.Unseal) request {
	return request{method: http.MethodPost, path: []string{"sys", "unseal"}, body: newProof(&u)}
}

// proof is a way to unseal that shows itself.
type proof struct {
	Passphrase *api.Revealed `json:"passphrase,omitempty"`
	Key        *api.Revealed `json:"key,omitempty"`
	Share      *api.Revealed `json:"share,omitempty"`
}

func newProof(u *api.Unseal) *proof {
	if u == nil {
		return nil
	}
	return &proof{revealOrNull(u.Passphrase), revealOrNull(u.Key), revealOrNull(u.Share)}
}

// Seal closes the instance at once. Only an operator may.
func (c *Client) Seal(ctx context.Context) error {
	return c.do(ctx, request{method: http.MethodPost, path: []string{"sys", "seal"}, body: api.Empty{}})
}
