package hosting

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"

	"coffer/server/api"
)

// Contexts that are no environment of ours. Whatever has no value of its own
// takes the one for all of them.
const (
	netlifyAll = "all"
	netlifyDev = "dev"
)

// netlifyContexts are all that take the value for all contexts, but for the
// branches that have one of their own.
var netlifyContexts = []string{"production", "deploy-preview", "branch-deploy", netlifyDev, "dev-server"}

// netlifyPlace is a target in Netlify's words.
type netlifyPlace struct {
	cred    Credential
	account string
	site    string
	context string
}

func (t Target) netlify(c Credential) (netlifyPlace, error) {
	known := slices.ContainsFunc(netlifyEnvironments, func(e Environment) bool { return e.ID == t.Environment.ID })
	if !known || t.Project.Team == "" || t.Project.Service != "" {
		return netlifyPlace{}, ErrNotFound
	}
	return netlifyPlace{cred: c, account: t.Project.Team, site: t.Project.ID, context: t.Environment.ID}, nil
}

// call is one about the site's variables, below their path.
func (p netlifyPlace) call(method, below string, body any) call {
	c := p.team()
	c.method, c.path, c.json = method, c.path+below, body
	c.query = url.Values{"site_id": {p.site}}
	return c
}

// team lists the variables that the team's sites share.
func (p netlifyPlace) team() call {
	return call{path: "/api/v1/accounts/" + segment(p.account) + "/env", cred: p.cred}
}

// netlifyVar is a variable with its values in all contexts.
type netlifyVar struct {
	Key     string         `json:"key"`
	Values  []netlifyValue `json:"values"`
	Secret  bool           `json:"is_secret"`
	Updated string         `json:"updated_at"`
}

type netlifyValue struct {
	ID      string      `json:"id"`
	Value   *api.Secret `json:"value"`
	Context string      `json:"context"`
}

func (v netlifyVar) whole() bool {
	hollow := func(x netlifyValue) bool { return x.Context == "" || x.ID == "" }
	return v.Key != "" && v.Values != nil && !slices.ContainsFunc(v.Values, hollow)
}

// own is the value that a context has of its own, or nil.
func (v netlifyVar) own(context string) *netlifyValue {
	i := slices.IndexFunc(v.Values, func(x netlifyValue) bool { return x.Context == context })
	if i < 0 {
		return nil
	}
	return &v.Values[i]
}

// readable reports whether a value is the real one. Of a secret it is so only in
// the context of the developers' own machines.
func (v netlifyVar) readable(x *netlifyValue) bool {
	return x.Value != nil && (!v.Secret || x.Context == netlifyDev)
}

// seen is the variable as it takes effect in a context, if it does.
func (v netlifyVar) seen(context string, origin Origin) (Variable, bool) {
	x := v.own(context)
	shared := x == nil
	if shared {
		x = v.own(netlifyAll)
	}
	if x == nil {
		return Variable{}, false
	}
	out := Variable{Key: v.Key, Origin: origin, Shared: shared || origin == FromAbove, Mark: v.Updated}
	if out.Readable = v.readable(x); out.Readable {
		out.Value = *x.Value
	}
	return out, true
}

func (n *netlify) List(ctx context.Context, c Credential, t Target) ([]Variable, error) {
	at, err := t.netlify(c)
	if err != nil {
		return nil, err
	}
	vars, err := n.vars(ctx, at)
	if err != nil {
		return nil, err
	}
	above, err := n.above(ctx, at)
	if err != nil {
		return nil, err
	}
	var all []Variable
	mine := map[string]bool{}
	for _, v := range vars {
		if x, ok := v.seen(at.context, FromUser); ok {
			all, mine[v.Key] = append(all, x), true
		}
	}
	for _, v := range above {
		if x, ok := v.seen(at.context, FromAbove); ok && !mine[v.Key] {
			all = append(all, x)
		}
	}
	return all, nil
}

// vars are all variables of the site, whatever contexts they have values in.
func (n *netlify) vars(ctx context.Context, at netlifyPlace) ([]netlifyVar, error) {
	return netlifyList[netlifyVar](ctx, n, at.call("", "", nil), 0)
}

// above are the variables that the team's sites share. Who only works on some of
// the sites does not get to see them, nor who is on a plan without such.
func (n *netlify) above(ctx context.Context, at netlifyPlace) ([]netlifyVar, error) {
	vars, err := netlifyList[netlifyVar](ctx, n, at.team(), 0)
	f := (*Failure)(nil)
	if errors.Is(err, ErrNotFound) || errors.As(err, &f) && (f.Code == CodeForbidden || f.Code == CodePlan) {
		return nil, nil
	}
	return vars, err
}

// again is what has become of a variable meanwhile.
func (n *netlify) again(ctx context.Context, at netlifyPlace, key string) (netlifyVar, error) {
	return n.one(ctx, at.call("", "/"+segment(key), nil))
}

// one makes a call that answers one variable.
func (n *netlify) one(ctx context.Context, c call) (netlifyVar, error) {
	var v netlifyVar
	_, err := n.wire.ask(ctx, c, &v)
	if err == nil && !v.whole() {
		err = errNetlifyHollow
	}
	return v, err
}

// set gives a variable that there is a value in one context, and leaves those in
// the others.
func (n *netlify) set(ctx context.Context, at netlifyPlace, key, context string, value api.Secret) (netlifyVar, error) {
	c := at.call(http.MethodPatch, "/"+segment(key), map[string]string{"context": context, "value": value.Reveal()})
	c.again = true
	return n.one(ctx, c)
}

// unset takes a value away. It is known by its id alone.
func (n *netlify) unset(ctx context.Context, at netlifyPlace, key string, x *netlifyValue) error {
	if x == nil {
		return nil
	}
	return n.gone(ctx, at.call(http.MethodDelete, "/"+segment(key)+"/value/"+segment(x.ID), nil))
}

// gone deletes something that somebody else may have deleted already.
func (n *netlify) gone(ctx context.Context, c call) error {
	a, err := n.wire.do(ctx, c)
	switch {
	case errors.Is(err, ErrNotFound):
		return nil
	case err == nil && a.Status != http.StatusNoContent:
		return errNetlifyHollow // a proxy's page, perhaps
	}
	return err
}
