package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"coffer/server/api"
	"coffer/server/client"
	"coffer/server/offline"
)

func newVault(a *app) *cobra.Command {
	return group("vault", "Create, list and remove vaults", newVaultCreate(a), newVaultLs(a), newVaultShow(a), newVaultRm(a))
}

func newVaultCreate(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "create",
		Short: "Create the vault of a repository",
		Long: `Create the vault of a repository, with the environments development, staging
and production. You need the role admin on the repository.`,
		Args: args(0, 0),
		RunE: a.inVault(func(ctx context.Context, c *client.Client, at place, _ []string) error {
			return runVaultCreate(ctx, at, c, a.out)
		}),
	}
}

func runVaultCreate(ctx context.Context, at place, c *client.Client, out *console) error {
	v, err := c.CreateVault(ctx, at.repo)
	if err != nil {
		return err
	}
	return out.done(v, "%s\nNext: coffer push", first(v.Message, "Created the vault of "+v.RepoFullName+"."))
}

func newVaultLs(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "ls",
		Short: "List the vaults of all repositories you have a role on",
		Args:  args(0, 0),
		RunE: a.signedIn(func(ctx context.Context, c *client.Client, _ []string) error {
			return runVaultLs(ctx, c, a.out)
		}),
	}
}

func runVaultLs(ctx context.Context, c *client.Client, out *console) error {
	vaults, err := client.Drain(func(p api.Page) (*api.List[api.Vault], error) { return c.Vaults(ctx, p) })
	if err != nil {
		return err
	}
	if len(vaults) == 0 {
		out.note("There is no vault yet. In a checkout, create one: coffer vault create")
	}
	return out.print(orEmpty(vaults), func(w io.Writer) {
		for _, v := range vaults {
			fmt.Fprintln(w, v.RepoFullName)
		}
	})
}

func newVaultShow(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "show",
		Short: "Show a vault and its environments",
		Args:  args(0, 0),
		RunE: a.inVault(func(ctx context.Context, c *client.Client, at place, _ []string) error {
			return runVaultShow(ctx, at, c, a.out)
		}),
	}
}

func runVaultShow(ctx context.Context, at place, c *client.Client, out *console) error {
	v, err := c.Vault(ctx, at.repo)
	if err != nil {
		return err
	}
	rows := [][]string{{"vault", v.RepoFullName}, {"your role", orNone(v.Permission)}}
	if v.IsReadOnly {
		rows = append(rows, []string{"read-only", orNone(v.ReadonlyReason)})
	}
	if v.Warning != nil {
		rows = append(rows, []string{"warning", *v.Warning})
	}
	for _, e := range v.EnvironmentDetails {
		rows = append(rows, []string{e.Name, fmt.Sprintf("%s, %s, revision %d", e.Type, counted(e.SecretCount, "secret"), e.Revision)})
	}
	return out.table(v, rows)
}

func newVaultRm(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "rm",
		Short: "Remove a vault with all it holds, for good",
		Args:  args(0, 0),
		RunE: a.inVault(func(ctx context.Context, c *client.Client, at place, _ []string) error {
			if err := runVaultRm(ctx, at, c, a.copies(), a.out); err != nil {
				return err
			}
			a.memory(c.URL).forget(at.repo, "")
			return nil
		}),
	}
}

func runVaultRm(ctx context.Context, at place, c *client.Client, copies *copies, out *console) error {
	v, err := c.Vault(ctx, at.repo)
	if err != nil {
		return err
	}
	err = out.confirm(ctx, "Remove the vault of %s with %s, all versions and the trash? This cannot be undone.", v.RepoFullName, counted(v.SecretCount, "secret"))
	if err != nil {
		return err
	}
	if err := c.DeleteVault(ctx, v.RepoFullName); err != nil {
		return err
	}
	_, err = copies.remove(func(p offline.Place) bool { return p.Server == c.URL && p.Repository == at.repo })
	if err != nil {
		return fmt.Errorf("the vault is removed, but not its offline copies: %w", err)
	}
	return out.done(map[string]string{"deleted": v.RepoFullName}, "Removed the vault of %s.", v.RepoFullName)
}

func orNone(s *string) string {
	if s == nil {
		return "none"
	}
	return *s
}

// orEmpty makes an empty list print as [].
func orEmpty[T any](l []T) []T {
	if l == nil {
		return []T{}
	}
	return l
}
