package httpd

import (
	"fmt"
	"net/http"
	"reflect"
	"strings"

	"github.com/gin-gonic/gin"

	"coffer/server/api"
)

// request is what a route asks for: a struct whose tags say where its fields
// come from, and whose Check says what is wrong with them.
type request interface{ Check(*api.Fields) }

// input is what of an HTTP request can fill a request struct.
type input struct {
	params  gin.Params
	escaped bool // params are still percent-encoded
	query   string
	header  http.Header
	body    []byte
	hasBody bool // the method is one that carries a body

	subgroups bool // the code host has groups in groups
}

// binder fills requests of one type. The struct is read once, when the route
// table is made.
type binder struct {
	path  []pathField
	query []queryField
	head  []headField
	body  object
	needs bool // some member of the body must be there
}

// headField is a string that a header fills. What it says is for the operation
// to read.
type headField struct {
	name  string
	index []int
}

// newBinder reads the tags of t: path (with id), query, header or json, and need.
// Embedded structs count as if their fields stood in t.
func newBinder(t reflect.Type) *binder {
	b := &binder{}
	for _, f := range reflect.VisibleFields(t) {
		if f.Anonymous {
			continue
		}
		need := f.Tag.Get("need") == "true"
		if name, ok := f.Tag.Lookup("path"); ok {
			b.path = append(b.path, newPathField(name, f))
		}
		if name, ok := f.Tag.Lookup("query"); ok {
			b.query = append(b.query, queryField{name, f.Index, need, querySetter(f.Type, name)})
		}
		if name, ok := f.Tag.Lookup("header"); ok {
			b.head = append(b.head, headField{name, f.Index})
		}
		if name, ok := f.Tag.Lookup("json"); ok {
			b.body.members = append(b.body.members, newMember(f, name, name))
			b.needs = b.needs || need
		}
	}
	if len(b.body.members) > 64 {
		panic(fmt.Sprintf("httpd: internal error: %s has more than 64 members", t))
	}
	return b
}

// bind makes a Req of in. On an error the request holds what was read before
// it, so that a refusal can still be recorded against the right repository.
func bind[Req request](b *binder, in *input) (*Req, error) {
	req := new(Req)
	v := reflect.ValueOf(req).Elem()
	wrong := api.Fields{Subgroups: in.subgroups}
	if err := b.fill(v, in, &wrong); err != nil {
		return req, err
	}
	if c, ok := any(req).(interface{ Contradiction() string }); ok {
		if text := c.Contradiction(); text != "" {
			return req, &api.Error{Code: api.BadRequest, Message: text}
		}
	}
	(*req).Check(&wrong)
	if err := wrong.Err(); err != nil {
		return req, err
	}
	return req, nil
}

func (b *binder) fill(v reflect.Value, in *input, wrong *api.Fields) error {
	for i := range b.path {
		if err := b.path[i].set(v, in); err != nil {
			return err
		}
	}
	if err := b.fillQuery(v, in.query, wrong); err != nil {
		return err
	}
	for _, h := range b.head {
		v.FieldByIndex(h.index).SetString(strings.Join(in.header.Values(h.name), ","))
	}
	if !in.hasBody {
		return nil
	}
	return b.fillBody(v, in.body, wrong)
}
