package openapi

import (
	"slices"
	"strings"
)

// operation is one operation of a piece, and after [builder.expand] one of the
// document.
type operation struct {
	OperationID string   `json:"operationId"`
	Tags        []string `json:"tags"`
	Summary     string   `json:"summary"`
	Description string   `json:"description,omitempty"`
	Parameters  []any    `json:"parameters,omitempty"`
	RequestBody object   `json:"requestBody,omitempty"`
	Responses   object   `json:"responses"`
	Servers     []any    `json:"servers,omitempty"`
	Security    []any    `json:"security"`
	Scope       []string `json:"x-scope,omitzero"`
	Credentials string   `json:"x-credentials,omitempty"`

	Body     string         `json:"x-body,omitempty"`
	Answers  map[string]any `json:"x-answers,omitempty"`
	Page     string         `json:"x-page,omitempty"`
	Location bool           `json:"x-location,omitzero"`
	ETag     bool           `json:"x-etag,omitzero"`
	Errors   []string       `json:"x-errors,omitempty"`
}

// builder makes a document out of pieces.
type builder struct {
	base      base
	schemas   object
	responses object
	servers   []any
}

// operatorSocket is where an operation for the operator is asked for.
var operatorSocket = []any{object{
	"url":         "http://operator",
	"description": "The socket in the server's data directory.",
}}

// expand spells the abbreviations of an operation out.
func (b *builder) expand(op *operation, tag string) *operation {
	out := *op
	if len(out.Tags) == 0 {
		out.Tags = []string{tag}
	}
	for i, p := range out.Parameters {
		if name, ok := p.(string); ok {
			out.Parameters[i] = ref("parameters", name)
		}
	}
	if op.Body != "" {
		out.RequestBody = object{"required": true, "content": inJSON(ref("schemas", op.Body))}
	}
	if out.Responses == nil {
		out.Responses = make(object)
	}
	for status, data := range op.Answers {
		out.Responses[status] = b.answer(status, data)
	}
	if op.Page != "" {
		out.Responses["200"] = object{"description": "One page of the list.",
			"content": inJSON(envelope(listOf(op.Page), "PageMeta"))}
	}
	errors := op.Errors
	if op.Scope != nil {
		errors = slices.Concat(errors, b.base.Shared.Errors)
	}
	if streamed(op.RequestBody) { // it is read as it comes, whatever its size
		errors = slices.DeleteFunc(errors, func(slug string) bool { return slug == "payload-too-large" })
	}
	b.addHeaders(&out, slices.Contains(errors, "rate-limited"))
	b.errors(out.Responses, errors)
	b.secure(&out)
	out.Body, out.Answers, out.Page, out.Location, out.ETag, out.Errors = "", nil, "", false, false, nil
	return &out
}

// streamed reports whether a body is something else than an object of ours.
func streamed(body object) bool {
	content, _ := body["content"].(object)
	return body != nil && content["application/json"] == nil
}

// answer is an answer that is no error.
func (b *builder) answer(status string, data any) object {
	switch data := data.(type) {
	case string:
		return object{"description": b.description(data), "content": inJSON(envelope(ref("schemas", data), "Meta"))}
	case []any:
		return object{"description": "The whole list.", "content": inJSON(envelope(listOf(data[0].(string)), "Meta"))}
	}
	if status == "304" {
		return object{"description": "The answer is still the one that the request names."}
	}
	return object{"description": "It is done."}
}

// addHeaders adds to each answer the headers that it has.
func (b *builder) addHeaders(op *operation, limited bool) {
	for status, response := range op.Responses {
		names := slices.Clone(b.base.Shared.Headers)
		if limited {
			names = append(names, b.base.Shared.LimitHeaders...)
		}
		if op.Location && (status == "201" || status == "202") {
			names = append(names, "Location")
		}
		if op.ETag {
			names = append(names, "ETag")
		}
		headers := headerRefs(names)
		if op.Location && status == "302" {
			headers["Location"] = ref("headers", "Location-Elsewhere")
		}
		response.(object)["headers"] = headers
	}
}

// secure says what credential the operation takes.
func (b *builder) secure(op *operation) {
	op.Security = []any{}
	switch {
	case op.Scope == nil:
		return
	case op.Credentials == "operator":
		op.Servers = operatorSocket
		return
	case op.Credentials == "operator,operator-session":
		// Nothing on the socket, a session elsewhere.
		op.Servers = append(slices.Clip(operatorSocket), b.servers...)
		op.Security = []any{object{}, object{"session": []string{}}}
		return
	case op.Credentials == "session":
	case len(op.Scope) == 0:
		op.Security = []any{object{"bearer": []string{}}}
	default:
		for _, scope := range op.Scope {
			op.Security = append(op.Security, object{"bearer": []string{scope}})
		}
	}
	if kinds := strings.Split(op.Credentials, ","); slices.Contains(kinds, "any") || slices.Contains(kinds, "session") {
		op.Security = append(op.Security, object{"session": []string{}})
	}
}

func inJSON(schema object) object {
	return object{"application/json": object{"schema": schema}}
}

func listOf(schema string) object {
	return object{"type": "array", "items": ref("schemas", schema)}
}

func envelope(data object, meta string) object {
	return object{
		"type":       "object",
		"required":   []string{"data", "meta"},
		"properties": object{"data": data, "meta": ref("schemas", meta)},
	}
}
