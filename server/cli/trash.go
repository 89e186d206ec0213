package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"coffer/server/api"
	"coffer/server/client"
)

func newTrash(a *app) *cobra.Command {
	return group("trash", "List, restore and destroy deleted secrets",
		newTrashLs(a), newTrashRestore(a), newTrashRm(a), newTrashEmpty(a))
}

func newTrashLs(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "ls",
		Short: "List the secrets in the trash, of all environments",
		Args:  args(0, 0),
		RunE: a.inVault(func(ctx context.Context, c *client.Client, at place, _ []string) error {
			return runTrashLs(ctx, at, c, a.out)
		}),
	}
}

func runTrashLs(ctx context.Context, at place, c *client.Client, out *console) error {
	trash, err := listTrash(ctx, c, at.repo)
	if err != nil {
		return err
	}
	if len(trash) == 0 {
		out.note("The trash of %s is empty.", at.repo)
	}
	var rows [][]string
	for _, s := range trash {
		rows = append(rows, []string{s.Key, s.Environment, "deleted " + when(s.DeletedAt), fmt.Sprintf("%d days left", s.DaysRemaining), s.ID})
	}
	return out.table(orEmpty(trash), rows)
}

func newTrashRestore(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "restore KEY|ID",
		Short: "Take a secret out of the trash",
		Long: `Take a secret out of the trash: by its id, or by its key, which means the copy
deleted last in the environment.`,
		Args: args(1, 1),
		RunE: a.inVault(func(ctx context.Context, c *client.Client, at place, args []string) error {
			return runTrashRestore(ctx, secretOptions{at, args[0]}, c, a.out)
		}),
	}
}

func runTrashRestore(ctx context.Context, o secretOptions, c *client.Client, out *console) error {
	s, err := findTrashed(ctx, c, o)
	if err != nil {
		return err
	}
	r, err := c.RestoreSecret(ctx, o.repo, s.ID)
	if err != nil {
		return err
	}
	return out.done(r, "Restored %s in %s.", r.Key, r.Environment)
}

func newTrashRm(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "rm KEY|ID",
		Short: "Destroy one secret in the trash, for good",
		Args:  args(1, 1),
		RunE: a.inVault(func(ctx context.Context, c *client.Client, at place, args []string) error {
			return runTrashRm(ctx, secretOptions{at, args[0]}, c, a.out)
		}),
	}
}

func runTrashRm(ctx context.Context, o secretOptions, c *client.Client, out *console) error {
	s, err := findTrashed(ctx, c, o)
	if err != nil {
		return err
	}
	if err := out.confirm(ctx, "Destroy %s of %s with all its versions? This cannot be undone.", s.Key, s.Environment); err != nil {
		return err
	}
	if err := c.DestroySecret(ctx, o.repo, s.ID); err != nil {
		return err
	}
	return out.done(map[string]string{"destroyed": s.Key, "environment": s.Environment}, "Destroyed %s of %s.", s.Key, s.Environment)
}

func newTrashEmpty(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "empty",
		Short: "Destroy all secrets in the trash, for good",
		Args:  args(0, 0),
		RunE: a.inVault(func(ctx context.Context, c *client.Client, at place, _ []string) error {
			return runTrashEmpty(ctx, at, c, a.out)
		}),
	}
}

func runTrashEmpty(ctx context.Context, at place, c *client.Client, out *console) error {
	if err := out.confirm(ctx, "Destroy everything in the trash of %s? This cannot be undone.", at.repo); err != nil {
		return err
	}
	e, err := c.EmptyTrash(ctx, at.repo)
	if err != nil {
		return err
	}
	return out.done(e, "Destroyed in the trash of %s: %d.", at.repo, e.Deleted)
}

// findTrashed finds a secret in the trash by its id or, newest first, its key.
func findTrashed(ctx context.Context, c *client.Client, o secretOptions) (*api.TrashedSecret, error) {
	trash, err := listTrash(ctx, c, o.repo)
	if err != nil {
		return nil, err
	}
	for _, s := range trash {
		if s.ID == o.key || s.Key == o.key && s.Environment == o.environment {
			return &s, nil
		}
	}
	return nil, failf(exitNotFound, "There is no %q of %s in the trash of %s. To see what there is: coffer trash ls", o.key, o.environment, o.repo)
}

func listTrash(ctx context.Context, c *client.Client, repo string) ([]api.TrashedSecret, error) {
	return client.Drain(func(p api.Page) (*api.List[api.TrashedSecret], error) { return c.Trash(ctx, repo, p) })
}
