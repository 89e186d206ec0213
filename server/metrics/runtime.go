package metrics

import (
	"bytes"
	"os"
	"runtime"
	"runtime/metrics"
	"strconv"
	"time"
)

// started is when the process did.
var started = time.Now()

// runtimeMetrics are what Go's runtime counts itself, under the names that
// dashboards know.
var runtimeMetrics = []struct{ source, name, kind, help string }{
	{"/sched/goroutines:goroutines", "go_goroutines", Gauge, "Goroutines that exist."},
	{"/memory/classes/heap/objects:bytes", "go_memstats_heap_alloc_bytes", Gauge, "Memory of live and not yet swept objects."},
	{"/memory/classes/total:bytes", "go_memstats_sys_bytes", Gauge, "Memory that the Go runtime has from the system."},
	{"/gc/cycles/total:gc-cycles", "go_gc_cycles_total", Counter, "Garbage collections."},
	{"/gc/heap/allocs:bytes", "go_memstats_alloc_bytes_total", Counter, "Memory allocated so far, freed or not."},
}

// WriteRuntime writes how the process and Go's runtime are.
func WriteRuntime(t *Text) {
	samples := make([]metrics.Sample, len(runtimeMetrics))
	for i, m := range runtimeMetrics {
		samples[i].Name = m.source
	}
	metrics.Read(samples)
	for i, m := range runtimeMetrics {
		if samples[i].Value.Kind() == metrics.KindUint64 {
			t.One(m.name, m.kind, m.help, float64(samples[i].Value.Uint64()))
		}
	}
	t.One("go_info", Gauge, "The version of Go that built this.", 1, "version", runtime.Version())
	t.One("process_start_time_seconds", Gauge, "When the process started, in Unix time.", float64(started.UnixMilli())/1000)
	writeProcess(t)
}

// writeProcess writes what Linux knows of the process, elsewhere nothing.
func writeProcess(t *Text) {
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return
	}
	// The fields after the name, which stands in parentheses and may hold blanks.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 22 {
		return
	}
	field := func(i int) float64 { // counted as in proc(5)
		n, _ := strconv.ParseFloat(string(fields[i-3]), 64)
		return n
	}
	const ticks = 100 // in a second, on every Linux that Go runs on
	t.One("process_cpu_seconds_total", Counter, "Processor time used.", (field(14)+field(15))/ticks)
	t.One("process_resident_memory_bytes", Gauge, "Memory in use, mapped data included.", field(24)*float64(os.Getpagesize()))
}
