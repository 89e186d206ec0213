package jobs

import (
	"context"
	"time"

	"coffer/server/api"
	"coffer/server/warden"
)

// patience is how long whoever asks for a run waits for its end.
const patience = 20 * time.Second

// List says of every job when it ran, what that did, and when it runs next.
func (r *Runner) List(ctx context.Context) ([]api.Job, error) {
	runs, err := r.runs(ctx)
	if err != nil {
		return nil, err
	}
	all := make([]api.Job, 0, len(r.jobs))
	for _, j := range r.jobs {
		all = append(all, r.shown(j, runs[j.Name]))
	}
	return all, nil
}

func (r *Runner) shown(j Job, last warden.JobRun) api.Job {
	r.mu.Lock()
	running := r.running == j.Name
	r.mu.Unlock()
	out := api.Job{
		Name: j.Name, EverySeconds: int64(j.Every / time.Second), Running: running,
		LastRunAt: api.AtOrNull(last.Ended), Removed: last.Removed, NextRunAt: api.At(r.due(j, last)),
	}
	if leap := r.Leap(); leap > 0 && !j.Keeps {
		if at := r.warden.Now().Add(leap); at.After(out.NextRunAt.Time) {
			out.NextRunAt = api.At(at)
		}
	}
	if last.Error != "" {
		out.LastError = &last.Error
	}
	return out
}

// RunNow runs a job out of turn, and waits a while for its end. When other jobs
// or the job itself take longer, the answer says that it is running, or what its
// run before this one was.
func (r *Runner) RunNow(ctx context.Context, name string) (*api.Job, error) {
	for _, j := range r.jobs {
		if j.Name != name {
			continue
		}
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		if err := r.runSoon(ctx, j); err != nil {
			return nil, err
		}
		runs, err := r.runs(context.WithoutCancel(ctx))
		out := r.shown(j, runs[name])
		return &out, err
	}
	return nil, api.Errorf(api.NotFound, "There is no job %q.", name)
}

func (r *Runner) runSoon(ctx context.Context, j Job) error {
	select {
	case r.turn <- struct{}{}:
	case <-r.quit:
		return api.Errorf(api.Unavailable, "The server is stopping.")
	case <-ctx.Done():
		return api.Errorf(api.Conflict, "Another job is running. Try again when it is done.")
	}
	done := make(chan struct{})
	begun := r.begin(func() {
		defer close(done)
		r.run(j)
	})
	if !begun {
		<-r.turn
		return api.Errorf(api.Unavailable, "The server is stopping.")
	}
	select {
	case <-done:
	case <-ctx.Done():
	}
	return nil
}
