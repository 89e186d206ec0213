package hostingtest

import (
	"net/http"
	"slices"
)

// inScope is the project that a request is about, by id or name.
func (v *Vercel) inScope(r *vercelAsked) (*vercelProject, *vercelRefusal) {
	named := r.PathValue("project")
	i := slices.IndexFunc(v.projects, func(p *vercelProject) bool {
		return p.owner == r.owner && (p.id == named || p.name == named)
	})
	if i < 0 {
		return nil, refuse(http.StatusNotFound, "not_found", "Project not found.")
	}
	return v.projects[i], nil
}

func (v *Vercel) getProjects(r *vercelAsked) (int, any, *vercelRefusal) {
	var all []*vercelProject
	for _, p := range v.projects {
		if p.owner == r.owner {
			all = append(all, p)
		}
	}
	page, about := pageOf(v, r.URL.Query(), "from", all, 20)
	said := []any{}
	for _, p := range page {
		said = append(said, p.json())
	}
	return http.StatusOK, map[string]any{"projects": said, "pagination": about}, nil
}

func (v *Vercel) getProject(r *vercelAsked) (int, any, *vercelRefusal) {
	p, refusal := v.inScope(r)
	if refusal != nil {
		return 0, nil, refusal
	}
	return http.StatusOK, p.json(), nil
}

// json is the project, with what Vercel never leaves out though nobody here asks
// for it.
func (p *vercelProject) json() map[string]any {
	config := map[string]any{"functionDefaultRegions": []string{"iad1"}}
	said := map[string]any{
		"id": p.id, "name": p.name, "accountId": p.owner, "createdAt": p.created, "updatedAt": p.created, "framework": "nextjs",
		"alias": []any{}, "directoryListing": false, "nodeVersion": "22.x", "defaultResourceConfig": config, "resourceConfig": config,
		"deploymentExpiration": map[string]any{"expirationDays": 30, "expirationDaysProduction": 365, "expirationDaysCanceled": 30, "expirationDaysErrored": 90, "deploymentsToKeep": 10},
	}
	if p.link != nil {
		said["link"] = p.link
	}
	if !p.bare {
		said["customEnvironments"] = p.environments()
	}
	return said
}

func (p *vercelProject) environments() []any {
	all := []any{}
	for _, c := range p.custom {
		all = append(all, map[string]any{"id": c.id, "slug": c.slug, "type": "preview", "createdAt": p.created, "updatedAt": p.created})
	}
	return all
}

func (v *Vercel) getEnvironments(r *vercelAsked) (int, any, *vercelRefusal) {
	p, refusal := v.inScope(r)
	if refusal != nil {
		return 0, nil, refusal
	}
	return http.StatusOK, map[string]any{"accountLimit": map[string]any{"total": 12}, "environments": p.environments()}, nil
}
