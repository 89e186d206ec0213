package server_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"coffer/server"
	"coffer/server/api"
	"coffer/server/client"
	"coffer/server/servertest"
)

// keyRoom is the office with a clock that passes, because attempts have a throttle.
func keyRoom(t *testing.T) *first {
	t.Helper()
	c := new(clock)
	in := servertest.New(t, c.option)
	if _, err := in.Operator.AddLocalUser(t.Context(), api.AddLocalUser{Username: "root", Password: api.NewSecret(servertest.Password), Operator: true}); err != nil {
		t.Fatal(err)
	}
	in.User("ann")
	f := &first{Browser: in.Browser(), in: in, t: t, clock: c}
	f.SignIn("root")
	return f
}

var onceField = regexp.MustCompile(`name="once" value="([A-Z0-9]+)"`)

// adds sends one of the forms of the page, as it was shown.
func (f *first) adds(kind string, fields ...string) *servertest.Seen {
	f.t.Helper()
	once := onceField.FindStringSubmatch(f.Open("/operator/keys").Text)
	if once == nil {
		f.t.Fatal("no form")
	}
	return f.send("/operator/keys", append([]string{"kind", kind, "once", once[1]}, fields...)...)
}

func (f *first) methodID(kind string, n int) string {
	f.t.Helper()
	all, err := f.in.Operator.UnsealMethods(f.t.Context())
	if err != nil {
		f.t.Fatal(err)
	}
	for _, m := range all {
		if m.Kind == kind {
			if n--; n < 0 {
				return m.ID
			}
		}
	}
	f.t.Fatalf("no %s", kind)
	return ""
}

func TestWaysToUnsealAreKeptOnAPage(t *testing.T) {
	f := keyRoom(t)
	f.contains(f.Open("/operator/keys"), 200, "What opens this server", "recovery key", "Protects from", "the last recovery key", "coffer unseal-method add plugin")

	// A passphrase, wrong first.
	s := f.adds("passphrase", "passphrase", "canary one", "again", "canary two", "label", `a"><b>`)
	f.contains(s, 422, "They differ", `value="a&#34;&gt;&lt;b&gt;"`)
	if strings.Contains(s.Text, "canary") {
		t.Error("a passphrase is in the page")
	}
	f.contains(f.adds("passphrase", "passphrase", "short", "again", "short"), 422, "At least 8 characters")
	f.contains(f.adds("passphrase", "passphrase", "canary one", "again", "canary one", "proof", "canary wrong"), 403, "This instance has no passphrase")
	expect(t, f.adds("passphrase", "passphrase", "canary one", "again", "canary one", "label", "night"), 303, "/operator/keys")
	f.contains(f.Open("/operator/keys"), 200, "It opens the server from now on.", "night")

	// Keys that are made are shown once; a page that is loaded again makes none.
	once := onceField.FindStringSubmatch(f.Open("/operator/keys").Text)[1]
	s = f.send("/operator/keys", "kind", "recovery-key", "once", once, "proof", "canary one")
	f.contains(s, 200, "shown this once", "I have saved it")
	recovery := f.key(s)
	f.contains(f.send("/operator/keys", "kind", "recovery-key", "once", once), 409, "made a key already")
	file := f.Submit("/operator/keys/file", "kind", "recovery-key", "text", recovery)
	f.contains(file, 200, "\n"+recovery+"\n", "#  1  AGE-SE\n")
	f.contains(f.Submit("/operator/keys/file", "kind", "recovery-key", "text", "<script>"), 400, "This is no key")
	s = f.adds("key-file", "keyFile", "relative", "proof", f.in.Recovery)
	f.contains(s, 422, "The whole path", `value="relative"`)
	s = f.adds("key-file", "keyFile", "/nowhere/second.key", "proof", f.in.Recovery)
	f.contains(s, 200, "Put the file at <code>/nowhere/second.key</code>")
	keyFile := f.key(s)
	f.contains(f.Submit("/operator/keys/file", "kind", "key-file", "text", keyFile), 200, keyFile)
	f.contains(f.adds("plugin", "identity", "x"), 400, "nothing that this page can do")

	f.contains(f.adds("shares", "threshold", "1", "total", "x"), 422, "At least 2 shares")
	s = f.adds("shares", "threshold", "2", "total", "3", "label", "board")
	shares := regexp.MustCompile(`>(COFFER-SHARE-1-[0-9A-Z-]+)<`).FindAllStringSubmatch(s.Text, -1)
	if len(shares) != 3 {
		t.Fatalf("%d shares: %s", len(shares), s.Text)
	}
	f.contains(f.Submit("/operator/keys/file", "kind", "shares", "text", shares[0][1]), 200, shares[0][1])

	// Each opens; shares one by one, by people who are not signed in.
	for _, fields := range [][]string{{"passphrase", "canary one"}, {"key", recovery}, {"key", keyFile}} {
		f.seal()
		expect(t, f.send("/unseal", fields...), 303, "/")
	}
	f.seal()
	other := &first{Browser: f.in.Browser(), in: f.in, t: t, clock: f.clock}
	expect(t, other.send("/unseal", "share", shares[2][1]), 303, "/unseal?return=%2F")
	f.contains(f.Open("/unseal"), 200, "1 of 2 given", "1 more needed")
	f.contains(f.send("/unseal", "share", shares[2][1]), 403, "Share 3 was given already", "1 more needed")
	f.contains(f.send("/unseal", "share", shares[0][1][:50]), 403, "the first mistake is in group")
	expect(t, f.send("/unseal", "key", shares[0][1], "return", "/account"), 303, "/account")
	f.contains(f.Open("/account"), 200, "root")

	// Removing.
	id := f.methodID("recovery-key", 1)
	f.contains(f.send("/operator/keys/"+id+"/remove", "confirm", "yes"), 422, "Type exactly remove")
	f.contains(f.send("/operator/keys/"+id+"/remove", "confirm", "remove", "proof", recovery), 403, "Show another way")
	expect(t, f.send("/operator/keys/"+id+"/remove", "confirm", "remove"), 303, "/operator/keys")
	f.contains(f.Open("/operator/keys"), 200, "It opens the server no more.")
	f.contains(f.send("/operator/keys/"+id+"/remove", "confirm", "remove"), 404, "no such way")
	expect(t, f.send("/operator/keys/"+f.methodID("recovery-key", 0)+"/remove", "confirm", "remove"), 303, "/operator/keys")
	f.contains(f.Open("/operator/keys"), 200, "The last recovery key is removed")

	// What was given out is nowhere but in the answers that gave it out.
	seen := f.in.Log.String() + f.Open("/activity").Text + f.Open("/operator").Text + f.Open("/operator/keys").Text +
		f.Send("GET", "/v1/activity", "", "Accept", "application/json").Text
	for _, canary := range []string{"canary", recovery, keyFile, shares[0][1], shares[2][1], recovery[30:60], shares[1][1][20:40]} {
		if strings.Contains(seen, canary) {
			t.Errorf("%.12s… is somewhere", canary)
		}
	}
	if !strings.Contains(seen, "unseal_method_added") || !strings.Contains(seen, "unseal_method_removed") {
		t.Error("it is not recorded")
	}
}

func TestOnlyOperatorsSeeWhatOpensTheServer(t *testing.T) {
	f := keyRoom(t)
	id := f.methodID("recovery-key", 0)
	ann := &first{Browser: f.in.Browser(), in: f.in, t: t, clock: f.clock}
	ann.SignIn("ann")
	f.clock.turn(time.Minute)
	expectSeen(t, ann.Open("/operator/keys"), 403, "Only operators")
	expectSeen(t, ann.Submit("/operator/keys", "kind", "recovery-key", "once", "x", "proof", f.in.Recovery), 403, "Only operators")
	expectSeen(t, ann.Submit("/operator/keys/"+id+"/remove", "confirm", "remove"), 403, "Only operators")
	nobody := f.in.Browser()
	expect(t, nobody.Open("/operator/keys"), 303, "/login?return=%2Foperator%2Fkeys")
	s := f.Send("POST", "/operator/keys", servertest.Form("kind", "recovery-key", "once", "x"), "Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site")
	expectSeen(t, s, 403, "another site")
	if all, err := f.in.Operator.UnsealMethods(t.Context()); err != nil || len(all) != 2 {
		t.Errorf("%d %v", len(all), err)
	}
}

// TestGuessingAtAPassphraseHasAThrottle for operators in a browser, too.
func TestGuessingAtAPassphraseHasAThrottle(t *testing.T) {
	f := keyRoom(t)
	f.clock.turn(time.Minute)
	for i := range 10 {
		f.contains(f.Submit("/operator/keys", "kind", "recovery-key", "once", fmt.Sprint(i), "proof", "wrong"), 403, "no passphrase")
	}
	f.contains(f.Submit("/operator/keys", "kind", "recovery-key", "once", "x"), 429, "Too many attempts")
}

// TestAKillLeavesWaysToUnsealWhole kills a server while it adds and removes ways to
// unseal: each that was answered is there, none is half there, and each opens.
func TestAKillLeavesWaysToUnsealWhole(t *testing.T) {
	rounds := 3
	if os.Getenv("COFFER_SLOW") != "" {
		rounds = 50
	}
	data := t.TempDir()
	crashSetup(t, data)
	kept := make(map[string]string) // by id, the keys that were answered and not tried to be removed
	for range rounds {
		c := startChild(t, data)
		transport, err := server.DialOperator(data)
		if err != nil {
			t.Fatal(err)
		}
		op := &client.Client{URL: "http://operator", Transport: transport}
		done := make(chan struct{})
		go func() {
			defer close(done)
			for {
				for _, keep := range []bool{true, false} {
					made, err := op.AddUnsealMethod(t.Context(), api.AddUnsealMethod{Kind: api.MethodRecovery})
					if err != nil {
						return
					}
					if keep {
						kept[made.ID] = string(*made.Key)
					} else if _, err := op.RemoveUnsealMethod(t.Context(), api.RemoveUnsealMethod{ID: made.ID}); err != nil {
						return
					}
				}
			}
		}()
		time.Sleep(time.Duration(20+rand.IntN(100)) * time.Millisecond)
		c.kill()
		<-done
		if _, err := server.Check(server.Config{Data: data}); err != nil {
			t.Fatal(err)
		}
	}
	c := startChild(t, data)
	defer c.kill()
	transport, err := server.DialOperator(data)
	if err != nil {
		t.Fatal(err)
	}
	op := &client.Client{URL: "http://operator", Transport: transport}
	proveLog(t, data)
	all, err := op.UnsealMethods(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	there := make(map[string]bool)
	for _, m := range all {
		there[m.ID] = true
	}
	tried := 0
	for id, key := range kept {
		if !there[id] {
			t.Errorf("%s was answered and is gone", id)
		}
		if tried++; tried > 5 {
			continue
		}
		if err := op.Seal(t.Context()); err != nil {
			t.Fatal(err)
		}
		secret := api.NewSecret(key)
		if err := op.Unseal(t.Context(), api.Unseal{Key: &secret}); err != nil {
			t.Errorf("%s does not open: %v", id, err)
		}
	}
	t.Logf("%d kept, %d there", len(kept), len(all))
}
