package warden_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"coffer/server/api"
	"coffer/server/hosting"
	"coffer/server/warden"
	"coffer/store"
)

// gate stops a shelf before a variable, until it is opened.
type gate struct {
	reached, open chan struct{}
}

// stopAt has the shelf wait before its n-th variable.
func (d *dock) stopAt(n int) *gate {
	g := &gate{make(chan struct{}), make(chan struct{})}
	arrive := sync.OnceFunc(func() { close(g.reached) })
	met := -1
	d.shelf.says(func() {
		d.shelf.between = func(int) {
			if met++; met == n {
				arrive()
				<-g.open
			}
		}
	})
	d.t.Cleanup(g.pass)
	return g
}

func (g *gate) pass() {
	select {
	case <-g.open:
	default:
		close(g.open)
	}
}

// begin starts a sync that takes longer than its request waits, and waits until it
// is stopped at the gate.
func (d *dock) begin(q api.SyncQuery, g *gate) string {
	d.t.Helper()
	r := d.sync(q)
	if r.Status != api.SyncRunning || r.Success || r.JobID == "" || !strings.Contains(r.Error, r.JobID) || r.Stats != (api.SyncStats{}) {
		d.t.Fatalf("a run that takes long is answered with %+v", r)
	}
	<-g.reached
	return r.JobID
}

func (d *dock) job(id string) *api.SyncJob {
	d.t.Helper()
	job, err := d.w.SyncJob(d.t.Context(), d.ann(d.w), api.SyncJobRef{ID: id})
	must(d.t, err)
	return job
}

func (d *dock) ends(id string) *api.SyncJob {
	d.t.Helper()
	eventually(d.t, func() bool { return d.job(id).Status != api.SyncRunning })
	return d.job(id)
}

func impatient(c *warden.Config) { c.SyncWait = 20 * time.Millisecond }

func TestARunThatTakesLongIsAJob(t *testing.T) {
	d := newDock(t, impatient)
	bob := d.bob("admin")
	g := d.stopAt(1)
	id := d.begin(d.query(), g)
	if job := d.job(id); job.Result != nil || job.FinishedAt != nil || job.Progress.Done != 1 || job.Progress.Total != 3 {
		t.Errorf("in the middle: %+v", job)
	}
	if _, err := d.w.SyncJob(t.Context(), bob.who, api.SyncJobRef{ID: id}); api.CodeOf(err) != api.NotFound {
		t.Errorf("for somebody else: %v", err)
	}
	if err := d.w.CancelSync(t.Context(), bob.who, api.SyncJobRef{ID: id}); api.CodeOf(err) != api.NotFound {
		t.Errorf("somebody else stops it: %v", err)
	}
	g.pass()
	if job := d.ends(id); job.Status != api.SyncSuccess || job.Result == nil || job.Result.Created != 3 || job.FinishedAt == nil {
		t.Errorf("at the end: %+v", job)
	}
	d.sleep(23 * time.Hour)
	must(t, second(d.w.ExpireSyncRuns(t.Context())))
	d.job(id)
	d.sleep(2 * time.Hour)
	must(t, second(d.w.ExpireSyncRuns(t.Context())))
	if _, err := d.w.SyncJob(t.Context(), d.ann(d.w), api.SyncJobRef{ID: id}); api.CodeOf(err) != api.NotFound {
		t.Errorf("a day later: %v", err)
	}
}

func TestARunIsStopped(t *testing.T) {
	d := newDock(t, impatient)
	d.shelf.says(func() { d.shelf.put("production", "OLD", shelved{value: "x"}) })
	g := d.stopAt(1)
	id := d.begin(d.query(func(q *api.SyncQuery) { q.AllowDelete = true }), g)
	must(t, d.w.CancelSync(t.Context(), d.ann(d.w), api.SyncJobRef{ID: id}))
	g.pass()
	job := d.ends(id)
	if job.Status != api.SyncPartial || job.Result.Created != 1 || len(job.Result.Failed) != 3 || job.Result.Failed[0].Code != "cancelled" {
		t.Errorf("%+v", job.Result)
	}
	if _, there := d.shelf.held("production")["OLD"]; !there {
		t.Error("something was deleted all the same")
	}
	if err := d.w.CancelSync(t.Context(), d.ann(d.w), api.SyncJobRef{ID: id}); api.CodeOf(err) != api.Conflict {
		t.Errorf("stopped twice: %v", err)
	}
	d.shelf.says(func() { d.shelf.between = nil })
	again := d.ends(d.sync(d.query()).JobID)
	if again.Status != api.SyncSuccess || again.Result.Created != 2 {
		t.Errorf("afterwards: %+v", again)
	}
}

// TestWhatARunNeedsGoes takes away in the middle of a run what it needs.
func TestWhatARunNeedsGoes(t *testing.T) {
	env := api.EnvironmentRef{Environment: "production"}
	for name, remove := range map[string]func(*dock) error{
		"the connection": func(d *dock) error {
			return d.w.Disconnect(d.t.Context(), d.ann(d.w), api.ConnectionRef{ID: d.conn})
		},
		"the environment": func(d *dock) error {
			env.Ref = d.query().Ref
			return second(d.w.DeleteEnvironment(d.t.Context(), d.ann(d.w), env))
		},
		"the vault": func(d *dock) error {
			return d.w.DeleteVault(d.t.Context(), d.ann(d.w), d.query().Ref)
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDock(t, impatient)
			d.shelf.says(func() { d.shelf.put("production", "OLD", shelved{value: "x"}) })
			g := d.stopAt(1)
			id := d.begin(d.query(func(q *api.SyncQuery) { q.AllowDelete = true }), g)
			must(t, remove(d))
			g.pass()
			eventually(t, func() bool {
				job, err := d.w.SyncJob(t.Context(), d.ann(d.w), api.SyncJobRef{ID: id})
				return api.CodeOf(err) == api.NotFound && err != nil || err == nil && job.Status == api.SyncPartial
			})
			eventually(t, func() bool { return len(d.leases()) == 0 })
			if calls := d.shelf.called(); len(calls) > 2 {
				t.Errorf("it went on: %q", calls)
			}
			d.open(d.db)
			time.Sleep(50 * time.Millisecond)
			if calls := d.shelf.called(); len(calls) > 2 {
				t.Errorf("the next start went on with it: %q", calls)
			}
			d.sound()
		})
	}
}

func (d *dock) leases() []store.Place {
	d.t.Helper()
	s, err := store.Open(d.t.Context(), d.db)
	must(d.t, err)
	var all []store.Place
	must(d.t, s.View(d.t.Context(), func(r store.Reader) (err error) {
		all, err = r.SyncLeasesBefore(store.At(d.now().Add(time.Hour)))
		return err
	}))
	return all
}

// sound holds the data against itself.
func (d *dock) sound() {
	d.t.Helper()
	s, err := store.Open(d.t.Context(), d.db)
	must(d.t, err)
	must(d.t, s.Check(d.t.Context()))
}

func TestARenamedEnvironmentIsStillTheOneThatIsSynced(t *testing.T) {
	d := newDock(t, impatient)
	d.saveLink(func(l *api.SaveLink) { l.AutoSync = false })
	g := d.stopAt(1)
	id := d.begin(d.query(), g)
	must(t, second(d.w.RenameEnvironment(t.Context(), d.ann(d.w), api.RenameEnvironment{
		EnvironmentRef: api.EnvironmentRef{Ref: d.query().Ref, Environment: "production"}, NewName: "live",
	})))
	g.pass()
	if job := d.ends(id); job.Status != api.SyncSuccess || job.Result.Created != 3 {
		t.Errorf("%+v", job)
	}
	if l := d.link(); l.KeywayEnvironment != "live" || l.LastSyncedAt == nil {
		t.Errorf("%+v", l)
	}
}

// TestClosingWaitsForNoProvider ends the process while a provider hangs; the next
// one goes on with the run, and counts what the first had done.
func TestClosingWaitsForNoProvider(t *testing.T) {
	d := newDock(t, impatient)
	d.shelf.says(func() { d.shelf.put("production", "OLD", shelved{value: "x"}) })
	g := &gate{reached: make(chan struct{})}
	d.shelf.says(func() {
		d.shelf.stuck = func(ctx context.Context, done int) {
			if done == 1 {
				close(g.reached)
				<-ctx.Done()
			}
		}
	})
	id := d.begin(d.query(func(q *api.SyncQuery) { q.AllowDelete = true }), g)
	began := time.Now()
	must(t, d.w.Close())
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("it took %v", took)
	}
	d.shelf.says(func() { d.shelf.stuck = nil })
	d.open(d.db)
	job := d.ends(id)
	if job.Status != api.SyncSuccess || job.Result.Created != 3 || job.Result.Deleted != 1 || job.Result.Stats.Total != 4 {
		t.Errorf("%+v", job.Result)
	}
}

// TestWhoWaitsForARunIsToldThatItGoesOn.
func TestWhoWaitsForARunIsToldThatItGoesOn(t *testing.T) {
	d := newDock(t)
	g := d.stopAt(1)
	answer := make(chan *api.SyncResult, 1)
	go func() {
		r, err := d.w.Sync(context.WithoutCancel(t.Context()), d.ann(d.w), run(d.query()))
		if err != nil {
			t.Error(err)
		}
		answer <- r
	}()
	<-g.reached
	d.w.StopSyncs()
	select {
	case r := <-answer:
		if r.Status != api.SyncRunning {
			t.Errorf("%+v", r)
		}
	case <-time.After(3 * time.Second):
		t.Error("nobody tells them")
	}
}

// TestALeaseThatRanOutIsAnothers has a second run take the place of one whose
// process is thought dead, and is not.
func TestALeaseThatRanOutIsAnothers(t *testing.T) {
	d := newDock(t, impatient)
	g := d.stopAt(1)
	first := d.begin(d.query(), g)
	d.sleep(3 * time.Minute)
	second := d.stopAt(1)
	other := d.begin(d.query(), second)
	g.pass()
	job := d.ends(first)
	if job.Status != api.SyncPartial || job.Result.Failed[0].Code != "conflict" {
		t.Errorf("the first: %+v", job.Result)
	}
	if len(d.leases()) != 1 {
		t.Error("the end of the first has freed the place of the second")
	}
	if _, err := d.w.Sync(t.Context(), d.ann(d.w), run(d.query())); api.CodeOf(err) != api.Conflict {
		t.Errorf("a third: %v", err)
	}
	second.pass()
	if job := d.ends(other); job.Status != api.SyncSuccess {
		t.Errorf("the second: %+v", job.Result)
	}
}

// TestTwoTeamsReachOnePlace: a project is one place, whichever connection leads
// there.
func TestTwoTeamsReachOnePlace(t *testing.T) {
	d := newDock(t, impatient)
	d.shelf.says(func() { d.shelf.teams = []string{"team"} })
	made, err := d.w.Connect(t.Context(), d.ann(d.w), api.Connect{ProviderRef: api.ProviderRef{Provider: hosting.Vercel}, Token: api.NewSecret(goodToken), TeamID: "team"})
	must(t, err)
	if made.ConnectionID == d.conn {
		t.Fatal("a team's connection is the personal one")
	}
	g := d.stopAt(1)
	id := d.begin(d.query(), g)
	through := d.query(func(q *api.SyncQuery) { q.ConnectionID = made.ConnectionID })
	if _, err := d.w.Sync(t.Context(), d.ann(d.w), run(through)); api.CodeOf(err) != api.Conflict {
		t.Errorf("through the other connection: %v", err)
	}
	g.pass()
	d.ends(id)
}

// TestARunThatCannotGoOnSaysSo takes away what a run needs that was cut short.
func TestARunThatCannotGoOnSaysSo(t *testing.T) {
	for name, lose := range map[string]func(*dock) error{
		"the connection": func(d *dock) error {
			return d.w.Disconnect(d.t.Context(), d.ann(d.w), api.ConnectionRef{ID: d.conn})
		},
		"the right": func(d *dock) error {
			ref, no := d.query().Ref, "admin"
			return second(d.w.CreateOverride(d.t.Context(), inBrowser(d.t, d.w, "ann"), api.CreateOverride{Ref: ref, Environment: "production", TargetType: "role", TargetRole: &no}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDock(t, impatient)
			killed := &mortal{DB: d.db}
			d.open(killed)
			g := d.stopAt(1)
			id := d.begin(d.query(), g)
			killed.dead.Store(true)
			d.shelf.says(func() { d.shelf.between = nil })
			d.open(d.db)
			must(t, lose(d))
			must(t, d.w.Close())
			d.sleep(3 * time.Minute) // the lease runs out
			d.open(d.db)
			job := d.ends(id)
			if job.Status != api.SyncPartial || job.Result.Created != 1 || job.Result.Error == "" || job.Result.Success {
				t.Errorf("%+v", job.Result)
			}
			if n := d.logged("secrets_synced"); n != 1 {
				t.Errorf("its end is %d times on record", n)
			}
		})
	}
}

// TestMarksAreLearnedOfWhatWasWrittenOnly: a key that could not be written must not
// be taken for one that we wrote.
func TestMarksAreLearnedOfWhatWasWrittenOnly(t *testing.T) {
	d := newDock(t)
	d.shelf.says(func() {
		for _, key := range []string{"A", "B", "C"} {
			d.shelf.put("production", key, shelved{value: "?", hidden: true})
		}
		d.shelf.between = func(done int) { d.shelf.says(func() { d.shelf.blind = done == 2 }) }
	})
	if r := d.sync(d.query()); r.Updated != 3 {
		t.Fatalf("%+v", r)
	}
	d.shelf.says(func() { d.shelf.between, d.shelf.blind = nil, false })
	if p := d.preview(d.query()); len(p.ToUpdate) != 3 {
		t.Errorf("without marks something is known: %+v", p.Details)
	}
	d.shelf.says(func() {
		d.shelf.put("production", "A", shelved{value: "theirs", hidden: true})
		d.shelf.refuse["A"] = hosting.CodeForbidden
	})
	if r := d.sync(d.query()); r.Updated != 2 || len(r.Failed) != 1 {
		t.Fatalf("%+v", r)
	}
	p := d.preview(d.query())
	if got := p.Details["A"].Reason; got != "unreadable_changed" {
		t.Errorf("A holds theirs, and is thought %s", got)
	}
	if got := p.Details["B"].Reason; got != "unchanged_unreadable" {
		t.Errorf("B holds ours, and is thought %s", got)
	}
}

// TestARunThatIsCutShortTwiceCountsOnce kills two processes, each between a write
// and what is written down of it.
func TestARunThatIsCutShortTwiceCountsOnce(t *testing.T) {
	d := newDock(t, impatient)
	d.fill(map[string]string{"A": "1", "B": "1", "C": "1", "D": "1"})
	var killed *mortal
	met := -1
	d.shelf.says(func() {
		d.shelf.between = func(int) {
			if met++; met == 1 || met == 3 { // B, D
				killed.dead.Store(true)
			}
		}
	})
	killed = &mortal{DB: d.db}
	d.open(killed)
	_, _ = d.w.Sync(t.Context(), d.ann(d.w), run(d.query()))
	eventually(t, killed.dead.Load)
	must(t, d.w.Close())
	d.sleep(3 * time.Minute)
	killed = &mortal{DB: d.db}
	d.open(killed)
	eventually(t, killed.dead.Load)
	must(t, d.w.Close())
	d.sleep(3 * time.Minute)
	d.open(d.db)
	var job store.SyncRun
	eventually(t, func() bool { job = d.lastRun(); return job.Ended != 0 })
	// What was being written when the process died is there, or is written again.
	if job.Status != api.SyncSuccess || job.Created < 2 || job.Created+job.Skipped != 4 {
		t.Errorf("%+v", job)
	}
}

// lastRun is the newest run on record.
func (d *dock) lastRun() (run store.SyncRun) {
	d.t.Helper()
	s, err := store.Open(d.t.Context(), d.db)
	must(d.t, err)
	must(d.t, s.View(d.t.Context(), func(r store.Reader) error {
		id, err := r.VaultIDByName(repo)
		if err != nil {
			return err
		}
		all, err := r.SyncRunsOf(id)
		if len(all) > 0 {
			run = all[len(all)-1]
		}
		return err
	}))
	return run
}

// TestARunOfSomebodyWhoIsKeptOutIsGivenUp.
func TestARunOfSomebodyWhoIsKeptOutIsGivenUp(t *testing.T) {
	d := newDock(t, impatient)
	bob := d.bob("admin")
	killed := &mortal{DB: d.db}
	d.open(killed)
	g := d.stopAt(1)
	who, err := d.w.Identify(t.Context(), warden.Credential{Bearer: bob.token})
	must(t, err)
	must(t, second(d.w.Sync(t.Context(), who, run(d.query(func(q *api.SyncQuery) { q.ConnectionID = bob.conn })))))
	<-g.reached
	killed.dead.Store(true)
	d.shelf.says(func() { d.shelf.between = nil })
	d.open(d.db)
	must(t, second(d.w.DisableLocalUser(t.Context(), operator(t, d.w), api.DisableLocalUser{Username: "bob", Disabled: true})))
	must(t, d.w.Close())
	d.sleep(3 * time.Minute)
	d.open(d.db)
	eventually(t, func() bool { return d.lastRun().Ended != 0 })
	if got := d.lastRun(); got.Status != api.SyncPartial || got.Created != 1 {
		t.Errorf("%+v", got)
	}
	if len(d.leases()) != 0 {
		t.Error("its place is taken still")
	}
}
