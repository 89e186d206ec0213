package hostingtest

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"coffer/server/hosting"
)

var listRules = []Rule{
	{"variables are listed over all pages", nil, checkList},
	{"what is in another environment is not listed", nil, checkElsewhere},
	{"a place without variables has none", nil, checkEmptyList},
	{"hidden values are not readable", func(h *Host) bool { return h.Hide != nil }, checkHidden},
	{"who made a variable is told", func(h *Host) bool { return h.Foreign != nil }, checkOrigins},
	{"a shared record is listed in both places", func(h *Host) bool { return h.Share != nil }, checkShared},
	{"a mark stays while nobody writes", nil, checkMarkStays},
	{"a mark changes when somebody else writes", nil, checkMarkChanges},
	{"the mark of what was written is that of the next list", nil, checkMarkAfterWrite},
}

// showing wants a list to show values of the user's, as far as they are readable.
func (s *scene) showing(listed map[string]hosting.Variable, want map[string]string) error {
	var p problems
	if got, keys := slices.Sorted(maps.Keys(listed)), slices.Sorted(maps.Keys(want)); !slices.Equal(got, keys) {
		p.add("listed are %v, want %v", got, keys)
	}
	for key, v := range listed {
		if v.Origin != hosting.FromUser {
			p.add("%s is of the origin %q", key, v.Origin)
		}
		if v.Readable && v.Value.Reveal() != want[key] {
			p.add("%s is read as %q, want %q", key, short(v.Value.Reveal()), short(want[key]))
		}
		if v.Readable && s.p.Describe().WriteOnly {
			p.add("%s can be read, and should not", key)
		}
	}
	return p.err()
}

func (h *Host) put(environment string, values map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(values)) {
		h.Put(environment, key, values[key])
	}
}

func checkList(ctx context.Context, h *Host) error {
	s, err := h.scene(ctx)
	if err != nil {
		return err
	}
	values := h.fill("KEY", 7)
	h.put(h.Here, values)
	h.Fake.SetPageSize(2)
	listed, err := s.list(ctx, s.here)
	if err != nil {
		return err
	}
	return s.showing(listed, values)
}

func checkElsewhere(ctx context.Context, h *Host) error {
	s, err := h.scene(ctx)
	if err != nil {
		return err
	}
	here, there := h.fill("HERE", 2), h.fill("THERE", 3)
	here["BOTH"], there["BOTH"] = h.value(), h.value()
	h.put(h.Here, here)
	h.put(h.There, there)
	var p problems
	for at, want := range map[*hosting.Target]map[string]string{&s.here: here, &s.there: there} {
		listed, err := s.list(ctx, *at)
		p = append(p, err, s.showing(listed, want))
	}
	return p.err()
}

func checkEmptyList(ctx context.Context, h *Host) error {
	s, err := h.scene(ctx)
	if err != nil {
		return err
	}
	listed, err := s.list(ctx, s.here)
	if len(listed) > 0 {
		return fmt.Errorf("%d variables are listed", len(listed))
	}
	return err
}

func checkHidden(ctx context.Context, h *Host) error {
	s, err := h.scene(ctx)
	if err != nil {
		return err
	}
	h.Hide("SECRET", h.value())
	h.Put(h.Here, "PLAIN", "plain")
	listed, err := s.list(ctx, s.here)
	if err != nil {
		return err
	}
	v, ok := listed["SECRET"]
	if !ok || v.Readable || v.Value.Len() > 0 || v.Origin != hosting.FromUser {
		return fmt.Errorf("the hidden one is listed (%v) as readable (%v) with %d bytes, origin %q", ok, v.Readable, v.Value.Len(), v.Origin)
	}
	return nil
}

func checkOrigins(ctx context.Context, h *Host) error {
	s, err := h.scene(ctx)
	if err != nil {
		return err
	}
	h.Put(h.Here, "MINE", h.value())
	foreign := h.Foreign()
	listed, err := s.list(ctx, s.here)
	if err != nil {
		return err
	}
	var p problems
	foreign["MINE"] = hosting.FromUser
	for key, origin := range foreign {
		if v, ok := listed[key]; !ok || v.Origin != origin {
			p.add("%s is listed (%v) with the origin %q, want %q", key, ok, v.Origin, origin)
		}
	}
	if len(listed) != len(foreign) {
		p.add("%d variables are listed, want %d", len(listed), len(foreign))
	}
	return p.err()
}

func checkShared(ctx context.Context, h *Host) error {
	s, err := h.scene(ctx)
	if err != nil {
		return err
	}
	value := h.value()
	h.Share("SHARED", value)
	h.Put(h.Here, "MINE", h.value())
	var p problems
	for _, at := range []hosting.Target{s.here, s.there} {
		listed, err := s.list(ctx, at)
		v, ok := listed["SHARED"]
		if err != nil || !ok || !v.Shared || v.Readable && v.Value.Reveal() != value {
			p.add("in %s it is listed (%v) as shared (%v), error %w", at.Environment.Name, ok, v.Shared, orNone(err))
		}
		if listed["MINE"].Shared {
			p.add("what only one place has is listed as shared")
		}
	}
	return p.err()
}

// marked lists one key.
func (s *scene) marked(ctx context.Context, key string) (hosting.Variable, error) {
	listed, err := s.list(ctx, s.here)
	v, ok := listed[key]
	if err == nil && !ok {
		err = fmt.Errorf("%s is not listed", key)
	}
	return v, err
}

func checkMarkStays(ctx context.Context, h *Host) error {
	s, err := h.scene(ctx)
	if err != nil {
		return err
	}
	h.Put(h.Here, "KEY", h.value())
	first, err := s.marked(ctx, "KEY")
	p := problems{err}
	_, err = s.write(ctx, s.here, h.fill("OTHER", 1))
	p = append(p, err)
	s.p = h.Provider()
	again, err := s.marked(ctx, "KEY")
	if p = append(p, err); first.Mark != again.Mark {
		p.add("the mark was %q, and is %q", first.Mark, again.Mark)
	}
	return p.err()
}

func checkMarkChanges(ctx context.Context, h *Host) error {
	s, err := h.scene(ctx)
	if err != nil {
		return err
	}
	_, err = s.write(ctx, s.here, h.fill("KEY", 1))
	first, listErr := s.marked(ctx, "KEY_000")
	p := problems{err, listErr}
	h.Put(h.Here, "KEY_000", h.value())
	again, err := s.marked(ctx, "KEY_000")
	p = append(p, err)
	switch {
	case first.Mark != "" && first.Mark == again.Mark:
		p.add("the mark stayed %q", first.Mark)
	case first.Readable && first.Value.Reveal() == again.Value.Reveal():
		p.add("the value stayed")
	}
	return p.err()
}

func checkMarkAfterWrite(ctx context.Context, h *Host) error {
	s, err := h.scene(ctx)
	if err != nil {
		return err
	}
	h.Put(h.Here, "CHANGED_000", "before")
	if h.Share != nil {
		h.Share("SHARED_000", "before")
	}
	if h.Hide != nil {
		h.Hide("HIDDEN_000", "before")
	}
	values := sum(h.fill("NEW", 3), h.fill("CHANGED", 1))
	if h.Share != nil {
		maps.Copy(values, h.fill("SHARED", 1))
	}
	if h.Hide != nil {
		maps.Copy(values, h.fill("HIDDEN", 1))
	}
	o, err := s.write(ctx, s.here, values)
	listed, listErr := s.list(ctx, s.here)
	p := problems{err, listErr}
	for key, out := range o.outcomes {
		if out.Mark != "" && out.Mark != listed[key].Mark {
			p.add("%s was written with the mark %q, and is listed with %q", key, out.Mark, listed[key].Mark)
		}
	}
	return p.err()
}
