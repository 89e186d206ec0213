package metrics

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// bounds of durations, in seconds.
var bounds = []float64{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.25, 1, 5, 30}

// Requests counts answered requests. A nil one counts nothing.
type Requests struct {
	total *prometheus.CounterVec
	took  *prometheus.HistogramVec
}

func newRequests() *Requests {
	return &Requests{
		total: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "coffer_http_requests_total",
			Help: "Requests answered, by pattern of route, method and status.",
		}, []string{"route", "method", "status"}),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "coffer_http_request_duration_seconds",
			Help:    "Time from the first byte of a request to the last of its answer.",
			Buckets: bounds,
		}, []string{"route", "method"}),
	}
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
	route = cmp.Or(route, "none")
	r.total.WithLabelValues(route, method, strconv.Itoa(status)).Inc()
	r.took.WithLabelValues(route, method).Observe(took.Seconds())
}
