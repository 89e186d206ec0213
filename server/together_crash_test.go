package server_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"coffer/server"
	"coffer/server/api"
	"coffer/server/client"
)

// TestKillsWhileEverythingIsReplaced kills at any time, while many write, keys are
// replaced, the data file is written anew and vaults are erased, all at once.
func TestKillsWhileEverythingIsReplaced(t *testing.T) {
	rounds := 5
	if os.Getenv("COFFER_SLOW") != "" {
		rounds = 40
	}
	data := t.TempDir()
	token, writers := crashSetup(t, data)
	erased := 0
	for round := range rounds {
		c, op, _ := startRotating(t, data, "")
		ann := &client.Client{URL: c.url, Token: token}
		settled(t, op)
		proveLog(t, data)
		for i := range 3 {
			if _, err := ann.CreateVault(t.Context(), fmt.Sprintf("ann/r%dv%d", round, i)); err != nil {
				t.Fatal(err)
			}
		}
		var group sync.WaitGroup
		for _, w := range writers {
			w.check(t, ann)
			group.Go(func() { w.run(ann) })
		}
		for _, do := range []func() error{
			func() error { _, err := op.Rekey(t.Context(), api.Rekey{}); return err },
			func() error { _, err := op.Rotate(t.Context(), api.Rotate{All: true}); return err },
			func() error { _, err := op.Compact(t.Context()); return err },
		} {
			group.Go(func() {
				for {
					if err := do(); err != nil && api.CodeOf(err) != api.Conflict {
						return // it was killed
					}
				}
			})
		}
		for i := range 3 {
			group.Go(func() { _, _ = op.Erase(t.Context(), fmt.Sprintf("ann/r%dv%d", round, i)) })
		}
		time.Sleep(time.Duration(rand.IntN(250)) * time.Millisecond)
		c.kill()
		group.Wait()
		if _, err := server.Check(server.Config{Data: data}); err != nil {
			t.Fatal(err)
		}
		if t.Failed() {
			return
		}
	}
	c, op, _ := startRotating(t, data, "")
	settled(t, op)
	for range 500 {
		all, err := op.Erasures(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		open := 0
		for _, e := range all {
			if e.Receipt == nil {
				open++
			}
		}
		if erased = len(all); open == 0 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Logf("%d vaults were erased", erased)
	for _, w := range writers {
		w.check(t, &client.Client{URL: c.url, Token: token})
	}
	c.kill()
}
