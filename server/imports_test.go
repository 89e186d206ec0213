package server_test

import (
	"bytes"
	"fmt"
	"html"
	"maps"
	"mime/multipart"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"coffer/server/api"
	"coffer/server/servertest"
)

// choosing is the form of a page that shows what a file would change.
type choosing struct {
	*servertest.Seen
	fields map[string]string // that it would send as it is
}

var (
	formField = regexp.MustCompile(`<input type="(hidden|checkbox)"[^>]* name="([^"]+)"(?: value="([^"]*)")?( checked)?`)
	importRow = regexp.MustCompile(`(?s)<tr><th scope="row">(.*?)</th>\s*<td[^>]*><span class="badge[^"]*">([a-z]+)</span>(.*?)</tr>`)
	rowKey    = regexp.MustCompile(`<code>([^<]+)</code>`)
)

func formOf(s *servertest.Seen) choosing {
	c := choosing{s, make(map[string]string)}
	for _, m := range formField.FindAllStringSubmatch(s.Text, -1) {
		if m[1] == "hidden" {
			c.fields[m[2]] = html.UnescapeString(m[3])
		} else if m[4] != "" {
			c.fields[m[2]] = "on"
		}
	}
	return c
}

// rows are what the page says of each key, in order.
func (c choosing) rows() string {
	var all []string
	for _, m := range importRow.FindAllStringSubmatch(c.Text, -1) {
		row := rowKey.FindStringSubmatch(m[1])[1] + " " + m[2]
		if strings.Contains(m[1], " checked") {
			row += " ticked"
		}
		if strings.Contains(m[3], "changed meanwhile") {
			row += " stale"
		}
		all = append(all, row)
	}
	return strings.Join(all, ", ")
}

// send sends the form, with other values for some of the fields: pairs, of which
// "" leaves a field out.
func (c choosing) send(b *servertest.Browser, path string, other ...string) *servertest.Seen {
	fields := maps.Clone(c.fields)
	for i := 0; i < len(other); i += 2 {
		fields[other[i]] = other[i+1]
		if other[i+1] == "" {
			delete(fields, other[i])
		}
	}
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		pairs = append(pairs, name, fields[name])
	}
	return b.Submit(path, pairs...)
}

const importAt = "/vaults/ann/api/import"

func look(t *testing.T, b *servertest.Browser, environment, text string) choosing {
	t.Helper()
	s := expectSeen(t, b.Submit(importAt, "environment", environment, "text", text), 200, "What would change in "+environment)
	if strings.Contains(s.Text, "canary") {
		t.Errorf("a value is in the page: %s", s.Text)
	}
	return formOf(s)
}

func expectValues(t *testing.T, in *servertest.Instance, environment string, want map[string]string) {
	t.Helper()
	if got := in.Pull(in.SignIn("ann"), "ann/api", environment); !maps.Equal(got, want) {
		t.Errorf("%s holds %q, want %q", environment, got, want)
	}
}

func TestAFileIsImported(t *testing.T) {
	in := town(t)
	b := inBrowser(in, "ann")
	s := expectSeen(t, b.Open(importAt+"?environment=staging"), 200, `<option value="staging" selected>`, "production (protected)")
	if got := current(s); got != "Vaults true, Import and export page" {
		t.Errorf("it is at %q", got)
	}
	c := look(t, b, "development", "# canary comment\nDB_URL=canary-same\nexport DB_HOST='canary new'\nFRESH=canary\nOTHER=canary-x\nFRESH=\"canary\\nlast\"\n")
	if got := c.rows(); got != "DB_URL unchanged, DB_HOST update ticked, OTHER create ticked, FRESH create ticked" {
		t.Errorf("rows: %s", got)
	}
	expectSeen(t, c.Seen, 200, "Line 4: FRESH is set again in line 6", "2 to create, 1 to update, 1 unchanged", "Also move 1 key that is not in the file to the trash")
	if c.fields["replace"] != "" {
		t.Error("it is chosen to move what the file does not name")
	}
	expectValues(t, in, "development", map[string]string{"DB_URL": "canary-same", "DB_HOST": "canary-1", "LOCAL": "canary"})
	expect(t, c.send(b, importAt, "secrets.OTHER", ""), 303, "/vaults/ann/api")
	expectSeen(t, b.Open("/vaults/ann/api"), 200, "What you chose is stored.")
	expectValues(t, in, "development", map[string]string{"DB_URL": "canary-same", "DB_HOST": "canary new", "LOCAL": "canary", "FRESH": "canary\nlast"})

	// What was not ticked stays, also when the rest goes to the trash.
	c = look(t, b, "development", "DB_HOST=canary-3\nDB_URL=canary-4\n")
	expect(t, c.send(b, importAt, "secrets.DB_HOST", "", "replace", "on"), 303, "/vaults/ann/api")
	expectValues(t, in, "development", map[string]string{"DB_URL": "canary-4", "DB_HOST": "canary new"})

	c = look(t, b, "development", "DB_HOST='canary new'\nDB_URL=canary-4\n")
	expectSeen(t, c.Seen, 200, "Nothing would change.")
	expectSeen(t, c.send(b, importAt), 400, "Nothing was chosen")
}

// TestFilesOfEverySortAreRead: dropped ones, with CRLF and a byte order mark.
func TestFilesOfEverySortAreRead(t *testing.T) {
	in := town(t)
	b := inBrowser(in, "ann")
	for name, file := range map[string]string{
		"mark": "\ufeffA=1\nB='two\nlines'\n", "crlf": "A=1\r\nB='two\r\nlines'\r\n", "pulled": "A=1\nB=\"two\\nlines\"",
	} {
		var body bytes.Buffer
		w := multipart.NewWriter(&body)
		_ = w.WriteField("environment", "staging")
		_ = w.WriteField("text", "IGNORED=1")
		part, _ := w.CreateFormFile("file", "x.env")
		_, _ = part.Write([]byte(file))
		_ = w.Close()
		s := expectSeen(t, b.Send("POST", importAt, body.String(), "Content-Type", w.FormDataContentType()), 200)
		if got := formOf(s).rows(); got != "A create ticked, B create ticked" && got != "A unchanged, B unchanged" {
			t.Errorf("%s: %s: %s", name, got, s.Text)
		}
		if c := formOf(s); strings.Contains(c.rows(), "create") {
			expect(t, c.send(b, importAt, "replace", "on"), 303, "/vaults/ann/api")
		}
		expectValues(t, in, "staging", map[string]string{"A": "1", "B": "two\nlines"})
	}
	// What a pull writes for a value of backslashes is that value.
	in.Push(in.SignIn("ann"), "ann/api", "production", map[string]string{"C": `it's a\n$`})
	if got := look(t, b, "production", `C="it's a\n$"`).rows(); got != "C unchanged" {
		t.Errorf("rows: %s", got)
	}
}

func TestLinesThatCannotBeStoredAreNamed(t *testing.T) {
	in := town(t)
	b := inBrowser(in, "ann")
	c := look(t, b, "staging", "lower=canary\nA=canary\nBIG="+strings.Repeat("x", api.MaxValueLarge+1)+"\n")
	expectSeen(t, c.Seen, 200, "Line 1: It is left out. "+api.KeyRule, "Line 3: It is left out: a value has at most", "cannot be moved to the trash for not being in the file")
	expectSeen(t, c.send(b, importAt, "replace", "on"), 400, "Correct them first")
	expect(t, c.send(b, importAt), 303, "/vaults/ann/api")

	s := expectSeen(t, b.Submit(importAt, "environment", "staging", "text", "A=1\n<b>canary"), 422, "Line 2: The file cannot be read from here on", "<b>canary</textarea>", `<option value="staging" selected>`)
	if strings.Contains(s.Text, "<b>") {
		t.Errorf("%s", s.Text)
	}
	expectSeen(t, b.Submit(importAt, "environment", "staging", "text", ""), 422, "Paste the content of a file")
	expectSeen(t, look(t, b, "staging", "# nothing\n").Seen, 200, "The file holds no secret.")
	expectSeen(t, b.Submit(importAt, "environment", `"><b>`, "text", "A=1"), 422, `This vault has no environment "\"><b>"`)
}

// TestMarkupInAFileStaysText, and never is in a page when it is a value.
func TestMarkupInAFileStaysText(t *testing.T) {
	in := town(t)
	b := inBrowser(in, "ann")
	for _, text := range []string{"A='<script>alert(1)</script>'\n<b>=1\n", "A='<script>'\n\"><b>x=\n"} {
		s := b.Submit(importAt, "environment", "staging", "text", text)
		if strings.Contains(s.Text, "<script>") || strings.Contains(s.Text, "<b>") {
			t.Errorf("%d %s", s.Status, s.Text)
		}
	}
	c := look(t, b, "staging", "A='<script>canary'\n")
	expect(t, c.send(b, importAt, "secrets.<script>", "on"), 400, "")
	expect(t, c.send(b, importAt), 303, "/vaults/ann/api")
	expectSeen(t, look(t, b, "staging", "A='<script>canary'\n").Seen, 200, "1 unchanged")
}

func TestManyKeysAreImported(t *testing.T) {
	in := servertest.New(t, servertest.Plain)
	in.Vault(in.User("ann"), "ann/api")
	b := inBrowser(in, "ann")
	var text strings.Builder
	want := make(map[string]string)
	for i := range 1000 {
		fmt.Fprintf(&text, "KEY_%04d=canary-%d\n", i, i)
		want[fmt.Sprintf("KEY_%04d", i)] = fmt.Sprintf("canary-%d", i)
	}
	expect(t, look(t, b, "development", text.String()).send(b, importAt), 303, "/vaults/ann/api")
	expectValues(t, in, "development", want)
	c := look(t, b, "staging", text.String()+"MORE=canary\n")
	c = formOf(expectSeen(t, c.send(b, importAt), 403, "allows 1000 secrets in one push; this one has 1001"))
	expect(t, c.send(b, importAt, "secrets.KEY_0000", ""), 303, "/vaults/ann/api")

	line := strings.Repeat("x", 200<<10)
	expectSeen(t, b.Submit(importAt, "environment", "production", "text", "A="+line+"\nB="+line+"\nC="+line+"\nD="+line), 413, "Import it in parts")
	c = look(t, b, "production", "A="+line+"\nB="+line+"\nC="+line)
	expect(t, c.send(b, importAt), 303, "/vaults/ann/api")
}

// TestOnlyWhoMayWriteImports: others are not offered it, and refused.
func TestOnlyWhoMayWriteImports(t *testing.T) {
	in := town(t)
	in.User("carol")
	in.User("eve")
	in.Grant("ann/api", "carol", "write")
	expect(t, in.Browser().Open(importAt), 303, "/login?return=%2Fvaults%2Fann%2Fapi%2Fimport")
	expectKept(t, in.Browser().Submit(importAt, "environment", "staging", "text", "A=1"))
	bob, carol, eve := inBrowser(in, "bob"), inBrowser(in, "carol"), inBrowser(in, "eve")
	expectSeen(t, eve.Open(importAt), 404)
	expectSeen(t, eve.Submit(importAt, "environment", "staging", "text", "A=1"), 404)
	if s := expectSeen(t, bob.Open(importAt), 200, "nothing that you could import"); strings.Contains(s.Text, "<select") {
		t.Errorf("%s", s.Text)
	}
	expectSeen(t, bob.Submit(importAt, "environment", "staging", "text", "A=1"), 403, "may not write staging")
	if s := expectSeen(t, carol.Open(importAt), 200, `<option value="staging">`); strings.Contains(s.Text, `<option value="production"`) {
		t.Errorf("%s", s.Text)
	}
	expectSeen(t, carol.Submit(importAt, "environment", "production", "text", "A=1"), 403, "may not write production")
	s := carol.Send("POST", importAt, "environment=staging&text=A%3D1", "Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example")
	expectSeen(t, s, 403, "another site")

	// Who loses the right while looking has looked in vain.
	c := look(t, carol, "staging", "A=1\n")
	in.Grant("ann/api", "carol", "read")
	expectSeen(t, c.send(carol, importAt), 403, "may not write staging")
	expectValues(t, in, "staging", map[string]string{"DB_URL": "canary-same", "DB_HOST": "canary-2"})
}

func TestAReadOnlyVaultTakesNoFile(t *testing.T) {
	in := town(t)
	in.Restart(onPlan("free", cell("private_repos", 0)))
	b := inBrowser(in, "ann")
	if s := expectSeen(t, b.Open(importAt), 200, "This vault is read-only"); strings.Contains(s.Text, "<select") {
		t.Errorf("%s", s.Text)
	}
	expectSeen(t, b.Submit(importAt, "environment", "staging", "text", "A=1"), 403, "is read-only")
}

// TestADraftIsGoodForOneSessionAndEnvironmentAndNotForLong.
func TestADraftIsGoodForOneSessionAndEnvironmentAndNotForLong(t *testing.T) {
	var c clock
	in := town(t, c.option)
	in.User("carol")
	in.Grant("ann/api", "carol", "admin")
	ann, again, carol := inBrowser(in, "ann"), inBrowser(in, "ann"), inBrowser(in, "carol")
	form := look(t, ann, "staging", "A=canary\n")
	draft := form.fields["draft"]
	for name, tampered := range map[string]string{"flipped": draft[:40] + "AAAA" + draft[44:], "cut": draft[:len(draft)-4], "empty": " ", "no base64": "%%%", "short": "AAAA"} {
		if s := expectSeen(t, form.send(ann, importAt, "draft", tampered), 400, "not valid here, or no longer"); strings.Contains(s.Text, "canary") {
			t.Errorf("%s: %s", name, s.Text)
		}
	}
	for _, b := range []*servertest.Browser{again, carol} {
		expectSeen(t, form.send(b, importAt), 400, "not valid here, or no longer")
	}
	expectSeen(t, form.send(ann, importAt, "environment", "production"), 400, "not valid here, or no longer")
	expectSeen(t, form.send(ann, "/vaults/ann/web/import"), 400, "not valid here, or no longer")
	expectSeen(t, form.send(ann, importAt, "secrets.B", "on"), 400, "a key that is not in the file")
	c.turn(15 * time.Minute)
	expectSeen(t, form.send(ann, importAt), 400, "not valid here, or no longer")
	expectValues(t, in, "staging", map[string]string{"DB_URL": "canary-same", "DB_HOST": "canary-2"})
}

// TestNobodyIsOverwrittenUnseen: what changed while somebody looked is shown, and
// chosen no more.
func TestNobodyIsOverwrittenUnseen(t *testing.T) {
	in := town(t)
	b := inBrowser(in, "ann")
	c := look(t, b, "staging", "DB_HOST=canary-mine\nNEW=canary\nB=canary\n")
	_, err := in.SignIn("ann").Push(t.Context(), api.PushSecrets{RepoFullName: "ann/api", Environment: "staging", Mode: new(api.ModeMerge),
		Secrets: servertest.Secrets(map[string]string{"DB_HOST": "canary-theirs", "B": "canary"})})
	if err != nil {
		t.Fatal(err)
	}
	c = formOf(expectSeen(t, c.send(b, importAt, "secrets.NEW", ""), 409, "Somebody changed staging while you looked", "Others changed staging meanwhile: <code>B</code>, <code>DB_HOST</code>"))
	if got := c.rows(); got != "DB_HOST update stale, NEW create, B unchanged stale" {
		t.Errorf("rows: %s", got)
	}
	expectSeen(t, c.send(b, importAt), 400, "Nothing was chosen")
	expect(t, c.send(b, importAt, "secrets.DB_HOST", "on"), 303, "/vaults/ann/api")
	expectValues(t, in, "staging", map[string]string{"DB_URL": "canary-same", "DB_HOST": "canary-mine", "B": "canary"})
}

// TestImportsAreRecorded as pushes, the look as a dry run, and without values.
func TestImportsAreRecorded(t *testing.T) {
	in := town(t)
	b := inBrowser(in, "ann")
	expect(t, look(t, b, "staging", "A=canary\n").send(b, importAt), 303, "/vaults/ann/api")
	var seen []string
	all, err := in.Key("ann", "live", servertest.AllScopes...).Activity(t.Context(), api.Page{})
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all.Items {
		text := fmt.Sprint(a.Action, a.Metadata)
		if strings.Contains(text, "staging") && strings.Contains(text, "created:1 ") {
			seen = append(seen, a.Action)
		}
		if strings.Contains(text, "canary") {
			t.Errorf("a value is recorded: %s", text)
		}
	}
	if got := strings.Join(seen, " "); got != "secrets_pushed secrets_pushed" {
		t.Errorf("recorded: %s", got)
	}
}
