package server_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coffer/server"
	"coffer/server/servertest"
)

// sealedHouse is a browser before a sealed instance whose key file is at key.
func sealedHouse(t *testing.T) (f *first, key string) {
	t.Helper()
	key = filepath.Join(t.TempDir(), "coffer.key")
	f = newFirst(t, func(c *server.Config) { c.Unseal.KeyFile = key })
	f.in.Recovery = f.take("method", "key-file")
	f.typeBack(f.in.Recovery)
	f.send("/setup/user", "username", "ann", "password", servertest.Password, "again", servertest.Password)
	f.seal()
	return f, key
}

func (f *first) seal() {
	f.t.Helper()
	if err := f.in.Operator.Seal(f.t.Context()); err != nil {
		f.t.Fatal(err)
	}
}

func TestASealedVaultIsUnsealedInTheBrowser(t *testing.T) {
	f, key := sealedHouse(t)
	right, err := os.ReadFile(key)
	if err != nil {
		t.Fatal(err)
	}
	f.contains(f.Open("/unseal"), 200, "This vault is sealed", "The key file, fingerprint", "The recovery key, fingerprint", "Nothing is lost")
	if strings.Contains(f.Open("/unseal").Text, "<h2>Passphrase") {
		t.Error("it asks for a passphrase that there is none of")
	}
	f.contains(f.send("/unseal"), 403, "Nothing was given")
	f.contains(f.send("/unseal", "passphrase", "canary"), 403, "This instance has no passphrase")
	f.contains(f.send("/unseal", "key", "canary"), 403, "not a usable key")
	if s := f.Open("/unseal"); strings.Contains(s.Text, "canary") || !strings.Contains(s.Text, "The last attempt failed. This key is not a usable key") {
		t.Errorf("%s", s.Text)
	}
	if err := os.Remove(key); err != nil {
		t.Fatal(err)
	}
	f.contains(f.send("/unseal", "configured", "true"), 403, "The key file is missing")
	other, _ := sealedHouse(t)
	f.contains(f.send("/unseal", "key", other.in.Recovery), 403, "belongs to another instance", "and this one opens with")

	expect(t, f.send("/unseal", "key", string(right), "return", "/account"), 303, "/account")
	f.contains(f.Open("/account"), 200, "ann")
	expect(t, f.Open("/unseal?return=/account"), 303, "/account")
	expect(t, f.send("/unseal", "return", "//evil.example"), 303, "/") // nothing to do
	f.seal()
	expect(t, f.send("/unseal", "key", f.in.Recovery, "return", "https://evil.example/"), 303, "/")
	f.seal()
	if err := os.WriteFile(key, right, 0o600); err != nil {
		t.Fatal(err)
	}
	expect(t, f.send("/unseal", "configured", "true"), 303, "/")
}

func TestUnsealingInTheBrowserHasAThrottle(t *testing.T) {
	f, _ := sealedHouse(t)
	f.clock.turn(time.Minute)
	for range 10 {
		f.contains(f.Submit("/unseal", "key", "x"), 403, "not a usable key")
	}
	s := f.Submit("/unseal", "key", f.in.Recovery)
	f.contains(s, 429, "Too many attempts")
	if s.Header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	f.clock.turn(time.Minute)
	s = f.Send("POST", "/unseal", servertest.Form("key", f.in.Recovery), "Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site")
	f.contains(s, 403, "another site")
	expect(t, f.Submit("/unseal", "key", f.in.Recovery), 303, "/")
}

func TestWhoWaitsBeforeASealedVaultComesBackToTheirPage(t *testing.T) {
	f, _ := sealedHouse(t)
	expect(t, f.Open("/account?x=%3Cb%3E"), 303, "/unseal?return=%2Faccount%3Fx%3D%253Cb%253E")
	f.contains(f.Open("/unseal?return=%2Faccount%3Fx%3D%22%3E"), 200, `name="return" value="/account?x=&#34;&gt;"`)
}
