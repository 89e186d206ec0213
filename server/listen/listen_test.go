package listen

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// made is a self-signed certificate at a time.
func made(t *testing.T, dir string, now time.Time, names ...string) (*Certificates, *tls.Certificate) {
	t.Helper()
	c, err := TLS{SelfSigned: true}.Certificates(Place{Dir: dir, Names: names, Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	return c, shown(t, c)
}

func shown(t *testing.T, c *Certificates) *tls.Certificate {
	t.Helper()
	got, err := c.get(&tls.ClientHelloInfo{ServerName: "vault.example"})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestASelfSignedCertificateStaysAsLongAsItCan renews it only for a new name and
// near its end, or when the clock shows that it is not valid yet; and never its key,
// by which clients know the server.
func TestASelfSignedCertificateStaysAsLongAsItCan(t *testing.T) {
	dir, start := t.TempDir(), time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	c, first := made(t, dir, start, "vault.example", "192.0.2.7", "::1")
	sum := sha256.Sum256(first.Leaf.RawSubjectPublicKeyInfo)
	if want := "sha256=" + hex.EncodeToString(sum[:]); c.Fingerprint() != want {
		t.Errorf("got %s, want %s", c.Fingerprint(), want)
	}
	if first.Leaf.IsCA || first.Leaf.VerifyHostname("192.0.2.7") != nil || first.Leaf.VerifyHostname("other.example") == nil {
		t.Errorf("got %+v", first.Leaf)
	}
	for _, tt := range []struct {
		what  string
		now   time.Time
		names []string
		stays bool
	}{
		{"another start", start.Add(time.Hour), []string{"vault.example", "192.0.2.7", "::1"}, true},
		{"fewer names", start.Add(time.Hour), []string{"vault.example"}, true},
		{"nine years later", start.AddDate(9, 0, 0), []string{"vault.example"}, true},
		{"near its end", first.Leaf.NotAfter.Add(-24 * time.Hour), []string{"vault.example"}, false},
		{"another name", start, []string{"new.example"}, false},
		{"a clock that was wrong before", start.AddDate(-1, 0, 0), []string{"vault.example"}, false},
	} {
		at := t.TempDir()
		if err := os.CopyFS(at, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		again, got := made(t, at, tt.now, tt.names...)
		if same := bytes.Equal(got.Leaf.Raw, first.Leaf.Raw); same != tt.stays {
			t.Errorf("%s: the same certificate is %v", tt.what, same)
		}
		if again.Fingerprint() != c.Fingerprint() {
			t.Errorf("%s: another fingerprint", tt.what)
		}
	}
}

// TestASelfSignedCertificateIsRenewedWhileItServes lets years go by.
func TestASelfSignedCertificateIsRenewedWhileItServes(t *testing.T) {
	now := time.Now()
	c, err := TLS{SelfSigned: true}.Certificates(Place{Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	first := shown(t, c)
	c.look(false)
	if shown(t, c) != first {
		t.Error("it was renewed at once")
	}
	now = first.Leaf.NotAfter.Add(-time.Hour)
	c.look(false)
	if got := shown(t, c); !got.Leaf.NotAfter.After(first.Leaf.NotAfter) {
		t.Error("it was not renewed")
	}
}

// TestADamagedKeyIsNotReplaced keeps what clients know the server by from changing
// unasked; a damaged certificate is only made again.
func TestADamagedKeyIsNotReplaced(t *testing.T) {
	dir := t.TempDir()
	c, _ := made(t, dir, time.Now(), "vault.example")
	if err := os.WriteFile(filepath.Join(dir, certName), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	again, _ := made(t, dir, time.Now(), "vault.example")
	if again.Fingerprint() != c.Fingerprint() {
		t.Error("a damaged certificate changed the key")
	}
	if err := os.WriteFile(filepath.Join(dir, keyName), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := TLS{SelfSigned: true}.Certificates(Place{Dir: dir, Log: slog.New(slog.DiscardHandler)})
	if err == nil || !strings.Contains(err.Error(), "is damaged") {
		t.Errorf("got %v", err)
	}
}

func TestWhatDoesNotFitTogetherIsRefused(t *testing.T) {
	for _, tt := range []struct {
		tls  TLS
		want string
	}{
		{TLS{}, ""},
		{TLS{CertFile: "a", KeyFile: "b", RedirectListen: ":80"}, ""},
		{TLS{CertFile: "a"}, "belong together"},
		{TLS{KeyFile: "a"}, "belong together"},
		{TLS{SelfSigned: true, CertFile: "a", KeyFile: "b"}, "keep one"},
		{TLS{SelfSigned: true, ACME: ACME{Hosts: []string{"vault.example"}}}, "keep one"},
		{TLS{RedirectListen: ":80"}, "there is none"},
		{TLS{ACME: ACME{Email: "a@vault.example"}}, "tls.acme.hosts is empty"},
		{TLS{ACME: ACME{Hosts: []string{"vault.example", "localhost"}}}, `"localhost"`},
		{TLS{ACME: ACME{Hosts: []string{"192.0.2.7"}}}, `"192.0.2.7"`},
		{TLS{ACME: ACME{Hosts: []string{"*.vault.example"}}}, `"*.vault.example"`},
		{TLS{ACME: ACME{Hosts: []string{"https://vault.example"}}}, "write it like vault.example"},
	} {
		err := tt.tls.Check()
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: got %v, want %q", tt.tls, err, tt.want)
		}
	}
}

// TestANameIsAskedForAsItIsWrittenOrNot: names have no case, and may end in a dot.
func TestANameIsAskedForAsItIsWrittenOrNot(t *testing.T) {
	tests := TLS{ACME: ACME{Hosts: []string{"Vault.Example."}, Directory: "http://127.0.0.1:1"}}
	c, err := tests.Certificates(Place{Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.config.GetCertificate(&tls.ClientHelloInfo{ServerName: "vault.example"})
	if err == nil || strings.Contains(err.Error(), "none of tls.acme.hosts") || strings.Contains(err.Error(), "not configured") {
		t.Errorf("it is not asked for: %v", err)
	}
	_, err = c.config.GetCertificate(&tls.ClientHelloInfo{ServerName: "other.example"})
	if err == nil || !strings.Contains(err.Error(), "none of tls.acme.hosts") {
		t.Errorf("another name: %v", err)
	}
}
