package server_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"coffer/server"
	"coffer/server/forge"
	"coffer/server/servertest"
)

const ticketCookie = "coffer_login"

// codeHost is a code host that people sign in at, and that answers nothing else.
// It gives out codes with consent, and takes each once, with its verifier.
type codeHost struct {
	forge.Forge

	mu      sync.Mutex
	codes   map[string]consent
	asked   int      // how often for a grant
	failing error    // what it says to whoever asks for one
	shown   []string // the bearer tokens that it was asked about
	unknown bool     // nobody has registered coffer there
}

type consent struct {
	user      forge.User
	challenge string
}

func (h *codeHost) Kind() string { return forge.KindGitea }

func (h *codeHost) AuthorizeURL(state, challenge string) string {
	if h.unknown {
		return ""
	}
	return "https://git.example/login/oauth/authorize?" + url.Values{"state": {state}, "code_challenge": {challenge}}.Encode()
}

// consent is what the host does when a user allows what a browser asks for: it
// sends the browser back with a code.
func (h *codeHost) consent(t *testing.T, authorize string, user forge.User) url.Values {
	t.Helper()
	at, err := url.Parse(authorize)
	if err != nil || at.Host != "git.example" {
		t.Fatalf("sent to %q", authorize)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	code := fmt.Sprintf("code-%d", len(h.codes)+1)
	if h.codes == nil {
		h.codes = make(map[string]consent)
	}
	h.codes[code] = consent{user, at.Query().Get("code_challenge")}
	return url.Values{"code": {code}, "state": {at.Query().Get("state")}}
}

func (h *codeHost) Exchange(_ context.Context, code, verifier string) (forge.Grant, forge.User, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked++
	if h.failing != nil {
		return forge.Grant{}, forge.User{}, h.failing
	}
	got, ok := h.codes[code]
	delete(h.codes, code)
	sum := sha256.Sum256([]byte(verifier))
	if !ok || base64.RawURLEncoding.EncodeToString(sum[:]) != got.challenge {
		return forge.Grant{}, forge.User{}, forge.ErrToken
	}
	return forge.Grant{Access: "access-of-" + got.user.Login, Refresh: "refresh-of-" + got.user.Login, Expires: time.Now().Add(time.Hour)}, got.user, nil
}

func (h *codeHost) Bearer(_ context.Context, token string) (forge.User, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.shown = append(h.shown, token)
	return forge.User{}, forge.ErrToken
}

func (h *codeHost) Refresh(context.Context, string) (forge.Grant, error) {
	return forge.Grant{}, forge.ErrGrantEnded
}
func (h *codeHost) Self(context.Context, string) (forge.User, error) {
	return forge.User{}, forge.ErrToken
}
func (h *codeHost) Revoke(context.Context, forge.Grant) error { return nil }

// Repositories are none: whoever signs in there has no role on any.
func (h *codeHost) Repositories(context.Context, forge.Asker) ([]forge.Reachable, error) {
	return nil, nil
}

func (h *codeHost) option(c *server.Config) {
	c.TestOnlyForge = func(forge.Directory) forge.Forge { return h }
}

var (
	annThere = forge.User{ID: "7", Login: "ann", Email: "ann@example", AvatarURL: "https://git.example/ann.png"}
	eveThere = forge.User{ID: "8", Login: "eve"}
)

// depart begins a sign-in in a browser and returns where it is sent.
func depart(t *testing.T, b *servertest.Browser, back string) string {
	t.Helper()
	s := b.Open("/login/forge?return=" + url.QueryEscape(back))
	if s.Status != 303 || b.Cookie(ticketCookie, "/login/callback") == "" {
		t.Fatalf("%d %v %s", s.Status, s.Header, s.Text)
	}
	return s.Location()
}

func arrive(b *servertest.Browser, back url.Values) *servertest.Seen {
	return b.Open("/login/callback?" + back.Encode())
}

func whoIsIn(b *servertest.Browser) string {
	s := b.Open("/v1/users/me")
	if s.Status != 200 {
		return ""
	}
	_, rest, _ := strings.Cut(s.Text, `"username":"`)
	name, _, _ := strings.Cut(rest, `"`)
	return name
}

func TestPeopleSignInAtTheCodeHost(t *testing.T) {
	var h codeHost
	in := servertest.New(t, h.option)
	b := in.Browser()
	expect(t, b.Open("/"), 303, "/login?return=%2F")
	page := b.Open("/login?return=%2Fdevice%3Fuser_code%3DA").Text
	if want := `href="/login/forge?return=%2fdevice%3fuser_code%3dA">Sign in with Gitea</a>`; !strings.Contains(page, want) || strings.Contains(page, "<form") {
		t.Errorf("no %s, or a form: %s", want, page)
	}
	s := b.Open("/login/forge?return=%2Fdevice%3Fuser_code%3DA")
	cookie := s.Header.Get("Set-Cookie")
	for _, part := range []string{"; Path=/login;", "; HttpOnly", "; SameSite=Lax", "; Secure", "; Max-Age=600"} {
		if !strings.Contains(cookie+";", part) {
			t.Errorf("the ticket lacks %q: %s", part, cookie)
		}
	}
	expect(t, arrive(b, h.consent(t, s.Location(), annThere)), 303, "/device?user_code=A")
	if b.Cookie(ticketCookie, "/login/callback") != "" {
		t.Error("the browser keeps a ticket that is used")
	}
	me := b.Open("/v1/users/me").Text
	for _, part := range []string{`"forgeType":"gitea"`, `"forgeUserId":"7"`, `"username":"ann"`, `"email":"ann@example"`, `"avatarUrl":"https://git.example/ann.png"`} {
		if !strings.Contains(me, part) {
			t.Errorf("no %s: %s", part, me)
		}
	}
	if s := b.Open("/account"); !strings.Contains(s.Text, "Signed in as ann") || !strings.Contains(s.Text, "Your account at Gitea") {
		t.Errorf("%s", s.Text)
	}
	if log := b.Open("/v1/activity").Text; !strings.Contains(log, `"action":"user_login"`) || !strings.Contains(log, `"method":"oauth"`) {
		t.Errorf("%s", log)
	}
	// The same account under another name is the same person.
	renamed := annThere
	renamed.Login = "annie"
	id := b.Open("/v1/users/me").Text
	expect(t, arrive(b, h.consent(t, depart(t, b, "/"), renamed)), 303, "/")
	if now := b.Open("/v1/users/me").Text; userID(now) != userID(id) || !strings.Contains(now, `"username":"annie"`) {
		t.Errorf("%s is not %s", now, id)
	}
	in.Stop()
	data, err := os.ReadFile(filepath.Join(in.Data, server.DataFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"access-of-", "refresh-of-", "code-1"} {
		if strings.Contains(string(data), secret) || strings.Contains(in.Log.String(), secret) {
			t.Errorf("%s is in the data or the log", secret)
		}
	}
}

func userID(me string) string {
	_, rest, _ := strings.Cut(me, `"id":"`)
	id, _, _ := strings.Cut(rest, `"`)
	return id
}

// TestNobodyIsSignedInByWhatOthersBegan: every way in which an answer of the code
// host can come to the wrong browser, at the wrong time, or twice.
func TestNobodyIsSignedInByWhatOthersBegan(t *testing.T) {
	var c clock
	var h codeHost
	in := servertest.New(t, h.option, c.option)
	want := []string{}
	// refused wants a page that says what to do, and nobody signed in.
	refused := func(b *servertest.Browser, back url.Values, asked int, reason string) {
		t.Helper()
		before := h.asked
		s := arrive(b, back)
		if s.Status < 400 || s.Status >= 500 || !strings.Contains(s.Text, "Sign in again") || !strings.HasPrefix(s.Header.Get("Content-Type"), "text/html") {
			t.Errorf("%s: %d %s", reason, s.Status, s.Text)
		}
		if b.Cookie(sessionCookie, "/") != "" || whoIsIn(b) != "" {
			t.Errorf("%s: signed in as %q", reason, whoIsIn(b))
		}
		if h.asked-before != asked {
			t.Errorf("%s: the code host was asked %d times", reason, h.asked-before)
		}
		want = append(want, "oauth "+reason)
	}

	// Eve begins, and has Ann's browser end it: Ann would be signed in as Eve.
	eve, ann := in.Browser(), in.Browser()
	eves := h.consent(t, depart(t, eve, "/"), eveThere)
	refused(ann, eves, 0, "other_browser")
	// Ann has begun something of her own: her ticket is for another state.
	depart(t, ann, "/")
	refused(ann, eves, 0, "other_browser")

	// With the code of somebody else under one's own state, PKCE says no.
	anns := h.consent(t, depart(t, ann, "/"), annThere)
	mixed := url.Values{"state": anns["state"], "code": eves["code"]}
	refused(ann, mixed, 1, "code")

	// Every state is good once, whatever became of it, and only with its ticket.
	ticket := func(b *servertest.Browser) func() {
		value := b.Cookie(ticketCookie, "/login/callback")
		return func() {
			at, _ := url.Parse(b.Public + "/login/callback")
			b.Jar.SetCookies(at, cookies(ticketCookie, value))
		}
	}
	b := in.Browser()
	mine := h.consent(t, depart(t, b, "/"), annThere)
	again := ticket(b)
	expect(t, arrive(b, mine), 303, "/")
	b.Submit("/logout")
	refused(b, mine, 0, "other_browser") // the ticket is gone
	again()
	refused(b, mine, 0, "reused")
	again()
	refused(b, url.Values{"state": mine["state"], "code": h.consent(t, depart(t, in.Browser(), "/"), annThere)["code"]}, 0, "reused")

	// Ten minutes, also for a browser that keeps its cookies for longer.
	late := h.consent(t, depart(t, b, "/"), annThere)
	again = ticket(b)
	c.turn(10*time.Minute + time.Second)
	again()
	refused(b, late, 0, "expired")

	// States that we never made.
	for _, state := range []string{"", "x", strings.Repeat("A", 64), late.Get("state")[1:], late.Get("state") + "A", strings.ToLower(late.Get("state"))} {
		depart(t, b, "/")
		refused(b, url.Values{"state": {state}, "code": {"code-1"}}, 0, "state")
	}
	// Tickets that we never made.
	for _, forged := range []string{"x", strings.Repeat("A", 200), base64.RawURLEncoding.EncodeToString([]byte(`{"Nonce":"AAAA"}`))} {
		back := h.consent(t, depart(t, b, "/"), annThere)
		at, _ := url.Parse(b.Public + "/login/callback")
		b.Jar.SetCookies(at, cookies(ticketCookie, forged))
		refused(b, back, 0, "other_browser")
	}
	// The ticket of one browser in another, with that one's state: a stolen pair
	// could not be told from the real one, but one half of it is worth nothing.
	other := in.Browser()
	depart(t, other, "/")
	back := h.consent(t, depart(t, b, "/"), annThere)
	at, _ := url.Parse(b.Public + "/login/callback")
	b.Jar.SetCookies(at, cookies(ticketCookie, other.Cookie(ticketCookie, "/login/callback")))
	refused(b, back, 0, "other_browser")

	// No code, or no consent.
	refused(b, url.Values{"state": {stateOf(t, depart(t, b, "/"))}}, 0, "code_host")
	refused(b, url.Values{"state": {stateOf(t, depart(t, b, "/"))}, "error": {"server_error"}}, 0, "code_host")
	refused(b, url.Values{"state": {stateOf(t, depart(t, b, "/"))}, "error": {"access_denied"}, "code": {"code-1"}}, 0, "access_denied")

	if diff := cmp.Diff(want, refusals(t, in)); diff != "" {
		t.Error(diff)
	}
}

func cookies(name, value string) []*http.Cookie {
	return []*http.Cookie{{Name: name, Value: value, Path: "/login", Secure: true}}
}

func stateOf(t *testing.T, authorize string) string {
	t.Helper()
	at, err := url.Parse(authorize)
	if err != nil {
		t.Fatal(err)
	}
	return at.Query().Get("state")
}

// TestWhoRefusesIsToldHowToGoOn, back to where the sign-in was to lead.
func TestWhoRefusesIsToldHowToGoOn(t *testing.T) {
	var h codeHost
	in := servertest.New(t, h.option)
	b := in.Browser()
	state := stateOf(t, depart(t, b, "/device?user_code=A"))
	s := arrive(b, url.Values{"state": {state}, "error": {"access_denied"}})
	if want := `href="/login?return=%2Fdevice%3Fuser_code%3DA"`; s.Status != 403 || !strings.Contains(s.Text, want) || !strings.Contains(s.Text, "You refused at the code host") {
		t.Errorf("%d, no %s: %s", s.Status, want, s.Text)
	}
}

func TestWhatTheCodeHostSaysBecomesAPage(t *testing.T) {
	var h codeHost
	in := servertest.New(t, h.option)
	b := in.Browser()
	want := []string{}
	for _, tt := range []struct {
		err    error
		status int
		text   string
		reason string
	}{
		{forge.ErrToken, 400, "did not accept this sign-in", "code"},
		{&forge.ForeignToken{Why: "it was made for another application"}, 403, "it was made for another application", "foreign_token"},
		{&forge.Missing{What: "the scope read:user"}, 403, "without the scope read:user. Revoke", "scope"},
		{forge.ErrRefused, 403, "does not let this account sign in", "code_host"},
		{&forge.Unavailable{RetryAfter: 40 * time.Second, Err: errors.New("secret detail")}, 503, "did not answer", "unavailable"},
		{errors.New("secret detail"), 503, "did not answer", "unavailable"},
	} {
		h.failing = tt.err
		s := arrive(b, h.consent(t, depart(t, b, "/"), annThere))
		if s.Status != tt.status || !strings.Contains(s.Text, tt.text) || strings.Contains(s.Text, "secret detail") || whoIsIn(b) != "" {
			t.Errorf("%v: %d %s", tt.err, s.Status, s.Text)
		}
		if s.Status == 503 && s.Header.Get("Retry-After") == "" {
			t.Errorf("%v: no Retry-After", tt.err)
		}
		want = append(want, "oauth "+tt.reason)
	}
	if diff := cmp.Diff(want, refusals(t, in)); diff != "" {
		t.Error(diff)
	}
	h.failing = nil
	if s := arrive(b, h.consent(t, depart(t, b, "/"), forge.User{Login: "ghost"})); s.Status != 503 || whoIsIn(b) != "" {
		t.Errorf("somebody without an id: %d", s.Status)
	}
}

// TestTheWayBackThroughTheCodeHostLeadsNowhereElse: it is in the ticket, where
// nobody can change it, and it was held against the rule before.
func TestTheWayBackThroughTheCodeHostLeadsNowhereElse(t *testing.T) {
	var h codeHost
	in := servertest.New(t, h.option)
	for _, to := range []string{"//evil.example", `/\evil.example`, "https://evil.example", "/\n/evil.example", "/login/forge"} {
		b := in.Browser()
		back := h.consent(t, depart(t, b, to), annThere)
		back.Set("return", "//evil.example")
		expect(t, arrive(b, back), 303, "/")
	}
	b := in.Browser()
	long := "/" + strings.Repeat("a", 500) + "?" + strings.Repeat("&", 500)
	expect(t, arrive(b, h.consent(t, depart(t, b, long), annThere)), 303, long)
}

func TestSigningInAgainReplacesTheSession(t *testing.T) {
	var h codeHost
	in := servertest.New(t, h.option)
	b := in.Browser()
	expect(t, arrive(b, h.consent(t, depart(t, b, "/"), annThere)), 303, "/")
	before := b.Cookie(sessionCookie, "/")
	expect(t, arrive(b, h.consent(t, depart(t, b, "/"), eveThere)), 303, "/")
	if whoIsIn(b) != "eve" {
		t.Errorf("signed in as %q", whoIsIn(b))
	}
	if s := in.Browser().Send("GET", "/v1/users/me", "", "Cookie", sessionCookie+"="+before); s.Status != 401 {
		t.Errorf("the session before: %d", s.Status)
	}
}

func TestUsedStatesAreForgottenInTheirTime(t *testing.T) {
	var c clock
	var h codeHost
	in := servertest.New(t, h.option, c.option)
	b := in.Browser()
	for range 3 {
		expect(t, arrive(b, h.consent(t, depart(t, b, "/"), annThere)), 303, "/")
	}
	for _, want := range []int{0, 3, 0} {
		job, err := in.Operator.RunJob(t.Context(), "sessions")
		if err != nil || job.Removed != want {
			t.Errorf("removed %d, want %d: %v", job.Removed, want, err)
		}
		if want == 0 {
			c.turn(11 * time.Minute)
		}
	}
}

func TestEachWayToSignInIsForItsCodeHost(t *testing.T) {
	var h codeHost
	there := servertest.New(t, h.option).Browser()
	if s := there.Submit("/login", "username", "ann", "password", servertest.Password); s.Status != 404 {
		t.Errorf("a password where there is none: %d", s.Status)
	}
	in := servertest.New(t)
	here := in.Browser()
	for _, path := range []string{"/login/forge", "/login/callback?code=a&state=b"} {
		if s := here.Open(path); s.Status != 404 || !strings.HasPrefix(s.Header.Get("Content-Type"), "text/html") {
			t.Errorf("%s: %d", path, s.Status)
		}
	}
	if got := refusals(t, in); len(got) > 0 {
		t.Errorf("refusals %v", got)
	}
}

func TestACodeHostThatDoesNotKnowUsIsNoDeadEnd(t *testing.T) {
	h := codeHost{unknown: true}
	b := servertest.New(t, h.option).Browser()
	if s := b.Open("/login/forge"); s.Status != 404 || !strings.Contains(s.Text, "forge.client_id") || b.Cookie(ticketCookie, "/login/callback") != "" {
		t.Errorf("%d %s", s.Status, s.Text)
	}
}

func TestMarkupInANameOfTheCodeHostIsShownAsText(t *testing.T) {
	var h codeHost
	in := servertest.New(t, h.option)
	b := in.Browser()
	const evil = `<img src=x onerror=alert(1)>`
	expect(t, arrive(b, h.consent(t, depart(t, b, "/"), forge.User{ID: "9", Login: evil})), 303, "/")
	if s := b.Open("/"); s.Status != 200 || strings.Contains(s.Text, "<img") || !strings.Contains(s.Text, "&lt;img") {
		t.Errorf("%d %s", s.Status, s.Text)
	}
}

// TestOurOwnTokensAreNotSentToTheCodeHost, wherever somebody puts one by mistake:
// the host must not learn what would let it in here.
func TestOurOwnTokensAreNotSentToTheCodeHost(t *testing.T) {
	var h codeHost
	in := servertest.New(t, h.option)
	b := in.Browser()
	expect(t, arrive(b, h.consent(t, depart(t, b, "/"), annThere)), 303, "/")
	p := startProgram(t, in)
	ours := map[string]string{
		"a session":        b.Cookie(sessionCookie, "/"),
		"a confirm token":  p.shownTo(b),
		"a device code":    string(p.made.DeviceCode),
		"an ended session": "",
	}
	expect(t, arrive(b, h.consent(t, depart(t, b, "/"), annThere)), 303, "/")
	ours["an ended session"], ours["a session"] = ours["a session"], b.Cookie(sessionCookie, "/")
	for name, token := range ours {
		if s := in.Browser().Send("GET", "/v1/users/me", "", "Authorization", "Bearer "+token); s.Status != 401 || token == "" {
			t.Errorf("%s: %d %s", name, s.Status, s.Text)
		}
		if len(h.shown) > 0 {
			t.Errorf("%s was sent to the code host", name)
		}
		h.shown = nil
	}
}

// TestAnOfficeSignsInAtOnce: behind one address, only what fails is an attempt.
func TestAnOfficeSignsInAtOnce(t *testing.T) {
	var h codeHost
	in := servertest.New(t, h.option, servertest.Limited)
	for i := range 15 {
		b := in.Browser()
		s := arrive(b, h.consent(t, depart(t, b, "/"), annThere))
		if s.Status != 303 || s.Header.Get("X-RateLimit-Remaining") != "10" {
			t.Fatalf("%d: %d %v", i, s.Status, s.Header)
		}
	}
	b := in.Browser()
	for i := range 11 {
		if s := arrive(b, url.Values{"state": {"x"}, "code": {"y"}}); (s.Status == 429) != (i == 10) {
			t.Errorf("%d: %d", i, s.Status)
		}
	}
}
