package warden_test

import (
	"fmt"
	"strings"
	"testing"

	"coffer/server/api"
	"coffer/server/warden"
)

func TestAnEnvFileIsReadBeforeItIsStored(t *testing.T) {
	for name, c := range map[string]struct{ text, entries, problems string }{
		"good":      {"# x\nA=1\nexport B=\"two words\"\n", "A:2=1 B:3=two words", ""},
		"nothing":   {"", "", ""},
		"twice":     {"A=1\nB=2\nA=3\n", "B:2=2 A:3=3", "1 A is set again in line 3"},
		"a bad key": {"lower=canary\nA=1\n", "A:2=1", "1 It is left out. A key starts with A-Z"},
		"too long":  {"A=" + strings.Repeat("x", api.MaxValueLarge+1), "", "1 It is left out: a value has at most"},
		"no equals": {"A=1\ncanary\n", "", `2 The file cannot be read from here on, at character 1: no "="`},
		"no text":   {"A=\x00", "", "1 The file cannot be read"},
	} {
		f := warden.ReadEnvFile(api.NewSecret(c.text))
		var entries, problems []string
		for _, e := range f.Entries {
			entries = append(entries, fmt.Sprintf("%s:%d=%s", e.Key, e.Line, e.Value.Reveal()))
		}
		for _, p := range f.Problems {
			problems = append(problems, fmt.Sprint(p.Line, " ", p.Text))
		}
		if got := strings.Join(entries, " "); got != c.entries || len(f.Values()) != len(entries) {
			t.Errorf("%s: %q", name, got)
		}
		got := strings.Join(problems, "\n")
		if c.problems == "" && got != "" || !strings.HasPrefix(got, c.problems) || strings.Contains(got, "canary") {
			t.Errorf("%s: problems %q", name, got)
		}
	}
}
