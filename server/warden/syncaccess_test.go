package warden_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"coffer/server/api"
	"coffer/server/billing"
	"coffer/server/hosting"
	"coffer/server/warden"
)

func both(environment, provider, direction string) func(*api.SyncQuery) {
	return func(q *api.SyncQuery) {
		q.KeywayEnvironment, q.ProviderEnvironment, q.Direction = environment, provider, direction
	}
}

// as lets a person sync in all ways, and says what comes of it.
func (d *dock) as(p person, change ...func(*api.SyncQuery)) map[string]error {
	d.t.Helper()
	ctx := d.t.Context()
	q := d.query(change...)
	q.ConnectionID = p.conn
	return map[string]error{
		"preview": second(d.w.PreviewSync(ctx, p.who, q)), "status": second(d.w.SyncStatus(ctx, p.who, q)), "diff": second(d.w.SyncDiff(ctx, p.who, q)),
		"link": second(d.w.SaveLink(ctx, p.who, api.SaveLink{Ref: q.Ref, ConnectionID: q.ConnectionID, ProjectID: q.ProjectID, ServiceID: q.ServiceID, KeywayEnvironment: q.KeywayEnvironment, ProviderEnvironment: q.ProviderEnvironment})),
		"run":  second(d.w.Sync(ctx, p.who, run(q))),
	}
}

func codes(all map[string]error) map[string]api.Code {
	out := make(map[string]api.Code)
	for name, err := range all {
		if err != nil {
			out[name] = api.CodeOf(err)
		}
	}
	return out
}

// TestOnlyAnAdminSyncsIntoWhatIsMoreProtected tries both directions, and an
// environment that was made more protected than its name says.
func TestOnlyAnAdminSyncsIntoWhatIsMoreProtected(t *testing.T) {
	d := newDock(t)
	writer := d.bob("write")
	admin := person{conn: d.conn, who: d.ann(d.w)}
	retype := func(name, kind string) {
		must(t, second(d.w.RetypeEnvironment(t.Context(), admin.who, api.RetypeEnvironment{
			EnvironmentRef: api.EnvironmentRef{Ref: d.query().Ref, Environment: name}, Type: kind,
		})))
	}
	onlyRun := map[string]api.Code{"run": api.Forbidden}
	none := map[string]api.Code{}
	for _, c := range []struct {
		name, ours, theirs, direction string
		kind                          string // of ours; "" is what its name says
		want                          map[string]api.Code
	}{
		{"down", "production", "preview", api.SyncPush, "", none},
		{"level", "production", "production", api.SyncPush, "", none},
		{"up", "development", "production", api.SyncPush, "", onlyRun},
		{"a step up", "development", "preview", api.SyncPush, "", onlyRun},
		{"up from what is protected by now", "development", "production", api.SyncPush, "protected", none},
		{"up from what is protected no more", "production", "production", api.SyncPush, "development", onlyRun},
		{"back down", "development", "production", api.SyncPull, "", none},
		{"back up", "staging", "preview", api.SyncPull, "protected", onlyRun},
		{"back level", "staging", "preview", api.SyncPull, "standard", none},
	} {
		t.Run(c.name, func(t *testing.T) {
			kind := map[string]string{"production": "protected", "staging": "standard", "development": "development"}[c.ours]
			if c.kind != "" {
				retype(c.ours, c.kind)
				defer retype(c.ours, kind)
			}
			got := codes(d.as(writer, both(c.ours, c.theirs, c.direction)))
			if got["link"] == api.Conflict { // the admin has it since the last turn
				delete(got, "link")
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("a writer: %s", diff)
			}
			got = codes(d.as(admin, both(c.ours, c.theirs, c.direction)))
			if diff := cmp.Diff(none, got); diff != "" {
				t.Errorf("an admin: %s", diff)
			}
		})
	}
	if n := d.logged("access_denied"); n == 0 {
		t.Error("no refusal is on record")
	}
}

// TestAPullNeedsTheRightToWrite, and everything else the one to read.
func TestSyncsKeepTheRightsOfEnvironments(t *testing.T) {
	d := newDock(t)
	reader := d.bob("read")
	all := map[string]api.Code{"preview": api.Forbidden, "status": api.Forbidden, "diff": api.Forbidden, "link": api.Forbidden, "run": api.Forbidden}
	if diff := cmp.Diff(all, codes(d.as(reader))); diff != "" {
		t.Errorf("of production: %s", diff)
	}
	if diff := cmp.Diff(map[string]api.Code{}, codes(d.as(reader, both("staging", "", api.SyncPush)))); diff != "" {
		t.Errorf("from staging: %s", diff)
	}
	if diff := cmp.Diff(map[string]api.Code{"run": api.Forbidden}, codes(d.as(reader, both("staging", "", api.SyncPull)))); diff != "" {
		t.Errorf("into staging: %s", diff)
	}
	role := "admin"
	must(t, second(d.w.CreateOverride(t.Context(), inBrowser(t, d.w, "ann"), api.CreateOverride{
		Ref: d.query().Ref, Environment: "production", TargetType: "role", TargetRole: &role, CanRead: true,
	})))
	ann := person{conn: d.conn, who: d.ann(d.w)}
	if diff := cmp.Diff(map[string]api.Code{"run": api.Forbidden}, codes(d.as(ann, both("production", "", api.SyncPull)))); diff != "" {
		t.Errorf("an admin who may only read: %s", diff)
	}
}

func TestATestKeySyncsNothingProtected(t *testing.T) {
	d := newDock(t)
	made, err := d.w.IssueToken(t.Context(), operator(t, d.w), api.IssueToken{Username: "ann", Name: "t", Environment: "test", Scopes: []string{api.ReadSecrets, api.WriteSecrets}})
	must(t, err)
	who, err := d.w.Identify(t.Context(), warden.Credential{Bearer: string(made.Token)})
	must(t, err)
	p := person{conn: d.conn, who: who}
	all := map[string]api.Code{"preview": api.Forbidden, "status": api.Forbidden, "diff": api.Forbidden, "link": api.Forbidden, "run": api.Forbidden}
	for _, direction := range []string{api.SyncPush, api.SyncPull} {
		if diff := cmp.Diff(all, codes(d.as(p, both("production", "", direction)))); diff != "" {
			t.Errorf("%s: %s", direction, diff)
		}
		if diff := cmp.Diff(map[string]api.Code{}, codes(d.as(p, both("staging", "", direction)))); diff != "" {
			t.Errorf("%s of staging: %s", direction, diff)
		}
	}
	only, err := d.w.IssueToken(t.Context(), operator(t, d.w), api.IssueToken{Username: "ann", Name: "r", Environment: "live", Scopes: []string{api.ReadSecrets}})
	must(t, err)
	p.who, err = d.w.Identify(t.Context(), warden.Credential{Bearer: string(only.Token)})
	must(t, err)
	if diff := cmp.Diff(map[string]api.Code{"link": api.Forbidden, "run": api.Forbidden}, codes(d.as(p))); diff != "" {
		t.Errorf("a key that may only read: %s", diff)
	}
}

// planned has everybody be on a plan.
func planned(change func(*billing.Plan)) func(*warden.Config) {
	return func(c *warden.Config) { change(&c.Plan) }
}

func TestAPullKeepsThePlan(t *testing.T) {
	d := newDock(t, planned(func(p *billing.Plan) { p.Secrets, p.PushBatch, p.ValueBytes = 4, 3, 10 }))
	pull := d.query(func(q *api.SyncQuery) { q.Direction = api.SyncPull })
	d.shelf.says(func() {
		d.shelf.put("production", "LONG", shelved{value: "more than ten bytes"})
		d.shelf.put("production", "D", shelved{value: "1"})
	})
	if p := d.preview(pull); p.Details["LONG"].Reason != "too_large" {
		t.Errorf("%+v", p.Details)
	}
	if r := d.sync(pull); r.Created != 1 || r.Skipped != 1 {
		t.Errorf("one more fits: %+v", r)
	}
	before := d.ours()
	d.shelf.says(func() { d.shelf.put("production", "E", shelved{value: "1"}) })
	if _, err := d.w.Sync(t.Context(), d.ann(d.w), run(pull)); api.CodeOf(err) != api.PlanLimit {
		t.Errorf("a fifth secret: %v", err)
	}
	d.shelf.says(func() {
		for _, key := range []string{"A", "B", "C", "D"} {
			d.shelf.put("production", key, shelved{value: "9"})
		}
		delete(d.shelf.vars["production"], "E")
	})
	if _, err := d.w.Sync(t.Context(), d.ann(d.w), run(pull)); api.CodeOf(err) != api.PlanLimit {
		t.Errorf("four at once: %v", err)
	}
	if diff := cmp.Diff(before, d.ours()); diff != "" {
		t.Errorf("a refused pull has changed something: %s", diff)
	}
	if len(d.leases()) != 0 {
		t.Error("it left its place taken")
	}
}

func TestAReadOnlyVaultIsNotPulledInto(t *testing.T) {
	var most api.Limit
	d := newDock(t, func(c *warden.Config) {
		if most != 0 {
			c.Plan.PrivateRepos = most
		}
	})
	must(t, second(d.w.CreateVault(t.Context(), d.ann(d.w), api.CreateVault{RepoFullName: "ann/second"})))
	most = 1
	d.open(d.db)
	owner, name, _ := api.SplitRepo("ann/second")
	second := func(q *api.SyncQuery) { q.Ref = api.Ref{Owner: owner, Repo: name} }
	ann := person{conn: d.conn, who: d.ann(d.w)}
	if diff := cmp.Diff(map[string]api.Code{}, codes(d.as(ann, second))); diff != "" {
		t.Errorf("a push: %s", diff)
	}
	if diff := cmp.Diff(map[string]api.Code{"run": api.PlanLimit}, codes(d.as(ann, second, both("production", "", api.SyncPull)))); diff != "" {
		t.Errorf("a pull: %s", diff)
	}
}

func TestPlansLimitConnectionsAndLinks(t *testing.T) {
	d := newDock(t, planned(func(p *billing.Plan) { p.Connections, p.SyncLinks = 1, 2 }))
	ctx := t.Context()
	d.shelf.says(func() { d.shelf.teams = []string{"team"} })
	connect := func(team string) error {
		return second(d.w.Connect(ctx, d.ann(d.w), api.Connect{ProviderRef: api.ProviderRef{Provider: hosting.Vercel}, Token: api.NewSecret(goodToken), TeamID: team}))
	}
	must(t, connect(""))
	if err := connect("team"); api.CodeOf(err) != api.PlanLimit {
		t.Errorf("a second connection: %v", err)
	}
	link := func(ours, theirs string) error {
		q := d.query()
		return second(d.w.SaveLink(ctx, d.ann(d.w), api.SaveLink{Ref: q.Ref, ConnectionID: d.conn, ProjectID: "p1", KeywayEnvironment: ours, ProviderEnvironment: theirs}))
	}
	must(t, errors.Join(link("production", "production"), link("staging", "preview"), link("staging", "preview")))
	if err := link("development", "preview"); api.CodeOf(err) != api.PlanLimit {
		t.Errorf("a third link: %v", err)
	}
}

// TestWhatIsNotThere names things that there are not.
func TestWhatIsNotThereIsNamed(t *testing.T) {
	d := newDock(t)
	ann := person{conn: d.conn, who: d.ann(d.w)}
	for field, change := range map[string]func(*api.SyncQuery){
		"projectId":           func(q *api.SyncQuery) { q.ProjectID = "p2" },
		"serviceId":           func(q *api.SyncQuery) { q.ServiceID = "s1" },
		"keywayEnvironment":   func(q *api.SyncQuery) { q.KeywayEnvironment = "nowhere" },
		"providerEnvironment": func(q *api.SyncQuery) { q.ProviderEnvironment = "nowhere" },
	} {
		for what, err := range d.as(ann, change) {
			e, ok := errors.AsType[*api.Error](err)
			if !ok || e.Code != api.Invalid || len(e.Fields) != 1 || e.Fields[0].Field != field {
				t.Errorf("%s with another %s: %v", what, field, err)
			}
		}
	}
	must(t, d.as(ann, both("staging", "staging", ""))["preview"]) // as existing clients say it
}

// TestAnAdminTakesALinkOver counts it against their own plan.
func TestALinkIsItsSavers(t *testing.T) {
	d := newDock(t)
	bob := d.bob("admin")
	mine := d.saveLink()
	q := d.query()
	_, err := d.w.SaveLink(t.Context(), bob.who, api.SaveLink{Ref: q.Ref, ConnectionID: bob.conn, ProjectID: "p1"})
	must(t, err)
	if l := d.link(); l.ID != mine.ID || l.ConnectionID != bob.conn || l.AutoSync {
		t.Errorf("an admin takes it over: %+v", l)
	}
	must(t, d.w.GrantLocalRepo(t.Context(), operator(t, d.w), api.GrantLocalRepo{RepoFullName: repo, Username: "bob", Role: "write"}))
	d.sleep(2 * time.Minute)
	must(t, d.w.RemoveLink(t.Context(), bob.who, api.LinkRef{Ref: q.Ref, LinkID: mine.ID}))
	again := d.saveLink()
	if err := d.w.RemoveLink(t.Context(), bob.who, api.LinkRef{Ref: q.Ref, LinkID: again.ID}); api.CodeOf(err) != api.Forbidden {
		t.Errorf("somebody else's is removed: %v", err)
	}
	if err := second(d.w.SaveLink(t.Context(), bob.who, api.SaveLink{Ref: q.Ref, ConnectionID: bob.conn, ProjectID: "p1"})); api.CodeOf(err) != api.Conflict {
		t.Errorf("somebody else's is saved: %v", err)
	}
	if err := d.w.RemoveLink(t.Context(), bob.who, api.LinkRef{Ref: api.Ref{Owner: "ann", Repo: "api"}, LinkID: bob.conn}); api.CodeOf(err) != api.NotFound {
		t.Errorf("what is no link: %v", err)
	}
}
