package server_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"coffer/server/servertest"
)

var tableLine = regexp.MustCompile(`(?s)<tr><th scope="row">(.*?)</tr>`)

// shownTable is what the tables of a page say, a line for each row.
func shownTable(s *servertest.Seen) string {
	var all strings.Builder
	for _, m := range tableLine.FindAllStringSubmatch(s.Text, -1) {
		text := regexp.MustCompile(`<(script|button|option|select|label)[^>]*>|</[a-z]+>|<[^>]+>`).ReplaceAllString(m[1], " ")
		all.WriteString(strings.Join(strings.Fields(text), " ") + "\n")
	}
	return all.String()
}

// refusedFrom tries a form from another site, and without being signed in.
func refusedFrom(t *testing.T, in *servertest.Instance, b *servertest.Browser, path string, fields ...string) {
	t.Helper()
	s := b.Send("POST", path, servertest.Form(fields...), "Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example")
	expectSeen(t, s, 403, "another site")
	expectKept(t, in.Browser().Submit(path, fields...))
}

func TestEnvironmentsAreListed(t *testing.T) {
	in := town(t)
	const at = "/vaults/ann/api/environments"
	expect(t, in.Browser().Open(at), 303, "/login?return=%2Fvaults%2Fann%2Fapi%2Fenvironments")
	ann, bob := inBrowser(in, "ann"), inBrowser(in, "bob")
	s := expectSeen(t, ann.Open(at), 200, "New environment", "Roles read and triage see nothing of it")
	if got, want := shownTable(s), "development development 1 3 1 Up Down Change\nstaging standard 2 2 1 Up Down Change\nproduction protected 3 3 1 Up Down Change\n"; got != want {
		t.Errorf("ann sees\n%s", got)
	}
	if got := current(s); got != "Vaults true, Environments page" {
		t.Errorf("it is at %q", got)
	}
	s = expectSeen(t, bob.Open(at), 200)
	if got := shownTable(s); got != "development development 1 3 1\nstaging standard 2 2 1\n" || strings.Contains(s.Text, "<form method=\"post\" action=\"/vaults") {
		t.Errorf("bob sees\n%s", s.Text)
	}
	expectSeen(t, bob.Open(at+"/staging"), 403, "Admins of the repository")
	expectSeen(t, bob.Open(at+"/production"), 403, "Admins of the repository")
	expectSeen(t, bob.Open("/vaults/ann/web/environments"), 404)
	expectSeen(t, ann.Open(at+"/none"), 404, `This vault has no environment "none".`)
	expectSeen(t, ann.Open(at+"/%3Cb%3E"), 404, `This vault has no environment "<b>".`)
	expectSeen(t, ann.Open(at+"/production"), 200, "Delete the environment", "It has 3 secrets, at revision 1.")
}

func TestEnvironmentsAreMade(t *testing.T) {
	in := town(t)
	const at = "/vaults/ann/api/environments"
	ann, bob := inBrowser(in, "ann"), inBrowser(in, "bob")
	refusedFrom(t, in, ann, at, "name", "preview", "type", "")
	expectSeen(t, bob.Submit(at, "name", "preview", "type", ""), 403, "This needs the role admin")
	expect(t, ann.Submit(at, "name", " preview ", "type", ""), 303, at)
	expectSeen(t, ann.Open(at), 200, "The environment is there.")
	expect(t, ann.Submit(at, "name", "live-eu", "type", "protected"), 303, at)
	for fields, texts := range map[string][]string{
		"name=&type=":                  {`id="name-wrong"`},
		"type=":                        {"name"},
		"name=Pre%3Cb%3Eview&type=":    {`id="name-wrong"`, `value="Pre<b>view"`},
		"name=other&type=none":         {`id="type-wrong"`, `value="other"`},
		"name=preview&type=protected":  {`This vault has an environment "preview" already.`, `<option value="protected" selected>`},
		"name=preview&name=other&type": {"more than once"},
	} {
		s := ann.Send("POST", at, fields)
		for _, text := range texts {
			expectSeen(t, s, s.Status, text)
		}
		if s.Status < 400 || s.Status >= 500 || strings.Contains(s.Text, "<b>") {
			t.Errorf("%s: %d %s", fields, s.Status, s.Text)
		}
	}
	if got := shownTable(ann.Open(at)); !strings.HasSuffix(got, "preview standard 4 0 0 Up Down Change\nlive-eu protected 5 0 0 Up Down Change\n") {
		t.Errorf("there are\n%s", got)
	}
}

func TestEnvironmentsAreChanged(t *testing.T) {
	in := town(t)
	const list, at = "/vaults/ann/api/environments", "/vaults/ann/api/environments/staging"
	ann, bob := inBrowser(in, "ann"), inBrowser(in, "bob")
	for _, fields := range [][]string{{"do", "rename", "newName", "stage"}, {"do", "retype", "type", "protected"}, {"do", "delete", "confirm", "staging"}} {
		refusedFrom(t, in, ann, at, fields...)
		expectSeen(t, bob.Submit(at, fields...), 403, "This needs the role admin")
	}
	for _, tt := range []struct {
		fields []string
		status int
		texts  []string
	}{
		{[]string{"do", "rename", "newName", ""}, 422, []string{`id="newName-wrong"`}},
		{[]string{"do", "rename", "newName", `"><b>x`}, 422, []string{`id="newName-wrong"`, `value=""><b>x"`}},
		{[]string{"do", "rename", "newName", "production"}, 409, []string{`This vault has an environment "production" already.`, `value="production"`}},
		{[]string{"do", "retype", "type", "none"}, 422, []string{`id="type-wrong"`}},
		{[]string{"do", "delete", "confirm", "Staging"}, 422, []string{`id="confirm-wrong">Type exactly staging.`, `value="Staging"`}},
		{[]string{"do", "delete"}, 422, []string{`id="confirm-wrong">Type exactly staging.`}},
		{[]string{"do", "destroy", "confirm", "staging"}, 400, []string{"nothing that this page can do"}},
		{nil, 400, []string{"nothing that this page can do"}},
	} {
		if s := expectSeen(t, ann.Submit(at, tt.fields...), tt.status, tt.texts...); strings.Contains(s.Text, "<b>") {
			t.Errorf("%v: %s", tt.fields, s.Text)
		}
	}
	if got := shownTable(ann.Open(list)); !strings.Contains(got, "\nstaging standard 2 2 1 Up Down Change\n") {
		t.Fatalf("something changed:\n%s", got)
	}
	expect(t, ann.Submit(at, "do", "retype", "type", "protected"), 303, list)
	expectSeen(t, ann.Open(list), 200, "The environment has its new type.")
	expect(t, ann.Submit(at, "do", "rename", "newName", "stage"), 303, list)
	if got := shownTable(ann.Open(list)); !strings.Contains(got, "\nstage protected 2 2 1 Up Down Change\n") {
		t.Errorf("it was not changed:\n%s", got)
	}
	expect(t, ann.Submit(list+"/stage", "do", "delete", "confirm", " stage "), 303, list)
	for i, name := range []string{"development", "production"} {
		s := ann.Submit(list+"/"+name, "do", "delete", "confirm", name)
		if want := []int{303, 409}[i]; s.Status != want {
			t.Errorf("%s: %d, want %d", name, s.Status, want)
		}
		if s.Status == 409 {
			expectSeen(t, s, 409, fmt.Sprintf("%s is the vault's last environment.", name))
		}
	}
}

func TestEnvironmentsAreMoved(t *testing.T) {
	in := town(t)
	const list = "/vaults/ann/api/environments"
	ann, bob := inBrowser(in, "ann"), inBrowser(in, "bob")
	refusedFrom(t, in, ann, list+"/staging", "do", "up")
	expectSeen(t, bob.Submit(list+"/staging", "do", "up"), 403, "This needs the role admin")
	expectSeen(t, ann.Submit(list+"/none", "do", "up"), 404, `This vault has no environment "none".`)
	first := expectSeen(t, ann.Open(list), 200, `aria-label="Move development up" disabled`, `aria-label="Move production down" disabled`)
	if n := strings.Count(first.Text, " disabled>"); n != 2 {
		t.Errorf("%d buttons lead nowhere, want 2", n)
	}
	for _, move := range []struct{ name, do, back, order string }{
		{"production", "up", "#up-production", "development production staging"},
		{"production", "up", "#down-production", "production development staging"},
		{"production", "up", "", "production development staging"}, // it is the first already
		{"development", "down", "#up-development", "production staging development"},
	} {
		expect(t, ann.Submit(list+"/"+move.name, "do", move.do), 303, list+move.back)
		var rows []string
		for line := range strings.Lines(shownTable(ann.Open(list))) {
			rows = append(rows, strings.Fields(line)[0])
		}
		if got := strings.Join(rows, " "); got != move.order {
			t.Errorf("%s %s: %s, want %s", move.name, move.do, got, move.order)
		}
	}
	if got := regexp.MustCompile(`<th scope="col" data-environment="([a-z]+)"`).FindAllStringSubmatch(ann.Open("/vaults/ann/api").Text, -1); len(got) != 3 || got[0][1] != "production" || got[2][1] != "development" {
		t.Errorf("the matrix has %q", got)
	}
}
