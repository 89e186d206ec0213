package hostingtest

import (
	"context"
	"maps"
	"slices"
)

var callRules = []Rule{
	{"many variables take the fewest calls", func(h *Host) bool { return h.Fewest != nil }, checkFewest},
}

// checkFewest writes, changes and deletes as many as a place may hold, and 500 at
// most.
func checkFewest(ctx context.Context, h *Host) error {
	s, err := h.scene(ctx)
	if err != nil {
		return err
	}
	n := 500
	if most := s.p.Describe().MaxKeys; most > 0 {
		n = min(n, most)
	}
	create, change, remove := h.Fewest(n)
	var p problems
	count := func(what string, want int, run func() error) {
		before := h.wrote()
		p = append(p, because(what, run()))
		if got := h.wrote() - before; got > want {
			p.add("%s %d variables took %d calls, want %d", what, n, got, want)
		}
	}
	values := h.fill("KEY", n)
	count("creating", create, func() error { _, err := s.write(ctx, s.here, values); return err })
	p = append(p, h.holds(h.Here, values))
	values = h.fill("KEY", n)
	count("changing", change, func() error { _, err := s.write(ctx, s.here, values); return err })
	p = append(p, h.holds(h.Here, values))
	count("deleting", remove, func() error { return s.remove(ctx, s.here, slices.Collect(maps.Keys(values))...) })
	return append(p, h.holds(h.Here, nil)).err()
}
