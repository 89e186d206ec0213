package syncplan

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"coffer/server/api"
	"coffer/server/hosting"
)

var testProvider = hosting.Description{
	Name: "shelf", Display: "Shelf", ReservedPrefixes: []string{"SHELF_"}, MaxValue: 20, MaxKeys: 5, Reference: "${{",
	ValidKey: func(key string) bool { return key != "UNWANTED" },
}

// fingerprint of tests: values are told apart by what they are.
func fingerprint(key string, value api.Secret) []byte { return []byte(key + "=" + value.Reveal()) }

func legal(key string) bool { return api.ValidKey(key) }

// row is one situation of one key, and what a sync makes of it.
type row struct {
	name   string
	key    string // "" is "A"
	ours   string // none is no such key
	theirs *hosting.Variable
	known  *Known
	delete bool
	refer  bool

	action Action
	reason Reason
}

const none = "\x00none"

func readable(value string) *hosting.Variable {
	return &hosting.Variable{Value: api.NewSecret(value), Readable: true, Origin: hosting.FromUser, Mark: "m1"}
}

func hidden(mark string) *hosting.Variable {
	return &hosting.Variable{Origin: hosting.FromUser, Mark: mark}
}

func from(origin hosting.Origin, v *hosting.Variable) *hosting.Variable {
	v.Origin = origin
	return v
}

func wrote(value, mark string) *Known {
	return &Known{Fingerprint: []byte("A=" + value), Mark: mark}
}

func (r row) state(direction Direction) State {
	s := State{
		Direction: direction, AllowDelete: r.delete, AllowReferences: r.refer, Provider: testProvider,
		Local: map[string]api.Secret{}, Ledger: map[string]Known{}, Fingerprint: fingerprint, LegalKey: legal, MaxValue: 15,
	}
	key := r.key
	if key == "" {
		key = "A"
	}
	if r.ours != none {
		s.Local[key] = api.NewSecret(r.ours)
	}
	if r.theirs != nil {
		v := *r.theirs
		v.Key = key
		s.Remote = append(s.Remote, v)
	}
	if r.known != nil {
		s.Ledger[key] = *r.known
	}
	return s
}

func check(t *testing.T, direction Direction, rows []row) {
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			p := Make(r.state(direction))
			if len(p.Steps) != 1 {
				t.Fatalf("%d steps", len(p.Steps))
			}
			if got := p.Steps[0]; got.Action != r.action || got.Reason != r.reason {
				t.Errorf("%s (%s), want %s (%s)", got.Action, got.Reason, r.action, r.reason)
			}
		})
	}
}

func TestPush(t *testing.T) {
	check(t, Push, []row{
		{name: "absent there", ours: "1", action: Create, reason: AbsentAtTarget},
		{name: "empty is a value", ours: "", action: Create, reason: AbsentAtTarget},
		{name: "equal", ours: "1", theirs: readable("1"), action: Skip, reason: Unchanged},
		{name: "both empty", ours: "", theirs: readable(""), action: Skip, reason: Unchanged},
		{name: "different", ours: "1", theirs: readable("2"), action: Update, reason: Differs},
		{name: "emptied here", ours: "", theirs: readable("2"), action: Update, reason: Differs},
		{name: "unreadable and never written by us", ours: "1", theirs: hidden("m1"), action: Update, reason: UnreadableChanged},
		{name: "unreadable, as we wrote it", ours: "1", theirs: hidden("m1"), known: wrote("1", "m1"), action: Skip, reason: UnchangedUnreadable},
		{name: "unreadable, written by somebody since", ours: "1", theirs: hidden("m2"), known: wrote("1", "m1"), action: Update, reason: UnreadableChanged},
		{name: "unreadable, changed here since", ours: "2", theirs: hidden("m1"), known: wrote("1", "m1"), action: Update, reason: UnreadableChanged},
		{name: "unreadable without a mark", ours: "1", theirs: hidden(""), known: wrote("1", ""), action: Update, reason: UnreadableChanged},
		{name: "unreadable and empty here", ours: "", theirs: hidden("m1"), action: Update, reason: UnreadableChanged},
		{name: "shared with other targets", ours: "1", theirs: &hosting.Variable{Value: api.NewSecret("2"), Readable: true, Origin: hosting.FromUser, Shared: true}, action: Update, reason: Differs},
		{name: "only there", ours: none, theirs: readable("1"), action: Keep, reason: DeleteNotAllowed},
		{name: "only there, to be deleted", ours: none, theirs: readable("1"), delete: true, action: Delete, reason: AbsentAtSource},
		{name: "only there, unreadable, to be deleted", ours: none, theirs: hidden("m1"), delete: true, action: Delete, reason: AbsentAtSource},
		{name: "only there, of the system", ours: none, theirs: from(hosting.FromSystem, readable("1")), delete: true, action: Keep, reason: NotOwned},
		{name: "only there, of an integration", ours: none, theirs: from(hosting.FromIntegration, readable("1")), delete: true, action: Keep, reason: NotOwned},
		{name: "only there, inherited", ours: none, theirs: from(hosting.FromAbove, readable("1")), delete: true, action: Keep, reason: NotOwned},
		{name: "only there, a reference", ours: none, theirs: from(hosting.FromReference, readable("${{a}}")), delete: true, action: Keep, reason: NotOwned},
		{name: "only there, reserved", key: "SHELF_X", ours: none, theirs: readable("1"), delete: true, action: Keep, reason: NotOwned},
		{name: "of the system", ours: "1", theirs: from(hosting.FromSystem, readable("2")), action: Skip, reason: NotOwned},
		{name: "of an integration", ours: "1", theirs: from(hosting.FromIntegration, readable("2")), action: Skip, reason: NotOwned},
		{name: "inherited, equal", ours: "1", theirs: from(hosting.FromAbove, readable("1")), action: Skip, reason: Unchanged},
		{name: "inherited, different", ours: "1", theirs: from(hosting.FromAbove, readable("2")), action: Create, reason: AbsentAtTarget},
		{name: "inherited, unreadable", ours: "1", theirs: from(hosting.FromAbove, hidden("m1")), action: Create, reason: AbsentAtTarget},
		{name: "a value over a reference", ours: "1", theirs: from(hosting.FromReference, readable("${{a}}")), refer: true, action: Skip, reason: NotOwned},
		{name: "a reference, not allowed", ours: "${{a}}", action: Skip, reason: Unreadable},
		{name: "a reference, allowed", ours: "${{a}}", refer: true, action: Create, reason: AbsentAtTarget},
		{name: "a reference over its equal", ours: "${{a}}", theirs: from(hosting.FromReference, readable("${{a}}")), refer: true, action: Skip, reason: Unchanged},
		{name: "a reference over another", ours: "${{a}}", theirs: from(hosting.FromReference, readable("${{b}}")), refer: true, action: Update, reason: Differs},
		{name: "a reference over one that we wrote and cannot read", ours: "${{a}}", theirs: from(hosting.FromReference, hidden("m1")), known: wrote("${{a}}", "m1"), refer: true, action: Skip, reason: UnchangedUnreadable},
		{name: "a reference over one that cannot be read", ours: "${{a}}", theirs: from(hosting.FromReference, hidden("m1")), refer: true, action: Update, reason: UnreadableChanged},
		{name: "reserved", key: "SHELF_X", ours: "1", action: Skip, reason: ReservedKey},
		{name: "reserved and there", key: "SHELF_X", ours: "1", theirs: readable("2"), delete: true, action: Skip, reason: ReservedKey},
		{name: "not a name there", key: "UNWANTED", ours: "1", action: Skip, reason: InvalidKey},
		{name: "as large as can be", ours: strings.Repeat("x", 20), action: Create, reason: AbsentAtTarget},
		{name: "too large", ours: strings.Repeat("x", 21), action: Skip, reason: TooLarge},
	})
}

func TestPull(t *testing.T) {
	check(t, Pull, []row{
		{name: "absent here", ours: none, theirs: readable("1"), action: Create, reason: AbsentAtTarget},
		{name: "empty is a value", ours: none, theirs: readable(""), action: Create, reason: AbsentAtTarget},
		{name: "equal", ours: "1", theirs: readable("1"), action: Skip, reason: Unchanged},
		{name: "different", ours: "1", theirs: readable("2"), action: Update, reason: Differs},
		{name: "emptied there", ours: "1", theirs: readable(""), action: Update, reason: Differs},
		{name: "unreadable", ours: "1", theirs: hidden("m1"), delete: true, action: Skip, reason: Unreadable},
		{name: "unreadable and absent here", ours: none, theirs: hidden("m1"), action: Skip, reason: Unreadable},
		{name: "what is shown instead of a value", ours: "1", theirs: readable("[SENSITIVE]"), action: Skip, reason: Unreadable},
		{name: "a reference", ours: "1", theirs: from(hosting.FromReference, readable("${{a}}")), refer: true, action: Skip, reason: Unreadable},
		{name: "a reference that nobody called one", ours: "1", theirs: readable("${{a}}"), refer: true, action: Skip, reason: Unreadable},
		{name: "not a name here", key: "lower", ours: none, theirs: readable("1"), action: Skip, reason: InvalidKey},
		{name: "as large as can be", ours: none, theirs: readable(strings.Repeat("x", 15)), action: Create, reason: AbsentAtTarget},
		{name: "too large", ours: none, theirs: readable(strings.Repeat("x", 16)), action: Skip, reason: TooLarge},
		{name: "of the system", ours: none, theirs: from(hosting.FromSystem, readable("1")), action: Skip, reason: NotOwned},
		{name: "of an integration", ours: none, theirs: from(hosting.FromIntegration, readable("1")), action: Skip, reason: NotOwned},
		{name: "inherited", ours: none, theirs: from(hosting.FromAbove, readable("1")), action: Skip, reason: NotOwned},
		{name: "reserved", key: "SHELF_X", ours: "1", theirs: readable("2"), action: Skip, reason: ReservedKey},
		{name: "only here", ours: "1", action: Keep, reason: DeleteNotAllowed},
		{name: "only here, to be deleted", ours: "1", delete: true, action: Delete, reason: AbsentAtSource},
		{name: "only here, and never there", key: "SHELF_X", ours: "1", delete: true, action: Skip, reason: ReservedKey},
	})
}

func TestWarnings(t *testing.T) {
	codes := func(p Plan) string {
		var all []string
		for _, w := range p.Warnings {
			all = append(all, w.Code)
		}
		return strings.Join(all, " ")
	}
	for _, c := range []struct {
		row
		direction Direction
		want      string
	}{
		{row{name: "something is written", ours: "1"}, Push, "redeploy_needed"},
		{row{name: "something is deleted", ours: none, theirs: readable("1"), delete: true}, Push, "redeploy_needed"},
		{row{name: "nothing is written", ours: "1", theirs: readable("1")}, Push, ""},
		{row{name: "a pull", ours: "1", theirs: readable("2")}, Pull, ""},
		{row{name: "a reference of ours", ours: "${{a}}"}, Push, "reference"},
		{row{name: "a reference that is allowed", ours: "${{a}}", refer: true}, Push, "redeploy_needed"},
		{row{name: "a reference of theirs", ours: none, theirs: from(hosting.FromReference, readable("${{a}}"))}, Pull, "reference"},
		{row{name: "a reference that nobody called one", ours: none, theirs: readable("${{a}}")}, Pull, "reference"},
		{row{name: "unreadable there, a reference here", ours: "${{a}}", theirs: hidden("m")}, Pull, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := Make(c.state(c.direction))
			if got := codes(p); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
	s := row{ours: none}.state(Push)
	for i := range 6 {
		s.Local[fmt.Sprintf("K%d", i)] = api.NewSecret("1")
	}
	if got := codes(Make(s)); got != "redeploy_needed limit_exceeded" {
		t.Errorf("six keys where five fit: %q", got)
	}
}

// random is a state with a bit of everything.
func random(r *rand.Rand) State {
	s := State{
		Direction: Push, AllowDelete: r.IntN(2) == 0, AllowReferences: r.IntN(2) == 0, Provider: testProvider,
		Local: map[string]api.Secret{}, Ledger: map[string]Known{}, Fingerprint: fingerprint, LegalKey: legal, MaxValue: 15,
	}
	if r.IntN(2) == 0 {
		s.Direction = Pull
	}
	values := []string{"", "1", "2", "${{a}}", "[SENSITIVE]", strings.Repeat("x", 16), strings.Repeat("x", 30)}
	origins := []hosting.Origin{hosting.FromUser, hosting.FromUser, hosting.FromUser, hosting.FromSystem, hosting.FromIntegration, hosting.FromReference, hosting.FromAbove}
	for _, key := range []string{"A", "B", "C", "D", "E", "SHELF_X", "UNWANTED", "lower", "with space"} {
		if api.ValidKey(key) && r.IntN(3) > 0 {
			s.Local[key] = api.NewSecret(values[r.IntN(len(values))])
		}
		if r.IntN(3) > 0 {
			v := hosting.Variable{Key: key, Origin: origins[r.IntN(len(origins))], Mark: fmt.Sprint(r.IntN(2))}
			if v.Readable = r.IntN(3) > 0; v.Readable {
				v.Value = api.NewSecret(values[r.IntN(len(values))])
			}
			s.Remote = append(s.Remote, v)
		}
		if r.IntN(2) == 0 {
			s.Ledger[key] = Known{Fingerprint: fingerprint(key, api.NewSecret(values[r.IntN(len(values))])), Mark: fmt.Sprint(r.IntN(2))}
		}
	}
	return s
}

// TestWhatHoldsForEveryPlan makes many random states.
func TestWhatHoldsForEveryPlan(t *testing.T) {
	for n := range 3000 {
		r := rand.New(rand.NewPCG(uint64(n), 3))
		s := random(r)
		p := Make(s)
		holds(t, s, p)
		shuffled := s
		shuffled.Remote = slices.Clone(s.Remote)
		r.Shuffle(len(s.Remote), func(i, j int) {
			shuffled.Remote[i], shuffled.Remote[j] = shuffled.Remote[j], shuffled.Remote[i]
		})
		if again := Make(shuffled); again.Hash() != p.Hash() || fmt.Sprint(again.Warnings) != fmt.Sprint(p.Warnings) {
			t.Errorf("%d: the order of what the provider lists makes another plan", n)
		}
		if t.Failed() {
			t.Fatalf("state %d: %+v", n, p)
		}
	}
}

func holds(t *testing.T, s State, p Plan) {
	t.Helper()
	remote := make(map[string]hosting.Variable)
	for _, v := range s.Remote {
		remote[v.Key] = v
	}
	both := maps.Clone(s.Local)
	for key := range remote {
		both[key] = api.Secret{}
	}
	var keys []string
	for _, step := range p.Steps {
		keys = append(keys, step.Key)
		there, atTarget := remote[step.Key]
		value, here := s.Local[step.Key]
		if (step.Was != nil) != atTarget || step.Was != nil && step.Was.Key != step.Key {
			t.Errorf("%s was %v", step.Key, step.Was)
		}
		switch {
		case step.Action == Delete && !s.AllowDelete:
			t.Errorf("%s is deleted, which nobody allowed", step.Key)
		case step.Action == Delete && s.Direction == Push && (here || there.Origin != hosting.FromUser):
			t.Errorf("%s is deleted there, and is here or not the user's", step.Key)
		case step.Action == Delete && s.Direction == Pull && (!here || atTarget):
			t.Errorf("%s is deleted here, and is there", step.Key)
		case step.Action == Update && s.Direction == Push && there.Origin != hosting.FromUser && there.Origin != hosting.FromReference:
			t.Errorf("%s is written over, which is not the user's", step.Key)
		case (step.Action == Create || step.Action == Update) && s.Direction == Push && step.Value != value:
			t.Errorf("%s is given another value than ours", step.Key)
		case (step.Action == Create || step.Action == Update) && s.Direction == Pull && (!there.Readable || step.Value != there.Value || step.Value.Reveal() == "[SENSITIVE]"):
			t.Errorf("%s is pulled, and cannot be read", step.Key)
		case step.Action != Create && step.Action != Update && step.Value != (api.Secret{}):
			t.Errorf("%s carries a value that goes nowhere", step.Key)
		}
	}
	if want := slices.Sorted(maps.Keys(both)); !slices.Equal(want, keys) {
		t.Errorf("keys %q, want %q", keys, want)
	}
}

// TestTheHashNamesWhatIsDone changes one thing after the other.
func TestTheHashNamesWhatIsDone(t *testing.T) {
	base := row{ours: "1", theirs: readable("2")}
	first := Make(base.state(Push)).Hash("here")
	same := base
	same.theirs = readable("3") // what is written over does not matter, what is written does
	if Make(same.state(Push)).Hash("here") != first {
		t.Error("a value that is written over changes the hash")
	}
	for name, other := range map[string]string{
		"another value":   Make(row{ours: "5", theirs: readable("2")}.state(Push)).Hash("here"),
		"another key":     Make(row{key: "B", ours: "1", theirs: readable("2")}.state(Push)).Hash("here"),
		"another action":  Make(row{ours: "1"}.state(Push)).Hash("here"),
		"another place":   Make(base.state(Push)).Hash("there"),
		"other direction": Make(base.state(Pull)).Hash("here"),
		"may delete":      Make(row{ours: "1", theirs: readable("2"), delete: true}.state(Push)).Hash("here"),
	} {
		if other == first {
			t.Errorf("%s does not change the hash", name)
		}
	}
}

func TestKeysAndOf(t *testing.T) {
	p := Plan{Steps: []Step{{Key: "A", Action: Create}, {Key: "B", Action: Skip}, {Key: "C", Action: Create}}}
	if diff := cmp.Diff([]string{"A", "C"}, p.Keys(Create)); diff != "" {
		t.Error(diff)
	}
	if got := p.Keys(Delete); got == nil || len(got) != 0 {
		t.Errorf("no keys are %#v, want an empty list", got)
	}
	if got := p.Of(Skip, Create); len(got) != 3 {
		t.Errorf("%d steps", len(got))
	}
}
