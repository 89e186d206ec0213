package server

import (
	"coffer/server/api"
	"coffer/server/warden"
)

// MaxReceipt is more than the bytes in any receipt.
const MaxReceipt = warden.MaxReceipt

// IsReceipt reports whether a file that begins with these bytes is the receipt of
// an erasure.
func IsReceipt(head []byte) bool { return warden.IsReceipt(head) }

// VerifyReceipt checks the receipt of an erasure, with nothing but the public key
// of the instance that signed it, or with "" the key that the receipt brings.
func VerifyReceipt(text []byte, publicKey string) (*api.Receipt, error) {
	return warden.VerifyReceipt(text, publicKey)
}
