package server_test

import (
	"bytes"
	"html"
	"mime/multipart"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"coffer/server"
	"coffer/server/api"
	"coffer/server/client"
	"coffer/server/forge"
	"coffer/server/servertest"
)

// first is the first run of an instance, in one browser.
type first struct {
	*servertest.Browser
	in    *servertest.Instance
	t     *testing.T
	claim string
	clock *clock
}

func newFirst(t *testing.T, options ...func(*server.Config)) *first {
	t.Helper()
	c := new(clock)
	in, claim := servertest.Fresh(t, append([]func(*server.Config){c.option}, options...)...)
	return &first{Browser: in.Browser(), in: in, t: t, claim: claim, clock: c}
}

// shows is the setup page, twice: a reload changes nothing.
func (f *first) shows(text string) *servertest.Seen {
	f.t.Helper()
	s := f.Open("/setup")
	if again := f.Open("/setup"); again.Status != s.Status || again.Text != s.Text {
		f.t.Errorf("a reload shows something else: %d %s", again.Status, again.Text)
	}
	f.contains(s, 200, text)
	return s
}

func (f *first) contains(s *servertest.Seen, status int, texts ...string) {
	f.t.Helper()
	for _, text := range texts {
		if s.Status != status || !strings.Contains(s.Text, text) {
			f.t.Fatalf("%d, want %d with %q: %s", s.Status, status, text, s.Text)
		}
	}
}

// send fills a form in; each is as if a minute had passed, because attempts have a
// throttle.
func (f *first) send(path string, fields ...string) *servertest.Seen {
	f.t.Helper()
	f.clock.turn(time.Minute)
	return f.Submit(path, fields...)
}

// take does the step up to the recovery key, and returns it.
func (f *first) take(fields ...string) string {
	f.t.Helper()
	expect(f.t, f.send("/setup/claim", "claim", f.claim), 303, "/setup")
	f.shows("How shall it be unsealed?")
	expect(f.t, f.send("/setup/method", fields...), 303, "/setup")
	return f.key(f.Open("/setup"))
}

var shownKey = regexp.MustCompile(`<textarea id="key"[^>]*>(AGE-SECRET-KEY-PQ-1[A-Z0-9]+)</textarea>`)

func (f *first) key(s *servertest.Seen) string {
	f.t.Helper()
	found := shownKey.FindStringSubmatch(s.Text)
	if found == nil {
		f.t.Fatalf("no recovery key: %d %s", s.Status, s.Text)
	}
	return found[1]
}

// typeBack types what is asked for of the key.
func (f *first) typeBack(key string) {
	f.t.Helper()
	s := f.shows("Is it saved?")
	asked := regexp.MustCompile(`characters (\d+) to (\d+)`).FindStringSubmatch(s.Text)
	from, _ := strconv.Atoi(asked[1])
	to, _ := strconv.Atoi(asked[2])
	expect(f.t, f.send("/setup/check", "characters", strings.ToLower(key[from-1:to])), 303, "/setup")
}

func TestTheFirstRunNeedsNoScript(t *testing.T) {
	f := newFirst(t)
	for _, page := range []string{"/", "/login", "/account", "/nowhere", "/unseal"} {
		if s := f.Open(page); page != "/unseal" {
			expect(t, s, 303, "/setup")
		}
	}
	f.contains(f.shows("Claim token"), 200, "A restored one, from a backup")
	f.contains(f.send("/setup/claim", "claim", "wrong"), 403, "not the claim token")
	expect(t, f.send("/setup/claim", "claim", f.claim), 303, "/setup")

	f.shows("somebody who takes the whole machine while it is off")
	s := f.send("/setup/method", "method", "passphrase", "passphrase", "correct horse", "again", "battery")
	f.contains(s, 422, "They differ", `value="passphrase" checked`)
	if strings.Contains(s.Text, "horse") || strings.Contains(s.Text, "battery") {
		t.Error("a passphrase is in the page")
	}
	f.contains(f.send("/setup/method", "method", "passphrase", "passphrase", "short", "again", "short"), 422, "At least 8 characters")
	f.contains(f.send("/setup/method"), 422, "Choose one way to unseal")
	expect(t, f.send("/setup/method", "method", "passphrase", "passphrase", "correct horse", "again", "correct horse"), 303, "/setup")

	s = f.Open("/setup")
	key := f.key(s)
	if s.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("Cache-Control: %s", s.Header.Get("Cache-Control"))
	}
	file := f.send("/setup/recovery-key", "key", key)
	f.contains(file, 200, "\n"+key+"\n", "#  1  AGE-SE\n")
	if !strings.HasPrefix(file.Header.Get("Content-Disposition"), "attachment;") {
		t.Errorf("%v", file.Header)
	}
	f.contains(f.send("/setup/recovery-key", "key", "<script>"), 400, "no recovery key")
	if s := f.shows("Is it saved?"); strings.Contains(s.Text, key) || strings.Contains(s.Text, key[30:60]) {
		t.Error("the recovery key is shown again")
	}
	f.contains(f.send("/setup/check", "characters", "QQQQQQ"), 422, "These are not the characters of group")
	f.typeBack(key)

	f.shows("The first user")
	s = f.send("/setup/user", "username", `a"><b>`, "password", "canary password", "again", "canary password")
	f.contains(s, 422, "1 to 39 letters", `value="a&#34;&gt;&lt;b&gt;"`)
	s = f.send("/setup/user", "username", "ann", "password", "canary password", "again", "another")
	f.contains(s, 422, "They differ", `value="ann"`)
	if strings.Contains(s.Text, "canary") {
		t.Error("a password is in the page")
	}
	expect(t, f.send("/setup/user", "username", "ann", "password", "a password", "again", "a password"), 303, "/setup/vault")
	f.contains(f.Open("/setup/vault"), 200, "A vault from your .env", "ann")
	f.contains(f.shows("set up already"), 200)
	if f.Cookie("coffer_setup", "/setup") != "" {
		t.Error("the browser still has its ticket")
	}
	expect(t, f.in.Browser().Submit("/login", "username", "ann", "password", "a password"), 303, "/")

	// The key opens the vault, as the file that was downloaded.
	if err := f.in.Operator.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	expect(t, f.send("/unseal", "key", file.Text), 303, "/")
	if log := f.in.Log.String(); strings.Contains(log, key) || strings.Contains(log, f.claim) || strings.Contains(log, "correct horse") {
		t.Error("the log holds a secret")
	}
}

func TestASetupIsNotTakenOver(t *testing.T) {
	f := newFirst(t)
	key := f.take("method", "key-file")
	other := &first{Browser: f.in.Browser(), in: f.in, t: t, claim: f.claim, clock: f.clock}
	other.contains(other.shows("Claim token"), 200)
	other.contains(other.send("/setup/claim", "claim", f.claim), 409, "in another browser")
	for _, step := range []string{"method", "another", "check", "user", "leave"} {
		s := other.send("/setup/"+step, "method", "key-file", "characters", "x", "username", "eve", "password", "a password", "again", "a password")
		other.contains(s, 403, "is not setting the server up", "Claim token")
	}
	anyone := &client.Client{URL: f.in.URL, Version: "test"}
	req := api.Initialize{ClaimToken: api.NewSecret(f.claim), Setup: api.Setup{KeyFile: true}}
	if _, err := anyone.Initialize(t.Context(), req); api.CodeOf(err) != api.Conflict {
		t.Errorf("a program takes it over: %v", err)
	}
	// Another site's form comes with the cookie's browser, but not from our page.
	s := f.Send("POST", "/setup/leave", "", "Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site")
	f.contains(s, 403, "another site")
	f.typeBack(key)

	// Begun again, the old recovery key is nothing and the claim token is free.
	expect(t, f.send("/setup/leave"), 303, "/setup")
	f.shows("Claim token")
	expect(t, other.send("/setup/claim", "claim", f.claim), 303, "/setup")
	other.clock.turn(15 * time.Minute)
	other.contains(other.Open("/setup"), 403, "longer than 15 minutes", "Claim token")
	if _, err := anyone.Initialize(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	if _, err := anyone.Initialize(t.Context(), req); api.CodeOf(err) != api.Conflict {
		t.Errorf("a second time: %v", err)
	}
	other.contains(other.send("/setup/claim", "claim", f.claim), 409, "set up already")
}

func TestALostRecoveryKeyIsReplacedBeforeItCounts(t *testing.T) {
	f := newFirst(t)
	lost := f.take("method", "key-file")
	expect(t, f.send("/setup/another"), 303, "/setup")
	key := f.key(f.Open("/setup"))
	if key == lost {
		t.Fatal("the same key")
	}
	f.typeBack(key)
	f.shows("The first user")
	expect(t, f.send("/setup/user", "username", "ann", "password", "a password", "again", "a password"), 303, "/setup/vault")
	if _, err := os.Stat(filepath.Join(f.in.Data, "coffer.key")); err != nil {
		t.Error(err)
	}
	if err := f.in.Operator.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.contains(f.send("/unseal", "key", lost), 403, "belongs to another instance")
	expect(t, f.send("/unseal", "key", key), 303, "/")
}

// TestAKeyFileGoesWhereTheServerLooksForIt: else the next start would be sealed.
func TestAKeyFileGoesWhereTheServerLooksForIt(t *testing.T) {
	at := filepath.Join(t.TempDir(), "elsewhere.key")
	f := newFirst(t, func(c *server.Config) { c.Unseal.KeyFile = at })
	key := f.take("method", "key-file")
	f.typeBack(key)
	expect(t, f.send("/setup/user", "username", "ann", "password", "a password", "again", "a password"), 303, "/setup/vault")
	if _, err := os.Stat(at); err != nil {
		t.Error(err)
	}
	f.in.Restart()
	f.contains(f.Open("/setup/vault"), 200, "A vault from your .env")
}

func TestWhereACodeHostSaysWhoPeopleAreNobodyIsMade(t *testing.T) {
	f := newFirst(t, func(c *server.Config) {
		c.Forge = server.ForgeConfig{Kind: forge.KindGitea, URL: "https://git.example"}
	})
	key := f.take("method", "key-file")
	f.typeBack(key)
	f.contains(f.shows("Who can sign in"), 200, "Gitea", "https://git.example")
	expect(t, f.send("/setup/user"), 303, "/login?return=%2Fsetup%2Fvault")
	if f.Cookie(sessionCookie, "/") != "" {
		t.Error("somebody is signed in")
	}
}

const envFile = `# a real one
DATABASE_URL="postgres://app:p%40ss@db/app?sslmode=disable"
export API_KEY='canary-one'
CERT="-----BEGIN-----
canary-two
-----END-----"
lower=left-out
`

// atHome is a browser in which ann is signed in.
func atHome(t *testing.T) (*first, *client.Client) {
	t.Helper()
	in := servertest.New(t)
	ann := in.User("ann")
	f := &first{Browser: in.Browser(), in: in, t: t, clock: new(clock)}
	f.SignIn("ann")
	return f, ann
}

func TestAnEnvFileBecomesAVault(t *testing.T) {
	f, ann := atHome(t)
	s := f.Submit("/setup/vault", "text", envFile, "do", "look")
	f.contains(s, 200, "3 secrets to store", "<code>DATABASE_URL</code>", "<code>API_KEY</code>", "<code>CERT</code>", "Line 7: It is left out", `value="development"`)
	if text := fieldOf(t, s.Text); text != envFile {
		t.Errorf("the file became %q", text)
	}
	s = f.Submit("/setup/vault", "text", envFile, "do", "store", "repoFullName", "no name", "environment", "X")
	f.contains(s, 422, "A repository is named owner/repo", "An environment name has", `value="no name"`)
	s = f.Submit("/setup/vault", "text", envFile, "do", "store", "repoFullName", "bob/app", "environment", "development")
	f.contains(s, 404, "There is no vault for bob/app")

	for range 2 { // sent twice, it is stored once
		s = f.Submit("/setup/vault", "text", envFile, "do", "store", "repoFullName", "ann/app", "environment", "review")
		expect(t, s, 303, "/setup/vault/ann/app?environment=review")
	}
	got := f.in.Pull(ann, "ann/app", "review")
	if len(got) != 3 || got["API_KEY"] != "canary-one" || got["CERT"] != "-----BEGIN-----\ncanary-two\n-----END-----" {
		t.Errorf("%v", got)
	}
	s = f.Open("/setup/vault/ann/app?environment=review")
	f.contains(s, 200, "3 secrets", "export COFFER_URL=https://vault.example", "coffer run --repo ann/app -e review -- ./your-program",
		"COFFER_TOKEN: ${{ secrets.COFFER_TOKEN }}", "      - DATABASE_URL")
	if strings.Contains(s.Text, "canary") {
		t.Error("a value is in the page")
	}
	f.contains(f.Open("/setup/vault/ann/app?environment=none"), 404, "no such environment")
	f.contains(f.Open("/setup/vault/ann/none"), 404, "There is no vault")
}

func fieldOf(t *testing.T, page string) string {
	t.Helper()
	found := regexp.MustCompile(`(?s)<textarea id="text"[^>]*>(.*?)</textarea>`).FindStringSubmatch(page)
	if found == nil {
		t.Fatalf("no field: %s", page)
	}
	return html.UnescapeString(found[1])
}

func TestAFileIsTakenInsteadOfTheText(t *testing.T) {
	f, _ := atHome(t)
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for name, value := range map[string]string{"text": "OLD=1", "do": "store", "repoFullName": "ann/app", "environment": "development"} {
		_ = w.WriteField(name, value)
	}
	part, _ := w.CreateFormFile("file", ".env")
	_, _ = part.Write([]byte("NEW=</textarea><script>\n"))
	_ = w.Close()
	s := f.Send("POST", "/setup/vault", body.String(), "Content-Type", w.FormDataContentType())
	f.contains(s, 200, "<code>NEW</code>", "1 secret to store", `value="ann/app"`) // seen before it is stored
	if strings.Contains(s.Text, "OLD") || fieldOf(t, s.Text) != "NEW=</textarea><script>\n" {
		t.Errorf("%s", s.Text)
	}
	s = f.Send("POST", "/setup/vault", body.String()[:40], "Content-Type", w.FormDataContentType())
	f.contains(s, 400, "cannot be read")
	s = f.Send("POST", "/setup/vault", strings.Repeat("x", 1<<20+1))
	f.contains(s, 413, "")
}

func TestAnAPIKeyForTheLinesToPasteIsShownOnce(t *testing.T) {
	f, ann := atHome(t)
	f.in.Vault(ann, "ann/app")
	f.in.Push(ann, "ann/app", "development", map[string]string{"A": "1"})
	const page = "/setup/vault/ann/app"
	f.contains(f.Submit(page, "environment", "development", "name", ""), 422, "At least one character")
	s := f.Submit(page, "environment", "development", "name", "<b>ci")
	f.contains(s, 200, "The API key &lt;b&gt;ci")
	token := regexp.MustCompile(`coffer_live_\w{40}`).FindString(s.Text)
	if got := f.in.Pull(f.in.Client(token), "ann/app", "development"); got["A"] != "1" {
		t.Errorf("%v", got)
	}
	if _, err := f.in.Client(token).CreateVault(t.Context(), "ann/other"); api.CodeOf(err) != api.Forbidden {
		t.Errorf("the key can do more than read: %v", err)
	}
	if strings.Contains(f.Open(page+"?environment=development").Text, token) {
		t.Error("the key is shown again")
	}
}

func TestThePagesOfTheFirstVaultAreForWhoIsSignedIn(t *testing.T) {
	in := servertest.New(t)
	b := in.Browser()
	expect(t, b.Open("/setup/vault"), 303, "/login?return=%2Fsetup%2Fvault")
	expectKept(t, b.Submit("/setup/vault", "text", "A=1"))
	ann := in.User("ann")
	in.User("bob")
	in.Vault(ann, "ann/app")
	b.SignIn("bob")
	if s := b.Open("/setup/vault/ann/app"); s.Status != 404 {
		t.Errorf("%d %s", s.Status, s.Text)
	}
	if s := b.Send("POST", "/setup/vault", "text=A", "Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"); s.Status != 403 {
		t.Errorf("%d %s", s.Status, s.Text)
	}
}
