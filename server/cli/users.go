package cli

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/spf13/cobra"

	"coffer/server/api"
	"coffer/server/client"
)

func newWhoami(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "whoami",
		Short: "Show who you are for the server, and by which credential",
		Args:  args(0, 0),
		RunE: a.signedIn(func(ctx context.Context, c *client.Client, _ []string) error {
			return runWhoami(ctx, a.stored, c, a.out)
		}),
	}
}

// identity is what --json shows.
type identity struct {
	api.ValidatedToken
	URL        string    `json:"url"`
	Credential string    `json:"credential"`
	ExpiresAt  *api.Time `json:"expiresAt"` // of the stored login; null when it is not known
}

func runWhoami(ctx context.Context, stored login, c *client.Client, out *console) error {
	// Any credential may validate itself; the record of the user needs a scope.
	user, err := c.ValidateToken(ctx)
	if err != nil {
		return err
	}
	me := identity{*user, c.URL, credentialKind(c.Token), stored.ExpiresAt}
	with := credentialWords[me.Credential]
	if me.ExpiresAt != nil {
		with += ", until " + when(*me.ExpiresAt)
	}
	return out.table(me, [][]string{
		{"user", user.Username}, {"server", c.URL}, {"code host", kindOfHost(user.ForgeType)}, {"plan", user.Plan}, {"signed in", with},
	})
}

// Kinds of credentials, as --json shows them.
const (
	kindLogin  = "login"
	kindAPIKey = "api-key"
	kindAccess = "access-token"
)

var credentialWords = map[string]string{
	kindLogin: "with a login", kindAPIKey: "with an API key", kindAccess: "with an access token of the code host",
}

// credentialKind tells credentials apart by their form, as the server does.
func credentialKind(token string) string {
	if strings.HasPrefix(token, "coffer_") {
		return kindAPIKey
	}
	head, _, _ := strings.Cut(token, ".")
	var h struct {
		KeyID string `json:"kid"`
	}
	text, err := base64.RawURLEncoding.DecodeString(head)
	if err == nil && json.Unmarshal(text, &h) == nil && strings.HasPrefix(h.KeyID, "coffer-") {
		return kindLogin
	}
	return kindAccess
}
