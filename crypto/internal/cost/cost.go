// Package cost holds the one switch that makes key derivation cheap in tests.
//
// It is internal to crypto, so that only crypto/cryptotest can turn it, and
// cryptotest refuses outside test binaries.
package cost

import "sync/atomic"

var testOnlyCheap atomic.Bool

// TestOnlyCheap turns cheap key derivation on or off for the whole process.
func TestOnlyCheap(on bool) { testOnlyCheap.Store(on) }

// Cheap reports whether key derivation is to be cheap.
func Cheap() bool { return testOnlyCheap.Load() }
