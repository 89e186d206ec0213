package warden

import (
	"context"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"coffer/server/api"
	"coffer/store"
)

// Outcomes that are counted.
const (
	outcomeOpened   = "opened"
	outcomeRefused  = "refused"
	outcomeTaken    = "taken"
	outcomeRepeated = "repeated"
	outcomeFailed   = "failed"
)

// Figures are counts since the start, and how things stand, for whoever watches the
// server. They say how much, and never whose.
type Figures struct {
	Unseals    map[string]uint64 // attempts, by outcome
	SignIns    map[string]uint64 // in a browser, by outcome
	Deliveries map[string]uint64 // of webhooks, by outcome
	Syncs      map[string]uint64 // ended, by status

	RoleHits, RoleMisses uint64 // roles that were known, and that had to be asked for

	Recorded uint64    // number of the newest record of the audit log
	Newest   time.Time // its time
	Stream   *StreamFigures
	Links    LinkFigures
	Waiting  int // webhooks whose effect is still to come, or is tried again
}

// StreamFigures is how the stream of the audit log stands.
type StreamFigures struct {
	Behind  uint64 // records that it did not hand on yet
	Failing bool
}

// LinkFigures is how syncs that run by themselves stand.
type LinkFigures struct{ Auto, Failing, Disabled int }

// tallies are the counts behind the figures.
type tallies struct {
	unseals, signIns, deliveries, syncs tally
	roleHits, roleMisses                atomic.Uint64
}

func newTallies() *tallies {
	return &tallies{
		unseals:    newTally(outcomeOpened, outcomeRefused),
		signIns:    newTally(outcomeOpened, outcomeRefused),
		deliveries: newTally(outcomeTaken, outcomeRepeated, outcomeRefused, outcomeFailed),
		syncs:      newTally(api.SyncSuccess, api.SyncPartial, api.SyncFailed),
	}
}

// tally counts by outcome. Each outcome there can be is in it from the start, so that
// whoever watches sees the first one happen.
type tally struct {
	mu *sync.Mutex
	of map[string]uint64
}

func newTally(outcomes ...string) tally {
	t := tally{new(sync.Mutex), make(map[string]uint64)}
	for _, o := range outcomes {
		t.of[o] = 0
	}
	return t
}

func (t tally) note(outcome string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.of[outcome]++
}

func (t tally) counts() map[string]uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.of)
}

// outcomeOf is the outcome of an attempt that ended with err.
func outcomeOf(err error) string {
	if err != nil {
		return outcomeRefused
	}
	return outcomeOpened
}

// Figures tells what was counted, and how things stand. With an error, counts are
// there, and how things stand may be missing.
func (w *Warden) Figures(ctx context.Context) (Figures, error) {
	f := Figures{
		Unseals: w.tallies.unseals.counts(), SignIns: w.tallies.signIns.counts(),
		Deliveries: w.tallies.deliveries.counts(), Syncs: w.tallies.syncs.counts(),
		RoleHits: w.tallies.roleHits.Load(), RoleMisses: w.tallies.roleMisses.Load(),
	}
	if w.State() == api.StateUninitialized {
		return f, nil
	}
	err := w.store.View(ctx, func(r store.Reader) error {
		end, err := r.LogEnd()
		if err != nil {
			return err
		}
		f.Recorded = end.Number
		at, err := r.NewestActivityAt()
		if err != nil {
			return err
		}
		f.Newest = at.Time()
		events, err := r.Events()
		if err != nil {
			return err
		}
		f.Waiting = len(events)
		f.Links, err = linkFigures(r)
		return err
	})
	if w.pump != nil {
		f.Stream = &StreamFigures{Failing: w.pump.stuck.Load()}
		if at := w.pump.sent.Load(); at > 0 && f.Recorded > at-1 {
			f.Stream.Behind = f.Recorded - (at - 1)
		}
	}
	return f, err
}

func linkFigures(r store.Reader) (f LinkFigures, err error) {
	all, err := r.AllSyncLinks()
	for _, l := range all {
		switch {
		case !l.Auto:
			continue
		case l.Disabled:
			f.Disabled++
		case l.Failures > 0:
			f.Failing++
		}
		f.Auto++
	}
	return f, err
}
