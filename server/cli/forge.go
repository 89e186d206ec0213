package cli

import (
	"context"
	"errors"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"coffer/server"
	"coffer/server/api"
)

func newForge(a *app) *cobra.Command {
	return group("forge", "Check the binding to the code host", newForgeCheck(a))
}

func newForgeCheck(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Try the configuration of the code host",
		Long: `Try the configuration of the code host: its address, and every credential that
is configured. The server that runs on the data directory is asked; when none
runs, the configuration given here is tried.

Exit codes: 0 it works, perhaps with warnings; 1 something failed.`,
		Example: `  coffer forge check --data /var/lib/coffer
  coffer forge check --config coffer.yaml`,
		Args: args(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := loadSettings(cmd.Flags(), a.env)
			if err != nil {
				return err
			}
			return runForgeCheck(cmd.Context(), s, a.out)
		},
	}
	settingFlags(cmd.Flags(), "data")
	return cmd
}

func runForgeCheck(ctx context.Context, s *settings, out *console) error {
	found, err := checkForge(ctx, s, out)
	if err != nil {
		return err
	}
	if len(found.Findings) == 0 {
		return out.done(found, "The code host is the built-in one (forge.kind: %s): there is nothing to check.", found.Kind)
	}
	var rows [][]string
	failed := false
	for _, f := range found.Findings {
		level := f.Level
		if f.Level == api.FindingFailed {
			level, failed = strings.ToUpper(level), true
		}
		rows = append(rows, []string{level, f.What, f.Detail})
	}
	if !out.json {
		out.note("%s at %s:", found.Kind, found.URL)
	}
	if err := out.table(found, rows); err != nil {
		return err
	}
	if failed {
		return quietExit(exitError)
	}
	return nil
}

// checkForge asks the running server, else tries the configuration here.
func checkForge(ctx context.Context, s *settings, out *console) (*api.ForgeCheck, error) {
	defer out.working("Asking the code host")()
	transport, err := server.DialOperator(s.Data)
	switch {
	case err == nil:
		return operatorClient(transport).CheckForge(ctx)
	case errors.Is(err, fs.ErrPermission):
		return nil, errNotOwner(s.Data)
	case errors.Is(err, server.ErrNotRunning):
		return server.CheckForge(ctx, s.config())
	}
	return nil, err
}
