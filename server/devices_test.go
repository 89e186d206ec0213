package server_test

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"coffer/server"
	"coffer/server/api"
	"coffer/server/client"
	"coffer/server/servertest"
)

// program is one without a browser that wants to be signed in.
type program struct {
	t    *testing.T
	c    *client.Client
	made *api.StartedDevice
}

func startProgram(t *testing.T, in *servertest.Instance) *program {
	t.Helper()
	p := &program{t: t, c: in.Client("")}
	made, err := p.c.StartDevice(t.Context(), api.StartDevice{Repository: new(repo), OwnerID: new(api.HostID(1)), RepoID: new(api.HostID(1 << 63))})
	if err != nil {
		t.Fatal(err)
	}
	p.made = made
	return p
}

// link is the path of the page that the program shows, code and all.
func (p *program) link() string {
	p.t.Helper()
	u, err := url.Parse(p.made.VerificationURIComplete)
	if err != nil {
		p.t.Fatal(err)
	}
	return u.RequestURI()
}

// stands wants a poll to be told this, and returns the token if there is one.
func (p *program) stands(want string) string {
	p.t.Helper()
	got, err := p.c.PollDevice(p.t.Context(), p.made.DeviceCode)
	if err != nil {
		p.t.Fatal(err)
	}
	if got.Status != want || (got.KeywayToken != "") != (want == api.DeviceApproved) {
		p.t.Errorf("a poll is told %s, want %s", got.Status, want)
	}
	return string(got.KeywayToken)
}

// inBrowser opens a browser in which a user is signed in.
func inBrowser(in *servertest.Instance, user string) *servertest.Browser {
	b := in.Browser()
	b.SignIn(user)
	return b
}

// expectSeen wants a page of this status that holds all of these texts.
func expectSeen(t *testing.T, s *servertest.Seen, status int, texts ...string) *servertest.Seen {
	t.Helper()
	if s.Status != status {
		t.Errorf("got %d, want %d: %s", s.Status, status, s.Text)
	}
	for _, text := range texts {
		if !strings.Contains(html.UnescapeString(s.Text), text) {
			t.Errorf("no %q in %s", text, s.Text)
		}
	}
	return s
}

var confirmToken = regexp.MustCompile(`name="confirm_token" value="([^"]+)"`)

// shownTo enters the program's code in a browser, and returns the token that the
// page has.
func (p *program) shownTo(b *servertest.Browser) string {
	p.t.Helper()
	page := expectSeen(p.t, b.Submit("/device", "user_code", p.made.UserCode), 200, p.made.UserCode)
	found := confirmToken.FindAllStringSubmatch(page.Text, -1)
	if len(found) != 2 || found[0][1] != found[1][1] {
		p.t.Fatalf("confirm tokens %q", found)
	}
	return found[0][1]
}

func (p *program) approvedIn(b *servertest.Browser) {
	p.t.Helper()
	expectSeen(p.t, b.Submit("/device/approve", "confirm_token", p.shownTo(b)), 200, "The program is signed in")
}

// sessionsOf counts the sessions of whom a token signs in.
func sessionsOf(t *testing.T, c *client.Client) []api.Session {
	t.Helper()
	all, err := c.Sessions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestSomebodyWhoIsNotSignedInYetSignsAProgramIn(t *testing.T) {
	in := servertest.New(t)
	in.User("ann")
	p := startProgram(t, in)
	b := in.Browser()
	to := expectSeen(t, b.Open(p.link()), http.StatusSeeOther).Location()
	if want := "/login?return=" + url.QueryEscape(p.link()); to != want {
		t.Fatalf("led to %s, want %s", to, want)
	}
	expectSeen(t, b.Open(to), 200, `name="return" value="`+p.link()+`"`)
	back := b.Submit("/login", "username", "ann", "password", servertest.Password, "return", p.link())
	if expectSeen(t, back, http.StatusSeeOther); back.Location() != p.link() {
		t.Fatalf("led back to %s", back.Location())
	}
	expectSeen(t, b.Open(p.link()), 200, `value="`+p.made.UserCode+`"`)
	p.stands(api.DevicePending)

	page := b.Submit("/device", "user_code", p.made.UserCode)
	expectSeen(t, page, 200, "ann", p.made.UserCode, repo, "127.0.0.1", "coffer/test", "less than a minute ago", "Did somebody send you a link")
	p.stands(api.DevicePending)
	found := confirmToken.FindStringSubmatch(page.Text)
	if found == nil {
		t.Fatal(page.Text)
	}
	done := expectSeen(t, b.Submit("/device/approve", "confirm_token", found[1]), 200, "The program is signed in")
	token := p.stands(api.DeviceApproved)
	if again := p.stands(api.DeviceApproved); again != token {
		t.Error("a poll that comes again gets another token")
	}
	for _, seen := range []*servertest.Seen{page, done} {
		if strings.Contains(seen.Text, token) || strings.Contains(seen.Text, string(p.made.DeviceCode)) {
			t.Error("a page shows what is the program's alone")
		}
	}
	c := in.Client(token)
	if me, err := c.Me(t.Context()); err != nil || me.Username != "ann" {
		t.Errorf("%+v, %v", me, err)
	}
	for _, s := range sessionsOf(t, c) {
		if s.Current && (*s.UserAgent != "coffer/test" || *s.IP != "127.0.0.1") {
			t.Errorf("the program's session: %s from %s", *s.UserAgent, *s.IP)
		}
	}
	if strings.Contains(in.Log.String(), string(p.made.DeviceCode)) || strings.Contains(in.Log.String(), found[1]) || strings.Contains(in.Log.String(), p.made.UserCode) {
		t.Error("the log holds a code")
	}
}

// TestAnAttackersLinkYieldsNothing plays it: Eve starts a login, and has Ann, who
// is signed in, open her link and her pages. Whatever Ann's browser does by
// itself, Eve gets nothing; only Ann's own answer to what she is shown counts.
func TestAnAttackersLinkYieldsNothing(t *testing.T) {
	in := servertest.New(t)
	in.User("ann")
	in.User("eve")
	ann, eve := inBrowser(in, "ann"), inBrowser(in, "eve")
	p := startProgram(t, in)
	evesToken := p.shownTo(eve)
	const code = "user_code"

	// The link is opened, fetched ahead, and looked at by a mail program.
	expectSeen(t, ann.Open(p.link()), 200, "Nobody has a reason to send you a code")
	expectSeen(t, ann.Send("GET", p.link(), "", "Sec-Purpose", "prefetch;prerender", "Sec-Fetch-Site", "cross-site"), 200)
	expectSeen(t, ann.Send("HEAD", p.link(), ""), 200)
	for _, path := range []string{"/device/approve", "/device/deny"} {
		expectSeen(t, ann.Open(path+"?confirm_token="+evesToken), http.StatusMethodNotAllowed)
	}
	p.stands(api.DevicePending)

	// Eve's page sends forms and requests; Ann's cookie goes along.
	crossSite := [][]string{
		{"Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"},
		{"Origin", "https://evil.example", "Sec-Fetch-Site", ""}, // an old browser
		{"Origin", "null", "Sec-Fetch-Site", ""},
		{"Origin", "https://evil.vault.example", "Sec-Fetch-Site", "same-site"},
	}
	for _, headers := range crossSite {
		for path, form := range map[string]string{
			"/device":         servertest.Form(code, p.made.UserCode),
			"/device/approve": servertest.Form("confirm_token", evesToken),
			"/device/deny":    servertest.Form("confirm_token", evesToken),
		} {
			s := expectSeen(t, ann.Send("POST", path, form, headers...), http.StatusForbidden)
			if confirmToken.MatchString(s.Text) {
				t.Errorf("%v: %s shows a token", headers, path)
			}
		}
		for path, body := range map[string]string{
			"verify": `{"userCode":"` + p.made.UserCode + `"}`, "approve": `{"confirmToken":"` + evesToken + `"}`, "deny": `{"confirmToken":"` + evesToken + `"}`,
		} {
			s := ann.Send("POST", "/v1/auth/device/"+path, body, append([]string{"Content-Type", "text/plain"}, headers...)...)
			expectSeen(t, s, http.StatusForbidden)
		}
	}
	p.stands(api.DevicePending)

	// Even from our own page, Eve's token is worth nothing in Ann's session, nor
	// anything that is no token.
	for _, token := range []string{evesToken, "", "x", evesToken[:64] + "." + strings.Repeat("A", 43)} {
		expectSeen(t, ann.Submit("/device/approve", "confirm_token", token), http.StatusNotFound, "Nothing was decided")
	}
	p.stands(api.DevicePending)

	// Ann looks, and that makes Eve's token void; then she refuses.
	annsToken := p.shownTo(ann)
	expectSeen(t, eve.Submit("/device/approve", "confirm_token", evesToken), http.StatusNotFound)
	expectSeen(t, eve.Submit("/device/approve", "confirm_token", annsToken), http.StatusNotFound)
	p.stands(api.DevicePending)
	expectSeen(t, ann.Submit("/device/deny", "confirm_token", annsToken), 200, "The program was refused")
	p.stands(api.DeviceDenied)
	for _, b := range []*servertest.Browser{ann, eve} {
		expectSeen(t, b.Submit("/device/approve", "confirm_token", annsToken), http.StatusNotFound)
		expectSeen(t, b.Submit("/device", code, p.made.UserCode), http.StatusNotFound, "not known")
	}
	p.stands(api.DeviceDenied)
	if n := len(sessionsOf(t, in.SignIn("ann"))); n != 2 { // her browser, and this look
		t.Errorf("ann has %d sessions", n)
	}

	// What Eve approves herself signs in Eve.
	own := startProgram(t, in)
	own.approvedIn(eve)
	if me, err := in.Client(own.stands(api.DeviceApproved)).Me(t.Context()); err != nil || me.Username != "eve" {
		t.Errorf("%+v, %v", me, err)
	}
}

func TestCodesAreTypedAsPeopleDo(t *testing.T) {
	in := servertest.New(t)
	in.User("ann")
	b := inBrowser(in, "ann")
	p := startProgram(t, in)
	bare := strings.ReplaceAll(p.made.UserCode, "-", "")
	for _, typed := range []string{p.made.UserCode, bare, strings.ToLower(p.made.UserCode), "  " + strings.ToLower(bare) + "\t", bare[:5] + " " + bare[5:]} {
		expectSeen(t, b.Submit("/device", "user_code", typed), 200, p.made.UserCode, "Is this you?")
	}
	for _, typed := range []string{"", "BCDFG-HJK23", bare[:9], bare + "A", "call 555-0100", strings.Repeat("x", 10_000)} {
		s := expectSeen(t, b.Submit("/device", "user_code", typed), http.StatusNotFound, "This code is not known")
		if strings.Contains(s.Text, "555") || strings.Contains(s.Text, "xxxx") {
			t.Errorf("the page repeats %q", typed)
		}
	}
	for _, link := range []string{"/device", "/device?user_code=", "/device?user_code=call+555-0100+now", "/device?user_code=%22%3E%3Cscript%3E"} {
		s := expectSeen(t, b.Open(link), 200, `name="user_code" value=""`)
		if strings.Contains(s.Text, "0100 now") || strings.Contains(s.Text, "<script>") {
			t.Errorf("%s: %s", link, s.Text)
		}
	}
	expectSeen(t, b.Submit("/device", "user_code", p.made.UserCode, "user_code", p.made.UserCode), http.StatusBadRequest)
	p.stands(api.DevicePending)
}

func TestADeviceLoginOutlivesARestart(t *testing.T) {
	var c clock
	in := servertest.New(t, c.option)
	in.User("ann")
	b := inBrowser(in, "ann")
	waiting, shown, approved := startProgram(t, in), startProgram(t, in), startProgram(t, in)
	token := shown.shownTo(b)
	approved.approvedIn(b)
	jwt := approved.stands(api.DeviceApproved)
	in.Restart()
	for _, p := range []*program{waiting, shown, approved} {
		p.c.URL = in.URL
	}
	waiting.stands(api.DevicePending)
	shown.stands(api.DevicePending)
	if approved.stands(api.DeviceApproved) != jwt {
		t.Error("another token after the restart")
	}
	expectSeen(t, b.Submit("/device/approve", "confirm_token", token), 200)
	shown.stands(api.DeviceApproved)
	c.turn(time.Minute)
	approved.stands(api.DeviceExpired)
	c.turn(14 * time.Minute)
	waiting.stands(api.DeviceExpired)
	c.turn(time.Hour)
	if j, err := in.Operator.RunJob(t.Context(), "devices"); err != nil || j.Removed != 3 || j.LastError != nil {
		t.Errorf("%+v, %v", j, err)
	}
	if _, err := waiting.c.PollDevice(t.Context(), waiting.made.DeviceCode); api.CodeOf(err) != api.NotFound {
		t.Errorf("forgotten: %v", err)
	}
	if _, err := in.Client(jwt).Me(t.Context()); err != nil {
		t.Errorf("the program is signed in no more: %v", err)
	}
}

func TestWhoWasSignedOutMeanwhileSignsInAgain(t *testing.T) {
	in := servertest.New(t)
	in.User("ann")
	b := inBrowser(in, "ann")
	p := startProgram(t, in)
	token := p.shownTo(b)
	expectSeen(t, b.Submit("/logout"), http.StatusSeeOther)
	if to := expectSeen(t, b.Submit("/device", "user_code", p.made.UserCode), http.StatusSeeOther).Location(); to != "/login?return="+url.QueryEscape(p.link()) {
		t.Errorf("led to %s", to)
	}
	if to := expectSeen(t, b.Submit("/device/approve", "confirm_token", token), http.StatusSeeOther).Location(); to != "/login?return=%2Fdevice" {
		t.Errorf("led to %s", to)
	}
	b.SignIn("ann")
	expectSeen(t, b.Submit("/device/approve", "confirm_token", token), http.StatusNotFound) // it was of the session before
	p.stands(api.DevicePending)
}

func TestSubmissionsOfACodeAreLimited(t *testing.T) {
	in := servertest.New(t, servertest.Limited, func(c *server.Config) { c.Limits.General = server.Rate{Off: true} })
	in.User("ann")
	b := inBrowser(in, "ann")
	p := startProgram(t, in)
	for range 4 {
		expectSeen(t, b.Submit("/device", "user_code", "BCDFG-HJK23"), http.StatusNotFound)
	}
	api := func() *servertest.Seen {
		return b.Send("POST", "/v1/auth/device/verify", `{"userCode":"`+p.made.UserCode+`"}`, "Content-Type", "application/json")
	}
	expectSeen(t, api(), 200, p.made.UserCode)
	expectSeen(t, api(), http.StatusTooManyRequests)
	if s := expectSeen(t, b.Submit("/device", "user_code", p.made.UserCode), http.StatusTooManyRequests, "Too many device codes"); s.Header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	expectSeen(t, b.Open(p.link()), 200)
}

// TestWhoTurnsBackAtTheCodeHostRefusesTheProgram, and nobody else does: not who
// only brings the code host's answer along, nor who set out for another page.
func TestWhoTurnsBackAtTheCodeHostRefusesTheProgram(t *testing.T) {
	var h codeHost
	in := servertest.New(t, h.option)
	p, b, other := startProgram(t, in), in.Browser(), in.Browser()
	no := url.Values{"error": {"access_denied"}}
	answered := func(b *servertest.Browser, state, word string) *servertest.Seen {
		no.Set("state", state)
		no.Set("error", word)
		return arrive(b, no)
	}
	state := stateOf(t, depart(t, b, p.link()))
	expectSeen(t, answered(other, state, "access_denied"), http.StatusBadRequest)
	depart(t, other, "/")
	expectSeen(t, answered(other, state, "access_denied"), http.StatusBadRequest)
	expectSeen(t, answered(other, "x", "access_denied"), http.StatusBadRequest)
	expectSeen(t, answered(other, stateOf(t, depart(t, other, "/")), "access_denied"), http.StatusForbidden)
	expectSeen(t, answered(other, stateOf(t, depart(t, other, "/elsewhere?user_code="+p.made.UserCode)), "access_denied"), http.StatusForbidden)
	expectSeen(t, answered(other, stateOf(t, depart(t, other, p.link())), "server_error"), http.StatusBadRequest)
	p.stands(api.DevicePending)

	expectSeen(t, answered(b, state, "access_denied"), http.StatusForbidden, "The program that waited for you was refused, too")
	p.stands(api.DeviceDenied)
	expectSeen(t, answered(b, state, "access_denied"), http.StatusBadRequest)
	p.stands(api.DeviceDenied)

	// Who consents is asked what to do with the program, not signed in for it.
	p = startProgram(t, in)
	back := arrive(b, h.consent(t, depart(t, b, p.link()), annThere))
	if expectSeen(t, back, http.StatusSeeOther); back.Location() != p.link() {
		t.Errorf("led to %s", back.Location())
	}
	p.stands(api.DevicePending)
	p.approvedIn(b)
	p.stands(api.DeviceApproved)
	state = stateOf(t, depart(t, b, p.link()))
	late := expectSeen(t, answered(b, state, "access_denied"), http.StatusForbidden)
	if strings.Contains(late.Text, "refused, too") {
		t.Errorf("somebody is told that a program was refused which is signed in: %s", late.Text)
	}
	p.stands(api.DeviceApproved)
}
