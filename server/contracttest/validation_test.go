package contracttest

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
)

// rule is a request that breaks one rule, and what its 422 names: "field:code",
// separated by blanks. With nothing to name it is no rule and answered with 200.
type rule struct{ call, body, errors string }

const (
	postKey    = "POST /v1/api-keys"
	postVault  = "POST /v1/vaults"
	postSecret = "POST {V}/secrets"
	patch      = "PATCH {V}/secrets/{secret}"
	postPush   = "POST /v1/secrets/push"
	postEnv    = "POST {V}/environments"
	renameEnv  = "PATCH {V}/environments/staging"
	retypeEnv  = "PATCH {V}/environments/staging/type"
	moveEnv    = "PATCH {V}/environments/staging/order"
	getPull    = "GET /v1/secrets/pull?repo={repo}&environment=development"
	getView    = "GET /v1/secrets/view"
)

func rules() []rule {
	all := []rule{
		{postKey, `{}`, "name:required environment:required scopes:required"},
		{postKey, `{"name":null,"environment":null,"scopes":null}`, "name:required environment:required scopes:required"},
		{postKey, keyWith(`"name":""`), "name:too_short"},
		{postKey, keyWith(`"name":"` + strings.Repeat("é", 101) + `"`), "name:too_long"},
		{postKey, keyWith(`"name":1`), "name:invalid_type"},
		{postKey, keyWith(`"name":"a\u0000"`), "name:invalid_format"},
		{postKey, keyWith(`"environment":"prod"`), "environment:unknown_value"},
		{postKey, keyWith(`"environment":""`), "environment:unknown_value"},
		{postKey, keyWith(`"environment":true`), "environment:invalid_type"},
		{postKey, keyWith(`"scopes":[]`), "scopes:too_short"},
		{postKey, keyWith(`"scopes":"read:secrets"`), "scopes:invalid_type"},
		{postKey, keyWith(`"scopes":["read:secrets","root",1,"ROOT"]`), "scopes.1:unknown_value scopes.2:invalid_type scopes.3:unknown_value"},
		{postKey, keyWith(`"expiresInDays":0`), "expiresInDays:too_small"},
		{postKey, keyWith(`"expiresInDays":-1`), "expiresInDays:too_small"},
		{postKey, keyWith(`"expiresInDays":366`), "expiresInDays:too_large"},
		{postKey, keyWith(`"expiresInDays":99999999999999999999`), "expiresInDays:too_large"},
		{postKey, keyWith(`"expiresInDays":1.5`), "expiresInDays:invalid_type"},
		{postKey, keyWith(`"expiresInDays":"30"`), "expiresInDays:invalid_type"},
		{postKey, keyWith(`"allowedIps":"10.0.0.0/8"`), "allowedIps:invalid_type"},
		{postKey, keyWith(`"allowedIps":["10.0.0.0/8","10.0.0.0/33","x",null,"10.0.0"]`),
			"allowedIps.1:invalid_format allowedIps.2:invalid_format allowedIps.3:invalid_type allowedIps.4:invalid_format"},
		{postKey, keyWith(`"allowedIps":["10.0.0.1"` + strings.Repeat(`,"10.0.0.1"`, 50) + `]`), "allowedIps:too_long"},

		{postVault, `{}`, "repoFullName:required"},
		{postVault, `{"repoFullName":7}`, "repoFullName:invalid_type"},

		{postSecret, `{}`, "key:required value:required environment:required"},
		{postSecret, `{"key":"","value":"","environment":""}`, "key:invalid_format environment:invalid_format"},
		{postSecret, `{"key":1,"value":2,"environment":3}`, "key:invalid_type value:invalid_type environment:invalid_type"},
		{postSecret, `{"key":"A","value":null,"environment":"staging"}`, "value:required"},
		{postSecret, `{"key":"A","value":"a\u0000b","environment":"staging"}`, "value:invalid_format"},
		{postSecret, `{"key":"A","value":"v","environment":"nowhere"}`, "environment:unknown_value"},

		{patch, `{}`, "name:required"},
		{patch, `{"name":null,"value":null}`, "name:required"},
		{patch, `{"unknown":"x"}`, "name:required"},
		{patch, `{"name":"lower"}`, "name:invalid_format"},
		{patch, `{"name":""}`, "name:invalid_format"},
		{patch, `{"key":"lower"}`, "key:invalid_format"},
		{patch, `{"name":5,"value":[]}`, "name:invalid_type value:invalid_type"},
		{patch, `{"value":"\u0000"}`, "value:invalid_format"},
		{patch, `{"value":"` + strings.Repeat("x", 262145) + `"}`, "value:too_large"},

		{postPush, `{}`, "repoFullName:required environment:required secrets:required"},
		{postPush, `{"repoFullName":"{repo}","environment":"staging","secrets":null}`, "secrets:required"},
		{postPush, pushWith(`"secrets":[]`), "secrets:invalid_type"},
		{postPush, pushWith(`"secrets":{"A":1,"B":null,"C":{},"d":"x","E":"\u0000","F":"fine"}`),
			"secrets.A:invalid_type secrets.B:invalid_type secrets.C:invalid_type secrets.d:invalid_format secrets.E:invalid_format"},
		{postPush, pushWith(`"secrets":{"":"x"}`), "secrets.:invalid_format"},
		{postPush, pushWith(`"mode":"append"`), "mode:unknown_value"},
		{postPush, pushWith(`"mode":1`), "mode:invalid_type"},
		{postPush, pushWith(`"environment":"nowhere"`), "environment:unknown_value"},

		{postEnv, `{}`, "name:required"},
		{postEnv, `{"name":"qa","type":"secure"}`, "type:unknown_value"},
		{postEnv, `{"name":"qa","type":7}`, "type:invalid_type"},
		{renameEnv, `{}`, "newName:required"},
		{retypeEnv, `{}`, "type:required"},
		{retypeEnv, `{"type":"Protected"}`, "type:unknown_value"},
		{retypeEnv, `{"type":""}`, "type:unknown_value"},
		{moveEnv, `{}`, "displayOrder:required"},
		{moveEnv, `{"displayOrder":-1}`, "displayOrder:too_small"},
		{moveEnv, `{"displayOrder":3}`, "displayOrder:too_large"},
		{moveEnv, `{"displayOrder":99999999999999999999}`, "displayOrder:too_large"},
		{moveEnv, `{"displayOrder":1.5}`, "displayOrder:invalid_type"},
		{moveEnv, `{"displayOrder":"0"}`, "displayOrder:invalid_type"},

		{"GET /v1/secrets/pull", "", "repo:required"},
		{getPull + "&format=yaml", "", "format:unknown_value"},
		{getPull + "&limit=0", "", "limit:too_small"},
		{getPull + "&limit=1001&offset=-1", "", "limit:too_large offset:too_small"},
		{getPull + "&limit=ten", "", "limit:invalid_type"},
		{getPull + "%00", "", "environment:invalid_format"},
		{getView, "", "repo:required environment:required key:required"},
		{getView + "?repo=&environment=&key=", "", "repo:required environment:required key:required"},
		{getView + "?repo={repo}&environment=staging&key=lower", "", "key:invalid_format"},
	}
	for _, name := range []string{"api", "/api", "@ann/", "@ann/api/x", "@ann/a b", "@ann/..", "./api", "@ann/a\x00", "@ann/é", strings.Repeat("o", 40) + "/api"} {
		all = append(all,
			rule{postVault, `{"repoFullName":` + quoted(name) + `}`, "repoFullName:invalid_format"},
			rule{postPush, pushWith(`"repoFullName":` + quoted(name)), "repoFullName:invalid_format"},
			rule{"GET /v1/secrets/pull?environment=staging&repo=" + inQuery(name), "", "repo:invalid_format"},
			rule{getView + "?environment=staging&key=A&repo=" + inQuery(name), "", "repo:invalid_format"})
	}
	for _, name := range []string{"a", "Prod", "1a", "-a", "a b", "a.b", "é1", "*", strings.Repeat("a", 31)} {
		all = append(all,
			rule{postEnv, `{"name":` + quoted(name) + `}`, "name:invalid_format"},
			rule{renameEnv, `{"newName":` + quoted(name) + `}`, "newName:invalid_format"},
			rule{postSecret, `{"key":"A","value":"","environment":` + quoted(name) + `}`, "environment:invalid_format"},
			rule{postPush, pushWith(`"environment":` + quoted(name)), "environment:invalid_format"},
			rule{"GET /v1/secrets/pull?repo={repo}&environment=" + inQuery(name), "", "environment:invalid_format"},
			rule{getView + "?repo={repo}&key=A&environment=" + inQuery(name), "", "environment:invalid_format"})
	}
	for _, key := range []string{"a", "1A", "_A", "A-B", "A\tB", "A.B", "Ä", "A" + strings.Repeat("B", 256)} {
		all = append(all,
			rule{postSecret, `{"key":` + quoted(key) + `,"value":"","environment":"staging"}`, "key:invalid_format"},
			rule{patch, `{"name":` + quoted(key) + `}`, "name:invalid_format"},
			rule{postPush, pushWith(`"secrets":{` + quoted(key) + `:""}`), "secrets." + key + ":invalid_format"})
	}
	for _, list := range []string{"/v1/vaults", "{V}/secrets", "{V}/trash", "{V}/activity", "/v1/activity"} {
		for query, want := range map[string]string{
			"limit=0": "limit:too_small", "limit=101": "limit:too_large", "limit=-1": "limit:too_small", "limit=x": "limit:invalid_type",
			"limit=1.0": "limit:invalid_type", "limit=1e1": "limit:invalid_type", "limit=+1": "limit:invalid_type",
			"limit=99999999999999999999": "limit:too_large", "offset=-1": "offset:too_small", "offset=": "",
			"limit=0&offset=-1": "limit:too_small offset:too_small",
		} {
			all = append(all, rule{"GET " + list + "?" + query, "", want})
		}
	}
	return all
}

// keyWith is a good request for a key, with one member replaced or added.
func keyWith(member string) string {
	return with(map[string]string{"name": `"n"`, "environment": `"live"`, "scopes": `["read:secrets"]`}, member)
}

// pushWith is a good push, with one member replaced or added.
func pushWith(member string) string {
	return with(map[string]string{"repoFullName": `"{repo}"`, "environment": `"staging"`, "secrets": `{}`}, member)
}

// inQuery is text as the value of a query parameter, @names untouched.
func inQuery(text string) string { return strings.ReplaceAll(url.QueryEscape(text), "%40", "@") }

func with(members map[string]string, member string) string {
	name, value, _ := strings.Cut(member, ":")
	members[strings.Trim(name, `"`)] = value
	text := ""
	for name, value := range members {
		text += fmt.Sprintf(",%q:%s", name, value)
	}
	return "{" + text[1:] + "}"
}

func TestEveryBrokenRuleIsNamed(t *testing.T) {
	t.Parallel()
	ann := newSite(t).user(t, "ann")
	v := ann.sample(t)
	before := ann.do(t, "GET "+v.at(), "").ok(200)
	for _, r := range rules() {
		a := ann.do(t, v.fill(r.call), v.fill(r.body))
		if r.errors == "" {
			a.ok(200)
		} else {
			a.fails(422, "validation-error", strings.Split(r.errors, " ")...)
		}
	}
	after := ann.do(t, "GET "+v.at(), "").ok(200)
	if before.text("data") != after.text("data") {
		t.Errorf("refused requests changed the vault:\n%s\n%s", before.raw, after.raw)
	}
}
