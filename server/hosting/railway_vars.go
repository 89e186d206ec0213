package hosting

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"coffer/server/api"
)

var (
	railwayVariables = railwayOp{name: "variables", text: `query variables($project: String!, $environment: String!, $service: String, $after: String) {
		variables(projectId: $project, environmentId: $environment, serviceId: $service, unrendered: true)
		environment(id: $environment, projectId: $project) {
			id
			variables(first: 1000, after: $after) {
				edges { node { name serviceId isSealed references updatedAt } }
				pageInfo { hasNextPage endCursor }
			}
		}
	}`}

	railwayUpsert = railwayOp{name: "variableCollectionUpsert", changes: true,
		text: `mutation variableCollectionUpsert($input: VariableCollectionUpsertInput!) { variableCollectionUpsert(input: $input) }`}

	railwayDelete = railwayOp{name: "variableDelete", changes: true,
		text: `mutation variableDelete($input: VariableDeleteInput!) { variableDelete(input: $input) }`}
)

// railwayNote is what Railway tells of a variable besides its value.
type railwayNote struct {
	Name       string
	ServiceID  string // "" is shared
	IsSealed   bool
	References []string
	UpdatedAt  string
}

// railwayValues are a target's values. Sealed ones are not among them, nor is what
// is null.
type railwayValues map[string]*api.Secret

// List lists the variables of a service, or those that the services share.
// Railway tells values by target, and all else of all variables of an environment
// together.
func (r *railway) List(ctx context.Context, c Credential, t Target) ([]Variable, error) {
	values, first, err := r.look(ctx, c, t, "")
	if err != nil {
		return nil, err
	}
	notes, err := railwayAll(first, func(after string) (page railwayPage[railwayNote], err error) {
		values, page, err = r.look(ctx, c, t, after)
		return page, err
	})
	if err != nil {
		return nil, err
	}
	found := map[string]Variable{}
	for _, n := range notes {
		if n.Name == "" {
			return nil, errRailwayHollow
		}
		if n.ServiceID == t.Project.Service {
			found[n.Name] = values.noted(n)
		}
	}
	for key, value := range values {
		if _, noted := found[key]; !noted && value != nil {
			found[key] = railwayVariable(key, *value)
		}
	}
	all := slices.Collect(maps.Values(found))
	slices.SortFunc(all, func(a, b Variable) int { return strings.Compare(a.Key, b.Key) })
	return all, nil
}

// look reads a target's values, and one page of what else is told.
func (r *railway) look(ctx context.Context, c Credential, t Target, after string) (railwayValues, railwayPage[railwayNote], error) {
	variables := map[string]any{"project": t.Project.ID, "environment": t.Environment.ID}
	if t.Project.Service != "" {
		variables["service"] = t.Project.Service
	}
	if after != "" {
		variables["after"] = after
	}
	var said struct {
		Variables   railwayValues
		Environment struct {
			ID        string
			Variables railwayPage[railwayNote]
		}
	}
	err := r.ask(ctx, c, railwayVariables, variables, &said)
	if err == nil && (said.Variables == nil || said.Environment.ID != t.Environment.ID) {
		err = errRailwayHollow
	}
	return said.Variables, said.Environment.Variables, err
}

// railwayVariable is a variable whose value is told.
func railwayVariable(key string, value api.Secret) Variable {
	v := Variable{Key: key, Value: value, Readable: true, Origin: FromUser}
	switch {
	case strings.HasPrefix(key, "RAILWAY_"):
		v.Origin = FromSystem
	case strings.Contains(value.Reveal(), "${{"):
		v.Origin = FromReference
	}
	return v
}

// noted is a variable that is told of. Without a value it is there all the same,
// and its value cannot be read.
func (values railwayValues) noted(n railwayNote) Variable {
	v := railwayVariable(n.Name, api.Secret{})
	if value := values[n.Name]; value != nil && !n.IsSealed {
		v = railwayVariable(n.Name, *value)
	} else {
		v.Readable = false
	}
	if len(n.References) > 0 && v.Origin == FromUser {
		v.Origin = FromReference
	}
	v.Mark = n.UpdatedAt
	return v
}

// Write writes all variables with one request, which leaves all others as they
// are, keeps seals, and deploys nothing.
func (r *railway) Write(ctx context.Context, c Credential, t Target, all []Write, done func(Outcome) error) error {
	var good []Write
	for _, w := range all {
		if !strings.HasPrefix(w.Key, "RAILWAY_") {
			good = append(good, w)
		} else if err := done(Outcome{Key: w.Key, Err: &Failure{Code: CodeReserved}}); err != nil {
			return err
		}
	}
	return r.put(ctx, c, t, good, done)
}

// put writes variables. Railway takes all or none and does not say which it does
// not like, so those that it refuses are tried again by halves.
func (r *railway) put(ctx context.Context, c Credential, t Target, all []Write, done func(Outcome) error) error {
	if len(all) == 0 {
		return nil
	}
	err := r.upsert(ctx, c, t, all)
	f, failed := errors.AsType[*Failure](err)
	if refused := failed && (f.Code == CodeRefused || f.Code == CodeTooLarge); err != nil && !refused {
		return err
	}
	if half := len(all) / 2; err != nil && half > 0 {
		if err := r.put(ctx, c, t, all[:half], done); err != nil {
			return err
		}
		return r.put(ctx, c, t, all[half:], done)
	}
	for _, w := range all {
		if err := done(Outcome{Key: w.Key, Err: err}); err != nil {
			return err
		}
	}
	return nil
}

// upsert writes variables, all or none.
func (r *railway) upsert(ctx context.Context, c Credential, t Target, all []Write) error {
	values := map[string]api.Revealed{}
	for _, w := range all {
		values[w.Key] = api.Revealed(w.Value.Reveal())
	}
	input := t.railwayInput()
	input["variables"] = values
	input["replace"] = false
	input["skipDeploys"] = true
	var said struct{ VariableCollectionUpsert *bool }
	err := r.ask(ctx, c, railwayUpsert, map[string]any{"input": input}, &said)
	return railwayDone(err, said.VariableCollectionUpsert)
}

// railwayInput says where something is to be changed.
func (t Target) railwayInput() map[string]any {
	input := map[string]any{"projectId": t.Project.ID, "environmentId": t.Environment.ID}
	if t.Project.Service != "" {
		input["serviceId"] = t.Project.Service
	}
	return input
}

// railwayDone wants a change to be answered with true.
func railwayDone(err error, yes *bool) error {
	switch {
	case err != nil:
		return err
	case yes == nil:
		return errRailwayHollow
	case !*yes:
		return &Failure{Code: CodeRefused}
	}
	return nil
}

// Delete deletes one variable after the other: there is no other way that leaves
// alone what users have staged for the environment. Each may deploy its service.
func (r *railway) Delete(ctx context.Context, c Credential, t Target, all []Variable, done func(Outcome) error) error {
	reached := false
	for _, v := range all {
		input := t.railwayInput()
		input["name"] = v.Key
		var said struct{ VariableDelete *bool }
		err := railwayDone(r.ask(ctx, c, railwayDelete, map[string]any{"input": input}, &said), said.VariableDelete)
		if errors.Is(err, ErrNotFound) {
			// It is gone, unless it is all of the place that cannot be found.
			if !reached {
				_, err = r.List(ctx, c, t)
			}
			if reached = reached || err == nil; reached {
				err = nil
			}
		}
		if err := settle(v.Key, err, done); err != nil {
			return err
		}
	}
	return nil
}
