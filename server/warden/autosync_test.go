package warden_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"coffer/server/api"
	"coffer/server/hosting"
	"coffer/server/warden"
	"coffer/store"
)

// saveLink has production sync by itself.
func (d *dock) saveLink(change ...func(*api.SaveLink)) api.LinkDetail {
	d.t.Helper()
	q := d.query()
	req := api.SaveLink{Ref: q.Ref, ConnectionID: q.ConnectionID, ProjectID: q.ProjectID, AutoSync: true}
	for _, c := range change {
		c(&req)
	}
	saved, err := d.w.SaveLink(d.t.Context(), d.ann(d.w), req)
	must(d.t, err)
	return saved.Link
}

// calm lets the time go by that a link waits for.
func (d *dock) calm() {
	d.sleep(90 * time.Second)
	d.w.RouseSyncs()
}

// link is how the dock's only link stands.
func (d *dock) link() api.VaultSync {
	d.t.Helper()
	shown, err := d.w.VaultSyncs(d.t.Context(), d.ann(d.w), d.query().Ref)
	must(d.t, err)
	if len(shown.Links) != 1 {
		d.t.Fatalf("%d links", len(shown.Links))
	}
	return shown.Links[0].VaultSync
}

// stored is the record of the dock's only link.
func (d *dock) stored() (l store.SyncLink) {
	d.t.Helper()
	s, err := store.Open(d.t.Context(), d.db)
	must(d.t, err)
	must(d.t, s.View(d.t.Context(), func(r store.Reader) error {
		id, err := r.VaultIDByName(repo)
		if err != nil {
			return err
		}
		all, err := r.SyncLinks(id)
		if len(all) == 1 {
			l = all[0]
		}
		return err
	}))
	return l
}

// logged counts records of an action.
func (d *dock) logged(action string) (n int) {
	d.t.Helper()
	s, err := store.Open(d.t.Context(), d.db)
	must(d.t, err)
	must(d.t, s.View(d.t.Context(), func(r store.Reader) error {
		id, err := r.VaultIDByName(repo)
		if err != nil {
			return err
		}
		all, _, err := r.ActivityIn(id, 1000, 0)
		for _, a := range all {
			if a.Action == action {
				n++
			}
		}
		return err
	}))
	return n
}

func (d *dock) reaches(want map[string]string) {
	d.t.Helper()
	var got map[string]string
	for range 6000 {
		if got = d.shelf.held("production"); cmp.Equal(want, got) {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	d.t.Fatalf("it is never synced: %s", cmp.Diff(want, got))
}

func TestALinkSyncsByItselfAndDeletesNothing(t *testing.T) {
	d := newDock(t)
	d.shelf.says(func() { d.shelf.put("production", "THEIRS", shelved{value: "x"}) })
	d.saveLink()
	d.calm()
	d.reaches(map[string]string{"A": "1", "B": "1", "C": "1", "THEIRS": "x"})
	eventually(t, func() bool { return d.link().LastStatus == api.SyncSuccess })

	d.fill(map[string]string{"A": "2"})
	time.Sleep(50 * time.Millisecond)
	if d.shelf.held("production")["A"] != "1" {
		t.Error("it did not wait for calm")
	}
	d.calm()
	d.reaches(map[string]string{"A": "2", "B": "1", "C": "1", "THEIRS": "x"})
	if n := d.logged("secrets_sync_started"); n != 2 {
		t.Errorf("%d starts on record, want 2", n)
	}
}

// TestWhoMayNoMoreSyncsNoMore takes the right away between link and sync.
func TestWhoMayNoMoreSyncsNoMore(t *testing.T) {
	for name, lose := range map[string]func(*dock, warden.Caller) error{
		"disabled": func(d *dock, op warden.Caller) error {
			return second(d.w.DisableLocalUser(d.t.Context(), op, api.DisableLocalUser{Username: "bob", Disabled: true}))
		},
		"out of the repository": func(d *dock, op warden.Caller) error {
			return d.w.GrantLocalRepo(d.t.Context(), op, api.GrantLocalRepo{RepoFullName: repo, Username: "bob", Role: "none"})
		},
		"not an admin any more": func(d *dock, op warden.Caller) error {
			return d.w.GrantLocalRepo(d.t.Context(), op, api.GrantLocalRepo{RepoFullName: repo, Username: "bob", Role: "read"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDock(t)
			bob := d.bob("admin")
			q := d.query(func(q *api.SyncQuery) { q.ConnectionID = bob.conn })
			must(t, second(d.w.SaveLink(t.Context(), bob.who, api.SaveLink{Ref: q.Ref, ConnectionID: q.ConnectionID, ProjectID: q.ProjectID, AutoSync: true})))
			d.calm()
			d.reaches(map[string]string{"A": "1", "B": "1", "C": "1"})
			eventually(t, func() bool { return d.link().LastStatus == api.SyncSuccess })
			must(t, lose(d, operator(t, d.w)))
			saved := d.logged("sync_link_saved")
			d.fill(map[string]string{"A": "2"})
			d.calm()
			eventually(t, func() bool { return d.stored().Disabled })
			if d.shelf.held("production")["A"] != "1" {
				t.Error("it was synced all the same")
			}
			if l := d.link(); l.LastError == "" || l.AutoSync {
				t.Errorf("the link does not say so: %+v", l)
			}
			if n := d.logged("sync_link_saved"); n != saved+1 {
				t.Errorf("%d records of it, want one", n-saved)
			}
		})
	}
}

// person is somebody besides ann.
type person struct {
	token, key, conn string
	who, admin       warden.Caller // the key, and one that may revoke it
}

// bob is somebody with a role on the repository and a connection.
func (d *dock) bob(role string) person {
	d.t.Helper()
	op, ctx := operator(d.t, d.w), d.t.Context()
	must(d.t, second(d.w.AddLocalUser(ctx, op, api.AddLocalUser{Username: "bob", Password: api.NewSecret("a password")})))
	must(d.t, d.w.GrantLocalRepo(ctx, op, api.GrantLocalRepo{RepoFullName: repo, Username: "bob", Role: role}))
	made, err := d.w.IssueToken(ctx, op, api.IssueToken{Username: "bob", Name: "k", Environment: "live", Scopes: []string{api.ReadSecrets, api.WriteSecrets}})
	must(d.t, err)
	p := person{token: string(made.Token), key: made.ID}
	p.who, err = d.w.Identify(ctx, warden.Credential{Bearer: p.token})
	must(d.t, err)
	made, err = d.w.IssueToken(ctx, op, api.IssueToken{Username: "bob", Name: "keys", Environment: "live", Scopes: []string{api.AdminAPIKeys}})
	must(d.t, err)
	p.admin, err = d.w.Identify(ctx, warden.Credential{Bearer: string(made.Token)})
	must(d.t, err)
	conn, err := d.w.Connect(ctx, p.who, api.Connect{ProviderRef: api.ProviderRef{Provider: hosting.Vercel}, Token: api.NewSecret(goodToken)})
	must(d.t, err)
	p.conn = conn.ConnectionID
	return p
}

func TestALinkThatFailsIsTriedAgainLaterAndLater(t *testing.T) {
	d := newDock(t)
	d.saveLink()
	d.shelf.says(func() { d.shelf.down = &hosting.Unavailable{Err: errors.New("down")} })
	d.calm()
	eventually(t, func() bool { return d.stored().Failures == 1 })
	l := d.stored()
	if l.Disabled || l.Problem == "" || !l.Next.Time().After(d.now()) {
		t.Errorf("after one failure: %+v", l)
	}
	d.sleep(2 * time.Minute)
	d.w.RouseSyncs()
	eventually(t, func() bool { return d.stored().Failures == 2 })
	if again := d.stored(); again.Next.Time().Sub(d.now()) < 90*time.Second {
		t.Errorf("after two failures it is tried again in %v", again.Next.Time().Sub(d.now()))
	}
	d.shelf.says(func() { d.shelf.down = nil })
	d.sleep(time.Hour)
	d.w.RouseSyncs()
	d.reaches(map[string]string{"A": "1", "B": "1", "C": "1"})
	eventually(t, func() bool { l := d.stored(); return l.Failures == 0 && l.Problem == "" && l.Next == 0 })
}

func TestConnectingAgainHasItsLinksSyncAgain(t *testing.T) {
	d := newDock(t)
	d.saveLink()
	d.shelf.says(func() { d.shelf.token = "another" })
	d.calm()
	eventually(t, func() bool { return d.stored().Disabled })
	if got := d.link().LastError; !strings.Contains(strings.ToLower(got), "connect") {
		t.Errorf("the link says %q", got)
	}
	must(t, second(d.w.Connect(t.Context(), d.ann(d.w), api.Connect{ProviderRef: api.ProviderRef{Provider: hosting.Vercel}, Token: api.NewSecret("another")})))
	d.calm()
	d.reaches(map[string]string{"A": "1", "B": "1", "C": "1"})
}

// TestAPullDoesNotMakeALinkUpToDate: what only we have is not at the provider.
func TestAPullDoesNotMakeALinkUpToDate(t *testing.T) {
	d := newDock(t)
	d.saveLink()
	d.calm()
	d.reaches(map[string]string{"A": "1", "B": "1", "C": "1"})
	eventually(t, func() bool { return d.link().LastStatus == api.SyncSuccess })
	d.fill(map[string]string{"A": "1", "B": "1", "C": "1", "NEW": "1"})
	d.shelf.says(func() { d.shelf.put("production", "A", shelved{value: "2"}) })
	if r := d.sync(d.query(func(q *api.SyncQuery) { q.Direction = api.SyncPull })); r.Updated != 1 {
		t.Fatalf("%+v", r)
	}
	d.calm()
	d.reaches(map[string]string{"A": "2", "B": "1", "C": "1", "NEW": "1"})
}

// TestSealingStopsAnAutomaticRun seals in the middle of one. Sealing waits for no
// provider, nothing is written while sealed, and afterwards all goes on.
func TestSealingStopsAnAutomaticRun(t *testing.T) {
	d := newDock(t)
	reached, goOn := make(chan struct{}), make(chan struct{})
	d.shelf.says(func() {
		d.shelf.between = func(done int) {
			if done == 1 {
				close(reached)
				<-goOn
			}
		}
	})
	d.saveLink()
	d.calm()
	<-reached
	began := time.Now()
	must(t, d.w.Seal(t.Context(), operator(t, d.w)))
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("sealing took %v", took)
	}
	close(goOn)
	time.Sleep(100 * time.Millisecond)
	if n := len(d.shelf.called()); n > 1 {
		t.Errorf("%d variables were written while sealed", n-1)
	}
	d.shelf.says(func() { d.shelf.between = nil })
	must(t, d.w.Unseal(t.Context(), api.Unseal{}))
	d.reaches(map[string]string{"A": "1", "B": "1", "C": "1"})
	eventually(t, func() bool { return d.link().LastStatus == api.SyncSuccess })
	d.fill(map[string]string{"A": "3", "B": "1", "C": "1"})
	d.calm()
	d.reaches(map[string]string{"A": "3", "B": "1", "C": "1"})
}

// TestALinkWaitsForARunThatSomebodyBegan: that its place is taken is no failure of
// the link, and puts it off no longer than that run takes.
func TestALinkWaitsForARunThatSomebodyBegan(t *testing.T) {
	d := newDock(t)
	reached, goOn := make(chan struct{}), make(chan struct{})
	d.shelf.says(func() {
		d.shelf.between = func(done int) {
			if done == 1 {
				close(reached)
				<-goOn
			}
		}
	})
	d.saveLink()
	req := run(d.query())
	req.Async = true
	must(t, second(d.w.Sync(t.Context(), d.ann(d.w), req)))
	<-reached
	before := d.shelf.listed()
	d.calm()
	eventually(t, func() bool { return d.shelf.listed() > before })
	time.Sleep(100 * time.Millisecond) // it tries to begin, and may not
	if l := d.stored(); l.Failures != 0 || l.Status != "" {
		t.Errorf("noted as failed: %+v", l)
	}
	d.shelf.says(func() { d.shelf.between = nil })
	close(goOn)
	d.reaches(map[string]string{"A": "1", "B": "1", "C": "1"})
	d.calm()
	eventually(t, func() bool { return d.link().LastStatus == api.SyncSuccess })
}

// TestWhatIsAboutToBeSyncedIsNoDrift: only a link that held all there is can drift.
func TestWhatIsAboutToBeSyncedIsNoDrift(t *testing.T) {
	d := newDock(t)
	d.saveLink()
	must(t, d.w.CheckDrift(t.Context()))
	if l := d.stored(); l.Drift != 0 || l.Checked != 0 {
		t.Errorf("%+v", l)
	}
}

func TestDriftIsSeenAndLeftAlone(t *testing.T) {
	d := newDock(t)
	d.saveLink()
	d.calm()
	d.reaches(map[string]string{"A": "1", "B": "1", "C": "1"})
	eventually(t, func() bool { return d.link().LastStatus == api.SyncSuccess })
	d.shelf.says(func() { d.shelf.put("production", "A", shelved{value: "theirs"}) })
	must(t, d.w.CheckDrift(t.Context()))
	if l := d.link(); l.DriftKeys != 1 || l.CheckedAt == nil {
		t.Errorf("%+v", l)
	}
	if d.shelf.held("production")["A"] != "theirs" {
		t.Error("looking has changed something")
	}
	d.shelf.says(func() { d.shelf.down = &hosting.Unavailable{Err: errors.New("down")} })
	must(t, d.w.CheckDrift(t.Context()))
	if l := d.stored(); l.Disabled || l.Failures != 0 || l.Drift != 1 {
		t.Errorf("a look that failed: %+v", l)
	}
	d.shelf.says(func() { d.shelf.down, d.shelf.token = nil, "another" })
	must(t, d.w.CheckDrift(t.Context()))
	if !d.stored().Disabled {
		t.Error("a connection that is over ends no link")
	}
}

func TestReferencesAreSyncedOnceTheyAreAllowed(t *testing.T) {
	d := newDock(t)
	d.fill(map[string]string{"A": "1", "B": "${{ shared.X }}"})
	d.saveLink()
	d.calm()
	d.reaches(map[string]string{"A": "1"})
	eventually(t, func() bool { return d.link().LastStatus == api.SyncSuccess })
	d.saveLink(func(l *api.SaveLink) { l.AllowReferences = true })
	d.calm()
	d.reaches(map[string]string{"A": "1", "B": "${{ shared.X }}"})
}

// TestAProviderThatIsTurnedOffKeepsItsLinks: the operator may turn it on again.
func TestAProviderThatIsTurnedOffKeepsItsLinks(t *testing.T) {
	off := false
	d := newDock(t, func(c *warden.Config) {
		if off {
			c.Hosting = nil
		}
	})
	d.saveLink()
	must(t, d.w.Close())
	off = true
	d.open(d.db)
	if _, err := d.w.PreviewSync(t.Context(), d.ann(d.w), d.query()); api.CodeOf(err) != api.Conflict {
		t.Errorf("a preview: %v", err)
	}
	d.calm()
	eventually(t, func() bool { return d.stored().Failures > 0 })
	if l := d.stored(); l.Disabled {
		t.Errorf("%+v", l)
	}
}
