// Package jobs says when things run that nobody asks for. What they do are
// methods of the warden; this package knows no store and no rules.
//
// Its invariant: one job runs at a time. Each is harmless to stop, to kill and to
// run again, because what it removes goes in small transactions of their own.
package jobs

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"sync"
	"time"

	"coffer/server/api"
	"coffer/server/warden"
)

// Job is something that is to be done again and again. Run returns how many
// records it removed for good.
type Job struct {
	Name  string
	Every time.Duration
	Run   func(context.Context) (int, error)

	// Keeps is for work that removes nothing, so that a clock that is wrong does no
	// harm to it.
	Keeps bool
}

// Table is all jobs there are. Where nobody pays there are none about payments, so
// that none counts as done that had nobody to ask.
func Table(w *warden.Warden) []Job {
	all := []Job{
		{Name: "trash", Every: time.Hour, Run: w.ExpireTrash},
		{Name: "versions", Every: 24 * time.Hour, Run: w.ExpireVersions},
		{Name: "activity", Every: 24 * time.Hour, Run: w.ExpireActivity},
		{Name: "sessions", Every: time.Hour, Run: w.ExpireSessions},
		{Name: "keys", Every: 24 * time.Hour, Run: w.ExpireKeys},
		{Name: "deliveries", Every: time.Hour, Run: w.ExpireDeliveries},
		{Name: "repositories", Every: time.Hour, Run: keeping(w.FollowRepositories), Keeps: true},
		{Name: "devices", Every: time.Hour, Run: w.ExpireDevices},
		{Name: "grants", Every: 24 * time.Hour, Run: keeping(w.RenewGrants), Keeps: true},
		{Name: "rosters", Every: 24 * time.Hour, Run: keeping(w.SyncOrgs), Keeps: true},
		{Name: "syncs", Every: time.Hour, Run: w.ExpireSyncRuns},
		{Name: "drift", Every: 6 * time.Hour, Run: keeping(w.CheckDrift), Keeps: true},
		{Name: "erasures", Every: time.Hour, Run: keeping(w.FinishErasures), Keeps: true},
		{Name: "trials", Every: time.Hour, Run: keeping(w.ExpireTrials), Keeps: true},
		{Name: "rotation", Every: 5 * time.Minute, Run: keeping(w.GoOnRotating), Keeps: true},
	}
	if w.BillingEnabled() {
		all = append(all,
			Job{Name: "subscriptions", Every: 24 * time.Hour, Run: keeping(w.ConfirmSubscriptions), Keeps: true},
			Job{Name: "payment-events", Every: 24 * time.Hour, Run: w.ExpirePaymentEvents},
		)
	}
	return append(all, backupJobs(w)...)
}

// backupJobs are those of backups, where they are kept somewhere. The drill comes
// after the backup, so that a fresh server has one to try.
func backupJobs(w *warden.Warden) []Job {
	plan := w.BackupPlan()
	if plan.Depot == nil {
		return nil
	}
	return []Job{
		{Name: "backups", Every: plan.Every, Run: w.BackUp, Keeps: true},
		{Name: "drill", Every: plan.DrillEvery, Run: keeping(w.Drill), Keeps: true},
	}
}

// keeping is for work that removes nothing.
func keeping(work func(context.Context) error) func(context.Context) (int, error) {
	return func(ctx context.Context) (int, error) { return 0, work(ctx) }
}

// Times of the runner: how long after its start a job may first run, when one is
// tried again that failed, and when one that could not begin for lack of keys.
const (
	settleTime = time.Minute
	retryTime  = 10 * time.Minute
	sealedTime = 15 * time.Second
	lookTime   = time.Hour // at most between two looks at the clock, which may jump
)

// Runner runs jobs. Make one with New; Start it once at most, Close it in any case.
type Runner struct {
	jobs   []Job
	warden *warden.Warden
	log    *slog.Logger

	begun   time.Time     // by the process's own clock, which nobody sets
	turn    chan struct{} // held by whoever runs a job
	quit    chan struct{}
	workers sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	running string
	clock   clock
	counts  map[string]count
	last    map[string]warden.JobRun // of this process; those before it are in the store
}

// count is what a job did since the start.
type count struct{ runs, failures, removed int }

// New makes a runner that runs nothing by itself until it is started.
func New(w *warden.Warden, log *slog.Logger, all []Job) *Runner {
	return &Runner{
		jobs: all, warden: w, log: log, begun: time.Now(),
		turn: make(chan struct{}, 1), quit: make(chan struct{}),
		counts: make(map[string]count), last: make(map[string]warden.JobRun),
	}
}

// Start runs jobs when they are due, until Close.
func (r *Runner) Start() { r.begin(r.loop) }

// begin does work that Close waits for, unless the runner is closed.
func (r *Runner) begin(work func()) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.workers.Go(work)
	}
	return !r.closed
}

// Close stops what is running after its present transaction, and waits for it.
func (r *Runner) Close() {
	r.mu.Lock()
	if !r.closed {
		r.closed = true
		close(r.quit)
	}
	r.mu.Unlock()
	r.workers.Wait()
}

func (r *Runner) loop() {
	for {
		job, wait := r.next()
		if wait > 0 {
			select {
			case <-r.quit:
				return
			case <-time.After(wait):
			}
			continue
		}
		select {
		case <-r.quit:
			return
		case r.turn <- struct{}{}:
			r.run(job)
		}
	}
}

// next is the job that is due, or how long there is nothing to do.
func (r *Runner) next() (Job, time.Duration) {
	if r.warden.State() != api.StateOK {
		return Job{}, sealedTime
	}
	runs, err := r.runs(context.Background())
	if err != nil {
		r.log.Warn("could not look up when jobs ran", "error", err)
		return Job{}, retryTime
	}
	now, wait, hold := r.warden.Now(), lookTime, r.lookAtClock(context.Background())
	for _, j := range r.jobs {
		if hold > 0 && !j.Keeps {
			continue
		}
		until := r.due(j, runs[j.Name]).Sub(now)
		if until <= 0 {
			return j, 0
		}
		wait = min(wait, until)
	}
	return Job{}, wait
}

// runs are the last runs, by name. What this process did counts also where it
// could not be written.
func (r *Runner) runs(ctx context.Context) (map[string]warden.JobRun, error) {
	all, err := r.warden.JobRuns(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.Copy(all, r.last)
	return all, err
}

// due is when a job is to run next. A run in the future is that of a clock that
// was wrong.
func (r *Runner) due(j Job, last warden.JobRun) time.Time {
	at := r.warden.Now().Add(settleTime - time.Since(r.begun))
	if last.Ended.IsZero() || last.Ended.After(r.warden.Now()) {
		return at
	}
	wait := j.Every
	if last.Error != "" {
		wait = min(wait, retryTime)
	}
	if next := last.Ended.Add(wait); next.After(at) {
		return next
	}
	return at
}

// run runs a job. The caller holds the turn, which is given back.
func (r *Runner) run(j Job) {
	defer func() { <-r.turn }()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan struct{})
	defer close(done)
	r.workers.Go(func() {
		select {
		case <-r.quit:
			cancel()
		case <-done:
		}
	})
	r.setRunning(j.Name)
	defer r.setRunning("")
	last := warden.JobRun{Name: j.Name, Started: r.warden.Now(), Well: r.lastWell(ctx, j.Name)}
	removed, err := j.Run(ctx)
	last.Ended, last.Removed = r.warden.Now(), removed
	if err != nil {
		last.Error = r.explain(j, err)
	} else {
		last.Well = last.Ended
	}
	if !j.Keeps {
		r.believe()
	}
	r.remember(last)
	if err := r.warden.NoteJobRun(context.Background(), last); err != nil {
		r.log.Error("the run of a job could not be noted", "job", j.Name, "error", err)
	}
	if removed > 0 {
		r.log.Info("a job removed what was over its time", "job", j.Name, "removed", removed)
	}
}

// lastWell is when a job last went well, or zero.
func (r *Runner) lastWell(ctx context.Context, name string) time.Time {
	runs, err := r.runs(ctx)
	if err != nil {
		r.log.Warn("could not look up when jobs ran", "error", err)
	}
	return runs[name].Well
}

// explain puts a failure into words that may be shown, and logs the rest.
func (r *Runner) explain(j Job, err error) string {
	if errors.Is(err, context.Canceled) {
		return "It was stopped; the next run goes on where it was."
	}
	r.log.Error("a job failed", "job", j.Name, "error", err)
	if e, ok := errors.AsType[*api.Error](err); ok {
		return e.Message
	}
	return "It failed; the server's log says why."
}

func (r *Runner) setRunning(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running = name
}

func (r *Runner) remember(last warden.JobRun) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last[last.Name] = last
	c := r.counts[last.Name]
	c.runs++
	c.removed += last.Removed
	if last.Error != "" {
		c.failures++
	}
	r.counts[last.Name] = c
}
