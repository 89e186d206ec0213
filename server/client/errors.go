package client

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	"coffer/server/api"
)

// NetworkError says that no answer of a coffer server came: it was not reached,
// or something else answered in its place.
type NetworkError struct {
	Server string // scheme and host
	Err    error
}

// Error names the server and what went wrong.
func (e *NetworkError) Error() string { return e.Server + ": " + e.Err.Error() }

// Unwrap is the cause.
func (e *NetworkError) Unwrap() error { return e.Err }

func (c *Client) networkError(err error) error {
	// A url.Error repeats the whole address; the host is enough.
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	server := c.URL
	if u, e := url.Parse(c.URL); e == nil && u.Host != "" {
		server = u.Scheme + "://" + u.Host
	}
	return &NetworkError{Server: server, Err: err}
}

// problem turns an error body back into the error it was made of, or is nil
// when the body is none of coffer's.
func problem(res *http.Response, raw []byte) *api.Error {
	var body struct {
		Type       string           `json:"type"`
		Detail     string           `json:"detail"`
		TraceID    string           `json:"traceId"`
		Errors     []api.FieldError `json:"errors"`
		UpgradeURL string           `json:"upgradeUrl"`
	}
	var extra map[string]any
	if json.Unmarshal(raw, &body) != nil || json.Unmarshal(raw, &extra) != nil {
		return nil
	}
	if !strings.Contains(body.Type, "/errors/") || body.Detail == "" {
		return nil
	}
	for _, known := range []string{"type", "title", "status", "detail", "instance", "traceId", "errors", "upgradeUrl"} {
		delete(extra, known)
	}
	if len(extra) == 0 {
		extra = nil
	}
	e := &api.Error{
		Code:       api.Code(path.Base(body.Type)),
		Message:    body.Detail,
		Fields:     body.Errors,
		UpgradeURL: body.UpgradeURL,
		Extra:      extra,
		RequestID:  body.TraceID,
	}
	if e.RequestID == "" {
		e.RequestID = res.Header.Get("X-Request-ID")
	}
	if s, err := strconv.Atoi(res.Header.Get("Retry-After")); err == nil && s > 0 {
		e.RetryAfter = time.Duration(s) * time.Second
	}
	return e
}
