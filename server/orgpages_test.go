package server_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"coffer/server/api"
	"coffer/server/servertest"
)

// club is an instance with the organization acme, which ann owns and bob is in.
func club(t *testing.T) *servertest.Instance {
	t.Helper()
	in := servertest.New(t)
	ann := in.User("ann")
	in.User("bob")
	if _, err := in.Operator.AddLocalOrg(t.Context(), api.AddLocalOrg{Name: "acme"}); err != nil {
		t.Fatal(err)
	}
	in.Member("acme", "ann", "owner")
	in.Member("acme", "bob", "member")
	in.Vault(ann, "acme/api")
	return in
}

// permissions is the form for default permissions as a page has it, changed.
func permissions(s *servertest.Seen, changed ...string) []string {
	fields := []string{"do", "defaults"}
	for _, m := range regexp.MustCompile(`(?s)<select id="([a-z]+-[a-z]+)".*?<option value="(..)" selected>`).FindAllStringSubmatch(s.Text, -1) {
		value := m[2]
		for i := 0; i+1 < len(changed); i += 2 {
			if changed[i] == m[1] {
				value = changed[i+1]
			}
		}
		if value != "" {
			fields = append(fields, m[1], value)
		}
	}
	return fields
}

func TestOrganizationsAreListed(t *testing.T) {
	in := club(t)
	expect(t, in.Browser().Open("/orgs"), 303, "/login?return=%2Forgs")
	expect(t, in.Browser().Open("/orgs/acme"), 303, "/login?return=%2Forgs%2Facme")
	ann, bob := inBrowser(in, "ann"), inBrowser(in, "bob")
	s := expectSeen(t, ann.Open("/orgs"), 200, "you are an owner", "2 members", "1 vault")
	if got := links(s, "/orgs"); got != "/orgs/acme" || current(s) != "Organizations page" {
		t.Errorf("links %s at %s", got, current(s))
	}
	expectSeen(t, bob.Open("/orgs"), 200, "you are a member")
	s = expectSeen(t, ann.Open("/orgs/acme"), 200, "Read the roster again", "Save the name", "Save the permissions", "as usual: read and write")
	if got := shownTable(s); !strings.HasPrefix(got, "ann owner since ") || !strings.Contains(got, "\nbob member since ") || current(s) != "Organizations true, Members and permissions page" {
		t.Errorf("ann sees\n%s at %s", got, current(s))
	}
	s = expectSeen(t, bob.Open("/orgs/acme"), 200, "Owners of the organization change them.")
	if got := shownTable(s); !strings.Contains(got, "\nread as usual: read as usual: read as usual: nothing\n") || strings.Contains(s.Text, `action="/orgs`) {
		t.Errorf("bob sees\n%s", got)
	}
	in.User("eve")
	eve := inBrowser(in, "eve")
	expectSeen(t, eve.Open("/orgs"), 200, "You are a member of no organization.")
	expectSeen(t, eve.Open("/orgs/acme"), 403, "Only members of acme may see this.")
	s = expectSeen(t, eve.Open("/orgs/%3Cb%3E"), 404)
	if strings.Contains(s.Text, "<b>") {
		t.Error(s.Text)
	}
}

func TestOwnersNameTheirOrganization(t *testing.T) {
	in := club(t)
	ann, bob := inBrowser(in, "ann"), inBrowser(in, "bob")
	refusedFrom(t, in, ann, "/orgs/acme", "do", "rename", "displayName", "x")
	for _, fields := range [][]string{{"do", "rename", "displayName", "x"}, permissions(ann.Open("/orgs/acme")), {"do", "sync"}} {
		expectSeen(t, bob.Submit("/orgs/acme", fields...), 403, "Only an owner of acme may do this.")
	}
	expect(t, ann.Submit("/orgs/acme", "do", "rename", "displayName", " <b>Acme</b> "), 303, "/orgs/acme")
	s := expectSeen(t, ann.Open("/orgs/acme"), 200, "The name is saved.", "<h1><b>Acme</b></h1>")
	if strings.Contains(s.Text, "<b>") || strings.Contains(ann.Open("/orgs").Text, "<b>") {
		t.Error(s.Text)
	}
	long := strings.Repeat("x", 101)
	expectSeen(t, ann.Submit("/orgs/acme", "do", "rename", "displayName", long), 422, `id="displayName-wrong">At most 100`, long)
	expect(t, ann.Submit("/orgs/acme", "do", "rename", "displayName", ""), 303, "/orgs/acme")
	expectSeen(t, ann.Open("/orgs/acme"), 200, "<h1>acme</h1>")
	expect(t, ann.Submit("/orgs/acme", "do", "sync"), 303, "/orgs/acme")
	expectSeen(t, ann.Open("/orgs/acme"), 200, "The roster was read just now.")
	expectSeen(t, ann.Submit("/orgs/acme", "do", "x"), 400, "nothing that this page can do")
	expectSeen(t, ann.Submit("/orgs/none", "do", "sync"), 404)
}

// TestOwnersSetDefaultPermissions, and lose none that the page cannot show well.
func TestOwnersSetDefaultPermissions(t *testing.T) {
	in := club(t)
	b, ann := inBrowser(in, "ann"), in.SignIn("ann")
	if _, err := ann.UpdateOrg(t.Context(), "acme", api.UpdateOrg{DefaultPermissions: api.Matrix{"triage": {"standard": {"write": true}}}}); err != nil {
		t.Fatal(err)
	}
	s := expectSeen(t, b.Open("/orgs/acme"), 200, `<option value="?w" selected>read: as usual, write: yes</option>`)
	expect(t, b.Submit("/orgs/acme", permissions(s, "read-protected", "r-", "admin-development", "--")...), 303, "/orgs/acme")
	got, err := ann.Org(t.Context(), "acme")
	if err != nil {
		t.Fatal(err)
	}
	want := api.Matrix{"triage": {"standard": {"write": true}}, "read": {"protected": {"read": true, "write": false}}, "admin": {"development": {"read": false, "write": false}}}
	if diff := cmp.Diff(want, got.DefaultPermissions); diff != "" {
		t.Error(diff)
	}
	s = expectSeen(t, inBrowser(in, "bob").Open("/orgs/acme"), 200)
	if lines := shownTable(s); !strings.Contains(lines, "\nread as usual: read as usual: read read\n") || !strings.Contains(lines, "\ntriage as usual: read read: as usual, write: yes as usual: nothing\n") {
		t.Errorf("bob sees\n%s", lines)
	}

	// What is wrong or missing changes nothing, and what was chosen stays.
	form := b.Open("/orgs/acme")
	expectSeen(t, b.Submit("/orgs/acme", permissions(form, "write-standard", `"><b>`, "read-protected", "rw")...), 422,
		`id="write-standard-wrong">Choose one of the list.`, `aria-describedby="write-standard-wrong"`)
	s = b.Submit("/orgs/acme", permissions(form, "write-standard", "", "read-protected", "rw")...)
	expectSeen(t, s, 422)
	_, cell, _ := strings.Cut(s.Text, `<select id="read-protected"`)
	if cell, _, _ = strings.Cut(cell, "</select>"); !strings.Contains(cell, `value="rw" selected`) || strings.Contains(s.Text, "<b>") {
		t.Errorf("%s", s.Text)
	}
	if after, err := ann.Org(t.Context(), "acme"); err != nil || cmp.Diff(want, after.DefaultPermissions) != "" {
		t.Errorf("%v %v", after, err)
	}
	expect(t, b.Submit("/orgs/acme", permissions(form, "read-protected", "??", "admin-development", "??", "triage-standard", "??")...), 303, "/orgs/acme")
	if after, err := ann.Org(t.Context(), "acme"); err != nil || len(after.DefaultPermissions) != 0 {
		t.Errorf("%v %v", after, err)
	}
}
