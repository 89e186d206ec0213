package httpd

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"
	jsonv2 "github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"coffer/server/api"
)

const anID = "0193a1b2-0000-7000-8000-00000000abcd"

var vaultParams = gin.Params{{Key: "owner", Value: "acme"}, {Key: "repo", Value: "api"}}

func withParams(more ...string) gin.Params {
	p := append(gin.Params{}, vaultParams...)
	for i := 0; i < len(more); i += 2 {
		p = append(p, gin.Param{Key: more[i], Value: more[i+1]})
	}
	return p
}

func bindOf[Req request](in *input) (*Req, error) {
	return bind[Req](newBinder(reflect.TypeFor[Req]()), in)
}

func bindBody[Req request](body string) (*Req, error) {
	return bindOf[Req](&input{params: withParams("secretId", anID, "name", "production", "id", anID), body: []byte(body), hasBody: true})
}

func bindQuery[Req request](query string) (*Req, error) {
	return bindOf[Req](&input{params: vaultParams, query: query})
}

// told is an error in one line: its code and each field with what is wrong.
func told(err error) string {
	if err == nil {
		return "ok"
	}
	e, ok := errors.AsType[*api.Error](err)
	if !ok {
		return "internal: " + err.Error()
	}
	text := string(e.Code)
	for _, f := range e.Fields {
		text += fmt.Sprintf(" %s:%s", f.Field, f.Code)
	}
	return text
}

func erased[Req request](r *Req, err error) error { return err }

func TestBindBody(t *testing.T) {
	push := func(body string) error { return erased(bindBody[api.PushSecrets](body)) }
	patch := func(body string) error { return erased(bindBody[api.PatchSecret](body)) }
	key := func(body string) error { return erased(bindBody[api.CreateAPIKey](body)) }
	user := func(body string) error { return erased(bindBody[api.AddLocalUser](body)) }
	initialize := func(body string) error { return erased(bindBody[api.Initialize](body)) }
	empty := func(body string) error { return erased(bindBody[api.Empty](body)) }
	tests := []struct {
		name string
		bind func(string) error
		body string
		want string
	}{
		{"a whole push", push, `{"repoFullName":"acme/api","environment":"production","secrets":{"A":"1","B":""}}`, "ok"},
		{"no secrets at all", push, `{"repoFullName":"acme/api","environment":"production","secrets":{}}`, "ok"},
		{"unknown fields", push, `{"x":{"y":[1,null,{}]},"repoFullName":"acme/api","environment":"production","secrets":{}}`, "ok"},
		{"escaped member names", push, `{"repo\u0046ullName":"acme/api","environment":"production","secrets":{}}`, "ok"},
		{"blanks around", push, " \r\n\t{\"repoFullName\":\"acme/api\",\"environment\":\"production\",\"secrets\":{}} \n", "ok"},
		{"null for an optional field", push, `{"repoFullName":"acme/api","environment":"production","secrets":{},"mode":null}`, "ok"},

		{"empty where fields are needed", push, ``, "bad-request"},
		{"blanks where fields are needed", push, " \n", "bad-request"},
		{"empty where none is needed", empty, ``, "ok"},
		{"an object where none is needed", empty, `{}`, "ok"},
		{"malformed where none is needed", empty, `{`, "bad-request"},
		{"empty patch", patch, ``, "validation-error name:required"},

		{"malformed", push, `{"repoFullName":`, "bad-request"},
		{"cut short", push, `{"repoFullName":"acme/api"`, "bad-request"},
		{"trailing comma", push, `{"repoFullName":"acme/api",}`, "bad-request"},
		{"an array", push, `[]`, "bad-request"},
		{"a string", push, `"x"`, "bad-request"},
		{"null", push, `null`, "bad-request"},
		{"two objects", empty, `{}{}`, "bad-request"},
		{"trailing garbage", empty, `{} x`, "bad-request"},
		{"a byte order mark", empty, "\ufeff{}", "bad-request"},
		{"invalid UTF-8", empty, "{\"a\":\"\xff\"}", "bad-request"},
		{"invalid UTF-8 in a value", push, "{\"secrets\":{\"A\":\"\xc3\x28\"}}", "bad-request"},
		{"unpaired surrogate", push, `{"secrets":{"A":"\ud800"}}`, "bad-request"},
		{"unpaired surrogate in an unknown field", empty, `{"a":"\udc00"}`, "bad-request"},
		{"paired surrogates", push, `{"repoFullName":"acme/api","environment":"production","secrets":{"A":"\ud83d\udd11"}}`, "ok"},
		{"duplicate member", push, `{"environment":"a1","environment":"a2"}`, "bad-request"},
		{"duplicate by escape", push, `{"environment":"a1","\u0065nvironment":"a2"}`, "bad-request"},
		{"duplicate key", push, `{"secrets":{"A":"1","A":"1"}}`, "bad-request"},
		{"duplicate deep in an unknown field", empty, `{"x":[{"y":{"z":1,"z":2}}]}`, "bad-request"},
		{"a bare control character", empty, "{\"a\":\"\x01\"}", "bad-request"},

		{"everything missing", push, `{}`, "validation-error repoFullName:required environment:required secrets:required"},
		{"null for a needed field", push, `{"repoFullName":null,"environment":"production","secrets":{}}`, "validation-error repoFullName:required"},
		{"names are case-sensitive", push, `{"RepoFullName":"acme/api","environment":"production","secrets":{}}`, "validation-error repoFullName:required"},
		{"wrong types", push, `{"repoFullName":1,"environment":[],"secrets":"x","mode":{}}`,
			"validation-error repoFullName:invalid_type environment:invalid_type secrets:invalid_type mode:invalid_type"},
		{"every bad entry", push, `{"repoFullName":"acme/api","environment":"production","secrets":{"A":1,"B":null,"c":"x","D":"\u0000"}}`,
			"validation-error secrets.A:invalid_type secrets.B:invalid_type secrets.D:invalid_format secrets.c:invalid_format"},
		{"U+0000 in a name", push, `{"repoFullName":"acme/api\u0000","environment":"production","secrets":{}}`, "validation-error repoFullName:invalid_format"},
		{"unknown mode", push, `{"repoFullName":"acme/api","environment":"production","secrets":{},"mode":"x"}`, "validation-error mode:unknown_value"},

		{"an empty value is a value", patch, `{"value":""}`, "ok"},
		{"both words, the same", patch, `{"name":"A","key":"A"}`, "ok"},
		{"both words, different", patch, `{"name":"A","key":"B"}`, "bad-request"},
		{"a number as value", patch, `{"value":5}`, "validation-error value:invalid_type"},

		{"lists and numbers", key, `{"name":"ci","environment":"live","scopes":["read:secrets"],"expiresInDays":30,"allowedIps":["10.0.0.1"]}`, "ok"},
		{"bad entries of lists", key, `{"name":"ci","environment":"live","scopes":["read:secrets",7,"x"],"allowedIps":[null]}`,
			"validation-error scopes.1:invalid_type allowedIps.0:invalid_type scopes.2:unknown_value"},
		{"a fraction", key, `{"name":"ci","environment":"live","scopes":["read:secrets"],"expiresInDays":1.5}`, "validation-error expiresInDays:invalid_type"},
		{"a string for a number", key, `{"name":"ci","environment":"live","scopes":["read:secrets"],"expiresInDays":"1"}`, "validation-error expiresInDays:invalid_type"},
		{"a number out of range", key, `{"name":"ci","environment":"live","scopes":["read:secrets"],"expiresInDays":366}`, "validation-error expiresInDays:too_large"},
		{"a number beyond 64 bits", key, `{"name":"ci","environment":"live","scopes":["read:secrets"],"expiresInDays":99999999999999999999}`, "validation-error expiresInDays:too_large"},
		{"a number below 64 bits", key, `{"name":"ci","environment":"live","scopes":["read:secrets"],"expiresInDays":-99999999999999999999}`, "validation-error expiresInDays:too_small"},

		{"a boolean", user, `{"username":"ann","password":"correct horse","operator":true}`, "ok"},
		{"a string for a boolean", user, `{"username":"ann","password":"correct horse","operator":"true"}`, "validation-error operator:invalid_type"},
		{"a nested object", initialize, `{"claimToken":"x","keyFile":true,"admin":{"username":"ann","password":"correct horse"}}`, "ok"},
		{"bad nested fields", initialize, `{"claimToken":"x","keyFile":true,"admin":{"username":"a b","password":7}}`,
			"validation-error admin.password:invalid_type admin.username:invalid_format"},
		{"an array for a nested object", initialize, `{"claimToken":"x","keyFile":true,"admin":[]}`, "validation-error admin:invalid_type admin.username:invalid_format admin.password:too_short"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := told(tt.bind(tt.body)); got != tt.want {
				t.Errorf("body %q:\n got %s\nwant %s", tt.body, got, tt.want)
			}
		})
	}
}

func TestBindBodyFillsTheRequest(t *testing.T) {
	got, err := bindBody[api.PushSecrets](`{"repoFullName":"acme/api","environment":"production","secrets":{"A":"1\n\"2\"","B":""},"mode":"merge"}`)
	if err != nil {
		t.Fatal(err)
	}
	want := &api.PushSecrets{
		RepoFullName: "acme/api",
		Environment:  "production",
		Secrets:      map[string]api.Secret{"A": api.NewSecret("1\n\"2\""), "B": api.NewSecret("")},
		Mode:         new("merge"),
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestBindFillsEmbeddedStructsFromThePath(t *testing.T) {
	got, err := bindOf[api.VersionRef](&input{params: withParams("secretId", anID, "versionId", strings.ToUpper(anID))})
	if err != nil {
		t.Fatal(err)
	}
	want := api.VersionRef{SecretRef: api.SecretRef{Ref: api.Ref{Owner: "acme", Repo: "api"}, SecretID: anID}, VersionID: anID}
	if diff := cmp.Diff(want, *got); diff != "" {
		t.Error(diff)
	}
}

func TestMalformedPathIsNotFound(t *testing.T) {
	tests := []struct {
		owner, repo, name string
		escaped           bool
		want              string
	}{
		{"acme", "api", "production", false, "ok"},
		{"acme", "a%70i", "production", true, "ok"},
		{"acme", "a%2Fb", "production", true, "not-found"},
		{"acme", "a%2570i", "production", true, "not-found"},
		{"acme", "a+b", "production", true, "not-found"},
		{"acme", "..", "production", false, "not-found"},
		{".", "api", "production", false, "not-found"},
		{strings.Repeat("a", 40), "api", "production", false, "not-found"},
		{"acme", strings.Repeat("a", 101), "production", false, "not-found"},
		{"", "api", "production", false, "not-found"},
		{"acme", "api", "", false, "not-found"},
		{"acme", "api", "a%2Fb", true, "not-found"},
		{"acme", "api", "a%00", true, "not-found"},
		{"acme", "api", "a%ff", true, "not-found"},
		{"acme", "api", "Not A Name", false, "ok"},
	}
	for _, tt := range tests {
		params := gin.Params{{Key: "owner", Value: tt.owner}, {Key: "repo", Value: tt.repo}, {Key: "name", Value: tt.name}}
		_, err := bindOf[api.EnvironmentRef](&input{params: params, escaped: tt.escaped})
		if got := told(err); got != tt.want {
			t.Errorf("%s/%s/%s: got %s, want %s", tt.owner, tt.repo, tt.name, got, tt.want)
		}
	}
	for _, id := range []string{"", "x", "0193a1b2000070008000000000000abcd", "{" + anID + "}", "urn:uuid:" + anID, anID + "0"} {
		_, err := bindOf[api.SecretRef](&input{params: withParams("secretId", id)})
		if got := told(err); got != "not-found" {
			t.Errorf("id %q: got %s, want not-found", id, got)
		}
	}
}

func TestOnlyGitLabHasGroupsInGroups(t *testing.T) {
	bound := func(subgroups bool, owner string) string {
		full := owner + "/api"
		asked := fmt.Sprintf(`{"repoFullName":%q,"environment":"production","secrets":{}}`, full)
		_, path := bindOf[api.Ref](&input{params: gin.Params{{Key: "owner", Value: owner}, {Key: "repo", Value: "api"}}, subgroups: subgroups})
		_, query := bindOf[api.ViewSecret](&input{query: "environment=production&key=A&repo=" + url.QueryEscape(full), subgroups: subgroups})
		_, body := bindOf[api.PushSecrets](&input{body: []byte(asked), hasBody: true, subgroups: subgroups})
		return told(path) + ", " + told(query) + ", " + told(body)
	}
	const taken, refused = "ok, ok, ok", "not-found, validation-error repo:invalid_format, validation-error repoFullName:invalid_format"
	for owner, want := range map[string]struct{ gitlab, elsewhere string }{
		"acme":                            {taken, taken},
		"acme:backend":                    {taken, refused},
		"acme:back-end:core.2":            {taken, refused},
		strings.Repeat("a", 40):           {taken, refused},
		strings.Repeat("a", 255):          {taken, refused},
		strings.Repeat("ab:", 84) + "abc": {taken, refused},
		strings.Repeat("a", 256):          {refused, refused},
		":":                               {refused, refused}, "acme:": {refused, refused}, ":acme": {refused, refused}, "a::b": {refused, refused},
		"acme:..": {refused, refused}, ".:acme": {refused, refused}, "a:.:b": {refused, refused},
		"acme:b c": {refused, refused}, "acme:b%": {refused, refused}, "..": {refused, refused},
	} {
		if got := bound(true, owner); got != want.gitlab {
			t.Errorf("%q at GitLab: %s, want %s", owner, got, want.gitlab)
		}
		if got := bound(false, owner); got != want.elsewhere {
			t.Errorf("%q elsewhere: %s, want %s", owner, got, want.elsewhere)
		}
	}
	slash := &input{params: gin.Params{{Key: "owner", Value: "acme%2Fbackend"}, {Key: "repo", Value: "api"}}, escaped: true, subgroups: true}
	if _, err := bindOf[api.Ref](slash); told(err) != "not-found" {
		t.Errorf("a slash in a segment: %s", told(err))
	}
	colon := &input{params: gin.Params{{Key: "owner", Value: "acme%3Abackend"}, {Key: "repo", Value: "api"}}, escaped: true, subgroups: true}
	if ref, err := bindOf[api.Ref](colon); err != nil || ref.Owner != "acme:backend" {
		t.Errorf("an escaped colon: %s", told(err))
	}
}

func TestBindQuery(t *testing.T) {
	pull := func(q string) error { return erased(bindQuery[api.PullSecrets](q)) }
	list := func(q string) error { return erased(bindQuery[api.ListSecrets](q)) }
	empty := func(q string) error { return erased(bindQuery[api.Empty](q)) }
	tests := []struct {
		bind        func(string) error
		query, want string
	}{
		{pull, "repo=acme/api", "ok"},
		{pull, "repo=acme%2Fapi&environment=&limit=&x=1", "ok"},
		{pull, "&&repo=acme/api&", "ok"},
		{pull, "", "validation-error repo:required"},
		{pull, "repo=", "validation-error repo:required"},
		{pull, "repo", "validation-error repo:required"},
		{pull, "repo=acme%00/api", "validation-error repo:invalid_format"},
		{pull, "repo=acme+x/api", "validation-error repo:invalid_format"},
		{pull, "repo=a/b&limit=x&offset=-1&format=xml&environment=X", "validation-error limit:invalid_type environment:invalid_format offset:too_small format:unknown_value"},
		{pull, "repo=a/b&limit=1001", "validation-error limit:too_large"},
		{pull, "repo=a/b&limit=1000&offset=0", "ok"},
		{list, "limit=0", "validation-error limit:too_small"},
		{list, "limit=101", "validation-error limit:too_large"},
		{list, "limit=%2B5", "validation-error limit:invalid_type"},
		{list, "limit=+5", "validation-error limit:invalid_type"},
		{list, "limit=-", "validation-error limit:invalid_type"},
		{list, "limit=1.0", "validation-error limit:invalid_type"},
		{list, "limit=99999999999999999999", "validation-error limit:too_large"},
		{list, "offset=-99999999999999999999", "validation-error offset:too_small"},
		{list, "limit=5&limit=6", "bad-request"},
		{list, "limit=5&limit=", "bad-request"},
		{list, "limit=5&l%69mit=5", "bad-request"},
		{empty, "x=1&x=2", "bad-request"},
		{empty, "%", "bad-request"},
		{empty, "a=%zz", "bad-request"},
		{empty, "a=%ff", "bad-request"},
		{empty, "a=1;b=2", "ok"},
	}
	for _, tt := range tests {
		if got := told(tt.bind(tt.query)); got != tt.want {
			t.Errorf("?%s:\n got %s\nwant %s", tt.query, got, tt.want)
		}
	}
}

func TestBooleansInQueriesAreTrueOrFalse(t *testing.T) {
	for query, want := range map[string]string{
		"dry=true":  "ok",
		"dry=false": "ok",
		"dry=":      "ok",
		"dry=1":     "validation-error dry:invalid_type",
		"dry=True":  "validation-error dry:invalid_type",
	} {
		r, err := bindQuery[flagged](query)
		if got := told(err); got != want {
			t.Errorf("?%s: got %s, want %s", query, got, want)
		}
		if r.Dry != (query == "dry=true") {
			t.Errorf("?%s: Dry is %v", query, r.Dry)
		}
	}
}

type flagged struct {
	Dry bool `query:"dry"`
}

func (flagged) Check(*api.Fields) {}

func TestAtMostAHundredFieldsAreReported(t *testing.T) {
	var body strings.Builder
	body.WriteString(`{"repoFullName":"acme/api","environment":"production","secrets":{`)
	for i := range 150 {
		fmt.Fprintf(&body, `%s"A%d":1`, strings.Repeat(",", min(i, 1)), i)
	}
	body.WriteString(`}}`)
	_, err := bindBody[api.PushSecrets](body.String())
	e, ok := errors.AsType[*api.Error](err)
	if !ok || len(e.Fields) != 100 || e.Message != "150 fields are invalid." {
		t.Errorf("got %v", err)
	}
}

func TestErrorsShowNoValue(t *testing.T) {
	const canary = "c4n4ry"
	bodies := []string{
		`{"value":"` + canary + `"`,
		`{"value":"` + canary + `\u0000"}`,
		`{"value":["` + canary + `"]}`,
		`{"value":"` + canary + `","value":"` + canary + `"}`,
		`{"value":"` + canary + `"} ` + canary,
		`{"value":"` + canary + "\xff" + `"}`,
		`{"value":"` + canary + `\ud800"}`,
		`"` + canary + `"`,
		canary,
	}
	for _, body := range bodies {
		_, err := bindBody[api.PatchSecret](body)
		text, _ := json.Marshal(err)
		if err == nil || strings.Contains(err.Error()+string(text), canary) {
			t.Errorf("body %q: error %q", body, err)
		}
	}
}

// acceptable fails for an outcome of binding that would not be the client's
// own fault.
func acceptable(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		return
	}
	e, ok := errors.AsType[*api.Error](err)
	if !ok || e.Code != api.BadRequest && e.Code != api.Invalid || e.Error() == "" {
		t.Errorf("error %#v", err)
	}
}

func FuzzBody(f *testing.F) {
	f.Add([]byte(`{"repoFullName":"acme/api","environment":"production","secrets":{"A":"\ud83d\udd11"},"mode":"merge"}`))
	f.Add([]byte(`{"name":"ci","environment":"live","scopes":["read:secrets"],"expiresInDays":1e2,"allowedIps":null}`))
	f.Add([]byte(`{"claimToken":"x","keyFile":true,"admin":{"username":"ann","password":"\u0000"}}`))
	f.Add([]byte(`{"name":"A","key":"B","value":""}`))
	f.Add([]byte(`{"a":{"b":[{"c":1,"c":2}]}} `))
	push := newBinder(reflect.TypeFor[api.PushSecrets]())
	f.Fuzz(func(t *testing.T, body []byte) {
		in := &input{params: withParams("secretId", anID, "name", "x", "id", anID), body: body, hasBody: true}
		acceptable(t, erased(bindOf[api.PatchSecret](in)))
		acceptable(t, erased(bindOf[api.CreateAPIKey](in)))
		acceptable(t, erased(bindOf[api.Initialize](in)))
		acceptable(t, erased(bindOf[api.IssueToken](in)))

		got, err := bind[api.PushSecrets](push, in)
		acceptable(t, err)
		if err != nil {
			return
		}
		var want struct {
			Secrets map[string]string `json:"secrets"`
		}
		if err := jsonv2.Unmarshal(body, &want); err != nil {
			t.Fatalf("accepted, but %v", err)
		}
		revealed := make(map[string]string)
		for k, v := range got.Secrets {
			revealed[k] = v.Reveal()
		}
		if !maps.Equal(revealed, want.Secrets) {
			t.Errorf("got %q, want %q", revealed, want.Secrets)
		}
	})
}

func FuzzQuery(f *testing.F) {
	f.Add("repo=acme/api&environment=production&limit=5&offset=0&format=json")
	f.Add("repo=a%2Fb&&x=+%00&%zz")
	f.Fuzz(func(t *testing.T, query string) {
		acceptable(t, erased(bindQuery[api.ViewSecret](query)))
		acceptable(t, erased(bindQuery[api.ListVaultActivity](query)))
		got, err := bindQuery[api.PullSecrets](query)
		acceptable(t, err)
		if err != nil || strings.Contains(query, ";") {
			return
		}
		want, err := url.ParseQuery(query)
		if err != nil || got.Repo != want.Get("repo") || got.Environment != want.Get("environment") {
			t.Errorf("?%s: got %+v; url.ParseQuery says %v, %v", query, got, want, err)
		}
	})
}
