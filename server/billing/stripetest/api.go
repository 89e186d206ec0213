package stripetest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"coffer/server/standin"
)

// rules say which parameters a call takes. A name that ends in [] stands for any
// one in the brackets.
type rules map[string]bool

const (
	needed   = true
	optional = false

	maxKey  = 255            // characters of an idempotency key
	keyTime = 24 * time.Hour // for which one is remembered
)

// failure is an answer that is none.
type failure struct{ kind, code, param, text string }

// request is one that is allowed, with parameters that are known.
type request struct {
	id      string // in the path
	form    url.Values
	version string
}

// reply answers a request.
type reply func(r request) (status int, body any)

// remembered is the answer to a change, kept with its idempotency key.
type remembered struct {
	what   string
	at     time.Time
	status int
	body   []byte
}

func (s *Server) refuse(rw http.ResponseWriter, status int, f failure) { s.write(rw, status, f.body()) }

func (f failure) body() any {
	inner := map[string]any{"type": f.kind, "message": f.text}
	if f.code != "" {
		inner["code"] = f.code
	}
	if f.param != "" {
		inner["param"] = f.param
	}
	return map[string]any{"error": inner}
}

// missing is the failure of a name that nothing has.
func missing(param string) any {
	return failure{"invalid_request_error", "resource_missing", param, "there is nothing by this name"}.body()
}

func invalid(code, param string) any {
	return failure{"invalid_request_error", code, param, "this parameter cannot be used"}.body()
}

func (s *Server) write(rw http.ResponseWriter, status int, body any) {
	s.mu.Lock()
	id := s.id("req")
	s.mu.Unlock()
	rw.Header().Set("Request-Id", id)
	standin.Answer(rw, status, body)
}

// reads answers a question.
func (s *Server) reads(answer reply, known rules) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		req, ok := s.check(rw, r, r.URL.Query(), known)
		if !ok {
			return
		}
		s.mu.Lock()
		status, body := answer(req)
		s.mu.Unlock()
		s.write(rw, status, body)
	}
}

// changes answers a change, once for every idempotency key.
func (s *Server) changes(answer reply, known rules) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil {
			s.refuse(rw, http.StatusBadRequest, failure{kind: "invalid_request_error", text: "this is no form"})
			return
		}
		req, ok := s.check(rw, r, r.PostForm, known)
		if !ok {
			return
		}
		status, body, replayed := s.once(r.Header.Get("Idempotency-Key"), r.URL.Path+"?"+r.PostForm.Encode(), answer, req)
		if replayed {
			rw.Header().Set("Idempotent-Replayed", "true")
		}
		s.write(rw, status, body)
	}
}

// once carries out a change, or repeats what was answered to the same key. As at
// Stripe, a refusal is not remembered, but an error of the server's own is.
func (s *Server) once(key, what string, answer reply, req request) (status int, body any, replayed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(key) > maxKey {
		return http.StatusBadRequest, invalid("", "idempotency_key"), false
	}
	if s.busy > 0 {
		s.busy--
		return http.StatusTooManyRequests, failure{kind: "invalid_request_error", code: "lock_timeout", text: "something else is changing this"}.body(), false
	}
	if old, ok := s.used[key]; ok && s.now().Sub(old.at) < keyTime {
		if old.what != what {
			return http.StatusBadRequest, failure{kind: "idempotency_error", text: "this key was used for another request"}.body(), false
		}
		return old.status, json.RawMessage(old.body), true
	}
	status, body = answer(req)
	if status == http.StatusOK && s.crash > 0 {
		s.crash--
		status, body = http.StatusInternalServerError, failure{kind: "api_error", text: "something went wrong"}.body()
	}
	if key != "" && (status == http.StatusOK || status == http.StatusInternalServerError) {
		var text bytes.Buffer
		_ = json.NewEncoder(&text).Encode(body) // maps of texts and numbers
		s.used[key] = &remembered{what, s.now(), status, text.Bytes()}
	}
	return status, body, false
}

var bracket = regexp.MustCompile(`\[[^\]]*\]$`)

// check lets in whoever has the key and uses known parameters.
func (s *Server) check(rw http.ResponseWriter, r *http.Request, form url.Values, known rules) (request, bool) {
	if r.Header.Get("Authorization") != "Bearer "+Key {
		s.refuse(rw, http.StatusUnauthorized, failure{kind: "invalid_request_error", text: "this key is none"})
		return request{}, false
	}
	for name := range form {
		_, whole := known[name]
		_, open := known[bracket.ReplaceAllString(name, "[]")]
		if !whole && !open {
			s.refuse(rw, http.StatusBadRequest, failure{"invalid_request_error", "parameter_unknown", name, "this parameter is unknown"})
			return request{}, false
		}
	}
	for name, must := range known {
		if must && form.Get(name) == "" {
			s.refuse(rw, http.StatusBadRequest, failure{"invalid_request_error", "parameter_missing", name, "this parameter is missing"})
			return request{}, false
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	version := r.Header.Get("Stripe-Version")
	if s.answers != "" {
		version = s.answers
	}
	return request{r.PathValue("id"), form, version}, true
}

// metadata are the parameters prefix[…].
func (r request) metadata(prefix string) map[string]string {
	found := map[string]string{}
	for name, values := range r.form {
		if inner, ok := strings.CutPrefix(name, prefix+"["); ok {
			found[strings.TrimSuffix(inner, "]")] = values[0]
		}
	}
	return found
}
