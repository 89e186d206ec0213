package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"coffer/server/api"
	"coffer/server/client"
)

func newCompact(a *app) *cobra.Command {
	return operatorFlags(&cobra.Command{
		Use:   "compact",
		Short: "Write the data file anew, without what deletions left in it",
		Long: `Write the data file anew, without what deletions left in it, and put the new
file in the place of the old one. It asks the running server, which goes on
serving meanwhile, else it opens the data itself.

What was deleted or replaced before is not in the new file. It takes as much room
beside the data as the data in use; without that it says so and changes nothing.`,
		Args: args(0, 0),
		RunE: a.asOperator(func(ctx context.Context, c *client.Client, _ []string) error {
			return runCompact(ctx, c, a.out)
		}),
	})
}

func runCompact(ctx context.Context, c *client.Client, out *console) error {
	done, err := withProgress(ctx, c, out, func() (*api.Compaction, error) {
		done, err := c.Compact(ctx)
		if err == nil && done.EndedAt == nil {
			done, err = c.FollowCompaction(ctx, func(api.Compaction) {})
		}
		return done, err
	})
	if err != nil {
		return err
	}
	if done == nil || done.Error != nil {
		return errNotCompacted(done)
	}
	return out.done(done, "The data file was %s and is %s now.", sizeText(done.BeforeBytes), sizeText(done.AfterBytes))
}

// withProgress does something that has the data compacted, and shows on a terminal
// how far that is.
func withProgress[T any](ctx context.Context, c *client.Client, out *console, do func() (T, error)) (T, error) {
	if !out.canShow() {
		return do()
	}
	const megabyte = 1 << 20
	show, stop := out.counting("Compacting, MiB")
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(time.Second):
			}
			if s, err := c.Storage(ctx); err == nil && s.Running != nil && s.Running.AllBytes > 0 {
				show(int(s.Running.CopiedBytes/megabyte), int(s.Running.AllBytes/megabyte))
			}
		}
	}()
	result, err := do()
	cancel()
	<-ended
	stop()
	return result, err
}

func errNotCompacted(c *api.Compaction) error {
	if c == nil || c.Error == nil {
		return failf(exitError, "The data were not compacted: the server stopped. Try again: coffer compact")
	}
	return failf(exitError, "The data were not compacted: %s\nTry again: coffer compact", *c.Error)
}
