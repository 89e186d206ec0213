package hostingtest_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"coffer/server/standin"
)

// described holds what is asked and answered against a provider's own
// description of its API.
type described struct {
	doc     *openapi3.T
	rewrite func(path string) string // of what is not described at its own address; nil keeps all

	mu    sync.Mutex
	seen  map[string]int // by operation and status
	wrong map[string]string
}

func newDescribed(doc *openapi3.T) *described {
	return &described{doc: doc, seen: map[string]int{}, wrong: map[string]string{}}
}

// report tells what was wrong, and wants these operations to have been seen.
func (d *described) report(t *testing.T, want ...string) {
	t.Helper()
	for what, why := range d.wrong {
		t.Errorf("%s: %s", what, why)
	}
	for _, what := range want {
		if d.seen[what] == 0 {
			t.Errorf("%s was never seen", what)
		}
	}
	for what, n := range d.seen {
		t.Logf("%5d %s", n, what)
	}
}

// observe looks at a request, whose body can be read, and its answer.
func (d *described) observe(r *http.Request, answer *httptest.ResponseRecorder) {
	path := r.URL.EscapedPath()
	if d.rewrite != nil {
		path = d.rewrite(path)
	}
	template := standin.Template(maps.Keys(d.doc.Paths.Map()), path)
	d.mu.Lock()
	defer d.mu.Unlock()
	what := fmt.Sprintf("%s %s %d", r.Method, template, answer.Code)
	if d.seen[what]++; d.seen[what] > 50 {
		return // more of the same
	}
	item := d.doc.Paths.Value(template)
	if item == nil || item.GetOperation(r.Method) == nil {
		d.wrong[what+" "+path] = "there is no such operation"
		return
	}
	op := item.GetOperation(r.Method)
	if answer.Code/100 == 2 {
		d.note(what, "the request", d.requestFault(op, r))
	}
	d.note(what, "the answer", answerFault(op, answer))
}

func (d *described) note(what, which string, err error) {
	if err != nil {
		d.wrong[what] = which + ": " + err.Error()
	}
}

// requestFault is what is wrong with a request that was taken: a query that is
// not described, or a body.
func (d *described) requestFault(op *openapi3.Operation, r *http.Request) error {
	for name := range r.URL.Query() {
		if op.Parameters.GetByInAndName(openapi3.ParameterInQuery, name) == nil {
			return fmt.Errorf("there is no parameter %s", name)
		}
	}
	body, err := io.ReadAll(r.Body)
	switch {
	case err != nil:
		return err
	case op.RequestBody == nil && len(body) > 0:
		return errors.New("there should be no body")
	case op.RequestBody == nil:
		return nil
	}
	return visit(op.RequestBody.Value.Content.Get("application/json"), body, openapi3.VisitAsRequest())
}

func answerFault(op *openapi3.Operation, answer *httptest.ResponseRecorder) error {
	response := op.Responses.Status(answer.Code)
	if response == nil {
		response = op.Responses.Default()
	}
	switch {
	case response == nil && answer.Code/100 == 4:
		return nil // what may meet every operation is described for some only
	case response == nil:
		return errors.New("there is no such status")
	}
	media := response.Value.Content.Get("application/json")
	if media == nil {
		if answer.Body.Len() > 0 && answer.Code/100 == 2 {
			return errors.New("there should be no body")
		}
		return nil
	}
	return visit(media, answer.Body.Bytes(), openapi3.VisitAsResponse())
}

func visit(media *openapi3.MediaType, text []byte, as openapi3.SchemaValidationOption) error {
	var body any
	if err := json.Unmarshal(text, &body); err != nil || media == nil {
		return errors.Join(err, errors.New("the body is none that is described"))
	}
	err := media.Schema.Value.VisitJSON(body, as, openapi3.EnableFormatValidation())
	if wrong, ok := errors.AsType[*openapi3.SchemaError](err); ok {
		for inner, ok := errors.AsType[*openapi3.SchemaError](wrong.Origin); ok; inner, ok = errors.AsType[*openapi3.SchemaError](wrong.Origin) {
			wrong = inner
		}
		return fmt.Errorf("at /%s: %s", strings.Join(wrong.JSONPointer(), "/"), wrong.Reason)
	}
	return err
}
