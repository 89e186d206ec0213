package crypto

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"strings"

	"golang.org/x/crypto/argon2"

	"coffer/crypto/internal/cost"
)

// argonParams is what an argon2id hash costs and holds.
type argonParams struct {
	memory  uint32 // KiB
	passes  uint32
	threads uint8
	salt    []byte
	sum     []byte
}

const (
	argonSaltSize = 16
	argonSumSize  = 32

	// Upper bounds for stored hashes: what a hash demands is done at every
	// attempt to sign in, so a planted one must not be able to demand much.
	argonMaxMemory  = 256 << 10
	argonMaxPasses  = 10
	argonMaxThreads = 16
)

// argonSlots bounds how many hashes run at once: each takes 64 MiB, and anybody
// may try to sign in. The bound is the process's because its memory is.
var argonSlots = make(chan struct{}, 2)

// HashPassword returns the argon2id hash of password in the PHC string form,
// with a random salt and the second parameter set that RFC 9106 recommends:
// 3 passes, 64 MiB, 4 lanes. It costs some 60 ms and at most two hashes run at
// once, so it is to be called outside of locks and transactions.
func HashPassword(password []byte) (string, error) {
	p := newArgon()
	p.salt = make([]byte, argonSaltSize)
	_, _ = rand.Read(p.salt)
	p.sum = p.compute(password)
	return p.String(), nil
}

// newArgon returns the cost of new hashes.
func newArgon() argonParams {
	if cost.Cheap() {
		return argonParams{memory: 8, passes: 1, threads: 1}
	}
	return argonParams{memory: 64 << 10, passes: 3, threads: 4}
}

// VerifyPassword reports whether hash is that of password, in a time that does
// not depend on where they differ. The cost is read from the hash, within
// bounds; a hash that is malformed or beyond them is an [ErrPasswordHash].
func VerifyPassword(hash string, password []byte) (bool, error) {
	p, err := parseArgon(hash)
	if err != nil {
		return false, err
	}
	sum := p.compute(password)
	return subtle.ConstantTimeCompare(sum, p.sum) == 1, nil
}

func (p argonParams) compute(password []byte) []byte {
	argonSlots <- struct{}{}
	defer func() { <-argonSlots }()
	return argon2.IDKey(password, p.salt, p.passes, p.memory, p.threads, argonSumSize)
}

// String returns the PHC form, the only one that parseArgon takes.
func (p argonParams) String() string {
	b64 := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version,
		p.memory, p.passes, p.threads, b64.EncodeToString(p.salt), b64.EncodeToString(p.sum))
}

// parseArgon reads a hash. Writing it again shows every deviation from the one
// form, such as signs, leading zeros and stray bits of base64.
func parseArgon(hash string) (argonParams, error) {
	var p argonParams
	parts := strings.Split(hash, "$")
	if len(hash) > 256 || len(parts) != 6 || parts[1] != "argon2id" {
		return p, fmt.Errorf("%w: not an argon2id hash", ErrPasswordHash)
	}
	_, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &p.memory, &p.passes, &p.threads)
	if err != nil {
		return p, fmt.Errorf("%w: malformed parameters", ErrPasswordHash)
	}
	p.salt, err = base64.RawStdEncoding.DecodeString(parts[4])
	if err != nil || len(p.salt) != argonSaltSize {
		return p, fmt.Errorf("%w: malformed salt", ErrPasswordHash)
	}
	p.sum, err = base64.RawStdEncoding.DecodeString(parts[5])
	if err != nil || len(p.sum) != argonSumSize {
		return p, fmt.Errorf("%w: malformed sum", ErrPasswordHash)
	}
	if p.String() != hash {
		return p, fmt.Errorf("%w: not in canonical form", ErrPasswordHash)
	}
	if !p.affordable() {
		return p, fmt.Errorf("%w: parameters out of bounds", ErrPasswordHash)
	}
	return p, nil
}

func (p argonParams) affordable() bool {
	return p.threads >= 1 && p.threads <= argonMaxThreads &&
		p.passes >= 1 && p.passes <= argonMaxPasses &&
		p.memory >= 8*uint32(p.threads) && p.memory <= argonMaxMemory
}
