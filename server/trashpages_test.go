package server_test

import (
	"fmt"
	"html"
	"regexp"
	"strings"
	"testing"

	"coffer/server/servertest"
)

const trashAt = "/vaults/ann/api/trash"

var trashLine = regexp.MustCompile(`(?s)<h2><code>([^<]+)</code> in ([^<]+)</h2>(.*?)\n</li>`)

// shownTrash is what a page of the trash lists, and the ids of what can be changed.
func shownTrash(s *servertest.Seen) (lines string, ids map[string]string) {
	ids = make(map[string]string)
	for _, m := range trashLine.FindAllStringSubmatch(s.Text, -1) {
		lines += m[1] + " in " + m[2] + "\n"
		if id := regexp.MustCompile(`name="secretId" value="([^"]+)"`).FindStringSubmatch(m[3]); id != nil {
			ids[m[1]] = id[1]
		}
	}
	return lines, ids
}

// littered is a town in which things were thrown away.
func littered(t *testing.T) *servertest.Instance {
	t.Helper()
	in := town(t)
	in.Push(in.SignIn("ann"), "ann/api", "development", map[string]string{"LOCAL": "canary"})
	in.Push(in.SignIn("ann"), "ann/api", "production", map[string]string{"LIVE_KEY": "canary", "DB_URL": "x"})
	return in
}

func TestTheTrashIsListed(t *testing.T) {
	in := littered(t)
	expect(t, in.Browser().Open(trashAt), 303, "/login?return=%2Fvaults%2Fann%2Fapi%2Ftrash")
	ann, bob := inBrowser(in, "ann"), inBrowser(in, "bob")
	s := expectSeen(t, ann.Open(trashAt), 200, "Empty the trash", "stays 30 more days", "just now")
	lines, ids := shownTrash(s)
	if !strings.HasPrefix(lines, "DB_HOST in production\n") || len(ids) != 2 || strings.Count(lines, "\n") != 3 || strings.Contains(s.Text, "canary") {
		t.Errorf("ann sees %q %v", lines, ids)
	}
	if got := current(s); got != "Vaults true, Trash page" {
		t.Errorf("it is at %q", got)
	}
	s = expectSeen(t, bob.Open(trashAt), 200)
	if lines, ids := shownTrash(s); strings.Contains(s.Text, "production") || strings.Count(lines, "\n") != 2 || len(ids) != 0 || strings.Contains(s.Text, `method="post" action="/vaults`) {
		t.Errorf("bob sees %q %v", lines, ids)
	}
	expectSeen(t, bob.Open("/vaults/ann/web/trash"), 404)
	expectSeen(t, ann.Open("/vaults/ann/web/trash"), 200, "There is nothing in the trash.")
	for query, want := range map[string]int{"?offset=-1": 422, "?limit=0": 422, "?offset=1000": 200} {
		if s := ann.Open(trashAt + query); s.Status != want {
			t.Errorf("%s: %d, want %d", query, s.Status, want)
		}
		if s := ann.Submit(trashAt+query, "do", "none"); s.Status < 400 {
			t.Errorf("%s: %d", query, s.Status)
		}
	}
}

func TestSecretsComeOutOfTheTrash(t *testing.T) {
	in := littered(t)
	ann, bob := inBrowser(in, "ann"), inBrowser(in, "bob")
	_, ids := shownTrash(ann.Open(trashAt + "?limit=1"))
	id := ids["DB_HOST"]
	for _, fields := range [][]string{{"do", "restore", "secretId", id}, {"do", "destroy", "secretId", id, "confirm", "DB_HOST"}, {"do", "empty", "confirm", "ann/api"}} {
		refusedFrom(t, in, ann, trashAt, fields...)
		if s := bob.Submit(trashAt, fields...); s.Status != 403 && s.Status != 404 {
			t.Errorf("bob may %v: %d", fields, s.Status)
		}
	}
	expectSeen(t, ann.Submit(trashAt, "do", "restore", "secretId", "x"), 404, "There is no such secret")
	expectSeen(t, ann.Submit(trashAt, "do", "x", "secretId", id), 400, "nothing that this page can do")
	expect(t, ann.Submit(trashAt, "do", "restore", "secretId", id), 303, trashAt)
	expectSeen(t, ann.Open(trashAt), 200, "The secret is back in its environment.")
	if got := in.Pull(in.SignIn("ann"), "ann/api", "production"); len(got) != 3 {
		t.Errorf("production has %v", got)
	}

	// Where the name is taken by now, the row says so.
	in.Push(in.SignIn("ann"), "ann/api", "development", map[string]string{"LOCAL": "canary", "DB_URL": "another", "DB_HOST": "x"})
	_, ids = shownTrash(ann.Open(trashAt))
	s := expectSeen(t, ann.Submit(trashAt, "do", "restore", "secretId", ids["DB_URL"]), 409, "development has another secret DB_URL by now.")
	_, row, _ := strings.Cut(s.Text, "<code>DB_URL</code>")
	if row, _, _ = strings.Cut(row, "\n</li>"); !strings.Contains(html.UnescapeString(row), "has another secret") {
		t.Errorf("it does not stand in the row: %s", s.Text)
	}
}

func TestTheTrashIsEmptied(t *testing.T) {
	in := littered(t)
	ann := inBrowser(in, "ann")
	_, ids := shownTrash(ann.Open(trashAt))
	id := ids["DB_URL"]
	for _, typed := range []string{"", "db_url", `"><b>`} {
		s := expectSeen(t, ann.Submit(trashAt, "do", "destroy", "secretId", id, "confirm", typed), 422, `id="confirm-wrong">Type exactly DB_URL.`, `id="confirm-`+id+`" name="confirm" value="`+typed+`"`)
		if strings.Contains(s.Text, "<b>") {
			t.Errorf("%s", s.Text)
		}
	}
	expectSeen(t, ann.Submit(trashAt+"?offset=1000", "do", "destroy", "secretId", id, "confirm", "DB_URL"), 404, "Load it again")
	expectSeen(t, ann.Submit(trashAt, "do", "empty", "confirm", "api"), 422, `id="confirm-wrong">Type exactly ann/api.`)
	if lines, _ := shownTrash(ann.Open(trashAt)); strings.Count(lines, "\n") != 3 {
		t.Fatalf("left: %q", lines)
	}
	expect(t, ann.Submit(trashAt, "do", "destroy", "secretId", id, "confirm", "DB_URL"), 303, trashAt)
	if lines, _ := shownTrash(ann.Open(trashAt)); strings.Count(lines, "\n") != 2 {
		t.Errorf("left: %q", lines)
	}
	expect(t, ann.Submit(trashAt, "do", "empty", "confirm", "ann/api"), 303, trashAt)
	expectSeen(t, ann.Open(trashAt), 200, "There is nothing in the trash.")
}

func TestTheTrashHasPages(t *testing.T) {
	in := servertest.New(t, servertest.Plain)
	ann := in.User("ann")
	in.Vault(ann, "ann/api")
	values := make(map[string]string)
	for i := range 27 {
		values[fmt.Sprintf("KEY_%02d", i)] = "x"
	}
	in.Push(ann, "ann/api", "development", values)
	in.Push(ann, "ann/api", "development", map[string]string{"A": "x"})
	b := inBrowser(in, "ann")
	expectSeen(t, b.Open(trashAt), 200, "1 to 25 of 27")
	s := expectSeen(t, b.Open(trashAt+"?offset=25"), 200, "26 to 27 of 27", `action="/vaults/ann/api/trash?offset=25"`)
	lines, ids := shownTrash(s)
	if strings.Count(lines, "\n") != 2 {
		t.Errorf("the last page has %q", lines)
	}
	for _, id := range ids {
		expectSeen(t, b.Submit(trashAt+"?offset=25", "do", "destroy", "secretId", id), 422, "26 to 27 of 27", `id="confirm-wrong"`)
	}
}

func TestSettingsSayWhatAVaultIs(t *testing.T) {
	const at = "/vaults/ann/api/settings"
	in := town(t)
	expect(t, in.Browser().Open(at), 303, "/login?return=%2Fvaults%2Fann%2Fapi%2Fsettings")
	ann, bob := inBrowser(in, "ann"), inBrowser(in, "bob")
	s := expectSeen(t, ann.Open(at), 200, "private", "Delete the vault", "8 secrets in 3 environments", "<dd>admin</dd>")
	if got := current(s); got != "Vaults true, Settings page" {
		t.Errorf("it is at %q", got)
	}
	s = expectSeen(t, bob.Open(at), 200, "5 secrets in 2 environments", "<dd>read</dd>", "Admins of the repository can delete the vault.")
	if strings.Contains(s.Text, `method="post" action="/vaults`) {
		t.Error("bob is offered to delete it")
	}
	refusedFrom(t, in, ann, at, "confirm", "ann/api")
	expectSeen(t, bob.Submit(at, "confirm", "ann/api"), 403, "This needs the role admin")
	for _, typed := range []string{"", "api", "ann/API", `"><b>`} {
		s := expectSeen(t, ann.Submit(at, "confirm", typed), 422, `id="confirm-wrong">Type exactly ann/api.`, `value="`+typed+`"`)
		if strings.Contains(s.Text, "<b>") {
			t.Errorf("%s", s.Text)
		}
	}
	expectSeen(t, ann.Open(at), 200)
	expect(t, ann.Submit(at, "confirm", " ann/api "), 303, "/")
	expectSeen(t, ann.Open("/"), 200, "The vault is gone, with everything in it.")
	expectSeen(t, ann.Open(at), 404)
}

// TestAReadOnlyVaultSaysSo, and offers nothing that would be refused.
func TestAReadOnlyVaultSaysSo(t *testing.T) {
	in := town(t)
	in.Push(in.SignIn("ann"), "ann/web", "development", map[string]string{"OTHER": "canary"})
	in.Restart(onPlan("free"))
	b := inBrowser(in, "ann")
	expectSeen(t, b.Open("/vaults/ann/web/settings"), 200, "This vault is read-only", "not possible at the moment", "Delete the vault")
	s := expectSeen(t, b.Open("/vaults/ann/web/trash"), 200, "This vault is read-only", "Delete for good")
	if strings.Contains(s.Text, `value="restore"`) {
		t.Error("restoring is offered")
	}
	_, ids := shownTrash(s)
	expectSeen(t, b.Submit("/vaults/ann/web/trash", "do", "restore", "secretId", ids["COLOR"]), 403, "read-only")
	s = expectSeen(t, b.Open("/vaults/ann/web/environments"), 200, "This vault is read-only")
	if strings.Contains(s.Text, "New environment") {
		t.Error("a new environment is offered")
	}
}
