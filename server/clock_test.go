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
