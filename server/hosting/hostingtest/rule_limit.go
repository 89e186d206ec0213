package hostingtest

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"time"

	"coffer/server/hosting"
	"coffer/server/standin"
)

var limitRules = []Rule{
	{"a provider that was asked too often is asked again when it says", nil, checkLimits},
	{"a limit that never ends is told as one", nil, checkLimitForEver},
	{"a limit in the middle of a run ends it with the truth", nil, checkLimitMidway},
}

// named reports whether a fault says how long to wait.
func (h *Host) named(fault standin.Fault) bool {
	rw := httptest.NewRecorder()
	fault(h.Fake, rw, httptest.NewRequest(http.MethodGet, "/", nil), http.NotFoundHandler())
	header := rw.Header()
	return header.Get("Retry-After") != "" || header.Get("X-Ratelimit-Reset") != "" || strings.Contains(rw.Body.String(), `"reset"`)
}

// waited wants a wait that is as long as asked for, and no longer than we let
// ourselves be told for each of so many times.
func (h *Host) waited(since time.Duration, times int, named bool) error {
	d := h.Waited() - since
	least := time.Duration(1)
	if named {
		least = 2 * time.Second // three, less what an epoch in full seconds loses
	}
	var p problems
	if d < least || d > time.Duration(times)*time.Minute {
		p.add("it waited %v, want at least %v and at most %d minutes", d, least, times)
	}
	return p.err()
}

func checkLimits(ctx context.Context, h *Host) error {
	s, err := h.scene(ctx)
	if err != nil {
		return err
	}
	var p problems
	values := h.fill("OLD", 2)
	h.put(h.Here, values)
	for i, name := range slices.Sorted(maps.Keys(h.Limits)) {
		fault := h.Limits[name]
		since := h.Waited()
		h.Fake.Break("", standin.Once(fault))
		listed, err := s.list(ctx, s.here)
		h.Fake.Heal()
		p = append(p, because(name+", listing", errors.Join(err, s.showing(listed, values), h.waited(since, 1, h.named(fault)))))

		more := sum(h.fill("OLD", 2), h.fill("NEW"+string(rune('A'+i)), 2))
		since = h.Waited()
		h.Fake.Break("", h.on(true, standin.Once(fault)))
		_, err = s.write(ctx, s.here, more)
		h.Fake.Heal()
		maps.Copy(values, more)
		p = append(p, because(name+", writing", errors.Join(err, h.holds(h.Here, values), h.waited(since, 1, h.named(fault)))))
	}
	return p.err()
}

const patient = 12 // requests that a question may be tried with before it is given up

func checkLimitForEver(ctx context.Context, h *Host) error {
	var p problems
	for _, name := range slices.Sorted(maps.Keys(h.Limits)) {
		h.Fake.Heal()
		s, err := h.scene(ctx)
		if err != nil {
			return err
		}
		since, calls := h.Waited(), len(h.Fake.Log())
		h.Fake.Break("", h.Limits[name])
		_, err = s.list(ctx, s.here)
		n := len(h.Fake.Log()) - calls
		if u, ok := errors.AsType[*hosting.Unavailable](err); !ok || !u.Limited {
			p.add("%s: error %w, want that it was asked too often", name, orNone(err))
		}
		if n < 2 || n > patient {
			p.add("%s: it was asked %d times", name, n)
		}
		p = append(p, because(name, errors.Join(s.clean(err), h.waited(since, n, h.named(h.Limits[name])))))
	}
	return p.err()
}

func checkLimitMidway(ctx context.Context, h *Host) error {
	s, err := h.scene(ctx)
	if err != nil {
		return err
	}
	var p problems
	for _, name := range slices.Sorted(maps.Keys(h.Limits)) {
		for n := range 3 { // writing calls that go well
			values := sum(h.fill("A", 4), h.fill("B", 4))
			calls := len(h.Fake.Log())
			h.Fake.Break("", h.on(true, standin.After(n, h.Limits[name])))
			o, err := s.try(ctx, s.here, values)
			asked := len(h.Fake.Log()) - calls
			h.Fake.Heal()
			u, ok := errors.AsType[*hosting.Unavailable](err)
			if err != nil && (!ok || !u.Limited) || err == nil && len(o.ok()) < len(values) {
				p.add("%s after %d changes: error %w, want that it was asked too often", name, n, orNone(err))
			}
			if asked > 2*patient {
				p.add("%s after %d changes: it was asked %d times", name, n, asked)
			}
			p = append(p, because(name, s.truth(o, false, true, values, nil)))
		}
	}
	return p.err()
}
