package server_test

import (
	"fmt"
	"html"
	"maps"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"coffer/server/api"
	"coffer/server/client"
	"coffer/server/servertest"
)

var revisionLine = regexp.MustCompile(`(?s)<h2>Revision (\d+)(.*?)</h2>.*?<p>Changed: (.*?)</p>`)

// shownRevisions is what a history says, a line for each revision.
func shownRevisions(s *servertest.Seen) string {
	var all strings.Builder
	for _, line := range revisionLine.FindAllStringSubmatch(s.Text, -1) {
		all.WriteString(line[1] + ": " + regexp.MustCompile(`<[^>]*>`).ReplaceAllString(line[3], "") + "\n")
	}
	return html.UnescapeString(all.String())
}

const (
	revisionsPath = "/vaults/ann/api/history"
	goBackPath    = revisionsPath + "/rollback"
)

// goBack sends the form that a page which asks has.
func goBack(t *testing.T, b *servertest.Browser, page *servertest.Seen, more ...string) *servertest.Seen {
	t.Helper()
	var fields []string
	for _, m := range regexp.MustCompile(`<input type="hidden" name="([^"]+)" value="([^"]*)">`).FindAllStringSubmatch(page.Text, -1) {
		fields = append(fields, m[1], html.UnescapeString(m[2]))
	}
	if len(fields) != 6 {
		t.Fatalf("the page does not ask: %d %s", page.Status, page.Text)
	}
	return b.Submit(goBackPath, append(fields, more...)...)
}

// pushes changes production of town's first vault twice.
func pushes(t *testing.T, in *servertest.Instance) *client.Client {
	t.Helper()
	ann := in.SignIn("ann")
	in.Push(ann, repo, "production", map[string]string{"DB_URL": "canary-new", "DB_HOST": "canary-1", "FRESH": "canary"})
	in.Push(ann, repo, "production", map[string]string{"DB_URL": "canary-new", "DB_HOST": "canary-1", "FRESH": "canary-2"})
	return ann
}

func TestTheHistoryListsRevisions(t *testing.T) {
	in := town(t)
	pushes(t, in)
	expect(t, in.Browser().Open(revisionsPath+"?environment=staging"), 303, "/login?return=%2Fvaults%2Fann%2Fapi%2Fhistory%3Fenvironment%3Dstaging")
	b := inBrowser(in, "ann")
	s := expectSeen(t, b.Open(revisionsPath+"?environment=production"), 200, "History of production", "production (3)", "staging (1)", "by ann", "just now")
	if got, want := shownRevisions(s), "3: FRESH\n2: DB_URL, FRESH, LIVE_KEY\n1: DB_HOST, DB_URL, LIVE_KEY\n"; got != want || strings.Contains(s.Text, "canary") {
		t.Errorf("it lists\n%s\nwant\n%s", got, want)
	}
	if got := current(s); got != "Vaults true, History page, production (3) true" {
		t.Errorf("it is at %q", got)
	}
	if got, want := links(s, goBackPath), goBackPath+"?environment=production&revision=2 "+goBackPath+"?environment=production&revision=1"; got != want {
		t.Errorf("back to %s", got)
	}
	for _, to := range strings.Fields(links(s, comparePath)) {
		if s := b.Open(to); s.Status != 200 || keyGroups(s) == "" {
			t.Errorf("%s: %d %s", to, s.Status, s.Text)
		}
	}
	if s := expectSeen(t, b.Open(revisionsPath), 200, "History of development"); shownRevisions(s) != "1: DB_HOST, DB_URL, LOCAL\n" {
		t.Errorf("the first environment: %s", s.Text)
	}
	for query, want := range map[string]int{"environment=none": 404, "environment=%3Cb%3E": 404, "offset=-1": 422, "offset=x": 422, "environment=a&environment=b": 400, "offset=7": 200} {
		s := b.Open(revisionsPath + "?" + query)
		if s.Status != want || strings.Contains(s.Text, "<b>") {
			t.Errorf("%s: %d, want %d: %s", query, s.Status, want, s.Text)
		}
	}
}

func TestALongHistoryHasPages(t *testing.T) {
	in := servertest.New(t, servertest.Plain)
	ann := in.User("ann")
	in.Vault(ann, repo)
	many := map[string]string{}
	for i := range 27 {
		many[fmt.Sprintf("KEY_%02d", i)] = "x"
		in.Push(ann, repo, "development", map[string]string{"A": strconv.Itoa(i)})
	}
	in.Push(ann, repo, "development", many)
	b := inBrowser(in, "ann")
	s := expectSeen(t, b.Open(revisionsPath), 200, "1 to 25 of 28", "and 8 more")
	if got := shownRevisions(s); !strings.HasPrefix(got, "28: A, KEY_00, KEY_01, ") {
		t.Errorf("the first page: %s", got)
	}
	if got := links(s, revisionsPath+"?offset"); got != revisionsPath+"?offset=25" {
		t.Errorf("on to %q", got)
	}
	if got := shownRevisions(b.Open(revisionsPath + "?offset=25")); got != "3: A\n2: A\n1: A\n" {
		t.Errorf("the last page: %s", got)
	}
}

func TestAnEnvironmentIsRolledBack(t *testing.T) {
	in := town(t)
	ann := pushes(t, in)
	then := map[string]string{"DB_URL": "canary-same", "DB_HOST": "canary-1", "LIVE_KEY": "canary"}
	expect(t, in.Browser().Open(goBackPath+"?environment=production&revision=1"), 303, "/login?return=%2Fvaults%2Fann%2Fapi%2Fhistory%2Frollback%3Fenvironment%3Dproduction%26revision%3D1")
	expectKept(t, in.Browser().Submit(goBackPath, "environment", "production", "revision", "1", "baseRevision", "3"))
	b := inBrowser(in, "ann")
	s := expectSeen(t, b.Open(goBackPath+"?environment=production&revision=1"), 200, "Roll back production to revision 1")
	if got, want := keyGroups(s), "Get their value of then: DB_URL\nCome back: LIVE_KEY\nGo to the trash: FRESH\n"; got != want || strings.Contains(s.Text, "canary") {
		t.Errorf("it would change\n%s\nwant\n%s", got, want)
	}
	if got := current(s); got != "Vaults true, History true" {
		t.Errorf("it is at %q", got)
	}
	expectSeen(t, b.Send("POST", goBackPath, "environment=production&revision=1&baseRevision=3", "Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example"), 403, "another site")
	if got := in.Pull(ann, repo, "production"); got["FRESH"] != "canary-2" {
		t.Errorf("to look at it, or another site, changed it: %v", got)
	}
	expect(t, goBack(t, b, s), 303, revisionsPath+"?environment=production")
	if diff := cmp.Diff(then, in.Pull(ann, repo, "production")); diff != "" {
		t.Errorf("it is not what it was: %s", diff)
	}
	s = expectSeen(t, b.Open(revisionsPath+"?environment=production"), 200, "holds again what it held then")
	if got := shownRevisions(s); !strings.HasPrefix(got, "4: DB_URL, FRESH, LIVE_KEY\n3: ") {
		t.Errorf("one revision of it: %s", got)
	}
	expectSeen(t, b.Open(goBackPath+"?environment=production&revision=1"), 200, "holds what it held at revision 1 already")
	a, err := ann.VaultActivity(t.Context(), api.ListVaultActivity{PageRef: api.PageRef{Ref: api.Ref{Owner: "ann", Repo: "api"}}, Action: "secrets_pushed", Environment: "production"})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"environment": "production", "mode": "replace", "revision": 4.0, "created": 1.0, "updated": 1.0, "deleted": 1.0, "unchanged": 1.0, "rollbackTo": 1.0, "repoFullName": repo}
	for _, e := range a.Items {
		if e.Metadata["dryRun"] != true {
			if diff := cmp.Diff(want, e.Metadata); diff != "" {
				t.Errorf("the record: %s", diff)
			}
			break
		}
	}
}

// TestARollbackBringsBackExactValues, even where a push would take one for what an
// old client made of the other.
func TestARollbackBringsBackExactValues(t *testing.T) {
	in := town(t)
	ann := in.SignIn("ann")
	was, is := map[string]string{"K": `a\nb`}, map[string]string{"K": "a\nb"}
	in.Push(ann, repo, "staging", was)
	in.Push(ann, repo, "staging", is)
	b := inBrowser(in, "ann")
	for i, want := range []map[string]string{was, is, was} {
		s := b.Open(fmt.Sprintf("%s?environment=staging&revision=%d", goBackPath, 2+i%2))
		expect(t, goBack(t, b, s), 303, revisionsPath+"?environment=staging")
		if got := in.Pull(ann, repo, "staging"); !maps.Equal(got, want) {
			t.Errorf("step %d: %q, want %q", i, got, want)
		}
	}
}

func TestARollbackOvertakenIsShownAgain(t *testing.T) {
	in := town(t)
	ann := pushes(t, in)
	b := inBrowser(in, "ann")
	s := b.Open(goBackPath + "?environment=production&revision=1")
	now := map[string]string{"DB_URL": "canary-new", "LATER": "canary"}
	in.Push(ann, repo, "production", now)
	s = expectSeen(t, goBack(t, b, s), 409, "production was changed by somebody meanwhile", "What was changed meanwhile")
	if got := keyGroups(s); got != "Get their value of then: DB_URL\nCome back: DB_HOST LIVE_KEY\nGo to the trash: LATER\n" {
		t.Errorf("it would change now\n%s", got)
	}
	if diff := cmp.Diff(now, in.Pull(ann, repo, "production")); diff != "" {
		t.Errorf("it was changed: %s", diff)
	}
	meanwhile := b.Open(strings.Fields(links(s, comparePath))[0])
	if got := keyGroups(meanwhile); got != "Only in production at revision 3: DB_HOST FRESH\nOnly in production now: LATER\nThe same: DB_URL\n" {
		t.Errorf("meanwhile: %s", got)
	}
	expect(t, goBack(t, b, s), 303, revisionsPath+"?environment=production")
}

func TestWhatIsLeftIsRolledBackToOnRequest(t *testing.T) {
	in := town(t)
	ann := pushes(t, in)
	trash, err := ann.Trash(t.Context(), repo, api.Page{})
	if err != nil || len(trash.Items) != 1 {
		t.Fatalf("in the trash: %v %v", trash, err)
	}
	if err := ann.DestroySecret(t.Context(), repo, trash.Items[0].ID); err != nil {
		t.Fatal(err)
	}
	b := inBrowser(in, "ann")
	s := expectSeen(t, b.Open(goBackPath+"?environment=production&revision=1"), 200, "Not all of revision 1 is left", `name="incomplete"`)
	expectSeen(t, goBack(t, b, s), 409, "Say that what is left will do")
	if got := in.Pull(ann, repo, "production"); got["FRESH"] == "" {
		t.Errorf("it was changed: %v", got)
	}
	expect(t, goBack(t, b, s, "incomplete", "true"), 303, revisionsPath+"?environment=production")
	if diff := cmp.Diff(map[string]string{"DB_URL": "canary-same", "DB_HOST": "canary-1"}, in.Pull(ann, repo, "production")); diff != "" {
		t.Error(diff)
	}
}

func TestRollbacksThatCannotBe(t *testing.T) {
	in := town(t)
	b := inBrowser(in, "ann")
	for query, want := range map[string]int{
		"": 422, "environment=production": 422, "environment=production&revision=x": 422, "environment=production&revision=-1": 422,
		"environment=production&revision=2": 422, "environment=none&revision=1": 404, "environment=%22%3E%3Cb%3E&revision=1": 404,
		"environment=production&revision=1&revision=1": 400,
	} {
		if s := b.Open(goBackPath + "?" + query); s.Status != want || strings.Contains(s.Text, "<b>") {
			t.Errorf("%s: %d, want %d: %s", query, s.Status, want, s.Text)
		}
	}
	for form, want := range map[string]int{
		"": 422, "environment=production&revision=0": 422, "environment=production&revision=0&baseRevision=-1": 422,
		"environment=production&revision=x&baseRevision=1": 422, "environment=production&revision=9&baseRevision=1": 422,
		"environment=none&revision=0&baseRevision=1": 404, "environment=production&revision=0&baseRevision=9": 409,
		"environment=production&revision=0&revision=1&baseRevision=1": 400,
	} {
		if s := b.Send("POST", goBackPath, form); s.Status != want {
			t.Errorf("%s: %d, want %d: %s", form, s.Status, want, s.Text)
		}
	}
	if got := in.Pull(in.SignIn("ann"), repo, "production"); len(got) != 3 {
		t.Errorf("it was changed: %v", got)
	}
}

// TestThePastIsForWhoMayReadIt, and changed by who may read and write.
func TestThePastIsForWhoMayReadIt(t *testing.T) {
	in := town(t)
	ann := pushes(t, in)
	in.Push(ann, repo, "staging", nil)
	bob := inBrowser(in, "bob")
	s := expectSeen(t, bob.Open(revisionsPath+"?environment=staging"), 200, "Compare with now")
	if strings.Contains(s.Text, "production") || strings.Contains(s.Text, "Roll back") {
		t.Errorf("a reader is shown: %s", s.Text)
	}
	for _, path := range []string{revisionsPath + "?environment=production", goBackPath + "?environment=production&revision=1", goBackPath + "?environment=staging&revision=1"} {
		s := expectSeen(t, bob.Open(path), 403, "Your role on ann/api")
		if strings.Contains(s.Text, "LIVE_KEY") || keyGroups(s) != "" {
			t.Errorf("%s: %s", path, s.Text)
		}
	}
	for _, environment := range []string{"staging", "production"} {
		expectSeen(t, bob.Submit(goBackPath, "environment", environment, "revision", "1", "baseRevision", "2"), 403, "Your role on ann/api")
	}
	if got := in.Pull(ann, repo, "staging"); len(got) != 0 {
		t.Errorf("a reader changed it: %v", got)
	}
	// Who may write but not read rolls nothing back: that would tell of keys.
	_, err := ann.CreateOverride(t.Context(), api.CreateOverride{Ref: api.Ref{Owner: "ann", Repo: "api"}, Environment: "staging", TargetType: "role", TargetRole: new("read"), CanWrite: true})
	if err != nil {
		t.Fatal(err)
	}
	expectSeen(t, bob.Submit(goBackPath, "environment", "staging", "revision", "1", "baseRevision", "2"), 403)
	expectSeen(t, bob.Open("/vaults/ann/web/history"), 404)
	refused, err := ann.VaultActivity(t.Context(), api.ListVaultActivity{PageRef: api.PageRef{Ref: api.Ref{Owner: "ann", Repo: "api"}}, Action: "access_denied", Environment: "production"})
	if err != nil || refused.Total != 3 || refused.Items[0].Metadata["operation"] != "rollback" {
		t.Errorf("refusals recorded: %+v %v", refused, err)
	}
}

func TestAReadOnlyVaultIsNotRolledBack(t *testing.T) {
	in := town(t)
	in.Push(in.SignIn("ann"), "ann/web", "development", nil)
	in.Restart(onPlan("free"))
	b := inBrowser(in, "ann")
	s := expectSeen(t, b.Open("/vaults/ann/web/history?environment=development"), 200, "This vault is read-only")
	if strings.Contains(s.Text, "Roll back") {
		t.Errorf("%s", s.Text)
	}
	s = b.Submit("/vaults/ann/web/history/rollback", "environment", "development", "revision", "1", "baseRevision", "2")
	expectSeen(t, s, 403, "read-only")
}
