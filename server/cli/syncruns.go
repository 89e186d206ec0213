package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"coffer/server/api"
	"coffer/server/client"
)

const (
	cancelTime = 10 * time.Second // for the request to stop a sync
	windDown   = 45 * time.Second // for the call to the provider that is under way then
	lookAgain  = 2 * time.Second
	lookTime   = 2 * time.Minute // without an answer, before the following is given up
)

// running is one sync under way.
type running struct {
	client *client.Client
	out    *console
	words  *syncWords // nil when only the job is known
}

// run starts a sync, waits for its end and says how it went. Whoever interrupts the
// waiting stops the sync.
func (r *running) run(ctx context.Context, s api.StartSync) error {
	stop := r.out.working("Syncing")
	result, err := r.client.Sync(ctx, s)
	stop()
	if err != nil && ctx.Err() != nil {
		r.out.note("Interrupted before the server had answered. To see whether it did something: coffer activity --vault --repo %s", s.Ref.Repository())
		return ctx.Err()
	}
	if err != nil {
		return err
	}
	if result.Status == api.SyncRunning {
		job, err := r.follow(ctx, result.JobID)
		if ctx.Err() != nil {
			return r.interrupted(ctx, result.JobID)
		}
		if err != nil {
			return &advised{err, "The sync goes on at the server. To see how it went: coffer sync wait " + result.JobID}
		}
		result = job.Result
	}
	return r.report(result)
}

// follow waits for the end of a job and shows how far it is. A server that restarts
// goes on with it, and so does the waiting.
func (r *running) follow(ctx context.Context, job string) (*api.SyncJob, error) {
	show, stop := r.out.counting("Syncing")
	defer stop()
	heard := time.Now()
	for {
		done, err := r.client.FollowSync(ctx, job, func(j api.SyncJob) {
			if heard = time.Now(); j.Progress != nil {
				show(j.Progress.Done, j.Progress.Total)
			}
		})
		if err == nil || !passes(err) || time.Since(heard) > lookTime {
			return done, err
		}
		select {
		case <-time.After(lookAgain):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// interrupted stops a job whose waiting was interrupted, and says what became of
// it.
func (r *running) interrupted(ctx context.Context, job string) error {
	r.out.note("Stopping the sync. What is done stays done.")
	asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelTime)
	defer cancel()
	// One that has ended meanwhile is a conflict, and its end is what is wanted.
	if err := r.client.CancelSync(asking, job); err != nil && api.CodeOf(err) != api.Conflict {
		r.out.note("It could not be stopped: %s\nIt goes on at the server. To stop it: coffer sync cancel %s", describe(err), job)
		return ctx.Err()
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), windDown)
	defer cancel()
	ended, err := r.follow(ending, job)
	if err != nil {
		r.out.note("It ends as soon as the provider has answered what it was asked last. To see what was done by then: coffer sync wait %s", job)
		return ctx.Err()
	}
	if err := r.report(ended.Result); err != nil && !errors.Is(err, quietExit(exitError)) {
		return err
	}
	return ctx.Err()
}

// report says how a sync went, key by key where it did not go well.
func (r *running) report(result *api.SyncResult) error {
	if result.Success && r.words != nil && r.words.changes() == 0 && !r.out.json {
		return nil // that there is nothing to sync was said
	}
	if err := r.out.done(result, "%s", r.summary(result)); err != nil {
		return err
	}
	if result.Success {
		return nil
	}
	if !r.out.json {
		r.explain(result)
	}
	return quietExit(exitError)
}

func (r *running) summary(result *api.SyncResult) string {
	did := fmt.Sprintf("%d created, %d updated, %d deleted, %d skipped", result.Created, result.Updated, result.Deleted, result.Skipped)
	if n := len(result.Failed); n > 0 {
		did += fmt.Sprintf(", %d not done", n)
	}
	switch {
	case result.Status == api.SyncFailed && len(result.Failed) == 0:
		return "Nothing was synced."
	case r.words == nil:
		return did + "."
	case r.words.pull:
		return r.words.here + ": " + did + "."
	}
	return r.words.there + ": " + did + "."
}

// explain names what went wrong. Keys that it did not come to are only counted:
// nothing is wrong with them.
func (r *running) explain(result *api.SyncResult) {
	var rows [][]string
	left := make(map[string]int)
	for _, f := range result.Failed {
		if f.Code == "cancelled" || f.Code == "not_reached" {
			left[f.Message]++
			continue
		}
		row := []string{"! " + f.Key, f.Operation, f.Message}
		if f.RequestID != "" {
			row = append(row, "Request there: "+f.RequestID)
		}
		rows = append(rows, row)
	}
	r.out.noteTable(rows)
	for _, message := range slices.Sorted(maps.Keys(left)) {
		r.out.note("%s: %s", capital(counted(left[message], "key")), message)
	}
	if len(result.Failed) == 0 && result.Error != "" {
		r.out.note("%s", result.Error)
	}
}

func newSyncWait(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "wait JOB",
		Short: "Wait for the end of a sync that you began, and show how it went",
		Long: `Wait for the end of a sync that you began, and show how it went. To interrupt this
does not stop the sync. How it went is known for a day after its end.`,
		Args: args(1, 1),
		RunE: a.signedIn(func(ctx context.Context, c *client.Client, args []string) error {
			r := &running{client: c, out: a.out}
			job, err := r.follow(ctx, args[0])
			if err != nil {
				return err
			}
			return r.report(job.Result)
		}),
	}
}

func newSyncCancel(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "cancel JOB",
		Short: "Stop a sync that you began; what is done stays done",
		Args:  args(1, 1),
		RunE: a.signedIn(func(ctx context.Context, c *client.Client, args []string) error {
			return runSyncCancel(ctx, args[0], c, a.out)
		}),
	}
}

func runSyncCancel(ctx context.Context, job string, c *client.Client, out *console) error {
	if err := c.CancelSync(ctx, job); err != nil {
		return err
	}
	return out.done(map[string]string{"canceled": job}, "The sync stops. To see what it had done by then: coffer sync wait %s", job)
}
