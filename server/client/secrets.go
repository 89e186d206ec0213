package client

import (
	"context"
	"net/http"
	"net/url"
	"unicode/utf8"

	"coffer/server/api"
)

// Secrets is a page of a vault's secrets without their values, of one
// environment or, with "", of all.
func (c *Client) Secrets(ctx context.Context, repo, environment string, p api.Page) (*api.List[api.SecretMeta], error) {
	r := inVault(http.MethodGet, repo, "secrets")
	r.query = pageQuery(p)
	setText(r.query, "environment", environment)
	return list[api.SecretMeta](ctx, c, r)
}

// SetSecret creates a secret, or gives an existing key a value.
func (c *Client) SetSecret(ctx context.Context, s api.SetSecret) (*api.SavedSecret, error) {
	if err := checkText("value", s.Value); err != nil {
		return nil, err
	}
	r := inVault(http.MethodPost, s.Repository(), "secrets")
	r.body = struct {
		Key         string       `json:"key"`
		Value       api.Revealed `json:"value"`
		Environment string       `json:"environment"`
	}{s.Key, reveal(s.Value), s.Environment}
	return call[api.SavedSecret](ctx, c, r)
}

// PatchSecret gives a secret another name, another value, or both.
func (c *Client) PatchSecret(ctx context.Context, p api.PatchSecret) (*api.SecretMeta, error) {
	if p.Value != nil {
		if err := checkText("value", *p.Value); err != nil {
			return nil, err
		}
	}
	r := inVault(http.MethodPatch, p.Repository(), "secrets", p.SecretID)
	r.body = struct {
		Name  *string       `json:"name,omitempty"`
		Key   *string       `json:"key,omitempty"`
		Value *api.Revealed `json:"value,omitempty"`
	}{p.Name, p.Key, revealOrNull(p.Value)}
	return call[api.SecretMeta](ctx, c, r)
}

// DeleteSecret moves a secret to the trash.
func (c *Client) DeleteSecret(ctx context.Context, repo, id string) error {
	return c.do(ctx, inVault(http.MethodDelete, repo, "secrets", id))
}

// SecretValue reveals the value of a secret by its id.
func (c *Client) SecretValue(ctx context.Context, repo, id string) (*api.Value, error) {
	return call[api.Value](ctx, c, inVault(http.MethodGet, repo, "secrets", id, "value"))
}

// ViewSecret reveals one value by its name.
func (c *Client) ViewSecret(ctx context.Context, v api.ViewSecret) (*api.ViewedSecret, error) {
	return call[api.ViewedSecret](ctx, c, request{
		method: http.MethodGet, path: []string{"secrets", "view"},
		query: url.Values{"repo": {v.Repo}, "environment": {v.Environment}, "key": {v.Key}},
	})
}

// Versions lists the versions of a secret, newest first.
func (c *Client) Versions(ctx context.Context, repo, id string) ([]api.Version, error) {
	l, err := list[api.Version](ctx, c, inVault(http.MethodGet, repo, "secrets", id, "versions"))
	if err != nil {
		return nil, err
	}
	return l.Items, nil
}

// VersionValue reveals the value of one version.
func (c *Client) VersionValue(ctx context.Context, repo, id, version string) (*api.VersionValue, error) {
	return call[api.VersionValue](ctx, c, inVault(http.MethodGet, repo, "secrets", id, "versions", version, "value"))
}

// RestoreVersion makes the value of a version the current one again.
func (c *Client) RestoreVersion(ctx context.Context, repo, id, version string) (*api.RestoredVersion, error) {
	return call[api.RestoredVersion](ctx, c, inVault(http.MethodPost, repo, "secrets", id, "versions", version, "restore"))
}

// checkText refuses a value that JSON cannot carry: encoding it would replace
// what is no UTF-8, silently.
func checkText(field string, s api.Secret) error {
	if utf8.ValidString(s.Reveal()) {
		return nil
	}
	return api.InvalidField(field, api.InvalidFormat, "The value is not UTF-8 text. Store binary data as base64.")
}

func reveal(s api.Secret) api.Revealed { return api.Revealed(s.Reveal()) }

func revealOrNull(s *api.Secret) *api.Revealed {
	if s == nil {
		return nil
	}
	v := reveal(*s)
	return &v
}
