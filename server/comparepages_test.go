package server_test

import (
	"html"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"coffer/server/api"
	"coffer/server/servertest"
)

var (
	keyGroup = regexp.MustCompile(`(?s)<h2 id="[a-z]+">(.+?) \(\d+\)</h2>\s*<ul class="keys">(.*?)</ul>`)
	keyName  = regexp.MustCompile(`<li><code>([^<]+)</code></li>`)
)

// keyGroups are the keys that a page lists below its headings, a line for each.
func keyGroups(s *servertest.Seen) string {
	var all strings.Builder
	for _, group := range keyGroup.FindAllStringSubmatch(s.Text, -1) {
		all.WriteString(group[1] + ":")
		for _, key := range keyName.FindAllStringSubmatch(group[2], -1) {
			all.WriteString(" " + key[1])
		}
		all.WriteString("\n")
	}
	return html.UnescapeString(all.String())
}

const comparePath = "/vaults/ann/api/compare"

func TestEnvironmentsAreCompared(t *testing.T) {
	in := town(t)
	expect(t, in.Browser().Open(comparePath+"?left=staging"), 303, "/login?return=%2Fvaults%2Fann%2Fapi%2Fcompare%3Fleft%3Dstaging")
	ann := inBrowser(in, "ann")
	byDefault := "Different values: DB_HOST\nOnly in development now: LOCAL\nThe same: DB_URL\n"
	for query, want := range map[string]string{
		"":                                byDefault,
		"?left=development&right=staging": byDefault,
		"?left=production":                "Only in production now: LIVE_KEY\nOnly in development now: LOCAL\nThe same: DB_HOST DB_URL\n",
		"?left=staging&right=production":  "Different values: DB_HOST\nOnly in production now: LIVE_KEY\nThe same: DB_URL\n",
		"?left=staging&right=staging":     "The same: DB_HOST DB_URL\n",
		"?left=staging&at=0":              "Only in staging now: DB_HOST DB_URL\n",
		"?left=staging&at=1":              "The same: DB_HOST DB_URL\n",
		"?left=staging&at=1999-12-31":     "Only in staging now: DB_HOST DB_URL\n",
		"?left=staging&at=0&right=staging&rightAt=2000-01-01T00:00:00Z": "",
	} {
		s := expectSeen(t, ann.Open(comparePath+query), 200)
		if got := keyGroups(s); got != want {
			t.Errorf("%s shows\n%s\nwant\n%s", query, got, want)
		}
		if strings.Contains(s.Text, "canary") {
			t.Errorf("%s holds a value", query)
		}
		if got := current(s); got != "Vaults true, Compare page" {
			t.Errorf("%s is at %q", query, got)
		}
	}
	s := expectSeen(t, ann.Open(comparePath+"?left=staging&at=0&right=production"), 200, "Only in production now (3)")
	if got := links(s, comparePath); got != comparePath+"?left=production&right=staging&rightAt=0" {
		t.Errorf("the other way round at %s", got)
	}
	expectSeen(t, ann.Open(comparePath+"?left=staging&at=0&right=production&rightAt=0"), 200, "hold the same: nothing.")
}

func TestAnEnvironmentIsComparedWithItsPast(t *testing.T) {
	in := town(t)
	ann := in.SignIn("ann")
	time.Sleep(3 * time.Millisecond)
	before := time.Now()
	time.Sleep(3 * time.Millisecond)
	in.Push(ann, repo, "production", map[string]string{"DB_URL": "canary-new", "DB_HOST": "canary-1", "FRESH": "canary"})
	b := inBrowser(in, "ann")
	const want = "Different values: DB_URL\nOnly in production at revision 1: LIVE_KEY\nOnly in production now: FRESH\nThe same: DB_HOST\n"
	for _, at := range []string{"1", " 1 ", before.UTC().Format(time.RFC3339Nano)} {
		s := expectSeen(t, b.Open(comparePath+"?left=production&at="+url.QueryEscape(at)), 200)
		if got := keyGroups(s); got != want || strings.Contains(s.Text, "canary") {
			t.Errorf("at %s: %s", at, got)
		}
	}
	if got := keyGroups(b.Open(comparePath + "?left=production&at=2&right=production&rightAt=1")); !strings.Contains(got, "Only in production at revision 2: FRESH\n") {
		t.Errorf("two revisions: %s", got)
	}
	id := secretID(t, ann, "FRESH")
	if err := ann.DeleteSecret(t.Context(), repo, id); err != nil {
		t.Fatal(err)
	}
	if err := ann.DestroySecret(t.Context(), repo, id); err != nil {
		t.Fatal(err)
	}
	expectSeen(t, b.Open(comparePath+"?left=production&at=2"), 200, "Not all of production at revision 2 is left")
}

func TestTimesThatAreNoneAreMarked(t *testing.T) {
	in := town(t)
	b := inBrowser(in, "ann")
	for query, want := range map[string]string{
		"at=yesterday":                   "like 2026-11-20 09:15",
		"at=2":                           "staging is at revision 1.",
		"at=9999-01-01":                  "A time in the past.",
		"at=99999999999999999":           "A revision like 41",
		"at=-1":                          "A revision like 41",
		"at=2026-02-30":                  "A revision like 41",
		"rightAt=7":                      "development is at revision 1.",
		"rightAt=%22%3E%3Cscript%3E":     "A revision like 41",
		"at=2026-11-20T09:15:00%2B99:00": "A revision like 41",
	} {
		s := expectSeen(t, b.Open(comparePath+"?left=staging&right=development&"+query), 422, want, `aria-invalid="true"`)
		if keyGroups(s) != "" || strings.Contains(s.Text, "<script>") {
			t.Errorf("%s: %s", query, s.Text)
		}
	}
	for query, want := range map[string]int{"left=a&left=b": 400, "left=%ff": 400, "left=none": 404, "right=%3Cb%3E": 404} {
		s := b.Open(comparePath + "?" + query)
		if s.Status != want || strings.Contains(s.Text, "<b>") {
			t.Errorf("%s: %d, want %d: %s", query, s.Status, want, s.Text)
		}
	}
}

// TestNobodyComparesWhatTheyMayNotRead, not even with what they may.
func TestNobodyComparesWhatTheyMayNotRead(t *testing.T) {
	in := town(t)
	bob := inBrowser(in, "bob")
	s := expectSeen(t, bob.Open(comparePath), 200, "DB_HOST")
	if strings.Contains(s.Text, "production") {
		t.Errorf("%s", s.Text)
	}
	for _, query := range []string{"?left=production", "?right=production", "?left=production&at=0", "?left=staging&right=production&rightAt=x"} {
		s := bob.Open(comparePath + query)
		if s.Status == 200 || strings.Contains(s.Text, "LIVE_KEY") || strings.Contains(s.Text, "<option>production") || keyGroups(s) != "" {
			t.Errorf("%s: %d %s", query, s.Status, s.Text)
		}
	}
	expectSeen(t, bob.Open(comparePath+"?left=production"), 403, "may not read production")
	expectSeen(t, bob.Open("/vaults/ann/web/compare"), 404)
	_, err := in.SignIn("ann").CreateOverride(t.Context(), api.CreateOverride{Ref: api.Ref{Owner: "ann", Repo: "api"}, Environment: "*", TargetType: "role", TargetRole: new("read")})
	if err != nil {
		t.Fatal(err)
	}
	expectSeen(t, bob.Open(comparePath), 200, "There is no environment in this vault that you may read.")
}

// TestAComparisonRecordsNoRead: it shows what lists of keys show.
func TestAComparisonRecordsNoRead(t *testing.T) {
	in := town(t)
	ann, b := in.Key("ann", "live", servertest.AllScopes...), inBrowser(in, "ann")
	before, err := ann.Activity(t.Context(), api.Page{})
	if err != nil {
		t.Fatal(err)
	}
	b.Open(comparePath + "?left=production&at=1")
	if after, err := ann.Activity(t.Context(), api.Page{}); err != nil || after.Total != before.Total {
		t.Errorf("%d records, %d before: %v", after.Total, before.Total, err)
	}
}
