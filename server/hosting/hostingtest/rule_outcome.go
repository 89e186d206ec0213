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

// job is a run of some size that writes in every way, or deletes.
type job struct {
	name string
	run  func(ctx context.Context, s *scene) (*told, error)
	here map[string]string // what it leads to
}

// jobs sets a place up anew, and says what can be run there: the keys of every
// round are others.
func (s *scene) jobs(ctx context.Context, round string) ([]job, map[string]string, error) {
	before := sum(s.fill("OLD"+round, 3), s.fill("GONE"+round, 3))
	s.put(s.Here, before)
	there := map[string]string{}
	if s.Share != nil {
		there = s.fill("SHARED"+round, 2)
		for key, value := range there {
			s.Share(key, value)
		}
		maps.Copy(before, there)
	}
	listed, err := s.list(ctx, s.here)
	if err != nil {
		return nil, nil, err
	}
	values := sum(s.fill("NEW"+round, 3), s.fill("OLD"+round, 3))
	var gone []hosting.Variable
	left := maps.Clone(before)
	for key := range s.fill("GONE"+round, 3) {
		gone = append(gone, listed[key])
		delete(left, key)
	}
	if s.Share != nil {
		key := "SHARED" + round
		values[key+"_000"] = s.value()
		gone = append(gone, listed[key+"_001"])
		delete(left, key+"_001")
	}
	all := []job{
		{"writing", func(ctx context.Context, s *scene) (*told, error) { return s.run(ctx, s.here, writes(values, listed)) }, sum(left, values)},
		{"deleting", func(ctx context.Context, s *scene) (*told, error) { return s.drop(ctx, s.here, gone) }, nil},
	}
	all[0].here = sum(before, values)
	all[1].here = sum(left, values)
	return all, there, nil
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

// eachWrite plays a fault at each request that changes something, in turn, in
// runs of every kind, and has judge look at how the run ended. Afterwards the
// same is run again in good health, and must end right.
func (s *scene) eachWrite(ctx context.Context, fault standin.Fault, judge func(o *told, err error, j job, before map[string]string) error) error {
	var p problems
	allThere := map[string]string{}
	for kind := range 2 {
		for n := 1; ; n++ {
			round := fmt.Sprintf("%c%d", 'A'+kind, n)
			jobs, there, err := s.jobs(ctx, round)
			if err != nil {
				return err
			}
			maps.Copy(allThere, there)
			if kind == 1 {
				_, err := jobs[0].run(ctx, s)
				p = append(p, err)
			}
			j, before, calls := jobs[kind], s.Held(s.Here), s.wrote()
			s.Fake.Break("", s.on(true, nth(n, fault)))
			o, err := j.run(ctx, s)
			s.Fake.Heal()
			what := fmt.Sprintf("%s, at change %d", j.name, n)
			p = append(p, because(what, judge(o, err, j, before)), because(what+", elsewhere", s.holds(s.There, allThere)))
			if s.wrote()-calls < n { // the fault was not met: that was a run in good health
				break
			}
			p = append(p, because(what+", run again", s.mend(ctx, j, kind == 1)))
			if n > 20 || len(p.errs()) > 3 {
				break
			}
		}
		p = append(p, s.clear(ctx))
		allThere = map[string]string{}
	}
	return p.err()
}

// mend does what is left of a job.
func (s *scene) mend(ctx context.Context, j job, deleting bool) error {
	listed, err := s.list(ctx, s.here)
	if err != nil {
		return err
	}
	if held := s.Held(s.Here); !deleting {
		left := maps.Clone(j.here)
		maps.DeleteFunc(left, func(key, value string) bool { v, ok := held[key]; return ok && v == value })
		_, err = s.write(ctx, s.here, left)
	} else {
		var all []hosting.Variable
		for key, v := range listed {
			if _, stays := j.here[key]; !stays {
				all = append(all, v)
			}
		}
		_, err = s.drop(ctx, s.here, all)
	}
	held := s.Held(s.Here)
	p := problems{err}
	for key, value := range j.here {
		if held[key] != value {
			p.add("%s does not hold what it should", key)
		}
	}
	return p.err()
}

// clear has somebody else take everything away.
func (s *scene) clear(context.Context) error {
	for _, at := range []string{s.Here, s.There} {
		for key := range s.Held(at) {
			s.Remove(at, key)
		}
	}
	return problems{s.holds(s.Here, nil), s.holds(s.There, nil)}.err()
}

func (p problems) errs() []error {
	return slices.DeleteFunc(slices.Clone(p), func(err error) bool { return err == nil })
}

// checkFailedCall has each changing request fail with nothing done.
func checkFailedCall(ctx context.Context, h *Host) error {
	s, err := h.scene(ctx)
	if err != nil {
		return err
	}
	return s.eachWrite(ctx, standin.Status(http.StatusInternalServerError), func(o *told, err error, j job, before map[string]string) error {
		p := problems{s.truth(o, j.name == "deleting", true, j.here, before)}
		if u, ok := errors.AsType[*hosting.Unavailable](err); err != nil && (!ok || u.Limited) {
			p.add("the run ended with %w", err)
		}
		return p.err()
	})
}
