package server_test

import (
	"crypto/rand"
	"regexp"
	"strings"
	"sync"
	"testing"

	"coffer/server/api"
	"coffer/server/servertest"
)

var shownToken = regexp.MustCompile(`<code id="token">([^<]+)</code>`)

// newKey is a form for a key, with some fields instead of its own.
func newKey(fields map[string]string) []string {
	all := map[string]string{"name": "pipeline", "environment": "live", "read:secrets": "on", "expiresInDays": "90", "allowedIps": "", "once": rand.Text()}
	for name, value := range fields {
		all[name] = value
	}
	var pairs []string
	for name, value := range all {
		if value != "-" {
			pairs = append(pairs, name, value)
		}
	}
	return pairs
}

func TestAKeyIsShownOnce(t *testing.T) {
	in := town(t)
	expect(t, in.Browser().Open("/keys"), 303, "/login?return=%2Fkeys")
	expectKept(t, in.Browser().Submit("/keys", newKey(nil)...))
	b := inBrowser(in, "ann")
	s := expectSeen(t, b.Open("/keys"), 200, "New key", "Read: vaults, keys, values and activity.")
	if got := current(s); got != "API keys page" {
		t.Errorf("it is at %q", got)
	}
	s = expectSeen(t, b.Submit("/keys", newKey(map[string]string{
		"name": " <b>pipeline</b> ", "environment": "test", "write:secrets": "on", "expiresInDays": " 7 ", "allowedIps": "127.0.0.1\r\n10.1.2.3/8\n",
	})...), 200, "<b>pipeline</b>", "only time", "export COFFER_URL=https://vault.example", "coffer run -- COMMAND", "It expires")
	found := shownToken.FindStringSubmatch(s.Text)
	if found == nil || strings.Contains(s.Text, "<b>pipe") || s.Header.Get("Cache-Control") != "no-store" {
		t.Fatalf("%v %s", s.Header, s.Text)
	}
	expectSeen(t, s, 200, "export COFFER_TOKEN="+found[1])
	if got := in.Pull(in.Client(found[1]), "ann/api", "development"); got["LOCAL"] != "canary" {
		t.Errorf("the key reads %v", got)
	}
	s = expectSeen(t, b.Open("/keys"), 200, found[1][:16], "<b>pipeline</b>", "used 1 time,", "10.0.0.0/8", "127.0.0.1/32", "Write: push", "expires ")
	if strings.Contains(s.Text, found[1]) || strings.Contains(s.Text, "<b>pipe") {
		t.Errorf("the list shows the key: %s", s.Text)
	}
}

// TestAFormMakesOneKey: browsers send it again when its answer is loaded again.
func TestAFormMakesOneKey(t *testing.T) {
	in := town(t)
	b, other := inBrowser(in, "ann"), inBrowser(in, "bob")
	before := len(keysOf(t, in, "ann"))
	shown := regexp.MustCompile(`name="once" value="([^"]+)"`)
	once := shown.FindStringSubmatch(b.Open("/keys").Text)
	if once == nil {
		t.Fatal("the form has nothing that tells it from others")
	}
	form := newKey(map[string]string{"name": "<b>deploy</b>", "once": once[1]})
	expectSeen(t, b.Submit("/keys", form...), 200, "only time")
	for range 2 {
		s := expectSeen(t, b.Submit("/keys", form...), 409, `The key "<b>deploy</b>" was made already, and cannot be shown again.`, "Revoke the key")
		if strings.Contains(s.Text, "<b>deploy") || shownToken.MatchString(s.Text) || shown.FindStringSubmatch(s.Text)[1] == once[1] {
			t.Errorf("the form that made a key comes again: %s", s.Text)
		}
	}
	var wait sync.WaitGroup
	twice := newKey(nil)
	for range 4 {
		wait.Go(func() { b.Submit("/keys", twice...) })
	}
	wait.Wait()
	if made := len(keysOf(t, in, "ann")) - before; made != 2 {
		t.Errorf("two forms made %d keys", made)
	}
	expectSeen(t, other.Submit("/keys", form...), 200, "only time")
	for _, once := range []string{"-", "", strings.Repeat("x", 65)} {
		expectSeen(t, b.Submit("/keys", newKey(map[string]string{"once": once})...), 400, "load the page again")
	}
}

func TestWhatIsWrongWithANewKeyStandsBesideIt(t *testing.T) {
	in := servertest.New(t)
	in.User("ann")
	b := inBrowser(in, "ann")
	before := len(keysOf(t, in, "ann"))
	for _, tt := range []struct {
		fields map[string]string
		texts  []string
	}{
		{map[string]string{"name": ""}, []string{`id="name-wrong">At least one character.`, `name="read:secrets" value="on" checked`}},
		{map[string]string{"name": "-"}, []string{"name"}},
		{map[string]string{"name": strings.Repeat("x", 101)}, []string{`id="name-wrong">At most 100`}},
		{map[string]string{"environment": "prod"}, []string{`id="environment-wrong">`}},
		{map[string]string{"environment": "-"}, []string{"environment"}},
		{map[string]string{"read:secrets": "-"}, []string{`id="scopes-wrong">At least one scope.`, `value="pipeline"`}},
		{map[string]string{"expiresInDays": "soon"}, []string{`id="expiresInDays-wrong">A whole number`, `value="soon"`}},
		{map[string]string{"expiresInDays": "366"}, []string{`id="expiresInDays-wrong">`, `value="366"`}},
		{map[string]string{"expiresInDays": "99999999999999999999"}, []string{`id="expiresInDays-wrong">A whole number`}},
		{map[string]string{"allowedIps": "10.0.0.1\n<b>x</b>\nnone"}, []string{`id="allowedIps-wrong">Number 2 in the list: An address`, "10.0.0.1\n<b>x</b>"}},
	} {
		s := expectSeen(t, b.Submit("/keys", newKey(tt.fields)...), 422, tt.texts...)
		if strings.Contains(s.Text, "<b>x") || shownToken.MatchString(s.Text) {
			t.Errorf("%v: %s", tt.fields, s.Text)
		}
	}
	s := b.Send("POST", "/keys", servertest.Form(newKey(nil)...), "Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example")
	expectSeen(t, s, 403, "another site")
	if after := len(keysOf(t, in, "ann")); after != before {
		t.Errorf("%d keys were made", after-before)
	}
}

func keysOf(t *testing.T, in *servertest.Instance, user string) []api.APIKey {
	t.Helper()
	all, err := in.SignIn(user).APIKeys(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestKeysAreRevokedByTheirOwner(t *testing.T) {
	in := town(t)
	key := in.Key("ann", "live", servertest.AllScopes...)
	ann, bob := inBrowser(in, "ann"), inBrowser(in, "bob")
	revoke := "/keys/" + keysOf(t, in, "ann")[0].ID + "/revoke"
	expect(t, in.Browser().Submit(revoke), 303, "/login?return=%2F")
	expectSeen(t, bob.Submit(revoke), 404, "You have no such API key.")
	expectSeen(t, ann.Submit("/keys/x/revoke"), 404)
	expectSeen(t, ann.Send("POST", revoke, "", "Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example"), 403)
	if _, err := key.Me(t.Context()); err != nil {
		t.Fatalf("somebody else revoked it: %v", err)
	}
	expectSeen(t, ann.Open("/keys"), 200, `action="`+revoke+`"`)
	expect(t, ann.Submit(revoke), 303, "/keys")
	s := expectSeen(t, ann.Open("/keys"), 200, "The key is revoked.", "1 key that can be used no more")
	if strings.Contains(s.Text, revoke) {
		t.Error("it can be revoked again")
	}
	expect(t, ann.Submit(revoke), 303, "/keys")
	if _, err := key.Me(t.Context()); api.CodeOf(err) != api.Unauthorized {
		t.Errorf("it still works: %v", err)
	}
}
