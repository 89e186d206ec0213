package server_test

import (
	"regexp"
	"strings"
	"testing"

	"coffer/server"
	"coffer/server/api"
	"coffer/server/client"
	"coffer/server/servertest"
)

// pageOf is the address of a secret's page, found in the matrix of ann/api.
func pageOf(t *testing.T, b *servertest.Browser, key, environment string) string {
	t.Helper()
	s := expectSeen(t, b.Open("/vaults/ann/api?q="+key), 200)
	m := regexp.MustCompile(`href="([^"]+)" aria-label="` + key + ` in ` + environment + `: (?:set|differs)`).FindStringSubmatch(s.Text)
	if m == nil {
		t.Fatalf("no %s in %s: %s", key, environment, s.Text)
	}
	return m[1]
}

// read is what a secret of ann/api holds.
func read(t *testing.T, c *client.Client, key, environment string) string {
	t.Helper()
	v, err := c.ViewSecret(t.Context(), api.ViewSecret{Repo: "ann/api", Environment: environment, Key: key})
	if err != nil {
		t.Fatalf("%s in %s: %v", key, environment, err)
	}
	return string(v.Value)
}

// offered is what a page says with forms and buttons.
func offered(s *servertest.Seen) string {
	_, main, _ := strings.Cut(s.Text, `<main id="main">`)
	var all []string
	for _, m := range regexp.MustCompile(`<(?:button|a class="button)[^>]*>([^<]+)<`).FindAllStringSubmatch(main, -1) {
		all = append(all, m[1])
	}
	return strings.Join(all, ", ")
}

var hiddenVersion = regexp.MustCompile(`name="version" value="([^"]+)"`)

func TestASecretHasAPage(t *testing.T) {
	in := town(t)
	ann, bob := inBrowser(in, "ann"), inBrowser(in, "bob")
	in.Push(in.SignIn("ann"), "ann/api", "staging", map[string]string{"DB_URL": "canary-new", "DB_HOST": "canary-2"})
	page := pageOf(t, ann, "DB_URL", "staging")
	expect(t, in.Browser().Open(page), 303, "/login?return="+strings.ReplaceAll(page, "/", "%2F"))
	s := expectSeen(t, ann.Open(page), 200, "<code>DB_URL</code> in staging", "by ann", "Version 2", "Version 1", "current")
	if got := offered(s); got != "Show the value, Set a new value, Rename, Move to the trash, Show, Show, Restore" {
		t.Errorf("ann is offered %s", got)
	}
	if strings.Contains(s.Text, "canary") || !strings.HasPrefix(current(s), "Vaults true, Secrets true") {
		t.Errorf("%s", s.Text)
	}
	s = expectSeen(t, bob.Open(page), 200, "read only")
	if got := offered(s); got != "Show the value, Show, Show" {
		t.Errorf("bob is offered %s", got)
	}
	hidden := pageOf(t, ann, "LIVE_KEY", "production")
	expectSeen(t, bob.Open(hidden), 403, "may not read production")
	for _, path := range []string{strings.Replace(page, "ann/api", "ann/web", 1), "/vaults/ann/api/secrets/x", "/vaults/ann/api/secrets/00000000-0000-7000-8000-000000000000"} {
		expectSeen(t, ann.Open(path), 404)
	}
}

// TestAPageShowsTheOneValueThatWasAskedFor, and the activity says so.
func TestAPageShowsTheOneValueThatWasAskedFor(t *testing.T) {
	in := town(t)
	key := in.Key("ann", "live", servertest.AllScopes...)
	in.Push(in.SignIn("ann"), "ann/api", "staging", map[string]string{"DB_URL": "\n canary-new\r\n<b>", "DB_HOST": "canary-2"})
	ann := inBrowser(in, "ann")
	page := pageOf(t, ann, "DB_URL", "staging")
	s := ann.Open(page)
	versions := hiddenVersion.FindAllStringSubmatch(s.Text, -1)
	if len(versions) != 3 {
		t.Fatalf("versions %q", versions)
	}
	s = expectSeen(t, ann.Submit(page), 200, "<pre class=\"value\" tabindex=\"0\" role=\"region\" aria-labelledby=\"value\">\n\n canary-new\r\n<b></pre>")
	if strings.Contains(s.Text, "canary-same") || s.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("%v %s", s.Header, s.Text)
	}
	expectLatest(t, key, "secret_value_accessed")
	s = expectSeen(t, ann.Submit(page, "version", versions[2][1]), 200, "Value of version 1", "canary-same")
	if strings.Contains(s.Text, "canary-new") {
		t.Errorf("the other value is there, too: %s", s.Text)
	}
	expectLatest(t, key, "secret_version_value_accessed")
	for _, version := range []string{"x", "00000000-0000-7000-8000-000000000000", `"><b>`} {
		expectSeen(t, ann.Submit(page, "version", version), 404, "no such version")
	}
	if s := ann.Open(page); strings.Contains(s.Text, "canary") {
		t.Errorf("asked for anew, it still shows: %s", s.Text)
	}
	eve := "https://evil.example"
	if s := expectSeen(t, ann.Send("POST", page, "", "Sec-Fetch-Site", "cross-site", "Origin", eve), 403); strings.Contains(s.Text, "canary") {
		t.Errorf("another site reads: %s", s.Text)
	}
	in.User("eve")
	expectSeen(t, inBrowser(in, "eve").Submit(page), 404)
	expectSeen(t, inBrowser(in, "bob").Submit(pageOf(t, ann, "LIVE_KEY", "production")), 403)
	expect(t, in.Browser().Submit(page), 303, "/login?return=%2F")
}

// expectLatest wants this action as the latest one in the activity.
func expectLatest(t *testing.T, c *client.Client, action string) {
	t.Helper()
	all, err := c.Activity(t.Context(), api.Page{})
	if err != nil || all.Items[0].Action != action {
		t.Errorf("the latest is %v, want %s: %v", all.Items[0], action, err)
	}
}

func TestValuesAreShownAsOftenAsThroughTheAPI(t *testing.T) {
	in := town(t, func(c *server.Config) { c.Limits = server.LimitsConfig{} })
	ann := inBrowser(in, "ann")
	page := pageOf(t, ann, "DB_URL", "staging")
	for range 10 {
		expectSeen(t, ann.Submit(page), 200, "canary-same")
	}
	s := expectSeen(t, ann.Submit(page), 429, "Too many reads of values: 10 are possible in 1m. Wait ", " seconds.", `<a class="button" href="`+page+`">Back to the page</a>`)
	if s.Header.Get("Retry-After") == "" || strings.Contains(s.Text, "canary") {
		t.Errorf("%v %s", s.Header, s.Text)
	}
	expectSeen(t, ann.Open(page), 200)
}

func TestAnOldVersionIsRestored(t *testing.T) {
	in := town(t)
	c := in.SignIn("ann")
	in.Push(c, "ann/api", "staging", map[string]string{"DB_URL": "canary-new", "DB_HOST": "canary-2"})
	ann, bob := inBrowser(in, "ann"), inBrowser(in, "bob")
	page := pageOf(t, ann, "DB_URL", "staging")
	old := hiddenVersion.FindAllStringSubmatch(ann.Open(page).Text, -1)[2][1]
	expectSeen(t, bob.Submit(page+"/restore", "version", old), 403, "may not write staging", "Versions")
	expectSeen(t, ann.Submit(page+"/restore", "version", "x"), 404, "no such version", "Versions")
	expect(t, ann.Submit(page+"/restore", "version", old), 303, page)
	expectSeen(t, ann.Open(page), 200, "Version 3", "The old value is the current one again")
	if got := read(t, c, "DB_URL", "staging"); got != "canary-same" {
		t.Errorf("it is %q", got)
	}
}
