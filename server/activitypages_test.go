package server_test

import (
	"fmt"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"coffer/server/api"
	"coffer/server/servertest"
	"coffer/web"
)

var (
	deedLine  = regexp.MustCompile(`<p><strong>([^<]+)</strong> ([^<]+)</p>`)
	chartLine = regexp.MustCompile(`<tr><th scope="row">([^<]+)</th><td>(\d+)</td><td>(\d+)</td></tr>`)
)

// deeds are what a page of activity says was done.
func deeds(s *servertest.Seen) []string {
	var all []string
	for _, m := range deedLine.FindAllStringSubmatch(s.Text, -1) {
		all = append(all, html.UnescapeString(m[1]+" "+m[2]))
	}
	return all
}

func TestPeopleSeeWhatTheyDid(t *testing.T) {
	in := town(t)
	expect(t, in.Browser().Open("/activity?offset=3"), 303, "/login?return=%2Factivity%3Foffset%3D3")
	ann, bob := inBrowser(in, "ann"), inBrowser(in, "bob")
	s := expectSeen(t, ann.Open("/activity"), 200, "pushed to production: 3 created, 0 updated", "command line, with an API key", "from 127.0.0.1")
	if got := deeds(s); len(got) != 8 || got[0] != "ann signed in with password" || got[7] != "ann made the API key test" {
		t.Errorf("ann did %q", got)
	}
	if got := links(s, "/vaults/"); !strings.HasPrefix(got, "/vaults/ann/web /vaults/ann/api") {
		t.Errorf("links %s", got)
	}
	if got := current(s); got != "Activity page" {
		t.Errorf("it is at %q", got)
	}
	if got := deeds(bob.Open("/activity")); len(got) != 2 {
		t.Errorf("bob did %q", got)
	}
	for query, want := range map[string]int{"offset=-1": 422, "limit=0": 422, "offset=x": 422, "limit=1&limit=2": 400, "offset=1000": 200} {
		if s := ann.Open("/activity?" + query); s.Status != want {
			t.Errorf("%s: %d, want %d", query, s.Status, want)
		}
	}
}

// TestActivityPagesAreExactToTheLast walks through them by their links.
func TestActivityPagesAreExactToTheLast(t *testing.T) {
	in := town(t)
	ann := in.SignIn("ann")
	for i := range 60 {
		in.Push(ann, "ann/api", "development", map[string]string{"N": fmt.Sprint(i)})
	}
	b := inBrowser(in, "ann")
	want, err := ann.VaultActivity(t.Context(), api.ListVaultActivity{PageRef: api.PageRef{Ref: api.Ref{Owner: "ann", Repo: "api"}}})
	if err != nil {
		t.Fatal(err)
	}
	seen, last := 0, ""
	for at := "/vaults/ann/api/activity"; at != ""; {
		s := expectSeen(t, b.Open(at), 200, fmt.Sprintf("of %d", want.Total))
		seen += len(deeds(s))
		last, at = at, ""
		if m := regexp.MustCompile(`rel="next" href="([^"]+)"`).FindStringSubmatch(s.Text); m != nil {
			at = html.UnescapeString(m[1])
		}
	}
	if seen != want.Total || last != "/vaults/ann/api/activity?offset=50" {
		t.Errorf("%d records up to %s, want %d", seen, last, want.Total)
	}
	s := expectSeen(t, b.Open("/vaults/ann/api/activity?action=secrets_pushed&actor=ANN&environment=development&offset=50"), 200, "51 to 61 of 61")
	if len(deeds(s)) != 11 || links(s, "/vaults/ann/api/activity?") != "/vaults/ann/api/activity?action=secrets_pushed&actor=ANN&environment=development&offset=25" {
		t.Errorf("%q %s", deeds(s), links(s, "/vaults/"))
	}
}

func TestAVaultsActivityIsForItsAdmins(t *testing.T) {
	in := town(t)
	const at = "/vaults/ann/api/activity"
	expect(t, in.Browser().Open(at), 303, "/login?return=%2Fvaults%2Fann%2Fapi%2Factivity")
	ann, bob := inBrowser(in, "ann"), inBrowser(in, "bob")
	if s := expectSeen(t, bob.Open(at), 403, "This needs the role admin"); len(deeds(s)) > 0 {
		t.Errorf("bob sees %q", deeds(s))
	}
	if s := bob.Open("/vaults/ann/api"); strings.Contains(s.Text, at) {
		t.Error("bob is led there")
	}
	expectSeen(t, bob.Open("/vaults/ann/web/activity"), 404)
	s := expectSeen(t, ann.Open(at), 200, `href="/v1/vaults/ann/api/activity/export" download`)
	if got := current(s); got != "Vaults true, Activity page" {
		t.Errorf("it is at %q", got)
	}
	if got := deeds(s); !slices.Contains(got, "bob was refused: vault activity, because of too low a role") || !slices.Contains(got, "ann made the vault") {
		t.Errorf("%q", got)
	}
	if file := ann.Open("/v1/vaults/ann/api/activity/export"); file.Status != 200 || !strings.Contains(file.Text, "vault_created") {
		t.Errorf("the file: %d %s", file.Status, file.Text)
	}
	for query, want := range map[string]string{
		"action=vault_created":      "ann made the vault",
		"actor=bob":                 "bob was refused: vault activity, because of too low a role",
		"environment=staging":       "ann pushed to staging: 2 created, 0 updated, 0 deleted, 0 unchanged",
		"actor=%3Cb%3E&action=%3Ci": "",
	} {
		s := expectSeen(t, ann.Open(at+"?"+query), 200, "Show all")
		if got := strings.Join(deeds(s), "\n"); got != want || strings.Contains(s.Text, "<b>") || strings.Contains(s.Text, "<i") && strings.Contains(s.Text, `value="<i`) {
			t.Errorf("%s: %s", query, got)
		}
	}
	for query, want := range map[string]int{"offset=-1": 422, "actor=a&actor=b": 400, "actor=%ff": 400} {
		if s := ann.Open(at + "?" + query); s.Status != want {
			t.Errorf("%s: %d, want %d", query, s.Status, want)
		}
	}
}

// TestActivityShowsMarkupAsText: programs and keys are called whatever somebody
// likes.
func TestActivityShowsMarkupAsText(t *testing.T) {
	in := town(t)
	b := inBrowser(in, "ann")
	b.Send("POST", "/keys", servertest.Form(newKey(map[string]string{"name": "<b>key</b>"})...), "User-Agent", "<i>agent</i>")
	s := expectSeen(t, b.Open("/activity?limit=1"), 200, "<b>key</b>", "<i>agent</i>")
	if strings.Contains(s.Text, "with an API key") {
		t.Error("the key that was made is said to have made itself")
	}
	if strings.Contains(s.Text, "<b>") || strings.Contains(s.Text, "<i>") {
		t.Error(s.Text)
	}
}

func TestTheChartCountsByDay(t *testing.T) {
	var c clock
	in := servertest.New(t, c.option)
	in.User("ann")
	in.Vault(in.SignIn("ann"), "ann/api")
	read := func(n int) {
		for range n {
			in.Pull(in.SignIn("ann"), "ann/api", "development")
		}
	}
	write := func(value string, dry bool) {
		_, err := in.SignIn("ann").Push(t.Context(), api.PushSecrets{RepoFullName: "ann/api", Environment: "development",
			Secrets: servertest.Secrets(map[string]string{"A": value}), DryRun: dry})
		if err != nil {
			t.Fatal(err)
		}
	}
	write("0", false)
	c.turn(10 * 24 * time.Hour)
	read(2)
	write("1", false)
	write("2", true)
	first := c.now().UTC()
	c.turn(20 * 24 * time.Hour)
	read(1)
	want := fmt.Sprintf("[[%s 2 1] [%s 1 0]]", first.Format("2 January 2006"), c.now().UTC().Format("2 January 2006"))
	for _, at := range []string{"/activity", "/vaults/ann/api/activity"} {
		s := expectSeen(t, inBrowser(in, "ann").Open(at), 200, "3 reads upwards, 1 write downwards")
		var got [][]string
		for _, m := range chartLine.FindAllStringSubmatch(s.Text, -1) {
			got = append(got, m[1:])
		}
		if fmt.Sprint(got) != want {
			t.Errorf("%s counts %v, want %s", at, got, want)
		}
	}
}

// TestEveryActionHasASentence, of those that the warden writes down.
func TestEveryActionHasASentence(t *testing.T) {
	files, _ := filepath.Glob("warden/*.go")
	n := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, m := range regexp.MustCompile(`(?:note\(|Action: +|action(?:, status)? :?= )"([a-z_]+)"`).FindAllSubmatch(text, -1) {
			n++
			if !slices.Contains(web.ActionNames(), string(m[1])) {
				t.Errorf("%s: no sentence for %s", file, m[1])
			}
		}
	}
	if n < 40 {
		t.Errorf("only %d actions were found", n)
	}
}
