// Package syncplan decides what a sync does: for every key whether it is created,
// updated, deleted, skipped or kept, and why. It knows no clock, no network and no
// store; the same state always gives the same plan.
//
// What it may not do is what syncs are feared for: delete what it was not told to
// delete, write over what belongs to somebody else, or take a value that cannot
// be read for one that is empty.
package syncplan

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"coffer/server/api"
	"coffer/server/hosting"
)

// Direction is where values flow to.
type Direction string

// The directions: to the provider, and from it.
const (
	Push Direction = "push"
	Pull Direction = "pull"
)

// Action is what happens to a key.
type Action string

// The actions. Skipped keys are named in the answer's lists, kept ones are not:
// nobody asked for anything to happen to them.
const (
	Create Action = "create"
	Update Action = "update"
	Delete Action = "delete"
	Skip   Action = "skip"
	Keep   Action = "keep"
)

// Reason is why. The list is closed, by the contract.
type Reason string

// The reasons.
const (
	AbsentAtTarget      Reason = "absent_at_target"
	Differs             Reason = "differs"
	UnreadableChanged   Reason = "unreadable_changed"
	Unchanged           Reason = "unchanged"
	UnchangedUnreadable Reason = "unchanged_unreadable"
	Unreadable          Reason = "unreadable"
	InvalidKey          Reason = "invalid_key"
	ReservedKey         Reason = "reserved_key"
	TooLarge            Reason = "too_large"
	NotOwned            Reason = "not_owned"
	AbsentAtSource      Reason = "absent_at_source"
	DeleteNotAllowed    Reason = "delete_not_allowed"
)

// Warning is what whoever reads a plan should know besides it.
type Warning struct {
	Code    string
	Message string
}

// Known is what the ledger holds of a key: what we wrote last.
type Known struct {
	Fingerprint []byte // of the value
	Mark        string // of the variable as it was then at the provider
}

// State is all that a plan depends on.
type State struct {
	Direction       Direction
	AllowDelete     bool
	AllowReferences bool // values that refer to others at the provider may be pushed

	Provider hosting.Description
	Local    map[string]api.Secret
	Remote   []hosting.Variable
	Ledger   map[string]Known

	// Fingerprint tells values apart without giving them away.
	Fingerprint func(key string, value api.Secret) []byte

	// LegalKey and MaxValue (bytes) are our own rules, which a pull keeps.
	LegalKey func(string) bool
	MaxValue int
}

// Step is what happens to one key.
type Step struct {
	Key    string
	Action Action
	Reason Reason
	Value  api.Secret        // of what is created or updated
	Was    *hosting.Variable // at the provider; nil when it has none
}

// Plan is what a sync does. Its steps are sorted by key and name each key once.
type Plan struct {
	Steps    []Step
	Warnings []Warning

	hash string
}

// Make plans. It keeps nothing of s and changes nothing in it.
func Make(s State) Plan {
	remote := make(map[string]*hosting.Variable, len(s.Remote))
	for _, v := range s.Remote {
		remote[v.Key] = &v
	}
	keys := slices.Sorted(maps.Keys(s.Local))
	for key := range remote {
		if _, ok := s.Local[key]; !ok {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	decide := s.push
	if s.Direction == Pull {
		decide = s.pull
	}
	p := Plan{Steps: make([]Step, 0, len(keys))}
	for _, key := range keys {
		value, here := s.Local[key]
		step := Step{Key: key, Was: remote[key]}
		step.Action, step.Reason = decide(key, value, here, step.Was)
		switch {
		case step.Action != Create && step.Action != Update:
		case s.Direction == Pull:
			step.Value = step.Was.Value
		default:
			step.Value = value
		}
		p.Steps = append(p.Steps, step)
	}
	p.Warnings = s.warnings(p.Steps)
	p.hash = s.hash(p.Steps)
	return p
}

// push decides about a key of ours, or about one that only the provider has.
func (s State) push(key string, value api.Secret, here bool, there *hosting.Variable) (Action, Reason) {
	switch {
	case !here && (there.Origin != hosting.FromUser || s.reserved(key)):
		return Keep, NotOwned
	case !here && !s.AllowDelete:
		return Keep, DeleteNotAllowed
	case !here:
		return Delete, AbsentAtSource
	case s.reserved(key):
		return Skip, ReservedKey
	case s.Provider.ValidKey != nil && !s.Provider.ValidKey(key):
		return Skip, InvalidKey
	case s.Provider.MaxValue > 0 && value.Len() > s.Provider.MaxValue:
		return Skip, TooLarge
	case s.refers(value) && !s.AllowReferences:
		return Skip, Unreadable
	case there == nil:
		return Create, AbsentAtTarget
	case there.Origin == hosting.FromAbove:
		return s.override(value, there)
	case there.Origin != hosting.FromUser && !(there.Origin == hosting.FromReference && s.refers(value)):
		return Skip, NotOwned // unless the user wants references, and this is one
	case there.Readable:
		return s.compare(value, there)
	case s.proved(key, value, there):
		return Skip, UnchangedUnreadable
	default:
		return Update, UnreadableChanged
	}
}

func (s State) compare(value api.Secret, there *hosting.Variable) (Action, Reason) {
	if there.Value.Reveal() == value.Reveal() {
		return Skip, Unchanged
	}
	return Update, Differs
}

// override decides about a key that the target has from above. A variable of its
// own goes before it and leaves it as it is.
func (s State) override(value api.Secret, there *hosting.Variable) (Action, Reason) {
	if there.Readable && there.Value.Reveal() == value.Reveal() {
		return Skip, Unchanged
	}
	return Create, AbsentAtTarget
}

// proved reports whether the ledger shows that an unreadable variable still has
// this value: we wrote it, and nobody has written the variable since.
func (s State) proved(key string, value api.Secret, there *hosting.Variable) bool {
	last, ok := s.Ledger[key]
	return ok && there.Mark != "" && last.Mark == there.Mark && bytes.Equal(last.Fingerprint, s.Fingerprint(key, value))
}

// sensitive is what a provider's own client shows instead of a value.
const sensitive = "[SENSITIVE]"

// pull decides about a key of the provider's, or about one that only we have.
func (s State) pull(key string, value api.Secret, here bool, there *hosting.Variable) (Action, Reason) {
	switch {
	case there == nil && !s.AllowDelete:
		return Keep, DeleteNotAllowed
	case s.reserved(key):
		return Skip, ReservedKey // it could not be there, so that it is not says nothing
	case there == nil:
		return Delete, AbsentAtSource
	case s.isReference(there):
		return Skip, Unreadable
	case there.Origin != hosting.FromUser:
		return Skip, NotOwned
	case !there.Readable, there.Value.Reveal() == sensitive:
		return Skip, Unreadable
	case !s.LegalKey(key):
		return Skip, InvalidKey
	case there.Value.Len() > s.MaxValue:
		return Skip, TooLarge
	case !here:
		return Create, AbsentAtTarget
	default:
		return s.compare(value, there)
	}
}

func (s State) reserved(key string) bool {
	return slices.ContainsFunc(s.Provider.ReservedPrefixes, func(p string) bool { return strings.HasPrefix(key, p) })
}

func (s State) refers(value api.Secret) bool {
	return s.Provider.Reference != "" && strings.Contains(value.Reveal(), s.Provider.Reference)
}

func (s State) isReference(v *hosting.Variable) bool {
	return v.Origin == hosting.FromReference || v.Origin == hosting.FromUser && s.refers(v.Value)
}

// warnings is what a plan's steps do not say.
func (s State) warnings(steps []Step) []Warning {
	all := []Warning{}
	var references []string
	writes, held := 0, 0
	for _, step := range steps {
		if step.Reason == Unreadable && (s.Direction == Push || s.isReference(step.Was)) {
			references = append(references, step.Key)
		}
		switch step.Action {
		case Create:
			writes, held = writes+1, held+1
		case Update:
			writes++
		case Delete:
			writes, held = writes+1, held-1
		}
	}
	if s.Direction == Push && writes > 0 {
		all = append(all, Warning{"redeploy_needed", s.Provider.Effect()})
	}
	if held += s.owned(); s.Direction == Push && s.Provider.MaxKeys > 0 && held > s.Provider.MaxKeys {
		all = append(all, Warning{"limit_exceeded", fmt.Sprintf("%s takes %d variables in one place; there would be %d.", s.Provider.Display, s.Provider.MaxKeys, held)})
	}
	if len(references) > 0 {
		all = append(all, Warning{"reference", fmt.Sprintf("Not synced, because their values refer to others at %s: %s.", s.Provider.Display, strings.Join(references, ", "))})
	}
	return all
}

// owned counts the variables that count against the provider's limit.
func (s State) owned() (n int) {
	for _, v := range s.Remote {
		if v.Origin == hosting.FromUser || v.Origin == hosting.FromReference {
			n++
		}
	}
	return n
}

// Hash names the plan: what it does and with which values. Where is what else it
// depends on, such as the target. The values cannot be had from it.
func (p Plan) Hash(where ...string) string {
	h := sha256.Sum256([]byte(strings.Join(append(where, p.hash), "\x00")))
	return hex.EncodeToString(h[:])
}

func (s State) hash(steps []Step) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s\x00%t\x00", s.Direction, s.AllowDelete)
	for _, step := range steps {
		fmt.Fprintf(h, "%s\x00%s\x00%s\x00", step.Key, step.Action, step.Reason)
		switch step.Action {
		case Create, Update:
			fmt.Fprintf(h, "%x\x00", s.Fingerprint(step.Key, step.Value))
		case Delete:
			if step.Was != nil {
				fmt.Fprintf(h, "%s\x00", step.Was.Mark)
			}
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Keys are the sorted names of the keys that an action happens to.
func (p Plan) Keys(a Action) []string {
	keys := []string{}
	for _, step := range p.Steps {
		if step.Action == a {
			keys = append(keys, step.Key)
		}
	}
	return keys
}

// Of are the steps of some actions, in the order of their keys.
func (p Plan) Of(actions ...Action) []Step {
	var all []Step
	for _, step := range p.Steps {
		if slices.Contains(actions, step.Action) {
			all = append(all, step)
		}
	}
	return all
}
