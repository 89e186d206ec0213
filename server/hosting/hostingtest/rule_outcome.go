package hostingtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"coffer/server/hosting"
	"coffer/server/standin"
)

var outcomeRules = []Rule{
	{"one refused key does not keep the others from being done", func(h *Host) bool { return h.Refused != "" }, checkRefused},
	{"an error of done's ends the run", nil, checkDoneEnds},
	{"a call that fails is told of truthfully, and a second run mends it", nil, checkFailedCall},
}

func checkRefused(ctx context.Context, h *Host) error {
	s, err := h.scene(ctx)
	if err != nil {
		return err
	}
	before := h.fill("OLD", 2)
	h.put(h.Here, before)
	good := sum(h.fill("A", 2), h.fill("OLD", 2), h.fill("Z", 2))
	o, err := s.try(ctx, s.here, sum(good, map[string]string{h.Refused: h.value()}))
	p := problems{err, o.allDone(good), h.holds(h.Here, good)}
	f, ok := errors.AsType[*hosting.Failure](o.outcomes[h.Refused].Err)
	if !ok || f.Code != h.RefusedCode {
		p.add("%s: error %w, want %s", h.Refused, orNone(o.outcomes[h.Refused].Err), h.RefusedCode)
	}
	return p.err()
}

var errStop = errors.New("stop")

func checkDoneEnds(ctx context.Context, h *Host) error {
	s, err := h.scene(ctx)
	if err != nil {
		return err
	}
	before := h.fill("OLD", 3)
	h.put(h.Here, before)
	listed, err := s.list(ctx, s.here)
	p := problems{err}
	told, calls := 0, 0
	stop := func(hosting.Outcome) error {
		if told++; told == 1 {
			calls = h.wrote()
		}
		return errStop
	}
	ended := func(what string, err error) {
		if !errors.Is(err, errStop) || told != 1 {
			p.add("%s: error %w after %d outcomes, want done's after one", what, orNone(err), told)
		}
		if n := h.wrote() - calls; n > 0 {
			p.add("%s: %d requests more changed something", what, n)
		}
		told = 0
	}
	ended("writing", s.p.Write(ctx, s.c, s.here, writes(sum(h.fill("NEW", 3), h.fill("OLD", 3)), listed), stop))
	ended("deleting", s.p.Delete(ctx, s.c, s.here, slices.Collect(maps.Values(listed)), stop))
	return p.err()
}

// job is a run that writes in every way, or deletes.
type job struct {
	name     string
	deleting bool
	run      func(context.Context) (*told, error)
	here     map[string]string // what it leads to, of its own round
}

// jobs sets a place up anew, with keys that no other round has, and says what can
// be run there: first to write, and then to delete. There is what the other place
// has of it.
func (s *scene) jobs(ctx context.Context, round string) (both [2]job, there map[string]string, err error) {
	before := sum(s.fill("OLD"+round, 3), s.fill("GONE"+round, 3))
	s.put(s.Here, before)
	values := sum(s.fill("NEW"+round, 3), s.fill("OLD"+round, 3))
	keys := slices.Sorted(maps.Keys(s.fill("GONE"+round, 3)))
	if s.Share != nil {
		there = s.fill("SHARED"+round, 2)
		for key, value := range there {
			s.Share(key, value)
		}
		maps.Copy(before, there)
		values["SHARED"+round+"_000"] = s.value()
		keys = append(keys, "SHARED"+round+"_001")
	}
	listed, err := s.list(ctx, s.here)
	if err != nil {
		return both, nil, err
	}
	written := sum(before, values)
	left := maps.Clone(written)
	var gone []hosting.Variable
	for _, key := range keys {
		gone = append(gone, listed[key])
		delete(left, key)
	}
	both[0] = job{"writing", false, func(ctx context.Context) (*told, error) { return s.run(ctx, s.here, writes(values, listed)) }, written}
	both[1] = job{"deleting", true, func(ctx context.Context) (*told, error) { return s.drop(ctx, s.here, gone) }, left}
	return both, there, nil
}

// truth wants the keys that were told of as done to be so, and, if exact, no
// others.
func (s *scene) truth(o *told, deleting, exact bool, want, before map[string]string) error {
	held := s.Held(s.Here)
	var p problems
	for key, out := range o.outcomes {
		value, there := held[key]
		done := deleting && !there || !deleting && there && value == want[key]
		if out.Err == nil && !done {
			p.add("%s was told of as done, and is not", key)
		}
		if exact && out.Err != nil && done {
			p.add("%s was told of as not done (%w), and is", key, out.Err)
		}
	}
	for key, value := range before { // what nobody was to change
		if _, ours := o.outcomes[key]; !ours && held[key] != value && held[key] != want[key] {
			p.add("%s is lost", key)
		}
	}
	return p.err()
}

// judge looks at how a run ended, given what was there before.
type judge func(o *told, err error, j job, before map[string]string) error

// eachWrite plays a fault at each request that changes something, in turn, in
// runs of either kind, and has a judge look at how the run ended. Afterwards the
// same is run again in good health, and must end right.
func (s *scene) eachWrite(ctx context.Context, fault standin.Fault, judge judge) error {
	var p problems
	for kind := range 2 {
		there := map[string]string{}
		for n := 1; n <= 20 && p.err() == nil; n++ {
			met, err := s.faultAt(ctx, kind, n, fault, judge, there)
			if p = append(p, err); !met {
				break
			}
		}
		p = append(p, s.clear())
	}
	return p.err()
}

// faultAt is one round, and reports whether the fault was met in it.
func (s *scene) faultAt(ctx context.Context, kind, n int, fault standin.Fault, judge judge, there map[string]string) (met bool, err error) {
	jobs, more, err := s.jobs(ctx, fmt.Sprintf("%c%d", 'A'+kind, n))
	if err != nil {
		return false, err
	}
	maps.Copy(there, more)
	if kind == 1 {
		if _, err := jobs[0].run(ctx); err != nil {
			return false, err
		}
	}
	j, before, calls := jobs[kind], s.Held(s.Here), s.wrote()
	s.Fake.Break("", s.on(true, nth(n, fault)))
	o, err := j.run(ctx)
	s.Fake.Heal()
	met = s.wrote()-calls >= n
	what := fmt.Sprintf("%s, at change %d", j.name, n)
	p := problems{because(what, judge(o, err, j, before)), because(what+", run again", s.mend(ctx, j, before))}
	return met, append(p, because(what+", elsewhere", s.holds(s.There, there))).err()
}

// mend does what is left of a job.
func (s *scene) mend(ctx context.Context, j job, before map[string]string) error {
	listed, err := s.list(ctx, s.here)
	if err != nil {
		return err
	}
	if j.deleting {
		var all []hosting.Variable
		for key, v := range listed {
			if _, stays := j.here[key]; !stays {
				all = append(all, v)
			}
		}
		_, err = s.drop(ctx, s.here, all)
		return problems{err, s.holds(s.Here, j.here)}.err()
	}
	held, left := s.Held(s.Here), maps.Clone(j.here)
	maps.DeleteFunc(left, func(key, value string) bool { v, ok := held[key]; return ok && v == value })
	_, err = s.write(ctx, s.here, left)
	return problems{err, s.holds(s.Here, sum(before, j.here))}.err()
}

// clear has somebody else take everything away.
func (s *scene) clear() error {
	for _, at := range []string{s.Here, s.There} {
		for key := range s.Held(at) {
			s.Remove(at, key)
		}
	}
	return problems{s.holds(s.Here, nil), s.holds(s.There, nil)}.err()
}

// checkFailedCall has each changing request fail with nothing done.
func checkFailedCall(ctx context.Context, h *Host) error {
	s, err := h.scene(ctx)
	if err != nil {
		return err
	}
	return s.eachWrite(ctx, standin.Status(http.StatusInternalServerError), func(o *told, err error, j job, before map[string]string) error {
		p := problems{s.truth(o, j.deleting, true, j.here, before)}
		if u, ok := errors.AsType[*hosting.Unavailable](err); err != nil && (!ok || u.Limited) {
			p.add("the run ended with %w", err)
		}
		return p.err()
	})
}
