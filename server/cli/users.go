package cli

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"coffer/server/client"
	"coffer/server/offline"
)

type loginOptions struct {
	address string
	token   string // "-" is standard input
}

func newLogin(a *app) *cobra.Command {
	var o loginOptions
	cmd := &cobra.Command{
		Use:   "login [URL]",
		Short: "Remember a server and an API key",
		Long: `Remember a server and an API key for it. The key is asked for, or read from
standard input, and tried before it is kept.

It is kept in the keyring of the operating system where there is one, else in
credentials.json in your configuration directory, which only you may read.
COFFER_KEYRING=off always uses the file. COFFER_TOKEN and COFFER_TOKEN_FILE
come before a stored login.`,
		Example: `  coffer login https://vault.example
  coffer login https://vault.example --token - < key.txt`,
		Args: args(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				a.server = args[0]
			}
			store := a.credentials()
			address, err := a.address(store)
			if err != nil {
				return err
			}
			o.address = address
			return runLogin(cmd.Context(), o, a.client, store, a.out)
		},
	}
	cmd.Flags().StringVar(&o.token, "token", "", "the API key; - reads it from standard input, which keeps it out of your shell's history")
	return cmd
}

// dial makes a client for an address and a token.
type dial func(address, token string) *client.Client

func runLogin(ctx context.Context, o loginOptions, connect dial, store *credentials, out *console) error {
	token, err := o.readToken(ctx, out)
	if err != nil {
		return err
	}
	if u, err := url.Parse(o.address); err == nil && u.Scheme == "http" && !isLoopback(u.Host) {
		out.note("Careful: %s is not encrypted. Whoever listens on the way reads the key and the secrets.", o.address)
	}
	user, err := connect(o.address, token).ValidateToken(ctx)
	if err != nil {
		return err
	}
	where, err := store.remember(o.address, user.Username, token)
	if err != nil {
		return err
	}
	return out.done(map[string]string{"url": o.address, "username": user.Username, "kept": where},
		"Signed in to %s as %s. The key is kept in %s.", o.address, user.Username, where)
}

func (o loginOptions) readToken(ctx context.Context, out *console) (string, error) {
	token := o.token
	var err error
	switch {
	case token == "-":
		token, err = out.readSecretFile("-")
	case token == "" && out.canAsk():
		token, err = out.hidden(ctx, "API key for "+o.address+": ")
	case token == "":
		return "", usagef("There is no terminal to ask for the key on. Pipe it in: coffer login %s --token - < FILE", o.address)
	}
	if err != nil {
		return "", err
	}
	return oneWord(token)
}

// oneWord is a token without the space around it, refused when it could be none.
func oneWord(token string) (string, error) {
	token = strings.TrimSpace(token)
	if token == "" || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", usagef("This is no API key. It is one word, like coffer_live_…")
	}
	return token, nil
}

func newLogout(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "logout [URL]",
		Short: "Forget the stored login of a server",
		Long: `Forget the stored login of a server, and remove the offline copies of what it
holds. The API key stays valid: to end it, use coffer keys rm.`,
		Args: args(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				a.server = args[0]
			}
			store := a.credentials()
			address, err := a.address(store)
			if err != nil {
				return err
			}
			return runLogout(address, store, a.copies(), a.out)
		},
	}
}

func runLogout(address string, store *credentials, copies *copies, out *console) error {
	removed, err := copies.remove(func(p offline.Place) bool { return p.Server == address })
	if err != nil {
		return fmt.Errorf("remove the offline copies: %w", err)
	}
	known, err := store.forget(address)
	if err != nil {
		return err
	}
	text := "Signed out of %s."
	if !known {
		text = "You were not signed in to %s."
	}
	if removed > 0 {
		text += fmt.Sprintf(" Offline copies removed: %d.", removed)
	}
	return out.done(map[string]any{"url": address, "signedOut": known, "offlineCopiesRemoved": removed}, text, address)
}

func newWhoami(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "whoami",
		Short: "Show who you are for the server",
		Args:  args(0, 0),
		RunE: a.signedIn(func(ctx context.Context, c *client.Client, _ []string) error {
			return runWhoami(ctx, c, a.out)
		}),
	}
}

func runWhoami(ctx context.Context, c *client.Client, out *console) error {
	// Any credential may validate itself; the record of the user needs a scope.
	user, err := c.ValidateToken(ctx)
	if err != nil {
		return err
	}
	out.note("At %s:", c.URL)
	return out.print(user, func(w io.Writer) { fmt.Fprintln(w, user.Username) })
}
