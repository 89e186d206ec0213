package warden_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"coffer/server/api"
	"coffer/server/warden"
	"coffer/store/kv"
)

// TestAllThatReplacesGoesOnTogether replaces master key and data keys, writes the data
// file anew, erases vaults, and seals and unseals in between, all at the same time.
// Nothing that was acknowledged is lost, and everything comes to its end.
func TestAllThatReplacesGoesOnTogether(t *testing.T) {
	d := newDock(t)
	with := d.with
	d.with = func(c *warden.Config) {
		with(c)
		c.File = d.db.(kv.Rewriter)
	}
	must(t, d.w.Close())
	d.open(d.db)
	d.furnish()
	ctx, who, operator := t.Context(), d.ann(d.w), d.operator(d.w)
	const vaults = 24
	for i := range vaults {
		must(t, second(d.w.CreateVault(ctx, who, api.CreateVault{RepoFullName: fmt.Sprintf("ann/v%d", i)})))
		req := pushOf(map[string]string{"K": "v"})
		req.RepoFullName = fmt.Sprintf("ann/v%d", i)
		must(t, second(d.w.Push(ctx, who, req)))
	}
	var stop atomic.Bool
	var group sync.WaitGroup
	expected := func(what string, err error) {
		if e, ok := errors.AsType[*api.Error](err); err != nil && (!ok || e.Code != api.Conflict && e.Code != api.Sealed) {
			t.Errorf("%s: %v", what, err)
		}
	}
	last := make([]atomic.Int64, 3)
	for i := range last {
		group.Go(func() {
			for n := int64(1); !stop.Load(); n++ {
				req := pushOf(map[string]string{fmt.Sprintf("W%d", i): fmt.Sprint(n)})
				req.Mode = new(api.ModeMerge)
				err := second(d.w.Push(ctx, who, req))
				expected("push", err)
				if err == nil {
					last[i].Store(n)
				}
			}
		})
	}
	group.Go(func() {
		for !stop.Load() {
			_, err := d.w.Pull(ctx, who, api.PullSecrets{Repo: repo, Environment: "production", Format: api.FormatJSON})
			expected("pull", err)
		}
	})
	for what, do := range map[string]func() error{
		"rekey":  func() error { return second(d.w.Rekey(ctx, operator, api.Rekey{})) },
		"rotate": func() error { return second(d.w.Rotate(ctx, operator, api.Rotate{All: true})) },
		"rotate one": func() error {
			return second(d.w.Rotate(ctx, operator, api.Rotate{RepoFullName: repo}))
		},
		"compact": func() error { return second(d.w.Compact(ctx, operator, api.Empty{})) },
		"seal": func() error {
			time.Sleep(20 * time.Millisecond)
			return errors.Join(d.w.Seal(ctx, operator), d.w.Unseal(ctx, api.Unseal{}))
		},
	} {
		group.Go(func() {
			for !stop.Load() {
				expected(what, do())
				time.Sleep(3 * time.Millisecond)
			}
		})
	}
	for i := range vaults / 2 {
		erase := api.Erase{RepoFullName: fmt.Sprintf("ann/v%d", 2*i)}
		for {
			err := second(d.w.EraseVault(ctx, operator, erase))
			if api.CodeOf(err) == api.NotFound || err == nil {
				break
			}
			expected("erase", err)
		}
	}
	stop.Store(true)
	group.Wait()
	must(t, d.w.Unseal(ctx, api.Unseal{}))
	must(t, d.w.GoOnRotating(ctx))
	must(t, second(d.w.Compact(ctx, operator, api.Empty{})))

	if n := d.oldRows(); n != 0 {
		t.Errorf("%d rows are not sealed under the new key", n)
	}
	d.check()
	all, err := d.w.Erasures(ctx, operator, api.Empty{})
	must(t, err)
	if len(all.Erasures) != vaults/2 {
		t.Errorf("%d erasures", len(all.Erasures))
	}
	for _, e := range all.Erasures {
		if e.Receipt == nil {
			t.Errorf("%s has no receipt", e.RepoFullName)
			continue
		}
		must(t, second(warden.VerifyReceipt([]byte(*e.Receipt), "")))
	}
	must(t, d.w.Close())
	d.open(d.db)
	ours := d.ours()
	for i := range last {
		if got, want := ours[fmt.Sprintf("W%d", i)], fmt.Sprint(last[i].Load()); got != want {
			t.Errorf("writer %d: %s is there, %s was acknowledged", i, got, want)
		}
	}
	for i := range vaults / 2 {
		got, err := d.w.Pull(ctx, d.ann(d.w), api.PullSecrets{Repo: fmt.Sprintf("ann/v%d", 2*i+1), Environment: "production", Format: api.FormatJSON})
		if err != nil || got.Secrets["K"] != "v" {
			t.Errorf("vault %d: %v", i, err)
		}
	}
}
