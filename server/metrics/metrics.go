// Package metrics counts, and writes what was counted as the text that Prometheus
// scrapes (exposition format 0.0.4).
//
// It knows nothing of coffer. Its invariant is its callers' to keep: a label says
// what kind of thing was counted, in words from our source, never whose. So no
// name of a repository, a user or a key, and no text that a client sent.
package metrics

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// ContentType is that of the text.
const ContentType = "text/plain; version=0.0.4; charset=utf-8"

// Kinds of metrics.
const (
	Counter   = "counter"
	Gauge     = "gauge"
	Histogram = "histogram"
)

// Text is a page of metrics being written. Its zero value is an empty one.
type Text struct{ b []byte }

// Bytes are what was written.
func (t *Text) Bytes() []byte { return t.b }

// Family begins a metric. Its samples follow.
func (t *Text) Family(name, kind, help string) {
	t.b = append(t.b, "# HELP "+name+" "+help+"\n# TYPE "+name+" "+kind+"\n"...)
}

// Sample adds a value of the metric that was begun. Labels are pairs of name and
// value.
func (t *Text) Sample(name string, value float64, labels ...string) {
	t.b = append(t.b, name...)
	for i := 0; i+1 < len(labels); i += 2 {
		t.b = append(t.b, "{,"[min(i, 1)])
		t.b = append(t.b, labels[i]+`="`+escape.Replace(labels[i+1])+`"`...)
	}
	if len(labels) > 0 {
		t.b = append(t.b, '}')
	}
	t.b = append(t.b, ' ')
	t.b = append(append(t.b, number(value)...), '\n')
}

// One is a metric with one sample.
func (t *Text) One(name, kind, help string, value float64, labels ...string) {
	t.Family(name, kind, help)
	t.Sample(name, value, labels...)
}

var escape = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

func number(v float64) string {
	if math.IsInf(v, 1) {
		return "+Inf"
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// Flag is a truth as a number.
func Flag(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// histogram counts durations. Bounds are in seconds.
type histogram struct {
	counts [len(bounds) + 1]uint64
	sum    float64
}

var bounds = [...]float64{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.25, 1, 5, 30}

func (h *histogram) note(seconds float64) {
	i, _ := slices.BinarySearch(bounds[:], seconds)
	h.counts[i]++
	h.sum += seconds
}

func (h *histogram) write(t *Text, name string, labels ...string) {
	total := uint64(0)
	for i, n := range h.counts {
		total += n
		bound := math.Inf(1)
		if i < len(bounds) {
			bound = bounds[i]
		}
		t.Sample(name+"_bucket", float64(total), append(slices.Clip(labels), "le", number(bound))...)
	}
	t.Sample(name+"_sum", h.sum, labels...)
	t.Sample(name+"_count", float64(total), labels...)
}
