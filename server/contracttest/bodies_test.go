package contracttest

import (
	"fmt"
	"strings"
	"testing"
)

func TestBodiesAreJSONWhateverTheContentTypeSays(t *testing.T) {
	t.Parallel()
	ann := newSite(t).user(t, "ann")
	v := ann.vault(t, "@ann/api")
	for i, contentType := range []string{"application/json", "application/json; charset=utf-8", "text/plain",
		"application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "nonsense", ""} {
		body := fmt.Sprintf(`{"key":"K%d","value":"v","environment":"staging","unknown":{"deep":[null]}}`, i)
		ann.do(t, "POST "+v.at()+"/secrets", body, "Content-Type", contentType).ok(201)
	}
	ann.do(t, "POST "+v.at()+"/secrets", "key=A&value=v&environment=staging", "Content-Type", "application/x-www-form-urlencoded").
		fails(400, "bad-request")
}

func TestAnEmptyBodyWithAJSONTypeIsFineWhereNothingIsNeeded(t *testing.T) {
	t.Parallel()
	ann := newSite(t).user(t, "ann")
	shared := ann.sample(t)
	for _, r := range routes {
		if r.body != "" {
			continue
		}
		v := shared
		if !strings.HasPrefix(r.call, "GET") {
			v = ann.sample(t)
		}
		who := ann.by(t, r)
		who.do(t, who.ready(t, r, v).fill(r.call), "", "Content-Type", "application/json").ok(r.status)
	}
	for _, r := range routes {
		if r.body == "" {
			continue
		}
		a := ann.by(t, r).do(t, shared.fill(r.call), "", "Content-Type", "application/json")
		method, path, _ := strings.Cut(r.call, " ")
		switch { // all fields of the first three are optional, but one is needed
		case strings.HasPrefix(r.call, "PATCH {V}/secrets"):
			a.fails(422, "validation-error", "name:required")
		case method == "PUT" && strings.HasPrefix(path, "{V}/permissions"):
			a.fails(422, "validation-error", "canRead:required")
		case method == "PUT" && strings.HasPrefix(path, "/v1/orgs"):
			a.fails(422, "validation-error", "displayName:required")
		default:
			a.fails(400, "bad-request")
		}
	}
}

func TestUnclearBodiesAreRefused(t *testing.T) {
	t.Parallel()
	ann := newSite(t).user(t, "ann")
	v := ann.sample(t)
	push := `{"repoFullName":"` + v.repo + `","environment":"staging","secrets":%s}`
	for name, body := range map[string]string{
		"malformed":                    `{"a":`,
		"an array":                     `[]`,
		"a string":                     `"x"`,
		"null":                         `null`,
		"two objects":                  `{}{}`,
		"trailing garbage":             fmt.Sprintf(push, `{}`) + "x",
		"a byte order mark":            "\ufeff{}",
		"invalid UTF-8":                fmt.Sprintf(push, "{\"A\":\"\xff\"}"),
		"an unpaired surrogate":        fmt.Sprintf(push, `{"A":"\ud800"}`),
		"a member twice":               `{"environment":"staging",` + fmt.Sprintf(push, `{}`)[1:],
		"a secret twice":               fmt.Sprintf(push, `{"A":"1","A":"2"}`),
		"a member twice, once escaped": `{"\u0065nvironment":"staging",` + fmt.Sprintf(push, `{}`)[1:],
		"twice in an unknown member":   `{"x":{"y":1,"y":2},` + fmt.Sprintf(push, `{}`)[1:],
	} {
		t.Run(name, func(t *testing.T) {
			ann.do(t, "POST /v1/secrets/push", body).fails(400, "bad-request")
		})
	}
	for _, query := range []string{"limit=1&limit=1", "limit=&limit=2", "x=1&x=1", "%6cimit=1&limit=2", "limit=%zz", "x=%ff"} {
		ann.do(t, "GET /v1/vaults?"+query, "").fails(400, "bad-request")
	}
	ann.do(t, "GET /v1/vaults?limit=&offset=&unknown=1", "").ok(200)
	ann.do(t, "PATCH "+v.at()+"/secrets/"+v.secret, `{"name":"X","key":"Y"}`).fails(400, "bad-request")
}
