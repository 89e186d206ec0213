package openapitest

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"coffer/server/httpd/openapi"
)

type object = map[string]any

// document is the OpenAPI document, ready to be held against exchanges.
type document struct {
	root       object
	compiler   *jsonschema.Compiler
	operations []*operation

	mu      sync.Mutex
	schemas map[string]*jsonschema.Schema // compiled, by pointer
	seen    map[string]bool
}

// operation is one operation, with pointers to its parts.
type operation struct {
	id       string
	method   string
	segments []string // of its path; {name} for a parameter
	fixed    int      // how many of them are no parameters
	params   []string
	body     string            // pointer to the schema, or ""
	needBody bool              //
	answers  map[string]string // pointers to responses, by status
}

const base = "urn:coffer:openapi"

var load = sync.OnceValues(func() (*document, error) {
	return newDocument(openapi.Document("https://vault.example"))
})

func newDocument(text []byte) (*document, error) {
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	d := &document{
		root: parsed.(object), compiler: jsonschema.NewCompiler(),
		schemas: make(map[string]*jsonschema.Schema), seen: make(map[string]bool),
	}
	d.close()
	d.compiler.DefaultDraft(jsonschema.Draft2020)
	d.compiler.AssertFormat()
	if err := d.compiler.AddResource(base, d.root); err != nil {
		return nil, err
	}
	for where, item := range d.root["paths"].(object) {
		for method, op := range item.(object) {
			if method != "parameters" {
				d.operations = append(d.operations, d.operation(where, method, op.(object)))
			}
		}
	}
	return d, d.compileAll()
}

func (d *document) operation(where, method string, op object) *operation {
	at := pointer("paths", where, method)
	out := &operation{
		id: op["operationId"].(string), method: strings.ToUpper(method),
		segments: strings.Split(where, "/"), answers: make(map[string]string),
	}
	for _, s := range out.segments {
		if !strings.HasPrefix(s, "{") {
			out.fixed++
		}
	}
	item := d.root["paths"].(object)[where].(object)
	shared, _ := item["parameters"].([]any)
	own, _ := op["parameters"].([]any)
	for i := range shared {
		out.params = append(out.params, d.follow(pointer("paths", where, "parameters", fmt.Sprint(i))))
	}
	for i := range own {
		out.params = append(out.params, d.follow(at+pointer("parameters", fmt.Sprint(i))))
	}
	body, _ := op["requestBody"].(object)
	if content, _ := body["content"].(object); content["application/json"] != nil {
		out.body = at + pointer("requestBody", "content", "application/json", "schema")
		out.needBody, _ = body["required"].(bool)
	}
	for status := range op["responses"].(object) {
		out.answers[status] = d.follow(at + pointer("responses", status))
	}
	return out
}

// pointer joins the steps of a JSON pointer.
func pointer(steps ...string) string {
	text := ""
	for _, s := range steps {
		text += "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(s)
	}
	return text
}

// at is the value a pointer points to.
func (d *document) at(ptr string) any {
	var v any = d.root
	for _, s := range strings.Split(ptr, "/")[1:] {
		s = strings.NewReplacer("~1", "/", "~0", "~").Replace(s)
		switch in := v.(type) {
		case object:
			v = in[s]
		case []any:
			var i int
			if _, err := fmt.Sscan(s, &i); err != nil || i >= len(in) {
				return nil
			}
			v = in[i]
		default:
			return nil
		}
	}
	return v
}

// follow returns the pointer itself, or the one that a reference there names.
func (d *document) follow(ptr string) string {
	if o, ok := d.at(ptr).(object); ok {
		if ref, ok := o["$ref"].(string); ok {
			return d.follow(strings.TrimPrefix(ref, "#"))
		}
	}
	return ptr
}

// compileAll compiles every schema, so that a slip in one is found even if
// nobody ever sends what it describes.
func (d *document) compileAll() error {
	for name := range d.root["components"].(object)["schemas"].(object) {
		if _, err := d.schema(pointer("components", "schemas", name)); err != nil {
			return err
		}
	}
	return nil
}

func (d *document) schema(ptr string) (*jsonschema.Schema, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s := d.schemas[ptr]; s != nil {
		return s, nil
	}
	fragment := url.URL{Fragment: ptr}
	s, err := d.compiler.Compile(base + "#" + fragment.EscapedFragment())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", ptr, err)
	}
	d.schemas[ptr] = s
	return s, nil
}

// find is the operation that a request asks for; known says whether its path
// exists for any method.
func (d *document) find(req *http.Request) (found *operation, known bool) {
	method := req.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	asked := strings.Split(req.URL.EscapedPath(), "/")
	for _, op := range d.operations {
		if !op.matches(asked) {
			continue
		}
		known = true
		if op.method == method && (found == nil || op.fixed > found.fixed) {
			found = op
		}
	}
	return found, known
}

func (op *operation) matches(asked []string) bool {
	if len(asked) != len(op.segments) {
		return false
	}
	for i, s := range op.segments {
		if isParameter := strings.HasPrefix(s, "{"); isParameter && asked[i] == "" || !isParameter && asked[i] != s {
			return false
		}
	}
	return true
}

// errorAt points to the schema of an error.
func errorAt(slug string) string { return path.Join("/components/schemas", slug) }
