package crypto

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

const (
	kidPrefix = "coffer-"
	maxJWT    = 4 << 10
)

// Signer signs and verifies service JWTs with HMAC-SHA256. It does not print
// itself.
//
// HMAC, because the one who signs is the one who verifies. The key must be used
// for nothing else.
type Signer struct {
	redacted
	state *signerState
}

type signerState struct {
	kid string
	key *[KeySize]byte
}

// Claims are what a service JWT says. Times are kept in whole seconds.
type Claims struct {
	ID        string // jti, names the session
	Subject   string // sub, the user's id
	Username  string
	ForgeType string
	IssuedAt  time.Time
	ExpiresAt time.Time
}

// wireClaims is the JSON of Claims.
type wireClaims struct {
	jwt.RegisteredClaims
	Username  string `json:"username"`
	ForgeType string `json:"forgeType"`
}

// NewSigner returns a signer with a copy of a key of 32 bytes. The key id goes
// into every token's header and must begin with "coffer-", which is how tokens
// of ours are told from a code host's.
func NewSigner(kid string, key []byte) (*Signer, error) {
	if !strings.HasPrefix(kid, kidPrefix) || len(kid) == len(kidPrefix) || len(kid) > 64 {
		return nil, fmt.Errorf("key id %q does not begin with %s", kid, kidPrefix)
	}
	if len(key) != KeySize {
		return nil, fmt.Errorf("signing key has %d bytes, want %d", len(key), KeySize)
	}
	owned := [KeySize]byte(key)
	return &Signer{state: &signerState{kid: kid, key: &owned}}, nil
}

// KeyID returns the key id.
func (s *Signer) KeyID() string { return s.state.kid }

// Sign returns a token. It refuses claims that Verify would not take: issuer,
// ID and Subject must be set, and ExpiresAt be after IssuedAt.
func (s *Signer) Sign(issuer string, c Claims) (string, error) {
	if issuer == "" || c.ID == "" || c.Subject == "" || !c.ExpiresAt.After(c.IssuedAt) {
		return "", errors.New("sign token: issuer, id, subject and a later expiry are needed")
	}
	token := jwt.NewWithClaims(jwt.SigningMethodHS256, wireClaims{
		RegisteredClaims: jwt.RegisteredClaims{
			Issuer:    issuer,
			ID:        c.ID,
			Subject:   c.Subject,
			IssuedAt:  jwt.NewNumericDate(c.IssuedAt),
			ExpiresAt: jwt.NewNumericDate(c.ExpiresAt),
		},
		Username:  c.Username,
		ForgeType: c.ForgeType,
	})
	token.Header["kid"] = s.state.kid
	signed, err := token.SignedString(s.state.key[:])
	if err != nil {
		return "", fmt.Errorf("sign token: %w", err)
	}
	return signed, nil
}

// Verify returns the claims of a token that this signer signed for issuer and
// that has not expired at now, else an [ErrToken] that says why, for logs.
//
// What the token's header says is compared, never obeyed: the algorithm is
// HS256 and the key is ours whatever it asks for, which leaves "alg":"none" and
// a key of the sender's choice without effect. Whether the session was revoked
// is for the caller to look up.
func (s *Signer) Verify(issuer, token string, now time.Time) (Claims, error) {
	if issuer == "" || len(token) > maxJWT {
		return Claims{}, fmt.Errorf("%w: too long, or no issuer to compare with", ErrToken)
	}
	// The base64 decoder skips them, and a token has one form.
	if strings.ContainsAny(token, "\r\n") {
		return Claims{}, fmt.Errorf("%w: it contains a line break", ErrToken)
	}
	parser := jwt.NewParser(
		jwt.WithValidMethods([]string{jwt.SigningMethodHS256.Alg()}),
		jwt.WithIssuer(issuer),
		jwt.WithExpirationRequired(),
		jwt.WithTimeFunc(func() time.Time { return now }),
		jwt.WithStrictDecoding(),
	)
	var w wireClaims
	_, err := parser.ParseWithClaims(token, &w, func(t *jwt.Token) (any, error) {
		if t.Header["kid"] != s.state.kid || t.Header["typ"] != "JWT" {
			return nil, errors.New("another key id or type")
		}
		return s.state.key[:], nil
	})
	if err != nil {
		return Claims{}, fmt.Errorf("%w: %v", ErrToken, err)
	}
	if w.ID == "" || w.Subject == "" {
		return Claims{}, fmt.Errorf("%w: no jti or no sub", ErrToken)
	}
	c := Claims{ID: w.ID, Subject: w.Subject, Username: w.Username, ForgeType: w.ForgeType, ExpiresAt: w.ExpiresAt.Time}
	if w.IssuedAt != nil {
		c.IssuedAt = w.IssuedAt.Time
	}
	return c, nil
}

// LooksLikeJWT reports whether token has the form of a service JWT: three parts,
// the first a JSON header whose key id begins with "coffer-". Such a token is
// ours, valid or not, and must never be sent to a code host.
//
// It is lenient where Verify is strict: a broken token of ours is still ours.
func LooksLikeJWT(token string) bool {
	if strings.Count(token, ".") != 2 {
		return false
	}
	first, _, _ := strings.Cut(token, ".")
	if len(first) > maxJWT {
		return false
	}
	header, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(first, "="))
	if err != nil {
		return false
	}
	var h struct {
		KeyID string `json:"kid"`
	}
	return json.Unmarshal(header, &h) == nil && strings.HasPrefix(h.KeyID, kidPrefix)
}
