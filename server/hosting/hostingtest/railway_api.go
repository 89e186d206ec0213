package hostingtest

import (
	"fmt"
	"slices"
	"strings"
)

const railwayTime = "2006-01-02T15:04:05.000Z07:00"

// query is where questions begin.
func (x railwayRun) query() map[string]any {
	return map[string]any{
		"me":           railwayField(x.me),
		"apiToken":     railwayField(x.apiToken),
		"projectToken": railwayField(x.projectToken),
		"projects":     railwayField(x.projects),
		"project": railwayField(func(args map[string]any) (any, error) {
			p, err := x.reach(args["id"], "")
			if err != nil {
				return nil, err
			}
			return x.project(p), nil
		}),
		"externalWorkspaces": railwayField(x.externalWorkspaces),
		"environment":        railwayField(x.environment),
		"variables":          railwayField(x.values),
	}
}

// mutation is where changes begin.
func (x railwayRun) mutation() map[string]any {
	return map[string]any{"variableCollectionUpsert": railwayField(x.upsert), "variableDelete": railwayField(x.remove)}
}

// reaches reports whether whoever asks reaches a project, or one environment of
// it.
func (x railwayRun) reaches(p *railwayProject, environment string) bool {
	t := x.who
	switch {
	case t == nil:
		return false
	case t.grant != nil:
		return slices.Contains(t.grant.projects, p.id) || slices.Contains(t.grant.workspaces, p.workspace)
	case t.user != "":
		u := x.r.users[t.user]
		return u.enters(x.r, p.workspace) || slices.Contains(u.external, p.id)
	case t.workspace != "":
		return t.workspace == p.workspace
	}
	return t.project == p.id && (environment == "" || environment == t.environment)
}

// reach is a project, as far as whoever asks reaches it.
func (x railwayRun) reach(id any, environment string) (*railwayProject, error) {
	p := x.r.project(fmt.Sprint(id))
	switch {
	case x.who == nil:
		return nil, errRailwayDenied
	case p == nil:
		return nil, railwayMissing("Project")
	case !x.reaches(p, environment):
		return nil, errRailwayDenied
	}
	return p, nil
}

// place is an environment, and the service in it unless it is nil.
func (x railwayRun) place(args map[string]any) (p *railwayProject, e *railwayEnvironment, service string, err error) {
	if p, err = x.reach(args["projectId"], fmt.Sprint(args["environmentId"])); err != nil {
		return nil, nil, "", err
	}
	if e = p.environment(fmt.Sprint(args["environmentId"])); e == nil {
		return nil, nil, "", railwayMissing("Environment")
	}
	if args["serviceId"] != nil {
		service = fmt.Sprint(args["serviceId"])
		if !slices.ContainsFunc(p.services, func(s railwayService) bool { return s.id == service }) {
			return nil, nil, "", railwayMissing("Service")
		}
	}
	return p, e, service, nil
}

// me is the user of a token, for tokens that have one.
func (x railwayRun) me(map[string]any) (any, error) {
	if x.who == nil || x.who.user == "" {
		return nil, errRailwayDenied
	}
	u := x.r.users[x.who.user]
	ids := u.workspaces
	if x.who.grant != nil {
		ids = x.who.grant.workspaces
	}
	return map[string]any{
		"id": u.id, "name": nil, "username": u.name, "email": u.name + "@example.com", "workspaces": x.r.named(ids),
	}, nil
}

func (r *Railway) named(ids []string) []map[string]any {
	all := []map[string]any{}
	for _, w := range r.workspaces {
		if slices.Contains(ids, w.id) {
			all = append(all, map[string]any{"id": w.id, "name": w.name})
		}
	}
	return all
}

// apiToken is what a token that somebody made by hand reaches.
func (x railwayRun) apiToken(map[string]any) (any, error) {
	t := x.who
	switch {
	case t == nil || t.grant != nil || t.project != "":
		return nil, errRailwayDenied
	case t.user != "":
		return map[string]any{"workspaces": x.r.named(x.r.users[t.user].workspaces)}, nil
	}
	return map[string]any{"workspaces": x.r.named([]string{t.workspace})}, nil
}

func (x railwayRun) projectToken(map[string]any) (any, error) {
	if x.who == nil || x.who.project == "" {
		return nil, errRailwayDenied
	}
	p := x.r.project(x.who.project)
	if p == nil {
		return nil, railwayMissing("Project")
	}
	e := p.environment(x.who.environment)
	return map[string]any{
		"id": "of " + e.id, "projectId": p.id, "project": x.project(p), "environmentId": e.id, "environment": x.noted(p, e),
	}, nil
}

func (x railwayRun) projects(args map[string]any) (any, error) {
	workspace, named := args["workspaceId"].(string)
	if !named && x.who != nil {
		workspace = x.who.workspace
	}
	var all []map[string]any
	for _, p := range x.r.projects {
		if p.workspace == workspace && x.reaches(p, "") {
			all = append(all, x.project(p))
		}
	}
	if !x.in(workspace) {
		return nil, errRailwayDenied
	}
	return x.page(all, args)
}

// in reports whether whoever asks is in a workspace.
func (x railwayRun) in(workspace string) bool {
	t := x.who
	switch {
	case t == nil:
		return false
	case t.grant != nil:
		return slices.Contains(t.grant.workspaces, workspace)
	case t.user != "":
		return x.r.users[t.user].enters(x.r, workspace)
	}
	return t.workspace != "" && t.workspace == workspace
}

// externalWorkspaces are those with a project that a user was let into, or that
// was chosen for a grant.
func (x railwayRun) externalWorkspaces(map[string]any) (any, error) {
	if x.who == nil || x.who.user == "" {
		return nil, errRailwayDenied
	}
	chosen := x.r.users[x.who.user].external
	if g := x.who.grant; g != nil {
		if len(g.projects) == 0 {
			return nil, errRailwayDenied
		}
		chosen = g.projects
	}
	all := []map[string]any{}
	for _, w := range x.r.workspaces {
		some := []map[string]any{}
		for _, p := range x.r.projects {
			if p.workspace == w.id && slices.Contains(chosen, p.id) {
				some = append(some, x.project(p))
			}
		}
		if len(some) > 0 {
			all = append(all, map[string]any{"id": w.id, "name": w.name, "projects": some})
		}
	}
	return all, nil
}

func (x railwayRun) project(p *railwayProject) map[string]any {
	var workspace any // not told to those who are not in it
	if some := x.r.named([]string{p.workspace}); x.in(p.workspace) && len(some) > 0 {
		workspace = some[0]
	}
	return map[string]any{
		"id": p.id, "name": p.name, "createdAt": p.made.Format(railwayTime), "workspace": workspace,
		"environments": railwayField(func(args map[string]any) (any, error) {
			var all []map[string]any
			for _, e := range p.environments {
				all = append(all, x.noted(p, e))
			}
			return x.page(all, args)
		}),
		"services": railwayField(func(args map[string]any) (any, error) {
			var all []map[string]any
			for _, s := range p.services {
				all = append(all, x.service(p, s))
			}
			return x.page(all, args)
		}),
	}
}

func (x railwayRun) service(p *railwayProject, s railwayService) map[string]any {
	return map[string]any{
		"id": s.id, "name": s.name, "projectId": p.id,
		"repoTriggers": railwayField(func(args map[string]any) (any, error) {
			var all []map[string]any
			if s.repository != "" {
				all = append(all, map[string]any{"id": "of " + s.id, "repository": s.repository, "branch": "main"})
			}
			return x.page(all, args)
		}),
	}
}

func (x railwayRun) environment(args map[string]any) (any, error) {
	id := fmt.Sprint(args["id"])
	for _, p := range x.r.projects {
		e := p.environment(id)
		if e == nil || e.id != id || args["projectId"] != nil && args["projectId"] != p.id {
			continue
		}
		if !x.reaches(p, e.id) {
			return nil, errRailwayDenied
		}
		return x.noted(p, e), nil
	}
	if x.who == nil {
		return nil, errRailwayDenied
	}
	return nil, railwayMissing("Environment")
}

// noted is an environment with what is told of its variables besides their values.
func (x railwayRun) noted(p *railwayProject, e *railwayEnvironment) map[string]any {
	return map[string]any{
		"id": e.id, "name": e.name, "isEphemeral": e.ephemeral, "projectId": p.id,
		"variables": railwayField(func(args map[string]any) (any, error) {
			if !x.reaches(p, e.id) {
				return nil, errRailwayDenied
			}
			var all []map[string]any
			for _, key := range e.keys() {
				v := e.vars[key]
				var service any
				if key.service != "" {
					service = key.service
				}
				all = append(all, map[string]any{
					"id": v.id, "name": key.name, "serviceId": service, "environmentId": e.id, "isSealed": v.sealed, "references": v.references(),
					"createdAt": v.made.Format(railwayTime), "updatedAt": v.changed.Format(railwayTime),
				})
			}
			return x.page(all, args)
		}),
	}
}

// page is a part of a list.
func (x railwayRun) page(all []map[string]any, args map[string]any) (any, error) {
	from := 0
	if after, ok := args["after"].(string); ok {
		if n, err := fmt.Sscanf(after, "cursor-%d", &from); n != 1 || err != nil || from > len(all) {
			return nil, railwayBad("Invalid cursor.")
		}
	}
	first, _ := args["first"].(int64)
	if args["first"] != nil && first == 0 {
		return nil, railwayBad("Invalid first.")
	}
	to := min(from+x.r.PageSize(int(first), 20, 10000), len(all))
	edges := []map[string]any{}
	for i := from; i < to; i++ {
		edges = append(edges, map[string]any{"cursor": fmt.Sprintf("cursor-%d", i+1), "node": all[i]})
	}
	info := map[string]any{"hasNextPage": to < len(all), "hasPreviousPage": from > 0, "startCursor": nil, "endCursor": nil}
	if len(edges) > 0 {
		info["startCursor"], info["endCursor"] = edges[0]["cursor"], edges[len(edges)-1]["cursor"]
	}
	return map[string]any{"edges": edges, "pageInfo": info}, nil
}

func (x railwayRun) values(args map[string]any) (any, error) {
	p, e, service, err := x.place(args)
	if err != nil {
		return nil, err
	}
	return x.r.values(p, e, service, args["unrendered"] == true), nil
}

// writable is a place that whoever asks may change.
func (x railwayRun) writable(args map[string]any) (map[string]any, *railwayProject, *railwayEnvironment, string, error) {
	input, _ := args["input"].(map[string]any)
	p, e, service, err := x.place(input)
	if err == nil && x.who.viewer {
		err = errRailwayDenied
	}
	return input, p, e, service, err
}

// upsert writes all variables or none.
func (x railwayRun) upsert(args map[string]any) (any, error) {
	input, p, e, service, err := x.writable(args)
	if err != nil {
		return nil, err
	}
	values, ok := input["variables"].(map[string]any)
	if !ok {
		return nil, railwayBad("The variables are no object.")
	}
	for name, value := range values {
		if _, ok := value.(string); !ok {
			return nil, railwayBad("The value of " + name + " is no string.")
		}
		if name == "" || strings.ContainsAny(name, " =\n") || strings.HasPrefix(name, "RAILWAY_") {
			return nil, railwayBad("Invalid variable name " + name)
		}
	}
	if input["replace"] == true {
		for _, key := range e.keys() {
			if _, stays := values[key.name]; key.service == service && !stays {
				delete(e.vars, key)
			}
		}
	}
	for name, value := range values {
		x.r.set(e, railwayKey{service, name}, value.(string))
	}
	if input["skipDeploys"] != true {
		x.r.deploy(p, service)
	}
	return true, nil
}

func (x railwayRun) remove(args map[string]any) (any, error) {
	input, p, e, service, err := x.writable(args)
	if err != nil {
		return nil, err
	}
	key := railwayKey{service, fmt.Sprint(input["name"])}
	if e.vars[key] == nil {
		if x.r.Forgiving {
			return true, nil
		}
		return nil, railwayMissing("Variable")
	}
	delete(e.vars, key)
	x.r.deploy(p, service)
	return true, nil
}
