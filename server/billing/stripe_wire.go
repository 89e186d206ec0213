package billing

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"coffer/server/api"
)

const (
	askTime   = 10 * time.Second // for one attempt
	maxAnswer = 4 << 20          // bytes
	tries     = 3                // of one call, the first included
	minPause  = 500 * time.Millisecond
	maxWait   = 60 * time.Second // that Stripe may ask for
	maxKey    = 255              // characters of an idempotency key
)

// stripeWire asks Stripe: it sends the key to its own address and to no other,
// asks again where that may help, which is safe because whatever changes something
// carries an idempotency key, and turns every failure into one of this package's
// errors.
type stripeWire struct {
	base   string
	key    api.Secret
	agent  string
	client *http.Client
	sleep  func(time.Duration) // nil waits for real
}

// errReplayed means that Stripe only repeats an error that it remembers.
var errReplayed = errors.New("it repeats an error of an earlier request")

func newStripeWire(base string, c StripeConfig) stripeWire {
	transport := c.Transport
	if transport == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.MaxResponseHeaderBytes = 64 << 10
		transport = t
	}
	return stripeWire{
		base: base, key: c.Key, agent: cmp.Or(c.Agent, "coffer"), sleep: c.Sleep,
		client: &http.Client{
			Transport: transport,
			// The key must not leave Stripe.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// stripeCall is one request.
type stripeCall struct {
	method string
	path   string
	query  url.Values
	form   url.Values
	once   string // idempotency key
}

func (w *stripeWire) get(ctx context.Context, path string, query url.Values, out any) error {
	return w.ask(ctx, stripeCall{method: http.MethodGet, path: path, query: query}, out)
}

// post changes something once, however often it is sent with the same key.
func (w *stripeWire) post(ctx context.Context, path, key string, form url.Values, out any) error {
	if len(key) > maxKey {
		sum := sha256.Sum256([]byte(key))
		key = hex.EncodeToString(sum[:])
	}
	return w.ask(ctx, stripeCall{method: http.MethodPost, path: path, form: form, once: key}, out)
}

// ask carries out c, more than once where that may help, and decodes the answer
// into out.
func (w *stripeWire) ask(ctx context.Context, c stripeCall, out any) error {
	for try := 1; ; try++ {
		err := w.attempt(ctx, c, out)
		f, failed := errors.AsType[*fault](err)
		if !failed {
			return err
		}
		if try == tries || f.useless || w.wait(ctx, max(f.wait, jitter(try))) != nil {
			return &Unavailable{RetryAfter: f.wait, Limited: f.limited, RequestID: f.id, Err: f.why}
		}
	}
}

// fault is a failure that may pass.
type fault struct {
	wait    time.Duration // Stripe asked for it; 0 when it did not
	limited bool
	useless bool // to ask again
	id      string
	why     error
}

func (f *fault) Error() string { return f.why.Error() }

func (w *stripeWire) attempt(ctx context.Context, c stripeCall, out any) error {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	req, err := w.request(ctx, c)
	if err != nil {
		return err
	}
	res, err := w.client.Do(req)
	if err != nil {
		return lost(ctx, err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	if err != nil {
		return lost(ctx, err)
	}
	a := stripeAnswer{res.StatusCode, res.Header, body}
	if err := a.fault(); err != nil {
		return err
	}
	if len(body) > maxAnswer || !a.isJSON() || json.Unmarshal(body, out) != nil {
		return senseless(a.requestID())
	}
	return nil
}

// lost says why there is no answer. What the request was is in no message.
func lost(ctx context.Context, err error) error {
	var op *net.OpError
	var dns *net.DNSError
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return &fault{why: errors.New("it took too long")}
	case errors.Is(ctx.Err(), context.Canceled):
		return &fault{useless: true, why: context.Canceled}
	case errors.As(err, &dns), errors.As(err, &op) && op.Op == "dial":
		return &fault{why: errors.New("it cannot be reached")}
	}
	return &fault{why: errors.New("the connection broke")}
}

func (w *stripeWire) request(ctx context.Context, c stripeCall) (*http.Request, error) {
	at := w.base + c.path
	if len(c.query) > 0 {
		at += "?" + c.query.Encode()
	}
	var body io.Reader
	if c.form != nil {
		body = strings.NewReader(c.form.Encode())
	}
	req, err := http.NewRequestWithContext(ctx, c.method, at, body)
	if err != nil {
		return nil, errors.New("a request to the payment provider cannot be made")
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", w.agent)
	req.Header.Set("Stripe-Version", stripeVersion)
	req.Header.Set("Authorization", "Bearer "+w.key.Reveal())
	if c.form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if c.once != "" {
		req.Header.Set("Idempotency-Key", c.once)
	}
	return req, nil
}

// stripeAnswer is what Stripe said. Its text is in no message.
type stripeAnswer struct {
	status int
	header http.Header
	body   []byte
}

// fault is what an answer that is no success stands for.
func (a stripeAnswer) fault() error {
	switch {
	case a.status/100 == 2:
		return nil
	case a.passing():
		f := &fault{wait: a.asked(), limited: a.status == http.StatusTooManyRequests, id: a.requestID(),
			useless: a.header.Get("Stripe-Should-Retry") == "false",
			why:     fmt.Errorf("it answered with status %d", a.status)}
		if a.header.Get("Idempotent-Replayed") == "true" {
			f.useless, f.why = true, fmt.Errorf("%w: status %d", errReplayed, a.status)
		}
		return f
	case a.status/100 != 4 || !a.isJSON():
		// Not Stripe's own word: a proxy that stands in for it says so of everything.
		return senseless(a.requestID())
	case a.status == http.StatusUnauthorized, a.status == http.StatusForbidden:
		return ErrCredential
	}
	return a.refusal()
}

// passing reports whether a failure is one of the moment: a lock, a limit, or an
// error of Stripe's.
func (a stripeAnswer) passing() bool {
	return a.status == http.StatusConflict || a.status == http.StatusTooManyRequests || a.status/100 == 5 ||
		a.header.Get("Stripe-Should-Retry") == "true"
}

func (a stripeAnswer) refusal() error {
	var said struct {
		Error struct {
			Type  string `json:"type"`
			Code  string `json:"code"`
			Param string `json:"param"`
		} `json:"error"`
	}
	if json.Unmarshal(a.body, &said) != nil || said.Error.Type == "" {
		return senseless(a.requestID())
	}
	return &Refused{
		RequestID: a.requestID(), param: said.Error.Param,
		missing: said.Error.Code == "resource_missing", reused: said.Error.Type == "idempotency_error",
	}
}

// isJSON reports whether the body is JSON. What stands in front of Stripe answers
// in HTML.
func (a stripeAnswer) isJSON() bool {
	kind, _, _ := strings.Cut(a.header.Get("Content-Type"), ";")
	return strings.EqualFold(strings.TrimSpace(kind), "application/json")
}

// requestID is Stripe's name for the request.
func (a stripeAnswer) requestID() string {
	if id := a.header.Get("Request-Id"); len(id) <= 128 && sendable(id) {
		return id
	}
	return ""
}

// asked is how long Stripe wants to be left alone.
func (a stripeAnswer) asked() time.Duration {
	n, err := strconv.Atoi(a.header.Get("Retry-After"))
	if err != nil || n <= 0 {
		return 0
	}
	return time.Duration(min(n, int(maxWait/time.Second))) * time.Second
}

// senseless is the error of an answer that is not in Stripe's words.
func senseless(id string) error {
	return &Unavailable{RequestID: id, Err: errors.New("its answer cannot be understood; is the address right, and is a proxy in between?")}
}

// jitter is a random pause that may grow with every try.
func jitter(try int) time.Duration { return time.Duration(rand.Int64N(int64(minPause<<try)) + 1) }

// wait waits, unless ctx ends before that.
func (w *stripeWire) wait(ctx context.Context, d time.Duration) error {
	if end, ok := ctx.Deadline(); ok && time.Until(end) < d {
		return context.DeadlineExceeded
	}
	if w.sleep != nil {
		w.sleep(d)
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// segment escapes a name for one segment of a path. A name that would climb out
// of its place is none that Stripe has.
func segment(name string) string {
	if name == "." || name == ".." {
		return "%00"
	}
	return url.PathEscape(name)
}
