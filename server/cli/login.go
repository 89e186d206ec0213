package cli

import (
	"context"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"coffer/server/api"
	"coffer/server/client"
)

type loginOptions struct {
	address    string
	token      string // "-" is standard input; "" signs in by way of a browser
	repository string // of the checkout, or ""
	pin        *client.Pin
	browser    func(url string) bool
}

func newLogin(a *app) *cobra.Command {
	var o loginOptions
	var stay bool
	cmd := &cobra.Command{
		Use:   "login [URL]",
		Short: "Sign in to a server",
		Long: `Sign in to a server in the browser, here or on another device: coffer shows a
link and a code, opens the link where it can, and waits until you have compared
the code and approved.

A server that nobody vouches for prints at its start the address to sign in with,
which ends in #sha256=… and the fingerprint of its key. That is kept with the
login, and no command sends anything to a server with another key. COFFER_URL and
--server take such an address, too.

With --token - an API key is taken instead, from standard input or a prompt, and
tried before it is kept.

The login is kept in the keyring of the operating system where there is one, else
in credentials.json in your configuration directory, which only you may read.
COFFER_KEYRING=off always uses the file. COFFER_TOKEN and COFFER_TOKEN_FILE
come before a stored login.`,
		Example: `  coffer login https://vault.example
  coffer login https://vault.example --no-browser
  coffer login https://192.0.2.7:2633#sha256=5f1d…
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
			o.address, o.pin, o.repository, o.browser = address, a.pin, a.checkout(cmd.Context()), noBrowser
			if !stay && a.out.canShow() {
				o.browser = a.openBrowser
			}
			return runLogin(cmd.Context(), o, a.client, store, a.out)
		},
	}
	cmd.Flags().StringVar(&o.token, "token", "", "sign in with this API key; - reads it from standard input, which keeps it out of your shell's history")
	cmd.Flags().BoolVar(&stay, "no-browser", false, "only show the link, do not open it")
	return cmd
}

// checkout is the repository that somebody signs in for, or "" when it is not
// known: it is only shown to whoever approves.
func (a *app) checkout(ctx context.Context) string {
	at, err := a.where(ctx)
	if _, _, ok := api.SplitRepo(at.repo); err != nil || !ok {
		return ""
	}
	return at.repo
}

// dial makes a client for an address and a token.
type dial func(address, token string) *client.Client

func runLogin(ctx context.Context, o loginOptions, connect dial, store *credentials, out *console) error {
	if u, err := url.Parse(o.address); err == nil && u.Scheme == "http" && !isLoopback(u.Host) {
		out.note("Careful: %s is not encrypted. Whoever listens on the way reads the login and the secrets.", o.address)
	}
	signIn := o.withKey
	if o.token == "" {
		signIn = o.withBrowser
	}
	l, err := signIn(ctx, connect, out)
	if err != nil {
		return err
	}
	if o.pin != nil {
		l.Pin = o.pin.String()
	}
	where, err := store.remember(o.address, l)
	if err != nil {
		return err
	}
	done := loggedIn{o.address, l.Username, where, l.ExpiresAt}
	if l.ExpiresAt == nil {
		return out.done(done, "Signed in to %s as %s. The key is kept in %s.", o.address, l.Username, where)
	}
	return out.done(done, "Signed in to %s as %s, until %s. The login is kept in %s.", o.address, l.Username, when(*l.ExpiresAt), where)
}

// loggedIn is what --json shows.
type loggedIn struct {
	URL       string    `json:"url"`
	Username  string    `json:"username"`
	Kept      string    `json:"kept"`
	ExpiresAt *api.Time `json:"expiresAt"`
}

// withKey signs in with an API key.
func (o loginOptions) withKey(ctx context.Context, connect dial, out *console) (login, error) {
	token, err := o.readToken(ctx, out)
	if err != nil {
		return login{}, err
	}
	user, err := connect(o.address, token).ValidateToken(ctx)
	if err != nil {
		return login{}, err
	}
	return login{Username: user.Username, Token: token}, nil
}

func (o loginOptions) readToken(ctx context.Context, out *console) (string, error) {
	token := o.token
	var err error
	switch {
	case token == "-" && out.canAsk():
		token, err = out.hidden(ctx, "API key for "+o.address+": ")
	case token == "-":
		token, err = out.readSecretFile("-")
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
