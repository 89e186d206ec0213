package hostingtest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"sync"
	"time"

	"go.uber.org/goleak"

	"coffer/server/api"
	"coffer/server/hosting"
	"coffer/server/standin"
)

var faultRules = []Rule{
	{"what is spoiled is no answer, at whichever request", nil, checkSpoiled},
	{"a question that fails once is asked again", nil, checkOnce},
	{"a provider that is down is unavailable", nil, checkDown},
	{"a provider that hangs is unavailable in time", nil, checkHang},
	{"who gives up is not kept waiting", nil, checkCancelled},
	{"a redirect to another host is not followed", nil, checkAstray},
	{"many may ask and write at once", nil, checkConcurrent},
	{"no goroutine stays behind", nil, checkLeak},
}

// alone are the rules that look at the time, or at what else runs.
var alone = []string{"a provider that hangs is unavailable in time", "who gives up is not kept waiting", "no goroutine stays behind"}

// question is one thing to ask.
type question struct {
	name string
	ask  func(context.Context) (any, error)
}

// questions are all that can be asked without changing anything. They are asked
// with a client that has just been made.
func (s *scene) questions() []question {
	return []question{
		{"Check", func(ctx context.Context) (any, error) { return s.Provider().Check(ctx, s.c) }},
		{"Projects", func(ctx context.Context) (any, error) { return s.Provider().Projects(ctx, s.c) }},
		{"Find", func(ctx context.Context) (any, error) { return s.Provider().Find(ctx, s.c, s.Project, s.Service) }},
		{"List", func(ctx context.Context) (any, error) { return s.Provider().List(ctx, s.c, s.here) }},
	}
}

// runs change things, which no rule that asks them wants to succeed.
func (s *scene) runs(was hosting.Variable) []question {
	none := func(o *told, err error) (any, error) {
		if keys := o.ok(); len(keys) > 0 {
			return keys, err
		}
		return nil, err
	}
	return []question{
		{"Write", func(ctx context.Context) (any, error) {
			all := []hosting.Write{{Key: "NEW", Value: api.NewSecret("value")}, {Key: was.Key, Value: api.NewSecret("value"), Was: &was}}
			return none(s.run(ctx, s.here, all))
		}},
		{"Delete", func(ctx context.Context) (any, error) { return none(s.drop(ctx, s.here, []hosting.Variable{was})) }},
	}
}

// stocked is a scene with something to ask about, and a variable of it.
func (h *Host) stocked(ctx context.Context) (*scene, hosting.Variable, error) {
	s, err := h.scene(ctx)
	if err != nil {
		return nil, hosting.Variable{}, err
	}
	h.AddProjects(1)
	h.put(h.Here, h.fill("KEY", 3))
	was, err := s.marked(ctx, "KEY_000")
	return s, was, err
}

func empty(answer any) bool { return answer == nil || reflect.ValueOf(answer).IsZero() }

// unavailable wants an *Unavailable with nothing beside it.
func (h *Host) unavailable(answer any, err error) error {
	_, ok := errors.AsType[*hosting.Unavailable](err)
	switch {
	case !ok || errors.Is(err, hosting.ErrNotFound) || errors.Is(err, hosting.ErrCredential):
		return fmt.Errorf("error %w, want that the provider did not answer", orNone(err))
	case !empty(answer):
		return fmt.Errorf("an answer beside the error: %v", answer)
	}
	return h.clean(err)
}

// spoils are answers that look like success, or like something definite, and are
// neither.
var spoils = map[string]standin.Fault{
	"500": standin.Status(http.StatusInternalServerError), "half of the JSON": standin.Truncated, "hollow JSON": standin.Hollow,
	"a page for people": standin.HTML, "a proxy's 404": standin.Lost, "a redirect": standin.Astray, "a broken connection": standin.CutOff,
}

// checkSpoiled breaks each of the requests that a question takes, and all after
// it. The right answer is as good as none: not every request decides something.
func checkSpoiled(ctx context.Context, h *Host) error {
	s, _, err := h.stocked(ctx)
	if err != nil {
		return err
	}
	h.Fake.SetPageSize(2)
	var p problems
	for _, q := range s.questions() {
		before := len(h.Fake.Log())
		right, err := q.ask(ctx)
		requests := len(h.Fake.Log()) - before
		p = append(p, because(q.name, err))
		for name, fault := range spoils {
			for n := range requests {
				h.Fake.Break("", standin.After(n, fault))
				got, err := q.ask(ctx)
				h.Fake.Heal()
				if n > 0 && err == nil && reflect.DeepEqual(got, right) {
					continue
				}
				p = append(p, because(fmt.Sprintf("%s, %s from request %d", q.name, name, n+1), h.unavailable(got, err)))
			}
		}
	}
	return p.err()
}

func checkOnce(ctx context.Context, h *Host) error {
	s, _, err := h.stocked(ctx)
	if err != nil {
		return err
	}
	var p problems
	for name, fault := range map[string]standin.Fault{
		"502": standin.Status(http.StatusBadGateway), "503": standin.Status(http.StatusServiceUnavailable),
		"504": standin.Status(http.StatusGatewayTimeout), "a broken connection": standin.CutOff,
	} {
		for _, q := range s.questions() {
			right, err := q.ask(ctx)
			p = append(p, err)
			before := h.Waited()
			h.Fake.Break("", standin.EachOnce(fault))
			got, err := q.ask(ctx)
			h.Fake.Heal()
			if err != nil || !reflect.DeepEqual(got, right) {
				p.add("%s, %s once: %v, error %w, want %v", q.name, name, got, orNone(err), right)
			}
			if h.Waited() == before {
				p.add("%s, %s once: it was asked again without a pause", q.name, name)
			}
		}
	}
	return p.err()
}

func checkDown(ctx context.Context, h *Host) error {
	s, was, err := h.stocked(ctx)
	if err != nil {
		return err
	}
	var p problems
	all := slices.Concat(s.questions(), s.runs(was))
	held := h.Held(h.Here)
	for name, fault := range map[string]standin.Fault{"503": standin.Status(http.StatusServiceUnavailable), "a broken connection": drop} {
		h.Fake.Break("", fault)
		for _, q := range all {
			before := len(h.Fake.Log())
			got, err := q.ask(ctx)
			p = append(p, because(q.name+", "+name, h.unavailable(got, err)))
			if n := len(h.Fake.Log()) - before; n > 2*patient {
				p.add("%s, %s: it was asked %d times", q.name, name, n)
			}
		}
		h.Fake.Heal()
	}
	p = append(p, h.holds(h.Here, held))
	h.Fake.Close()
	for _, q := range all {
		got, err := q.ask(ctx)
		p = append(p, because(q.name+", nobody listens", h.unavailable(got, err)))
	}
	return p.err()
}

// drop breaks the connection before anything was done.
func drop(*standin.Fake, http.ResponseWriter, *http.Request, http.Handler) {
	panic(http.ErrAbortHandler)
}

const patience = 200 * time.Millisecond

func checkHang(ctx context.Context, h *Host) error {
	return h.hanging(ctx, func(ctx context.Context) (context.Context, context.CancelFunc) {
		return context.WithTimeout(ctx, patience)
	})
}

func checkCancelled(ctx context.Context, h *Host) error {
	return h.hanging(ctx, func(ctx context.Context) (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancel(ctx)
		time.AfterFunc(patience, cancel)
		return ctx, cancel
	})
}

// hanging asks everything with a context that ends soon, while the provider
// hangs: at its first request, and in a run at the first that changes something.
func (h *Host) hanging(ctx context.Context, limit func(context.Context) (context.Context, context.CancelFunc)) error {
	s, was, err := h.stocked(ctx)
	if err != nil {
		return err
	}
	var mu sync.Mutex
	var p problems
	ask := func(all []question, fault standin.Fault) {
		h.Fake.Break("", fault)
		defer h.Fake.Heal()
		var wg sync.WaitGroup
		for _, q := range all {
			wg.Go(func() {
				short, cancel := limit(ctx)
				defer cancel()
				start := time.Now()
				got, err := q.ask(short)
				took := time.Since(start)
				mu.Lock()
				defer mu.Unlock()
				p = append(p, because(q.name, h.unavailable(got, err)))
				if took > 5*patience {
					p.add("%s took %v, want %v", q.name, took, patience)
				}
			})
		}
		wg.Wait()
	}
	ask(s.questions(), standin.Hang)
	ask(s.runs(was), standin.Hang)
	ask(s.runs(was), h.on(true, standin.Hang))
	return p.err()
}

func checkAstray(ctx context.Context, h *Host) error {
	s, was, err := h.stocked(ctx)
	if err != nil {
		return err
	}
	var p problems
	for _, fault := range []standin.Fault{standin.Astray, permanently} {
		h.Fake.Break("", fault)
		for _, q := range slices.Concat(s.questions(), s.runs(was)) {
			got, err := q.ask(ctx)
			p = append(p, because(q.name, h.unavailable(got, err)))
		}
		h.Fake.Heal()
	}
	for _, c := range h.Fake.Log() {
		if "http://"+c.Host == h.Fake.Elsewhere {
			p.add("another host was asked for %s", c.Path)
		}
	}
	return p.err()
}

// permanently redirects to another host so that the body goes there as well.
func permanently(f *standin.Fake, rw http.ResponseWriter, r *http.Request, _ http.Handler) {
	http.Redirect(rw, r, f.Elsewhere+r.URL.RequestURI(), http.StatusPermanentRedirect)
}

// checkConcurrent has many goroutines ask one client, and write different keys
// with it.
func checkConcurrent(ctx context.Context, h *Host) error {
	s, _, err := h.stocked(ctx)
	if err != nil {
		return err
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	var p problems
	note := func(err error) {
		mu.Lock()
		defer mu.Unlock()
		p = append(p, err)
	}
	want := h.Held(h.Here)
	for i := range 8 {
		values := h.fill(fmt.Sprintf("ROUTINE%d", i), 3)
		want = sum(want, values)
		wg.Go(func() {
			_, err := s.p.Check(ctx, s.c)
			note(err)
			_, err = s.p.Find(ctx, s.c, h.Project, h.Service)
			note(err)
			_, err = s.list(ctx, s.here)
			note(err)
		})
		wg.Go(func() {
			_, err := s.write(ctx, s.here, values)
			note(err)
		})
	}
	wg.Wait()
	return append(p, h.holds(h.Here, want)).err()
}

// checkLeak looks for goroutines after the provider has gone away, which ends
// what idle connections need.
func checkLeak(ctx context.Context, h *Host) error {
	before := goleak.IgnoreCurrent()
	s, was, err := h.stocked(ctx)
	if err != nil {
		return err
	}
	var p problems
	for _, q := range s.questions() {
		_, err := q.ask(ctx)
		p = append(p, err)
	}
	_, err = s.write(ctx, s.here, h.fill("KEY", 5))
	p = append(p, err)
	h.Fake.Break("", standin.Hang)
	for _, q := range slices.Concat(s.questions(), s.runs(was)) {
		short, cancel := context.WithTimeout(ctx, patience/4)
		_, err := q.ask(short)
		cancel()
		p = append(p, h.unavailable(nil, err))
	}
	h.Fake.Close()
	return append(p, goleak.Find(before)).err()
}
