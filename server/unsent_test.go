package server_test

import (
	"bytes"
	"html"
	"mime/multipart"
	"regexp"
	"strings"
	"testing"

	"coffer/server/api"
	"coffer/server/servertest"
)

// expectKept wants the page that holds a form which came without a session.
func expectKept(t *testing.T, s *servertest.Seen) *servertest.Seen {
	t.Helper()
	if got := s.Header.Get("Cache-Control"); got != "no-store" {
		t.Errorf("Cache-Control is %q", got)
	}
	return expectSeen(t, s, 401, "Your session has ended", `href="/login?return=%2fsigned-in" target="_blank" rel="noopener">`, "Send again")
}

var (
	keptForm  = regexp.MustCompile(`<form method="post" action="([^"]*)"( enctype="multipart/form-data")?>\n(<input type="hidden"[^>]*>\n)+<p class="choices"><a [^>]*>[^<]*</a>\n<button type="submit" class="quiet">Send again`)
	keptField = regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)">`)
)

// sendAgain sends the form of that page as browsers do, which write every line end
// in a field as CR LF.
func sendAgain(t *testing.T, b *servertest.Browser, s *servertest.Seen) *servertest.Seen {
	t.Helper()
	form := keptForm.FindStringSubmatch(s.Text)
	if form == nil {
		t.Fatalf("no form to send again: %d %s", s.Status, s.Text)
	}
	read := strings.NewReplacer("\r\n", "\n", "\r", "\n")
	sent := strings.NewReplacer("\r\n", "\r\n", "\r", "\r\n", "\n", "\r\n")
	var pairs []string
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for _, m := range keptField.FindAllStringSubmatch(read.Replace(form[0]), -1) {
		name, value := html.UnescapeString(m[1]), sent.Replace(html.UnescapeString(m[2]))
		pairs = append(pairs, name, value)
		_ = w.WriteField(name, value)
	}
	_ = w.Close()
	if form[2] != "" {
		return b.Send("POST", html.UnescapeString(form[1]), body.String(), "Content-Type", w.FormDataContentType())
	}
	return b.Submit(html.UnescapeString(form[1]), pairs...)
}

// parted is somebody's browser whose session was ended from another one.
func parted(t *testing.T, in *servertest.Instance, user string) *servertest.Browser {
	t.Helper()
	b, other := inBrowser(in, user), inBrowser(in, user)
	end := regexp.MustCompile(`action="(/sessions/[^"]+/end)"`).FindStringSubmatch(other.Open("/account").Text)
	expect(t, other.Submit(end[1]), 303, "/account")
	if b.Cookie("coffer_session", "/") == "" {
		t.Fatal("the browser knows that its session has ended")
	}
	return b
}

// TestAFormOutlivesItsSession: each is done once somebody signed in again, with the
// button that was pressed, however often it was sent meanwhile.
func TestAFormOutlivesItsSession(t *testing.T) {
	const vault = "/vaults/ann/api"
	in := town(t)
	if _, err := in.Operator.AddLocalOrg(t.Context(), api.AddLocalOrg{Name: "acme"}); err != nil {
		t.Fatal(err)
	}
	in.Member("acme", "ann", "owner")
	for _, tt := range []struct {
		path, to string // where it leads in the end
		fields   []string
		says     string // there
	}{
		{vault + "/secrets/set?environment=staging&key=TYPED", vault + "#TYPED", []string{"value", "one\r\n <b>\"two\" 100%0A\r\n", "environment.staging", "on"}, "The value is set."},
		{vault + "/environments", vault + "/environments", []string{"name", "qa", "type", "development"}, "The environment is there."},
		{"/", "/vaults/ann/new", []string{"repoFullName", "ann/new"}, "The vault is there"},
		{"/orgs/acme", "/orgs/acme", []string{"do", "rename", "displayName", "Acme & Co"}, "<h1>Acme & Co</h1>"},
		{"/orgs/acme", "/orgs/acme", []string{"do", "sync"}, "The roster was read just now."},
	} {
		b := parted(t, in, "ann")
		s := expectKept(t, b.Submit(tt.path, tt.fields...))
		if b.Cookie("coffer_session", "/") != "" {
			t.Errorf("%s: the browser keeps the cookie of a session that has ended", tt.path)
		}
		s = expectKept(t, sendAgain(t, b, s))
		b.SignIn("ann")
		expectSeen(t, b.Open("/signed-in"), 200, "Close this window")
		expect(t, sendAgain(t, b, s), 303, tt.to)
		page, _, _ := strings.Cut(tt.to, "#")
		expectSeen(t, b.Open(page), 200, tt.says)
	}
	if got := read(t, in.SignIn("ann"), "TYPED", "staging"); got != "one\n <b>\"two\" 100%0A\n" {
		t.Errorf("what was typed is %q", got)
	}
}

// TestAFileOutlivesItsSession with its line ends, which say how it is read.
func TestAFileOutlivesItsSession(t *testing.T) {
	in := town(t)
	ann := in.SignIn("ann")
	for file, value := range map[string]string{ // of B
		"\ufeffA=1\nB='two\nlines'\n": "two\nlines", "A=1\r\nB='two\r\nlines'\r\n": "two\nlines", "A=1\nB=%0A%zz\n": "%0A%zz",
		"A=1\nB=\"it's a\\nb\"": "it's a\nb", "A=1\nB=\"it's a\\nb\"\n": "it's a\nb",
		"A=1\rB=2\r": "", // cannot be read
	} {
		in.Push(ann, "ann/api", "staging", map[string]string{"A": "old"})
		var body bytes.Buffer
		w := multipart.NewWriter(&body)
		_ = w.WriteField("environment", "staging")
		_ = w.WriteField("text", "")
		part, _ := w.CreateFormFile("file", "x.env")
		_, _ = part.Write([]byte(file))
		_ = w.WriteField("do", "look")
		_ = w.Close()
		send := func(b *servertest.Browser) *servertest.Seen {
			return b.Send("POST", importAt, body.String(), "Content-Type", w.FormDataContentType())
		}
		want := send(inBrowser(in, "ann"))
		b := parted(t, in, "ann")
		s := expectKept(t, sendAgain(t, b, expectKept(t, send(b))))
		if strings.Contains(s.Text, "packed.text") || strings.Contains(s.Text, "packed.environment") {
			t.Errorf("%q: what needs no packing is packed: %s", file, s.Text)
		}
		b.SignIn("ann")
		got := sendAgain(t, b, s)
		if draft := regexp.MustCompile(`name="draft" value="[^"]*"`); got.Status != want.Status || draft.ReplaceAllString(got.Text, "") != draft.ReplaceAllString(want.Text, "") {
			t.Errorf("%q: sent again: %d %s\nwant %d %s", file, got.Status, got.Text, want.Status, want.Text)
		}
		if value == "" {
			expectSeen(t, got, 422, "carriage return")
			continue
		}
		expect(t, formOf(got).send(b, importAt), 303, "/vaults/ann/api")
		if got := read(t, ann, "B", "staging"); got != value {
			t.Errorf("%q: B is %q", file, got)
		}
	}
}

// TestWhoSignsInMeanwhileHasTheirOwnRights, and what is gone stays gone.
func TestWhoSignsInMeanwhileHasTheirOwnRights(t *testing.T) {
	in := town(t)
	const page = "/vaults/ann/api/secrets/set?environment=staging&key=LOCAL"
	b := parted(t, in, "ann")
	s := expectKept(t, b.Submit(page, "value", "v", "environment.staging", "on"))
	b.SignIn("bob")
	expectSeen(t, sendAgain(t, b, s), 403, "may not write staging")
	in.User("eve")
	b.SignIn("eve")
	expectSeen(t, sendAgain(t, b, s), 404)
	b.SignIn("ann")
	expect(t, b.Submit("/vaults/ann/api/settings", "confirm", "ann/api"), 303, "/")
	expectSeen(t, sendAgain(t, b, s), 404)
}

// TestOnlyOurOwnFormsAreKept: nobody else's page gets one to be shown here.
func TestOnlyOurOwnFormsAreKept(t *testing.T) {
	in := town(t)
	b := in.Browser()
	form := servertest.Form("name", "canary")
	for _, foreign := range [][]string{{"Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example"}, {"Sec-Fetch-Site", "", "Origin", "https://evil.example"}, {"Sec-Fetch-Site", "", "Origin", "null"}} {
		if s := expectSeen(t, b.Send("POST", "/keys", form, foreign...), 403); strings.Contains(s.Text, "canary") {
			t.Error(s.Text)
		}
	}
	// What proves something is not given back, and there is nothing in an empty form.
	for _, field := range []string{"password", "passphrase", "again", "claim", "characters", "confirm_token"} {
		s := b.Submit("/operator/users", "username", "eve", field, "canary", "packed."+field, "canary")
		if s.Status == 401 || strings.Contains(s.Text, "canary") {
			t.Errorf("%s comes back: %d %s", field, s.Status, s.Text)
		}
		expect(t, b.Submit("/operator/users", "username", "eve", "packed."+field, "canary"), 303, "/login?return=%2F")
	}
	expect(t, b.Submit("/vaults/ann/api/raw/staging"), 303, "/login?return=%2F")
	expectSeen(t, b.Submit("/keys", "name", "a", "name", "b"), 400, "more than once")
	expectSeen(t, b.Submit("/keys", "name", "a", "packed.name", "b"), 400, "more than once")
	for _, packed := range []string{"%", "%0", "%zz", "%00", "%ff"} {
		expectSeen(t, b.Submit("/keys", "packed.name", packed), 400, "The form")
	}
	expectSeen(t, b.Submit("/keys", "name", strings.Repeat("x", 1<<20)), 413)
}

// TestWhatWasTypedIsInert, whatever it is.
func TestWhatWasTypedIsInert(t *testing.T) {
	in := town(t)
	const evil = `"></form><script>alert(1)</script><img src=x onerror='y'><!--`
	s := expectKept(t, in.Browser().Submit("/vaults/ann/api/secrets/set?key=A&x="+`%22%3E%3Cscript%3E`, evil, evil, "value", evil+"\n</textarea>"+evil))
	if strings.Count(s.Text, "<script") != 1 || strings.Contains(s.Text, "<img") || strings.Contains(s.Text, "<!--") || strings.Count(s.Text, "</form>") != 1 {
		t.Error(s.Text)
	}
	if len(keptField.FindAllString(s.Text, -1)) != 2 || keptForm.FindString(s.Text) == "" {
		t.Errorf("the form is another one: %s", s.Text)
	}
}
