package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"coffer/server/api"
	"coffer/server/client"
)

func newErase(a *app) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "erase OWNER/REPO",
		Short: "Erase a vault for good, and get a signed receipt",
		Long: `Erase a vault for good: destroy its data keys, delete everything in it, then
compact the data, so that nothing of it is left in the data file. It asks the
running server, which goes on serving meanwhile, else it opens the data itself.

You are asked to type the vault's name. What is begun is finished, by the next
start of the server if need be. A receipt signed by this instance proves it:
coffer verify FILE.

What it does not reach: older backups, snapshots that upgrades took (coffer.db.schema-*
beside the data file), snapshots of the file system, blocks that the disk does not
use any more, offline copies of clients, and what hosting providers hold. The activity log keeps what was done, with names of secrets.`,
		Example: `  coffer erase acme/old -o receipt.json
  coffer verify receipt.json`,
		Args: args(1, 1),
		RunE: a.asOperator(func(ctx context.Context, c *client.Client, args []string) error {
			return runErase(ctx, args[0], file, c, a.out)
		}),
	}
	cmd.Flags().StringVarP(&file, "output", "o", "", "file to write the receipt to; - is standard output")
	return operatorFlags(cmd)
}

func runErase(ctx context.Context, repo, file string, c *client.Client, out *console) error {
	if err := out.confirmName(ctx, repo); err != nil {
		return err
	}
	e, err := withProgress(ctx, c, out, func() (*api.Erasure, error) {
		e, err := c.Erase(ctx, repo)
		if err != nil || e.Receipt != nil {
			return e, err
		}
		last, err := c.FollowCompaction(ctx, func(api.Compaction) {})
		if err == nil {
			e, err = c.Erasure(ctx, e.ID)
		}
		if err == nil && e.Receipt == nil {
			out.note("The vault %s is deleted and its keys are destroyed. Its receipt comes when the data are compacted.", repo)
			err = errNotCompacted(last)
		}
		return e, err
	})
	if err != nil {
		return err
	}
	if err := warnOfCopies(ctx, c, out); err != nil {
		return err
	}
	if file != "" {
		return saveReceipt(e, file, out)
	}
	return out.done(e, "The vault %s is erased: nothing of it is left in the data file.\nIts receipt: coffer receipt get %s", e.RepoFullName, e.ID)
}

// warnOfCopies says which files beside the data hold what was erased all the same.
func warnOfCopies(ctx context.Context, c *client.Client, out *console) error {
	s, err := c.Storage(ctx)
	if err == nil && len(s.OldCopies) > 0 {
		out.note("But older copies of the data lie beside the data file, and may hold it. Remove them: %s", strings.Join(s.OldCopies, " "))
	}
	return err
}

// confirmName asks for the name of what is about to go. Without a terminal the
// answer must have been given as --yes.
func (c *console) confirmName(ctx context.Context, name string) error {
	if c.yes {
		return nil
	}
	c.note("This erases the vault %s for good. Nobody can bring it back, and neither can you.", name)
	if !c.canAsk() {
		return usagef("There is no terminal to ask on. To go ahead, add --yes.")
	}
	typed, err := c.choose(ctx, "Type its name to do it:")
	if err != nil {
		return err
	}
	if typed != strings.ToLower(name) {
		return failf(exitError, "Nothing was changed.")
	}
	return nil
}
