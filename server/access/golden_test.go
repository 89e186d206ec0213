package access

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

func compareWithGolden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs; if that is meant, run with -update\n%s", path, diff)
	}
}

// Each cell has a letter for every type of environment in which the role may
// do the action by the matrix alone: d(evelopment), s(tandard), p(rotected).
func TestWhoMayDoWhat(t *testing.T) {
	roles := append([]Role{None}, Roles()...)
	var b strings.Builder
	for _, block := range []struct {
		title   string
		testKey bool
	}{{"live", false}, {"test", true}} {
		fmt.Fprintf(&b, "%-22s", block.title)
		for _, role := range roles {
			fmt.Fprintf(&b, " %-9s", role)
		}
		b.WriteString("\n")
		for _, a := range Actions() {
			if a.Row().Role == None {
				continue // not about a repository
			}
			fmt.Fprintf(&b, "%-22s", a)
			for _, role := range roles {
				fmt.Fprintf(&b, " %-9s", cell(a, role, block.testKey))
			}
			b.WriteString("\n")
		}
		b.WriteString("\n")
	}
	compareWithGolden(t, "testdata/allowed.txt", trimLines(b.String()))
}

func cell(a Action, role Role, testKey bool) string {
	letters := ""
	for _, et := range EnvTypes() {
		rights := Resolve(Subject{Role: role, Environment: "e", Type: et}, nil, nil)
		if a.Decide(Facts{Role: role, Rights: rights, Type: et, TestKey: testKey}) == Granted {
			letters += et.String()[:1]
		} else {
			letters += "-"
		}
	}
	return letters
}

func TestWhatEachActionNeeds(t *testing.T) {
	var b strings.Builder
	format := "%-22s %-27s %-16s %-6s %-10s %-6s %-9s %s\n"
	fmt.Fprintf(&b, format, "action", "scope, one of", "credential", "role", "standing", "right", "writable", "test key")
	for _, a := range Actions() {
		row := a.Row()
		role, standing, writable := "-", "-", "-"
		if row.Role == Read {
			role = "any"
		} else if row.Role != None {
			role = row.Role.String()
		}
		if row.Standing != Outsider {
			standing = row.Standing.String()
			if row.Role != None {
				standing = "or " + standing
			}
		}
		if row.Writable {
			writable = "writable"
		}
		test := [...]string{LikeLive: "-", Unguarded: "unguarded", Never: "never"}[row.Test]
		fmt.Fprintf(&b, format, a, orDash(row.Scopes.String()), row.Kinds, role, standing, letters(row.Rights), writable, test)
	}
	compareWithGolden(t, "testdata/needs.txt", trimLines(b.String()))
}

// TestWhoIsAdmitted shows which credential will do for what, whatever its scopes.
func TestWhoIsAdmitted(t *testing.T) {
	credentials := []Kinds{APIKey, JWT, PAT, Session, Session | OperatorSession, Operator}
	names := []string{"key", "jwt", "pat", "session", "operator's session", "operator's socket"}
	var b strings.Builder
	fmt.Fprintf(&b, "%-22s", "action")
	for _, name := range names {
		fmt.Fprintf(&b, " %-18s", name)
	}
	b.WriteString("\n")
	for _, a := range Actions() {
		fmt.Fprintf(&b, "%-22s", a)
		for _, c := range credentials {
			word := "-"
			if a.Admit(c, All) == Granted {
				word = "yes"
			}
			fmt.Fprintf(&b, " %-18s", word)
		}
		b.WriteString("\n")
	}
	compareWithGolden(t, "testdata/admitted.txt", trimLines(b.String()))
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func trimLines(s string) string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n") + "\n"
}
