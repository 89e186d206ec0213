package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"coffer/server/client"
)

// healthTime is how long a server may take to say that it is well.
const healthTime = 5 * time.Second

func newHealth(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "health",
		Short: "Say whether the server answers, for health checks",
		Long: `Say whether the server on the data directory answers. It is made for the health
checks of containers: it needs no network, no certificate and no credential.

A sealed server is well: it waits for somebody to unseal it, and whoever restarted
it would only make them begin again. Use coffer status to be told of that.

Exit codes: 0 it answers, 5 it does not.`,
		Args: args(0, 0),
		RunE: a.atSocket(runHealth),
	}
	settingFlags(cmd.Flags(), "data")
	return cmd
}

// healthReport is what --json shows.
type healthReport struct {
	State string `json:"state"`
}

func runHealth(ctx context.Context, c *client.Client, out *console) error {
	ctx, cancel := context.WithTimeout(ctx, healthTime)
	defer cancel()
	st, err := c.Status(ctx)
	if err != nil {
		return err
	}
	h := healthReport{"unsealed"}
	switch {
	case !st.Initialized:
		h.State = "not set up yet"
	case st.Sealed:
		h.State = "sealed"
	}
	return out.done(h, "It answers, and is %s.", h.State)
}
