package metrics

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Requests counts answered requests. Its zero value is ready; a nil one counts
// nothing.
type Requests struct {
	mu sync.RWMutex
	of map[operation]*served
}

// operation is the pattern of a route, and a method.
type operation struct{ route, method string }

// served is how the requests for one operation went.
type served struct {
	mu       sync.Mutex
	statuses map[int]uint64
	took     histogram
}

// methods that count by name. Any other may be a text that a client made up.
var methods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}

// Note counts a request by the pattern of its route, which is empty when it had
// none.
func (r *Requests) Note(route, method string, status int, took time.Duration) {
	if r == nil {
		return
	}
	if !slices.Contains(methods, method) {
		method = "other"
	}
	s := r.served(operation{cmp.Or(route, "none"), method})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.statuses[status]++
	s.took.note(took.Seconds())
}

func (r *Requests) served(o operation) *served {
	r.mu.RLock()
	s := r.of[o]
	r.mu.RUnlock()
	if s != nil {
		return s
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.of == nil {
		r.of = make(map[operation]*served)
	}
	if r.of[o] == nil {
		r.of[o] = &served{statuses: make(map[int]uint64)}
	}
	return r.of[o]
}

// Write writes the counts, sorted.
func (r *Requests) Write(t *Text) {
	all := make(map[string]*served)
	r.mu.RLock()
	for o, s := range r.of {
		all[o.route+" "+o.method] = s
	}
	r.mu.RUnlock()
	order := slices.Sorted(maps.Keys(all))
	const total, took = "coffer_http_requests_total", "coffer_http_request_duration_seconds"
	t.Family(total, Counter, "Requests answered, by pattern of route, method and status.")
	for _, o := range order {
		s := all[o]
		s.mu.Lock()
		for _, status := range slices.Sorted(maps.Keys(s.statuses)) {
			t.Sample(total, float64(s.statuses[status]), append(labels(o), "status", strconv.Itoa(status))...)
		}
		s.mu.Unlock()
	}
	t.Family(took, Histogram, "Time from the first byte of a request to the last of its answer.")
	for _, o := range order {
		s := all[o]
		s.mu.Lock()
		h := s.took
		s.mu.Unlock()
		h.write(t, took, labels(o)...)
	}
}

func labels(o string) []string {
	route, method, _ := strings.Cut(o, " ")
	return []string{"route", route, "method", method}
}
