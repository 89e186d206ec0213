package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"coffer/server/api"
	"coffer/server/client"
)

func newHistory(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "history [KEY]",
		Short: "List the versions of a secret, or the changes of an environment",
		Long: `List the versions of a secret, newest first. Without a KEY, list the latest
changes of the environment from the activity of the vault, for which you need the
role admin. Pushes say which revision they made; for the others there is the time.`,
		Example: `  coffer history DATABASE_URL
  coffer history -e production`,
		Args: args(0, 1),
		RunE: a.inVault(func(ctx context.Context, c *client.Client, at place, args []string) error {
			if len(args) == 0 {
				return runChanges(ctx, at, c, a.out)
			}
			return runHistory(ctx, secretOptions{at, args[0]}, c, a.out)
		}),
	}
}

func runHistory(ctx context.Context, o secretOptions, c *client.Client, out *console) error {
	s, err := findSecret(ctx, c, o)
	if err != nil {
		return err
	}
	versions, err := c.Versions(ctx, o.repo, s.ID)
	if err != nil {
		return err
	}
	var rows [][]string
	for i, v := range versions {
		by, mark := "-", ""
		if v.CreatedByUser != nil {
			by = v.CreatedByUser.Username
		}
		if i == 0 {
			mark = "current"
		}
		rows = append(rows, []string{fmt.Sprint(v.VersionNumber), when(v.CreatedAt), by, mark})
	}
	return out.table(orEmpty(versions), rows)
}

func runRollback(ctx context.Context, o rollbackOptions, c *client.Client, out *console) error {
	s, err := findSecret(ctx, c, o.secretOptions)
	if err != nil {
		return err
	}
	versions, err := c.Versions(ctx, o.repo, s.ID)
	if err != nil {
		return err
	}
	v, err := chooseVersion(versions, o)
	if err != nil {
		return err
	}
	r, err := c.RestoreVersion(ctx, o.repo, s.ID, v.ID)
	if err != nil {
		return err
	}
	return out.done(r, "%s in %s has the value of version %d again, as version %d.", r.Key, o.environment, r.VersionNumber, r.NewVersionNumber)
}

func chooseVersion(versions []api.Version, o rollbackOptions) (*api.Version, error) {
	if o.to == 0 {
		if len(versions) < 2 {
			return nil, failf(exitConflict, "%s in %s has no earlier version.", o.key, o.environment)
		}
		return &versions[1], nil
	}
	for _, v := range versions {
		if v.VersionNumber == o.to {
			return &v, nil
		}
	}
	return nil, failf(exitNotFound, "%s in %s has no version %d. To see what there is: coffer history %s -e %s", o.key, o.environment, o.to, o.key, o.environment)
}
