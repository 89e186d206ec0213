package browsertest

import (
	"strings"
	"testing"
)

// TestThreeCellsAreSavedAsOnePushEach of their two environments: each gets one new
// revision, and the activity one line.
func TestThreeCellsAreSavedAsOnePushEach(t *testing.T) {
	_, b := matrix(t)
	b.edits("DB_URL in development: differs, A", "DB_URL in development", "new-url")
	b.edits("TOKEN in development: differs, A", "TOKEN in development", "new-token")
	b.edits("LOG_LEVEL in production: set", "LOG_LEVEL in production", "warn")
	b.says("3 changes in 2 environments", true)
	b.click("Review")
	b.click("Show new values")
	for _, change := range []string{"DB_URL in development", "TOKEN in development", "LOG_LEVEL in production", "new-url", "new-token", "warn"} {
		b.says(change, true)
	}
	b.press("Save")
	b.wants("Secrets", "development: 0 created, 2 updated", "production: 0 created, 1 updated")
	if got := b.stored("production"); got != `{"DB_URL":"canary-production","LOG_LEVEL":"warn","TOKEN":"canary"}` {
		t.Errorf("production has %s", got)
	}
	b.press("History")
	b.press("development (2)")
	b.wants("History of development", "Changed: DB_URL, TOKEN")
	b.press("staging (1)")
	b.press("production (2)")
	b.wants("History of production", "Changed: LOG_LEVEL")
	b.open("/vaults/ann/api/activity")
	text := b.text()
	for _, line := range []string{"ann pushed to development: 0 created, 2 updated", "ann pushed to production: 0 created, 1 updated"} {
		if n := strings.Count(text, line); n != 1 {
			t.Errorf("the activity says %d times %q:\n%s", n, line, text)
		}
	}
}

// TestTwoWindowsChangeTheSameSecret: who saves first wins, and who comes second sees
// that, and leaves it.
func TestTwoWindowsChangeTheSameSecret(t *testing.T) {
	in, first := matrix(t)
	second := scripted(t, in.url)
	second.open("/vaults/ann/api")
	second.signIn("ann", password)
	second.wants("Secrets")
	for window, value := range map[*browser]string{first: "of the first", second: "of the second"} {
		window.edits("DB_URL in staging: differs, B", "DB_URL in staging", value)
		window.says("1 change in 1 environment", true)
	}
	first.press("Save")
	first.wants("Secrets", "Saved. staging: 0 created, 1 updated")
	second.click("Save")
	second.says("Somebody else changed staging meanwhile.", true)
	second.says("Leave theirs", true)
	if got := second.stored("staging"); got != `{"DB_URL":"of the first","LOG_LEVEL":"debug"}` {
		t.Errorf("staging has %s", got)
	}
	second.press("Save again") // what was chosen is theirs
	second.wants("Secrets", "Nothing was saved: what somebody else stored stays.")
	if got := second.stored("staging"); got != `{"DB_URL":"of the first","LOG_LEVEL":"debug"}` {
		t.Errorf("after theirs was left, staging has %s", got)
	}
}
