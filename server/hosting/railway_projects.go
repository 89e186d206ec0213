package hosting

import (
	"context"
	"errors"
	"slices"
	"time"
)

// railwayWhole is what is asked of a project. Further pages of the lists in it are
// asked for one list at a time.
const railwayWhole = `
fragment whole on Project {
	id name createdAt
	workspace { id name }
	environments(first: 100) { ...someEnvironments }
	services(first: 100) { ...someServices }
}` + railwayEnvironments + railwayServices

const railwayEnvironments = `
fragment someEnvironments on ProjectEnvironmentsConnection {
	edges { node { id name isEphemeral } }
	pageInfo { hasNextPage endCursor }
}`

const railwayServices = `
fragment someServices on ProjectServicesConnection {
	edges { node { id name repoTriggers(first: 1) { edges { node { repository } } } } }
	pageInfo { hasNextPage endCursor }
}`

var (
	railwayProjects = railwayOp{name: "projects", text: `query projects($workspace: String!, $after: String) {
		projects(workspaceId: $workspace, first: 50, after: $after) {
			edges { node { ...whole } }
			pageInfo { hasNextPage endCursor }
		}
	}` + railwayWhole}

	railwayExternal = railwayOp{name: "externalWorkspaces", text: `query externalWorkspaces {
		externalWorkspaces { id projects { ...whole } }
	}` + railwayWhole}

	railwayFind = railwayOp{name: "project", text: `query project($id: String!) { project(id: $id) { ...whole } }` + railwayWhole}

	railwayMoreEnvironments = railwayOp{name: "environments", text: `query environments($id: String!, $after: String!) {
		project(id: $id) { environments(first: 100, after: $after) { ...someEnvironments } }
	}` + railwayEnvironments}

	railwayMoreServices = railwayOp{name: "services", text: `query services($id: String!, $after: String!) {
		project(id: $id) { services(first: 100, after: $after) { ...someServices } }
	}` + railwayServices}
)

type railwayProject struct {
	ID, Name     string
	CreatedAt    string
	Workspace    railwayTeam // the zero one for who is not in it
	Environments railwayPage[railwayEnvironment]
	Services     railwayPage[railwayService]
}

type railwayEnvironment struct {
	ID, Name    string
	IsEphemeral bool
}

type railwayService struct {
	ID, Name     string
	RepoTriggers struct {
		Edges []struct{ Node struct{ Repository string } }
	}
}

// railwayPage is a part of a list.
type railwayPage[T any] struct {
	Edges    []struct{ Node T }
	PageInfo *struct {
		HasNextPage bool
		EndCursor   string
	}
}

// railwayAll is a list of which there is the first page.
func railwayAll[T any](page railwayPage[T], more func(after string) (railwayPage[T], error)) ([]T, error) {
	var all []T
	at := ""
	for range maxPages {
		if page.Edges == nil || page.PageInfo == nil {
			return nil, errRailwayHollow
		}
		for _, e := range page.Edges {
			all = append(all, e.Node)
		}
		if !page.PageInfo.HasNextPage {
			return all, nil
		}
		if page.PageInfo.EndCursor == at {
			break
		}
		at = page.PageInfo.EndCursor
		var err error
		if page, err = more(at); err != nil {
			return nil, err
		}
	}
	return nil, &Unavailable{Err: errors.New("its list does not end")}
}

// Projects lists what the credential reaches.
func (r *railway) Projects(ctx context.Context, c Credential) ([]Project, error) {
	h, err := r.holder(ctx, c)
	if err != nil {
		return nil, err
	}
	c.Kind = h.kind
	found, err := r.reached(ctx, c, h)
	if err != nil {
		return nil, err
	}
	var all []Project
	seen := map[string]bool{}
	for _, p := range found {
		if seen[p.ID] {
			continue
		}
		seen[p.ID] = true
		entries, err := r.entries(ctx, c, p, h.one)
		if err != nil {
			return nil, err
		}
		all = append(all, entries...)
	}
	return all, nil
}

// reached are the projects in the holder's workspaces, and of an account also
// those in workspaces of others that its user was let into. What may not be looked
// at is not reached: some workspaces want their members to sign in in a way of
// their own.
func (r *railway) reached(ctx context.Context, c Credential, h railwayHolder) ([]railwayProject, error) {
	if h.one != nil {
		return []railwayProject{h.one.Project}, nil
	}
	var all []railwayProject
	for _, team := range h.workspaces {
		if c.Team != "" && c.Team != team.ID {
			continue
		}
		some, err := r.projectsOf(ctx, c, team.ID)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return nil, err
		}
		all = append(all, some...)
	}
	if h.kind != railwayAccount {
		return all, nil
	}
	some, err := r.external(ctx, c)
	return append(all, some...), err
}

func (r *railway) projectsOf(ctx context.Context, c Credential, workspace string) ([]railwayProject, error) {
	more := func(after string) (railwayPage[railwayProject], error) {
		variables := map[string]any{"workspace": workspace}
		if after != "" {
			variables["after"] = after
		}
		var said struct{ Projects railwayPage[railwayProject] }
		err := r.ask(ctx, c, railwayProjects, variables, &said)
		return said.Projects, err
	}
	first, err := more("")
	if err != nil {
		return nil, err
	}
	return railwayAll(first, more)
}

// external are the projects in workspaces of others. Who may not ask for them has
// none.
func (r *railway) external(ctx context.Context, c Credential) ([]railwayProject, error) {
	var said struct {
		ExternalWorkspaces *[]struct {
			ID       string
			Projects []railwayProject
		}
	}
	err := r.ask(ctx, c, railwayExternal, nil, &said)
	switch {
	case errors.Is(err, ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	case said.ExternalWorkspaces == nil:
		return nil, errRailwayHollow
	}
	var all []railwayProject
	for _, w := range *said.ExternalWorkspaces {
		if c.Team == "" || c.Team == w.ID {
			all = append(all, w.Projects...)
		}
	}
	return all, nil
}

// Find is a project, or one of its services.
func (r *railway) Find(ctx context.Context, c Credential, project, service string) (Project, error) {
	if project == "" {
		return Project{}, ErrNotFound
	}
	var p railwayProject
	var only *railwayScope
	if c.Kind == railwayOne {
		h, err := r.holder(ctx, c)
		if err != nil {
			return Project{}, err
		}
		p, only = h.one.Project, h.one
	} else {
		var said struct{ Project railwayProject }
		if err := r.ask(ctx, c, railwayFind, map[string]any{"id": project}, &said); err != nil {
			return Project{}, railwayUnknown(err)
		}
		p = said.Project
		if c.Team != "" && p.Workspace.ID != "" && p.Workspace.ID != c.Team {
			return Project{}, ErrNotFound
		}
	}
	entries, err := r.entries(ctx, c, p, only)
	if err != nil {
		return Project{}, err
	}
	i := slices.IndexFunc(entries, func(e Project) bool { return e.ID == project && e.Service == service })
	if i < 0 {
		return Project{}, ErrNotFound
	}
	return entries[i], nil
}

// railwayUnknown turns the refusal of an id that cannot be one into "not found".
func railwayUnknown(err error) error {
	if f, ok := errors.AsType[*Failure](err); ok && f.Code == CodeRefused {
		return ErrNotFound
	}
	return err
}

// entries are what a project is to us: one for what its services share, and one
// for each service.
func (r *railway) entries(ctx context.Context, c Credential, p railwayProject, only *railwayScope) ([]Project, error) {
	if p.ID == "" || p.Name == "" {
		return nil, errRailwayHollow
	}
	created, _ := time.Parse(time.RFC3339, p.CreatedAt) // zero is fine
	shared := Project{ID: p.ID, Name: p.Name, Team: p.Workspace.ID, TeamName: p.Workspace.Name, Created: created}
	var err error
	if shared.Environments, err = r.environments(ctx, c, p, only); err != nil {
		return nil, err
	}
	services, err := railwayAll(p.Services, func(after string) (railwayPage[railwayService], error) {
		var said struct{ Project railwayProject }
		err := r.ask(ctx, c, railwayMoreServices, map[string]any{"id": p.ID, "after": after}, &said)
		return said.Project.Services, err
	})
	if err != nil {
		return nil, err
	}
	all := []Project{shared}
	for _, s := range services {
		if s.ID == "" {
			return nil, errRailwayHollow
		}
		one := shared
		one.Service, one.ServiceName, one.Environments = s.ID, s.Name, slices.Clone(shared.Environments)
		if len(s.RepoTriggers.Edges) > 0 {
			one.Repository = s.RepoTriggers.Edges[0].Node.Repository
		}
		all = append(all, one)
	}
	return all, nil
}

// environments are those of a project that stay: the others come and go with pull
// requests.
func (r *railway) environments(ctx context.Context, c Credential, p railwayProject, only *railwayScope) ([]Environment, error) {
	found, err := railwayAll(p.Environments, func(after string) (railwayPage[railwayEnvironment], error) {
		var said struct{ Project railwayProject }
		err := r.ask(ctx, c, railwayMoreEnvironments, map[string]any{"id": p.ID, "after": after}, &said)
		return said.Project.Environments, err
	})
	if err != nil {
		return nil, err
	}
	var all []Environment
	for _, e := range found {
		if e.ID == "" || e.Name == "" {
			return nil, errRailwayHollow
		}
		if !e.IsEphemeral && (only == nil || only.Environment.ID == e.ID) {
			all = append(all, Environment{ID: e.ID, Name: e.Name})
		}
	}
	return all, nil
}
