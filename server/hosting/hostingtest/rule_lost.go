package hostingtest

import (
	"context"
	"errors"
	"maps"
	"slices"

	"coffer/server/hosting"
	"coffer/server/standin"
)

var lostRules = []Rule{
	{"a change whose answer was lost is done once, and told of as done", nil, checkCutAfter},
	{"a change that was lost on the way is done", nil, checkCutBefore},
	{"an answer that makes no sense is no success", nil, checkSenseless},
}

// succeeded wants a run to have gone well in spite of a fault.
func (s *scene) succeeded(o *told, err error, j job, before map[string]string) error {
	p := problems{err, s.truth(o, j.deleting, true, j.here, before)}
	for key, out := range o.outcomes {
		if out.Err != nil {
			p.add("%s was not done: %w", key, out.Err)
		}
	}
	return p.err()
}

func checkCutAfter(ctx context.Context, h *Host) error {
	s, err := h.scene(ctx)
	if err != nil {
		return err
	}
	return s.eachWrite(ctx, standin.CutOff, s.succeeded)
}

func checkCutBefore(ctx context.Context, h *Host) error {
	s, err := h.scene(ctx)
	if err != nil {
		return err
	}
	return s.eachWrite(ctx, drop, s.succeeded)
}

// checkSenseless has every change answered with something that is no answer of
// the provider's. Some were carried out all the same.
func checkSenseless(ctx context.Context, h *Host) error {
	s, err := h.scene(ctx)
	if err != nil {
		return err
	}
	var p problems
	for _, name := range slices.Sorted(maps.Keys(spoils)) {
		err := s.eachWrite(ctx, spoils[name], func(o *told, err error, j job, before map[string]string) error {
			p := problems{s.truth(o, j.deleting, false, j.here, before)}
			if _, ok := errors.AsType[*hosting.Unavailable](err); err != nil && !ok {
				p.add("the run ended with %w", err)
			}
			return p.err()
		})
		p = append(p, because(name, err))
	}
	return p.err()
}
