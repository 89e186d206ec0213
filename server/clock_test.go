package server_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"coffer/server/api"
	"coffer/server/servertest"
)

// TestAClockThatJumpsBackBreaksNothing changes an environment, sets the clock
// back by a day, and goes on.
func TestAClockThatJumpsBackBreaksNothing(t *testing.T) {
	var c clock
	in := servertest.New(t, c.option)
	ann := in.User("ann")
	in.Vault(ann, repo)
	in.Push(ann, repo, "production", map[string]string{"A": "1"})
	days := 1
	key, err := ann.CreateAPIKey(t.Context(), api.CreateAPIKey{Name: "short", Environment: "live", Scopes: []string{api.ReadSecrets}, ExpiresInDays: &days})
	if err != nil {
		t.Fatal(err)
	}
	c.turn(-24 * time.Hour)
	second := in.Push(ann, repo, "production", map[string]string{"A": "2"})
	third := in.Push(ann, repo, "production", map[string]string{"A": "3", "B": "1"})
	if second.Revision != 2 || third.Revision != 3 {
		t.Errorf("revisions %d and %d", second.Revision, third.Revision)
	}
	c.turn(24*time.Hour + time.Second)
	now := c.now().Add(-500 * time.Millisecond)
	got, _ := past(t, ann, "production", now)
	if diff := cmp.Diff(map[string]string{"A": "3", "B": "1"}, got); diff != "" {
		t.Errorf("the past after the jump: %s", diff)
	}
	log, err := ann.VaultActivity(t.Context(), api.ListVaultActivity{PageRef: api.PageRef{Ref: ref("").Ref}, Action: "secrets_pushed"})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []any{float64(3), float64(2), float64(1)} {
		if log.Items[i].Metadata["revision"] != want {
			t.Errorf("record %d is of revision %v", i, log.Items[i].Metadata["revision"])
		}
	}
	short := in.Client(string(key.Token))
	if _, err := short.Me(t.Context()); err != nil {
		t.Errorf("a key whose day is not over: %v", err)
	}
	c.turn(24 * time.Hour)
	if _, err := short.Me(t.Context()); api.CodeOf(err) != api.Unauthorized {
		t.Errorf("a key whose day is over: %v", err)
	}
	report, err := in.Operator.VerifyAudit(t.Context(), nil)
	if err != nil || !report.Intact || !report.Complete {
		t.Errorf("%+v %v", report, err)
	}
}

// TestAClockAYearAheadLosesNothing sets the clock ahead by a year, works with it, and
// sets it right again.
func TestAClockAYearAheadLosesNothing(t *testing.T) {
	const year = 365 * 24 * time.Hour
	var c clock
	in := servertest.New(t, c.option)
	ann := in.User("ann")
	session := in.SignIn("ann")
	in.Vault(ann, repo)
	in.Push(ann, repo, "production", map[string]string{"A": "1", "GONE": "1"})
	in.Push(ann, repo, "production", map[string]string{"A": "2"})
	c.turn(year)
	if _, err := session.Me(t.Context()); api.CodeOf(err) != api.Unauthorized {
		t.Errorf("a sign-in, a year later: %v", err)
	}
	in.Push(ann, repo, "production", map[string]string{"A": "3"})
	c.turn(-year)
	if _, err := session.Me(t.Context()); err != nil {
		t.Errorf("the sign-in, when the clock is right again: %v", err)
	}
	if got := in.Push(ann, repo, "production", map[string]string{"A": "4"}); got.Revision != 4 {
		t.Errorf("revision %d", got.Revision)
	}
	trash, err := ann.Trash(t.Context(), repo, api.Page{})
	if err != nil || len(trash.Items) != 1 {
		t.Fatalf("the trash holds %+v, %v", trash, err)
	}
	if _, err := ann.RestoreSecret(t.Context(), repo, trash.Items[0].ID); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(map[string]string{"A": "4", "GONE": "1"}, in.Pull(ann, repo, "production")); diff != "" {
		t.Error(diff)
	}
	all, err := in.Operator.Jobs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range all {
		if j.NextRunAt.After(c.now().Add(25 * time.Hour)) {
			t.Errorf("%s runs at %s", j.Name, j.NextRunAt)
		}
	}
	for _, d := range examined(t, in).Findings {
		if d.Area == "clock" && d.Level == api.DiagnosisProblem {
			t.Errorf("it is right: %+v", d)
		}
	}
	report, err := in.Operator.VerifyAudit(t.Context(), nil)
	if err != nil || !report.Intact || !report.Complete {
		t.Errorf("%+v %v", report, err)
	}
}
