package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"coffer/server/api"
	"coffer/server/offline"
)

func newOffline(a *app) *cobra.Command {
	return group("offline", "List and remove the offline copies on this machine", newOfflineLs(a), newOfflineRm(a))
}

func newOfflineLs(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "ls",
		Short: "List the offline copies of this machine, without their secrets",
		Args:  args(0, 0),
		RunE: func(*cobra.Command, []string) error {
			return runOfflineLs(a.copies(), a.out)
		},
	}
}

// listedCopy is what --json shows.
type listedCopy struct {
	offline.Place
	Revision uint64   `json:"revision"`
	TakenAt  api.Time `json:"takenAt"`
}

func runOfflineLs(copies *copies, out *console) error {
	all, err := copies.list()
	if err != nil {
		return err
	}
	if len(all) == 0 {
		out.note("There is no offline copy on this machine. To keep one: coffer pull --keep-offline")
	}
	shown := []listedCopy{}
	var rows [][]string
	now := time.Now()
	for _, c := range all {
		shown = append(shown, listedCopy{c.Place, c.Revision, api.At(c.Taken)})
		rows = append(rows, []string{c.Repository, c.Environment, fmt.Sprintf("revision %d", c.Revision),
			since(c.Taken, now) + " old", c.User, c.Server})
	}
	return out.table(shown, rows)
}

func newOfflineRm(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "rm",
		Short: "Remove all offline copies from this machine",
		Args:  args(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.out.confirm(cmd.Context(), "Remove all offline copies from this machine?"); err != nil {
				return err
			}
			return runOfflineRm(a.copies(), a.out)
		},
	}
}

func runOfflineRm(copies *copies, out *console) error {
	n, err := copies.remove(func(offline.Place) bool { return true })
	if err != nil {
		return fmt.Errorf("remove the offline copies: %w", err)
	}
	return out.done(map[string]int{"removed": n}, "Offline copies removed: %d.", n)
}
