package warden_test

import (
	"fmt"
	"testing"
	"time"

	"coffer/server/api"
	"coffer/server/forge"
)

func TestPollingFindsWhatNobodyTold(t *testing.T) {
	h := newHosted(t)
	h.vault()
	h.set(func() { h.service, h.repo.Name = true, "new" })
	must(t, h.w.FollowRepositories(t.Context()))
	if n := h.times("by id "); n != 0 {
		t.Errorf("%d questions about a repository that was just seen", n)
	}
	h.sleep(25 * time.Hour)
	must(t, h.w.FollowRepositories(t.Context()))
	must(t, h.w.FollowRepositories(t.Context()))
	if n := h.times("by id "); n != 1 {
		t.Errorf("%d questions", n)
	}
	before := h.times("repository")
	if v, _ := h.look(h.caller(pat), "acme/new"); v.ID == "" || h.times("repository") != before {
		t.Error("the new name is not on record")
	}
}

// vaults makes vaults of the repositories acme/r1 to acme/rN, with the same numbers.
func (h *hosted) vaults(n int) {
	h.t.Helper()
	for i := range n {
		h.set(func() { h.repo.ID, h.repo.Name = fmt.Sprint(i+1), fmt.Sprintf("r%d", i+1) })
		must(h.t, second(h.w.CreateVault(h.t.Context(), h.caller(pat), api.CreateVault{RepoFullName: h.repo.FullName()})))
	}
}

func TestOneRepositoryThatFailsKeepsNoOtherFromBeingFollowed(t *testing.T) {
	for name, c := range map[string]struct {
		says  error
		fails bool
	}{
		"no answer": {&forge.Unavailable{Err: errHangs}, true},
		"refused":   {forge.ErrRefused, false},
		"hidden":    {forge.ErrNotFound, false},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHosted(t)
			h.vaults(2)
			h.sleep(25 * time.Hour)
			h.set(func() { h.service, h.repo.Name, h.broken["1"] = true, "new", c.says })
			if err := h.w.FollowRepositories(t.Context()); (err != nil) != c.fails {
				t.Errorf("it says %v", err)
			}
			before := h.times("repository")
			if v, _ := h.look(h.caller(pat), "acme/new"); v.ID == "" || h.times("repository") != before {
				t.Error("the other one's new name is not on record")
			}
		})
	}
}

func TestAHostThatIsDownIsLeftAlone(t *testing.T) {
	h := newHosted(t)
	h.vaults(6)
	h.sleep(25 * time.Hour)
	h.set(func() { h.down = &forge.Unavailable{Err: errHangs} })
	if err := h.w.FollowRepositories(t.Context()); api.CodeOf(err) != api.Unavailable {
		t.Errorf("it says %v", err)
	}
	if n := h.times("by id"); n != 3 {
		t.Errorf("%d questions", n)
	}
}

// TestTheServerLooksWithItsOwnEyes: whoever made a vault may have left since.
func TestTheServerLooksWithItsOwnEyes(t *testing.T) {
	h := newHosted(t)
	h.vault()
	h.sleep(25 * time.Hour)
	h.set(func() { h.service, h.blind, h.repo.Name = true, "7", "new" })
	must(t, h.w.FollowRepositories(t.Context()))
	before := h.times("repository")
	if v, _ := h.look(h.caller(pat), "acme/new"); v.ID == "" || h.times("repository") != before {
		t.Error("the new name is not on record")
	}
}
