package server_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"coffer/server/api"
	"coffer/server/client"
	"coffer/server/servertest"
)

// The history of one environment as one place in memory would have it: keys
// P0, P1, … are pushed, keys D0, D1, … are patched, trashed and restored by id.
const linearKeys = 4

type held struct {
	revision uint64
	pushed   [linearKeys]string
	direct   [linearKeys]string
	trashed  [linearKeys]bool
}

func (h held) values() map[string]string {
	all := make(map[string]string)
	for i := range linearKeys {
		if h.pushed[i] != "" {
			all[fmt.Sprint("P", i)] = h.pushed[i]
		}
		if !h.trashed[i] {
			all[fmt.Sprint("D", i)] = h.direct[i]
		}
	}
	return all
}

type action struct {
	kind  string // pull, push, patch, trash or restore
	key   int
	value string
}

type outcome struct {
	revision uint64 // of push and pull by their answers, of others by the log
	values   map[string]string
	missing  bool // there was no such secret where it was looked for
}

// step says whether an environment that holds h may answer do with got, and what
// it holds afterwards.
func step(h held, do action, got outcome) (bool, held) {
	next := h
	switch do.kind {
	case "pull":
		return got.revision == h.revision && maps.Equal(got.values, h.values()), h
	case "push":
		next.pushed[do.key] = do.value
		if next != h {
			next.revision++
		}
		return got.revision == next.revision, next
	case "patch":
		if got.missing || h.trashed[do.key] {
			return got.missing == h.trashed[do.key], h
		}
		next.direct[do.key] = do.value
	case "trash":
		if got.missing || h.trashed[do.key] {
			return got.missing == h.trashed[do.key], h
		}
		next.trashed[do.key] = true
	case "restore":
		if got.missing || !h.trashed[do.key] {
			return got.missing == !h.trashed[do.key], h
		}
		next.trashed[do.key] = false
	}
	if next != h {
		next.revision++
	}
	return got.revision == next.revision, next
}

// perform does an action over the wire.
func perform(c *client.Client, ids []string, do action) (got outcome, err error) {
	ctx := context.Background()
	switch do.kind {
	case "pull":
		var p *api.Pulled
		if p, err = c.Pull(ctx, api.PullSecrets{Repo: repo, Environment: "production", Format: api.FormatJSON}); err == nil {
			got.revision, got.values = p.Revision, make(map[string]string)
			for k, v := range p.Secrets {
				got.values[k] = string(v)
			}
		}
	case "push":
		var p *api.Pushed
		p, err = c.Push(ctx, api.PushSecrets{RepoFullName: repo, Environment: "production", Mode: new(api.ModeMerge),
			Secrets: servertest.Secrets(map[string]string{fmt.Sprint("P", do.key): do.value})})
		if err == nil {
			got.revision = p.Revision
		}
	case "patch":
		value := api.NewSecret(do.value)
		_, err = c.PatchSecret(ctx, api.PatchSecret{SecretRef: ref(ids[do.key]), Value: &value})
	case "trash":
		err = c.DeleteSecret(ctx, repo, ids[do.key])
	case "restore":
		_, err = c.RestoreSecret(ctx, repo, ids[do.key])
	}
	if errors.Is(err, &api.Error{Code: api.NotFound}) {
		return outcome{missing: true}, nil
	}
	return got, err
}

// turn is one thing that a worker did.
type turn struct {
	porcupine.Operation
	do  action
	got outcome
}

// TestOneEnvironmentIsLikeOnePlaceInMemory lets 32 writers and 8 readers loose
// on one environment, and has a checker look for an order in which each answer
// is right.
func TestOneEnvironmentIsLikeOnePlaceInMemory(t *testing.T) {
	in := servertest.New(t, servertest.Plain)
	ann := in.User("ann")
	in.Vault(ann, repo)
	start := held{revision: linearKeys}
	var ids []string
	for i := range linearKeys {
		s, err := ann.SetSecret(t.Context(), api.SetSecret{Ref: ref("").Ref, Key: fmt.Sprint("D", i), Value: api.NewSecret("0"), Environment: "production"})
		if err != nil {
			t.Fatal(err)
		}
		ids, start.direct[i] = append(ids, s.ID), "0"
	}
	workers := make(map[string][]*turn) // by the id of the worker's key
	began := time.Now()
	var wg sync.WaitGroup
	for worker := range 40 {
		kinds := []string{"push", "push", "patch", "trash", "restore"}
		if worker >= 32 {
			kinds = []string{"pull"}
		}
		c := in.Key("ann", "live", servertest.AllScopes...)
		keys, err := c.APIKeys(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		turns := make([]*turn, 12)
		workers[keys[0].ID] = turns
		wg.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(worker)))
			for n := range turns {
				do := action{kinds[random.IntN(len(kinds))], random.IntN(linearKeys), fmt.Sprint(worker, ".", n)}
				called := time.Since(began)
				got, err := perform(c, ids, do)
				if err != nil {
					t.Errorf("%s: %v", do.kind, err)
				}
				turns[n] = &turn{porcupine.Operation{ClientId: worker, Call: int64(called), Return: int64(time.Since(began))}, do, got}
			}
		})
	}
	wg.Wait()
	learnRevisions(t, ann, start.revision, workers)
	var history []porcupine.Operation
	for _, turns := range workers {
		for _, turn := range turns {
			turn.Input, turn.Output = turn.do, turn.got
			history = append(history, turn.Operation)
		}
	}
	model := porcupine.Model{
		Init: func() any { return start },
		Step: func(state, input, output any) (bool, any) {
			return step(state.(held), input.(action), output.(outcome))
		},
	}
	if result := porcupine.CheckOperationsTimeout(model, history, time.Minute); result != porcupine.Ok {
		t.Errorf("no order explains the %d answers: %s", len(history), result)
	}
}

// learnRevisions gives each change by id, whose answer does not tell it, the
// revision that the activity log puts it at. Without that the checker would have
// more to try than it ever could.
func learnRevisions(t *testing.T, c *client.Client, revision uint64, workers map[string][]*turn) {
	t.Helper()
	log, err := client.Drain(func(p api.Page) (*api.List[api.Activity], error) {
		return c.VaultActivity(context.Background(), api.ListVaultActivity{PageRef: api.PageRef{Ref: ref("").Ref, Page: p}})
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(log)
	next := make(map[string]int)
	for _, a := range log {
		key, _ := a.Metadata["apiKeyId"].(string)
		turns, ours := workers[key]
		if !ours {
			continue
		}
		for next[key] < len(turns) && turns[next[key]].got.missing {
			next[key]++ // what found nothing changed nothing and is not on record
		}
		turn := turns[next[key]]
		next[key]++
		switch a.Action {
		case "secrets_pushed":
			revision = turn.got.revision
		case "secret_updated", "secret_trashed", "secret_restored":
			revision++
			turn.got.revision = revision
		}
	}
}
