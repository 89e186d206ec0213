package crypto

import (
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"strings"
)

const (
	base62       = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	apiKeyLength = 40 // 238 bits
)

// NewAPIKey returns a new API key for the environment "live" or "test":
// coffer_<live|test>_ and 40 base62 characters.
func NewAPIKey(environment string) (token string, err error) {
	if environment != "live" && environment != "test" {
		return "", fmt.Errorf("no API key environment %q: want live or test", environment)
	}
	random, err := NewToken(apiKeyLength)
	if err != nil {
		return "", err
	}
	return "coffer_" + environment + "_" + random, nil
}

// ValidAPIKey reports whether token has the form of an API key. Whether it is
// one, only a look-up of its hash can say.
func ValidAPIKey(token string) bool {
	random, ok := strings.CutPrefix(token, "coffer_live_")
	if !ok {
		random, ok = strings.CutPrefix(token, "coffer_test_")
	}
	if !ok || len(random) != apiKeyLength {
		return false
	}
	for i := range len(random) {
		if strings.IndexByte(base62, random[i]) < 0 {
			return false
		}
	}
	return true
}

// HashToken returns the SHA-256 of the whole token, the form in which tokens
// are stored and looked up.
//
// A plain hash is enough, and no salt or slow hash is needed, because a token
// is random: 238 bits cannot be guessed, and no two users choose the same. A
// look-up by hash tells an attacker who measures time nothing he can use, since
// he cannot steer the bits of a hash.
func HashToken(token string) [32]byte { return sha256.Sum256([]byte(token)) }

// NewToken returns n random base62 characters of 5.95 bits each. For a secret n
// should be at least 22.
func NewToken(n int) (string, error) {
	if n < 1 {
		return "", fmt.Errorf("a token of %d characters", n)
	}
	return draw(base62, n), nil
}

// draw returns n random characters of an alphabet of at most 256, each as likely
// as any other.
func draw(alphabet string, n int) string {
	// Bytes beyond the largest multiple of the alphabet's length are drawn anew:
	// taking their rest as well would make the first characters likelier.
	fair := 256 - 256%len(alphabet)
	out := make([]byte, 0, n)
	buf := make([]byte, n+n/4+8)
	for {
		_, _ = rand.Read(buf)
		for _, b := range buf {
			if int(b) >= fair {
				continue
			}
			out = append(out, alphabet[int(b)%len(alphabet)])
			if len(out) == n {
				return string(out)
			}
		}
	}
}
