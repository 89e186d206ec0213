package server

import (
	"io"
	"net/http"
	"sync"
)

// inProcess is a transport that asks a handler directly. Answers are handed over
// while they are written, so their size costs no memory.
type inProcess struct{ handler http.Handler }

// RoundTrip implements http.RoundTripper.
func (t inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	if r.Body == nil {
		r.Body = http.NoBody
	}
	r.RequestURI, r.RemoteAddr = r.URL.RequestURI(), "@"
	body, pipe := io.Pipe()
	a := &answer{header: make(http.Header), body: pipe, begun: make(chan struct{})}
	go func() {
		defer func() {
			_ = r.Body.Close()
			a.end(recover())
		}()
		t.handler.ServeHTTP(a, r)
	}()
	<-a.begun
	return &http.Response{
		Status: http.StatusText(a.status), StatusCode: a.status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: a.sent, Body: body, ContentLength: -1, Request: r,
	}, nil
}

// answer is what a handler writes, on its way to who asked.
type answer struct {
	header http.Header
	body   *io.PipeWriter
	once   sync.Once
	begun  chan struct{} // closed when status and sent are known
	status int
	sent   http.Header
}

// Header implements http.ResponseWriter.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(status int) {
	a.once.Do(func() {
		a.status, a.sent = status, a.header.Clone()
		close(a.begun)
	})
}

// Write implements http.ResponseWriter.
func (a *answer) Write(b []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.body.Write(b)
}

// end ends the answer; who reads it learns when the handler gave up.
func (a *answer) end(panicked any) {
	if panicked == nil {
		a.WriteHeader(http.StatusOK)
		_ = a.body.Close()
		return
	}
	a.WriteHeader(http.StatusInternalServerError)
	_ = a.body.CloseWithError(io.ErrUnexpectedEOF)
}
