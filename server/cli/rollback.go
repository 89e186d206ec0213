package cli

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"coffer/server/api"
	"coffer/server/client"
)

type rollbackOptions struct {
	secretOptions        // without a key: the whole environment
	to            uint32 // a version, or a revision of the environment
	moment
	incomplete bool
}

func newRollback(a *app) *cobra.Command {
	var o rollbackOptions
	cmd := &cobra.Command{
		Use:   "rollback [KEY]",
		Short: "Make an earlier value of a secret, or of all, the current one",
		Long: `Make an earlier value of a secret the current one: the one before, or that of
version --to. It becomes a new version; nothing is lost.

Without a KEY, the whole environment becomes what it was at the revision --to, or
at the time --at. coffer shows what changes and asks. Keys that are newer go to the
trash; a key that was renamed since keeps its present name.

TIME is an instant like 2026-11-20T09:15:00Z, a date and time of this machine
like '2026-11-20 09:15', or how long ago: 90m, 12h or 2d.`,
		Example: `  coffer rollback DATABASE_URL
  coffer rollback -e production --to 41
  coffer rollback -e production --at 2h`,
		Args: args(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(cmd, args); err != nil {
				return err
			}
			return a.inVault(func(ctx context.Context, c *client.Client, at place, args []string) error {
				if o.place = at; len(args) == 0 {
					return runRollbackAll(ctx, o, c, a.out)
				}
				o.key = args[0]
				return runRollback(ctx, o, c, a.out)
			})(cmd, args)
		},
	}
	f := cmd.Flags()
	f.Uint32Var(&o.to, "to", 0, "the number of the version, or without a KEY of the revision, as history shows it")
	f.StringVar(&o.at, "at", "", "without a KEY: as it was at this `TIME`")
	f.BoolVar(&o.incomplete, "incomplete", false, "roll back even if not all of then is left")
	return cmd
}

func (o rollbackOptions) check(cmd *cobra.Command, args []string) error {
	f := cmd.Flags()
	switch {
	case len(args) == 1 && (f.Changed("at") || f.Changed("incomplete")):
		return usagef("--at and --incomplete are for a whole environment. For one secret, use: coffer rollback KEY --to VERSION")
	case len(args) == 0 && !f.Changed("to") && !f.Changed("at"):
		return usagef("Say what to go back to: a secret by its KEY, or the whole environment with --to REVISION or --at TIME.\nTo see what there is: coffer history")
	}
	return oneOf(cmd, "to", "at")
}

// runRollbackAll makes an environment what it was.
func runRollbackAll(ctx context.Context, o rollbackOptions, c *client.Client, out *console) error {
	now, pulled, err := pullValues(ctx, c, o.place)
	if err != nil {
		return err
	}
	then, past, err := o.past(ctx, c, out)
	if err != nil {
		return err
	}
	if past.Incomplete && !o.incomplete {
		return failf(exitError, "Revision %d of %s cannot be had in full: %s\nTo go back to what is left of it, add --incomplete. Nothing was changed.",
			past.Revision, o.environment, lostText)
	}
	ch := compare(now, then)
	if ch.none() {
		return out.done(rolledBack{o.environment, past.Revision, pulled.Revision, ch},
			"%s of %s holds what it held at revision %d already.", o.environment, o.repo, past.Revision)
	}
	for _, row := range ch.rows("comes back", "gets its value of then", "to the trash") {
		out.note("%s  %s", row[0], row[1])
	}
	err = out.confirm(ctx, "Make %s of %s what it was at revision %d?", o.environment, o.repo, past.Revision)
	if err != nil {
		return err
	}
	p := pushing{pushOptions: pushOptions{place: o.place, prune: true}, client: c, out: out}
	pushed, err := p.send(ctx, then, pulled.Revision)
	if isRace(err) {
		return failf(exitConflict, "Somebody changed %s of %s at the same moment. Nothing was changed. Look again: run the command once more.", o.environment, o.repo)
	}
	if err != nil {
		return err
	}
	p.noteGuarded(now, then)
	return out.done(rolledBack{o.environment, past.Revision, pushed.Revision, ch},
		"%s of %s is as it was at revision %d, and at revision %d now. Created: %d, updated: %d, moved to the trash: %d.",
		o.environment, o.repo, past.Revision, pushed.Revision, pushed.Stats.Created, pushed.Stats.Updated, pushed.Stats.Deleted)
}

// rolledBack is what --json shows.
type rolledBack struct {
	Environment string `json:"environment"`
	To          uint64 `json:"to"`
	Revision    uint64 `json:"revision"`
	changes
}

// past is the state to go back to.
func (o rollbackOptions) past(ctx context.Context, c *client.Client, out *console) (map[string]string, *api.Pulled, error) {
	req := api.PullSecrets{}
	if o.at != "" {
		then, err := o.instant(time.Now())
		if err != nil {
			return nil, nil, err
		}
		req.At = then.Format(time.RFC3339Nano)
	} else {
		revision := int(o.to)
		req.Revision = &revision
	}
	defer out.working("Looking back")()
	values, p, err := pullWith(ctx, c, o.place, req)
	if e, ok := errors.AsType[*api.Error](err); ok && e.Code == api.Invalid && req.Revision != nil {
		return nil, nil, failf(exitNotFound, "%s of %s has no revision %d yet.\nTo see what there is: coffer history -e %s", o.environment, o.repo, o.to, o.environment)
	}
	return values, p, err
}
