package hosting

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

const (
	askTime   = 10 * time.Second // for one attempt
	maxAnswer = 8 << 20          // bytes
	maxPages  = 1000             // of one list
	tries     = 4                // of one call, the first included
	minPause  = 500 * time.Millisecond
	maxPause  = 30 * time.Second
	minWait   = time.Second // a wait that the provider asks for lies between these
	maxWait   = 60 * time.Second
)

// wire is the HTTP layer that the adapters share. It sends a credential to the
// provider's own address and to no other, waits and tries again where that does
// no harm, and turns every failure into one of this package's errors.
type wire struct {
	base   *url.URL // of the API
	client *http.Client
	agent  string
	now    func() time.Time
	sleep  func(time.Duration) // nil waits for real

	// sign puts a credential, which is never empty, where the provider wants it.
	sign func(h http.Header, c Credential)

	// judge explains an answer that is no success by the provider's own codes: a
	// *Failure, ErrCredential, errLimited, or nil for the shared rules.
	judge func(a *answer) error

	// limitPause is how long to wait when the provider was asked too often and
	// names no time; 0 is a short while.
	limitPause time.Duration

	mu    sync.Mutex
	quiet map[string]time.Time // per token: until when the provider wants to hear nothing
}

// call is one request to a provider.
type call struct {
	method string // "" is GET
	path   string // below the base
	query  url.Values
	cred   Credential // with an empty Token, a stranger asks
	header http.Header
	json   any        // body in JSON
	form   url.Values // body of a form

	// again says that doing it twice does no more than doing it once. Without it
	// a call whose answer was lost ends in errAmbiguous.
	again bool
}

// errAmbiguous means that a call may or may not have been carried out: read
// before doing it again.
var errAmbiguous = errors.New("it is not known whether it was carried out")

// errLimited means that the provider was asked too often, and did nothing.
var errLimited = errors.New("it was asked too often")

// answer is what the provider said.
type answer struct {
	Status int
	Header http.Header
	Body   []byte // may hold values: for adapters, never for messages
}

// requestID is the provider's name for the request, for its support.
func (a *answer) requestID() string {
	for _, name := range []string{"X-Vercel-Id", "X-Nf-Request-Id", "X-Railway-Request-Id", "X-Github-Request-Id", "X-Request-Id"} {
		if id := a.Header.Get(name); id != "" && len(id) <= 128 && !strings.ContainsFunc(id, odd) {
			return id
		}
	}
	return ""
}

func odd(r rune) bool { return r <= ' ' || r > '~' }

// isJSON reports whether the body is JSON. A firewall in front of a provider
// answers in HTML.
func (a *answer) isJSON() bool {
	kind, _, _ := strings.Cut(a.Header.Get("Content-Type"), ";")
	kind = strings.ToLower(strings.TrimSpace(kind))
	return kind == "application/json" || strings.HasSuffix(kind, "+json")
}

// decode reads the body into out.
func (a *answer) decode(out any) error {
	if !a.isJSON() || json.Unmarshal(a.Body, out) != nil {
		return a.senseless()
	}
	return nil
}

// senseless is the error of an answer that is not in the provider's words.
func (a *answer) senseless() error {
	return &Unavailable{RequestID: a.requestID(), Err: errors.New("its answer cannot be understood; is the address right, and is a proxy in between?")}
}

func newWire(c Config, public string) (*wire, error) {
	base, err := url.Parse(cmp.Or(c.APIURL, public))
	if err != nil {
		return nil, fmt.Errorf("address of a hosting provider: %w", err)
	}
	transport := c.Transport
	if transport == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.MaxResponseHeaderBytes = 64 << 10
		transport = t
	}
	return &wire{
		base: base, agent: cmp.Or(c.Agent, "coffer"), now: c.Now, sleep: c.Sleep, quiet: map[string]time.Time{},
		sign: func(h http.Header, c Credential) { h.Set("Authorization", "Bearer "+c.Token.Reveal()) },
		client: &http.Client{
			Transport: transport,
			// A credential must not leave the provider.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// ask carries out c and decodes the answer's JSON into out unless out is nil.
func (w *wire) ask(ctx context.Context, c call, out any) (*answer, error) {
	a, err := w.do(ctx, c)
	if err == nil && out != nil {
		err = a.decode(out)
	}
	return a, err
}

// do carries out c, more than once where that helps and does no harm.
func (w *wire) do(ctx context.Context, c call) (*answer, error) {
	c.again = c.again || c.method == "" || c.method == http.MethodGet || c.method == http.MethodDelete
	for try := 0; ; try++ {
		if err := w.hush(ctx, c.cred); err != nil {
			return nil, err
		}
		a, err := w.attempt(ctx, c)
		f, failed := errors.AsType[*fault](err)
		if !failed {
			return a, err
		}
		if f.unsure && !c.again {
			return a, errors.Join(errAmbiguous, f.unavailable())
		}
		pause := max(f.wait, jitter(try))
		if f.limited {
			w.pause(c.cred, pause) // the next attempt waits, as does everybody with this token
		}
		if try+1 == tries {
			return a, f.unavailable()
		}
		if f.limited {
			continue
		}
		if err := w.wait(ctx, pause); err != nil {
			return a, f.unavailable()
		}
	}
}

// fault is a failure that may pass.
type fault struct {
	wait    time.Duration // the provider asked for it; 0 when it did not
	limited bool          // it was asked too often, and did nothing
	unsure  bool          // it may have been carried out
	id      string
	why     string
}

func (f *fault) Error() string { return f.why }

func (f *fault) unavailable() error {
	return &Unavailable{RetryAfter: f.wait, Limited: f.limited, RequestID: f.id, Err: errors.New(f.why)}
}

// attempt sends c once and judges the answer.
func (w *wire) attempt(ctx context.Context, c call) (*answer, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	req, err := w.request(ctx, c)
	if err != nil {
		return nil, err
	}
	res, err := w.client.Do(req)
	if err != nil {
		return nil, lost(ctx, err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	if err != nil {
		return nil, lost(ctx, err)
	}
	a := &answer{res.StatusCode, res.Header, body}
	if len(body) > maxAnswer {
		return a, &Unavailable{RequestID: a.requestID(), Err: fmt.Errorf("its answer is larger than %d MiB", maxAnswer>>20)}
	}
	return a, w.read(a)
}

// lost says why there is no answer. What the request was is in no message.
func lost(ctx context.Context, err error) error {
	f := &fault{unsure: true, why: "the connection broke"}
	var op *net.OpError
	var dns *net.DNSError
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		f.why = "it took too long"
	case errors.As(err, &dns), errors.As(err, &op) && op.Op == "dial":
		f.unsure, f.why = false, "it cannot be reached"
	}
	return f
}

// read is what an answer that is no success stands for.
func (w *wire) read(a *answer) error {
	if a.Status/100 == 2 {
		return nil
	}
	if a.Status == http.StatusTooManyRequests || a.Status == http.StatusForbidden && !a.isJSON() {
		return w.limited(a)
	}
	if w.judge != nil && a.isJSON() {
		if err := w.judge(a); errors.Is(err, errLimited) {
			return w.limited(a)
		} else if err != nil {
			return err
		}
	}
	if a.Status/100 == 4 && !a.isJSON() {
		// Not the provider's own word: a proxy that stands in for it says so of
		// everything.
		return &Unavailable{RequestID: a.requestID(), Err: fmt.Errorf("it answered with status %d and no JSON; is the address right, and is a proxy in between?", a.Status)}
	}
	switch a.Status {
	case http.StatusUnauthorized:
		return ErrCredential
	case http.StatusForbidden:
		return &Failure{Code: CodeForbidden, RequestID: a.requestID()}
	case http.StatusPaymentRequired:
		return &Failure{Code: CodePlan, RequestID: a.requestID()}
	case http.StatusNotFound, http.StatusGone:
		return ErrNotFound
	case http.StatusConflict, http.StatusLocked:
		return &Failure{Code: CodeConflict, RequestID: a.requestID()}
	case http.StatusRequestEntityTooLarge:
		return &Failure{Code: CodeTooLarge, RequestID: a.requestID()}
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return &fault{wait: w.asked(a), unsure: true, id: a.requestID(), why: fmt.Sprintf("it answered with status %d", a.Status)}
	}
	if a.Status/100 == 4 {
		return &Failure{Code: CodeRefused, RequestID: a.requestID()}
	}
	return &Unavailable{RequestID: a.requestID(), Err: fmt.Errorf("it answered with status %d", a.Status)}
}

func (w *wire) request(ctx context.Context, c call) (*http.Request, error) {
	var body io.Reader
	kind := ""
	switch {
	case c.form != nil:
		body, kind = strings.NewReader(c.form.Encode()), "application/x-www-form-urlencoded"
	case c.json != nil:
		text, err := json.Marshal(c.json)
		if err != nil {
			return nil, errors.New("a request to the hosting provider cannot be encoded")
		}
		body, kind = bytes.NewReader(text), "application/json"
	}
	at, err := url.Parse(strings.TrimRight(w.base.String(), "/") + c.path)
	if err != nil {
		return nil, ErrNotFound // a name that nothing has
	}
	if len(c.query) > 0 {
		at.RawQuery = c.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, c.method, at.String(), body)
	if err != nil {
		return nil, errors.New("a request to the hosting provider cannot be made")
	}
	for name, values := range c.header {
		req.Header[name] = values
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", w.agent)
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	if c.cred.Token.Len() > 0 {
		w.sign(req.Header, c.cred)
	}
	return req, nil
}

// segment escapes a name for one segment of a path. A name that would climb out
// of its place is none that a provider has.
func segment(name string) string {
	if name == "." || name == ".." || name == "" {
		return "%00"
	}
	return url.PathEscape(name)
}
