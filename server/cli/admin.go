package cli

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"coffer/server/api"
	"coffer/server/client"
)

func newAdmin(a *app) *cobra.Command {
	return group("admin", "Manage users, organizations and repositories of the built-in code host, and plans",
		group("user", "Add users, give them another password, and disable them when they leave", newAdminUserAdd(a), newAdminUserPassword(a), newAdminUserDisable(a), newAdminUserEnable(a)),
		group("org", "Add organizations and members", newAdminOrgAdd(a), newAdminOrgMember(a)),
		group("repo", "Add repositories and grant roles", newAdminRepoAdd(a), newAdminRepoGrant(a)),
		newAdminPlan(a),
		newAdminToken(a),
	)
}

func newAdminUserAdd(a *app) *cobra.Command {
	var o struct {
		passwordFile string
		operator     bool
	}
	cmd := &cobra.Command{
		Use:   "add NAME",
		Short: "Add a user",
		Args:  args(1, 1),
		RunE: a.asOperator(func(ctx context.Context, c *client.Client, args []string) error {
			password, err := readPassword(ctx, o.passwordFile, args[0], a.out)
			if err != nil {
				return err
			}
			return runUserAdd(ctx, api.AddLocalUser{Username: args[0], Password: api.NewSecret(password), Operator: o.operator}, c, a.out)
		}),
	}
	cmd.Flags().StringVar(&o.passwordFile, "password-file", "", "file with the password; - is standard input (default: ask)")
	cmd.Flags().BoolVar(&o.operator, "operator", false, "the user may run the server too")
	return operatorFlags(cmd)
}

func runUserAdd(ctx context.Context, o api.AddLocalUser, c *client.Client, out *console) error {
	u, err := c.AddLocalUser(ctx, o)
	if err != nil {
		return err
	}
	return out.done(u, "Added the user %s, who signs in with this password: coffer login URL.\nAn API key for them: coffer admin token %s --name NAME --scopes read,write", u.Username, u.Username)
}

func newAdminUserPassword(a *app) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "password NAME",
		Short: "Give a user another password, and end their sessions",
		Args:  args(1, 1),
		RunE: a.asOperator(func(ctx context.Context, c *client.Client, args []string) error {
			password, err := readPassword(ctx, file, args[0], a.out)
			if err != nil {
				return err
			}
			u, err := c.SetLocalPassword(ctx, api.SetLocalPassword{Username: args[0], Password: api.NewSecret(password)})
			if err != nil {
				return err
			}
			return a.out.done(u, "%s signs in with the new password from now on, and is signed out everywhere.\nTheir API keys go on working.", u.Username)
		}),
	}
	cmd.Flags().StringVar(&file, "password-file", "", "file with the password; - is standard input (default: ask)")
	return operatorFlags(cmd)
}

func newAdminUserDisable(a *app) *cobra.Command {
	return operatorFlags(&cobra.Command{
		Use:   "disable NAME",
		Short: "Keep a user out: sessions end, API keys and sign-in are refused",
		Args:  args(1, 1),
		RunE: a.asOperator(func(ctx context.Context, c *client.Client, args []string) error {
			u, err := c.DisableLocalUser(ctx, args[0], true)
			if err != nil {
				return err
			}
			return a.out.done(u, "%s is disabled: nothing of theirs lets anybody in.\nLet them in again: coffer admin user enable %s", u.Username, u.Username)
		}),
	})
}

func newAdminUserEnable(a *app) *cobra.Command {
	return operatorFlags(&cobra.Command{
		Use:   "enable NAME",
		Short: "Let a disabled user in again; their API keys work again too",
		Args:  args(1, 1),
		RunE: a.asOperator(func(ctx context.Context, c *client.Client, args []string) error {
			u, err := c.DisableLocalUser(ctx, args[0], false)
			if err != nil {
				return err
			}
			return a.out.done(u, "%s may sign in again, and their API keys work.", u.Username)
		}),
	})
}

func newAdminOrgAdd(a *app) *cobra.Command {
	return operatorFlags(&cobra.Command{
		Use:   "add NAME",
		Short: "Add an organization",
		Args:  args(1, 1),
		RunE: a.asOperator(func(ctx context.Context, c *client.Client, args []string) error {
			return runOrgAdd(ctx, api.AddLocalOrg{Name: args[0]}, c, a.out)
		}),
	})
}

func runOrgAdd(ctx context.Context, o api.AddLocalOrg, c *client.Client, out *console) error {
	org, err := c.AddLocalOrg(ctx, o)
	if err != nil {
		return err
	}
	return out.done(org, "Added the organization %s.\nIts first owner: coffer admin org member %s USER owner", org.Name, org.Name)
}

func newAdminOrgMember(a *app) *cobra.Command {
	return operatorFlags(&cobra.Command{
		Use:   "member ORG USER owner|member|none",
		Short: "Make a user owner or member of an organization, or take them out of it",
		Args:  args(3, 3),
		RunE: a.asOperator(func(ctx context.Context, c *client.Client, args []string) error {
			return runOrgMember(ctx, api.SetLocalMember{Org: args[0], Username: args[1], Role: args[2]}, c, a.out)
		}),
	})
}

func runOrgMember(ctx context.Context, o api.SetLocalMember, c *client.Client, out *console) error {
	if err := c.SetLocalMember(ctx, o); err != nil {
		return err
	}
	if o.Role == "none" {
		return out.done(o, "%s is not in %s any more.", o.Username, o.Org)
	}
	return out.done(o, "%s is %s of %s.", o.Username, o.Role, o.Org)
}

func newAdminRepoAdd(a *app) *cobra.Command {
	var o api.AddLocalRepo
	cmd := &cobra.Command{
		Use:   "add OWNER/NAME",
		Short: "Add a repository",
		Args:  args(1, 1),
		RunE: a.asOperator(func(ctx context.Context, c *client.Client, args []string) error {
			o.RepoFullName = args[0]
			return runRepoAdd(ctx, o, c, a.out)
		}),
	}
	cmd.Flags().BoolVar(&o.Public, "public", false, "everybody may see that it exists")
	return operatorFlags(cmd)
}

func runRepoAdd(ctx context.Context, o api.AddLocalRepo, c *client.Client, out *console) error {
	r, err := c.AddLocalRepo(ctx, o)
	if err != nil {
		return err
	}
	return out.done(r, "Added the repository %s.\nLet somebody in: coffer admin repo grant %s USER write", r.RepoFullName, r.RepoFullName)
}

func newAdminRepoGrant(a *app) *cobra.Command {
	return operatorFlags(&cobra.Command{
		Use:   "grant OWNER/NAME USER ROLE",
		Short: "Give a user a role on a repository: read, triage, write, maintain, admin or none",
		Args:  args(3, 3),
		RunE: a.asOperator(func(ctx context.Context, c *client.Client, args []string) error {
			return runRepoGrant(ctx, api.GrantLocalRepo{RepoFullName: args[0], Username: args[1], Role: args[2]}, c, a.out)
		}),
	})
}

func runRepoGrant(ctx context.Context, o api.GrantLocalRepo, c *client.Client, out *console) error {
	if err := c.GrantLocalRepo(ctx, o); err != nil {
		return err
	}
	return out.done(o, "%s has the role %s on %s.", o.Username, o.Role, o.RepoFullName)
}

func newAdminPlan(a *app) *cobra.Command {
	return operatorFlags(&cobra.Command{
		Use:   "plan user|org NAME PLAN",
		Short: "Give a user or an organization a plan, whatever plan they have otherwise; none takes it away",
		Long: "Give a user or an organization a plan: free, pro, startup, team or enterprise, or none to take it away again. " +
			"An account that has a higher plan in another way keeps that.",
		Example: `  coffer admin plan org acme enterprise`,
		Args:    args(3, 3),
		RunE: a.asOperator(func(ctx context.Context, c *client.Client, args []string) error {
			return runAdminPlan(ctx, api.SetPlan{Kind: args[0], Name: args[1], Plan: args[2]}, c, a.out)
		}),
	})
}

func runAdminPlan(ctx context.Context, o api.SetPlan, c *client.Client, out *console) error {
	p, err := c.SetPlan(ctx, o)
	if err != nil {
		return err
	}
	if p.GivenPlan == nil {
		return out.done(p, "%s has no plan of its own any more. Its plan is %s.", p.Name, p.EffectivePlan)
	}
	return out.done(p, "%s was given the plan %s. Its plan is %s.", p.Name, *p.GivenPlan, p.EffectivePlan)
}

func newAdminToken(a *app) *cobra.Command {
	var o api.IssueToken
	var ttl string
	cmd := &cobra.Command{
		Use:     "token USER",
		Short:   "Create an API key for a user and print it, the only time it is shown",
		Example: `  coffer admin token ann --name ci --scopes read --ttl 720h`,
		Args:    args(1, 1),
		RunE: a.asOperator(func(ctx context.Context, c *client.Client, args []string) error {
			if o.Name == "" || len(o.Scopes) == 0 {
				return usagef("Give the key a name and scopes: --name N --scopes read,write")
			}
			if ttl != "" {
				d, err := parseDuration(ttl)
				if err != nil {
					return usagef("--ttl: %q %s.", ttl, err)
				}
				o.TTLSeconds = int64((d + time.Second - 1) / time.Second)
			}
			o.Username, o.Scopes = args[0], fullScopes(o.Scopes)
			return runAdminToken(ctx, o, c, a.out)
		}),
	}
	f := cmd.Flags()
	f.StringVar(&o.Name, "name", "", "name of the key")
	f.StringSliceVar(&o.Scopes, "scopes", nil, scopeHelp)
	f.StringVar(&o.Environment, "environment", "live", "live or test; a test key reaches no protected environment")
	f.StringVar(&ttl, "ttl", "", "how long it is valid, like 720h or 30d (default: for ever)")
	f.StringSliceVar(&o.AllowedIPs, "allow-ip", nil, "addresses it may be used from, like 10.0.0.0/8 (default: anywhere)")
	return operatorFlags(cmd)
}

func runAdminToken(ctx context.Context, o api.IssueToken, c *client.Client, out *console) error {
	o.Name = strings.TrimSpace(o.Name)
	k, err := c.IssueToken(ctx, o)
	if err != nil {
		return err
	}
	return printToken(k, out)
}
