package httpd

import (
	"encoding/json"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"

	"coffer/server/access"
	"coffer/server/api"
	"coffer/server/httpd/openapi"
)

// described is the OpenAPI document, as far as the tests look at it.
type described struct {
	Paths      map[string]map[string]json.RawMessage
	Components struct {
		Schemas   map[string]describedSchema
		Responses map[string]describedAnswer
	}
}

type describedOperation struct {
	OperationID string
	Summary     string
	Security    []struct {
		Bearer  []string
		Session *[]string
	}
	Servers     []struct{ URL string }
	Scope       *[]string `json:"x-scope"`
	Credentials string    `json:"x-credentials"`
	Responses   map[string]describedAnswer
}

type describedAnswer struct {
	Ref     string `json:"$ref"`
	Content map[string]struct{ Schema describedSchema }
}

type describedSchema struct {
	Ref        string `json:"$ref"`
	OneOf      []describedSchema
	AllOf      []describedSchema
	Enum       []any
	Properties map[string]struct {
		Const   any
		Pattern string
	}
}

func openAPIDocument(t *testing.T) *described {
	t.Helper()
	var d described
	if err := json.Unmarshal(openapi.Document("https://vault.example"), &d); err != nil {
		t.Fatal(err)
	}
	return &d
}

var pathVariable = regexp.MustCompile(`\{(\w+)\}`)

// operations are the document's, by method and path as a route has them.
func (d *described) operations(t *testing.T) map[string]describedOperation {
	t.Helper()
	all := make(map[string]describedOperation)
	for where, item := range d.Paths {
		for method, raw := range item {
			if method == "parameters" {
				continue
			}
			var op describedOperation
			if err := json.Unmarshal(raw, &op); err != nil {
				t.Fatalf("%s %s: %v", method, where, err)
			}
			all[strings.ToUpper(method)+" "+pathVariable.ReplaceAllString(where, ":$1")] = op
		}
	}
	return all
}

func TestOpenAPIIsValid(t *testing.T) {
	doc, err := openapi3.NewLoader().LoadFromData(openapi.Document("https://vault.example"))
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(t.Context(), openapi3.EnableExamplesValidation(), openapi3.EnableSchemaFormatValidation(), openapi3.EnableMultiError()); err != nil {
		t.Error(err)
	}
}

func TestEveryRouteIsInOpenAPI(t *testing.T) {
	operations := openAPIDocument(t).operations(t)
	var routed []string
	for _, r := range routes() {
		routed = append(routed, r.method+" "+r.path)
	}
	slices.Sort(routed)
	if diff := cmp.Diff(routed, slices.Sorted(maps.Keys(operations))); diff != "" {
		t.Errorf("routes (-) and OpenAPI (+) differ; describe a new route in openapi/:\n%s", diff)
	}
	names := make(map[string]string)
	for at, op := range operations {
		if op.OperationID == "" || op.Summary == "" || names[op.OperationID] != "" {
			t.Errorf("%s: operationId %q, summary %q, also used by %q", at, op.OperationID, op.Summary, names[op.OperationID])
		}
		names[op.OperationID] = at
	}
}

func TestOpenAPIHasTheScopesOfTheTable(t *testing.T) {
	operations := openAPIDocument(t).operations(t)
	for _, r := range routes() {
		op, at := operations[r.method+" "+r.path], r.method+" "+r.path
		if r.action == 0 {
			if op.Scope != nil || op.Credentials != "" || len(op.Security) > 0 {
				t.Errorf("%s needs no credential, but OpenAPI says %+v", at, op)
			}
			continue
		}
		row := r.action.Row()
		if op.Scope == nil || !slices.Equal(*op.Scope, row.Scopes.Names()) {
			t.Errorf("%s: scope %v, want %s", at, op.Scope, row.Scopes)
		}
		if op.Credentials != row.Kinds.String() {
			t.Errorf("%s: credentials %q, want %q", at, op.Credentials, row.Kinds)
		}
		var secured []string
		cookie := false
		for _, s := range op.Security {
			secured = append(secured, s.Bearer...)
			cookie = cookie || s.Session != nil
		}
		if cookie != (row.Kinds&(access.Session|access.OperatorSession) != 0) {
			t.Errorf("%s: a cookie is enough: %t, credentials are %s", at, cookie, row.Kinds)
		}
		if !slices.Equal(secured, row.Scopes.Names()) && len(secured)+len(row.Scopes.Names()) > 0 {
			t.Errorf("%s: security %v, want %s", at, op.Security, row.Scopes)
		}
		// The socket needs no credential, beside it another address does.
		want := map[access.Kinds][2]int{access.Operator: {0, 1}, access.Operators: {2, 2}}[row.Kinds]
		if got := [2]int{len(op.Security), len(op.Servers)}; row.Kinds&access.Operator != 0 && got != want || row.Kinds&access.Operator == 0 && (got[0] == 0 || got[1] != 0) {
			t.Errorf("%s: security %v at %v", at, op.Security, op.Servers)
		}
	}
}

// errorsOf are the slugs of an answer.
func (d *described) errorsOf(a describedAnswer) []string {
	a = d.Components.Responses[path.Base(a.Ref)]
	schema := a.Content["application/problem+json"].Schema
	if len(schema.OneOf) == 0 {
		return []string{path.Base(schema.Ref)}
	}
	var all []string
	for _, one := range schema.OneOf {
		all = append(all, path.Base(one.Ref))
	}
	return all
}

func TestOpenAPIHasOnlyPossibleErrors(t *testing.T) {
	d := openAPIDocument(t)
	for at, op := range d.operations(t) {
		for status, a := range op.Responses {
			if status < "400" || a.Ref == "" {
				continue
			}
			for _, name := range d.errorsOf(a) {
				d.checkError(t, at, status, name)
			}
		}
	}
	var slugs []string
	for code := range kinds {
		slugs = append(slugs, string(code))
		d.checkError(t, "components", strconv.Itoa(kinds[code].status), string(code))
	}
	var described []string
	for _, slug := range d.Components.Schemas["ErrorSlug"].Enum {
		described = append(described, slug.(string))
	}
	slices.Sort(slugs)
	slices.Sort(described)
	if diff := cmp.Diff(slugs, described); diff != "" {
		t.Errorf("codes (-) and ErrorSlug (+): %s", diff)
	}
}

func (d *described) checkError(t *testing.T, at, status, name string) {
	t.Helper()
	schema, ok := d.Components.Schemas[name]
	if !ok {
		t.Errorf("%s: no schema %s", at, name)
		return
	}
	if base := path.Base(schema.AllOf[0].Ref); base != "Problem" {
		// A variant of an error that one operation has.
		schema = d.Components.Schemas[base]
		name = base
	}
	k, ok := kinds[api.Code(name)]
	p := schema.Properties
	if !ok || strconv.Itoa(k.status) != status || p["status"].Const != float64(k.status) ||
		p["title"].Const != k.title || p["type"].Pattern != "/errors/"+name+"$" {
		t.Errorf("%s: %s with %s, %v; the server has %+v", at, status, name, p, k)
	}
}

func TestOpenAPIIsServedToEverybodyAndKept(t *testing.T) {
	for _, state := range []string{api.StateOK, api.StateSealed, api.StateUninitialized} {
		h := testFace(&doorman{state: state})
		w := call(h, "GET", "/v1/openapi.json", "", "Authorization", "")
		expectStatus(t, w, 200)
		etag := w.Header().Get("ETag")
		if etag == "" || w.Header().Get("Cache-Control") != "public, no-cache" || w.Header().Get("Content-Type") != "application/json; charset=utf-8" {
			t.Errorf("headers %v", w.Header())
		}
		if want := openapi.Document("https://vault.example"); w.Body.String() != string(want) {
			t.Errorf("%s: another document of %d bytes, want %d", state, w.Body.Len(), len(want))
		}
		for _, known := range []string{etag, "W/" + etag, `"x", ` + etag, "*"} {
			w = call(h, "GET", "/v1/openapi.json", "", "If-None-Match", known)
			expectStatus(t, w, 304)
			if w.Body.Len() > 0 || w.Header().Get("ETag") != etag {
				t.Errorf("304 with %v %s", w.Header(), w.Body)
			}
		}
		expectStatus(t, call(h, "GET", "/v1/openapi.json", "", "If-None-Match", `"x"`), 200)
	}
}
