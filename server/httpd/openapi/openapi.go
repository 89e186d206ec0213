// Package openapi holds the description of the HTTP API, an OpenAPI 3.1
// document, in pieces that people write and read.
//
// It knows nothing of handlers and rules: tests hold it against them. Its one
// invariant: what [Document] returns is plain OpenAPI that stands on its own.
//
// There is one piece for each noun, with its paths and its schemas; base.json
// holds what all share. A piece is OpenAPI, with these abbreviations that
// Document spells out:
//
//   - a parameter that is only a name stands in base.json, and the parameters
//     of a path are added by their names
//   - x-body: the schema of the body, which must be there
//   - x-answers: by status, the schema of the data in the envelope; a list of
//     one schema for a list of it; null for an answer without a body
//   - x-page: the schema of the items of a list that comes in pages
//   - x-location, x-etag: the answer has that header, the first one where there
//     is somewhere to go: with 201, 202 and 302
//   - x-errors: the errors of this operation, each named like its schema.
//     An operation with x-scope needs a credential and has the errors that
//     base.json lists, too
//   - x-scope, x-credentials: one of these scopes, and these kinds of
//     credentials; both stay in the document, and security follows from them
package openapi

import (
	"embed"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
)

//go:embed *.json
var files embed.FS

type object = map[string]any

// piece is one file.
type piece struct {
	Tag     string                           `json:"tag"`
	Paths   map[string]map[string]*operation `json:"paths"`
	Schemas object                           `json:"schemas"`
}

// base is the file that holds what all pieces share.
type base struct {
	Document   object `json:",embed"`
	Components struct {
		Schemas object `json:"schemas"`
		Rest    object `json:",embed"`
	} `json:"components"`
	Shared struct {
		Errors       []string `json:"errors"`
		Headers      []string `json:"headers"`
		LimitHeaders []string `json:"limitHeaders"`
	} `json:"x-shared"`
}

// Document is the description for clients that reach the API at publicURL.
func Document(publicURL string) []byte {
	b := builder{servers: []any{object{"url": publicURL}}}
	read("base.json", &b.base)
	b.schemas, b.responses = b.base.Components.Schemas, make(object)
	pieces := b.pieces()
	paths := make(object)
	for _, p := range pieces {
		for where, operations := range p.Paths {
			item := object{"parameters": pathParameters(where)}
			for method, op := range operations {
				item[method] = b.expand(op, p.Tag)
			}
			paths[where] = item
		}
	}
	components := maps.Clone(b.base.Components.Rest)
	components["schemas"], components["responses"] = b.schemas, b.responses
	doc := maps.Clone(b.base.Document)
	doc["servers"] = b.servers
	doc["paths"], doc["components"] = paths, components
	text, err := json.Marshal(doc, json.Deterministic(true))
	if err != nil {
		panic("openapi: internal error: " + err.Error())
	}
	return text
}

// pieces reads all pieces and gathers their schemas.
func (b *builder) pieces() []piece {
	names, err := files.ReadDir(".")
	if err != nil {
		panic("openapi: internal error: " + err.Error())
	}
	var all []piece
	for _, f := range names {
		if f.Name() == "base.json" {
			continue
		}
		var p piece
		read(f.Name(), &p)
		for name, schema := range p.Schemas {
			if _, taken := b.schemas[name]; taken {
				panic(fmt.Sprintf("openapi: internal error: %s: schema %s is there already", f.Name(), name))
			}
			b.schemas[name] = schema
		}
		all = append(all, p)
	}
	return all
}

// read reads a file. A member that is not known is a slip of the pen.
func read(name string, into any) {
	text, err := files.ReadFile(name)
	if err == nil {
		err = json.Unmarshal(text, into, json.RejectUnknownMembers(true))
	}
	if err != nil {
		panic(fmt.Sprintf("openapi: internal error: %s: %v", name, err))
	}
}

var inPath = regexp.MustCompile(`\{(\w+)\}`)

func pathParameters(where string) []any {
	all := []any{ref("parameters", "X-Request-ID")}
	for _, m := range inPath.FindAllStringSubmatch(where, -1) {
		all = append(all, ref("parameters", m[1]))
	}
	return all
}

func ref(kind, name string) object { return object{"$ref": path.Join("#/components", kind, name)} }

// statusOf is the status of the error that a schema describes.
func (b *builder) statusOf(name string) string {
	schema, _ := b.schemas[name].(object)
	properties, _ := schema["properties"].(object)
	status, _ := properties["status"].(object)
	if status["const"] == nil {
		panic("openapi: internal error: no error " + name)
	}
	return fmt.Sprint(status["const"])
}

// description is what a schema says about itself.
func (b *builder) description(name string) string {
	schema, _ := b.schemas[name].(object)
	text, _ := schema["description"].(string)
	if text == "" {
		panic("openapi: internal error: no description of " + name)
	}
	return text
}

// errors groups errors by status and adds an answer for each.
func (b *builder) errors(responses object, names []string) {
	byStatus := make(map[string][]string)
	for _, name := range names {
		status := b.statusOf(name)
		byStatus[status] = append(byStatus[status], name)
	}
	for status, names := range byStatus {
		slices.Sort(names)
		together := strings.Join(names, "-or-")
		if b.responses[together] == nil {
			b.responses[together] = b.errorResponse(status, names)
		}
		responses[status] = ref("responses", together)
	}
}

func (b *builder) errorResponse(status string, names []string) object {
	var choices []any
	var texts []string
	for _, name := range names {
		choices = append(choices, ref("schemas", name))
		texts = append(texts, b.description(name))
	}
	schema := object{"oneOf": choices}
	if len(choices) == 1 {
		schema = ref("schemas", names[0])
	}
	content := object{"schema": schema}
	headers := slices.Concat(b.base.Shared.Headers, b.base.Shared.LimitHeaders)
	switch status {
	case "401":
		headers = append(headers, "WWW-Authenticate")
	case "429", "503":
		headers = append(headers, "Retry-After")
	}
	return object{
		"description": strings.Join(texts, " Or: "),
		"headers":     headerRefs(headers),
		"content":     object{"application/json": content, "application/problem+json": content},
	}
}

func headerRefs(names []string) object {
	all := make(object)
	for _, name := range names {
		all[name] = ref("headers", name)
	}
	return all
}
