package cli

import (
	"context"

	"github.com/spf13/cobra"

	"coffer/server/client"
)

func newOrg(a *app) *cobra.Command {
	return group("org", "Show your organizations and who is in them", newOrgLs(a), newOrgMembers(a), newOrgSync(a))
}

func newOrgLs(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "ls",
		Short: "List the organizations you are a member of",
		Args:  args(0, 0),
		RunE: a.signedIn(func(ctx context.Context, c *client.Client, _ []string) error {
			return runOrgLs(ctx, c, a.out)
		}),
	}
}

func runOrgLs(ctx context.Context, c *client.Client, out *console) error {
	orgs, err := c.Orgs(ctx)
	if err != nil {
		return err
	}
	if len(orgs) == 0 {
		out.note("You are in no organization at the code host.")
	}
	var rows [][]string
	for _, o := range orgs {
		rows = append(rows, []string{o.Login, o.Role, counted(o.MemberCount, "member"), counted(o.VaultCount, "vault"), o.Plan})
	}
	return out.table(orEmpty(orgs), rows)
}

func newOrgMembers(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "members ORG",
		Short: "List who is in an organization, as the code host has it now",
		Args:  args(1, 1),
		RunE: a.signedIn(func(ctx context.Context, c *client.Client, args []string) error {
			return runOrgMembers(ctx, args[0], c, a.out)
		}),
	}
}

func runOrgMembers(ctx context.Context, org string, c *client.Client, out *console) error {
	members, err := c.OrgMembers(ctx, org)
	if err != nil {
		return err
	}
	var rows [][]string
	for _, m := range members {
		here := "no account here"
		if m.OnKeyway {
			here = "seen " + whenOr(m.JoinedAt, "just now")
		}
		rows = append(rows, []string{m.Username, m.Role, here})
	}
	return out.table(orEmpty(members), rows)
}

func newOrgSync(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "sync ORG",
		Short: "Read who is in an organization from the code host",
		Long: `Read who is in an organization from the code host, and remember those who have
an account here. This also happens by itself, and decides nothing: what somebody
may do is asked of the code host each time. You need to be an owner.`,
		Args: args(1, 1),
		RunE: a.signedIn(func(ctx context.Context, c *client.Client, args []string) error {
			return runOrgSync(ctx, args[0], c, a.out)
		}),
	}
}

func runOrgSync(ctx context.Context, org string, c *client.Client, out *console) error {
	done, err := c.SyncMembers(ctx, org)
	if err != nil {
		return err
	}
	return out.done(done, "%s.", done.Message)
}
