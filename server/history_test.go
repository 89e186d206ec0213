package server_test

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"coffer/server/api"
	"coffer/server/client"
	"coffer/server/servertest"
)

// past is what an environment held at an instant.
func past(t *testing.T, c *client.Client, environment string, at time.Time) (map[string]string, *api.Pulled) {
	t.Helper()
	got, err := c.Pull(t.Context(), api.PullSecrets{Repo: repo, Environment: environment, Format: api.FormatJSON, At: at.Format(time.RFC3339Nano)})
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string]string)
	for k, v := range got.Secrets {
		all[k] = string(v)
	}
	return all, got
}

// secretID finds the id of an active secret.
func secretID(t *testing.T, c *client.Client, key string) string {
	t.Helper()
	all, err := client.Drain(func(p api.Page) (*api.List[api.SecretMeta], error) {
		return c.Secrets(context.Background(), repo, "", p)
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		if s.Key == key {
			return s.ID
		}
	}
	t.Fatalf("no secret %s", key)
	return ""
}

func ref(id string) api.SecretRef {
	return api.SecretRef{Ref: api.Ref{Owner: "ann", Repo: "api"}, SecretID: id}
}

// TestThePastIsWhatItWas changes an environment in every way there is, looks
// after each step, and then asks for each of those instants again.
func TestThePastIsWhatItWas(t *testing.T) {
	in := servertest.New(t)
	ann := in.User("ann")
	in.Vault(ann, repo)
	environment := "production"
	renamed := func(from, to string) func(map[string]string) map[string]string {
		return func(m map[string]string) map[string]string {
			if v, ok := m[from]; ok {
				m = maps.Clone(m)
				delete(m, from)
				m[to] = v
			}
			return m
		}
	}
	value := api.NewSecret("patched")
	newName := "RENAMED"
	var trashedID string
	type moment struct {
		at   time.Time
		held map[string]string
	}
	var moments []moment
	now := func(m map[string]string) map[string]string { return m }
	for _, step := range []struct {
		name string
		do   func() error
		then func(map[string]string) map[string]string // what the past is called from now on
	}{
		{"push", func() error {
			in.Push(ann, repo, environment, map[string]string{"A": "1", "B": "1", "C": "1", "OLD": "x"})
			return nil
		}, now},
		{"update", func() error {
			in.Push(ann, repo, environment, map[string]string{"A": "2", "B": "1", "C": "1", "OLD": "x"})
			return nil
		}, now},
		{"patch", func() error {
			_, err := ann.PatchSecret(t.Context(), api.PatchSecret{SecretRef: ref(secretID(t, ann, "B")), Value: &value})
			return err
		}, now},
		{"delete", func() error {
			trashedID = secretID(t, ann, "C")
			return ann.DeleteSecret(t.Context(), repo, trashedID)
		}, now},
		{"restore", func() error { _, err := ann.RestoreSecret(t.Context(), repo, trashedID); return err }, now},
		{"delete again", func() error { return ann.DeleteSecret(t.Context(), repo, trashedID) }, now},
		{"rename", func() error {
			_, err := ann.PatchSecret(t.Context(), api.PatchSecret{SecretRef: ref(secretID(t, ann, "OLD")), Name: &newName})
			return err
		}, renamed("OLD", newName)},
		{"rename the environment", func() error {
			_, err := ann.RenameEnvironment(t.Context(), repo, environment, "live")
			environment = "live"
			return err
		}, now},
		{"push nothing", func() error { in.Push(ann, repo, environment, nil); return nil }, now},
		{"push again", func() error {
			in.Push(ann, repo, environment, map[string]string{"Z": "last"})
			return nil
		}, now},
	} {
		time.Sleep(3 * time.Millisecond)
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		for i := range moments {
			moments[i].held = step.then(moments[i].held)
		}
		time.Sleep(3 * time.Millisecond)
		moments = append(moments, moment{time.Now(), in.Pull(ann, repo, environment)})
	}
	for i, m := range moments {
		got, answer := past(t, ann, environment, m.at)
		if diff := cmp.Diff(m.held, got); diff != "" || answer.Incomplete {
			t.Errorf("moment %d (incomplete: %v): %s", i, answer.Incomplete, diff)
		}
	}
	if got, _ := past(t, ann, environment, moments[0].at.Add(-time.Hour)); len(got) != 0 {
		t.Errorf("an hour before there was nothing, not %v", got)
	}
	if err := ann.DestroySecret(t.Context(), repo, trashedID); err != nil {
		t.Fatal(err)
	}
	if _, answer := past(t, ann, environment, moments[0].at); !answer.Incomplete {
		t.Error("a secret that was removed for good is missing, and nothing says so")
	}
	if _, answer := past(t, ann, environment, moments[len(moments)-1].at); answer.Incomplete {
		t.Error("what was removed before is not missed afterwards")
	}
}

func TestThePastIsAskedForByRevisionToo(t *testing.T) {
	in := servertest.New(t)
	ann := in.User("ann")
	in.Vault(ann, repo)
	for _, v := range []string{"1", "2", "3"} {
		in.Push(ann, repo, "production", map[string]string{"A": v})
	}
	for revision, want := range map[int]string{0: "", 1: "1", 2: "2", 3: "3"} {
		got, err := ann.Pull(t.Context(), api.PullSecrets{Repo: repo, Environment: "production", Format: api.FormatJSON, Revision: &revision})
		if err != nil {
			t.Fatal(err)
		}
		if string(got.Secrets["A"]) != want || got.Revision != uint64(revision) {
			t.Errorf("revision %d holds %q, want %q", got.Revision, string(got.Secrets["A"]), want)
		}
	}
	tooFar := 4
	_, err := ann.Pull(t.Context(), api.PullSecrets{Repo: repo, Environment: "production", Revision: &tooFar})
	if !errors.Is(err, &api.Error{Code: api.Invalid}) {
		t.Errorf("a revision that is not there yet: %v", err)
	}
}

func TestAPushOntoWhatSomebodyElseChangedIsRefused(t *testing.T) {
	in := servertest.New(t)
	ann := in.User("ann")
	in.Vault(ann, repo)
	base := int(in.Push(ann, repo, "production", map[string]string{"A": "1", "B": "1"}).Revision)
	in.Push(ann, repo, "production", map[string]string{"A": "2", "B": "1", "C": "1"})
	in.Push(ann, repo, "production", map[string]string{"A": "2", "C": "1"})
	push := func(base int) error {
		_, err := ann.Push(t.Context(), api.PushSecrets{RepoFullName: repo, Environment: "production",
			Secrets: servertest.Secrets(map[string]string{"A": "mine"}), Mode: new(api.ModeMerge), BaseRevision: &base})
		return err
	}
	e, ok := errors.AsType[*api.Error](push(base))
	if !ok || e.Code != api.Conflict {
		t.Fatalf("got %v", e)
	}
	want := map[string]any{"currentRevision": float64(3), "conflictKeys": []any{"A", "B", "C"}}
	if diff := cmp.Diff(want, e.Extra); diff != "" {
		t.Error(diff)
	}
	if got := in.Pull(ann, repo, "production"); got["A"] != "2" {
		t.Errorf("the refused push wrote %v", got)
	}
	if err := push(3); err != nil {
		t.Errorf("from the newest revision: %v", err)
	}
}

func TestADryRunSaysWhatAPushWouldDoAndDoesNothing(t *testing.T) {
	in := servertest.New(t)
	ann := in.User("ann")
	in.Vault(ann, repo)
	held := map[string]string{"A": "1", "B": "1", "C": "1"}
	in.Push(ann, repo, "production", held)
	next := api.PushSecrets{RepoFullName: repo, Environment: "production", Mode: new(api.ModeReplace),
		Secrets: servertest.Secrets(map[string]string{"A": "1", "B": "2", "D": "1"}), DryRun: true}
	got, err := ann.Push(t.Context(), next)
	if err != nil {
		t.Fatal(err)
	}
	want := &api.PushChanges{Created: []string{"D"}, Updated: []string{"B"}, Deleted: []string{"C"}}
	if diff := cmp.Diff(want, got.Changes); diff != "" || !got.DryRun || got.Revision != 1 {
		t.Errorf("%+v %s", got, diff)
	}
	if diff := cmp.Diff(held, in.Pull(ann, repo, "production")); diff != "" {
		t.Error(diff)
	}
	next.DryRun = false
	done, err := ann.Push(t.Context(), next)
	if err != nil || done.Stats != got.Stats {
		t.Errorf("the run did %+v, the dry run said %+v (%v)", done.Stats, got.Stats, err)
	}
}

func TestAnUnchangedPullCostsNothing(t *testing.T) {
	in := servertest.New(t)
	ann := in.User("ann")
	in.Vault(ann, repo)
	in.Push(ann, repo, "production", map[string]string{"A": "1"})
	get := func(query, ifNoneMatch string) (*http.Response, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, in.URL+"/v1/secrets/pull?repo="+repo+"&environment=production"+query, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+ann.Token)
		if ifNoneMatch != "" {
			r.Header.Set("If-None-Match", ifNoneMatch)
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res, string(body)
	}
	first, _ := get("", "")
	tag := first.Header.Get("ETag")
	if len(tag) < 10 || tag[0] != '"' {
		t.Fatalf("tag %q", tag)
	}
	for _, match := range []string{tag, "W/" + tag, `"other", ` + tag, "*"} {
		res, body := get("", match)
		if res.StatusCode != http.StatusNotModified || body != "" || res.Header.Get("ETag") != tag {
			t.Errorf("If-None-Match %s: %d %q", match, res.StatusCode, body)
		}
	}
	other, _ := get("&format=json", tag)
	if other.StatusCode != http.StatusOK || other.Header.Get("ETag") == tag {
		t.Error("another form of the answer has the same tag")
	}
	in.Push(ann, repo, "production", map[string]string{"A": "2"})
	if res, _ := get("", tag); res.StatusCode != http.StatusOK {
		t.Errorf("after a change: %d", res.StatusCode)
	}
	log, err := ann.Activity(t.Context(), api.Page{})
	if err != nil {
		t.Fatal(err)
	}
	unchanged := slices.DeleteFunc(log.Items, func(a api.Activity) bool { return a.Metadata["notModified"] != true })
	if len(unchanged) != 4 {
		t.Errorf("%d of 4 answers without a body are on record", len(unchanged))
	}
}

func TestUnchangedPullsNeverExhaustTheBucket(t *testing.T) {
	in := servertest.New(t, servertest.Limited)
	ann := in.User("ann")
	in.Vault(ann, repo)
	in.Push(ann, repo, "production", map[string]string{"A": "1"})
	tag, left := "", ""
	for range 40 {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, in.URL+"/v1/secrets/pull?repo="+repo+"&environment=production", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+ann.Token)
		r.Header.Set("If-None-Match", tag)
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if now := res.Header.Get("X-RateLimit-Remaining"); tag != "" && (res.StatusCode != http.StatusNotModified || now != left) {
			t.Fatalf("%d, %s left of %s", res.StatusCode, now, left)
		}
		tag, left = res.Header.Get("ETag"), res.Header.Get("X-RateLimit-Remaining")
	}
}

// TestRestoringWhatIsCurrentKeepsThePast: such a version comes without a
// revision, and must not hide the value when retention takes the one before it.
func TestRestoringWhatIsCurrentKeepsThePast(t *testing.T) {
	var c clock
	in := servertest.New(t, c.option, versionsFor(24*time.Hour))
	ann := in.User("ann")
	in.Vault(ann, repo)
	in.Push(ann, repo, "production", map[string]string{"A": "1"})
	id := secretID(t, ann, "A")
	versions, err := ann.Versions(t.Context(), repo, id)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ann.RestoreVersion(t.Context(), repo, id, versions[0].ID); err != nil {
		t.Fatal(err)
	}
	c.turn(48 * time.Hour)
	if j, err := in.Operator.RunJob(t.Context(), "versions"); err != nil || j.Removed != 1 {
		t.Fatalf("%+v %v", j, err)
	}
	now := 1
	got, err := ann.Pull(t.Context(), api.PullSecrets{Repo: repo, Environment: "production", Format: api.FormatJSON, Revision: &now})
	if err != nil || string(got.Secrets["A"]) != "1" || got.Incomplete {
		t.Errorf("%d values, incomplete %v, %v", len(got.Secrets), got.Incomplete, err)
	}
}
