package server_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"coffer/server"
	"coffer/server/client"
	"coffer/server/servertest"
)

// TestAnErasureThatWasKilledIsFinishedByTheNextStart kills the server at random
// moments while it erases, over and over.
func TestAnErasureThatWasKilledIsFinishedByTheNextStart(t *testing.T) {
	rounds := 6
	if os.Getenv("COFFER_SLOW") != "" {
		rounds = 150
	}
	data := t.TempDir()
	token, _ := crashSetup(t, data)
	erased, cut := 0, 0
	for round := range rounds {
		repo := fmt.Sprintf("ann/old%d", round)
		c := startChild(t, data)
		op := dialOperator(t, data)
		ann := &client.Client{URL: c.url, Token: token}
		must(t, second(ann.CreateVault(t.Context(), repo)))
		values := map[string]string{}
		for n := range 200 {
			values[fmt.Sprintf("K%d", n)] = fmt.Sprint("a value of ", repo)
		}
		servertest.At(t, c.url, data).Push(ann, repo, "staging", values)
		answered := make(chan error, 1)
		go func() { answered <- second(op.Erase(t.Context(), repo)) }()
		time.Sleep(time.Duration(rand.IntN(40_000)) * time.Microsecond)
		c.kill()
		acked := <-answered == nil

		c = startChild(t, data)
		gone := wantFinished(t, data, c, token, repo)
		if acked && !gone {
			t.Errorf("round %d: the erasure was acknowledged, and the vault is there", round)
		}
		if gone {
			erased++
		}
		if gone && !acked {
			cut++
		}
		proveLog(t, data)
		c.kill()
		must(t, second(server.Check(server.Config{Data: data})))
	}
	t.Logf("%d of %d erased, %d of them finished by the next start", erased, rounds, cut)
}

func dialOperator(t *testing.T, data string) *client.Client {
	t.Helper()
	transport, err := server.DialOperator(data)
	must(t, err)
	return &client.Client{URL: "http://operator", Transport: transport}
}

// wantFinished wants a vault to be there whole, or to be erased with a receipt
// soon. It reports the latter.
func wantFinished(t *testing.T, data string, c *child, token, repo string) (gone bool) {
	t.Helper()
	ann := &client.Client{URL: c.url, Token: token}
	if _, err := ann.Vault(t.Context(), repo); err == nil {
		if n := len(servertest.At(t, c.url, data).Pull(ann, repo, "staging")); n != 200 {
			t.Errorf("%s has %d secrets", repo, n)
		}
		return false
	}
	op := dialOperator(t, data)
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		all, err := op.Erasures(t.Context())
		must(t, err)
		if len(all) > 0 && all[0].RepoFullName == repo && all[0].Receipt != nil {
			must(t, second(server.VerifyReceipt([]byte(*all[0].Receipt), "")))
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s has no receipt: %+v", repo, all)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(data, "*.rewrite")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	return true
}
