package jobs

import (
	"context"

	"coffer/server/metrics"
)

// Measure says how jobs went.
func (r *Runner) Measure(p *metrics.Page) {
	runs, err := r.runs(context.Background())
	if err != nil {
		r.log.Warn("could not look up when jobs ran", "error", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, j := range r.jobs {
		last, since := runs[j.Name], r.counts[j.Name]
		p.Gauge("coffer_job_last_run_timestamp_seconds", "When a job last ran, in Unix time; 0 if never.", metrics.Time(last.Ended), "name", j.Name)
		p.Gauge("coffer_job_last_success_timestamp_seconds", "When a job last went well, in Unix time; 0 if never.", metrics.Time(last.Well), "name", j.Name)
		p.Gauge("coffer_job_every_seconds", "How often a job runs.", j.Every.Seconds(), "name", j.Name)
		p.Gauge("coffer_job_last_removed", "What the last run of a job removed.", float64(last.Removed), "name", j.Name)
		p.Gauge("coffer_job_last_failed", "Whether the last run of a job failed.", metrics.Flag(last.Error != ""), "name", j.Name)
		p.Counter("coffer_job_runs_total", "Runs of a job since the start.", float64(since.runs), "name", j.Name)
		p.Counter("coffer_job_errors_total", "Runs of a job that failed since the start.", float64(since.failures), "name", j.Name)
		p.Counter("coffer_job_removed_total", "What a job removed since the start.", float64(since.removed), "name", j.Name)
	}
}
