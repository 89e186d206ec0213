// Package standin stands in for other people's servers in tests: it listens on
// loopback, logs every request, and breaks answers in the ways in which networks,
// proxies and servers do. What is asked and answered is the business of whoever
// uses it.
package standin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Fake is a listening server. It logs every request before any fault, and then
// hands it to its own handler.
type Fake struct {
	URL string // without a trailing slash

	// Elsewhere is the address of another host, which answers everything with
	// {} and logs it as well: tokens must never get there.
	Elsewhere string

	host    http.Handler
	secrets func() []string
	close   []func()

	mu     sync.Mutex
	log    []Call
	faults []*placed
	page   int
}

// Call is one request that was made.
type Call struct {
	Host   string // as the request named it
	Method string
	Path   string
	Query  url.Values
	Header http.Header
	Body   string
}

// URI is the path with the query.
func (c Call) URI() string {
	return (&url.URL{Path: c.Path, RawQuery: c.Query.Encode()}).RequestURI()
}

// New listens on loopback until the test ends, and answers with host. Secrets are
// all texts that must not be in an address or go to another host.
func New(t testing.TB, secrets func() []string, host http.Handler) *Fake {
	f := &Fake{host: host, secrets: secrets}
	here := httptest.NewServer(f)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		f.note(r)
		Answer(rw, http.StatusOK, map[string]any{})
	}))
	f.URL, f.Elsewhere = here.URL, elsewhere.URL
	f.close = []func(){here.Close, elsewhere.Close}
	t.Cleanup(f.Close)
	return f
}

// Close ends the server before the test does.
func (f *Fake) Close() {
	for _, end := range f.close {
		end()
	}
}

// ServeHTTP logs a request, and breaks or answers it.
func (f *Fake) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	f.note(r)
	next := f.host
	for _, fault := range f.broken(r.URL.Path) {
		inner := next
		next = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { fault(f, rw, r, inner) })
	}
	next.ServeHTTP(rw, r)
}

func (f *Fake) note(r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		body = []byte("forgetest: unreadable: " + err.Error())
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	f.mu.Lock()
	defer f.mu.Unlock()
	f.log = append(f.log, Call{r.Host, r.Method, r.URL.Path, r.URL.Query(), r.Header.Clone(), string(body)})
}

// Log is every request so far, in order.
func (f *Fake) Log() []Call {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.log)
}

// Forget empties the log.
func (f *Fake) Forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.log = nil
}

// Calls counts the requests to this server whose method and path begin like this:
// "GET /repos/". A bare path counts for every method.
func (f *Fake) Calls(prefix string) int {
	n := 0
	for _, c := range f.Log() {
		here := "http://"+c.Host == f.URL
		if here && (strings.HasPrefix(c.Path, prefix) || strings.HasPrefix(c.Method+" "+c.Path, prefix)) {
			n++
		}
	}
	return n
}

// Leaks says where a secret was sent that it must not go to:
// in an address, or anywhere to another host.
func (f *Fake) Leaks() []string {
	secrets := f.secrets()
	var leaks []string
	for _, c := range f.Log() {
		seen := c.URI()
		if "http://"+c.Host != f.URL {
			seen += c.Body + fmt.Sprint(c.Header)
		}
		plain, _ := url.QueryUnescape(seen)
		if slices.ContainsFunc(secrets, func(s string) bool { return strings.Contains(seen, s) || strings.Contains(plain, s) }) {
			leaks = append(leaks, c.Method+" "+c.Host+c.Path)
		}
	}
	return leaks
}

// SetPageSize makes every page this small, whatever is asked for; 0 is the
// server's own size.
func (f *Fake) SetPageSize(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.page = n
}

// PageSize is how many items a page has when asked were asked for (0 if
// nothing), with the server's default and maximum.
func (f *Fake) PageSize(asked, usual, most int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if asked <= 0 {
		asked = usual
	}
	n := min(asked, most)
	if f.page > 0 {
		n = min(n, f.page)
	}
	return n
}

// Page cuts page number n, from 1, out of a list, and says which is the last.
func Page[T any](all []T, n, size int) (page []T, last int) {
	last = max((len(all)+size-1)/size, 1)
	from := min((max(n, 1)-1)*size, len(all))
	return all[from:min(from+size, len(all))], last
}

// Answer writes JSON.
func Answer(rw http.ResponseWriter, status int, body any) {
	rw.Header().Set("Content-Type", "application/json; charset=utf-8")
	rw.WriteHeader(status)
	_ = json.NewEncoder(rw).Encode(body) // a client that left is no concern of ours
}
