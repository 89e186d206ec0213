package warden

import (
	"context"
	"time"

	"coffer/server/access"
	"coffer/server/api"
	"coffer/store"
)

// JobRun is the last run of a job.
type JobRun struct {
	Name           string
	Started, Ended time.Time
	Removed        int
	Error          string    // empty when it went well
	Well           time.Time // end of the last run that went well
}

// JobRuns are the last runs of all jobs that ever ran, by name.
func (w *Warden) JobRuns(ctx context.Context) (map[string]JobRun, error) {
	all := make(map[string]JobRun)
	err := w.store.View(ctx, func(r store.Reader) error {
		runs, err := r.JobRuns()
		for _, j := range runs {
			all[j.Name] = JobRun{j.Name, j.Started.Time(), j.Ended.Time(), j.Removed, j.Error, wellAt(j)}
		}
		return err
	})
	return all, err
}

// wellAt is when a job last went well. Runs noted by earlier versions say it only of
// themselves.
func wellAt(j store.JobRun) time.Time {
	if j.Well == 0 && j.Error == "" {
		return j.Ended.Time()
	}
	return j.Well.Time()
}

// NoteJobRun remembers the last run of a job.
func (w *Warden) NoteJobRun(ctx context.Context, j JobRun) error {
	return w.store.Update(ctx, func(tx store.Tx) error {
		return tx.PutJobRun(store.JobRun{
			Name: j.Name, Started: store.At(j.Started), Ended: store.At(j.Ended), Removed: j.Removed, Error: j.Error, Well: store.At(j.Well),
		})
	})
}

// patience is how many questions in a row may fail before a job leaves the code
// host alone until its next run.
const patience = 3

// eachAtHost asks the code host something about each of all. One that fails keeps
// no other from its turn; several in a row mean the host itself.
func eachAtHost[T any](ctx context.Context, all []T, do func(T) error) (failed error) {
	row := 0
	for _, one := range all {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := do(one)
		if err == nil {
			row = 0
			continue
		}
		failed = err
		if row++; row == patience {
			break
		}
	}
	return failed
}

// RecordJobRun records who had a job done out of turn.
func (w *Warden) RecordJobRun(ctx context.Context, who Caller, ref api.JobRef) error {
	return w.changeSelf(ctx, who, access.JobRun, func(_ store.Tx, j *journal) error {
		j.note("job_run", map[string]any{"job": ref.Name})
		return nil
	})
}

// Now is the instance's clock.
func (w *Warden) Now() time.Time { return w.now() }
