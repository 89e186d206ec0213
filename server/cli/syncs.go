package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"coffer/server/api"
	"coffer/server/client"
)

// aim is what of a sync's target the command line says.
type aim struct {
	place
	provider   string
	project    string // id or name
	service    *string
	connection string
	to         string // the provider's environment
	pull       bool
	remove     bool // --delete
	references bool
}

type syncOptions struct {
	aim
	dryRun     bool
	link, auto bool
}

// flags are those that say where to; direct are those that say what.
func (o *aim) flags(f *pflag.FlagSet) {
	f.StringVar(&o.project, "project", "", "id or name of the provider's project (default: the one of a saved sync, else the one that is built from this repository or called like it)")
	f.StringVar(&o.connection, "connection", "", "id of your connection, as coffer connections shows it (default: the one that reaches the project)")
	f.StringVar(&o.to, "to", "", "the provider's environment (default: the one that fits ours)")
	f.String("service", "", `id or name of a service in the project; "" is what all of its services share`)
}

func (o *aim) direct(f *pflag.FlagSet) {
	f.BoolVar(&o.pull, "pull", false, "take the provider's values over, instead of sending ours")
	f.BoolVar(&o.remove, "delete", false, "also delete what the other side does not have; pulled, it goes to the trash")
	f.BoolVar(&o.references, "references", false, "also send values that refer to others at the provider")
}

// take completes an aim with what cobra has read.
func (o *aim) take(cmd *cobra.Command, at place, provider string) {
	o.place, o.provider = at, provider
	if f := cmd.Flags().Lookup("service"); f.Changed {
		service := f.Value.String()
		o.service = &service
	}
}

func newSync(a *app) *cobra.Command {
	cmd := group("sync", "Sync an environment with a hosting provider",
		newSyncStatus(a), newSyncLinks(a), newSyncUnlink(a), newSyncWait(a), newSyncCancel(a))
	var o syncOptions
	cmd.Use, cmd.DisableFlagsInUseLine = "sync PROVIDER", false
	cmd.Long = `Send an environment to a hosting provider, or take the provider's values over
with --pull. coffer shows what would happen to each key, and why, and asks. Without
a terminal it does nothing unless --yes is given.

Nothing is deleted unless --delete is given, and never what belongs to the provider,
to an integration or to another environment. If anything has changed since it was
shown, nothing is done, and coffer exits with 6. A sync that is interrupted stops;
what was done by then stays done. Values take effect when the provider says: mostly
with the next deployment.

With --link the target is remembered with the vault, and with --auto coffer sends
every later change there by itself, without deleting anything; --link without --auto
ends that.

Connect first: coffer connect PROVIDER`
	cmd.Example = `  coffer sync vercel -e production
  coffer sync vercel -e staging --to preview --dry-run
  coffer sync netlify --project my-site --pull
  coffer sync vercel -e production --link --auto`
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := o.check(cmd, args); err != nil {
			return err
		}
		return a.inVault(func(ctx context.Context, c *client.Client, at place, args []string) error {
			o.take(cmd, at, args[0])
			return runSync(ctx, o, c, a.out)
		})(cmd, args)
	}
	f := cmd.Flags()
	o.flags(f)
	o.direct(f)
	f.BoolVar(&o.dryRun, "dry-run", false, "show what would happen, by key, and change nothing")
	f.BoolVar(&o.link, "link", false, "remember the target with the vault afterwards")
	f.BoolVar(&o.auto, "auto", false, "with --link: send every later change by itself")
	return cmd
}

func (o *syncOptions) check(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) != 1:
		return usagef("Use it like this: %s\nTo see what you are connected to: coffer connections", cmd.UseLine())
	case o.auto && !o.link:
		return usagef("--auto goes with --link.")
	case o.pull && o.references:
		return usagef("--references is about what is sent: it does not go with --pull.")
	}
	for _, other := range []string{"pull", "dry-run"} {
		if err := oneOf(cmd, "link", other); err != nil {
			return err
		}
	}
	return nil
}

func runSync(ctx context.Context, o syncOptions, c *client.Client, out *console) error {
	b, err := o.find(ctx, c, out)
	if err != nil {
		return err
	}
	stop := out.working("Comparing")
	p, err := c.PreviewSync(ctx, b.query())
	stop()
	if err != nil {
		return err
	}
	words := b.words(p)
	if o.dryRun {
		words.introduce(out)
		if err := out.table(p, words.rows()); err != nil {
			return err
		}
		words.conclude(out)
		return nil
	}
	if err := words.review(ctx, out); err != nil {
		return err
	}
	r := &running{client: c, out: out, words: words}
	if err := r.run(ctx, b.start(p.PlanHash)); err != nil || !o.link {
		return err
	}
	return b.saveLink(ctx, o.auto, p, c, out)
}

// bearing is a target that was found.
type bearing struct {
	aim
	display string // what people call the provider
	project api.ProviderProject
}

func (b *bearing) ref() api.Ref {
	owner, repo, _ := strings.Cut(b.repo, "/")
	return api.Ref{Owner: owner, Repo: repo}
}

func (b *bearing) direction() string {
	if b.pull {
		return api.SyncPull
	}
	return api.SyncPush
}

func (b *bearing) query() api.SyncQuery {
	return api.SyncQuery{
		Ref: b.ref(), ConnectionID: b.project.ConnectionID, ProjectID: b.project.ID, ServiceID: b.project.ServiceID,
		KeywayEnvironment: b.environment, ProviderEnvironment: b.to, Direction: b.direction(),
		AllowDelete: b.remove, AllowReferences: b.references,
	}
}

// start asks for what the query was told of, and not to wait for the end: only who
// knows the run can show how far it is, and stop it.
func (b *bearing) start(planHash string) api.StartSync {
	q := b.query()
	return api.StartSync{
		Ref: q.Ref, ConnectionID: q.ConnectionID, ProjectID: q.ProjectID, ServiceID: q.ServiceID,
		KeywayEnvironment: q.KeywayEnvironment, ProviderEnvironment: q.ProviderEnvironment, Direction: q.Direction,
		AllowDelete: q.AllowDelete, AllowReferences: q.AllowReferences, PlanHash: planHash, Async: true,
	}
}

// target names the project for people.
func (b *bearing) target() string {
	name := b.project.Name
	if b.project.ServiceID != "" {
		name += "/" + first(b.project.ServiceName, b.project.ServiceID)
	}
	return name
}
