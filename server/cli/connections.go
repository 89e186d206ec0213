package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"coffer/server/api"
	"coffer/server/client"
)

func newConnections(a *app) *cobra.Command {
	cmd := group("connections", "List and remove your connections to hosting providers",
		newConnectionsLs(a), newConnectionsProjects(a), newConnectionsRm(a))
	help := cmd.RunE
	cmd.Use = "connections [COMMAND]"
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return help(cmd, args)
		}
		return newConnectionsLs(a).RunE(cmd, args)
	}
	return cmd
}

func newConnectionsLs(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "ls",
		Short: "List your connections",
		Args:  args(0, 0),
		RunE: a.signedIn(func(ctx context.Context, c *client.Client, _ []string) error {
			return runConnectionsLs(ctx, c, a.out)
		}),
	}
}

func runConnectionsLs(ctx context.Context, c *client.Client, out *console) error {
	all, err := c.Connections(ctx)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		out.note("You are connected to no hosting provider. Connect: coffer connect PROVIDER")
	}
	var rows [][]string
	for _, conn := range all {
		rows = append(rows, []string{conn.Provider, teamOf(conn), stateOf(conn), "since " + when(conn.CreatedAt), conn.ID})
	}
	return out.table(orEmpty(all), rows)
}

// teamOf is what a connection reaches.
func teamOf(c api.Connection) string {
	switch {
	case c.ProviderTeamName != nil:
		return "team " + *c.ProviderTeamName
	case c.ProviderTeamID != nil:
		return "team " + *c.ProviderTeamID
	}
	return "whole account"
}

func stateOf(c api.Connection) string {
	if c.Status == api.ConnectionReconnect {
		return "over: connect again"
	}
	return c.Status
}

func newConnectionsProjects(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "projects ID|PROVIDER",
		Short: "List the projects that one connection reaches, or all to a provider",
		Example: `  coffer connections projects vercel
  coffer connections projects vercel --json`,
		Args: args(1, 1),
		RunE: a.signedIn(func(ctx context.Context, c *client.Client, args []string) error {
			return runConnectionsProjects(ctx, args[0], c, a.out)
		}),
	}
}

func runConnectionsProjects(ctx context.Context, named string, c *client.Client, out *console) error {
	projects, err := projectsOf(ctx, named, c, out)
	if err != nil {
		return err
	}
	if len(projects) == 0 {
		out.note("There is no project that it reaches.")
	}
	return out.table(orEmpty(projects), projectRows(projects))
}

// projectsOf lists what a connection reaches, or all of the user's to a provider.
func projectsOf(ctx context.Context, named string, c *client.Client, out *console) ([]api.ProviderProject, error) {
	defer out.working("Asking for projects")()
	mine, err := c.Connections(ctx)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(mine, func(conn api.Connection) bool { return conn.ID == named }) {
		return c.Projects(ctx, named)
	}
	p, err := findProvider(ctx, named, c)
	if err != nil {
		return nil, err
	}
	all, err := reached(ctx, p, c, out)
	if err != nil {
		return nil, err
	}
	return all.Projects, nil
}

// reached is what all connections to a provider reach. It says which of them show
// nothing, because then something is missing from the list.
func reached(ctx context.Context, p *api.Provider, c *client.Client, out *console) (*api.AllProjects, error) {
	all, err := c.AllProjects(ctx, p.Name)
	if err != nil {
		return nil, err
	}
	if len(all.Connections) == 0 {
		return nil, failf(exitNotFound, "You are not connected to %s.\nConnect: coffer connect %s", p.DisplayName, p.Name)
	}
	for _, conn := range all.Connections {
		shows := slices.ContainsFunc(all.Projects, func(p api.ProviderProject) bool { return p.ConnectionID == conn.ID })
		switch {
		case conn.Status == api.ConnectionReconnect:
			out.note("%s does not let your connection %s (%s) in any more. Connect again: %s", p.DisplayName, conn.ID, teamOf(conn), reconnect(conn))
		case !shows:
			out.note("Your connection %s (%s) shows no project. To see why: coffer connections projects %s", conn.ID, teamOf(conn), conn.ID)
		}
	}
	return all, nil
}

// reconnect is the command that makes a connection anew.
func reconnect(c api.Connection) string {
	command := "coffer connect " + c.Provider
	if c.ProviderTeamID != nil {
		command += " --team " + *c.ProviderTeamID
	}
	return command
}

// projectRows shows projects, with what names them to other commands.
func projectRows(projects []api.ProviderProject) [][]string {
	var rows [][]string
	for _, p := range projects {
		row := []string{p.Name, p.ID}
		if p.ServiceID != "" {
			row = append(row, first(p.ServiceName, "service")+" "+p.ServiceID)
		} else {
			row = append(row, "")
		}
		rows = append(rows, append(row, strings.Join(p.Environments, ","), first(p.LinkedRepo, "no repository"), first(p.TeamName, "personal account")))
	}
	if !slices.ContainsFunc(projects, func(p api.ProviderProject) bool { return p.ServiceID != "" }) {
		for i, row := range rows {
			rows[i] = slices.Delete(row, 2, 3)
		}
	}
	return rows
}

func newConnectionsRm(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "rm ID|PROVIDER",
		Short: "Remove a connection with the saved syncs that go through it",
		Long: `Remove a connection with the saved syncs that go through it. What was synced
stays at the provider, and so does the token: end it there.`,
		Args: args(1, 1),
		RunE: a.signedIn(func(ctx context.Context, c *client.Client, args []string) error {
			return runConnectionsRm(ctx, args[0], c, a.out)
		}),
	}
}

func runConnectionsRm(ctx context.Context, named string, c *client.Client, out *console) error {
	conn, err := findConnection(ctx, named, c)
	if err != nil {
		return err
	}
	err = out.confirm(ctx, "Remove your connection to %s (%s)? Saved syncs through it go too. What was synced stays there.", conn.Provider, teamOf(*conn))
	if err != nil {
		return err
	}
	if err := c.Disconnect(ctx, conn.ID); err != nil {
		return err
	}
	return out.done(map[string]string{"removed": conn.ID, "provider": conn.Provider},
		"Removed the connection to %s. To end the token as well, delete it there.", conn.Provider)
}

// findConnection is one of the user's own, by its id or by its provider.
func findConnection(ctx context.Context, named string, c *client.Client) (*api.Connection, error) {
	all, err := c.Connections(ctx)
	if err != nil {
		return nil, err
	}
	var found []api.Connection
	for _, conn := range all {
		if conn.ID == named || conn.Provider == named {
			found = append(found, conn)
		}
	}
	switch len(found) {
	case 0:
		return nil, failf(exitNotFound, "You have no such connection. To see what there is: coffer connections")
	case 1:
		return &found[0], nil
	default:
		return nil, usagef("You have %d connections to %s. Use the id that coffer connections shows.", len(found), named)
	}
}
