// Package client is the Go client of coffer's own HTTP API, one method for each
// endpoint, for the command line, for tests and for whoever imports it.
//
// It knows the wire and nothing else: no configuration, no terminal, no stored
// credentials. Its one invariant: the token goes to the server of URL and to no
// other, and neither the token nor a secret value stands in an error it returns.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"coffer/server/api"
)

// Client calls one coffer server. Only URL is needed; a Client is safe for
// concurrent use as long as nobody changes its fields.
type Client struct {
	URL       string            // like https://vault.example, without /v1
	Token     string            // sent as bearer token; empty sends none
	Version   string            // of the program that calls, for the User-Agent coffer/<version>
	Transport http.RoundTripper // default http.DefaultTransport
}

// patience is how long a call may take whose context has no deadline. The
// server gives up long before; the rest is for slow lines.
const patience = 5 * time.Minute

const (
	maxAnswer     = 16 << 20
	maxPullAnswer = 1 << 30 // a thousand large values, each byte escaped, still fit
)

// request is one call: what is asked, and how much answer is taken.
type request struct {
	method string
	vault  bool // the path lies in the vault of repo
	repo   string
	path   []string // segments after /v1 or after the vault, each escaped on its own
	query  url.Values
	body   any
	limit  int64
}

// inVault is a request for something inside the vault of a repository.
func inVault(method, repo string, path ...string) request {
	return request{method: method, vault: true, repo: repo, path: path}
}

// answer is the envelope of every success.
type answer[T any] struct {
	Data T        `json:"data"`
	Meta api.Meta `json:"meta"`
}

func call[T any](ctx context.Context, c *Client, r request) (*T, error) {
	a, err := send[T](ctx, c, r)
	if err != nil {
		return nil, err
	}
	return &a.Data, nil
}

func list[T any](ctx context.Context, c *Client, r request) (*api.List[T], error) {
	a, err := send[[]T](ctx, c, r)
	if err != nil {
		return nil, err
	}
	l := &api.List[T]{Items: a.Data, Limit: len(a.Data), Total: len(a.Data)}
	if p := a.Meta.Pagination; p != nil {
		l.Limit, l.Offset, l.Total = p.Limit, p.Offset, p.Total
	}
	return l, nil
}

func (c *Client) do(ctx context.Context, r request) error {
	_, err := c.roundTrip(ctx, r)
	return err
}

func send[T any](ctx context.Context, c *Client, r request) (*answer[T], error) {
	raw, err := c.roundTrip(ctx, r)
	if err != nil {
		return nil, err
	}
	var a answer[T]
	if err := json.Unmarshal(raw, &a); err != nil {
		// The decoder's own words may quote a piece of the answer.
		return nil, c.networkError(errors.New("the answer is not what coffer sends"))
	}
	return &a, nil
}

func (c *Client) roundTrip(ctx context.Context, r request) ([]byte, error) {
	req, err := c.newRequest(ctx, r)
	if err != nil {
		return nil, err
	}
	hc := http.Client{Transport: c.Transport, CheckRedirect: sameServer}
	if _, ok := ctx.Deadline(); !ok {
		hc.Timeout = patience
	}
	res, err := hc.Do(req)
	if err != nil {
		return nil, c.networkError(err)
	}
	defer res.Body.Close()
	raw, err := read(res.Body, r.limit)
	if err != nil {
		return nil, c.networkError(err)
	}
	if res.StatusCode >= 200 && res.StatusCode < 300 {
		return raw, nil
	}
	if e := problem(res, raw); e != nil {
		return nil, e
	}
	return nil, c.networkError(fmt.Errorf("answered %s, and not in the words of coffer", res.Status))
}

func (c *Client) newRequest(ctx context.Context, r request) (*http.Request, error) {
	target, err := c.address(r)
	if err != nil {
		return nil, err
	}
	var body io.Reader
	if r.body != nil {
		raw, err := json.Marshal(r.body)
		if err != nil {
			return nil, fmt.Errorf("client: encode the request: %w", err)
		}
		body = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(ctx, r.method, target, body)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	req.Header.Set("User-Agent", "coffer/"+c.version())
	req.Header.Set("Accept", "application/json")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.Token)
	}
	return req, nil
}

func (c *Client) version() string {
	if c.Version == "" {
		return "dev"
	}
	return c.Version
}

// address joins the segments. An empty segment would name the collection
// instead of its member, and a dot segment another resource: both are refused,
// so that no deletion ever hits more than was meant.
func (c *Client) address(r request) (string, error) {
	base, err := ParseURL(c.URL)
	if err != nil {
		return "", err
	}
	segments := r.path
	if r.vault {
		owner, name, ok := strings.Cut(r.repo, "/")
		if !ok {
			return "", api.InvalidField("repo", api.InvalidFormat, "%s", api.RepoRule)
		}
		segments = append([]string{"vaults", owner, name}, r.path...)
	}
	target := base + "/v1"
	for _, segment := range segments {
		if segment == "" || segment == "." || segment == ".." {
			return "", api.Errorf(api.NotFound, "Nothing is named %q.", segment)
		}
		target += "/" + url.PathEscape(segment)
	}
	if len(r.query) > 0 {
		target += "?" + r.query.Encode()
	}
	return target, nil
}

// ParseURL checks the address of a server and returns it without a trailing
// slash. An address without a scheme is https.
func ParseURL(s string) (string, error) {
	if s == "" {
		return "", api.InvalidField("url", api.Required, "The address of the server, like https://vault.example.")
	}
	if !strings.Contains(s, "://") {
		s = "https://" + s
	}
	u, err := url.Parse(s)
	switch {
	case err != nil, u.Host == "", u.Scheme != "http" && u.Scheme != "https":
		return "", api.InvalidField("url", api.InvalidFormat, "An address like https://vault.example.")
	case u.User != nil, u.RawQuery != "", u.Fragment != "":
		return "", api.InvalidField("url", api.InvalidFormat, "An address without user, query and fragment.")
	}
	u.Host = strings.ToLower(u.Host)
	return strings.TrimRight(u.String(), "/"), nil
}

// sameServer follows a redirect only where the token may go: to the same host,
// never from https to http, and never in a way that turns a change into a read.
func sameServer(req *http.Request, via []*http.Request) error {
	first := via[0]
	switch {
	case len(via) >= 5:
		return errors.New("redirects in a circle")
	case !strings.EqualFold(req.URL.Host, first.URL.Host),
		first.URL.Scheme == "https" && req.URL.Scheme != "https",
		req.Method != first.Method:
		return fmt.Errorf("redirects to %s://%s; if that is your server, use its address", req.URL.Scheme, req.URL.Host)
	}
	return nil
}

func read(body io.Reader, limit int64) ([]byte, error) {
	if limit == 0 {
		limit = maxAnswer
	}
	raw, err := io.ReadAll(io.LimitReader(body, limit+1))
	if err == nil && int64(len(raw)) > limit {
		err = fmt.Errorf("the answer is larger than %d bytes", limit)
	}
	return raw, err
}

func pageQuery(p api.Page) url.Values {
	q := url.Values{}
	setInt(q, "limit", p.Limit)
	setInt(q, "offset", p.Offset)
	return q
}

func setInt(q url.Values, name string, v *int) {
	if v != nil {
		q.Set(name, strconv.Itoa(*v))
	}
}

func setText(q url.Values, name, v string) {
	if v != "" {
		q.Set(name, v)
	}
}
