package standin

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"
)

// Rule is something that holds at everybody of a kind, of whom H is one.
type Rule[H any] struct {
	Name  string
	Needs func(H) bool // nil: nothing
	Check func(context.Context, H) error
}

// Suite is all that holds at everybody of a kind.
type Suite[H any] struct {
	Rules  []Rule[H]
	Alone  []string      // names of the rules that are not checked beside others
	Time   time.Duration // bounds the check of one rule
	Always func(H) error // must hold after every rule, whatever was asked
}

// Run checks every rule, each against an H of its own, and most of them at the same
// time: after the test that calls it has returned.
func (s Suite[H]) Run(t *testing.T, host func(*testing.T) H) {
	for _, rule := range s.Rules {
		t.Run(rule.Name, func(t *testing.T) {
			if !slices.Contains(s.Alone, rule.Name) {
				t.Parallel()
			}
			h := host(t)
			if rule.Needs != nil && !rule.Needs(h) {
				t.Skip("there is no such thing here")
			}
			if err := s.verify(t.Context(), rule, h); err != nil {
				t.Error(err)
			}
		})
	}
}

// Broken checks every rule and returns the names of those that do not hold: for
// tests that break something on purpose. No rules named means all.
func (s Suite[H]) Broken(t *testing.T, host func(*testing.T) H, only ...string) []string {
	t.Helper()
	var broken []string
	for _, rule := range s.Rules {
		if len(only) > 0 && !slices.Contains(only, rule.Name) {
			continue
		}
		h := host(t)
		if rule.Needs != nil && !rule.Needs(h) {
			continue
		}
		if err := s.verify(t.Context(), rule, h); err != nil {
			broken = append(broken, rule.Name)
		}
	}
	return broken
}

func (s Suite[H]) verify(ctx context.Context, rule Rule[H], h H) error {
	ctx, cancel := context.WithTimeout(ctx, s.Time)
	defer cancel()
	return errors.Join(rule.Check(ctx, h), s.Always(h))
}
