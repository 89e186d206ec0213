package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"coffer/server/api"
	"coffer/server/client"
)

type activityOptions struct {
	place
	vault bool
	limit int
}

func newActivity(a *app) *cobra.Command {
	var o activityOptions
	cmd := &cobra.Command{
		Use:   "activity",
		Short: "Show what you did, or with --vault what all did in a vault",
		Args:  args(0, 0),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !o.vault {
				return a.signedIn(func(ctx context.Context, c *client.Client, _ []string) error {
					return runActivity(ctx, o, c, a.out)
				})(cmd, args)
			}
			return a.inVault(func(ctx context.Context, c *client.Client, at place, _ []string) error {
				o.place = at
				return runActivity(ctx, o, c, a.out)
			})(cmd, args)
		},
	}
	cmd.Flags().BoolVar(&o.vault, "vault", false, "everyone's actions in the vault; needs the role admin")
	cmd.Flags().IntVar(&o.limit, "limit", api.DefaultPage, "how many records, up to 100")
	return cmd
}

func runActivity(ctx context.Context, o activityOptions, c *client.Client, out *console) error {
	page := api.Page{Limit: &o.limit}
	var l *api.List[api.Activity]
	var err error
	if o.vault {
		owner, repo, _ := strings.Cut(o.repo, "/")
		l, err = c.VaultActivity(ctx, api.ListVaultActivity{PageRef: api.PageRef{Ref: api.Ref{Owner: owner, Repo: repo}, Page: page}})
	} else {
		l, err = c.Activity(ctx, page)
	}
	if err != nil {
		return err
	}
	var rows [][]string
	for _, e := range l.Items {
		environment, _ := e.Metadata["environment"].(string)
		key, _ := e.Metadata["key"].(string)
		rows = append(rows, []string{when(e.Timestamp), e.Action, whoDid(e.Actor), textOr(e.RepoFullName), environment, key, textOr(e.IP)})
	}
	return out.table(orEmpty(l.Items), rows)
}

func textOr(s *string) string {
	if s == nil {
		return "-"
	}
	return *s
}
