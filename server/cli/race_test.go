package cli

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"coffer/server/client"
	"coffer/server/servertest"
)

// meddler lets somebody else act once, right before a push is sent.
type meddler struct {
	act  func()
	done bool
}

func (m *meddler) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.URL.Path, "/secrets/push") && !m.done {
		m.done = true
		m.act()
	}
	return http.DefaultTransport.RoundTrip(r)
}

// raced is a vault that somebody changes between the look of a push and its
// sending, and what came of it.
type raced struct {
	*servertest.Instance
	ann    *client.Client
	stderr bytes.Buffer
}

const racedRepo = "ann/app"

func (r *raced) push(t *testing.T, file string, o pushOptions, act map[string]string) error {
	t.Helper()
	r.Instance = servertest.New(t)
	r.ann = r.User("ann")
	r.Vault(r.ann, racedRepo)
	r.Push(r.ann, racedRepo, "production", map[string]string{"A": "1", "B": "1"})
	o.place, o.memory = place{racedRepo, "production"}, &memory{}
	o.file = filepath.Join(t.TempDir(), ".env")
	if err := os.WriteFile(o.file, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	mine := *r.ann
	mine.Transport = &meddler{act: func() { r.Push(r.ann, racedRepo, "production", act) }}
	out := &console{in: strings.NewReader(""), out: &r.stderr, err: &r.stderr, yes: true}
	return runPush(t.Context(), o, &mine, out)
}

func (r *raced) holds(t *testing.T, want map[string]string) {
	t.Helper()
	if diff := cmp.Diff(want, r.Pull(r.ann, racedRepo, "production")); diff != "" {
		t.Errorf("%s\nsaid: %s", diff, r.stderr.String())
	}
}

func TestAKeyAddedAfterTheReviewIsNotTrashed(t *testing.T) {
	for _, force := range []bool{false, true} {
		var r raced
		err := r.push(t, "A=2\n", pushOptions{prune: true, force: force}, map[string]string{"A": "1", "B": "1", "NEW": "bob"})
		if exitCode(err) != exitConflict || !strings.Contains(err.Error(), "NEW") {
			t.Errorf("force %v: got %v", force, err)
		}
		r.holds(t, map[string]string{"A": "1", "B": "1", "NEW": "bob"})
	}
}

func TestAKeyAddedAfterTheReviewStaysWithKeepTheirs(t *testing.T) {
	var r raced
	err := r.push(t, "A=2\n", pushOptions{prune: true, keepTheirs: true}, map[string]string{"A": "1", "B": "1", "NEW": "bob"})
	if err != nil {
		t.Error(err)
	}
	r.holds(t, map[string]string{"A": "2", "NEW": "bob"})
}

func TestAMergeGoesAroundWhatSomebodyElsePushed(t *testing.T) {
	var r raced
	if err := r.push(t, "A=2\n", pushOptions{}, map[string]string{"A": "1", "B": "bob"}); err != nil {
		t.Error(err)
	}
	r.holds(t, map[string]string{"A": "2", "B": "bob"})
	if !strings.Contains(r.stderr.String(), "at the same moment. Looking again.") {
		t.Errorf("said: %s", r.stderr.String())
	}
}

func TestAMergeStopsWhereSomebodyElseWasFaster(t *testing.T) {
	var r raced
	err := r.push(t, "A=2\nB=1\n", pushOptions{}, map[string]string{"A": "bob", "B": "1"})
	if exitCode(err) != exitConflict {
		t.Errorf("got %v", err)
	}
	r.holds(t, map[string]string{"A": "bob", "B": "1"})
}

func TestAForcedPushTakesTheFile(t *testing.T) {
	var r raced
	if err := r.push(t, "A=2\n", pushOptions{force: true}, map[string]string{"A": "bob", "B": "1"}); err != nil {
		t.Error(err)
	}
	r.holds(t, map[string]string{"A": "2", "B": "1"})
}
