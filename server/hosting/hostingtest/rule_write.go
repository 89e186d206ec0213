package hostingtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	"coffer/server/hosting"
)

var writeRules = []Rule{
	{"what is written takes effect here and nowhere else", nil, checkWrite},
	{"writing leaves what others made as it is", func(h *Host) bool { return h.Foreign != nil }, checkWriteForeign},
	{"writing a shared record leaves the others theirs", func(h *Host) bool { return h.Share != nil }, checkWriteShared},
	{"writing a hidden value keeps it hidden", func(h *Host) bool { return h.Hide != nil }, checkWriteHidden},
	{"every value arrives bit for bit", nil, checkValues},
	{"an empty value is a value", nil, checkEmptyValue},
	{"writing the same again changes nothing", nil, checkWriteAgain},
	{"what somebody else made or took away meanwhile is no lie", nil, checkMeanwhile},
	{"writing or deleting nothing changes nothing", nil, checkNothing},
}

func checkWrite(ctx context.Context, h *Host) error {
	s, err := h.scene(ctx)
	if err != nil {
		return err
	}
	here, there := h.fill("CHANGED", 3), h.fill("CHANGED", 3)
	maps.Copy(here, h.fill("OTHER", 3))
	h.put(h.Here, here)
	h.put(h.There, there)
	values := sum(h.fill("CHANGED", 2), h.fill("NEW", 3))
	h.Fake.SetPageSize(2)
	_, err = s.write(ctx, s.here, values)
	p := problems{err, h.holds(h.Here, sum(here, values)), h.holds(h.There, there)}
	listed, err := s.list(ctx, s.here)
	p = append(p, err, s.showing(listed, sum(here, values)))
	listed, err = s.list(ctx, s.there)
	return append(p, err, s.showing(listed, there)).err()
}

func checkWriteForeign(ctx context.Context, h *Host) error {
	s, err := h.scene(ctx)
	if err != nil {
		return err
	}
	foreign := h.Foreign()
	before, err := s.list(ctx, s.here)
	p := problems{err}
	values := h.fill("NEW", 2)
	_, err = s.write(ctx, s.here, values)
	p = append(p, err, h.holds(h.Here, values), s.remove(ctx, s.here, "NEW_000"))
	after, err := s.list(ctx, s.here)
	p = append(p, err)
	for key := range foreign {
		a, b := before[key], after[key]
		if a.Origin != b.Origin || a.Mark != b.Mark || a.Readable != b.Readable || a.Value.Reveal() != b.Value.Reveal() {
			p.add("%s is another than before", key)
		}
	}
	return p.err()
}

func checkWriteShared(ctx context.Context, h *Host) error {
	s, err := h.scene(ctx)
	if err != nil {
		return err
	}
	shared := h.fill("SHARED", 3)
	for key, value := range shared {
		h.Share(key, value)
	}
	h.Put(h.There, "OTHER", "other")
	there := sum(shared, map[string]string{"OTHER": "other"})
	values := h.fill("SHARED", 2)
	_, err = s.write(ctx, s.here, values)
	p := problems{err, h.holds(h.Here, sum(shared, values)), h.holds(h.There, there)}
	listed, err := s.list(ctx, s.here)
	if p = append(p, err); listed["SHARED_000"].Shared {
		p.add("what has a value of its own now is listed as shared")
	}
	// Once more, now that it is nobody else's.
	again := h.fill("SHARED", 2)
	_, err = s.write(ctx, s.here, again)
	return append(p, err, h.holds(h.Here, sum(shared, again)), h.holds(h.There, there)).err()
}

func checkWriteHidden(ctx context.Context, h *Host) error {
	s, err := h.scene(ctx)
	if err != nil {
		return err
	}
	h.Hide("SECRET", h.value())
	values := map[string]string{"SECRET": h.value()}
	_, err = s.write(ctx, s.here, values)
	p := problems{err, h.holds(h.Here, values)}
	if h.Hidden != nil && !h.Hidden("SECRET") {
		p.add("it is hidden no more")
	}
	v, err := s.marked(ctx, "SECRET")
	if p = append(p, err); v.Readable || v.Value.Len() > 0 {
		p.add("it can be read")
	}
	return p.err()
}

// awkward are values that are changed on the way by those who encode carelessly.
func awkward() map[string]string {
	return map[string]string{
		"LINES": "one\ntwo\r\nthree\n", "QUOTES": `"'` + "`" + `\"\\`, "BLANKS": "  both ends\t ", "DOLLAR": "$HOME ${HOME} $$",
		"UNICODE": "żółw 🐢\u2028\u00a0é", "JSON": `{"a":["<b>&amp;"]}`, "MARKUP": "<b>&\u003c", "PERCENT": "%20%zz+a=b&c=d;#",
		"LONG": strings.Repeat("0123456789abcdef", 256), "CONTROL": "a\x1b[0m\x7f", "NUMBER": "007", "TRUE": "true", "NULL": "null",
	}
}

func checkValues(ctx context.Context, h *Host) error {
	s, err := h.scene(ctx)
	if err != nil {
		return err
	}
	values := awkward()
	_, err = s.write(ctx, s.here, values)
	p := problems{err, h.holds(h.Here, values)}
	listed, err := s.list(ctx, s.here)
	p = append(p, err, s.showing(listed, values))
	for key := range values { // as changes, and in the other order of things
		values[key] += "!"
	}
	_, err = s.write(ctx, s.here, values)
	return append(p, err, h.holds(h.Here, values)).err()
}

func checkEmptyValue(ctx context.Context, h *Host) error {
	s, err := h.scene(ctx)
	if err != nil {
		return err
	}
	before := map[string]string{"EMPTIED": h.value(), "OTHER": h.value()}
	h.put(h.Here, before)
	values := map[string]string{"EMPTIED": "", "NEW": ""}
	o, err := s.try(ctx, s.here, values)
	p := problems{err}
	if !h.RefusesEmpty {
		p = append(p, o.allDone(values), h.holds(h.Here, sum(before, values)))
		listed, err := s.list(ctx, s.here)
		return append(p, err, s.showing(listed, sum(before, values))).err()
	}
	for key, out := range o.outcomes {
		if f, ok := errors.AsType[*hosting.Failure](out.Err); !ok || f.Code != hosting.CodeInvalid {
			p.add("%s: error %w, want %s", key, orNone(out.Err), hosting.CodeInvalid)
		}
	}
	return append(p, h.holds(h.Here, before)).err()
}

func checkWriteAgain(ctx context.Context, h *Host) error {
	s, err := h.scene(ctx)
	if err != nil {
		return err
	}
	values := h.fill("KEY", 3)
	all := writes(values, nil)
	_, err = s.run(ctx, s.here, all)
	p := problems{err, h.holds(h.Here, values)}
	_, err = s.write(ctx, s.here, values)
	return append(p, err, h.holds(h.Here, values)).err()
}

// checkMeanwhile has somebody else change things between the list and the run:
// what is told must be what happened, and nothing of theirs is lost unless it
// was written over.
func checkMeanwhile(ctx context.Context, h *Host) error {
	s, err := h.scene(ctx)
	if err != nil {
		return err
	}
	before := map[string]string{"TAKEN": h.value(), "CHANGED": h.value()}
	h.put(h.Here, before)
	listed, err := s.list(ctx, s.here)
	p := problems{err}
	theirs := map[string]string{"MADE": h.value(), "CHANGED": h.value(), "OTHER": h.value()}
	h.put(h.Here, theirs)
	h.Remove(h.Here, "TAKEN")
	values := map[string]string{"MADE": h.value(), "CHANGED": h.value(), "TAKEN": h.value(), "PLAIN": h.value()}
	o, err := s.run(ctx, s.here, writes(values, listed))
	if p = append(p, err); o.outcomes["PLAIN"].Err != nil {
		p.add("what nobody else touched was not done: %w", o.outcomes["PLAIN"].Err)
	}
	want := maps.Clone(theirs)
	for _, key := range o.ok() {
		want[key] = values[key]
	}
	p = append(p, because(fmt.Sprintf("done are %v", o.ok()), h.holds(h.Here, want)))
	_, err = s.write(ctx, s.here, values)
	return append(p, err, h.holds(h.Here, sum(theirs, values))).err()
}

func checkNothing(ctx context.Context, h *Host) error {
	s, err := h.scene(ctx)
	if err != nil {
		return err
	}
	before := h.fill("KEY", 2)
	h.put(h.Here, before)
	_, writeErr := s.run(ctx, s.here, nil)
	_, dropErr := s.drop(ctx, s.here, []hosting.Variable{})
	_, emptyErr := s.run(ctx, s.here, writes(map[string]string{}, nil))
	p := problems{writeErr, dropErr, emptyErr, h.holds(h.Here, before)}
	if n := h.wrote(); n > 0 {
		p.add("%d requests changed something", n)
	}
	return p.err()
}
