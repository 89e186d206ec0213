package crypto

import (
	"crypto/rand"
	"encoding/hex"
	"strings"
)

const (
	// userAlphabet leaves out what people take for something else: I, L, O, 0, 1.
	userAlphabet   = "ABCDEFGHJKMNPQRSTUVWXYZ23456789"
	userCodeLength = 10 // 49.5 bits
)

// NewDeviceCode returns the secret half of a device login: 256 random bits in
// hexadecimal, known to the program that asks and to nobody else.
func NewDeviceCode() string {
	var b [32]byte
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// NewUserCode returns the half of a device login that people compare and type,
// like BCDFG-HJK23.
//
// It is no secret that grants anything: whoever knows one can sign the program in
// as themselves, or refuse it. That, a life of minutes, and a limit on how many
// can be tried is why 49.5 bits, and a plain hash of them, are enough.
func NewUserCode() string {
	return hyphened(draw(userAlphabet, userCodeLength))
}

// ParseUserCode reads a user code as people type it: in any case, with or without
// its hyphen, with blanks.
func ParseUserCode(text string) (code string, ok bool) {
	if len(text) > 64 {
		return "", false
	}
	text = strings.ToUpper(strings.NewReplacer("-", "", " ", "", "\t", "", "\r", "", "\n", "").Replace(text))
	if len(text) != userCodeLength || strings.Trim(text, userAlphabet) != "" {
		return "", false
	}
	return hyphened(text), true
}

func hyphened(code string) string {
	return code[:userCodeLength/2] + "-" + code[userCodeLength/2:]
}
