package crypto

import (
	"errors"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

const (
	minAppKeyBits = 2048

	// Code hosts take ten minutes from now, and a token may be dated back by one
	// for clocks that differ.
	maxAppToken = 11 * time.Minute
)

// AppSigner signs the tokens by which an application proves to a code host that
// it is the one registered there: JWTs with RSA and SHA-256. It does not print
// itself.
type AppSigner struct {
	redacted
	sign func(*jwt.Token) (string, error)
}

// NewAppSigner reads an RSA private key in PEM, as PKCS #1 or PKCS #8. Its
// errors never quote the key.
func NewAppSigner(pem []byte) (*AppSigner, error) {
	key, err := jwt.ParseRSAPrivateKeyFromPEM(pem)
	if err != nil {
		return nil, errors.New("not an RSA private key in PEM without a password")
	}
	if bits := key.N.BitLen(); bits < minAppKeyBits {
		return nil, fmt.Errorf("an RSA key of %d bits, want at least %d", bits, minAppKeyBits)
	}
	return &AppSigner{sign: func(t *jwt.Token) (string, error) { return t.SignedString(key) }}, nil
}

// Sign returns a token of an issuer. It says nothing but who and when: what the
// application may do is kept at the code host.
func (s *AppSigner) Sign(issuer string, issued, expires time.Time) (string, error) {
	if issuer == "" || !expires.After(issued) || expires.Sub(issued) > maxAppToken {
		return "", fmt.Errorf("sign token: an issuer and an expiry within %v are needed", maxAppToken)
	}
	signed, err := s.sign(jwt.NewWithClaims(jwt.SigningMethodRS256, jwt.RegisteredClaims{
		Issuer: issuer, IssuedAt: jwt.NewNumericDate(issued), ExpiresAt: jwt.NewNumericDate(expires),
	}))
	if err != nil {
		return "", fmt.Errorf("sign token: %w", err)
	}
	return signed, nil
}
