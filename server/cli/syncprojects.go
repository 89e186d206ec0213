package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"coffer/server/api"
	"coffer/server/client"
)

// find resolves an aim: the project that was named, else the one that the vault
// has a saved sync with, else the one that is built from this repository, else the
// one that is called like it. More than one is the user's to choose from.
func (o aim) find(ctx context.Context, c *client.Client, out *console) (*bearing, error) {
	vault, err := c.Vault(ctx, o.repo)
	if err != nil {
		return nil, err
	}
	p, err := findProvider(ctx, o.provider, c)
	if err != nil {
		return nil, err
	}
	all, err := o.candidates(ctx, p, c, out)
	if err != nil {
		return nil, err
	}
	if all = once(all); len(all) == 0 {
		return nil, failf(exitNotFound, "Your connections reach no project at %s.", p.DisplayName)
	}
	for _, fits := range o.tests(vault) {
		found := slices.DeleteFunc(slices.Clone(all), func(p api.ProviderProject) bool { return !fits(p) })
		if len(found) > 1 {
			return nil, failf(exitUsage, "More than one project at %s could be meant. %s", p.DisplayName, choose(p, found))
		}
		if len(found) == 1 {
			return &bearing{o, p.DisplayName, found[0]}, nil
		}
	}
	if o.project != "" || o.service != nil {
		return nil, failf(exitNotFound, "You reach no such project at %s. %s", p.DisplayName, choose(p, all))
	}
	return nil, failf(exitUsage, "No project at %s is linked with %s or called like it. %s", p.DisplayName, o.repo, choose(p, all))
}

// candidates are all projects that the connection reaches, or all of the user's.
func (o aim) candidates(ctx context.Context, p *api.Provider, c *client.Client, out *console) ([]api.ProviderProject, error) {
	defer out.working("Asking for projects")()
	if o.connection != "" {
		return c.Projects(ctx, o.connection)
	}
	all, err := reached(ctx, p, c, out)
	if err != nil {
		return nil, err
	}
	return all.Projects, nil
}

// tests tell the project that is meant, the surest first.
func (o aim) tests(vault *api.Vault) []func(api.ProviderProject) bool {
	_, repo, _ := strings.Cut(vault.RepoFullName, "/")
	service := func(p api.ProviderProject) bool {
		return o.service == nil || p.ServiceID == *o.service || *o.service != "" && strings.EqualFold(p.ServiceName, *o.service)
	}
	if o.project != "" {
		return []func(api.ProviderProject) bool{
			func(p api.ProviderProject) bool { return p.ID == o.project && service(p) },
			func(p api.ProviderProject) bool { return strings.EqualFold(p.Name, o.project) && service(p) },
		}
	}
	return []func(api.ProviderProject) bool{
		func(p api.ProviderProject) bool { return o.saved(vault, p) && service(p) },
		func(p api.ProviderProject) bool {
			return strings.EqualFold(p.LinkedRepo, vault.RepoFullName) && service(p)
		},
		func(p api.ProviderProject) bool { return strings.EqualFold(p.Name, repo) && service(p) },
	}
}

// saved reports whether the vault has a saved sync of the environment with a
// project.
func (o aim) saved(vault *api.Vault, p api.ProviderProject) bool {
	return slices.ContainsFunc(vault.Syncs, func(s api.VaultSync) bool {
		return s.Provider == o.provider && s.KeywayEnvironment == o.environment && s.ProjectID == p.ID && orZero(s.ServiceID) == p.ServiceID
	})
}

func orZero(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// once keeps the first of what several connections reach.
func once(projects []api.ProviderProject) []api.ProviderProject {
	var kept []api.ProviderProject
	for _, p := range projects {
		if !slices.ContainsFunc(kept, func(k api.ProviderProject) bool { return k.ID == p.ID && k.ServiceID == p.ServiceID }) {
			kept = append(kept, p)
		}
	}
	return kept
}

// mostChoices is how many projects an error lists.
const mostChoices = 20

// choose says which projects there are to choose from, and how.
func choose(p *api.Provider, choices []api.ProviderProject) string {
	flags := "--project ID"
	if slices.ContainsFunc(choices, func(c api.ProviderProject) bool { return c.ServiceID != "" }) {
		flags += " --service ID"
	}
	var text strings.Builder
	fmt.Fprintf(&text, "Choose with %s:\n", flags)
	writeTable(&text, projectRows(choices[:min(len(choices), mostChoices)]))
	if len(choices) > mostChoices {
		fmt.Fprintf(&text, "… and %d more: coffer connections projects %s", len(choices)-mostChoices, p.Name)
	}
	return strings.TrimRight(text.String(), "\n")
}
