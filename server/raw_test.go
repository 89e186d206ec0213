package server_test

import (
	"encoding/json"
	"html"
	"maps"
	"strings"
	"testing"

	"coffer/server/api"
	"coffer/server/servertest"
)

const rawAt = "/vaults/ann/api/raw/"

// shownFile is the file on a page, as a browser sends it back, and the revision.
func shownFile(t *testing.T, s *servertest.Seen) (text, base string) {
	t.Helper()
	_, after, _ := strings.Cut(s.Text, `<textarea id="text"`)
	_, after, _ = strings.Cut(after, ">\n")
	inside, _, found := strings.Cut(after, "</textarea>")
	if !found {
		t.Fatalf("no file: %s", s.Text)
	}
	return strings.ReplaceAll(html.UnescapeString(inside), "\n", "\r\n"), formOf(s).fields["baseRevision"]
}

// nasty are values that a file can lose.
var nasty = map[string]string{
	"A": "plain", "B": "two\nlines\n", "C": "a\r\nb\rc", "D": `it's a\nb "x" $y`, "E": "", "F": " blank ", "G": "# no comment", "H": "</textarea><script>",
	"I": `a\\b` + "\r", "J": "\n\nfirst", "K": "'", "L": `"`, "M": `\`, "N": "é\u00a0\u2028\U0001f511", "O": "x=y # z", "P": "\x01\t\v\f\x7f", "Q": "&amp;&lt;",
}

func TestAnEnvironmentIsEditedAsAFile(t *testing.T) {
	in := town(t)
	ann := in.SignIn("ann")
	in.Push(ann, "ann/api", "staging", nasty)
	b := inBrowser(in, "ann")
	expectSeen(t, b.Open(importAt), 200, `href="/vaults/ann/api/raw/staging"`)
	s := expectSeen(t, b.Open(rawAt+"staging"), 200, "values of all 17 secrets in staging", "Show and edit")
	if strings.Contains(s.Text, "plain") || current(s) != "Vaults true, Import and export true" {
		t.Errorf("%s: %s", current(s), s.Text)
	}
	s = expectSeen(t, b.Submit(rawAt+"staging"), 200, "Comments, blank lines and the order of lines are not kept.")
	if strings.Contains(s.Text, "<script>") || s.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("%v %s", s.Header, s.Text)
	}
	text, base := shownFile(t, s)
	for name, text := range map[string]string{"as it was": text, "without its last line end": strings.TrimSuffix(text, "\r\n")} {
		s = expectSeen(t, b.Submit(rawAt+"staging/save", "baseRevision", base, "text", text), 200, "0 to create, 0 to update, 17 unchanged", "Nothing would change.")
		if strings.Contains(s.Text, "plain") {
			t.Errorf("%s: a value is in the page: %s", name, s.Text)
		}
	}
	edited := "# a comment\r\nNEW=1\r\n" + strings.Replace(strings.Replace(text, "A=plain\r\n", "", 1), "E=\r\n", "E=full\r\n", 1)
	c := formOf(expectSeen(t, b.Submit(rawAt+"staging/save", "baseRevision", base, "text", edited), 200, "1 to create, 1 to update, 15 unchanged", "Also move 1 key that is not in the text to the trash", "<code>A</code>"))
	expect(t, c.send(b, rawAt+"staging/save"), 303, "/vaults/ann/api")
	want := maps.Clone(nasty)
	want["NEW"], want["E"] = "1", "full"
	delete(want, "A")
	p, err := ann.Pull(t.Context(), api.PullSecrets{Repo: "ann/api", Environment: "staging", Format: api.FormatJSON})
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]string)
	for key, value := range p.Secrets {
		got[key] = string(value)
	}
	if !maps.Equal(got, want) {
		t.Errorf("it holds %q, want %q", got, want)
	}
}

// TestAnEditedBackslashIsNoLineBreak: what somebody typed means what it says, also
// where a client of old would have meant the value that is there.
func TestAnEditedBackslashIsNoLineBreak(t *testing.T) {
	in := town(t)
	in.Push(in.SignIn("ann"), "ann/api", "staging", map[string]string{"A": "a\nb", "B": `it's a\nb`})
	b := inBrowser(in, "ann")
	_, base := shownFile(t, b.Submit(rawAt+"staging"))
	s := expectSeen(t, b.Submit(rawAt+"staging/save", "baseRevision", base, "text", "A='a\\nb'\r\nB=\"it's a\\nb\""), 200)
	if got := formOf(s).rows(); got != "A update ticked, B update ticked" {
		t.Errorf("rows: %s", got)
	}
}

func TestAFileWithMistakesIsNotSaved(t *testing.T) {
	in := town(t)
	b := inBrowser(in, "ann")
	_, base := shownFile(t, b.Submit(rawAt+"staging"))
	for text, problem := range map[string]string{
		"A=1\r\n<b>no</b>":       "Line 2: The file cannot be read",
		"A=1\r\nlower=<b>x\r\n":  "Line 2: It is left out. " + api.KeyRule,
		"A=\"<b> never ends\r\n": "Line 1: The file cannot be read",
	} {
		s := expectSeen(t, b.Submit(rawAt+"staging/save", "baseRevision", base, "text", text), 422, "Nothing was stored", problem)
		again, kept := shownFile(t, s)
		if strings.ReplaceAll(again, "\r", "") != strings.ReplaceAll(text, "\r", "") || kept != base || strings.Contains(s.Text, "<b>") {
			t.Errorf("shown again: %q at %s", again, kept)
		}
	}
	for _, base := range []string{"", "x", "-1"} {
		expectSeen(t, b.Submit(rawAt+"staging/save", "baseRevision", base, "text", "A=1"), 400, "Open the file again")
	}
	c := formOf(expectSeen(t, b.Submit(rawAt+"staging/save", "baseRevision", base, "text", "A=1\r\nA=2\r\n"), 200, "A is set again in line 2"))
	expect(t, c.send(b, rawAt+"staging/save"), 303, "/vaults/ann/api")
	expectValues(t, in, "staging", map[string]string{"A": "2"})
}

// TestAnOldFileOverwritesNobody unless somebody says so.
func TestAnOldFileOverwritesNobody(t *testing.T) {
	in := town(t)
	ann := in.SignIn("ann")
	b := inBrowser(in, "ann")
	text, base := shownFile(t, b.Submit(rawAt+"staging"))
	_, err := ann.Push(t.Context(), api.PushSecrets{RepoFullName: "ann/api", Environment: "staging", Mode: new(api.ModeMerge),
		Secrets: servertest.Secrets(map[string]string{"DB_HOST": "theirs", "ADDED": "theirs"})})
	if err != nil {
		t.Fatal(err)
	}
	s := expectSeen(t, b.Submit(rawAt+"staging/save", "baseRevision", base, "text", text+"MINE=1\r\n"), 200, "Others changed staging meanwhile: <code>ADDED</code>, <code>DB_HOST</code>", "Also move 1 key that is not in the text")
	c := formOf(s)
	if got := c.rows(); got != "DB_HOST update stale, DB_URL unchanged, MINE create ticked" || c.fields["replace"] != "" {
		t.Errorf("rows: %s", got)
	}
	expect(t, c.send(b, rawAt+"staging/save"), 303, "/vaults/ann/api")
	expectValues(t, in, "staging", map[string]string{"DB_HOST": "theirs", "ADDED": "theirs", "DB_URL": "canary-same", "MINE": "1"})

	s = expectSeen(t, b.Submit(rawAt+"staging/save", "baseRevision", "99", "text", text), 200, "is not remembered any more")
	if c = formOf(s); c.rows() != "DB_HOST update, DB_URL unchanged" || c.fields["replace"] != "" {
		t.Errorf("rows: %s", c.rows())
	}
}

func TestFilesAreShownToWhoMayReadThem(t *testing.T) {
	in := town(t)
	in.User("eve")
	expect(t, in.Browser().Open(rawAt+"staging"), 303, "/login?return=%2Fvaults%2Fann%2Fapi%2Fraw%2Fstaging")
	expect(t, in.Browser().Submit(rawAt+"staging"), 303, "/login?return=%2F")
	bob, eve, ann := inBrowser(in, "bob"), inBrowser(in, "eve"), inBrowser(in, "ann")
	s := expectSeen(t, bob.Submit(rawAt+"staging"), 200, "canary-2", "readonly")
	if strings.Contains(s.Text, "/save") {
		t.Errorf("%s", s.Text)
	}
	expectSeen(t, bob.Submit(rawAt+"staging/save", "baseRevision", "1", "text", "A=1"), 403, "may not write staging")
	for _, b := range []*servertest.Browser{eve, bob} {
		for _, s := range []*servertest.Seen{b.Open(rawAt + "production"), b.Submit(rawAt + "production"), b.Submit(rawAt+"production/save", "baseRevision", "1", "text", "A=1")} {
			if expectSeen(t, s, 404); strings.Contains(s.Text, "canary") {
				t.Errorf("%s", s.Text)
			}
		}
	}
	expectSeen(t, eve.Submit(rawAt+"staging"), 404)
	expectSeen(t, ann.Submit(rawAt+"none"), 404, "This vault has no environment")
	expectSeen(t, ann.Open(rawAt+"staging/save"), 200, "Show and edit")
	expectSeen(t, ann.Send("POST", rawAt+"staging", "", "Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example"), 403, "another site")
	before := pulls(t, in, "ann")
	ann.Open(rawAt + "staging")
	if n := pulls(t, in, "ann"); n != before {
		t.Errorf("to be asked is recorded: %d, %d before", n, before)
	}
	ann.Submit(rawAt + "staging")
	if n := pulls(t, in, "ann"); n != before+1 {
		t.Errorf("%d pulls are recorded, %d before", n, before)
	}
}

// pulls is how many pulls of somebody's are recorded.
func pulls(t *testing.T, in *servertest.Instance, user string) int {
	t.Helper()
	all, err := in.Key(user, "live", servertest.AllScopes...).Activity(t.Context(), api.Page{Limit: new(100)})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, a := range all.Items {
		if a.Action == "secrets_pulled" {
			n++
		}
	}
	return n
}

func TestALongFileIsOnlyShown(t *testing.T) {
	in := town(t)
	long := strings.Repeat("x", 200<<10)
	in.Push(in.SignIn("ann"), "ann/api", "staging", map[string]string{"A": long, "B": long, "C": long, "D": long})
	b := inBrowser(in, "ann")
	s := expectSeen(t, b.Submit(rawAt+"staging"), 200, "too long to be edited here")
	if strings.Contains(s.Text, "/save") {
		t.Error("it can be edited all the same")
	}
}

func TestAnEnvironmentIsDownloaded(t *testing.T) {
	in := town(t)
	in.User("eve")
	in.Push(in.SignIn("ann"), "ann/api", "staging", nasty)
	ann, bob := inBrowser(in, "ann"), inBrowser(in, "bob")
	expectSeen(t, bob.Open(rawAt+"staging"), 200, "Download .env", "Download JSON")
	before := pulls(t, in, "bob")
	s := bob.Submit(rawAt+"staging/export", "format", "env")
	if h := s.Header; s.Status != 200 || h.Get("Content-Disposition") != "attachment; filename=api.staging.env" || h.Get("Cache-Control") != "no-store" ||
		h.Get("Content-Type") != "text/plain; charset=utf-8" || h.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("%d %v", s.Status, h)
	}
	if got := look(t, ann, "staging", s.Text).rows(); strings.Count(got, "unchanged") != len(nasty) {
		t.Errorf("what was exported is %s", got)
	}
	s = bob.Submit(rawAt+"staging/export", "format", "json")
	var values map[string]string
	if err := json.Unmarshal([]byte(s.Text), &values); err != nil || !maps.Equal(values, nasty) {
		t.Errorf("%v %s", err, s.Text)
	}
	if got := s.Header.Get("Content-Disposition"); got != "attachment; filename=api.staging.json" {
		t.Errorf("it is called %s", got)
	}
	if n := pulls(t, in, "bob"); n != before+2 {
		t.Errorf("%d pulls are recorded, %d before", n, before)
	}
	expectSeen(t, bob.Submit(rawAt+"staging/export", "format", "xml"), 400, "format env or json")
	expectSeen(t, bob.Open(rawAt+"staging/export"), 405)
	expectSeen(t, bob.Send("POST", rawAt+"staging/export", "format=env", "Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example"), 403, "another site")
	expectKept(t, in.Browser().Submit(rawAt+"staging/export", "format", "env"))
	for _, s := range []*servertest.Seen{bob.Submit(rawAt+"production/export", "format", "env"), inBrowser(in, "eve").Submit(rawAt+"staging/export", "format", "env")} {
		if expectSeen(t, s, 404); strings.Contains(s.Text, "canary") {
			t.Errorf("%s", s.Text)
		}
	}
}
