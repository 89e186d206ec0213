package cli

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// values writes a state of the one key K: "-" is none.
func values(word string) map[string]string {
	if word == "-" {
		return map[string]string{}
	}
	return map[string]string{"K": word}
}

func TestTheSideThatChangedCounts(t *testing.T) {
	const (
		conflicted = "conflict"
		untouched  = "untouched" // not pushed: the vault keeps what it has
	)
	m := &memory{}
	for _, c := range []struct{ agreed, theirs, mine, merge, prune string }{
		{"1", "1", "1", "1", "1"},
		{"1", "1", "2", "2", "2"},
		{"1", "2", "1", untouched, "2"},
		{"1", "2", "2", "2", "2"},
		{"1", "2", "3", conflicted, conflicted},
		{"1", "1", "-", untouched, "-"},
		{"1", "2", "-", untouched, conflicted},
		{"1", "-", "1", untouched, "-"},
		{"1", "-", "2", conflicted, conflicted},
		{"-", "-", "2", "2", "2"},
		{"-", "2", "2", "2", "2"},
		{"-", "2", "3", conflicted, conflicted},
		{"-", "2", "-", untouched, conflicted},
		{"1", "-", "-", untouched, "-"},
	} {
		for prune, want := range map[bool]string{false: c.merge, true: c.prune} {
			s := sides{m.marksOf(values(c.agreed)), values(c.theirs), values(c.mine), m.mark, prune}
			met := s.meet()
			got, sent := met.values["K"]
			switch {
			case len(met.conflicts) > 0:
				got = conflicted
			case !sent && prune:
				got = "-" // replaced by nothing
			case !sent:
				got = untouched
			}
			if got != want {
				t.Errorf("agreed %s, vault %s, file %s, prune %v: got %s, want %s", c.agreed, c.theirs, c.mine, prune, got, want)
			}
		}
	}
}

func TestConflictsAreSettledByOneSide(t *testing.T) {
	m := &memory{}
	for _, c := range []struct {
		theirs, mine, word string
		prune, takeMine    bool
	}{
		{"2", "3", "3", false, true},
		{"2", "3", "", false, false},
		{"2", "3", "2", true, false},
		{"-", "3", "", true, false},
		{"2", "-", "", true, true},
		{"2", "-", "2", true, false},
	} {
		s := sides{m.marksOf(values("1")), values(c.theirs), values(c.mine), m.mark, c.prune}
		met := s.meet()
		if len(met.conflicts) != 1 {
			t.Fatalf("%+v is no conflict", c)
		}
		s.take(met, c.takeMine)
		if got := met.values["K"]; got != c.word || len(met.conflicts) != 0 {
			t.Errorf("%+v: pushed %q", c, got)
		}
	}
}

func TestWhatWasNotPushedIsNotAgreedOn(t *testing.T) {
	m := &memory{}
	old := map[string]string{"BEHIND": "1", "GONE": "1", "MINE": "1", "OTHER": "1"}
	s := sides{
		agreed: m.marksOf(old), mark: m.mark, prune: true,
		theirs: map[string]string{"BEHIND": "2", "GONE": "1", "MINE": "1", "OTHER": "1"},
		mine:   map[string]string{"BEHIND": "1", "MINE": "2", "OTHER": "1"},
	}
	want := m.marksOf(map[string]string{"BEHIND": "1", "MINE": "2", "OTHER": "1"})
	if diff := cmp.Diff(want, s.after(s.meet(), s.agreed)); diff != "" {
		t.Error(diff)
	}
}

func TestAMarkTellsNoValueAndFitsOneKeyOnly(t *testing.T) {
	a, b := &memory{key: []byte("a")}, &memory{key: []byte("b")}
	all := map[string]bool{a.mark("K", "v"): true, a.mark("L", "v"): true, a.mark("K", "w"): true, b.mark("K", "v"): true, a.mark("", "K v"): true}
	if len(all) != 5 {
		t.Errorf("two marks are the same: %v", all)
	}
}
