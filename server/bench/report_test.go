//go:build unix

package bench

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// report gathers what this run measured, in that order, and prints it as
// Markdown when the run is over.
var report struct {
	rows    []row
	figures []figure
	before  string // the load average when the run began
}

// row is what the pairs of one benchmark came to.
type row struct {
	name              string
	p50, floorP50     float64 // µs
	rate, floorRate   float64 // per second
	cpu, floorCPU     float64 // µs of the serving process for each request
	latency, throughs spread  // ratios to the floor
	goal              goal
}

// spread is a median with the quartiles around it.
type spread struct{ low, mid, high float64 }

// figure is one measured value, and the most that it should be, if that is set.
type figure struct {
	what, unit  string
	value, most float64
}

// record reports one benchmark: medians over pairs, and of ratios the medians of
// those of each pair.
func record(b *testing.B, under, subject []sample, g goal) {
	r := row{
		name:     strings.TrimPrefix(strings.TrimPrefix(b.Name(), "Benchmark"), "HTTP/"),
		p50:      medianOf(subject, sample.p50Micros),
		floorP50: medianOf(under, sample.p50Micros),
		rate:     medianOf(subject, sample.perSecond), floorRate: medianOf(under, sample.perSecond),
		cpu: medianOf(subject, sample.serverMicros), floorCPU: medianOf(under, sample.serverMicros),
		latency:  pairedRatio(subject, under, sample.p50Micros),
		throughs: pairedRatio(subject, under, sample.perSecond),
		goal:     g,
	}
	report.rows = append(report.rows, r)
	b.ReportMetric(0, "ns/op") // an iteration is a pair of stretches: its time says nothing
	b.ReportMetric(r.p50, "p50-µs")
	b.ReportMetric(r.rate, "req/s")
	b.ReportMetric(r.cpu, "cpu-µs/req")
	b.ReportMetric(r.floorP50, "floor-p50-µs")
	b.ReportMetric(r.floorRate, "floor-req/s")
	b.ReportMetric(r.floorCPU, "floor-cpu-µs/req")
	b.ReportMetric(medianOf(subject, sample.loadMicros), "load-cpu-µs/req")
	b.ReportMetric(r.latency.mid, "p50/floor")
	b.ReportMetric(r.throughs.mid, "rate/floor")
}

func recordFigure(b *testing.B, f figure) {
	f.what = strings.TrimPrefix(f.what, "Benchmark")
	report.figures = append(report.figures, f)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(f.value, f.unit)
}

func (s sample) p50Micros() float64 { return float64(s.p50.Nanoseconds()) / 1e3 }

func medianOf(all []sample, of func(sample) float64) float64 {
	figures := make([]float64, len(all))
	for i, s := range all {
		figures[i] = of(s)
	}
	return spreadOf(figures).mid
}

func pairedRatio(a, b []sample, of func(sample) float64) spread {
	figures := make([]float64, len(a))
	for i := range a {
		figures[i] = of(a[i]) / of(b[i])
	}
	return spreadOf(figures)
}

func spreadOf(all []float64) spread {
	n := len(all)
	if n == 0 {
		return spread{}
	}
	slices.Sort(all)
	return spread{all[n/4], all[n/2], all[n-1-n/4]}
}

func printReport() {
	if len(report.rows)+len(report.figures) == 0 {
		return
	}
	fmt.Printf("\n%s, %d processors, load average %s before and %s after.\n",
		runtime.Version(), runtime.GOMAXPROCS(0), report.before, loadAverage())
	if len(report.rows) > 0 {
		fmt.Println("\n| workload | p50 µs | floor | ratio (quartiles) | per second | floor | ratio (quartiles) | CPU µs | floor | goal |")
		fmt.Println("|---|--:|--:|--:|--:|--:|--:|--:|--:|---|")
	}
	for _, r := range report.rows {
		fmt.Printf("| %s | %.0f | %.0f | %.2f (%.2f–%.2f) | %.0f | %.0f | %.0f %% (%.0f–%.0f) | %.1f | %.1f | %s |\n",
			r.name, r.p50, r.floorP50, r.latency.mid, r.latency.low, r.latency.high, r.rate, r.floorRate,
			100*r.throughs.mid, 100*r.throughs.low, 100*r.throughs.high, r.cpu, r.floorCPU, r.verdict())
	}
	if len(report.figures) > 0 {
		fmt.Println("\n| figure | median | goal |\n|---|--:|---|")
	}
	for _, f := range report.figures {
		fmt.Printf("| %s | %.1f %s | %s |\n", f.what, f.value, f.unit, f.verdict())
	}
}

// verdict holds a row against its goal, which is set for 1 and 32 clients.
func (r row) verdict() string {
	switch {
	case strings.HasSuffix(r.name, "clients=1") && r.goal.latency > 0:
		return judged(r.latency.mid <= r.goal.latency, fmt.Sprintf("≤ %.2f", r.goal.latency))
	case strings.HasSuffix(r.name, "clients=32") && r.goal.throughput > 0:
		return judged(r.throughs.mid >= r.goal.throughput, fmt.Sprintf("≥ %.0f %%", 100*r.goal.throughput))
	}
	return ""
}

func (f figure) verdict() string {
	if f.most == 0 {
		return ""
	}
	return judged(f.value <= f.most, fmt.Sprintf("≤ %.0f", f.most))
}

func judged(met bool, goal string) string {
	if met {
		return goal + ": met"
	}
	return goal + ": **missed**"
}

// loadAverage is what the system says about the last minute, or "unknown".
func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	first, _, _ := strings.Cut(string(text), " ")
	return first
}
