package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"coffer/server/client"
)

func newEnv(a *app) *cobra.Command {
	return group("env", "List, create, rename, order and remove environments",
		newEnvLs(a), newEnvCreate(a), newEnvRename(a), newEnvRm(a), newEnvType(a), newEnvMove(a))
}

func newEnvLs(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "ls",
		Short: "List the environments you may read",
		Args:  args(0, 0),
		RunE: a.inVault(func(ctx context.Context, c *client.Client, at place, _ []string) error {
			return runEnvLs(ctx, at, c, a.out)
		}),
	}
}

func runEnvLs(ctx context.Context, at place, c *client.Client, out *console) error {
	environments, err := c.Environments(ctx, at.repo)
	if err != nil {
		return err
	}
	var rows [][]string
	for _, e := range environments {
		rows = append(rows, []string{e.Name, e.Type, counted(e.SecretCount, "secret"), fmt.Sprintf("revision %d", e.Revision)})
	}
	return out.table(orEmpty(environments), rows)
}

type envOptions struct {
	place
	name, newName, kind string
}

func newEnvCreate(a *app) *cobra.Command {
	var o envOptions
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Create an environment",
		Args:  args(1, 1),
		RunE: a.inVault(func(ctx context.Context, c *client.Client, at place, args []string) error {
			o.place, o.name = at, args[0]
			return runEnvCreate(ctx, o, c, a.out)
		}),
	}
	cmd.Flags().StringVar(&o.kind, "type", "", "protected, standard or development (default: by its name)")
	return cmd
}

func runEnvCreate(ctx context.Context, o envOptions, c *client.Client, out *console) error {
	r, err := c.CreateEnvironment(ctx, o.repo, o.name, o.kind)
	if err != nil {
		return err
	}
	return out.done(r, "Created the environment %s of %s, type %s.", r.Environment.Name, o.repo, r.Environment.Type)
}

func newEnvRename(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "rename NAME NEWNAME",
		Short: "Rename an environment; its type stays",
		Args:  args(2, 2),
		RunE: a.inVault(func(ctx context.Context, c *client.Client, at place, args []string) error {
			return runEnvRename(ctx, envOptions{place: at, name: args[0], newName: args[1]}, c, a.out)
		}),
	}
}

func runEnvRename(ctx context.Context, o envOptions, c *client.Client, out *console) error {
	r, err := c.RenameEnvironment(ctx, o.repo, o.name, o.newName)
	if err != nil {
		return err
	}
	return out.done(r, "Renamed %s of %s to %s.", r.OldName, o.repo, r.NewName)
}

func newEnvRm(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "rm NAME",
		Short: "Remove an environment with its secrets and trash, for good",
		Args:  args(1, 1),
		RunE: a.inVault(func(ctx context.Context, c *client.Client, at place, args []string) error {
			if err := runEnvRm(ctx, envOptions{place: at, name: args[0]}, c, a.out); err != nil {
				return err
			}
			a.memory(c.URL).forget(at.repo, args[0])
			return nil
		}),
	}
}

func runEnvRm(ctx context.Context, o envOptions, c *client.Client, out *console) error {
	err := out.confirm(ctx, "Remove the environment %s of %s with its secrets, versions and trash? This cannot be undone.", o.name, o.repo)
	if err != nil {
		return err
	}
	r, err := c.DeleteEnvironment(ctx, o.repo, o.name)
	if err != nil {
		return err
	}
	return out.done(r, "Removed the environment %s of %s.", r.Deleted, o.repo)
}

func newEnvType(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "type NAME protected|standard|development",
		Short: "Change who may reach an environment, by its type",
		Args:  args(2, 2),
		RunE: a.inVault(func(ctx context.Context, c *client.Client, at place, args []string) error {
			return runEnvType(ctx, envOptions{place: at, name: args[0], kind: args[1]}, c, a.out)
		}),
	}
}

func runEnvType(ctx context.Context, o envOptions, c *client.Client, out *console) error {
	r, err := c.RetypeEnvironment(ctx, o.repo, o.name, o.kind)
	if err != nil {
		return err
	}
	return out.done(r, "%s of %s was %s and is %s now.", r.Environment, o.repo, r.OldType, r.NewType)
}

func newEnvMove(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "move NAME PLACE",
		Short: "Move an environment to a place in the list, from 1",
		Args:  args(2, 2),
		RunE: a.inVault(func(ctx context.Context, c *client.Client, at place, args []string) error {
			to, err := strconv.Atoi(args[1])
			if err != nil {
				return usagef("%q is no place in the list: the first is 1.", args[1])
			}
			return runEnvMove(ctx, envOptions{place: at, name: args[0]}, to, c, a.out)
		}),
	}
}

func runEnvMove(ctx context.Context, o envOptions, to int, c *client.Client, out *console) error {
	all, err := c.Environments(ctx, o.repo)
	if err != nil {
		return err
	}
	if to < 1 || to > len(all) {
		return failf(exitInvalid, "There is no place %d among the %s of %s.", to, counted(len(all), "environment"), o.repo)
	}
	r, err := c.MoveEnvironment(ctx, o.repo, o.name, all[to-1].DisplayOrder)
	if err != nil {
		return err
	}
	var names []string
	for _, e := range r.Environments {
		names = append(names, e.Name)
	}
	return out.done(r, "The environments of %s are now: %s.", o.repo, strings.Join(names, ", "))
}
