package server_test

import (
	"encoding/hex"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"coffer/server"
	"coffer/server/api"
	"coffer/server/client"
	"coffer/server/servertest"
)

const sessionCookie = "coffer_session"

// refusals are the reasons of the refused sign-ins in the whole audit log, oldest
// first, each with whom it names.
func refusals(t *testing.T, in *servertest.Instance) []string {
	t.Helper()
	var out strings.Builder
	if err := in.Operator.ExportAudit(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	all := []string{}
	for _, line := range strings.Split(out.String(), "\n") {
		if !strings.Contains(line, `"login_refused"`) {
			continue
		}
		reason := regexp.MustCompile(`"reason":"(\w+)"`).FindStringSubmatch(line)
		method := regexp.MustCompile(`"method":"(\w+)"`).FindStringSubmatch(line)
		actor := regexp.MustCompile(`"username":"(\w+)"`).FindStringSubmatch(line)
		text := method[1] + " " + reason[1]
		if actor != nil {
			text += " " + actor[1]
		}
		all = append(all, text)
	}
	return all
}

func expect(t *testing.T, s *servertest.Seen, status int, location string) {
	t.Helper()
	if s.Status != status || s.Location() != location {
		t.Fatalf("got %d to %q, want %d to %q: %s", s.Status, s.Location(), status, location, s.Text)
	}
}

func TestPeopleSignInWithTheirPassword(t *testing.T) {
	in := servertest.New(t)
	ann := in.User("ann")
	b := in.Browser()
	expect(t, b.Open("/"), 303, "/login?return=%2F")
	if s := b.Open("/login?return=%2Fdevice%3Fuser_code%3DA"); s.Status != 200 || !strings.Contains(s.Text, `name="password"`) {
		t.Fatalf("%d %s", s.Status, s.Text)
	}
	s := b.Submit("/login", "username", "Ann", "password", servertest.Password, "return", "/device?user_code=A")
	expect(t, s, 303, "/device?user_code=A")
	cookie := s.Header.Get("Set-Cookie")
	for _, part := range []string{"; Path=/;", "; HttpOnly", "; SameSite=Lax", "; Secure", "; Max-Age=2592000"} {
		if !strings.Contains(cookie+";", part) {
			t.Errorf("the cookie lacks %q: %s", part, cookie)
		}
	}
	s = b.Open("/account")
	for _, part := range []string{"Signed in as ann", "This browser", "coffer login", "127.0.0.1"} {
		if s.Status != 200 || !strings.Contains(s.Text, part) {
			t.Errorf("no %q: %d %s", part, s.Status, s.Text)
		}
	}
	got, err := ann.Activity(t.Context(), api.Page{})
	if err != nil || got.Items[0].Action != "user_login" || got.Items[0].Metadata["method"] != "password" || got.Items[0].Platform != "web" {
		t.Errorf("%+v %v", got.Items[0], err)
	}
}

// TestASessionAsksTheAPI: the same answers as with a token, and all scopes.
func TestASessionAsksTheAPI(t *testing.T) {
	in := servertest.New(t)
	ann := in.User("ann")
	in.Vault(ann, "ann/api")
	b := in.Browser()
	b.SignIn("ann")
	for _, path := range []string{"/v1/users/me", "/v1/vaults", "/v1/auth/sessions"} {
		if s := b.Open(path); s.Status != 200 || !strings.HasPrefix(s.Header.Get("Content-Type"), "application/json") {
			t.Errorf("%s: %d %s", path, s.Status, s.Text)
		}
	}
	body := `{"repoFullName":"ann/api","environment":"production","secrets":{"A":"1"}}`
	if s := b.Send("POST", "/v1/secrets/push", body); s.Status != 200 {
		t.Errorf("%d %s", s.Status, s.Text)
	}
	// A bearer token comes first, whatever the cookie would be good for.
	if s := b.Send("GET", "/v1/users/me", "", "Authorization", "Bearer coffer_live_none"); s.Status != 401 {
		t.Errorf("a wrong bearer beside a right cookie: %d", s.Status)
	}
	in.User("bob")
	bob, err := in.Operator.SignIn(t.Context(), api.SignIn{Username: "bob"})
	if err != nil {
		t.Fatal(err)
	}
	if s := b.Send("GET", "/v1/users/me", "", "Authorization", "Bearer "+string(bob.Token)); !strings.Contains(s.Text, `"username":"bob"`) {
		t.Errorf("%d %s", s.Status, s.Text)
	}
	// What is no bearer token, as proxies with passwords of their own send it,
	// says nothing to us.
	if s := b.Send("GET", "/v1/users/me", "", "Authorization", "Basic YTpi"); !strings.Contains(s.Text, `"username":"ann"`) {
		t.Errorf("%d %s", s.Status, s.Text)
	}
}

func TestOtherSitesCannotUseASession(t *testing.T) {
	in := servertest.New(t)
	ann := in.User("ann")
	in.Vault(ann, "ann/api")
	b := in.Browser()
	b.SignIn("ann")
	foreign := map[string][]string{
		"another site":     {"Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example"},
		"a neighbour":      {"Sec-Fetch-Site", "same-site", "Origin", "https://evil.vault.example"},
		"over plain HTTP":  {"Sec-Fetch-Site", "", "Origin", "https://evil.example"},
		"another port":     {"Sec-Fetch-Site", "", "Origin", "https://vault.example:8443"},
		"no origin at all": {"Sec-Fetch-Site", "", "Origin", "null"},
	}
	id := sessionID(t, in.SignIn("ann"))
	for name, headers := range foreign {
		for _, call := range []string{
			"POST /v1/secrets/push", "POST /v1/auth/logout", "DELETE /v1/auth/sessions/" + id, "DELETE /v1/vaults/ann/api",
			"POST /logout", "POST /sessions/" + id + "/end", "POST /login",
		} {
			method, path, _ := strings.Cut(call, " ")
			s := b.Send(method, path, servertest.Form("username", "ann", "password", servertest.Password), headers...)
			if s.Status != 403 || len(s.Header.Values("Set-Cookie")) > 0 {
				t.Errorf("%s, %s: %d %v %s", name, call, s.Status, s.Header.Values("Set-Cookie"), s.Text)
			}
		}
		if s := b.Send("GET", "/v1/users/me", "", headers...); s.Status != 200 {
			t.Errorf("%s reads nothing by asking, since it does not get the answer: %d", name, s.Status)
		}
		// A bearer token is no browser's doing.
		token, err := in.Operator.SignIn(t.Context(), api.SignIn{Username: "ann"})
		if err != nil {
			t.Fatal(err)
		}
		if s := b.Send("POST", "/v1/auth/logout", "", append(headers, "Authorization", "Bearer "+string(token.Token))...); s.Status != 204 {
			t.Errorf("%s, with a bearer: %d %s", name, s.Status, s.Text)
		}
	}
	if s := b.Open("/v1/vaults/ann/api"); s.Status != 200 {
		t.Errorf("the vault is gone: %d", s.Status)
	}
	// Our own pages over plain HTTP say their origin only.
	if s := b.Send("POST", "/logout", "", "Sec-Fetch-Site", ""); s.Status != 303 {
		t.Errorf("our own page: %d %s", s.Status, s.Text)
	}
}

// sessionID is the id of the session that a client has.
func sessionID(t *testing.T, c *client.Client) string {
	t.Helper()
	all, err := c.Sessions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		if s.Current {
			return s.ID
		}
	}
	t.Fatal("no current session")
	return ""
}

func TestTheWayBackLeadsNowhereElse(t *testing.T) {
	in := servertest.New(t)
	in.User("ann")
	for _, to := range []string{"//evil.example", `/\evil.example`, "http://evil.example", "https:evil.example", "/\t/evil.example", "javascript:alert(1)", "/.//evil.example", "evil.example", "/login"} {
		b := in.Browser()
		if s := b.Open("/login?return=" + url.QueryEscape(to)); s.Status != 200 || strings.Contains(s.Text, "evil") || strings.Contains(s.Text, `name="return"`) {
			t.Errorf("%q: %d %s", to, s.Status, s.Text)
		}
		expect(t, b.Submit("/login", "username", "ann", "password", servertest.Password, "return", to), 303, "/")
	}
}

// TestNamesCannotBeFoundOut: who guesses learns nothing from an answer, not even
// from many of them.
func TestNamesCannotBeFoundOut(t *testing.T) {
	in := servertest.New(t)
	in.User("ann")
	if _, err := in.Operator.AddLocalOrg(t.Context(), api.AddLocalOrg{Name: "acme"}); err != nil {
		t.Fatal(err)
	}
	trace := regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}`)
	wait := regexp.MustCompile(`Wait \d+ seconds`)
	see := func(name string, s *servertest.Seen) string {
		text := strings.ReplaceAll(s.Text, `value="`+name+`"`, `value="name"`)
		return http.StatusText(s.Status) + wait.ReplaceAllString(trace.ReplaceAllString(text, "id"), "Wait n seconds")
	}
	var answers [8][]string
	for _, name := range []string{"ann", "zoe", "acme"} {
		b := in.Browser()
		for i := range answers {
			answers[i] = append(answers[i], see(name, b.Submit("/login", "username", name, "password", "wrong password")))
		}
	}
	for i, of := range answers {
		if of[0] != of[1] || of[0] != of[2] {
			t.Errorf("attempt %d: %s", i+1, cmp.Diff(of[0], of[1]))
		}
		if locked := strings.HasPrefix(of[0], "Too Many Requests"); locked != (i >= 5) || !locked && !strings.HasPrefix(of[0], "Unauthorized") {
			t.Errorf("attempt %d: %s", i+1, of[0])
		}
	}
	got := refusals(t, in)
	want := []string{}
	for _, of := range []string{"password %", "unknown_name", "unknown_name"} {
		of, name, _ := strings.Cut(of, "%")
		for i := range 8 {
			reason := strings.TrimSpace(of)
			if i >= 5 {
				reason = "locked"
			}
			who := ""
			if name == "" && strings.HasPrefix(of, "password") {
				who = " ann"
			}
			want = append(want, "password "+reason+who)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if log := in.Log.String(); strings.Contains(log, "zoe") || strings.Contains(log, "wrong password") {
		t.Error("what was typed in is in the log")
	}
}

func TestTooManyAttemptsTakeEverLonger(t *testing.T) {
	var c clock
	in := servertest.New(t, c.option)
	in.User("ann")
	b := in.Browser()
	wrong := func() *servertest.Seen { return b.Submit("/login", "username", "ANN", "password", "wrong password") }
	for range 5 {
		if s := wrong(); s.Status != 401 {
			t.Fatalf("%d %s", s.Status, s.Text)
		}
	}
	for _, want := range []time.Duration{2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second} {
		s := wrong()
		if s.Status != 429 {
			t.Fatalf("%s: %d %s", want, s.Status, s.Text)
		}
		wait, err := time.ParseDuration(s.Header.Get("Retry-After") + "s")
		if err != nil || wait > want || wait < want-time.Second {
			t.Errorf("wait %s %v, want %s", wait, err, want)
		}
		if s := b.Submit("/login", "username", "ann", "password", servertest.Password); s.Status != 429 {
			t.Errorf("the right password during a pause: %d", s.Status)
		}
		c.turn(want)
		if s := wrong(); s.Status != 401 {
			t.Errorf("after the pause: %d", s.Status)
		}
	}
	c.turn(time.Minute)
	b.SignIn("ann")
	if s := wrong(); s.Status != 401 {
		t.Errorf("after a right one, it begins anew: %d", s.Status)
	}
}

func TestSignInsAreLimitedByAddress(t *testing.T) {
	in := servertest.New(t, servertest.Limited)
	in.User("ann")
	b := in.Browser()
	for i := range 10 {
		if s := b.Submit("/login", "username", "nobody"+string(rune('a'+i)), "password", "x"); s.Status != 401 {
			t.Fatalf("%d: %d %s", i, s.Status, s.Text)
		}
	}
	s := b.Submit("/login", "username", "ann", "password", servertest.Password)
	if s.Status != 429 || s.Header.Get("Retry-After") == "" || !strings.HasPrefix(s.Header.Get("Content-Type"), "text/html") {
		t.Errorf("%d %v", s.Status, s.Header)
	}
}

// TestASessionHasABucketOfItsOwn: by session, so that two browsers of one person
// do not share it.
func TestASessionHasABucketOfItsOwn(t *testing.T) {
	in := servertest.New(t, servertest.Limited)
	in.User("ann")
	one, two := in.Browser(), in.Browser()
	one.SignIn("ann")
	two.SignIn("ann")
	for i, b := range []*servertest.Browser{one, one, two} {
		h := b.Open("/v1/users/me").Header
		if got := h.Get("X-RateLimit-Limit") + " " + h.Get("X-RateLimit-Remaining"); got != []string{"1000 999", "1000 998", "1000 999"}[i] {
			t.Errorf("%d: %s", i, got)
		}
	}
}

func TestEverySignInIsANewSession(t *testing.T) {
	in := servertest.New(t)
	ann := in.User("ann")
	in.User("bob")
	b := in.Browser()
	b.SignIn("ann")
	first := b.Cookie(sessionCookie, "/")
	b.SignIn("ann")
	second := b.Cookie(sessionCookie, "/")
	if first == second || first == "" || second == "" {
		t.Errorf("cookies %q and %q", first, second)
	}
	thief := in.Browser()
	if s := thief.Send("GET", "/v1/users/me", "", "Cookie", sessionCookie+"="+first); s.Status != 401 {
		t.Errorf("the session from before the sign-in: %d", s.Status)
	}
	b.SignIn("bob")
	if s := thief.Send("GET", "/v1/users/me", "", "Cookie", sessionCookie+"="+second); s.Status != 401 {
		t.Errorf("the session of who was signed in before: %d", s.Status)
	}
	// A token that somebody else put into the browser is worth nothing afterwards.
	planted := strings.Repeat("A", len(first))
	expect(t, in.Browser().Send("POST", "/login", servertest.Form("username", "ann", "password", servertest.Password), "Cookie", sessionCookie+"="+planted), 303, "/")
	if s := thief.Send("GET", "/v1/users/me", "", "Cookie", sessionCookie+"="+planted); s.Status != 401 {
		t.Errorf("the planted session: %d", s.Status)
	}
	if s := thief.Send("GET", "/v1/users/me", "", "Cookie", sessionCookie+"="+planted+"; "+sessionCookie+"="+b.Cookie(sessionCookie, "/")); s.Status != 401 {
		t.Errorf("two cookies: %d", s.Status)
	}
	if _, err := ann.Me(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestSessionsOfBrowsersEnd(t *testing.T) {
	in := servertest.New(t)
	in.User("ann")
	one, two := in.Browser(), in.Browser()
	one.SignIn("ann")
	two.SignIn("ann")
	page := two.Open("/account").Text
	action := regexp.MustCompile(`action="(/sessions/[^"]+/end)"`).FindStringSubmatch(page)
	if action == nil || strings.Count(page, "/end\"") != 1 {
		t.Fatalf("no other session to end: %s", page)
	}
	expect(t, two.Submit(action[1]), 303, "/account")
	expect(t, two.Submit(action[1]), 303, "/account") // twice does no harm
	s := one.Open("/")
	expect(t, s, 303, "/login?return=%2F")
	if one.Cookie(sessionCookie, "/") != "" {
		t.Error("the browser keeps a session that has ended")
	}
	expect(t, one.Submit("/logout"), 303, "/login?return=%2F")

	// By the API, and by signing out on the page.
	if s := two.Send("POST", "/v1/auth/logout", "{}"); s.Status != 204 || two.Cookie(sessionCookie, "/") != "" {
		t.Errorf("%d, cookie %q", s.Status, two.Cookie(sessionCookie, "/"))
	}
	two.SignIn("ann")
	token := two.Cookie(sessionCookie, "/")
	expect(t, two.Submit("/logout"), 303, "/login")
	if two.Cookie(sessionCookie, "/") != "" {
		t.Error("still a cookie")
	}
	if s := in.Browser().Send("GET", "/v1/users/me", "", "Cookie", sessionCookie+"="+token); s.Status != 401 {
		t.Errorf("after signing out: %d", s.Status)
	}
	for _, path := range []string{"/sessions/1/end", "/sessions/0193a1b2-0000-7000-8000-000000000001/end"} {
		two.SignIn("ann")
		if s := two.Submit(path); s.Status != 404 && s.Location() != "/account" {
			t.Errorf("%s: %d", path, s.Status)
		}
	}
}

// TestNobodyEndsTheSessionsOfOthers: an id is no secret.
func TestNobodyEndsTheSessionsOfOthers(t *testing.T) {
	in := servertest.New(t)
	in.User("ann")
	in.User("bob")
	ann, bob := in.Browser(), in.Browser()
	ann.SignIn("ann")
	bob.SignIn("bob")
	id := regexp.MustCompile(`"id":"([^"]+)"`).FindStringSubmatch(ann.Open("/v1/auth/sessions").Text)[1]
	bob.Submit("/sessions/" + id + "/end")
	if s := ann.Open("/"); s.Status != 200 {
		t.Errorf("%d", s.Status)
	}
}

func TestSessionsLastAsLongAsConfigured(t *testing.T) {
	var c clock
	in := servertest.New(t, c.option, func(cfg *server.Config) { cfg.Session.TTL = 10 * 24 * time.Hour })
	in.User("ann")
	b, idle := in.Browser(), in.Browser()
	b.SignIn("ann")
	idle.SignIn("ann")
	token := in.SignIn("ann")
	at := func(d time.Duration, browser, other, byToken bool) {
		t.Helper()
		c.turn(d)
		if got := b.Open("/v1/users/me").Status == 200; got != browser {
			t.Errorf("after %s: the browser is signed in: %t", d, got)
		}
		_, err := token.Me(t.Context())
		if got := err == nil; got != byToken {
			t.Errorf("after %s: the token is good: %t", d, got)
		}
		if other {
			return
		}
		if s := idle.Open("/v1/users/me"); s.Status != 401 {
			t.Errorf("after %s: the browser that stayed away: %d", d, s.Status)
		}
	}
	at(4*24*time.Hour, true, true, true)
	at(4*24*time.Hour, true, false, true)
	at(2*24*time.Hour+time.Second, false, false, false)
	job, err := in.Operator.RunJob(t.Context(), "sessions")
	if err != nil || job.Removed != 3 {
		t.Errorf("%+v %v", job, err)
	}
	for _, ttl := range []time.Duration{31 * 24 * time.Hour, -1, time.Second} {
		if _, err := server.New(server.Config{Data: t.TempDir(), Session: server.SessionConfig{TTL: ttl}}); err == nil {
			t.Errorf("session.ttl %s is taken", ttl)
		}
	}
}

// TestTheTokenOfASessionIsNowhere but in the browser.
func TestTheTokenOfASessionIsNowhere(t *testing.T) {
	in := servertest.New(t)
	in.User("ann")
	b := in.Browser()
	b.SignIn("ann")
	token := b.Cookie(sessionCookie, "/")
	pages := b.Open("/").Text + b.Open("/account").Text + b.Open("/v1/auth/sessions").Text
	in.Stop()
	data, err := os.ReadFile(filepath.Join(in.Data, server.DataFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{token, hex.EncodeToString([]byte(token)), servertest.Password} {
		for where, text := range map[string]string{"data": string(data), "log": in.Log.String(), "pages": pages} {
			if strings.Contains(text, secret) {
				t.Errorf("it is in the %s", where)
			}
		}
	}
}

func TestMarkupInANameIsShownAsText(t *testing.T) {
	in := servertest.New(t)
	in.User("ann")
	b := in.Browser()
	const evil = `<script>alert(1)</script>`
	s := b.Send("POST", "/login", servertest.Form("username", "ann", "password", servertest.Password), "User-Agent", evil)
	expect(t, s, 303, "/")
	if s := b.Open("/account"); strings.Contains(s.Text, evil) || !strings.Contains(s.Text, "&lt;script&gt;") {
		t.Errorf("%s", s.Text)
	}
	if s := b.Submit("/login", "username", evil, "password", "x"); strings.Contains(s.Text, evil) {
		t.Errorf("%s", s.Text)
	}
}

func TestASealedServerLeadsToItsUnsealing(t *testing.T) {
	in := servertest.New(t)
	in.User("ann")
	b := in.Browser()
	b.SignIn("ann")
	if err := in.Operator.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	for page, want := range map[string]string{
		"/": "/unseal", "/login": "/unseal?return=%2Flogin", "/login/forge": "/unseal?return=%2Flogin%2Fforge",
		"/login/callback": "/unseal?return=%2Flogin%2Fcallback", "/device?user_code=A": "/unseal?return=%2Fdevice%3Fuser_code%3DA",
	} {
		expect(t, b.Open(page), 303, want)
	}
	expect(t, b.Submit("/login", "username", "ann", "password", servertest.Password), 303, "/unseal")
	for _, form := range []string{"/device", "/device/approve", "/logout"} {
		expect(t, b.Submit(form, "user_code", "BCDFG-HJK23", "confirm_token", "x"), 303, "/unseal")
	}
	if b.Cookie(sessionCookie, "/") == "" {
		t.Error("a sealed server made the browser forget its session")
	}
}

func TestFormsAreReadStrictly(t *testing.T) {
	in := servertest.New(t)
	in.User("ann")
	b := in.Browser()
	for body, want := range map[string]int{
		"username=ann&username=bob&password=x": 400, "username=%zz": 400, "": 401, "a;b": 400,
		"username=ann&password=" + strings.Repeat("x", 1<<20): 413,
	} {
		if s := b.Send("POST", "/login", body); s.Status != want {
			t.Errorf("%.40q: %d, want %d", body, s.Status, want)
		}
	}
	if s := b.Send("POST", "/login", `{"username":"ann","password":"a password"}`); s.Status != 401 || s.Header.Get("WWW-Authenticate") != "Bearer" {
		t.Errorf("JSON: %d %v", s.Status, s.Header)
	}
}
