package warden_test

import (
	"context"
	"testing"
	"time"

	"coffer/server/api"
)

// TestASyncThatNobodyWaitsForIsAnsweredAtOnce, so that who began it can follow and
// stop it.
func TestASyncThatNobodyWaitsForIsAnsweredAtOnce(t *testing.T) {
	d := newDock(t)
	d.fill(map[string]string{"A": "1", "B": "2", "C": "3"})
	begun, proceed := make(chan struct{}), make(chan struct{})
	d.shelf.says(func() {
		d.shelf.between = func(done int) {
			if done == 1 {
				close(begun)
				<-proceed
			}
		}
	})
	req := run(d.query())
	req.Async = true
	soon, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	r, err := d.w.Sync(soon, d.ann(d.w), req)
	must(t, err)
	if r.Status != api.SyncRunning || r.Success || r.JobID == "" {
		t.Fatalf("got %+v", r)
	}
	<-begun
	must(t, d.w.CancelSync(t.Context(), d.ann(d.w), api.SyncJobRef{ID: r.JobID}))
	close(proceed)
	for range 3000 {
		job, err := d.w.SyncJob(t.Context(), d.ann(d.w), api.SyncJobRef{ID: r.JobID})
		must(t, err)
		if job.FinishedAt == nil {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		if got := job.Result; got.Status != api.SyncPartial || got.Created == 0 || got.Created+len(got.Failed) != 3 {
			t.Errorf("got %+v", got)
		}
		return
	}
	t.Error("it does not end")
}
