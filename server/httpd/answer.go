package httpd

import (
	"context"
	"fmt"
	"net/http"
	"reflect"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"coffer/server/api"
	"coffer/server/warden"
)

// operation answers the requests of one route.
type operation func(*exchange) error

// answer is the operation whose result is the data of the answer.
func answer[Req request, Res any](op func(*warden.Warden, context.Context, warden.Caller, Req) (Res, error)) operation {
	b := newBinder(reflect.TypeFor[Req]())
	return func(x *exchange) error {
		req, err := ask[Req](x, b)
		if err != nil {
			return err
		}
		res, err := op(x.Warden, x.ctx, x.who, *req)
		if err != nil {
			return err
		}
		return x.send(res, nil)
	}
}

// page is the operation whose result is a part of a list.
func page[Req request, T any](op func(*warden.Warden, context.Context, warden.Caller, Req) (*api.List[T], error)) operation {
	b := newBinder(reflect.TypeFor[Req]())
	return func(x *exchange) error {
		req, err := ask[Req](x, b)
		if err != nil {
			return err
		}
		l, err := op(x.Warden, x.ctx, x.who, *req)
		if err != nil {
			return err
		}
		return x.send(l.Items, &api.Pagination{
			Limit:   l.Limit,
			Offset:  l.Offset,
			Total:   l.Total,
			HasMore: l.Offset+len(l.Items) < l.Total,
		})
	}
}

// nothing is the operation that has no result.
func nothing[Req request](op func(*warden.Warden, context.Context, warden.Caller, Req) error) operation {
	b := newBinder(reflect.TypeFor[Req]())
	return func(x *exchange) error {
		req, err := ask[Req](x, b)
		if err != nil {
			return err
		}
		if err := op(x.Warden, x.ctx, x.who, *req); err != nil {
			return err
		}
		x.write(http.StatusNoContent, nil)
		return nil
	}
}

// ask identifies the caller and makes the request that the operation gets.
// What is wrong with it is said only to a caller whose credential is admitted,
// but it is read before, so that a refusal names the repository.
func ask[Req request](x *exchange, b *binder) (*Req, error) {
	if err := x.readBody(); err != nil {
		return nil, err
	}
	if err := x.identify(); err != nil {
		return nil, err
	}
	if err := x.limit(); err != nil {
		return nil, err
	}
	in := x.input()
	req, wrong := bind[Req](b, in)
	if err := x.gate.Admit(x.ctx, x.who, x.route.action, repositoryOf(in, req)); err != nil {
		return nil, err
	}
	return req, wrong
}

func (x *exchange) input() *input {
	in := &input{
		params:  x.c.Params,
		escaped: x.r.URL.RawPath != "",
		query:   x.r.URL.RawQuery,
		header:  x.r.Header,
		hasBody: x.r.Method != http.MethodGet && x.r.Method != http.MethodHead,

		subgroups: x.Subgroups,
	}
	if x.body != nil {
		in.body = x.body.Bytes()
	}
	return in
}

// repositoryOf is the well-formed name of the repository that a request is
// about, or "".
func repositoryOf(in *input, req any) string {
	r, ok := req.(interface{ Repository() string })
	if !ok {
		return ""
	}
	name := r.Repository()
	if owner, _, ok := api.SplitRepo(name); !ok || !in.owner(owner) {
		return ""
	}
	return name
}

type envelope struct {
	Data any      `json:"data"`
	Meta api.Meta `json:"meta"`
}

// wire is how we write JSON: sorted maps, empty lists as [], and a text from
// outside that is no UTF-8 (a User-Agent, say) repaired instead of refused.
var wire = json.JoinOptions(
	json.Deterministic(true),
	jsonv1.OmitEmptyWithLegacySemantics(true),
	jsontext.AllowDuplicateNames(true),
	jsontext.AllowInvalidUTF8(true),
)

// send answers with data in the envelope: 201 if it says that it is new.
func (x *exchange) send(data any, p *api.Pagination) error {
	status := http.StatusOK
	if t, ok := data.(interface{ Tag() (string, bool) }); ok {
		etag, notModified := t.Tag()
		x.w.Header().Set("ETag", etag)
		if notModified {
			x.refund()
			x.write(http.StatusNotModified, nil)
			return nil
		}
	}
	if made, ok := data.(interface{ Created() (bool, string) }); ok {
		if isNew, location := made.Created(); isNew {
			status = http.StatusCreated
			if location != "" {
				x.w.Header().Set("Location", location)
			}
		}
	}
	if job, ok := data.(interface{ StillRunning() (bool, string) }); ok {
		if running, location := job.StillRunning(); running {
			status = http.StatusAccepted
			x.w.Header().Set("Location", location)
		}
	}
	return x.writeJSON(status, &envelope{data, api.Meta{RequestID: x.id, Pagination: p}})
}

func (x *exchange) writeJSON(status int, v any) error {
	buf := takeBuffer()
	defer releaseBuffer(buf)
	if err := json.MarshalWrite(buf, v, wire); err != nil {
		return fmt.Errorf("encode the answer: %w", err)
	}
	x.w.Header()["Content-Type"] = jsonType
	x.write(status, buf.Bytes())
	return nil
}
