package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"coffer/server/api"
	"coffer/server/client"
)

// tokenPages says where a token for a provider is made, and what it has to be.
var tokenPages = map[string]string{
	"vercel":         "Make a token at https://vercel.com/account/tokens, for your account or for the team whose projects you sync.",
	"netlify":        "Make a personal access token at https://app.netlify.com/user/applications",
	"railway":        "Make a token at https://railway.com/account/tokens, for the workspace whose projects you sync.",
	"github-actions": "Make a fine-grained token at https://github.com/settings/personal-access-tokens/new for the repositories that you sync, with the permissions Secrets and Environments: read and write.",
}

type connectOptions struct {
	provider string
	token    string // "-" is standard input, or a prompt
	file     string
	team     string
	browser  func(url string) bool // nil connects with a token
}

func newConnect(a *app) *cobra.Command {
	var o connectOptions
	var browser bool
	cmd := &cobra.Command{
		Use:   "connect PROVIDER",
		Short: "Connect to a hosting provider, to sync values with it",
		Long: `Connect to a hosting provider, to sync values with it: vercel, netlify, railway
or github-actions. coffer asks for a token that you make there, which is tried
before it is kept, sealed, on the server. The connection is yours alone.

With --browser you authorize the server at the provider instead, where its operator
has set that up.

To renew a connection, or to give it another token, connect again.`,
		Example: `  coffer connect vercel
  coffer connect vercel --team team_4kR1 --token-file token.txt
  coffer connect netlify --token - < token.txt
  coffer connect netlify --browser`,
		Args: args(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.token != "" && o.token != "-" {
				return usagef("A token on the command line shows in the list of processes and in your shell's history, so it was not used.\n"+
					"Type it or pipe it in: coffer connect %s", args[0])
			}
			if err := oneOf(cmd, "token", "token-file", "browser"); err != nil {
				return err
			}
			if err := oneOf(cmd, "team", "browser"); err != nil {
				return err
			}
			if o.provider = args[0]; browser {
				o.browser = noBrowser
				if a.out.canShow() {
					o.browser = a.openBrowser
				}
			}
			return a.signedIn(func(ctx context.Context, c *client.Client, _ []string) error {
				return runConnect(ctx, o, c, a.out)
			})(cmd, args)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.token, "token", "", "- reads the token from standard input")
	f.StringVar(&o.file, "token-file", "", "read the token from this file")
	f.StringVar(&o.team, "team", "", "id of the team at the provider that the connection is for (default: all that the token reaches)")
	f.BoolVar(&browser, "browser", false, "authorize in the browser, instead of with a token")
	return cmd
}

func runConnect(ctx context.Context, o connectOptions, c *client.Client, out *console) error {
	p, err := findProvider(ctx, o.provider, c)
	if err != nil {
		return err
	}
	if o.browser != nil {
		return connectInBrowser(ctx, o.browser, p, c, out)
	}
	token, err := o.readToken(ctx, p, out)
	if err != nil {
		return err
	}
	stop := out.working("Trying the token")
	done, err := c.Connect(ctx, api.Connect{ProviderRef: api.ProviderRef{Provider: p.Name}, Token: api.NewSecret(token), TeamID: o.team})
	stop()
	if err != nil {
		return err
	}
	as := first(done.User.Username, "the owner of the token")
	if done.User.TeamName != "" {
		as += ", team " + done.User.TeamName
	}
	return out.done(done, "Connected to %s as %s.\nNext, in a checkout: coffer sync %s", p.DisplayName, as, p.Name)
}

// findProvider is a hosting provider that the operator did not turn off.
func findProvider(ctx context.Context, name string, c *client.Client) (*api.Provider, error) {
	all, err := c.Providers(ctx)
	if err != nil {
		return nil, err
	}
	var on []string
	for _, p := range all {
		switch {
		case p.Name == name && p.Configured:
			return &p, nil
		case p.Name == name:
			return nil, failf(exitNotFound, "The operator of this server turned %s off.", p.DisplayName)
		case p.Configured:
			on = append(on, p.Name)
		}
	}
	return nil, failf(exitNotFound, "There is no hosting provider %q here. There are: %s.", name, first(strings.Join(on, ", "), "none"))
}

func (o connectOptions) readToken(ctx context.Context, p *api.Provider, out *console) (token string, err error) {
	switch {
	case o.file != "":
		token, err = out.readSecretFile(o.file)
	case out.canAsk():
		out.note("%s", tokenPages[p.Name])
		if slices.Contains(p.Methods, api.ConnectByOAuth) {
			out.note("Or without a token: coffer connect %s --browser", p.Name)
		}
		token, err = out.hidden(ctx, "Token for "+p.DisplayName+": ")
	case o.token == "-":
		token, err = out.readSecretFile("-")
	default:
		return "", usagef("There is no terminal to ask for a token on. %s\nThen: coffer connect %s --token-file FILE", tokenPages[p.Name], p.Name)
	}
	return strings.TrimSpace(token), err
}

// connectTime is how long somebody may take at the provider. The server gives them
// no more.
const connectTime = 10 * time.Minute

// connectInBrowser has the user authorize the server at a provider, and waits until
// the connection is there, or is newer than before.
func connectInBrowser(ctx context.Context, open func(string) bool, p *api.Provider, c *client.Client, out *console) error {
	if !slices.Contains(p.Methods, api.ConnectByOAuth) {
		return failf(exitError, "The operator of this server has registered no application at %s, so nobody can authorize it in the browser.\nConnect with a token: coffer connect %s", p.DisplayName, p.Name)
	}
	before, err := c.Connections(ctx)
	if err != nil {
		return err
	}
	ticket, err := c.ConnectTicket(ctx, p.Name)
	if err != nil {
		return err
	}
	page, err := c.ConnectURL(p.Name, ticket.Ticket)
	if err != nil {
		return err
	}
	text := "Open this page in a browser and authorize coffer at %s:\n"
	if open(page) {
		text = "Authorize coffer at %s in the browser that opens now. If none does, open this page:\n"
	}
	out.note(text+"\n  %s\n\nIt opens once, within %d seconds.", p.DisplayName, page, ticket.ExpiresIn)
	stop := out.working("Waiting for you to authorize")
	conn, err := awaitConnection(ctx, p, before, c)
	stop()
	if err != nil {
		return err
	}
	return out.done(conn, "Connected to %s, %s.\nNext, in a checkout: coffer sync %s", p.DisplayName, teamOf(*conn), p.Name)
}

// awaitConnection waits for a connection that was not there before, or was older.
func awaitConnection(ctx context.Context, p *api.Provider, before []api.Connection, c *client.Client) (*api.Connection, error) {
	old := make(map[string]time.Time)
	for _, conn := range before {
		old[conn.ID] = conn.CreatedAt.Time
	}
	until := time.Now().Add(connectTime)
	for pause := time.Second; ; pause = min(2*pause, 10*time.Second) {
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		all, err := c.Connections(ctx)
		if err != nil && !passes(err) {
			return nil, err
		}
		for _, conn := range all {
			was, known := old[conn.ID]
			if conn.Provider == p.Name && (!known || conn.CreatedAt.After(was)) {
				return &conn, nil
			}
		}
		if !time.Now().Before(until) {
			return nil, failf(exitError, "Nobody authorized the connection in time. Start it again: coffer connect %s --browser", p.Name)
		}
	}
}
