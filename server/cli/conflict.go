package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"coffer/server/api"
)

// settle decides the conflicts: as the flags say, or as the answer does. In a dry
// run they stay undecided.
func (p *pushing) settle(ctx context.Context, s sides) (m *meeting, undecided []conflict, err error) {
	m = s.meet()
	if len(m.conflicts) == 0 {
		return m, nil, nil
	}
	if p.values {
		p.addValues(ctx, s, m.conflicts)
	}
	mine := false
	switch {
	case p.keepTheirs:
	case p.dryRun:
		undecided = m.conflicts
		s.take(m, false)
		m.kept = without(m.kept, undecided)
		return m, undecided, nil
	default:
		if !p.out.json || p.out.canAsk() {
			p.show(m.conflicts)
		}
		if mine, err = p.ask(ctx, m.conflicts); err != nil {
			return nil, nil, err
		}
	}
	s.take(m, mine)
	return m, nil, nil
}

func without(keys []string, conflicts []conflict) []string {
	var rest []string
	in := map[string]bool{}
	for _, c := range conflicts {
		in[c.Key] = true
	}
	for _, key := range keys {
		if !in[key] {
			rest = append(rest, key)
		}
	}
	return rest
}

// show is the view of three sides, for people.
func (p *pushing) show(conflicts []conflict) {
	seen := "since coffer looked a moment ago"
	if p.known != nil {
		seen = fmt.Sprintf("since they last agreed, at revision %d", p.known.Revision)
	}
	p.out.note("Changed in %s of %s and in %s %s:", p.environment, p.repo, fileName(p.file), seen)
	rows := [][]string{{"", "vault", fileName(p.file)}}
	for _, c := range conflicts {
		theirs, mine := c.Theirs, c.Mine
		if c.Mine == absent {
			mine = "has no such key"
		}
		if c.Values != nil {
			theirs, mine = theirs+shown(" to ", c.Values.Theirs), mine+shown(" to ", c.Values.Mine)
			theirs = strings.TrimPrefix(shown("was ", c.Values.Base)+", "+theirs, ", ")
		}
		rows = append(rows, []string{c.Key, theirs, mine})
	}
	p.out.noteTable(rows)
}

func shown(word string, v *api.Revealed) string {
	if v == nil {
		return ""
	}
	return fmt.Sprintf("%s%q", word, string(*v))
}

// ask wants a decision: true for the file, false for the vault.
func (p *pushing) ask(ctx context.Context, conflicts []conflict) (mine bool, err error) {
	if p.out.canAsk() {
		answer, err := p.out.choose(ctx, "Keep the vault's (v), push yours (m), or stop (s)? [v/m/S]")
		if err != nil {
			return false, err
		}
		switch answer {
		case "v", "m":
			return answer == "m", nil
		}
		return false, &conflictError{failure{exitConflict, "Nothing was pushed."}, conflicts}
	}
	names := make([]string, len(conflicts))
	for i, c := range conflicts {
		names[i] = c.Key
	}
	text := fmt.Sprintf("%s of %s and %s both changed: %s. Nothing was pushed.\nTo see how: coffer diff --values%s\nTo keep the vault's: %s --keep-theirs\nTo push yours: %s --force",
		p.environment, p.repo, fileName(p.file), strings.Join(names, ", "), p.where("-f"), p.command(), p.command())
	return false, &conflictError{failure{exitConflict, text}, conflicts}
}

// conflictError is a push that both sides stand in the way of.
type conflictError struct {
	failure
	conflicts []conflict
}

func (c *conflictError) Unwrap() error { return &c.failure }

func conflictsOf(err error) []conflict {
	if c, ok := errors.AsType[*conflictError](err); ok {
		return c.conflicts
	}
	return nil
}

// command is this push, to be typed again.
func (p *pushing) command() string {
	command := "coffer push" + p.where("-f")
	if p.prune {
		command += " --prune"
	}
	return command
}

// where are the flags that name file and environment, for a command that calls
// the file by this flag.
func (o pushOptions) where(file string) string {
	flags := ""
	if file != "" && o.file != ".env" && o.file != "-" {
		flags += " " + file + " " + o.file
	}
	if o.environment != defaultEnvironment {
		flags += " -e " + o.environment
	}
	return flags
}

// sideValue is the values of a conflict; an absent one is null.
type sideValue struct {
	Base   *api.Revealed `json:"base"`
	Theirs *api.Revealed `json:"theirs"`
	Mine   *api.Revealed `json:"mine"`
}

// addValues adds the values of all sides. That of the base comes from the past of
// the vault; it is shown only if it is the one that was agreed on.
func (p *pushing) addValues(ctx context.Context, s sides, conflicts []conflict) {
	var was map[string]string
	if p.known != nil {
		revision := int(p.known.Revision)
		was, _, _ = pullWith(ctx, p.client, p.place, api.PullSecrets{Revision: &revision})
	}
	for i, c := range conflicts {
		v := &sideValue{Theirs: valueOf(s.theirs, c.Key), Mine: valueOf(s.mine, c.Key)}
		if old, there := was[c.Key]; there && s.mark(c.Key, old) == s.agreed[c.Key] {
			v.Base = valueOf(was, c.Key)
		}
		conflicts[i].Values = v
	}
}
