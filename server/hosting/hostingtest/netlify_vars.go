package hostingtest

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"
)

// netlifyVars are variables by key, of a site or of a team.
type netlifyVars map[string]*netlifyVar

type netlifyVar struct {
	key    string
	scopes []string
	values []*netlifyValue
	secret bool
	at     time.Time
}

type netlifyValue struct{ id, value, context, branch string }

// own is the value that a context, or a branch, has of its own.
func (v *netlifyVar) own(context, branch string) *netlifyValue {
	for _, x := range v.values {
		if x.context == context && x.branch == branch {
			return x
		}
	}
	return nil
}

// effective is the value that a context sees.
func (v *netlifyVar) effective(context string) *netlifyValue {
	return cmp.Or(v.own(context, ""), v.own("all", ""))
}

// shown is the variable as the API answers it.
func (v *netlifyVar) shown() map[string]any {
	values := []any{}
	for _, x := range v.values {
		value := map[string]any{"id": x.id, "value": v.masked(x), "context": x.context}
		if x.branch != "" {
			value["context_parameter"] = x.branch
		}
		values = append(values, value)
	}
	return map[string]any{
		"key": v.key, "scopes": v.scopes, "values": values, "is_secret": v.secret,
		"updated_at": v.at.UTC().Format("2006-01-02T15:04:05.000Z"),
		"updated_by": map[string]any{"id": "1", "full_name": "Somebody", "email": "somebody@example.com", "avatar_url": ""},
	}
}

// masked is a value as far as it is given back: not at all for the branches, as
// its end for the rest.
func (v *netlifyVar) masked(x *netlifyValue) string {
	switch {
	case !v.secret || x.context == "dev":
		return x.value
	case x.context == "branch" || len(x.value) < 12:
		return ""
	}
	return strings.Repeat("*", len(x.value)-4) + x.value[len(x.value)-4:]
}

func (vars netlifyVars) shown() []any {
	all := []any{}
	for _, key := range slices.Sorted(maps.Keys(vars)) {
		all = append(all, vars[key].shown())
	}
	return all
}

// touch notes a change. No two are at the same time.
func (n *Netlify) touch(v *netlifyVar) {
	n.ahead += time.Millisecond
	v.at = n.now()
}

// put sets a value, as the API's PATCH does.
func (n *Netlify) put(v *netlifyVar, context, branch, value string) {
	if shared := v.own("all", ""); shared != nil && context != "all" && n.Splits != NetlifyKeeps {
		v.drop(shared.id)
		for _, c := range netlifyContexts {
			if n.Splits == NetlifyExpands && v.own(c, "") == nil {
				v.values = append(v.values, &netlifyValue{n.number("value"), shared.value, c, ""})
			}
		}
	}
	if x := v.own(context, branch); x != nil {
		x.value = value
	} else {
		v.values = append(v.values, &netlifyValue{n.number("value"), value, context, branch})
	}
	n.touch(v)
}

// drop takes a value away. The variable stays, even without any.
func (v *netlifyVar) drop(id string) bool {
	before := len(v.values)
	v.values = slices.DeleteFunc(v.values, func(x *netlifyValue) bool { return x.id == id })
	return len(v.values) < before
}

// netlifyContexts are those that can have a value of their own, but for branches.
var netlifyContexts = []string{"production", "deploy-preview", "branch-deploy", "dev", "dev-server"}

// netlifyContext is an environment's name there.
func netlifyContext(environment string) string {
	if environment == "local" {
		return "dev"
	}
	return environment
}

// Set is somebody's setting of a value on the site's page, for one context or for
// all, and without any effect on the others. "branch:" begins a branch's name.
func (n *Netlify) Set(site, environment, key, value string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	context, branch := netlifyContext(environment), ""
	if name, ok := strings.CutPrefix(environment, "branch:"); ok {
		context, branch = "branch", name
	}
	v := n.sites[site].vars.add(key)
	n.conceal(value)
	if x := v.own(context, branch); x != nil {
		x.value = value
	} else {
		v.values = append(v.values, &netlifyValue{n.number("value"), value, context, branch})
	}
	n.touch(v)
}

// SetTeam is somebody's setting of a variable that all sites of a team have.
func (n *Netlify) SetTeam(team, key, value string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	v := n.teams[team].vars.add(key)
	v.values = []*netlifyValue{{n.number("value"), value, "all", ""}}
	n.touch(v)
}

func (vars netlifyVars) add(key string) *netlifyVar {
	if vars[key] == nil {
		vars[key] = &netlifyVar{key: key, scopes: slices.Clone(netlifyScopes)}
	}
	return vars[key]
}

// Unset is somebody's taking a value from one environment, which no other misses.
func (n *Netlify) Unset(site, environment, key string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	v, context := n.sites[site].vars[key], netlifyContext(environment)
	if shared := v.own("all", ""); shared != nil {
		for _, c := range netlifyContexts {
			if c != context && v.own(c, "") == nil {
				v.values = append(v.values, &netlifyValue{n.number("value"), shared.value, c, ""})
			}
		}
		v.drop(shared.id)
	}
	if own := v.own(context, ""); own != nil {
		v.drop(own.id)
	}
	n.touch(v)
	if len(v.values) == 0 {
		delete(n.sites[site].vars, key)
	}
}

// Hide makes a secret with a value in one environment, or marks one that there is.
func (n *Netlify) Hide(site, environment, key, value string) {
	n.Set(site, environment, key, value)
	n.mu.Lock()
	defer n.mu.Unlock()
	v := n.sites[site].vars[key]
	v.secret, v.scopes = true, slices.Clone(netlifySecretScopes)
}

// Secret reports whether a variable of a site is a secret.
func (n *Netlify) Secret(site, key string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	v := n.sites[site].vars[key]
	return v != nil && v.secret
}

// Held is what takes effect in an environment of a site, the team's variables
// left out.
func (n *Netlify) Held(site, environment string) map[string]string {
	n.mu.Lock()
	defer n.mu.Unlock()
	held := map[string]string{}
	for key, v := range n.sites[site].vars {
		if x := v.effective(netlifyContext(environment)); x != nil {
			held[key] = x.value
		}
	}
	return held
}

// Values are all values of a site's variable, by context, those of branches by
// "branch:" and their name. Nil is one that there is not.
func (n *Netlify) Values(site, key string) map[string]string {
	n.mu.Lock()
	defer n.mu.Unlock()
	v := n.sites[site].vars[key]
	if v == nil {
		return nil
	}
	values := map[string]string{}
	for _, x := range v.values {
		name := x.context
		if x.branch != "" {
			name += ":" + x.branch
		}
		values[name] = x.value
	}
	return values
}
