package hosting

import (
	"context"
	"errors"
	"time"
)

// Projects lists the projects of the credential's team or, without one, of all
// its user's teams and of the user.
func (v *vercel) Projects(ctx context.Context, c Credential) ([]Project, error) {
	teams, err := v.teams(ctx, c)
	if err != nil {
		return nil, err
	}
	var all []Project
	var refused error
	reached := false
	seen := map[string]bool{}
	for _, team := range teams {
		found, err := v.projectsOf(ctx, c, team)
		if refused = beyond(err); errors.Is(refused, ErrNotFound) {
			continue // a token may be limited to some of its user's teams
		}
		if err != nil {
			return nil, err
		}
		reached = true
		for _, p := range found {
			// For some users the personal account stands for one of their teams.
			if !seen[p.ID] {
				seen[p.ID] = true
				all = append(all, p)
			}
		}
	}
	if !reached {
		return nil, refused
	}
	return all, nil
}

func (v *vercel) projectsOf(ctx context.Context, c Credential, team vercelTeam) ([]Project, error) {
	q := call{path: "/v10/projects", query: v.scope(team.ID), cred: c}
	q.query.Set("limit", "100")
	var all []Project
	err := v.pages(ctx, q, "from", func(a *answer) (vercelPage, error) {
		var page struct {
			vercelPage
			Projects []vercelProject `json:"projects"`
		}
		if err := a.decode(&page); err != nil {
			return vercelPage{}, err
		}
		if page.Projects == nil {
			return vercelPage{}, a.senseless()
		}
		for _, p := range page.Projects {
			if p.ID == "" {
				return vercelPage{}, a.senseless()
			}
			if err := v.complete(ctx, c, team, &p); err != nil {
				return vercelPage{}, err
			}
			all = append(all, p.project(team))
		}
		return page.vercelPage, nil
	})
	return all, err
}

type vercelProject struct {
	ID        string  `json:"id"`
	Name      string  `json:"name"`
	Framework *string `json:"framework"`
	CreatedAt int64   `json:"createdAt"` // milliseconds
	Link      *struct {
		Org, Owner       string
		Repo, Slug       string
		ProjectNamespace string // at GitLab, as is the name
		ProjectName      string
	} `json:"link"`
	Custom []vercelEnvironment `json:"customEnvironments"`
}

type vercelEnvironment struct {
	ID   string `json:"id"`
	Slug string `json:"slug"`
}

func (p vercelProject) project(team vercelTeam) Project {
	x := Project{ID: p.ID, Name: p.Name, Team: team.ID, TeamName: team.Name, Repository: p.repository()}
	if p.Framework != nil {
		x.Framework = *p.Framework
	}
	if p.CreatedAt > 0 {
		x.Created = time.UnixMilli(p.CreatedAt).UTC()
	}
	for _, name := range vercelTargets {
		x.Environments = append(x.Environments, Environment{name, name})
	}
	for _, e := range p.Custom {
		if e.ID != "" && e.Slug != "" {
			x.Environments = append(x.Environments, Environment{e.ID, e.Slug})
		}
	}
	return x
}

// repository is what the project is built from, as each code host names it.
func (p vercelProject) repository() string {
	if p.Link == nil {
		return ""
	}
	for _, name := range [][2]string{
		{p.Link.Org, p.Link.Repo}, {p.Link.Owner, p.Link.Repo}, {p.Link.Owner, p.Link.Slug}, {p.Link.ProjectNamespace, p.Link.ProjectName},
	} {
		if name[0] != "" && name[1] != "" {
			return name[0] + "/" + name[1]
		}
	}
	return ""
}

// Find is a project. Without a team, all that the credential reaches are searched.
func (v *vercel) Find(ctx context.Context, c Credential, project, service string) (Project, error) {
	if service != "" {
		return Project{}, ErrNotFound
	}
	if c.Team == "" { // mostly it is there, and the list of teams is not needed
		if p, err := v.find(ctx, c, vercelTeam{}, project); !errors.Is(err, ErrNotFound) {
			return p, err
		}
	}
	teams, err := v.teams(ctx, c)
	if err != nil {
		return Project{}, err
	}
	for _, team := range teams {
		if team.ID == "" {
			continue
		}
		if p, err := v.find(ctx, c, team, project); !errors.Is(err, ErrNotFound) {
			return p, err
		}
	}
	return Project{}, ErrNotFound
}

func (v *vercel) find(ctx context.Context, c Credential, team vercelTeam, project string) (Project, error) {
	var p vercelProject
	q := call{path: "/v9/projects/" + segment(project), query: v.scope(team.ID), cred: c}
	a, err := v.api.ask(ctx, q, &p)
	if err != nil {
		return Project{}, beyond(err)
	}
	if p.ID == "" {
		return Project{}, a.senseless()
	}
	if p.ID != project {
		return Project{}, ErrNotFound // it was found by its name, which is another's tomorrow
	}
	if err := v.complete(ctx, c, team, &p); err != nil {
		return Project{}, err
	}
	return p.project(team), nil
}

// complete asks for the environments of a project's own making, where the answer
// left them out.
func (v *vercel) complete(ctx context.Context, c Credential, team vercelTeam, p *vercelProject) error {
	if p.Custom != nil {
		return nil
	}
	var said struct {
		Environments []vercelEnvironment `json:"environments"`
	}
	q := call{path: "/v9/projects/" + segment(p.ID) + "/custom-environments", query: v.scope(team.ID), cred: c}
	a, err := v.api.ask(ctx, q, &said)
	if _, refused := errors.AsType[*Failure](err); refused {
		return nil // the account's plan has none
	}
	if err == nil && said.Environments == nil {
		err = a.senseless()
	}
	p.Custom = said.Environments
	return err
}
