package hostingtest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"coffer/server/standin"
)

var (
	netlifyScopes       = []string{"builds", "functions", "runtime", "post_processing"}
	netlifySecretScopes = []string{"builds", "functions", "runtime"}
)

// netlifyReserved are names that it sets itself. It turns them down though they
// have no prefix.
var netlifyReserved = []string{"SITE_NAME", "SITE_ID", "URL"}

// netlifyDraft is a variable as a request describes it.
type netlifyDraft struct {
	Key    *string             `json:"key"`
	Scopes []string            `json:"scopes"`
	Values []netlifyDraftValue `json:"values"`
	Secret bool                `json:"is_secret"`
}

type netlifyDraftValue struct {
	ID      string  `json:"id"`
	Value   *string `json:"value"`
	Context string  `json:"context"`
	Branch  string  `json:"context_parameter"`
}

// place is where the request is about: the site that it names, or else what the
// sites of the team share. Not everybody who works on a site gets to see that.
func (a *netlifyAsk) place() (*netlifyTeam, netlifyVars, bool) {
	team := a.teams[a.PathValue("account")]
	for _, t := range a.teams {
		if t.slug == a.PathValue("account") {
			team = t
		}
	}
	site, named := a.sites[a.URL.Query().Get("site_id")], a.URL.Query().Has("site_id")
	switch {
	case team == nil:
	case named && site != nil && site.team == team.id:
		if reaches, _ := a.reaches(site); reaches {
			return team, site.vars, true
		}
	case named:
	case slices.Contains(a.user.teams, team.id):
		return team, team.vars, true
	case slices.ContainsFunc(a.user.sites, func(id string) bool { return a.sites[id].team == team.id }):
		a.fail(http.StatusForbidden, "You do not have permission to see the environment variables of this team")
		return nil, nil, false
	}
	a.fail(http.StatusNotFound, "Not Found")
	return nil, nil, false
}

// known is the variable that the request names.
func (a *netlifyAsk) known() (*netlifyTeam, netlifyVars, *netlifyVar) {
	team, vars, ok := a.place()
	if !ok {
		return nil, nil, nil
	}
	v := vars[a.PathValue("key")]
	if v == nil {
		a.deny(http.StatusNotFound, "there is no such variable")
	}
	return team, vars, v
}

func (a *netlifyAsk) vars() {
	if _, vars, ok := a.place(); ok {
		standin.Answer(a.rw, http.StatusOK, vars.shown())
	}
}

func (a *netlifyAsk) variable() {
	if _, _, v := a.known(); v != nil {
		standin.Answer(a.rw, http.StatusOK, v.shown())
	}
}

// create takes all variables or none.
func (a *netlifyAsk) create() {
	team, vars, ok := a.place()
	var drafts []netlifyDraft
	if !ok || !a.read(&drafts) {
		return
	}
	made := netlifyVars{}
	for _, d := range drafts {
		switch {
		case d.Key == nil || *d.Key == "":
			a.deny(http.StatusUnprocessableEntity, "a variable needs a key")
			return
		case vars[*d.Key] != nil || made[*d.Key] != nil:
			a.deny(http.StatusUnprocessableEntity, "a variable with this key exists already")
			return
		}
		v := &netlifyVar{key: *d.Key}
		if !a.fill(team, v, d) {
			return
		}
		made[v.key] = v
	}
	shown := []any{}
	for _, d := range drafts {
		vars[*d.Key] = made[*d.Key]
		shown = append(shown, vars[*d.Key].shown())
	}
	standin.Answer(a.rw, http.StatusCreated, shown)
}

// fill gives a variable what a draft says, and nothing else.
func (a *netlifyAsk) fill(team *netlifyTeam, v *netlifyVar, d netlifyDraft) bool {
	var scopes []string
	for _, s := range d.Scopes {
		scopes = append(scopes, strings.ReplaceAll(s, "-", "_"))
	}
	slices.Sort(scopes)
	wrong := ""
	switch {
	case slices.Contains(netlifyReserved, *d.Key):
		wrong = *d.Key + " is a reserved environment variable"
	case len(d.Values) == 0:
		wrong = "a variable needs values"
	case slices.ContainsFunc(scopes, func(s string) bool { return !slices.Contains(netlifyScopes, s) }):
		wrong = "unknown scope"
	case v.secret && !d.Secret:
		wrong = "a secret stays one"
	case d.Secret && !slices.Equal(scopes, netlifySecretScopes) && (!team.paid || len(scopes) == 0 || slices.Contains(scopes, "post_processing")):
		wrong = "a secret needs scopes, and post processing is none for it"
	case !d.Secret && len(d.Scopes) > 0 && !team.paid:
		a.fail(http.StatusForbidden, "Upgrade your Netlify account to set specific scopes")
		return false
	}
	if wrong != "" {
		a.deny(http.StatusUnprocessableEntity, wrong)
		return false
	}
	if len(scopes) == 0 {
		scopes = slices.Clone(netlifyScopes)
	}
	v.key, v.scopes, v.secret, v.values = *d.Key, scopes, d.Secret, nil
	for _, x := range d.Values {
		if why := x.wrong(v, true); why != "" {
			a.deny(http.StatusUnprocessableEntity, why)
			return false
		}
		v.values = append(v.values, &netlifyValue{a.number("value"), *x.Value, x.Context, x.Branch})
		a.conceal(*x.Value)
	}
	a.touch(v)
	return true
}

// wrong is what keeps a value from being one of a variable. With the whole
// variable, a secret has no value for developers; later it may get one.
func (x netlifyDraftValue) wrong(v *netlifyVar, whole bool) string {
	known := slices.Concat(netlifyContexts, []string{"all", "branch"})
	switch {
	case x.Value == nil:
		return "a value is missing"
	case !slices.Contains(known, x.Context):
		return fmt.Sprintf("%q is no deploy context", x.Context)
	case (x.Branch != "") != (x.Context == "branch"):
		return "a branch needs a name, and nothing else does"
	case v.secret && x.Context == "all":
		return "a secret needs explicit deploy contexts"
	case v.secret && whole && strings.HasPrefix(x.Context, "dev") && *x.Value != "":
		return "a secret is not for development"
	case whole && v.own(x.Context, x.Branch) != nil:
		return "a deploy context has two values"
	}
	return ""
}

// patch sets one value. A new one can be told from a changed one by nothing.
func (a *netlifyAsk) patch() {
	_, _, v := a.known()
	var x netlifyDraftValue
	if v == nil || !a.read(&x) {
		return
	}
	if x.ID != "" {
		a.deny(http.StatusBadRequest, "unknown field id")
		return
	}
	if why := x.wrong(v, false); why != "" {
		a.deny(http.StatusUnprocessableEntity, why)
		return
	}
	a.conceal(*x.Value)
	a.put(v, x.Context, x.Branch, *x.Value)
	standin.Answer(a.rw, http.StatusCreated, v.shown())
}

// replace leaves nothing of what there was.
func (a *netlifyAsk) replace() {
	team, vars, v := a.known()
	var d netlifyDraft
	if v == nil || !a.read(&d) {
		return
	}
	if d.Key == nil {
		d.Key = &v.key
	}
	old, next := v.key, &netlifyVar{secret: v.secret}
	if !a.fill(team, next, d) {
		return
	}
	delete(vars, old)
	vars[next.key] = next
	standin.Answer(a.rw, http.StatusOK, next.shown())
}

func (a *netlifyAsk) remove() {
	if _, vars, v := a.known(); v != nil {
		delete(vars, v.key)
		a.rw.WriteHeader(http.StatusNoContent)
	}
}

func (a *netlifyAsk) removeValue() {
	_, _, v := a.known()
	if v == nil {
		return
	}
	if !v.drop(a.PathValue("id")) {
		a.deny(http.StatusNotFound, "there is no such value")
		return
	}
	a.touch(v)
	a.rw.WriteHeader(http.StatusNoContent)
}
