package server_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"coffer/server/api"
	"coffer/server/servertest"
)

const repo = "ann/api"

func TestWhatWasPushedIsPulled(t *testing.T) {
	in := servertest.New(t)
	ann := in.User("ann")
	in.Vault(ann, repo)
	want := map[string]string{"A": "1", "EMPTY": "", "PEM": "-----BEGIN K-----\nMIIB/ag==\n-----END K-----\n", "Q": `it's "a" $b \n`}
	done := in.Push(ann, repo, "production", want)
	if diff := cmp.Diff(api.PushStats{Created: 4}, done.Stats); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want, in.Pull(ann, repo, "production")); diff != "" {
		t.Error(diff)
	}
	again := in.Push(ann, repo, "production", want)
	if diff := cmp.Diff(api.PushStats{Unchanged: 4}, again.Stats); diff != "" {
		t.Error(diff)
	}
	in.Restart()
	ann.URL = in.URL
	if diff := cmp.Diff(want, in.Pull(ann, repo, "production")); diff != "" {
		t.Error(diff)
	}
}

func TestAStrangerFindsNothing(t *testing.T) {
	in := servertest.New(t)
	ann, eve := in.User("ann"), in.User("eve")
	in.Vault(ann, repo)
	_, err := eve.Vault(t.Context(), repo)
	if !errors.Is(err, &api.Error{Code: api.NotFound}) {
		t.Errorf("got %v, want not found", err)
	}
}

// TestAFullPushAgainWritesOnlyItsRecord pushes as much as one request holds.
func TestAFullPushAgainWritesOnlyItsRecord(t *testing.T) {
	in := servertest.New(t, servertest.Plain)
	ann := in.User("ann")
	in.Vault(ann, repo)
	values := make(map[string]string)
	for i := range api.MaxSecretsPerPush {
		values[fmt.Sprintf("KEY_%04d", i)] = strings.Repeat("x", 900)
	}
	first := in.Push(ann, repo, "production", values)
	again := in.Push(ann, repo, "production", values)
	want := api.PushStats{Unchanged: api.MaxSecretsPerPush}
	if first.Stats.Created != api.MaxSecretsPerPush || again.Stats != want || again.Revision != first.Revision {
		t.Errorf("first %+v, again %+v", first, again)
	}
	meta, err := ann.Secrets(t.Context(), repo, "production", api.Page{})
	if err != nil {
		t.Fatal(err)
	}
	versions, err := ann.Versions(t.Context(), repo, meta.Items[0].ID)
	if err != nil || len(versions) != 1 {
		t.Errorf("%d versions, %v", len(versions), err)
	}
}
