package forgetest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"sync"
	"time"

	"go.uber.org/goleak"

	"coffer/server/forge"
	"coffer/server/standin"
)

func hasFake(h *Host) bool { return h.Fake != nil }

var faultRules = []Rule{
	{"what the host spoils is no answer, at whichever request", hasFake, checkSpoiled},
	{"a host that is down is unavailable", hasFake, checkDown},
	{"a host that hangs is unavailable in time", hasFake, checkHang},
	{"who gives up is not kept waiting", hasFake, checkCancelled},
	{"what fails once is asked again", hasFake, checkOnce},
	{"a slow answer is an answer", hasFake, checkSlow},
	{"a redirect to another host is not followed", hasFake, checkAstray},
	{"many may ask at once", nil, checkConcurrent},
	{"no goroutine stays behind", hasFake, checkLeak},
}

// alone are the rules that look at the time, or at what else runs.
var alone = []string{
	"a host that hangs is unavailable in time", "who gives up is not kept waiting", "a slow answer is an answer", "no goroutine stays behind",
}

// empty reports whether an answer says nothing at all.
func empty(answer any) bool {
	return answer == nil || reflect.ValueOf(answer).IsZero()
}

// asked is a question in one way, with the answer of a host in good health.
type asked struct {
	question
	user     int64
	way      int // of h.ways
	answer   any
	requests int // that it took
}

func (a asked) String() string { return a.name }

// baseline asks every question in every way that gets an answer: the owner's, and
// what a stranger may do on what is public.
func (h *Host) baseline(ctx context.Context) ([]asked, error) {
	s := h.scene()
	public := h.repo(s.public)
	stranger := question{"Role of a stranger", func(ctx context.Context, w way) (any, error) { return w.forge.Role(ctx, w.as, public) }}
	all := []asked{{question: bearer, user: s.owner}}
	for i := range h.ways(s.owner) {
		for _, q := range s.questions() {
			all = append(all, asked{question: q, user: s.owner, way: i})
		}
		all = append(all, asked{question: stranger, user: s.outsider, way: i})
	}
	var answered []asked
	var p problems
	for _, a := range all {
		w := h.ways(a.user)[a.way]
		a.name += ", " + w.name
		h.Fake.Forget()
		var err error
		a.answer, err = a.ask(ctx, w)
		a.requests = len(h.Fake.Log())
		switch {
		case err == nil:
			answered = append(answered, a)
		case w.own || !errors.Is(err, forge.ErrNoCredential):
			p.add("%s: %w", a, err)
		}
	}
	return answered, p.err()
}

// again asks with a new client.
func (h *Host) again(ctx context.Context, a asked) (any, error) {
	return a.ask(ctx, h.ways(a.user)[a.way])
}

// unavailable wants an *Unavailable with nothing beside it.
func (h *Host) unavailable(answer any, err error, retryAfter time.Duration) error {
	u, ok := errors.AsType[*forge.Unavailable](err)
	switch {
	case !ok || errors.Is(err, forge.ErrNotFound) || errors.Is(err, forge.ErrToken) || errors.Is(err, forge.ErrGone):
		return fmt.Errorf("error %w, want that the host did not answer", orNone(err))
	case !empty(answer):
		return fmt.Errorf("an answer beside the error: %v", answer)
	case u.RetryAfter != retryAfter:
		return fmt.Errorf("the host is to be left alone for %v, want %v", u.RetryAfter, retryAfter)
	}
	return h.clean(err)
}

// checkSpoiled breaks each of the requests that a question takes, and all after
// it. The right answer is as good as none: not every request decides something.
func checkSpoiled(ctx context.Context, h *Host) error {
	faults := []struct {
		name       string
		fault      standin.Fault
		retryAfter time.Duration
	}{
		{"429 with a time", standin.TooMany("7"), 7 * time.Second},
		{"429 without a time", standin.TooMany(""), 0},
		{"500", standin.Status(http.StatusInternalServerError), 0},
		{"half of the JSON", standin.Truncated, 0},
		{"hollow JSON", standin.Hollow, 0},
		{"a page for people", standin.HTML, 0},
		{"a proxy's 404", standin.Lost, 0},
		{"too much", standin.Huge, 0},
		{"a redirect to another host", standin.Astray, 0},
	}
	all, err := h.baseline(ctx)
	p := problems{err}
	for _, a := range all {
		for _, f := range faults {
			for n := range a.requests {
				h.Fake.Break("", standin.After(n, f.fault))
				got, err := h.again(ctx, a)
				h.Fake.Heal()
				if n > 0 && err == nil && reflect.DeepEqual(got, a.answer) {
					continue
				}
				p = append(p, because(fmt.Sprintf("%s, %s from request %d", a, f.name, n+1), h.unavailable(got, err, f.retryAfter)))
			}
		}
	}
	return p.err()
}

// atOnce asks everything at the same time, for faults that take time, and hands
// the answers to judge.
func (h *Host) atOnce(ctx context.Context, all []asked, judge func(a asked, answer any, err error) error) error {
	var wg sync.WaitGroup
	var mu sync.Mutex
	var p problems
	for _, a := range all {
		wg.Go(func() {
			got, err := h.again(ctx, a)
			mu.Lock()
			defer mu.Unlock()
			p = append(p, because(a.name, judge(a, got, err)))
		})
	}
	wg.Wait()
	return p.err()
}

func (h *Host) isUnavailable(_ asked, answer any, err error) error {
	return h.unavailable(answer, err, 0)
}

func isRight(a asked, answer any, err error) error {
	if err != nil || !reflect.DeepEqual(answer, a.answer) {
		return fmt.Errorf("%v, error %w, want %v", answer, orNone(err), a.answer)
	}
	return nil
}

func checkDown(ctx context.Context, h *Host) error {
	all, err := h.baseline(ctx)
	p := problems{err}
	for name, fault := range map[string]standin.Fault{
		"502": standin.Status(http.StatusBadGateway), "503": standin.Status(http.StatusServiceUnavailable), "a broken connection": standin.CutOff,
	} {
		h.Fake.Break("", fault)
		p = append(p, because(name, h.atOnce(ctx, all, h.isUnavailable)))
		h.Fake.Heal()
	}
	return p.err()
}

const patience = 200 * time.Millisecond

func checkHang(ctx context.Context, h *Host) error {
	all, err := h.baseline(ctx)
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return errors.Join(err, h.hanging(ctx, all))
}

func checkCancelled(ctx context.Context, h *Host) error {
	all, err := h.baseline(ctx)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer time.AfterFunc(patience, cancel).Stop()
	return errors.Join(err, h.hanging(ctx, all))
}

// hanging asks with a context that ends soon, while the host hangs.
func (h *Host) hanging(ctx context.Context, all []asked) error {
	h.Fake.Break("", standin.Hang)
	defer h.Fake.Heal()
	start := time.Now()
	err := h.atOnce(ctx, all, h.isUnavailable)
	if took := time.Since(start); took > 10*patience {
		err = errors.Join(err, fmt.Errorf("it took %v, want %v", took, patience))
	}
	return err
}

// checkOnce spoils every request that a question takes, but only once.
// What signs in to the host on behalf of the service may need a POST, which is
// not repeated.
func checkOnce(ctx context.Context, h *Host) error {
	all, err := h.baseline(ctx)
	p := problems{err}
	for name, fault := range map[string]standin.Fault{"502": standin.Status(http.StatusBadGateway), "a broken connection": standin.CutOff} {
		h.Fake.Break("", onlyGET(standin.EachOnce(fault)))
		p = append(p, because(name, h.atOnce(ctx, all, isRight)))
		h.Fake.Heal()
	}
	return p.err()
}

func onlyGET(fault standin.Fault) standin.Fault {
	return func(f *standin.Fake, rw http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method == http.MethodGet {
			fault(f, rw, r, next)
			return
		}
		next.ServeHTTP(rw, r)
	}
}

func checkSlow(ctx context.Context, h *Host) error {
	all, err := h.baseline(ctx)
	h.Fake.Break("", standin.Slow(patience/10))
	defer h.Fake.Heal()
	return errors.Join(err, h.atOnce(ctx, all, isRight))
}

func checkAstray(ctx context.Context, h *Host) error {
	all, err := h.baseline(ctx)
	h.Fake.Break("", standin.Astray)
	defer h.Fake.Heal()
	h.Fake.Forget()
	err = errors.Join(err, h.atOnce(ctx, all, h.isUnavailable))
	for _, c := range h.Fake.Log() {
		if "http://"+c.Host == h.Fake.Elsewhere {
			return errors.Join(err, fmt.Errorf("another host was asked for %s", c.Path))
		}
	}
	return err
}

// checkConcurrent has many goroutines ask one client about different people.
func checkConcurrent(ctx context.Context, h *Host) error {
	_, _, repo := h.acme()
	f := h.Forge(Options{Service: h.Token != nil})
	record := h.repo(repo)
	var wg sync.WaitGroup
	answers := make([]error, 64)
	for i := range answers {
		user, role := h.World.AddUser(fmt.Sprintf("user-%d", i)), h.Roles[i%len(h.Roles)]
		h.World.SetRole(repo, user, role)
		as := forge.Asker{User: h.user(user)}
		if h.Token != nil && i%2 == 0 {
			as.Token = h.Token(user)
		}
		wg.Go(func() {
			got, err := f.Role(ctx, as, record)
			if err != nil || got.Role != role {
				answers[i] = fmt.Errorf("role %q, want %q (%w)", got.Role, role, orNone(err))
			}
		})
	}
	wg.Wait()
	return errors.Join(answers...)
}

// checkLeak looks for goroutines after the host has gone away, which ends what
// idle connections need.
func checkLeak(ctx context.Context, h *Host) error {
	before := goleak.IgnoreCurrent()
	all, err := h.baseline(ctx)
	short, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err = errors.Join(err, h.hanging(short, all))
	h.Fake.Close()
	return errors.Join(err, goleak.Find(before))
}
