package openapitest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// check lists what the document does not describe about an exchange.
func (d *document) check(x *exchange) (wrong []string) {
	op, known := d.find(x.req)
	if op == nil {
		return d.checkStray(x, known)
	}
	status := strconv.Itoa(x.res.StatusCode)
	at, ok := op.answers[status]
	if !ok {
		return []string{fmt.Sprintf("%s has no such answer: %s", op.id, x.content)}
	}
	d.mu.Lock()
	d.seen[op.id+" "+status] = true
	d.mu.Unlock()
	wrong = append(d.checkHeaders(x, at), d.checkContent(x, at)...)
	if x.res.StatusCode < 400 {
		wrong = append(wrong, d.checkRequest(x, op)...)
	}
	return wrong
}

// checkStray checks the answer to what is no operation: there are only three.
func (d *document) checkStray(x *exchange, known bool) []string {
	slug := map[int]string{404: "not-found", 405: "method-not-allowed", 503: "sealed"}[x.res.StatusCode]
	if slug == "" || known != (slug == "method-not-allowed") && slug != "sealed" {
		return []string{fmt.Sprintf("not described: %s", x.content)}
	}
	if slug == "method-not-allowed" && x.res.Header.Get("Allow") == "" {
		return []string{"no header Allow"}
	}
	if x.req.Method == http.MethodHead {
		return nil
	}
	return d.validate(errorAt(slug), x.content)
}

func (d *document) checkHeaders(x *exchange, at string) (wrong []string) {
	headers, _ := d.at(at + "/headers").(object)
	for name := range headers {
		ptr := d.follow(at + pointer("headers", name))
		values := x.res.Header.Values(name)
		if len(values) == 0 {
			if required, _ := d.at(ptr + "/required").(bool); required {
				wrong = append(wrong, "no header "+name)
			}
			continue
		}
		for _, w := range d.validateText(ptr+"/schema", strings.Join(values, ", ")) {
			wrong = append(wrong, "header "+name+": "+w)
		}
	}
	return wrong
}

func (d *document) checkContent(x *exchange, at string) []string {
	content, _ := d.at(at + "/content").(object)
	if len(content) == 0 || x.req.Method == http.MethodHead {
		if len(x.content) > 0 {
			return []string{fmt.Sprintf("a body where none is described: %s", x.content)}
		}
		return nil
	}
	media, _, err := mime.ParseMediaType(x.res.Header.Get("Content-Type"))
	if err != nil || content[media] == nil {
		return []string{fmt.Sprintf("Content-Type %q is not described", x.res.Header.Get("Content-Type"))}
	}
	ptr := at + pointer("content", media, "schema")
	if !strings.HasSuffix(media, "/json") && !strings.HasSuffix(media, "+json") {
		return d.validateText(ptr, string(x.content))
	}
	return d.validate(ptr, x.content)
}

// checkRequest checks a request that was accepted.
func (d *document) checkRequest(x *exchange, op *operation) (wrong []string) {
	query, err := url.ParseQuery(x.req.URL.RawQuery)
	if err != nil {
		wrong = append(wrong, err.Error())
	}
	asked := strings.Split(x.req.URL.EscapedPath(), "/")
	for _, ptr := range op.params {
		p := d.at(ptr).(object)
		name := p["name"].(string)
		text := ""
		switch p["in"] {
		case "query":
			text = query.Get(name)
		case "header":
			text = x.req.Header.Get(name)
		case "path":
			for i, s := range op.segments {
				if s == "{"+name+"}" {
					text, _ = url.PathUnescape(asked[i])
				}
			}
		}
		if required, _ := p["required"].(bool); text == "" && required {
			wrong = append(wrong, "accepted without the parameter "+name)
		}
		if text == "" {
			continue // an empty parameter counts as none
		}
		for _, w := range d.validateText(ptr+"/schema", text) {
			wrong = append(wrong, "accepted with parameter "+name+": "+w)
		}
	}
	return append(wrong, d.checkBody(x, op)...)
}

func (d *document) checkBody(x *exchange, op *operation) (wrong []string) {
	switch {
	case op.body == "":
		return nil
	case len(bytes.TrimSpace(x.sent)) == 0:
		if op.needBody {
			return []string{"accepted without a body"}
		}
		return nil
	}
	for _, w := range d.validate(op.body, x.sent) {
		wrong = append(wrong, "accepted with a body that breaks its schema: "+w)
	}
	return wrong
}

// validate holds JSON against the schema that a pointer points to.
func (d *document) validate(ptr string, text []byte) []string {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return []string{fmt.Sprintf("no JSON: %v", err)}
	}
	return d.validateValue(ptr, v)
}

// validateText holds the text of a header or a parameter against a schema: as
// the number or the boolean that it may be, or as text.
func (d *document) validateText(ptr, text string) []string {
	switch d.at(d.follow(ptr) + "/type") {
	case "integer":
		if _, err := strconv.ParseInt(text, 10, 64); err == nil {
			return d.validateValue(ptr, json.Number(text))
		}
	case "boolean":
		if b, err := strconv.ParseBool(text); err == nil {
			return d.validateValue(ptr, b)
		}
	}
	return d.validateValue(ptr, text)
}

func (d *document) validateValue(ptr string, v any) []string {
	schema, err := d.schema(ptr)
	if err == nil {
		err = schema.Validate(v)
	}
	if err != nil {
		_, details, _ := strings.Cut(err.Error(), "\n")
		return []string{fmt.Sprintf("not like %s:\n%s", ptr, strings.ReplaceAll(details, ": false schema", ": not described"))}
	}
	return nil
}
