package warden_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"coffer/server/api"
	"coffer/server/hosting"
)

// TestPreviewAndRunAgree makes random states of both sides and of what is known
// between them, and wants a run to do what its preview said, and nothing else.
func TestPreviewAndRunAgree(t *testing.T) {
	d := newDock(t)
	for n := range 150 {
		random := rand.New(rand.NewPCG(uint64(n), 7))
		d.scatter(random)
		q := d.query(func(q *api.SyncQuery) {
			q.AllowDelete, q.AllowReferences = random.IntN(2) == 0, random.IntN(2) == 0
			if random.IntN(2) == 0 {
				q.Direction = api.SyncPull
			}
		})
		t.Run(fmt.Sprintf("%d %s delete=%t", n, q.Direction, q.AllowDelete), func(t *testing.T) { d.agree(t, q) })
		if t.Failed() {
			return
		}
	}
}

// scatter makes a random state. Some of it has been synced before.
func (d *dock) scatter(random *rand.Rand) {
	ours := make(map[string]string)
	values := []string{"", "1", "2", "${{ shared.X }}", "a\nb", "[SENSITIVE]", strings.Repeat("x", 101)}
	keys := []string{"A", "B", "C", "D", "E", "F", "SHELF_X", "G"}
	for _, key := range keys {
		if random.IntN(3) > 0 {
			ours[key] = values[random.IntN(len(values))]
		}
	}
	d.fill(ours)
	d.shelf.says(func() {
		clear(d.shelf.vars["production"])
		for _, key := range append(keys, "not legal", "lower-case") {
			v := shelved{value: values[random.IntN(len(values))], hidden: random.IntN(4) == 0}
			switch random.IntN(10) {
			case 0:
				v.origin = hosting.FromSystem
			case 1:
				v.origin = hosting.FromIntegration
			case 2:
				v.origin = hosting.FromReference
			case 3:
				v.origin = hosting.FromAbove
			case 4, 5, 6:
				continue
			}
			d.shelf.put("production", key, v)
		}
	})
	if random.IntN(2) == 0 {
		d.sync(d.query()) // so that something is known
		d.shelf.says(func() {
			for key, v := range d.shelf.vars["production"] {
				if random.IntN(4) == 0 && v.origin == hosting.FromUser {
					d.shelf.put("production", key, shelved{value: "changed there", hidden: v.hidden})
				}
			}
		})
	}
}

func (d *dock) agree(t *testing.T, q api.SyncQuery) {
	t.Helper()
	before, there := d.ours(), d.shelf.held("production")
	p := d.preview(q)
	if again := d.preview(q); again.PlanHash != p.PlanHash {
		t.Error("two previews of one state differ")
	}
	d.shelf.says(func() { d.shelf.calls = nil })
	req := run(q)
	req.PlanHash = p.PlanHash
	r, err := d.w.Sync(t.Context(), d.ann(d.w), req)
	if err != nil {
		t.Fatal(err)
	}
	want := api.SyncResult{
		Success: true, Status: api.SyncSuccess, Created: len(p.ToCreate), Updated: len(p.ToUpdate), Deleted: len(p.ToDelete), Skipped: len(p.ToSkip),
		Failed: []api.SyncFailure{}, JobID: r.JobID,
	}
	want.Stats = api.SyncStats{Created: want.Created, Updated: want.Updated, Deleted: want.Deleted, Skipped: want.Skipped,
		Total: want.Created + want.Updated + want.Deleted + want.Skipped}
	if diff := cmp.Diff(want, *r); diff != "" {
		t.Errorf("the run and its preview (%+v): %s", p, diff)
	}
	source, target, now := before, there, d.shelf.held("production")
	if q.Direction == api.SyncPull {
		source, target, now = there, before, d.ours()
		if diff := cmp.Diff(there, d.shelf.held("production")); diff != "" {
			t.Errorf("a pull changed the provider: %s", diff)
		}
	} else if diff := cmp.Diff(before, d.ours()); diff != "" {
		t.Errorf("a push changed our side: %s", diff)
	}
	expected := copyOf(target)
	for _, key := range slices.Concat(p.ToCreate, p.ToUpdate) {
		expected[key] = source[key]
	}
	for _, key := range p.ToDelete {
		if !q.AllowDelete {
			t.Errorf("%s was deleted, which nobody allowed", key)
		}
		delete(expected, key)
	}
	if diff := cmp.Diff(expected, now); diff != "" {
		t.Errorf("what the run left and what its preview said: %s", diff)
	}
	after := d.preview(q)
	if n := len(after.ToCreate) + len(after.ToUpdate) + len(after.ToDelete); n != 0 {
		t.Errorf("after the run there is still something to do: %+v", after)
	}
	d.deletedLast(t)
}

func (d *dock) deletedLast(t *testing.T) {
	t.Helper()
	calls := d.shelf.called()
	first := slices.IndexFunc(calls, func(c string) bool { return strings.HasPrefix(c, "delete ") })
	if first >= 0 && slices.ContainsFunc(calls[first:], func(c string) bool { return strings.HasPrefix(c, "write ") }) {
		t.Errorf("something was written after a deletion: %q", calls)
	}
}

func TestAPlanThatChangedIsNotRun(t *testing.T) {
	d := newDock(t)
	p := d.preview(d.query())
	d.fill(map[string]string{"A": "1", "B": "1", "C": "another"})
	req := run(d.query())
	req.PlanHash = p.PlanHash
	if _, err := d.w.Sync(t.Context(), d.ann(d.w), req); api.CodeOf(err) != api.Conflict {
		t.Errorf("with another value: %v", err)
	}
	if len(d.shelf.called()) != 0 {
		t.Error("something was written")
	}
}

func TestNothingIsDeletedUnlessAllWasWritten(t *testing.T) {
	d := newDock(t)
	d.shelf.says(func() {
		d.shelf.put("production", "OLD", shelved{value: "x"})
		d.shelf.refuse["B"] = hosting.CodeTooLarge
	})
	q := d.query(func(q *api.SyncQuery) { q.AllowDelete = true })
	r := d.sync(q)
	if r.Status != api.SyncPartial || r.Created != 2 || r.Deleted != 0 {
		t.Errorf("half refused: %+v", r)
	}
	want := []api.SyncFailure{
		{Key: "B", Operation: "create", Code: "too_large", Message: hosting.CodeTooLarge.Message()},
		{Key: "OLD", Operation: "delete", Code: "not_reached", Message: hosting.CodeNotReached.Message(), Retryable: true},
	}
	if diff := cmp.Diff(want, r.Failed); diff != "" {
		t.Error(diff)
	}
	d.shelf.says(func() { clear(d.shelf.refuse) })
	if r := d.sync(q); r.Status != api.SyncSuccess || r.Created != 1 || r.Deleted != 1 {
		t.Errorf("the second run: %+v", r)
	}
	if diff := cmp.Diff(map[string]string{"A": "1", "B": "1", "C": "1"}, d.shelf.held("production")); diff != "" {
		t.Error(diff)
	}
}

func TestACredentialThatEndsInTheMiddle(t *testing.T) {
	d := newDock(t)
	d.shelf.between = func(done int) {
		if done == 1 {
			d.shelf.says(func() { d.shelf.token = "another" })
		}
	}
	r := d.sync(d.query())
	if r.Status != api.SyncPartial || r.Created != 1 || len(r.Failed) != 2 || r.Failed[0].Code != "credential_rejected" {
		t.Errorf("%+v", r)
	}
	_, err := d.w.PreviewSync(t.Context(), d.ann(d.w), d.query())
	if api.CodeOf(err) != api.Conflict || !strings.Contains(err.Error(), "connect") {
		t.Errorf("afterwards: %v", err)
	}
	all, err := d.w.Connections(t.Context(), d.ann(d.w), api.Empty{})
	must(t, err)
	if all.Connections[0].Status != api.ConnectionReconnect {
		t.Errorf("the connection is %s", all.Connections[0].Status)
	}
	d.shelf.between = nil
	again, err := d.w.Connect(t.Context(), d.ann(d.w), api.Connect{ProviderRef: api.ProviderRef{Provider: hosting.Vercel}, Token: api.NewSecret("another")})
	must(t, err)
	if again.ConnectionID != d.conn {
		t.Error("connecting again made another connection")
	}
	if r := d.sync(d.query()); r.Status != api.SyncSuccess || r.Created != 2 {
		t.Errorf("after connecting again: %+v", r)
	}
}

func TestAProviderThatIsDown(t *testing.T) {
	d := newDock(t)
	d.shelf.down = &hosting.Unavailable{Err: errors.New("it hangs")}
	_, err := d.w.PreviewSync(t.Context(), d.ann(d.w), d.query())
	if api.CodeOf(err) != api.ProviderFailed {
		t.Errorf("a preview: %v", err)
	}
	if r := d.sync(d.query()); r.Status != api.SyncFailed || r.Success || r.Error == "" {
		t.Errorf("a run: %+v", r)
	}
	pull := d.query(func(q *api.SyncQuery) { q.Direction = api.SyncPull })
	if r := d.sync(pull); r.Status != api.SyncFailed {
		t.Errorf("a pull: %+v", r)
	}
}

// TestOneRunAtATime starts a second run while the first is at the provider.
func TestOneRunAtATime(t *testing.T) {
	d := newDock(t)
	reached, goOn := make(chan struct{}), make(chan struct{})
	d.shelf.between = func(done int) {
		if done == 1 {
			close(reached)
			<-goOn
		}
	}
	first := make(chan *api.SyncResult)
	go func() { first <- d.sync(d.query()) }()
	<-reached
	if _, err := d.w.Sync(t.Context(), d.ann(d.w), run(d.query())); api.CodeOf(err) != api.Conflict {
		t.Errorf("the second: %v", err)
	}
	close(goOn)
	if r := <-first; r.Status != api.SyncSuccess {
		t.Errorf("the first: %+v", r)
	}
	d.shelf.between = nil
	if r := d.sync(d.query()); r.Status != api.SyncSuccess {
		t.Errorf("afterwards: %+v", r)
	}
}

// TestAKilledRunIsGoneOnWith ends the process between two writes, again and again,
// and wants the next one to finish the job without deleting what nobody named.
func TestAKilledRunIsGoneOnWith(t *testing.T) {
	for after := range 4 { // three writes and a deletion
		t.Run(fmt.Sprint(after), func(t *testing.T) {
			met := -1
			d := newDock(t)
			d.shelf.says(func() { d.shelf.put("production", "OLD", shelved{value: "x"}) })
			killed := &mortal{DB: d.db}
			d.open(killed)
			d.shelf.between = func(int) {
				if met++; met == after {
					d.shelf.says(func() { d.shelf.put("production", "LATER", shelved{value: "somebody else's"}) })
					killed.dead.Store(true)
				}
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, _ = d.w.Sync(ctx, d.ann(d.w), run(d.query(func(q *api.SyncQuery) { q.AllowDelete = true })))
			d.shelf.between = nil
			d.sleep(3 * time.Minute) // its lease runs out
			d.open(d.db)
			eventually(t, func() bool {
				_, old := d.shelf.held("production")["OLD"]
				return !old
			})
			want := map[string]string{"A": "1", "B": "1", "C": "1", "LATER": "somebody else's"}
			if diff := cmp.Diff(want, d.shelf.held("production")); diff != "" {
				t.Error(diff)
			}
		})
	}
}
