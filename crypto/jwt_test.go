package crypto

import (
	"bytes"
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"
)

const issuer = "https://coffer.example"

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func testSigner(t testing.TB, kid string, b byte) *Signer {
	t.Helper()
	s, err := NewSigner(kid, bytes.Repeat([]byte{b}, KeySize))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func testClaims() Claims {
	return Claims{ID: "session", Subject: "user", Username: "ada", ForgeType: "local", IssuedAt: noon, ExpiresAt: noon.Add(time.Hour)}
}

func TestSignedTokenVerifies(t *testing.T) {
	s := testSigner(t, "coffer-1", 1)
	token, err := s.Sign(issuer, testClaims())
	if err != nil {
		t.Fatal(err)
	}
	if !LooksLikeJWT(token) {
		t.Error("it does not look like a JWT of ours")
	}
	got, err := s.Verify(issuer, token, noon.Add(59*time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	got.IssuedAt, got.ExpiresAt = got.IssuedAt.UTC(), got.ExpiresAt.UTC()
	if diff := cmp.Diff(testClaims(), got); diff != "" {
		t.Error(diff)
	}
}

func TestTokenIsRefusedByAnybodyElse(t *testing.T) {
	s := testSigner(t, "coffer-1", 1)
	token, err := s.Sign(issuer, testClaims())
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		signer *Signer
		issuer string
		token  string
		now    time.Time
	}{
		"expired":        {s, issuer, token, noon.Add(time.Hour)},
		"other issuer":   {s, "https://other.example", token, noon},
		"no issuer":      {s, "", token, noon},
		"other key":      {testSigner(t, "coffer-1", 2), issuer, token, noon},
		"other key id":   {testSigner(t, "coffer-2", 1), issuer, token, noon},
		"too long":       {s, issuer, token + strings.Repeat("A", maxJWT), noon},
		"empty":          {s, issuer, "", noon},
		"no signature":   {s, issuer, token[:strings.LastIndex(token, ".")+1], noon},
		"fourth part":    {s, issuer, token + ".e30", noon},
		"padded":         {s, issuer, token + "=", noon},
		"leading space":  {s, issuer, " " + token, noon},
		"trailing break": {s, issuer, token + "\n", noon},
	} {
		if _, err := test.signer.Verify(test.issuer, test.token, test.now); !errors.Is(err, ErrToken) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for i := range len(token) {
		bad := []byte(token)
		bad[i] ^= 1
		if _, err := s.Verify(issuer, string(bad), noon); !errors.Is(err, ErrToken) {
			t.Errorf("byte %d flipped: %v", i, err)
		}
	}
}

func TestTokenIsRefusedWhenItsHeaderOrClaimsAreNotOurs(t *testing.T) {
	s := testSigner(t, "coffer-1", 1)
	full := func() jwt.MapClaims {
		return jwt.MapClaims{"iss": issuer, "sub": "user", "jti": "session", "iat": noon.Unix(), "exp": noon.Add(time.Hour).Unix()}
	}
	sign := func(method jwt.SigningMethod, key any, change func(header map[string]any, claims jwt.MapClaims)) string {
		token := jwt.NewWithClaims(method, full())
		token.Header["kid"] = "coffer-1"
		change(token.Header, token.Claims.(jwt.MapClaims))
		signed, err := token.SignedString(key)
		if err != nil {
			t.Fatal(err)
		}
		return signed
	}
	nothing := func(map[string]any, jwt.MapClaims) {}
	without := func(claim string) func(map[string]any, jwt.MapClaims) {
		return func(_ map[string]any, c jwt.MapClaims) { delete(c, claim) }
	}
	if _, err := s.Verify(issuer, sign(jwt.SigningMethodHS256, s.state.key[:], nothing), noon); err != nil {
		t.Fatalf("the unchanged token: %v", err)
	}
	for name, token := range map[string]string{
		"alg none":     sign(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, nothing),
		"alg HS384":    sign(jwt.SigningMethodHS384, s.state.key[:], nothing),
		"alg HS512":    sign(jwt.SigningMethodHS512, s.state.key[:], nothing),
		"no kid":       sign(jwt.SigningMethodHS256, s.state.key[:], func(h map[string]any, _ jwt.MapClaims) { delete(h, "kid") }),
		"kid a list":   sign(jwt.SigningMethodHS256, s.state.key[:], func(h map[string]any, _ jwt.MapClaims) { h["kid"] = []string{"coffer-1"} }),
		"other typ":    sign(jwt.SigningMethodHS256, s.state.key[:], func(h map[string]any, _ jwt.MapClaims) { h["typ"] = "ci" }),
		"no iss":       sign(jwt.SigningMethodHS256, s.state.key[:], without("iss")),
		"no sub":       sign(jwt.SigningMethodHS256, s.state.key[:], without("sub")),
		"no jti":       sign(jwt.SigningMethodHS256, s.state.key[:], without("jti")),
		"no exp":       sign(jwt.SigningMethodHS256, s.state.key[:], without("exp")),
		"exp a text":   sign(jwt.SigningMethodHS256, s.state.key[:], func(_ map[string]any, c jwt.MapClaims) { c["exp"] = "never" }),
		"not yet":      sign(jwt.SigningMethodHS256, s.state.key[:], func(_ map[string]any, c jwt.MapClaims) { c["nbf"] = noon.Add(time.Minute).Unix() }),
		"jti a number": sign(jwt.SigningMethodHS256, s.state.key[:], func(_ map[string]any, c jwt.MapClaims) { c["jti"] = 7 }),
	} {
		if _, err := s.Verify(issuer, token, noon); !errors.Is(err, ErrToken) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSignerRefusesUnusableInput(t *testing.T) {
	key := make([]byte, KeySize)
	for _, kid := range []string{"", "coffer-", "keyway-1", "Coffer-1", "coffer-" + strings.Repeat("x", 99)} {
		if _, err := NewSigner(kid, key); err == nil {
			t.Errorf("kid %q was taken", kid)
		}
	}
	for _, size := range []int{0, 16, 31, 33, 64} {
		if _, err := NewSigner("coffer-1", make([]byte, size)); err == nil {
			t.Errorf("a key of %d bytes was taken", size)
		}
	}
	s := testSigner(t, "coffer-1", 1)
	for name, change := range map[string]func(*Claims){
		"no id":      func(c *Claims) { c.ID = "" },
		"no subject": func(c *Claims) { c.Subject = "" },
		"no expiry":  func(c *Claims) { c.ExpiresAt = time.Time{} },
	} {
		c := testClaims()
		change(&c)
		if _, err := s.Sign(issuer, c); err == nil {
			t.Errorf("%s: signed", name)
		}
	}
	if _, err := s.Sign("", testClaims()); err == nil {
		t.Error("no issuer: signed")
	}
}

func TestTokensOfOursAreRecognisedEvenWhenBroken(t *testing.T) {
	b64 := base64.RawURLEncoding.EncodeToString
	ours, theirs := b64([]byte(`{"kid":"coffer-9"}`)), b64([]byte(`{"alg":"RS256","kid":"gh-1"}`))
	for token, want := range map[string]bool{
		ours + ".e30.x":                   true,
		ours + "..":                       true,
		ours + "==.e30.x":                 true,
		ours + ".not base64.\xff":         true,
		theirs + ".e30.x":                 false,
		ours + ".e30":                     false,
		ours + ".e30.x.y":                 false,
		"":                                false,
		"..":                              false,
		"ghp_abc":                         false,
		b64([]byte(`{"kid":7}`)) + "..":   false,
		b64([]byte(`["coffer-"]`)) + "..": false,
		b64([]byte(`coffer-`)) + "..":     false,
	} {
		if LooksLikeJWT(token) != want {
			t.Errorf("%q: %v", token, !want)
		}
	}
}

func FuzzVerify(f *testing.F) {
	s := testSigner(f, "coffer-1", 1)
	token, err := s.Sign(issuer, testClaims())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(token)
	f.Add("eyJhbGciOiJub25lIn0.e30.")
	f.Fuzz(func(t *testing.T, in string) {
		if _, err := s.Verify(issuer, in, noon); err == nil && in != token {
			t.Errorf("verified %q", in)
		} else if err != nil && !errors.Is(err, ErrToken) {
			t.Error(err)
		}
	})
}
