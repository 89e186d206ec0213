package hostingtest

import (
	"context"
	"slices"

	"coffer/server/hosting"
)

var deleteRules = []Rule{
	{"a delete takes what it was told to and nothing else", nil, checkDelete},
	{"deleting a shared record leaves the others theirs", func(h *Host) bool { return h.Share != nil }, checkDeleteShared},
	{"deleting what is hidden works", func(h *Host) bool { return h.Hide != nil }, checkDeleteHidden},
	{"what is gone counts as deleted", nil, checkDeleteGone},
}

func checkDelete(ctx context.Context, h *Host) error {
	s, err := h.scene(ctx)
	if err != nil {
		return err
	}
	here, there := h.fill("KEY", 5), h.fill("KEY", 5)
	h.put(h.Here, here)
	h.put(h.There, there)
	h.Fake.SetPageSize(2)
	p := problems{s.remove(ctx, s.here, "KEY_000", "KEY_003", "KEY_004")}
	for _, key := range []string{"KEY_000", "KEY_003", "KEY_004"} {
		delete(here, key)
	}
	p = append(p, h.holds(h.Here, here), h.holds(h.There, there))
	listed, err := s.list(ctx, s.here)
	p = append(p, err, s.showing(listed, here))

	// What was deleted can be made again.
	here["KEY_000"] = h.value()
	_, err = s.write(ctx, s.here, map[string]string{"KEY_000": here["KEY_000"]})
	return append(p, err, h.holds(h.Here, here)).err()
}

func checkDeleteShared(ctx context.Context, h *Host) error {
	s, err := h.scene(ctx)
	if err != nil {
		return err
	}
	shared, other := h.fill("SHARED", 3), h.fill("OTHER", 1)
	for key, value := range shared {
		h.Share(key, value)
	}
	h.put(h.Here, other)
	p := problems{s.remove(ctx, s.here, "SHARED_000", "SHARED_002")}
	p = append(p, h.holds(h.There, shared))
	delete(shared, "SHARED_000")
	delete(shared, "SHARED_002")
	return append(p, h.holds(h.Here, sum(shared, other))).err()
}

func checkDeleteHidden(ctx context.Context, h *Host) error {
	s, err := h.scene(ctx)
	if err != nil {
		return err
	}
	other := h.fill("OTHER", 1)
	h.put(h.Here, other)
	h.Hide("SECRET", h.value())
	return problems{s.remove(ctx, s.here, "SECRET"), h.holds(h.Here, other)}.err()
}

func checkDeleteGone(ctx context.Context, h *Host) error {
	s, err := h.scene(ctx)
	if err != nil {
		return err
	}
	here, there := h.fill("KEY", 3), h.fill("KEY", 3)
	h.put(h.Here, here)
	h.put(h.There, there)
	listed, err := s.list(ctx, s.here)
	p := problems{err}
	h.Remove(h.Here, "KEY_001")
	for range 2 { // the second time all are gone
		var all []hosting.Variable
		for _, v := range listed {
			all = append(all, v)
		}
		o, err := s.drop(ctx, s.here, all)
		if p = append(p, err); !slices.Equal(o.ok(), []string{"KEY_000", "KEY_001", "KEY_002"}) {
			p.add("deleted are %v, want all three", o.ok())
		}
		p = append(p, h.holds(h.Here, nil), h.holds(h.There, there))
	}
	return p.err()
}
