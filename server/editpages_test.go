package server_test

import (
	"regexp"
	"strings"
	"testing"

	"coffer/server/api"
	"coffer/server/servertest"
)

var choiceLine = regexp.MustCompile(`<input type="checkbox" id="([^"]+)" name="[^"]+"( checked)?><label for="[^"]+">([^< ]+)`)

// choices is what a form has to tick, with a star where it is.
func choices(s *servertest.Seen) string {
	var all []string
	for _, m := range choiceLine.FindAllStringSubmatch(s.Text, -1) {
		if m[2] != "" {
			m[3] += "*"
		}
		all = append(all, m[3])
	}
	return strings.Join(all, " ")
}

// choice is the field of an environment in a form.
func choice(t *testing.T, s *servertest.Seen, environment string) string {
	t.Helper()
	for _, m := range choiceLine.FindAllStringSubmatch(s.Text, -1) {
		if m[3] == environment {
			return m[1]
		}
	}
	t.Fatalf("%s cannot be chosen: %s", environment, s.Text)
	return ""
}

func TestAValueIsSet(t *testing.T) {
	in := town(t)
	c, ann := in.SignIn("ann"), inBrowser(in, "ann")
	in.Grant("ann/api", "bob", "write")
	bob := inBrowser(in, "bob")
	const page = "/vaults/ann/api/secrets/set?environment=staging&key=LOCAL"
	expect(t, in.Browser().Open(page), 303, "/login?return=%2Fvaults%2Fann%2Fapi%2Fsecrets%2Fset%3Fenvironment%3Dstaging%26key%3DLOCAL")
	s := expectSeen(t, ann.Open(page), 200, "Set LOCAL", `<a href="/vaults/ann/api" aria-current="true">Secrets`, "has a value, which stays as an older version", "has none yet")
	if got := choices(s); got != "development staging* production" || strings.Contains(s.Text, "canary") {
		t.Errorf("ann chooses from %s: %s", got, s.Text)
	}
	if got := choices(bob.Open(page)); got != "development staging*" {
		t.Errorf("bob chooses from %s", got)
	}
	expect(t, ann.Submit(page, "value", "one\r\n two \r\n", "environment.staging", "on", "environment.production", "on"), 303, "/vaults/ann/api#LOCAL")
	expectSeen(t, ann.Open("/vaults/ann/api"), 200, "The value is set.")
	for _, e := range []string{"staging", "production"} {
		if got := read(t, c, "LOCAL", e); got != "one\n two \n" {
			t.Errorf("%s has %q", e, got)
		}
	}
	if got := read(t, c, "LOCAL", "development"); got != "canary" {
		t.Errorf("what was not ticked has %q", got)
	}
	expect(t, ann.Submit(page, "value", "", "environment.staging", "on"), 303, "/vaults/ann/api#LOCAL")
	if got := read(t, c, "LOCAL", "staging"); got != "" {
		t.Errorf("an empty value is %q", got)
	}
	expect(t, ann.Submit("/vaults/ann/api/secrets/set", "key", " NEW_KEY ", "value", "v", "environment.staging", "on", "environment.development", "on"), 303, "/vaults/ann/api#NEW_KEY")
	if got := read(t, c, "NEW_KEY", "development"); got != "v" {
		t.Errorf("a new key is %q", got)
	}
}

func TestAValueThatCannotBeSetIsKeptInTheForm(t *testing.T) {
	in := town(t)
	in.Grant("ann/api", "bob", "write")
	ann, bob := inBrowser(in, "ann"), inBrowser(in, "bob")
	const page = "/vaults/ann/api/secrets/set"
	for _, tt := range []struct {
		who    *servertest.Browser
		status int
		says   string
		fields []string
	}{
		{ann, 422, "Tick the environments", []string{"key", "A", "value", "typed"}},
		{ann, 422, api.KeyRule, []string{"key", `"><b>a`, "value", "typed", "environment.staging", "on"}},
		{ann, 422, api.KeyRule, []string{"value", "typed", "environment.staging", "on"}},
		{ann, 422, `no environment "nowhere"`, []string{"key", "A", "value", "typed", "environment.nowhere", "on"}},
		{ann, 422, "An environment name has", []string{"key", "A", "value", "typed", `environment."><b>`, "on"}},
		{bob, 403, "may not write production", []string{"key", "A", "value", "typed", "environment.production", "on"}},
	} {
		s := expectSeen(t, tt.who.Submit(page, tt.fields...), tt.status, tt.says, ">\ntyped</textarea>")
		if strings.Contains(s.Text, "<b>") {
			t.Errorf("%q: %s", tt.fields, s.Text)
		}
	}
	s := expectSeen(t, bob.Submit(page, "key", "A", "value", "typed", "environment.staging", "on", "environment.production", "on"), 403, "may not write production")
	if got := choices(s); got != "development staging*" {
		t.Errorf("it is about %s", got)
	}
	large := strings.Repeat("x", api.MaxValueLarge+1)
	expectSeen(t, ann.Submit(page, "key", "A", "value", large, "environment.staging", "on"), 422, "Look at what is marked", "262144 bytes")
	expectSeen(t, ann.Open(page+"?key=%22%3E%3Cb%3E"), 422, api.KeyRule)
	for _, value := range []string{"a\x00b", "a\xffb"} {
		expectSeen(t, ann.Submit(page, "key", "A", "value", value, "environment.staging", "on"), 400, "no text in UTF-8")
	}
	expectSeen(t, ann.Send("POST", page, "key=A&value=x&environment.staging=on", "Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example"), 403, "another site")
	if _, err := in.SignIn("ann").ViewSecret(t.Context(), api.ViewSecret{Repo: "ann/api", Environment: "staging", Key: "A"}); api.CodeOf(err) != api.NotFound {
		t.Errorf("something was set: %v", err)
	}
}

// TestHalfOfItIsSaid when the second of two environments cannot be changed.
func TestHalfOfItIsSaid(t *testing.T) {
	in := town(t)
	in.Grant("ann/api", "bob", "write")
	s := inBrowser(in, "bob").Submit("/vaults/ann/api/secrets/set", "key", "A", "value", "typed", "environment.development", "on", "environment.production", "on")
	expectSeen(t, s, 403, "1 of 2 are done, then this went wrong: Your role on ann/api (write) may not write production.")
	if got := read(t, in.SignIn("ann"), "A", "development"); got != "typed" {
		t.Errorf("it is %q", got)
	}
}

func TestASecretIsRenamedAcrossEnvironments(t *testing.T) {
	in := town(t)
	c, ann, bob := in.SignIn("ann"), inBrowser(in, "ann"), inBrowser(in, "bob")
	const page = "/vaults/ann/api/secrets/rename?key=DB_URL"
	s := expectSeen(t, ann.Open(page), 200, "Rename <code>DB_URL</code>", `name="name" value="DB_URL"`)
	if got := choices(s); got != "development* staging* production*" {
		t.Errorf("ann chooses from %s", got)
	}
	if got := choices(ann.Open(page + "&environment=staging")); got != "development staging* production" {
		t.Errorf("from one environment, ann chooses from %s", got)
	}
	if got := choices(expectSeen(t, bob.Open(page), 200, "You may not change it in any environment.")); got != "" {
		t.Errorf("bob chooses from %s", got)
	}
	development, staging, production := choice(t, s, "development"), choice(t, s, "staging"), choice(t, s, "production")
	for _, tt := range []struct {
		status int
		says   string
		fields []string
	}{
		{422, "Tick the environments", []string{"name", "A"}},
		{422, api.KeyRule, []string{"name", `"><b>`, staging, "on"}},
		{422, api.KeyRule, []string{"name", "", staging, "on"}},
		{409, "staging has a secret DB_HOST already.", []string{"name", "DB_HOST", staging, "on"}},
		{404, "no such secret", []string{"name", "A", "secret.x", "on"}},
	} {
		s := expectSeen(t, ann.Submit(page, tt.fields...), tt.status, tt.says)
		if strings.Contains(s.Text, "<b>") {
			t.Errorf("%q: %s", tt.fields, s.Text)
		}
	}
	expectSeen(t, bob.Submit(page, "name", "A", staging, "on"), 403, "may not write staging")
	expect(t, ann.Submit(page, "name", "DATABASE_URL", development, "on", staging, "on"), 303, "/vaults/ann/api#DATABASE_URL")
	expectSeen(t, ann.Open("/vaults/ann/api"), 200, "has its new name")
	if got := read(t, c, "DATABASE_URL", "staging") + read(t, c, "DB_URL", "production"); got != "canary-samecanary-same" {
		t.Errorf("values %s", got)
	}
	expect(t, ann.Submit(page, "name", "DATABASE_URL", production, "on"), 303, "/vaults/ann/api#DATABASE_URL")
	for _, path := range []string{page, "/vaults/ann/api/secrets/rename", "/vaults/ann/api/secrets/remove?key=NONE"} {
		expectSeen(t, ann.Open(path), 404, "no such secret")
	}
}

func TestASecretGoesToTheTrashAndComesBack(t *testing.T) {
	in := town(t)
	c, ann, bob := in.SignIn("ann"), inBrowser(in, "ann"), inBrowser(in, "bob")
	const page = "/vaults/ann/api/secrets/remove?key=DB_URL"
	s := expectSeen(t, ann.Open(page+"&environment=staging"), 200, "Move <code>DB_URL</code> to the trash")
	if got := choices(s); got != "development staging* production" {
		t.Errorf("ann chooses from %s", got)
	}
	staging, production := choice(t, s, "staging"), choice(t, s, "production")
	expectSeen(t, ann.Submit(page), 422, "Tick the environments")
	expectSeen(t, bob.Submit(page, staging, "on"), 403, "may not write staging")
	expect(t, ann.Submit(page, staging, "on", production, "on"), 303, "/vaults/ann/api")
	s = expectSeen(t, ann.Open("/vaults/ann/api"), 200, "The secret is in the trash.", ">Undo</button>")
	if got := shownMatrix(s); !strings.Contains(got, "DB_URL: set missing missing\n") {
		t.Errorf("%s", got)
	}
	undo := regexp.MustCompile(`(?s)action="([^"]+/undo)".*?name="secrets" value="([^"]+)"`).FindStringSubmatch(s.Text)
	if undo == nil {
		t.Fatalf("%s", s.Text)
	}
	if s := ann.Open("/vaults/ann/api"); strings.Contains(s.Text, "Undo") {
		t.Error("it is offered again")
	}
	expectSeen(t, bob.Submit(undo[1], "secrets", undo[2]), 403)
	expectSeen(t, ann.Send("POST", undo[1], "secrets="+undo[2], "Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example"), 403, "another site")
	expect(t, ann.Submit(undo[1], "secrets", undo[2]), 303, "/vaults/ann/api")
	expectSeen(t, ann.Open("/vaults/ann/api"), 200, "out of the trash again")
	if got := read(t, c, "DB_URL", "staging") + read(t, c, "DB_URL", "production"); got != "canary-samecanary-same" {
		t.Errorf("values %s", got)
	}
	for _, secrets := range []string{undo[2], "", "x", `"><b>`} {
		expectSeen(t, ann.Submit(undo[1], "secrets", secrets), 404)
	}
	s = ann.Send("GET", "/vaults/ann/api", "", "Cookie", `coffer_notice=secret-trashed.'><b>`)
	if s.Status != 200 || strings.Contains(s.Text, "<b>") {
		t.Errorf("%d %s", s.Status, s.Text)
	}
}

// TestAReadOnlyVaultOffersNoChange, and refuses those that are sent all the same.
func TestAReadOnlyVaultOffersNoChange(t *testing.T) {
	in := town(t)
	in.Push(in.SignIn("ann"), "ann/web", "development", map[string]string{"COLOR": "canary-new"})
	in.Restart(onPlan("free"))
	ann := inBrowser(in, "ann")
	s := expectSeen(t, ann.Open("/vaults/ann/web"), 200, "This vault is read-only")
	if got := offered(s); got != "Search" {
		t.Errorf("the matrix offers %s", got)
	}
	page := links(s, "/vaults/ann/web/secrets/")
	s = expectSeen(t, ann.Open(page), 200, "This vault is read-only", "read only")
	if got := offered(s); got != "Show the value, Show, Show" {
		t.Errorf("the page of a secret offers %s", got)
	}
	versions := hiddenVersion.FindAllStringSubmatch(s.Text, -1)
	id := page[strings.LastIndex(page, "/")+1:]
	for _, sent := range [][]string{
		{"/vaults/ann/web/secrets/set?key=COLOR", "value", "typed", "environment.development", "on"},
		{"/vaults/ann/web/secrets/rename?key=COLOR", "name", "COLOUR", "secret." + id, "on"},
		{"/vaults/ann/web/secrets/remove?key=COLOR", "secret." + id, "on"},
		{page + "/restore", "version", versions[1][1]},
	} {
		expectSeen(t, ann.Submit(sent[0], sent[1:]...), 403, "read-only")
	}
	for _, form := range []string{"secrets/set?key=COLOR", "secrets/rename?key=COLOR", "secrets/remove?key=COLOR"} {
		if s := ann.Open("/vaults/ann/web/" + form); s.Status != 200 || offered(s) != "" {
			t.Errorf("%s: %d %s", form, s.Status, s.Text)
		}
	}
	expectSeen(t, ann.Submit(page), 200, "canary-new")
}
