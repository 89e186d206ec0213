package cli

import (
	"cmp"
	"context"
	"errors"

	"github.com/spf13/cobra"

	"coffer/server/api"
	"coffer/server/client"
)

type pushOptions struct {
	place
	file              string
	prune             bool
	dryRun            bool
	create            bool
	force, keepTheirs bool // settle conflicts
	values            bool
	memory            *memory
}

func newPush(a *app) *cobra.Command {
	var o pushOptions
	cmd := &cobra.Command{
		Use:   "push",
		Short: "Send a .env file to an environment",
		Long: `Send a .env file to an environment. Keys that the file does not name stay as
they are. With --prune they go to the trash: coffer shows them and asks first.

What somebody else changed is not overwritten. coffer remembers, by fingerprints
and not by values, what the file and the vault held when they last agreed. A key
that only the vault changed since then stays as the vault has it. A key that
changed on both sides is a conflict: coffer shows it and asks. Without a terminal
it pushes nothing and exits with 6, unless --force or --keep-theirs says what
counts. A file that was never pushed or pulled here counts as newer than the
vault.

If the repository has no vault yet, coffer offers to create it.`,
		Example: `  coffer push
  coffer push -f prod.env -e production --prune
  coffer push --dry-run`,
		Args: args(0, 0),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := oneOf(cmd, "force", "keep-theirs"); err != nil {
				return err
			}
			return a.inVault(func(ctx context.Context, c *client.Client, at place, _ []string) error {
				o.place, o.memory = at, a.memory(c.URL)
				return runPush(ctx, o, c, a.out)
			})(cmd, args)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&o.file, "file", "f", ".env", "the file; - is standard input")
	f.BoolVar(&o.prune, "prune", false, "move keys that the file does not name to the trash")
	f.BoolVar(&o.dryRun, "dry-run", false, "show what would change, by key, and change nothing")
	f.BoolVar(&o.create, "create", false, "create the vault if there is none, without asking")
	f.BoolVar(&o.force, "force", false, "take the file's values, whatever changed in the vault")
	f.BoolVar(&o.keepTheirs, "keep-theirs", false, "in a conflict, keep the vault's values")
	f.BoolVar(&o.values, "values", false, "show the values of conflicts")
	return cmd
}

func runPush(ctx context.Context, o pushOptions, c *client.Client, out *console) error {
	entries, err := readEntries(o.file, out)
	if err != nil {
		return err
	}
	p := &pushing{pushOptions: o, entries: entries, client: c, out: out}
	err = p.run(ctx)
	if !errors.Is(err, &api.Error{Code: api.NotFound}) || o.dryRun {
		return err
	}
	if made, e := o.makeVault(ctx, c, out); e != nil || !made {
		return cmp.Or(e, err)
	}
	return p.run(ctx)
}

// makeVault offers to create a vault that is not there, and reports whether it
// did.
func (o pushOptions) makeVault(ctx context.Context, c *client.Client, out *console) (bool, error) {
	_, err := c.Vault(ctx, o.repo)
	if err == nil || !errors.Is(err, &api.Error{Code: api.NotFound}) {
		return false, nil // the environment was what is missing
	}
	if !o.create && !out.yes && !out.canAsk() {
		return false, failf(exitNotFound, "There is no vault for %s, or you have no role on it.\nCreate it: coffer vault create --repo %s", o.repo, o.repo)
	}
	if !o.create {
		if err := out.confirm(ctx, "There is no vault for %s, or you have no role on it. Create it?", o.repo); err != nil {
			return false, err
		}
	}
	v, err := c.CreateVault(ctx, o.repo)
	if err != nil {
		return false, err
	}
	out.note("Created the vault of %s.", v.RepoFullName)
	return true, nil
}
