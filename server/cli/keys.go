package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"coffer/server/api"
	"coffer/server/client"
)

func newKeys(a *app) *cobra.Command {
	return group("keys", "Create, list and revoke your API keys", newKeysCreate(a), newKeysLs(a), newKeysRm(a))
}

const scopeHelp = "comma-separated: read:secrets, write:secrets, delete:secrets, admin:api-keys; or short: read, write, delete"

func newKeysCreate(a *app) *cobra.Command {
	var o api.CreateAPIKey
	var days int
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Create an API key and print it, the only time it is shown",
		Long: `Create an API key and print it: this is the only time it is shown.

A live key reaches every environment that you may; a test key reaches no
protected one.`,
		Example: `  coffer keys create ci --scopes read --days 90`,
		Args:    args(1, 1),
		RunE: a.signedIn(func(ctx context.Context, c *client.Client, args []string) error {
			o.Name, o.Scopes = args[0], fullScopes(o.Scopes)
			if days > 0 {
				o.ExpiresInDays = &days
			}
			return runKeysCreate(ctx, o, c, a.out)
		}),
	}
	f := cmd.Flags()
	f.StringSliceVar(&o.Scopes, "scopes", []string{api.ReadSecrets}, scopeHelp)
	f.StringVar(&o.Environment, "environment", "live", "live or test")
	f.IntVar(&days, "days", 0, "days until it ends, up to 365 (default: never)")
	f.StringSliceVar(&o.AllowedIPs, "allow-ip", nil, "addresses it may be used from, like 10.0.0.0/8 (default: anywhere)")
	return cmd
}

// fullScopes completes short scopes: read is read:secrets.
func fullScopes(scopes []string) []string {
	full := make([]string, 0, len(scopes))
	for _, s := range scopes {
		switch s = strings.TrimSpace(s); s {
		case "read", "write", "delete":
			s += ":secrets"
		case "admin":
			s = api.AdminAPIKeys
		}
		full = append(full, s)
	}
	return full
}

func runKeysCreate(ctx context.Context, o api.CreateAPIKey, c *client.Client, out *console) error {
	k, err := c.CreateAPIKey(ctx, o)
	if err != nil {
		return err
	}
	return printToken(k, out)
}

// printToken shows a new key: the token alone on stdout, the rest beside it.
func printToken(k *api.CreatedAPIKey, out *console) error {
	if !out.json {
		out.note("Created the API key %q, %s, which %s. It is shown this once:", k.Name, k.Environment, expiry(k.APIKey))
	}
	return out.print(k, func(w io.Writer) { fmt.Fprintln(w, string(k.Token)) })
}

func expiry(k api.APIKey) string {
	if k.ExpiresAt == nil {
		return "never ends"
	}
	return "ends " + when(*k.ExpiresAt)
}

type keysLsOptions struct{ all bool }

func newKeysLs(a *app) *cobra.Command {
	var o keysLsOptions
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List your API keys",
		Args:  args(0, 0),
		RunE: a.signedIn(func(ctx context.Context, c *client.Client, _ []string) error {
			return runKeysLs(ctx, o, c, a.out)
		}),
	}
	cmd.Flags().BoolVarP(&o.all, "all", "a", false, "with revoked and expired keys")
	return cmd
}

func runKeysLs(ctx context.Context, o keysLsOptions, c *client.Client, out *console) error {
	keys, err := c.APIKeys(ctx)
	if err != nil {
		return err
	}
	shown := []api.APIKey{}
	var rows [][]string
	for _, k := range keys {
		if !k.IsActive && !o.all {
			continue
		}
		shown = append(shown, k)
		state := expiry(k)
		if k.RevokedAt != nil {
			state = "revoked " + when(*k.RevokedAt)
		}
		rows = append(rows, []string{k.Prefix + "…", k.Name, k.Environment, strings.Join(k.Scopes, ","), state,
			"used " + whenOr(k.LastUsedAt, "never"), k.ID})
	}
	if len(shown) == 0 {
		out.note("You have no API key in use. Create one: coffer keys create NAME")
	}
	return out.table(shown, rows)
}

func newKeysRm(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "rm ID|NAME",
		Short: "Revoke an API key at once",
		Args:  args(1, 1),
		RunE: a.signedIn(func(ctx context.Context, c *client.Client, args []string) error {
			return runKeysRm(ctx, keysRmOptions{args[0]}, c, a.out)
		}),
	}
}

type keysRmOptions struct{ key string } // id, name or prefix

func runKeysRm(ctx context.Context, o keysRmOptions, c *client.Client, out *console) error {
	k, err := findKey(ctx, o.key, c)
	if err != nil {
		return err
	}
	if err := out.confirm(ctx, "Revoke the API key %q (%s…)? Whoever uses it loses access at once.", k.Name, k.Prefix); err != nil {
		return err
	}
	if err := c.RevokeAPIKey(ctx, k.ID); err != nil {
		return err
	}
	return out.done(map[string]string{"revoked": k.ID, "name": k.Name}, "Revoked the API key %q.", k.Name)
}

func findKey(ctx context.Context, key string, c *client.Client) (*api.APIKey, error) {
	keys, err := c.APIKeys(ctx)
	if err != nil {
		return nil, err
	}
	var found []api.APIKey
	for _, k := range keys {
		if k.ID == key {
			return &k, nil
		}
		if k.IsActive && (k.Name == key || k.Prefix == strings.TrimSuffix(key, "…")) {
			found = append(found, k)
		}
	}
	switch len(found) {
	case 0:
		return nil, failf(exitNotFound, "You have no such API key. To see what there is: coffer keys ls")
	case 1:
		return &found[0], nil
	default:
		return nil, usagef("%d of your API keys are called that. Use the id that coffer keys ls shows.", len(found))
	}
}
