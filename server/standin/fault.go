package standin

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Fault answers a request in the server's place, or spoils what next, the server,
// answers.
type Fault func(f *Fake, rw http.ResponseWriter, r *http.Request, next http.Handler)

type placed struct {
	prefix string
	fault  Fault
}

// Break spoils every request whose path begins with prefix, "" for all of them,
// until Heal.
func (f *Fake) Break(prefix string, fault Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults = append(f.faults, &placed{prefix, fault})
}

// Heal takes all faults away.
func (f *Fake) Heal() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults = nil
}

func (f *Fake) broken(path string) []Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []Fault
	for _, p := range f.faults {
		if strings.HasPrefix(path, p.prefix) {
			all = append(all, p.fault)
		}
	}
	return all
}

// TooMany answers 429, with this Retry-After unless it is "".
func TooMany(retryAfter string) Fault {
	return func(_ *Fake, rw http.ResponseWriter, _ *http.Request, _ http.Handler) {
		if retryAfter != "" {
			rw.Header().Set("Retry-After", retryAfter)
		}
		Answer(rw, http.StatusTooManyRequests, map[string]any{"message": "too many requests"})
	}
}

// Status answers with a bare status and an unhelpful body.
func Status(status int) Fault {
	return func(_ *Fake, rw http.ResponseWriter, _ *http.Request, _ http.Handler) {
		Answer(rw, status, map[string]any{"message": "something went wrong"})
	}
}

// Once has the fault at the first request only.
func Once(fault Fault) Fault {
	var met atomic.Bool
	return func(f *Fake, rw http.ResponseWriter, r *http.Request, next http.Handler) {
		if met.Swap(true) {
			next.ServeHTTP(rw, r)
			return
		}
		fault(f, rw, r, next)
	}
}

// EachOnce has the fault once for each credential at each address.
func EachOnce(fault Fault) Fault {
	var met sync.Map
	return func(f *Fake, rw http.ResponseWriter, r *http.Request, next http.Handler) {
		same := [...]string{r.Method, r.URL.RequestURI(), r.Header.Get("Authorization"), r.Header.Get("Sudo")}
		if _, again := met.LoadOrStore(same, true); again {
			next.ServeHTTP(rw, r)
			return
		}
		fault(f, rw, r, next)
	}
}

// After has the fault at every request after the first n: in the middle of a
// long list.
func After(n int, fault Fault) Fault {
	var met atomic.Int64
	return func(f *Fake, rw http.ResponseWriter, r *http.Request, next http.Handler) {
		if met.Add(1) <= int64(n) {
			next.ServeHTTP(rw, r)
			return
		}
		fault(f, rw, r, next)
	}
}

// Hang never answers, until whoever asked goes away.
func Hang(_ *Fake, _ http.ResponseWriter, r *http.Request, _ http.Handler) { <-r.Context().Done() }

// Slow answers rightly, but late.
func Slow(d time.Duration) Fault {
	return func(_ *Fake, rw http.ResponseWriter, r *http.Request, next http.Handler) {
		select {
		case <-time.After(d):
			next.ServeHTTP(rw, r)
		case <-r.Context().Done():
		}
	}
}

// Truncated answers with the first half of the right JSON, and says that this is
// all of it.
func Truncated(_ *Fake, rw http.ResponseWriter, r *http.Request, next http.Handler) {
	spoil(rw, r, next, func(body []byte) []byte { return body[:len(body)/2] })
}

// Hollow answers with the right JSON's objects and lists, but with nothing in the
// objects.
func Hollow(_ *Fake, rw http.ResponseWriter, r *http.Request, next http.Handler) {
	spoil(rw, r, next, func(body []byte) []byte {
		var items []struct{}
		if json.Unmarshal(body, &items) != nil {
			return []byte("{}")
		}
		hollow, _ := json.Marshal(items) // of empty structs
		return hollow
	})
}

// CutOff breaks the connection in the middle of the right answer.
func CutOff(_ *Fake, rw http.ResponseWriter, r *http.Request, next http.Handler) {
	spoil(rw, r, next, func(body []byte) []byte { return body[:len(body)/2] })
	_ = http.NewResponseController(rw).Flush()
	panic(http.ErrAbortHandler)
}

// Huge answers with the right JSON after 1.5 MiB of blanks.
func Huge(_ *Fake, rw http.ResponseWriter, r *http.Request, next http.Handler) {
	spoil(rw, r, next, func(body []byte) []byte { return append(bytes.Repeat([]byte(" "), 3<<19), body...) })
}

// spoil answers 200 with what change makes of the right body.
func spoil(rw http.ResponseWriter, r *http.Request, next http.Handler, change func([]byte) []byte) {
	right := httptest.NewRecorder()
	next.ServeHTTP(right, r)
	maps.Copy(rw.Header(), right.Header())
	rw.Header().Set("Content-Type", "application/json; charset=utf-8")
	_, _ = rw.Write(change(right.Body.Bytes())) // a client that left is no concern of ours
}

// HTML answers 200 with a page for people, as a proxy or a wrong address would.
func HTML(_ *Fake, rw http.ResponseWriter, _ *http.Request, _ http.Handler) {
	rw.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = io.WriteString(rw, "<!doctype html><title>Sign in</title>")
}

// Lost answers like a proxy that cannot find the server, while that is away.
func Lost(_ *Fake, rw http.ResponseWriter, _ *http.Request, _ http.Handler) {
	http.Error(rw, "404 page not found", http.StatusNotFound)
}

// Astray redirects to another host.
func Astray(f *Fake, rw http.ResponseWriter, r *http.Request, _ http.Handler) {
	http.Redirect(rw, r, f.Elsewhere+r.URL.RequestURI(), http.StatusFound)
}
