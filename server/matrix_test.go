package server_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"coffer/server/api"
	"coffer/server/servertest"
)

var (
	matrixLine = regexp.MustCompile(`(?s)<tr id="[^"]+" data-key="([^"]+)">(.*?)</tr>`)
	matrixCell = regexp.MustCompile(`<span class="badge [a-z]+">([^<]+)</span>`)
)

// shownMatrix is what the matrix on a page says, a line for each key.
func shownMatrix(s *servertest.Seen) string {
	var all strings.Builder
	for _, line := range matrixLine.FindAllStringSubmatch(s.Text, -1) {
		all.WriteString(line[1] + ":")
		for _, cell := range matrixCell.FindAllStringSubmatch(line[2], -1) {
			all.WriteString(" " + strings.ReplaceAll(cell[1], "differs: ", ""))
		}
		all.WriteString("\n")
	}
	return all.String()
}

func TestTheMatrixComparesEnvironments(t *testing.T) {
	in := town(t)
	expect(t, in.Browser().Open("/vaults/ann/api?q=a"), 303, "/login?return=%2Fvaults%2Fann%2Fapi%3Fq%3Da")
	ann := inBrowser(in, "ann")
	for query, want := range map[string]string{
		"":                       "DB_HOST: A B A\nDB_URL: set set set\nLIVE_KEY: missing missing set\nLOCAL: set missing missing\n",
		"?q=db":                  "DB_HOST: A B A\nDB_URL: set set set\n",
		"?show=missing":          "LIVE_KEY: missing missing set\nLOCAL: set missing missing\n",
		"?show=differs":          "DB_HOST: A B A\n",
		"?show=changed&q=_url":   "DB_URL: set set set\n",
		"?q=none":                "",
		"?show=differs&q=DB_URL": "",
		"?offset=1000":           "",
	} {
		s := expectSeen(t, ann.Open("/vaults/ann/api"+query), 200)
		if got := shownMatrix(s); got != want {
			t.Errorf("%s shows\n%s\nwant\n%s", query, got, want)
		}
		if strings.Contains(s.Text, "canary") {
			t.Errorf("%s holds a value", query)
		}
		if got := current(s); !strings.HasPrefix(got, "Vaults true, Secrets page") {
			t.Errorf("%s is at %q", query, got)
		}
	}
	s := expectSeen(t, ann.Open("/vaults/ann/api?q=db"), 200, "All (2)", "Missing somewhere (0)", "Different values (1)", "Changed this week (2)", "by ann")
	if got := links(s, "/vaults/ann/api?"); got != "/vaults/ann/api?q=db /vaults/ann/api?q=db&show=missing /vaults/ann/api?q=db&show=differs /vaults/ann/api?q=db&show=changed" {
		t.Errorf("filters %s", got)
	}
	if csp := s.Header.Get("Content-Security-Policy"); !strings.HasSuffix(csp, "; script-src 'self'; connect-src 'self'") {
		t.Errorf("policy %s", csp)
	}
	for query, want := range map[string]int{"?show=x": 422, "?offset=-1": 422, "?q=a&q=b": 400} {
		if s := ann.Open("/vaults/ann/api" + query); s.Status != want {
			t.Errorf("%s: %d, want %d", query, s.Status, want)
		}
	}
}

// TestTheMatrixHidesWhatSomebodyMayNotRead: columns, keys, and whether what is
// there is the same.
func TestTheMatrixHidesWhatSomebodyMayNotRead(t *testing.T) {
	in := town(t)
	bob := inBrowser(in, "bob")
	s := expectSeen(t, bob.Open("/vaults/ann/api"), 200, "read only")
	if want := "DB_HOST: A B\nDB_URL: set set\nLOCAL: set missing\n"; shownMatrix(s) != want || strings.Contains(s.Text, "production") {
		t.Errorf("%s", s.Text)
	}
	_, err := in.SignIn("ann").CreateOverride(t.Context(), api.CreateOverride{Ref: api.Ref{Owner: "ann", Repo: "api"}, Environment: "*", TargetType: "role", TargetRole: new("read")})
	if err != nil {
		t.Fatal(err)
	}
	s = expectSeen(t, bob.Open("/vaults/ann/api"), 200, "There is no environment in this vault that you may read.")
	if shownMatrix(s) != "" || strings.Contains(s.Text, "DB_") {
		t.Errorf("%s", s.Text)
	}
	for _, path := range []string{"/vaults/ann/web", "/vaults/ann/none", "/vaults/ann/a%2Fb", "/vaults/a%00/b"} {
		s := expectSeen(t, bob.Open(path), 404)
		if strings.Contains(s.Text, `class="inside"`) {
			t.Errorf("%s: %s", path, s.Text)
		}
	}
}

// TestTheMatrixRecordsNoRead: it shows what a list of keys shows.
func TestTheMatrixRecordsNoRead(t *testing.T) {
	in := town(t)
	ann := in.Key("ann", "live", servertest.AllScopes...)
	b := inBrowser(in, "ann")
	before, err := ann.Activity(t.Context(), api.Page{})
	if err != nil {
		t.Fatal(err)
	}
	b.Open("/vaults/ann/api")
	if after, err := ann.Activity(t.Context(), api.Page{}); err != nil || after.Total != before.Total {
		t.Errorf("%d records, %d before: %v", after.Total, before.Total, err)
	}
}

func TestALongMatrixHasPages(t *testing.T) {
	in := servertest.New(t, servertest.Plain)
	ann := in.User("ann")
	in.Vault(ann, "ann/api")
	values := make(map[string]string)
	for i := range 501 {
		values[fmt.Sprintf("KEY_%04d", i)] = "x"
	}
	in.Push(ann, "ann/api", "development", values)
	b := inBrowser(in, "ann")
	s := expectSeen(t, b.Open("/vaults/ann/api?show=missing"), 200, "1 to 500 of 501")
	if got := links(s, "/vaults/ann/api?offset"); got != "/vaults/ann/api?offset=500&show=missing" {
		t.Errorf("on to %q", got)
	}
	s = expectSeen(t, b.Open("/vaults/ann/api?offset=500&show=missing"), 200, "501 to 501 of 501")
	if got := shownMatrix(s); got != "KEY_0500: set missing missing\n" {
		t.Errorf("the last page shows %s", got)
	}
}
