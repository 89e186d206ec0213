package hostingtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"

	"coffer/server/api"
	"coffer/server/hosting"
	"coffer/server/standin"
)

// scene is a client with its credential, and the two environments as it found
// them.
type scene struct {
	*Host
	p           hosting.Provider
	c           hosting.Credential
	here, there hosting.Target
}

func (h *Host) scene(ctx context.Context) (*scene, error) {
	s := &scene{Host: h, p: h.Provider(), c: h.credential()}
	project, err := s.p.Find(ctx, s.c, h.Project, h.Service)
	if err != nil {
		return nil, fmt.Errorf("the project: %w", err)
	}
	s.here, s.there = target(project, h.Here), target(project, h.There)
	if s.here.Environment.Name == "" || s.there.Environment.Name == "" {
		return nil, fmt.Errorf("the project has the environments %v, want %s and %s", project.Environments, h.Here, h.There)
	}
	return s, nil
}

func target(p hosting.Project, environment string) hosting.Target {
	for _, e := range p.Environments {
		if e.Name == environment {
			return hosting.Target{Project: p, Environment: e}
		}
	}
	return hosting.Target{Project: p}
}

// credential makes one, and remembers that it is secret.
func (h *Host) credential() hosting.Credential {
	c := h.Credential()
	h.keep(&h.tokens, c.Token.Reveal())
	return c
}

func (h *Host) keep(secrets *[]string, text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	*secrets = append(*secrets, text)
}

// value makes a value that no other variable has, and remembers that it is
// secret.
func (h *Host) value() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.counter++
	v := fmt.Sprintf("canary-%04d-value", h.counter)
	h.values = append(h.values, v)
	return v
}

// fill makes n keys with new values.
func (h *Host) fill(prefix string, n int) map[string]string {
	values := map[string]string{}
	for i := range n {
		values[fmt.Sprintf("%s_%03d", prefix, i)] = h.value()
	}
	return values
}

// leaks says where secrets went that have no business there.
func (h *Host) leaks() error {
	var p problems
	if leaks := h.Fake.Leaks(); len(leaks) > 0 {
		p.add("a secret is in an address or went to another host: %q", leaks)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range h.Fake.Log() {
		if holds(c.URI(), h.values, h.tokens) {
			p.add("a secret is in the address of %s %s", c.Method, c.Path)
		}
		for name, values := range c.Header {
			text := strings.Join(values, "\n")
			own := name == "Authorization" || name == "Project-Access-Token"
			if holds(text, h.values) || !own && holds(text, h.tokens) {
				p.add("a secret is in the header %s of %s %s", name, c.Method, c.Path)
			}
		}
	}
	return p.err()
}

func holds(text string, secrets ...[]string) bool {
	return slices.ContainsFunc(slices.Concat(secrets...), func(s string) bool { return strings.Contains(text, s) })
}

// clean wants an error without a secret in its text, in any form of it.
func (h *Host) clean(err error) error {
	if err == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, text := range []string{err.Error(), fmt.Sprintf("%+v", err), fmt.Sprintf("%#v", err)} {
		if holds(text, h.values, h.tokens) {
			return errors.New("an error's text holds a secret")
		}
	}
	return nil
}

// complain notes what no answer may be like.
func (h *Host) complain(err error) {
	if err != nil {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.wrong = append(h.wrong, err)
	}
}

func (h *Host) complaints() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.wrong.err()
}

// list lists a target by key.
func (s *scene) list(ctx context.Context, t hosting.Target) (map[string]hosting.Variable, error) {
	all, err := s.p.List(ctx, s.c, t)
	if err != nil {
		if all != nil {
			s.complain(fmt.Errorf("%d variables beside the error %w", len(all), err))
		}
		s.complain(s.clean(err))
		return nil, err
	}
	byKey := map[string]hosting.Variable{}
	for _, v := range all {
		if _, twice := byKey[v.Key]; twice {
			s.complain(fmt.Errorf("%s is listed twice", v.Key))
		}
		if !v.Readable && v.Value.Len() > 0 {
			s.complain(fmt.Errorf("%s cannot be read, but has a value", v.Key))
		}
		byKey[v.Key] = v
	}
	return byKey, nil
}

// told is what a run said of its variables.
type told struct {
	outcomes map[string]hosting.Outcome
	wrong    problems
	busy     atomic.Bool
	routine  string
}

func newTold() *told { return &told{outcomes: map[string]hosting.Outcome{}} }

// done notes an outcome, and whether it was told in the right way.
func (o *told) done(out hosting.Outcome) error {
	if o.busy.Swap(true) {
		panic("two outcomes were told at once") // the fields below would race
	}
	defer o.busy.Store(false)
	if _, again := o.outcomes[out.Key]; again {
		o.wrong.add("%s was told of twice", out.Key)
	}
	o.outcomes[out.Key] = out
	if f := (*hosting.Failure)(nil); out.Err != nil && !errors.As(out.Err, &f) {
		o.wrong.add("%s: error %w, want a Failure", out.Key, out.Err)
	} else if out.Err != nil && f.Code.Message() == "" {
		o.wrong.add("%s: there is no code %q", out.Key, f.Code)
	}
	me := goroutine()
	if o.routine != "" && o.routine != me {
		o.wrong.add("%s was told of from another goroutine", out.Key)
	}
	o.routine = me
	return nil
}

// goroutine is the name of the one that runs this.
func goroutine() string {
	buf := make([]byte, 64)
	name, _, _ := strings.Cut(string(buf[:runtime.Stack(buf, false)]), "[")
	return name
}

// ok are the keys that were done.
func (o *told) ok() []string {
	var keys []string
	for key, out := range o.outcomes {
		if out.Err == nil {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// writes is what a plan for values is, given what was listed.
func writes(values map[string]string, listed map[string]hosting.Variable) []hosting.Write {
	var all []hosting.Write
	for _, key := range slices.Sorted(maps.Keys(values)) {
		w := hosting.Write{Key: key, Value: api.NewSecret(values[key])}
		if v, ok := listed[key]; ok {
			w.Was = &v
		}
		all = append(all, w)
	}
	return all
}

// try lists a target and writes values to it.
func (s *scene) try(ctx context.Context, t hosting.Target, values map[string]string) (*told, error) {
	listed, err := s.list(ctx, t)
	if err != nil {
		return newTold(), err
	}
	return s.run(ctx, t, writes(values, listed))
}

// run writes.
func (s *scene) run(ctx context.Context, t hosting.Target, all []hosting.Write) (*told, error) {
	var keys []string
	for _, w := range all {
		keys = append(keys, w.Key)
	}
	o := newTold()
	err := s.p.Write(ctx, s.c, t, all, o.done)
	s.judge(o, keys, err)
	return o, err
}

// judge complains of what no run may tell.
func (s *scene) judge(o *told, keys []string, err error) {
	p := problems{s.clean(err)}
	p = append(p, o.wrong...)
	for key, out := range o.outcomes {
		if !slices.Contains(keys, key) {
			p.add("%s was told of, and is none of them", key)
		}
		p = append(p, s.clean(out.Err))
	}
	for _, key := range keys {
		if _, ok := o.outcomes[key]; !ok && err == nil {
			p.add("nothing was told of %s", key)
		}
	}
	s.complain(p.err())
}

// write wants values to be written.
func (s *scene) write(ctx context.Context, t hosting.Target, values map[string]string) (*told, error) {
	o, err := s.try(ctx, t, values)
	return o, errors.Join(err, o.allDone(values))
}

func (o *told) allDone(values map[string]string) error {
	var p problems
	for key := range values {
		if out, ok := o.outcomes[key]; ok && out.Err != nil {
			p.add("%s was not done: %w", key, out.Err)
		}
	}
	return p.err()
}

// take lists a target and deletes keys from it, as far as they are there.
func (s *scene) take(ctx context.Context, t hosting.Target, keys ...string) (*told, error) {
	listed, err := s.list(ctx, t)
	if err != nil {
		return newTold(), err
	}
	var all []hosting.Variable
	for _, key := range keys {
		v, ok := listed[key]
		if !ok {
			return newTold(), fmt.Errorf("%s is not listed", key)
		}
		all = append(all, v)
	}
	return s.drop(ctx, t, all)
}

func (s *scene) drop(ctx context.Context, t hosting.Target, all []hosting.Variable) (*told, error) {
	var keys []string
	for _, v := range all {
		keys = append(keys, v.Key)
	}
	o := newTold()
	err := s.p.Delete(ctx, s.c, t, all, o.done)
	s.judge(o, keys, err)
	return o, err
}

// remove wants keys to be deleted.
func (s *scene) remove(ctx context.Context, t hosting.Target, keys ...string) error {
	o, err := s.take(ctx, t, keys...)
	values := map[string]string{}
	for _, key := range keys {
		values[key] = ""
	}
	return errors.Join(err, o.allDone(values))
}

// holds wants an environment to hold just this.
func (h *Host) holds(environment string, want map[string]string) error {
	got := h.Held(environment)
	var p problems
	for key, value := range want {
		if v, ok := got[key]; !ok {
			p.add("%s does not hold %s", environment, key)
		} else if v != value {
			p.add("%s holds %q as %s, want %q", environment, short(v), key, short(value))
		}
	}
	for key := range got {
		if _, ok := want[key]; !ok {
			p.add("%s holds %s, and should not", environment, key)
		}
	}
	return p.err()
}

func short(value string) string {
	if len(value) > 60 {
		return value[:60] + "…"
	}
	return value
}

// on has a fault at requests that change variables, or at those that do not.
func (h *Host) on(writing bool, fault standin.Fault) standin.Fault {
	return func(f *standin.Fake, rw http.ResponseWriter, r *http.Request, next http.Handler) {
		if h.Writing(asCall(r)) == writing {
			fault(f, rw, r, next)
			return
		}
		next.ServeHTTP(rw, r)
	}
}

// nth has a fault at request number n, from 1, and at no other.
func nth(n int, fault standin.Fault) standin.Fault { return standin.After(n-1, standin.Once(fault)) }

// wrote counts the requests so far that changed variables.
func (h *Host) wrote() int {
	n := 0
	for _, c := range h.Fake.Log() {
		if h.Writing(c) {
			n++
		}
	}
	return n
}

func asCall(r *http.Request) standin.Call {
	return standin.Call{Host: r.Host, Method: r.Method, Path: r.URL.Path, Query: r.URL.Query(), Header: r.Header, Body: bodyOf(r)}
}

// sum is several sets of variables in one.
func sum(sets ...map[string]string) map[string]string {
	all := map[string]string{}
	for _, s := range sets {
		maps.Copy(all, s)
	}
	return all
}

// bodyOf reads a request's body and leaves it to be read again.
func bodyOf(r *http.Request) string {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return ""
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return string(body)
}
