package cli

import (
	"cmp"
	"context"
	"errors"
	"net"

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
coffer unseal.

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
}

func runServe(ctx context.Context, s *settings, out *console) (err error) {
	for _, missing := range server.Harden() {
		out.note("The system does not let coffer protect its memory fully: %s", missing)
	}
	srv, err := server.New(s.config())
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
	v := served{first(s.PublicURL, urlOf(srv.Addr())), s.Data, "ok", srv.ClaimToken()}
	switch {
	case !st.Initialized:
		v.State = "uninitialized"
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
		out.note("It is not set up yet. Run: coffer init --data %s\nThe claim token for it, shown this once: %s", v.Data, v.ClaimToken)
	case st.Sealed:
		out.note("It is sealed. %s\nRun: coffer unseal --data %s", st.LastError, v.Data)
	}
	return nil
}

// urlOf is how this machine reaches a listening address.
func urlOf(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "http://" + addr
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port)
}
