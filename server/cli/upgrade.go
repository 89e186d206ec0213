package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"coffer/server"
	"coffer/server/api"
)

func newRollbackUpgrade(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rollback-upgrade",
		Short: "Go back to the data from before the last upgrade; the server must be stopped",
		Long: `Go back to the data from before the last upgrade; the server must be stopped. The
snapshot that the upgrade took comes back into its place, and the present data is
set aside under another name.

Everything that was changed since the upgrade is lost to the server then. coffer says
how much that is and asks. Afterwards start the version of coffer that ran before the
upgrade: this one would upgrade the data again.`,
		Example: `  coffer rollback-upgrade --data /var/lib/coffer`,
		Args:    args(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := loadSettings(cmd.Flags(), a.env)
			if err != nil {
				return err
			}
			return runRollbackUpgrade(cmd.Context(), s, a.out)
		},
	}
	settingFlags(cmd.Flags(), "data")
	return cmd
}

// wentBack is what --json shows.
type wentBack struct {
	Data        string     `json:"data"`
	Schema      int        `json:"schema"`              // that the data has now
	Version     string     `json:"version,omitempty"`   // of coffer to start now, if it is known
	Aside       string     `json:"aside"`               // where the data from after the upgrade is
	LostRecords *uint64    `json:"lostRecords"`         // of activity; null if that is not known
	LostSince   *time.Time `json:"lostSince,omitempty"` // time of the first of them
	TakenAt     time.Time  `json:"snapshotTakenAt"`
}

func runRollbackUpgrade(ctx context.Context, s *settings, out *console) (err error) {
	if err := mustHaveData(s.Data); err != nil {
		return err
	}
	if _, err := server.DialOperator(s.Data); err == nil {
		return failf(exitConflict, "A server is running on %s. Stop it first.", s.Data)
	}
	r, err := server.PlanRollback(ctx, s.config())
	switch {
	case errors.Is(err, server.ErrNoSnapshot):
		return failf(exitNotFound, "There is no snapshot from before an upgrade in %s: there is nothing to go back to.", s.Data)
	case errors.Is(err, server.ErrRolledBack):
		return failf(exitConflict, "Nothing was changed: %s.", err)
	case err != nil:
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	noteRollback(r, out)
	if err := out.confirm(ctx, "Go back to the data of %s?", when(api.At(r.Taken))); err != nil {
		return err
	}
	if err := r.Do(); err != nil {
		return err
	}
	done := wentBack{Data: r.Data, Schema: r.To, Version: r.Version, Aside: r.Aside, TakenAt: r.Taken.UTC().Truncate(time.Second)}
	if r.Counted {
		done.LostRecords = &r.Lost
	}
	if r.Lost > 0 {
		done.LostSince = new(r.Since.UTC())
	}
	return out.done(done, "%s is what it was before the upgrade. What it was until now is in %s; it opens\nwith the same keys, so remove it when nobody will want it.\nStart %s now: this one would upgrade the data again.", r.Data, r.Aside, versionBefore(r))
}

// noteRollback says what going back means.
func noteRollback(r *server.Rollback, out *console) {
	out.note("%s (schema %s) is replaced by its snapshot from before the upgrade,\ntaken at %s (schema %d).", r.Data, schemaText(r.From), when(api.At(r.Taken)), r.To)
	switch {
	case !r.Counted:
		out.note("All that was changed since then is lost. This version cannot tell how much that is.")
	case r.Lost == 0:
		out.note("The audit log has no record since then.")
	default:
		out.note("All that was changed since then is lost: the audit log has %s since %s,\nsee coffer audit export with the server running, before you go back.", counted(int(r.Lost), "record"), when(api.At(r.Since)))
	}
	out.note("The present data is kept as %s.", r.Aside)
}

func schemaText(schema int) string {
	if schema == 0 {
		return "unknown, it is damaged"
	}
	return fmt.Sprint(schema)
}

// versionBefore is which coffer serves the data now.
func versionBefore(r *server.Rollback) string {
	if r.Version != "" {
		return "coffer " + r.Version
	}
	return "the version of coffer that ran before the upgrade"
}

// olderStatus is what --json shows of data that waits for an upgrade.
type olderStatus struct {
	Server        string `json:"server"`
	Running       bool   `json:"running"`
	UpgradeNeeded bool   `json:"upgradeNeeded"`
}

// runOlderStatus is the status of data of an earlier version, which looking at it
// does not upgrade.
func runOlderStatus(dir string, older error, out *console) error {
	err := out.table(olderStatus{dir, false, true}, [][]string{
		{"where", dir}, {"server", "not running"},
		{"state", "would be upgraded at the start, after a snapshot: " + older.Error()},
	})
	if err != nil {
		return err
	}
	return quietExit(exitNetwork)
}
