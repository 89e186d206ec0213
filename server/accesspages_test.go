package server_test

import (
	"regexp"
	"strings"
	"testing"

	"coffer/server/servertest"
)

const accessAt = "/vaults/ann/api/access"

// shownRights are the lines of the first table of an access page.
func shownRights(s *servertest.Seen) string {
	before, _, _ := strings.Cut(s.Text, `<h2 id="overrides">`)
	return shownTable(&servertest.Seen{Text: before})
}

// shownOverrides are the overrides that a page lists, and their ids.
func shownOverrides(s *servertest.Seen) (lines string, ids []string) {
	for _, m := range regexp.MustCompile(`(?s)<h3>(.*?)</h3>`).FindAllStringSubmatch(s.Text, -1) {
		lines += strings.Join(strings.Fields(regexp.MustCompile(`<[^>]+>`).ReplaceAllString(m[1], " ")), " ") + "\n"
	}
	for _, m := range regexp.MustCompile(`name="id" value="([^"]+)"`).FindAllStringSubmatch(s.Text, -1) {
		ids = append(ids, m[1])
	}
	return lines, ids
}

func idOf(t *testing.T, in *servertest.Instance, user string) string {
	t.Helper()
	me, err := in.SignIn(user).Me(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return me.ID
}

func TestAccessSaysWhoMayDoWhat(t *testing.T) {
	in := town(t)
	expect(t, in.Browser().Open(accessAt), 303, "/login?return=%2Fvaults%2Fann%2Fapi%2Faccess")
	ann, bob := inBrowser(in, "ann"), inBrowser(in, "bob")
	s := expectSeen(t, ann.Open(accessAt), 200, "New override", "There is none.")
	want := "ann admin read and write read and write read and write\nbob read read read nothing\n"
	if got := shownRights(s); got != want {
		t.Errorf("ann sees\n%s", got)
	}
	if got := current(s); got != "Vaults true, Access page" {
		t.Errorf("it is at %q", got)
	}
	s = expectSeen(t, bob.Open(accessAt), 200, "What you may do", "Admins of the repository and owners")
	if got := shownRights(s); got != "bob read read read\n" || strings.Contains(s.Text, "production") || strings.Contains(s.Text, `method="post" action="/vaults`) {
		t.Errorf("bob sees\n%s\n%s", got, s.Text)
	}
	in.User("eve")
	expectSeen(t, inBrowser(in, "eve").Open(accessAt), 404)
}

func TestOverridesAreManagedOnAPage(t *testing.T) {
	in := town(t)
	ann, bob := inBrowser(in, "ann"), inBrowser(in, "bob")
	create := []string{"do", "create", "target", "user:" + idOf(t, in, "bob"), "environment", "production", "canRead", "on"}
	refusedFrom(t, in, ann, accessAt, create...)
	expectSeen(t, bob.Submit(accessAt, create...), 403, "This needs the role admin")
	expect(t, ann.Submit(accessAt, create...), 303, accessAt)
	expect(t, ann.Submit(accessAt, "do", "create", "target", "role:write", "environment", "*"), 303, accessAt)
	s := expectSeen(t, ann.Open(accessAt), 200, "The override holds from now on.", "set by ann")
	lines, ids := shownOverrides(s)
	if lines != "bob in production read\nRole write in all environments nothing\n" || len(ids) != 2 {
		t.Fatalf("%q %q", lines, ids)
	}
	if got := shownRights(s); !strings.Contains(got, "bob read read read read\n") {
		t.Errorf("the rights are\n%s", got)
	}
	expectSeen(t, bob.Open("/vaults/ann/api/environments"), 200, "production")
	if lines, ids := shownOverrides(bob.Open(accessAt)); lines != "bob in production read\nRole write in all environments nothing\n" || len(ids) != 0 {
		t.Errorf("bob sees %q %q", lines, ids)
	}

	// Each form is refused from elsewhere and to those without the right.
	for _, fields := range [][]string{{"do", "update", "id", ids[0], "canWrite", "on"}, {"do", "remove", "id", ids[0]}, {"do", "reset"}} {
		refusedFrom(t, in, ann, accessAt, fields...)
		expectSeen(t, bob.Submit(accessAt, fields...), 403, "This needs the role admin")
	}
	expectSeen(t, ann.Submit(accessAt, "do", "update", "id", "x"), 404, "no such override")
	expectSeen(t, ann.Submit("/vaults/ann/web/access", "do", "remove", "id", ids[0]), 404, "no such override")
	expect(t, ann.Submit(accessAt, "do", "update", "id", ids[0], "canWrite", "on"), 303, accessAt)
	if lines, _ := shownOverrides(ann.Open(accessAt)); !strings.HasPrefix(lines, "bob in production write only\n") {
		t.Errorf("changed to %q", lines)
	}
	expect(t, ann.Submit(accessAt, "do", "remove", "id", ids[0]), 303, accessAt)
	if lines, _ := shownOverrides(ann.Open(accessAt)); lines != "Role write in all environments nothing\n" {
		t.Errorf("left: %q", lines)
	}
	expect(t, ann.Submit(accessAt, "do", "reset"), 303, accessAt)
	expectSeen(t, ann.Open(accessAt), 200, "All overrides are removed.", "There is none.")
}

func TestWhatIsWrongWithAnOverrideStandsBesideIt(t *testing.T) {
	in := town(t)
	ann := inBrowser(in, "ann")
	expect(t, ann.Submit(accessAt, "do", "create", "target", "role:read", "environment", "*"), 303, accessAt)
	for _, tt := range []struct {
		target, environment string
		status              int
		text                string
	}{
		{"", "*", 422, `id="target-wrong">Choose a role`},
		{"role:none", "*", 422, `id="target-wrong">`},
		{"role:<b>", "*", 422, `id="target-wrong">`},
		{"user:none", "*", 422, `id="target-wrong">`},
		{"user:01a1f9bc-a0ba-76af-bc23-b419cea0a4c4", "*", 422, `id="target-wrong">`},
		{"role:write", "none", 422, `id="environment-wrong">This vault has no environment "none".`},
		{"role:write", "<b>", 422, `id="environment-wrong">`},
		{"role:read", "*", 409, "There is an override for this target already."},
	} {
		s := expectSeen(t, ann.Submit(accessAt, "do", "create", "target", tt.target, "environment", tt.environment, "canWrite", "on"), tt.status, tt.text, `name="canWrite" value="on" checked`)
		if strings.Contains(s.Text, "<b>") {
			t.Errorf("%v: %s", tt, s.Text)
		}
	}
	expectSeen(t, ann.Submit(accessAt, "do", "x"), 400, "nothing that this page can do")
	if lines, _ := shownOverrides(ann.Open(accessAt)); lines != "Role read in all environments nothing\n" {
		t.Errorf("there are %q", lines)
	}
}
