package forge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// read makes of an answer what out wants, or the error that it stands for. Only
// the host says what there is not: a proxy that stands in for it while it is away
// says so of everything, and is told by its pages, which are not JSON.
func (w *wire) read(q question, status int, h http.Header, body []byte, out any) error {
	switch {
	case status/100 == 2 && q.only != 0 && q.only != status:
		return &Unavailable{Err: errors.New("its answer is another than it gives; is a proxy in between?")}
	case status/100 == 2:
		if q.nobody || out == nil {
			return nil
		}
		return decode(h, body, out)
	case status == http.StatusForbidden || status == http.StatusTooManyRequests:
		return w.refused(status, h, body)
	case !isJSON(h):
	case q.oauth && (status == http.StatusBadRequest || status == http.StatusUnauthorized):
		return &Unavailable{Err: &statusError{status, h, body}}
	case status == http.StatusUnauthorized:
		return ErrToken
	case status == http.StatusNotFound, status == http.StatusGone:
		return ErrNotFound
	}
	return &Unavailable{RetryAfter: w.wait(h), Err: &statusError{status, h, body}}
}

// refused is what a 403 or 429 stands for.
func (w *wire) refused(status int, h http.Header, body []byte) error {
	if w.refusal != nil {
		if err := w.refusal(h, body); err != nil {
			return err
		}
	}
	switch {
	case status == http.StatusTooManyRequests, h.Get("Retry-After") != "":
		return &Unavailable{RetryAfter: w.wait(h), Err: errors.New("it was asked too often")}
	case !isJSON(h):
		return &Unavailable{Err: &statusError{status, h, body}}
	}
	return ErrRefused
}

// statusError is an answer that has no meaning of its own. Adapters that know one
// for it look into Status, Header and Body.
type statusError struct {
	Status int
	Header http.Header
	Body   []byte // may hold anything: for adapters, not for messages
}

func (e *statusError) Error() string {
	if e.Status/100 != 5 && !isJSON(e.Header) {
		return fmt.Sprintf("it answered with status %d and no JSON; is the address right, and is a proxy in between?", e.Status)
	}
	return fmt.Sprintf("it answered with status %d", e.Status)
}

// hasStatus reports whether an error is an answer with this status.
func hasStatus(err error, status int) bool {
	answer, ok := errors.AsType[*statusError](err)
	return ok && answer.Status == status
}

func isJSON(h http.Header) bool {
	kind, _, _ := mime.ParseMediaType(h.Get("Content-Type"))
	return kind == "application/json" || strings.HasSuffix(kind, "+json")
}

func decode(h http.Header, body []byte, out any) error {
	if !isJSON(h) {
		return &Unavailable{Err: errors.New("its answer is no JSON; is the address right, and is a proxy in between?")}
	}
	// To the decoder null is every list without an item.
	if err := json.Unmarshal(body, out); err != nil || string(bytes.TrimSpace(body)) == "null" {
		return &Unavailable{Err: errors.New("its answer is JSON that cannot be understood")}
	}
	return whole(out)
}

// claim is an answer, or an item of a list, that is about something: one that does
// not say about what, and does not say it all, is none.
type claim interface{ whole() bool }

func whole(answer any) error {
	if c, ok := answer.(claim); ok && !c.whole() {
		return &Unavailable{Err: errors.New("its answer leaves out what it should hold")}
	}
	return nil
}

// wait is how long the host asks to be left alone, 0 when it does not say.
func (w *wire) wait(h http.Header) time.Duration {
	text := h.Get("Retry-After")
	if n, err := strconv.Atoi(text); err == nil && n >= 0 {
		return time.Duration(min(n, 3600)) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return min(max(at.Sub(w.now()), 0), time.Hour)
	}
	return 0
}
