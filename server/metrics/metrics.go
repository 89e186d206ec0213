// Package metrics counts, and writes what was counted as the text that Prometheus
// scrapes. It is the one room of the Prometheus client library.
//
// It knows nothing of coffer. Its invariant is its callers' to keep: a label says
// what kind of thing was counted, in words from our source, never whose. So no
// name of a repository, a user or a key, and no text that a client sent.
package metrics

import (
	"bytes"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/common/expfmt"
)

// ContentType is that of the text.
const ContentType = "text/plain; version=0.0.4; charset=utf-8"

// Registry is everything that is measured. Make one with New.
type Registry struct {
	// Requests are those that were answered.
	Requests *Requests

	all *prometheus.Registry
}

// New is a registry that measures the process, Go's runtime, and requests.
func New() *Registry {
	r := &Registry{Requests: newRequests(), all: prometheus.NewRegistry()}
	r.all.MustRegister(
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		r.Requests.total, r.Requests.took)
	return r
}

// Add has a function asked whenever somebody scrapes. What it says then must be
// quick to find, and no two functions may speak of the same metric with the same
// labels.
func (r *Registry) Add(say func(*Page)) { r.all.MustRegister(source{say}) }

// Timed is a histogram of calls by their outcome, and what notes one.
func (r *Registry) Timed(name, help string) func(outcome string, took time.Duration) {
	h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: bounds}, []string{"outcome"})
	r.all.MustRegister(h)
	return func(outcome string, took time.Duration) { h.WithLabelValues(outcome).Observe(took.Seconds()) }
}

// Text is the page of metrics. With an error it holds what could be gathered.
func (r *Registry) Text() ([]byte, error) {
	families, err := r.all.Gather()
	var page bytes.Buffer
	text := expfmt.NewEncoder(&page, expfmt.NewFormat(expfmt.TypeTextPlain))
	for _, f := range families {
		err = errors.Join(err, text.Encode(f))
	}
	return page.Bytes(), err
}

// source is a function as a collector. It describes nothing beforehand, so the
// registry looks at what it says each time.
type source struct{ say func(*Page) }

func (source) Describe(chan<- *prometheus.Desc) {}

func (s source) Collect(to chan<- prometheus.Metric) { s.say(&Page{to}) }

// Page takes values while somebody scrapes. Labels are pairs of name and value.
type Page struct{ to chan<- prometheus.Metric }

// Gauge says a value that goes up and down.
func (p *Page) Gauge(name, help string, value float64, labels ...string) {
	p.say(prometheus.GaugeValue, name, help, value, labels)
}

// Counter says a value that only grows while the process lives.
func (p *Page) Counter(name, help string, value float64, labels ...string) {
	p.say(prometheus.CounterValue, name, help, value, labels)
}

func (p *Page) say(kind prometheus.ValueType, name, help string, value float64, labels []string) {
	var names, values []string
	for i := 0; i+1 < len(labels); i += 2 {
		names, values = append(names, labels[i]), append(values, labels[i+1])
	}
	about := prometheus.NewDesc(name, help, names, nil)
	m, err := prometheus.NewConstMetric(about, kind, value, values...)
	if err != nil {
		m = prometheus.NewInvalidMetric(about, err)
	}
	p.to <- m
}

// Flag is a truth as a number.
func Flag(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// Time is a time as a number: seconds since 1970, and 0 for none.
func Time(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMilli()) / 1000
}
