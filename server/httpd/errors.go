package httpd

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"coffer/server/api"
)

// kind is how a code looks on the wire.
type kind struct {
	status int
	title  string
	retry  time.Duration // after which to try again, unless the error says otherwise
}

// kinds is the only map from codes to statuses and titles.
var kinds = map[api.Code]kind{
	api.BadRequest:       {status: 400, title: "Bad Request"},
	api.Unauthorized:     {status: 401, title: "Unauthorized"},
	api.Forbidden:        {status: 403, title: "Forbidden"},
	api.PlanLimit:        {status: 403, title: "Plan Limit Exceeded"},
	api.NotFound:         {status: 404, title: "Not Found"},
	api.MethodNotAllowed: {status: 405, title: "Method Not Allowed"},
	api.Conflict:         {status: 409, title: "Conflict"},
	api.TooLarge:         {status: 413, title: "Payload Too Large"},
	api.Invalid:          {status: 422, title: "Validation Error"},
	api.RateLimited:      {status: 429, title: "Too Many Requests", retry: time.Second},
	api.Internal:         {status: 500, title: "Internal Server Error"},
	api.ProviderFailed:   {status: 502, title: "Provider Error"},
	api.Sealed:           {status: 503, title: "Vault Sealed", retry: 5 * time.Second},
	api.Unavailable:      {status: 503, title: "Service Unavailable", retry: 5 * time.Second},
	api.Timeout:          {status: 504, title: "Timeout"},
}

// Status is the HTTP status of a code.
func Status(c api.Code) int { return kinds[c].status }

// problem is an error on the wire.
type problem struct {
	Type       string           `json:"type"`
	Title      string           `json:"title"`
	Status     int              `json:"status"`
	Detail     string           `json:"detail"`
	Instance   string           `json:"instance"`
	TraceID    string           `json:"traceId"`
	Errors     []api.FieldError `json:"errors,omitempty"`
	UpgradeURL string           `json:"upgradeUrl,omitempty"`
	Extra      map[string]any   `json:",embed"`
}

const internalDetail = "Something went wrong on our side. Tell your operator the traceId; the server's log names it."

// fail answers with err.
func (x *exchange) fail(err error) {
	e := x.public(err)
	k := kinds[e.Code]
	x.advise(e)
	x.write(k.status, x.problem(e))
}

// advise sets the headers that say how to do better: with what credential, or
// when to try again, where that may help.
func (x *exchange) advise(e *api.Error) {
	if e.Code == api.Unauthorized {
		x.w.Header().Set("WWW-Authenticate", "Bearer")
	}
	if wait := cmp.Or(e.RetryAfter, kinds[e.Code].retry); wait > 0 {
		x.w.Header().Set("Retry-After", strconv.FormatInt(int64((wait+time.Second-1)/time.Second), 10))
	}
}

// public is what a client may see of err. Whatever is not ours stays inside,
// and is logged once.
func (x *exchange) public(err error) *api.Error {
	e, ok := errors.AsType[*api.Error](err)
	switch {
	case ok && e.Code != api.Internal && kinds[e.Code].status != 0:
		return e
	case ok:
	case errors.Is(err, context.DeadlineExceeded):
		return api.Errorf(api.Timeout, "The request took longer than 30 seconds. Nothing was written; try again.")
	case errors.Is(err, context.Canceled) && x.ctx.Err() != nil:
		return api.Errorf(api.Unavailable, "The request was cut short; try again.")
	}
	x.Log.LogAttrs(x.ctx, slog.LevelError, "internal error",
		slog.String("error", err.Error()),
		slog.String("method", x.method()),
		slog.String("route", x.c.FullPath()),
		slog.String("request", x.id))
	return &api.Error{Code: api.Internal}
}

// problem encodes e, and sets the headers that depend on it.
func (x *exchange) problem(e *api.Error) []byte {
	p := problem{
		Type:       x.errorPage(e.Code),
		Title:      kinds[e.Code].title,
		Status:     kinds[e.Code].status,
		Detail:     e.Message,
		Instance:   x.r.URL.EscapedPath(),
		TraceID:    x.id,
		Errors:     e.Fields,
		UpgradeURL: e.UpgradeURL,
		Extra:      e.Extra,
	}
	switch {
	case e.Code == api.Internal:
		p.Detail = internalDetail
	case p.Detail == "":
		p.Detail = p.Title + "."
	}
	if e.Code == api.PlanLimit && p.UpgradeURL == "" {
		p.UpgradeURL = p.Type
	}
	body, err := json.Marshal(&p, wire)
	if err != nil {
		p.Extra = nil
		body, _ = json.Marshal(&p, wire)
	}
	contentType := jsonType
	if strings.Contains(strings.ToLower(strings.Join(x.r.Header["Accept"], ",")), problemType[0]) {
		contentType = problemType
	}
	x.w.Header()["Content-Type"] = contentType
	return body
}

func (f *face) errorPage(c api.Code) string { return f.PublicURL + "/errors/" + string(c) }

var (
	jsonType    = []string{"application/json; charset=utf-8"}
	problemType = []string{"application/problem+json"}
	htmlType    = []string{"text/html; charset=utf-8"}
	textType    = []string{"text/plain; charset=utf-8"}
)

// write sends an answer whose Content-Type is set.
func (x *exchange) write(status int, body []byte) {
	h := x.w.Header()
	if status != http.StatusNoContent && status != http.StatusNotModified {
		h["Content-Length"] = []string{strconv.Itoa(len(body))}
	}
	x.w.WriteHeader(status)
	// gin answers in text itself where nothing was written.
	x.w.WriteHeaderNow()
	if x.r.Method != http.MethodHead && len(body) > 0 {
		_, _ = x.w.Write(body)
	}
}
