// Package cryptotest makes coffer's key derivation affordable in tests.
package cryptotest

import (
	"testing"

	"coffer/crypto/internal/cost"
)

// CheapKDF makes passphrase wrapping and password hashing cost almost nothing in
// this process, whatever work factor is asked for. Call it at the start of
// TestMain, before testscript.Main where there is one. What is written under it
// opens everywhere, and nothing else about the formats changes.
//
// It panics outside a test binary: there is no way to weaken a real server.
func CheapKDF() {
	if !testing.Testing() {
		panic("cryptotest: CheapKDF outside a test")
	}
	cost.TestOnlyCheap(true)
}
