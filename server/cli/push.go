package cli

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"coffer/server/api"
	"coffer/server/client"
	"coffer/server/dotenv"
)

type pushOptions struct {
	place
	file   string
	prune  bool
	dryRun bool
	create bool
}

func newPush(a *app) *cobra.Command {
	var o pushOptions
	cmd := &cobra.Command{
		Use:   "push",
		Short: "Send a .env file to an environment",
		Long: `Send a .env file to an environment. Keys that the file does not name stay as
they are. With --prune they go to the trash: coffer shows them and asks first.

If the repository has no vault yet, coffer offers to create it.`,
		Example: `  coffer push
  coffer push -f prod.env -e production --prune
  coffer push --dry-run`,
		Args: args(0, 0),
		RunE: a.inVault(func(ctx context.Context, c *client.Client, at place, _ []string) error {
			o.place = at
			return runPush(ctx, o, c, a.out)
		}),
	}
	f := cmd.Flags()
	f.StringVarP(&o.file, "file", "f", ".env", "the file; - is standard input")
	f.BoolVar(&o.prune, "prune", false, "move keys that the file does not name to the trash")
	f.BoolVar(&o.dryRun, "dry-run", false, "show what would change, by key, and change nothing")
	f.BoolVar(&o.create, "create", false, "create the vault if there is none, without asking")
	return cmd
}

func runPush(ctx context.Context, o pushOptions, c *client.Client, out *console) error {
	entries, err := readEntries(o.file, out)
	if err != nil {
		return err
	}
	err = o.push(ctx, entries, c, out)
	if !errors.Is(err, &api.Error{Code: api.NotFound}) || o.dryRun {
		return err
	}
	if made, e := o.makeVault(ctx, c, out); e != nil || !made {
		return cmp.Or(e, err)
	}
	return o.push(ctx, entries, c, out)
}

func (o pushOptions) push(ctx context.Context, entries []dotenv.Entry, c *client.Client, out *console) error {
	values := dotenv.Values(entries)
	ambiguous := slices.ContainsFunc(entries, func(e dotenv.Entry) bool { return e.Ambiguous })
	if o.prune || o.dryRun || ambiguous {
		stop := out.working("Comparing")
		stored, _, err := pullValues(ctx, c, o.place)
		stop()
		switch {
		case err == nil:
			values = exactValues(entries, stored)
		case !errors.Is(err, &api.Error{Code: api.Forbidden}) || o.dryRun:
			return err
		}
		if err := o.review(ctx, compare(stored, values), stored != nil, out); err != nil || o.dryRun {
			return err
		}
	}
	mode := api.ModeMerge
	if o.prune {
		mode = api.ModeReplace
	}
	secrets := make(map[string]api.Secret, len(values))
	for key, value := range values {
		secrets[key] = api.NewSecret(value)
	}
	defer out.working("Pushing")()
	pushed, err := c.Push(ctx, api.PushSecrets{RepoFullName: o.repo, Environment: o.environment, Secrets: secrets, Mode: &mode})
	if err != nil {
		return err
	}
	return out.done(pushed, "%s", pushed.Message)
}

// review shows what a push would do, and asks where keys would go to the trash.
func (o pushOptions) review(ctx context.Context, ch changes, seen bool, out *console) error {
	if !o.prune {
		ch.Deleted = []string{}
	}
	if o.dryRun {
		if ch.none() {
			out.note("Nothing would change in %s of %s.", o.environment, o.repo)
		}
		return out.table(ch, ch.rows("new", "changed", "to the trash"))
	}
	switch {
	case !o.prune:
		return nil
	case !seen:
		return out.confirm(ctx, "You may not read %s of %s, so what would go to the trash cannot be shown. Push all the same?", o.environment, o.repo)
	case len(ch.Deleted) == 0:
		return nil
	}
	for _, row := range ch.rows("new", "changed", "to the trash") {
		out.note("%s  %s", row[0], row[1])
	}
	return out.confirm(ctx, "Move to the trash in %s of %s: %d. Go ahead?", o.environment, o.repo, len(ch.Deleted))
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
