package forge

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	askTime     = 5 * time.Second // for one attempt, and for the wait before it
	maxPage     = 1 << 20         // bytes of one answer
	maxPages    = 1000            // of one list
	maxParallel = 16              // questions to a host at one time
	maxSkew     = 2 * time.Minute // between the host's clock and ours, before anybody is told
	retryPause  = 100 * time.Millisecond
)

// wire is the HTTP layer that the adapters share. It sends a token to the host
// that it was made for and to no other, retries once what may be retried, and
// turns every failure into one of this package's errors.
type wire struct {
	base   *url.URL // of the API
	client *http.Client
	slots  chan struct{}
	limit  time.Duration // askTime, but for tests
	pause  time.Duration // retryPause, but for tests
	agent  string
	now    func() time.Time
	watch  func(answered bool, took time.Duration)
	ahead  *atomic.Int64 // of our clock, the host's, when it last answered
	header http.Header   // of every question

	// sign puts a token, which is never empty, where the host wants it.
	sign func(h http.Header, token string)

	// refusal explains a 403 or 429 by the host's own means: *Unavailable for a
	// limit, *Missing for a scope. Nil leaves it to the shared rules.
	refusal func(h http.Header, body []byte) error
}

// question is one request to the host.
type question struct {
	method string // "" is GET
	path   string // below the base; or an address of the same host
	query  url.Values
	token  string // "" asks as a stranger
	header http.Header
	basic  *url.Userinfo // instead of a token
	form   url.Values    // body of a form
	json   any           // body in JSON
	nobody bool          // the answer's body is of no interest
	oauth  bool          // a 400 or 401 says in its body why: it becomes a *statusError
	only   int           // the one status that is a success; 0 is every 2xx
}

// newWire makes the layer for an API at base.
func newWire(c Config, base string) (*wire, error) {
	root, err := url.Parse(base)
	if err != nil {
		return nil, fmt.Errorf("address of the code host: %w", err)
	}
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.TLSClientConfig = &tls.Config{RootCAs: c.Roots, MinVersion: tls.VersionTLS12}
	t.MaxResponseHeaderBytes = 64 << 10
	t.MaxIdleConnsPerHost = maxParallel
	if c.Proxy != "" {
		through, err := url.Parse(c.Proxy)
		if err != nil || through.Host == "" {
			return nil, errors.New("forge.proxy is no address of a proxy; write it like http://proxy.example:3128")
		}
		t.Proxy = http.ProxyURL(through)
	}
	agent := c.Agent
	if agent == "" {
		agent = "coffer"
	}
	if c.Watch == nil {
		c.Watch = func(bool, time.Duration) {}
	}
	return &wire{
		base: root, agent: agent, now: c.Now, watch: c.Watch, ahead: new(atomic.Int64), slots: make(chan struct{}, maxParallel), limit: askTime, pause: retryPause,
		sign: func(h http.Header, token string) { h.Set("Authorization", "Bearer "+token) },
		client: &http.Client{
			Transport: t,
			// Redirects are followed by hand: a token must not leave the host.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// get asks for JSON at path and decodes it into out.
func (w *wire) get(ctx context.Context, token, path string, query url.Values, out any) (http.Header, error) {
	return w.ask(ctx, question{token: token, path: path, query: query}, out)
}

// found reports whether the host answers a GET at path with 204: true, or false
// for 404. Another success is none of the host's.
func (w *wire) found(ctx context.Context, token, path string) (bool, error) {
	_, err := w.ask(ctx, question{token: token, path: path, nobody: true, only: http.StatusNoContent}, nil)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// ask sends q, once more if it failed in a way that may pass and nothing can
// have been done by it, and decodes the answer's JSON into out unless out is nil.
// Redirects are followed within the host.
func (w *wire) ask(ctx context.Context, q question, out any) (h http.Header, err error) {
	if err := w.enter(ctx); err != nil {
		return nil, err
	}
	defer func() { <-w.slots }()
	begun := time.Now()
	defer func() {
		_, unanswered := errors.AsType[*Unavailable](err)
		w.watch(!unanswered, time.Since(begun))
	}()
	h, err = w.attempt(ctx, q, out)
	if passing, ok := errors.AsType[*passing](err); ok {
		if q.method == "" {
			select {
			case <-time.After(w.pause):
				h, err = w.attempt(ctx, q, out)
			case <-ctx.Done():
			}
		}
		if errors.As(err, &passing) {
			err = &Unavailable{Err: passing.err}
		}
	}
	return h, err
}

// enter waits for a slot. A host that hangs lets nobody wait longer for one than
// for an answer, however patient they are.
func (w *wire) enter(ctx context.Context) error {
	soon, cancel := context.WithTimeout(ctx, w.limit)
	defer cancel()
	select {
	case w.slots <- struct{}{}:
		return nil
	case <-soon.Done():
	}
	if err := ctx.Err(); err != nil {
		return &Unavailable{Err: err}
	}
	return &Unavailable{Err: errors.New("too many questions wait for it already")}
}

// passing is a failure that a second attempt may not meet.
type passing struct{ err error }

func (p *passing) Error() string { return p.err.Error() }

func (w *wire) attempt(ctx context.Context, q question, out any) (http.Header, error) {
	ctx, cancel := context.WithTimeout(ctx, w.limit)
	defer cancel()
	at, err := w.address(q)
	if err != nil {
		return nil, err
	}
	for range 3 {
		status, h, body, err := w.send(ctx, q, at)
		if err != nil {
			return nil, err
		}
		if status/100 == 3 && status != http.StatusNotModified && q.method == "" {
			if at, err = w.redirect(at, h.Get("Location")); err != nil {
				return h, err
			}
			continue
		}
		return h, w.read(q, status, h, body, out)
	}
	return nil, &Unavailable{Err: errors.New("it redirects in circles")}
}

// address completes q's path. One that names another host is none of ours.
func (w *wire) address(q question) (*url.URL, error) {
	at := *w.base
	if strings.Contains(q.path, "://") {
		abs, err := url.Parse(q.path)
		if err != nil || !w.holds(abs) {
			return nil, &Unavailable{Err: errors.New("it names an address of another host")}
		}
		at = *abs
		at.Host = w.base.Host
	} else if climbs(q.path) {
		return nil, ErrNotFound
	} else {
		joined, err := url.Parse(strings.TrimRight(w.base.String(), "/") + q.path)
		if err != nil {
			return nil, fmt.Errorf("address of a question: %w", err)
		}
		at = *joined
	}
	if len(q.query) > 0 {
		at.RawQuery = q.query.Encode()
	}
	return &at, nil
}

func (w *wire) redirect(from *url.URL, location string) (*url.URL, error) {
	to, err := from.Parse(location)
	if err != nil || location == "" || !w.holds(to) {
		return nil, &Unavailable{Err: errors.New("it redirects to another host")}
	}
	to.Host = w.base.Host
	return to, nil
}

// holds reports whether an address is the host's, however it is spelled.
func (w *wire) holds(u *url.URL) bool {
	return u.User == nil && u.Scheme == w.base.Scheme &&
		strings.EqualFold(u.Hostname(), w.base.Hostname()) && port(u) == port(w.base)
}

func port(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	return map[string]string{"http": "80", "https": "443"}[u.Scheme]
}

// climbs reports whether a path leads out of where it begins, by a name in it
// that is none. Hosts have nothing of such a name, but proxies follow it.
func climbs(path string) bool {
	plain, err := url.PathUnescape(path)
	for name := range strings.SplitSeq(plain, "/") {
		if name == "." || name == ".." {
			return true
		}
	}
	return err != nil
}

func (w *wire) send(ctx context.Context, q question, at *url.URL) (int, http.Header, []byte, error) {
	req, err := w.request(ctx, q, at)
	if err != nil {
		return 0, nil, nil, err
	}
	res, err := w.client.Do(req)
	if err != nil {
		return 0, nil, nil, failure(ctx, err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxPage+1))
	switch {
	case err != nil:
		return 0, nil, nil, failure(ctx, err)
	case len(body) > maxPage:
		return 0, nil, nil, &Unavailable{Err: fmt.Errorf("its answer is larger than %d bytes", maxPage)}
	case res.StatusCode == http.StatusBadGateway || res.StatusCode == http.StatusServiceUnavailable && res.Header.Get("Retry-After") == "":
		return 0, nil, nil, &passing{fmt.Errorf("it answered with status %d", res.StatusCode)}
	}
	if at, err := http.ParseTime(res.Header.Get("Date")); err == nil && w.now != nil {
		w.ahead.Store(int64(at.Sub(w.now())))
	}
	return res.StatusCode, res.Header, body, nil
}

// clockFinding is what there is to say of the two clocks, when they differ.
func (w *wire) clockFinding() []Finding {
	ahead := time.Duration(w.ahead.Load())
	if ahead.Abs() <= maxSkew {
		return nil
	}
	which := "behind"
	if ahead < 0 {
		which = "ahead of"
	}
	return []Finding{{"clock", FindingWarning, fmt.Sprintf("This server's clock is %s %s that of the code host. One of the two is wrong: set it right (timedatectl).", ahead.Abs().Round(time.Second), which)}}
}

func (w *wire) request(ctx context.Context, q question, at *url.URL) (*http.Request, error) {
	var body io.Reader
	kind := ""
	switch {
	case q.form != nil:
		body, kind = strings.NewReader(q.form.Encode()), "application/x-www-form-urlencoded"
	case q.json != nil:
		text, err := json.Marshal(q.json)
		if err != nil {
			return nil, fmt.Errorf("encode a question: %w", err)
		}
		body, kind = bytes.NewReader(text), "application/json"
	}
	req, err := http.NewRequestWithContext(ctx, q.method, at.String(), body)
	if err != nil {
		return nil, fmt.Errorf("make a question: %w", err)
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", w.agent)
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	for _, header := range []http.Header{w.header, q.header} {
		for name, values := range header {
			req.Header[name] = values
		}
	}
	switch {
	case q.basic != nil:
		password, _ := q.basic.Password()
		req.SetBasicAuth(q.basic.Username(), password)
	case q.token != "":
		w.sign(req.Header, q.token)
	}
	return req, nil
}

// failure says why there was no answer. A *url.Error holds the address, which
// may be long and is of no use to users.
func failure(ctx context.Context, err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return &Unavailable{Err: errors.New("it took too long")}
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return &passing{errors.New("it broke the connection off")}
	}
	return &Unavailable{Err: err}
}

// cursor says from an answer where the list goes on: the next page's address or
// query, or more false at the end. n is how many items this page had.
type cursor func(q question, h http.Header, n int) (next question, more bool)

// list drains a list over all its pages: everything or an error.
func list[T any](ctx context.Context, w *wire, q question, next cursor) ([]T, error) {
	all := []T{}
	for range maxPages {
		var page []T
		h, err := w.ask(ctx, q, &page)
		if err != nil {
			return nil, err
		}
		for _, item := range page {
			if err := whole(item); err != nil {
				return nil, err
			}
		}
		all = append(all, page...)
		more := false
		if q, more = next(q, h, len(page)); !more {
			return all, nil
		}
	}
	return nil, &Unavailable{Err: fmt.Errorf("a list of it has more than %d pages", maxPages)}
}

// segment escapes a name for one segment of a path.
func segment(s string) string { return url.PathEscape(s) }
