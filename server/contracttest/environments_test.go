package contracttest

import (
	"fmt"
	"strings"
	"testing"
)

func element(name, kind string, order, revision, secrets int) string {
	return fmt.Sprintf(`{"name":%q,"type":%q,"displayOrder":%d,"revision":%d,"secretCount":%d}`, name, kind, order, revision, secrets)
}

func list(elements ...string) string { return "[" + strings.Join(elements, ",") + "]" }

func TestEnvironmentsAreMadeRenamedRetypedAndDeleted(t *testing.T) {
	t.Parallel()
	ann := newSite(t).user(t, "ann")
	v := ann.vault(t, "@ann/api")
	envs := v.at() + "/environments"
	development, staging, production := element("development", "development", 0, 0, 0), element("staging", "standard", 1, 0, 0), element("production", "protected", 2, 0, 0)
	ann.do(t, "GET "+envs, "").holds(200, `{"environments":`+list(development, staging, production)+`}`)

	qa := element("qa", "standard", 3, 0, 0)
	ann.do(t, "POST "+envs, `{"name":"qa"}`).
		holds(201, `{"environment":`+qa+`,"environments":`+list(development, staging, production, qa)+`}`)
	ann.recorded(t, v, "environment_created", `"environment":"qa","type":"standard"`)
	ann.do(t, "POST "+envs, `{"name":"qa"}`).fails(409, "conflict")

	ann.push(t, v, "staging", `{"A":"1","B":"2"}`, "").ok(200)
	ann.push(t, v, "staging", `{"A":"1"}`, "").ok(200)
	preview := element("preview", "standard", 1, 2, 1)
	ann.do(t, "PATCH "+envs+"/staging", `{"newName":"preview"}`).
		holds(200, `{"oldName":"staging","newName":"preview","environments":`+list(development, preview, production, qa)+`}`)
	ann.recorded(t, v, "environment_renamed", `"oldName":"staging","newName":"preview"`)
	ann.do(t, "PATCH "+envs+"/staging", `{"newName":"other"}`).fails(404, "not-found")
	ann.do(t, "PATCH "+envs+"/preview", `{"newName":"production"}`).fails(409, "conflict")
	a := ann.do(t, "GET "+v.at()+"/trash", "").ok(200)
	a.same(`["preview"]`, a.each("environment"))
	a = ann.do(t, "GET "+v.at()+"/secrets", "").ok(200)
	a.same(`["preview"]`, a.each("environment"))
	ann.pull(t, v, "preview", "").holds(200, `{"content":"A=1","count":1,"total":1,"revision":2}`)
	ann.pull(t, v, "staging", "").fails(404, "not-found")

	ann.do(t, "PATCH "+envs+"/preview/type", `{"type":"protected"}`).
		holds(200, `{"environment":"preview","oldType":"standard","newType":"protected"}`)
	ann.recorded(t, v, "environment_type_changed", `"environment":"preview","oldType":"standard","newType":"protected"`)
	ann.do(t, "PATCH "+envs+"/nowhere/type", `{"type":"protected"}`).fails(404, "not-found")

	ann.do(t, "DELETE "+envs+"/preview", "").
		holds(200, `{"deleted":"preview","environments":`+list(development, production, qa)+`}`)
	ann.recorded(t, v, "environment_deleted", `"environment":"preview","secretCount":1`)
	ann.do(t, "DELETE "+envs+"/preview", "").fails(404, "not-found")
	for _, what := range []string{"/trash", "/secrets"} {
		ann.do(t, "GET "+v.at()+what, "").holds(200, `[]`)
	}
	ann.do(t, "POST "+envs, `{"name":"preview"}`).ok(201)
	ann.environment(t, v, "preview", 0, 0)
	ann.do(t, "GET "+v.at()+"/trash", "").holds(200, `[]`)
}

func TestEnvironmentsHaveAnOrder(t *testing.T) {
	t.Parallel()
	ann := newSite(t).user(t, "ann")
	v := ann.vault(t, "@ann/api")
	envs := v.at() + "/environments"
	ann.do(t, "POST "+envs, `{"name":"qa"}`).ok(201)
	ann.do(t, "POST "+envs, `{"name":"demo"}`).ok(201)
	ann.do(t, "DELETE "+envs+"/staging", "").ok(200)
	development, production := element("development", "development", 0, 0, 0), element("production", "protected", 2, 0, 0)
	ann.do(t, "GET "+envs, "").holds(200, `{"environments":`+list(development, production, element("qa", "standard", 3, 0, 0), element("demo", "standard", 4, 0, 0))+`}`)

	// 1 was the place of what is deleted: before production, which stands at 2.
	ann.do(t, "PATCH "+envs+"/demo/order", `{"displayOrder":1}`).holds(200, `{"environment":"demo","oldOrder":4,"newOrder":1,"environments":`+
		list(development, element("demo", "standard", 1, 0, 0), production, element("qa", "standard", 3, 0, 0))+`}`)
	ann.recorded(t, v, "environment_moved", `"environment":"demo","oldOrder":4,"newOrder":1`)
	for _, move := range []struct{ name, to, order string }{
		{"development", "2", `["demo","production","development","qa"]`},
		{"development", "2", `["demo","production","development","qa"]`},
		{"qa", "0", `["qa","demo","production","development"]`},
		{"qa", "3", `["demo","production","development","qa"]`},
		{"production", "0", `["production","demo","development","qa"]`},
		{"demo", "2", `["production","development","demo","qa"]`},
	} {
		a := ann.do(t, "PATCH "+envs+"/"+move.name+"/order", `{"displayOrder":`+move.to+`}`).ok(200)
		a.same(move.order, eachOf(a.at("data.environments"), "name"))
		a.same(`[0,1,2,3]`, eachOf(a.at("data.environments"), "displayOrder"))
		a.same(move.to, a.at("data.newOrder"))
		a = ann.do(t, "GET "+v.at(), "").ok(200)
		a.same(move.order, a.at("data.environments"))
	}
	ann.do(t, "DELETE "+envs+"/development", "").ok(200) // leaves a gap at 1
	a := ann.do(t, "PATCH "+envs+"/production/order", `{"displayOrder":1}`).ok(200)
	a.same(`["production","demo","qa"]`, eachOf(a.at("data.environments"), "name"))
	ann.do(t, "PATCH "+envs+"/production/order", `{"displayOrder":3}`).fails(422, "validation-error", "displayOrder:too_large")
	ann.do(t, "PATCH "+envs+"/nowhere/order", `{"displayOrder":0}`).fails(404, "not-found")
}

// eachOf is what every element of a list has under a name.
func eachOf(all any, name string) []any {
	var each []any
	for _, e := range all.([]any) {
		each = append(each, e.(map[string]any)[name])
	}
	return each
}

func TestDeletingAnEnvironmentIsFinal(t *testing.T) {
	t.Parallel()
	ann := newSite(t).user(t, "ann")
	v := ann.sample(t)
	ann.do(t, "DELETE "+v.at()+"/environments/development", "").ok(200)
	one := v.at() + "/secrets/" + v.secret
	for _, call := range []string{"GET " + one + "/value", "GET " + one + "/versions", "GET " + one + "/versions/" + v.version + "/value",
		"DELETE " + one, "POST " + v.at() + "/trash/" + v.trashed + "/restore", "DELETE " + v.at() + "/trash/" + v.trashed} {
		ann.do(t, call, "").fails(404, "not-found")
	}
	ann.do(t, "DELETE "+v.at()+"/environments/staging", "").ok(200)
	ann.do(t, "DELETE "+v.at()+"/environments/production", "").fails(409, "conflict")
	a := ann.do(t, "GET "+v.at(), "").ok(200)
	a.same(`["production"]`, a.at("data.environments"))
}

func TestTypesAreInferredFromTheName(t *testing.T) {
	t.Parallel()
	ann := newSite(t).user(t, "ann")
	v := ann.vault(t, "@ann/api")
	for name, kind := range map[string]string{
		"prod": "protected", "main": "protected", "master": "protected", "dev": "development", "local": "development",
		"qa": "standard", "prod-eu": "standard", "develop": "standard",
	} {
		a := ann.do(t, "POST "+v.at()+"/environments", `{"name":"`+name+`"}`).ok(201)
		a.same(quoted(kind), a.at("data.environment.type"))
	}
	for name, kind := range map[string]string{"guarded": "protected", "free": "development", "plain": "standard"} {
		a := ann.do(t, "POST "+v.at()+"/environments", `{"name":"`+name+`","type":"`+kind+`"}`).ok(201)
		a.same(quoted(kind), a.at("data.environment.type"))
	}
	a := ann.do(t, "POST "+v.at()+"/environments", `{"name":"unsaid","type":null}`).ok(201)
	a.same(`"standard"`, a.at("data.environment.type"))
	ann.do(t, "PATCH "+v.at()+"/environments/qa", `{"newName":"production-2"}`).ok(200)
	ann.do(t, "PATCH "+v.at()+"/environments/production", `{"newName":"dev2"}`).ok(200)
	a = ann.do(t, "GET "+v.at()+"/environments", "").ok(200)
	a.same(`["dev2","protected"]`, []any{a.at("data.environments.2.name"), a.at("data.environments.2.type")})
}
