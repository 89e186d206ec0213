package server_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"coffer/server"
	"coffer/server/api"
	"coffer/server/client"
	"coffer/server/servertest"
)

// TestEverybodyWorksWhileTheDataAreCompacted, and sealing in between harms nothing.
func TestEverybodyWorksWhileTheDataAreCompacted(t *testing.T) {
	in := servertest.New(t, servertest.Plain)
	ann := in.User("ann")
	in.Vault(ann, "ann/api")
	stop := make(chan bool)
	var wg sync.WaitGroup
	last := make([]int, 4)
	for i := range last {
		environment := fmt.Sprintf("load%d", i)
		must(t, second(ann.CreateEnvironment(t.Context(), "ann/api", environment, "")))
		wg.Go(func() {
			for n := 1; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				_, err := ann.Push(t.Context(), api.PushSecrets{RepoFullName: "ann/api", Environment: environment,
					Secrets: servertest.Secrets(map[string]string{"A": fmt.Sprint(n), "B": fmt.Sprint(n)}), Mode: new(api.ModeReplace)})
				if err != nil {
					t.Errorf("push: %v", err)
					return
				}
				last[i] = n
			}
		})
	}
	// Two at once share what comes after both asked.
	for range 5 {
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() {
				if done, err := in.Operator.Compact(t.Context()); err != nil || done.EndedAt == nil || done.Error != nil {
					t.Errorf("%+v, %v", done, err)
				}
			})
		}
		both.Wait()
	}
	close(stop)
	wg.Wait()
	for i, n := range last {
		want := fmt.Sprint(n)
		if got := in.Pull(ann, "ann/api", fmt.Sprintf("load%d", i)); got["A"] != want || got["B"] != want {
			t.Errorf("load%d holds %v, not %s", i, got, want)
		}
	}
	r, err := in.Operator.VerifyAudit(t.Context(), nil)
	if err != nil || !r.Intact || !r.Complete {
		t.Errorf("%+v, %v", r, err)
	}
	in.Stop()
	must(t, second(server.Check(server.Config{Data: in.Data})))
}

// TestAStopEndsACompaction within a moment, and leaves the data whole.
func TestAStopEndsACompaction(t *testing.T) {
	in := servertest.New(t, servertest.Plain)
	ann := in.User("ann")
	in.Vault(ann, "ann/api")
	for n := range 20 {
		in.Push(ann, "ann/api", "staging", map[string]string{"A": fmt.Sprint(n)})
	}
	asked := make(chan struct{})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for {
				_, err := in.Operator.Compact(t.Context())
				select {
				case asked <- struct{}{}:
				default:
				}
				if err != nil {
					return // the server stops
				}
			}
		})
	}
	<-asked
	begin := time.Now()
	in.Stop()
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("stopping took %v", took)
	}
	wg.Wait()
	must(t, second(server.Check(server.Config{Data: in.Data})))
	in.Restart()
	again := &client.Client{URL: in.URL, Token: ann.Token}
	if got := in.Pull(again, "ann/api", "staging"); got["A"] != "19" {
		t.Errorf("%v", got)
	}
}
