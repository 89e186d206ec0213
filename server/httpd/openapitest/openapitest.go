// Package openapitest holds what a server really answers against its OpenAPI
// document: put [Transport] around the transport of any client, and each of
// its requests and answers is checked.
//
// It knows the document and nothing of the server. Its one invariant: a
// checked exchange is the same as an unchecked one, byte for byte.
package openapitest

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"testing"
)

// Transport sends requests through next and reports to t whatever the document
// does not describe: an address, a status, a header, a member that is missing,
// of another type or not described at all, and a request that was accepted
// though the document forbids it. Nil stands for http.DefaultTransport.
func Transport(t testing.TB, next http.RoundTripper) http.RoundTripper {
	if next == nil {
		next = http.DefaultTransport
	}
	doc, err := load()
	if err != nil {
		t.Fatal(err)
	}
	return &transport{t, doc, next}
}

type transport struct {
	t    testing.TB
	doc  *document
	next http.RoundTripper
}

// exchange is a request with its answer.
type exchange struct {
	req     *http.Request
	sent    []byte
	res     *http.Response
	content []byte
}

// RoundTrip implements http.RoundTripper.
func (tr *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	out := req.Clone(req.Context())
	var sent tee
	if req.Body != nil && req.Body != http.NoBody {
		sent.ReadCloser = req.Body
		out.Body = &sent
	}
	res, err := tr.next.RoundTrip(out)
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(res.Body)
	res.Body.Close()
	res.Body = io.NopCloser(io.MultiReader(bytes.NewReader(content), failing{err}))
	if err != nil {
		return res, nil
	}
	for _, wrong := range tr.doc.check(&exchange{req, sent.copied(), res, content}) {
		tr.t.Errorf("OpenAPI: %s %s: %d: %s", req.Method, req.URL.EscapedPath(), res.StatusCode, wrong)
	}
	return res, nil
}

// tee keeps what is read through it. A server may answer before it has read
// everything.
type tee struct {
	io.ReadCloser
	mu   sync.Mutex
	kept []byte
}

func (k *tee) Read(p []byte) (int, error) {
	n, err := k.ReadCloser.Read(p)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.kept = append(k.kept, p[:n]...)
	return n, err
}

func (k *tee) copied() []byte {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.kept)
}

// failing ends a body like the original did.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) {
	if f.err == nil {
		return 0, io.EOF
	}
	return 0, f.err
}

// Seen tells which answers of which operations were checked in this process
// since it was last asked, as "operationId status".
func Seen() []string {
	doc, err := load()
	if err != nil {
		return nil
	}
	doc.mu.Lock()
	defer doc.mu.Unlock()
	var all []string
	for what := range doc.seen {
		all = append(all, what)
	}
	clear(doc.seen)
	slices.Sort(all)
	return all
}

// Described lists all answers that the document describes, like [Seen].
func Described() ([]string, error) {
	doc, err := load()
	if err != nil {
		return nil, err
	}
	var all []string
	for _, op := range doc.operations {
		for status := range op.answers {
			all = append(all, fmt.Sprintf("%s %s", op.id, status))
		}
	}
	slices.Sort(all)
	return all, nil
}
