package cli

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"coffer/server"
)

func newServe(a *app) *cobra.Command {
	var dev bool
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the server",
		Long: `Run the server until it is interrupted. No setting is required; each can be a
flag, a variable (COFFER_ and the key in capitals, like COFFER_LOG_LEVEL) or a
key of the configuration file, in this order of rank.

It unseals with --key-file, --passphrase-file or COFFER_UNSEAL_PASSPHRASE, else
with the key file that init made. If that fails it starts sealed and waits for
coffer unseal, or for somebody to unseal it in a browser. Where nothing was set
up yet it prints the address of the page to do so.

Data of an earlier version is upgraded, after a snapshot of it was put beside it;
coffer rollback-upgrade goes back to that.

--dev runs a server with throw-away data, unsealed, with a user, a repository
and an API key to try things with.`,
		Example: `  coffer serve --dev
  coffer serve --data /var/lib/coffer --listen 0.0.0.0:2633`,
		Args: args(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cmp.Or(oneOf(cmd, "dev", "data"), oneOf(cmd, "key-file", "passphrase-file")); err != nil {
				return err
			}
			s, err := loadSettings(cmd.Flags(), a.env)
			if err != nil {
				return err
			}
			for _, warning := range misspelled(a.env) {
				a.out.note("%s", warning)
			}
			if dev {
				return runDev(cmd.Context(), s, a.out)
			}
			return runServe(cmd.Context(), s, a.out)
		},
	}
	cmd.Flags().BoolVar(&dev, "dev", false, "throw-away data, unsealed, with a demo user, repository and key")
	settingFlags(cmd.Flags())
	return cmd
}

// served is what --json shows once the server listens.
type served struct {
	URL        string `json:"url"`
	Data       string `json:"data"`
	State      string `json:"state"`
	ClaimToken string `json:"claimToken,omitempty"`
	SetupURL   string `json:"setupUrl,omitempty"` // holds the claim token
}

func runServe(ctx context.Context, s *settings, out *console) (err error) {
	for _, missing := range server.Harden() {
		out.note("The system does not let coffer protect its memory fully: %s", missing)
	}
	cfg := s.config()
	cfg.Upgrade = true
	srv, err := server.New(cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, srv.Close()) }()
	return serveUntilDone(ctx, srv, func() error {
		return announce(ctx, srv, s, out)
	})
}

// serveUntilDone runs the server, calls ready once it listens, and ends with it.
func serveUntilDone(ctx context.Context, srv *server.Server, ready func() error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- srv.Run(ctx) }()
	select {
	case err := <-ended:
		return ignoreCanceled(err)
	case <-srv.Ready():
	}
	if err := ready(); err != nil {
		cancel()
		<-ended
		return err
	}
	return ignoreCanceled(<-ended)
}

func ignoreCanceled(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

func announce(ctx context.Context, srv *server.Server, s *settings, out *console) error {
	st, err := operatorClient(srv.Operator()).Status(ctx)
	if err != nil {
		return err
	}
	v := served{URL: first(s.PublicURL, server.LocalURL(srv.Addr())), Data: s.Data, State: "ok", ClaimToken: srv.ClaimToken()}
	switch {
	case !st.Initialized:
		v.State, v.SetupURL = "uninitialized", setupURL(v.URL, v.ClaimToken)
	case st.Sealed:
		v.State = "sealed"
	}
	if out.json {
		return out.printJSON(out.out, v)
	}
	if s.Format == "json" && st.Initialized {
		return nil // the log says the same, and stays JSON
	}
	out.note("coffer %s serves %s at %s", programVersion(), v.Data, v.URL)
	switch {
	case !st.Initialized:
		out.note("It is not set up yet. Open this address in a browser; it holds a token that is\nshown this once:\n\n  %s\n\nOr set it up here: coffer init --data %s", v.SetupURL, v.Data)
	case st.Sealed:
		out.note("It is sealed. %s\nRun: coffer unseal --data %s", st.LastError, v.Data)
	}
	return nil
}

// setupURL is the page where a fresh server is set up. The token is behind the #
// because browsers keep that part to themselves: no proxy on the way logs it.
func setupURL(at, claim string) string {
	return strings.TrimRight(at, "/") + "/setup#claim=" + claim
}
