package jobs

import (
	"context"

	"coffer/server/metrics"
	"coffer/server/warden"
)

// WriteMetrics writes how jobs went.
func (r *Runner) WriteMetrics(ctx context.Context, t *metrics.Text) {
	runs, err := r.runs(ctx)
	if err != nil {
		r.log.Warn("could not look up when jobs ran", "error", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	family := func(name, kind, help string, of func(last warden.JobRun, since count) float64) {
		t.Family(name, kind, help)
		for _, j := range r.jobs {
			t.Sample(name, of(runs[j.Name], r.counts[j.Name]), "job", j.Name)
		}
	}
	family("coffer_job_last_run_timestamp_seconds", metrics.Gauge, "When a job last ran, in Unix time; 0 if never.", func(last warden.JobRun, _ count) float64 {
		if last.Ended.IsZero() {
			return 0
		}
		return float64(last.Ended.UnixMilli()) / 1000
	})
	family("coffer_job_last_removed", metrics.Gauge, "What the last run of a job removed.", func(last warden.JobRun, _ count) float64 {
		return float64(last.Removed)
	})
	family("coffer_job_last_failed", metrics.Gauge, "Whether the last run of a job failed.", func(last warden.JobRun, _ count) float64 {
		return metrics.Flag(last.Error != "")
	})
	family("coffer_job_runs_total", metrics.Counter, "Runs of a job since the start.", func(_ warden.JobRun, since count) float64 {
		return float64(since.runs)
	})
	family("coffer_job_errors_total", metrics.Counter, "Runs of a job that failed since the start.", func(_ warden.JobRun, since count) float64 {
		return float64(since.failures)
	})
	family("coffer_job_removed_total", metrics.Counter, "What a job removed since the start.", func(_ warden.JobRun, since count) float64 {
		return float64(since.removed)
	})
}
