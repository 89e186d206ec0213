package hostingtest

import (
	"net/http"
	"slices"
	"testing"

	"coffer/server/hosting"
)

// Via changes what goes between a client and its provider.
type Via func(next http.RoundTripper) http.RoundTripper

type tripper func(*http.Request) (*http.Response, error)

func (f tripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Requests changes every request on its way.
func Requests(change func(*http.Request)) Via {
	return func(next http.RoundTripper) http.RoundTripper {
		return tripper(func(r *http.Request) (*http.Response, error) {
			r = r.Clone(r.Context())
			change(r)
			return next.RoundTrip(r)
		})
	}
}

// Answers changes every answer on its way back.
func Answers(change func(*http.Request, *http.Response)) Via {
	return func(next http.RoundTripper) http.RoundTripper {
		return tripper(func(r *http.Request) (*http.Response, error) {
			res, err := next.RoundTrip(r)
			if err == nil {
				change(r, res)
			}
			return res, err
		})
	}
}

// Mutant is a client that is broken on purpose, and the names of rules that must
// not hold for it, others left aside.
type Mutant struct {
	Via    Via                                     // nil changes nothing
	Around func(hosting.Provider) hosting.Provider // nil changes nothing
	Breaks []string
}

// See wants the rules to see every mutant. Host makes a provider whose clients
// have via for a Transport of their own; nil is none.
func See(t *testing.T, host func(t *testing.T, via Via) *Host, mutants map[string]Mutant) {
	known := map[string]bool{}
	for _, rule := range Rules() {
		known[rule.Name] = true
	}
	for name, m := range mutants {
		t.Run(name, func(t *testing.T) {
			if !slices.ContainsFunc(m.Breaks, func(rule string) bool { return slices.Contains(alone, rule) }) {
				t.Parallel()
			}
			broken := Broken(t, func(t *testing.T) *Host {
				h := host(t, m.Via)
				if m.Around != nil {
					h.Wrap(m.Around)
				}
				return h
			}, m.Breaks...)
			if len(m.Breaks) == 0 {
				t.Error("it names no rule")
			}
			for _, rule := range m.Breaks {
				if !known[rule] {
					t.Errorf("there is no rule %q", rule)
				} else if !slices.Contains(broken, rule) {
					t.Errorf("%q holds for it", rule)
				}
			}
		})
	}
}
