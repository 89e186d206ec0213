package cli

import (
	"context"

	"github.com/spf13/cobra"

	"coffer/server/api"
	"coffer/server/client"
)

func newSyncStatus(a *app) *cobra.Command {
	var o aim
	cmd := &cobra.Command{
		Use:   "status PROVIDER",
		Short: "Compare an environment with what a provider holds, by key",
		Long: `Compare an environment with what a provider holds, by key and without values. It
changes nothing. To see how saved syncs stand: coffer sync links`,
		Example: `  coffer sync status vercel -e production`,
		Args:    args(1, 1),
	}
	cmd.RunE = a.inVault(func(ctx context.Context, c *client.Client, at place, args []string) error {
		o.take(cmd, at, args[0])
		return runSyncStatus(ctx, o, c, a.out)
	})
	o.flags(cmd.Flags())
	return cmd
}

// syncReport is what --json shows.
type syncReport struct {
	Project     string `json:"projectId"`
	Service     string `json:"serviceId,omitempty"`
	Connection  string `json:"connectionId"`
	IsFirstSync bool   `json:"isFirstSync"`
	*api.SyncDiff
}

func runSyncStatus(ctx context.Context, o aim, c *client.Client, out *console) error {
	b, err := o.find(ctx, c, out)
	if err != nil {
		return err
	}
	stop := out.working("Comparing")
	status, err := c.SyncStatus(ctx, b.query())
	var diff *api.SyncDiff
	if err == nil {
		diff, err = c.SyncDiff(ctx, b.query())
	}
	stop()
	if err != nil {
		return err
	}
	out.note("%s of %s has %s, %s at %s has %s.", b.environment, b.repo, counted(diff.KeywayCount, "key"), b.target(), b.display, counted(diff.ProviderCount, "key"))
	if status.IsFirstSync {
		out.note("They were never synced.")
	}
	if len(diff.Same) > 0 {
		out.note("The same on both sides: %s.", counted(len(diff.Same), "key"))
	}
	return out.table(syncReport{b.project.ID, b.project.ServiceID, b.project.ConnectionID, status.IsFirstSync, diff}, diffRows(diff, b.display))
}

func diffRows(d *api.SyncDiff, display string) [][]string {
	var rows [][]string
	for _, kind := range []struct {
		mark, text string
		keys       []string
	}{
		{"+ ", "only in the vault", d.OnlyInKeyway},
		{"- ", "only at " + display, d.OnlyInProvider},
		{"~ ", "the values differ", d.Different},
		{"? ", display + " does not show its value", d.Unreadable},
	} {
		for _, key := range kind.keys {
			rows = append(rows, []string{kind.mark + key, kind.text})
		}
	}
	return rows
}
