package crypto

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"strings"
	"testing"
	"time"

	stdcrypto "crypto"
)

func pemOf(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

func TestAppTokensVerifyWithThePublicKey(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	issued := time.Unix(1_800_000_000, 0)
	for name, text := range map[string][]byte{
		"PKCS #1": pemOf("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(key)),
		"PKCS #8": pemOf("PRIVATE KEY", pkcs8),
	} {
		s, err := NewAppSigner(text)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		token, err := s.Sign("Iv1.abc", issued, issued.Add(9*time.Minute))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		// By hand, so that the library does not vouch for itself.
		signed, signature, _ := cutLast(token)
		sum := sha256.Sum256([]byte(signed))
		raw, err := base64.RawURLEncoding.DecodeString(signature)
		if err != nil {
			t.Fatal(err)
		}
		if err := rsa.VerifyPKCS1v15(&key.PublicKey, stdcrypto.SHA256, sum[:], raw); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		head, body, _ := strings.Cut(signed, ".")
		if got := decoded(t, head); got["alg"] != "RS256" || got["typ"] != "JWT" {
			t.Errorf("%s: header %v", name, got)
		}
		want := map[string]any{"iss": "Iv1.abc", "iat": 1_800_000_000.0, "exp": 1_800_000_540.0}
		if got := decoded(t, body); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: claims %v", name, got)
		}
		if text := fmt.Sprintf("%v %+v %#v", s, s, *s); strings.Trim(strings.ReplaceAll(text, redactedText, ""), " ") != "" {
			t.Errorf("it prints itself: %s", text)
		}
	}
}

func cutLast(token string) (signed, signature string, ok bool) {
	i := strings.LastIndexByte(token, '.')
	return token[:max(i, 0)], token[i+1:], i >= 0
}

func decoded(t *testing.T, part string) (v map[string]any) {
	t.Helper()
	text, err := base64.RawURLEncoding.DecodeString(part)
	if err == nil {
		err = json.Unmarshal(text, &v)
	}
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestOnlyStrongRSAKeysSignForAnApp(t *testing.T) {
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ec, err := x509.MarshalPKCS8PrivateKey(other)
	if err != nil {
		t.Fatal(err)
	}
	key, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{
		"nothing":        nil,
		"a text":         []byte("canary"),
		"a broken key":   pemOf("RSA PRIVATE KEY", []byte("canary")),
		"another kind":   pemOf("PRIVATE KEY", ec),
		"a public key":   pemOf("PUBLIC KEY", x509.MarshalPKCS1PublicKey(&key.PublicKey)),
		"a short key":    pemOf("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(key)),
		"a sealed key":   []byte("-----BEGIN ENCRYPTED PRIVATE KEY-----\nY2FuYXJ5\n-----END ENCRYPTED PRIVATE KEY-----\n"),
		"a half of PEM":  []byte("-----BEGIN RSA PRIVATE KEY-----\ncanary"),
		"an empty block": pemOf("RSA PRIVATE KEY", nil),
	} {
		if _, err := NewAppSigner(text); err == nil || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAppTokensAreShortLived(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewAppSigner(pemOf("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(key)))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1_800_000_000, 0)
	for _, c := range []struct {
		issuer string
		lives  time.Duration
	}{{"", time.Minute}, {"a", 0}, {"a", -time.Minute}, {"a", 11*time.Minute + time.Second}} {
		if _, err := s.Sign(c.issuer, now, now.Add(c.lives)); err == nil {
			t.Errorf("%q for %v was signed", c.issuer, c.lives)
		}
	}
}
