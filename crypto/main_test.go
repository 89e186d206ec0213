package crypto

import (
	"bytes"
	"os"
	"testing"

	"coffer/crypto/cryptotest"
)

func TestMain(m *testing.M) {
	cryptotest.CheapKDF()
	os.Exit(m.Run())
}

func mustMaster(t testing.TB) *Master {
	t.Helper()
	m, err := NewMaster()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func mustIdentity(t testing.TB) *Identity {
	t.Helper()
	i, err := NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// testRoot is a root key of 32 equal bytes.
func testRoot(t testing.TB, b byte) *Root {
	t.Helper()
	r := newRoot(bytes.Repeat([]byte{b}, KeySize))
	t.Cleanup(r.Destroy)
	return r
}

func testDataKey(b byte) *DataKey {
	return newDataKey((*[KeySize]byte)(bytes.Repeat([]byte{b}, KeySize)))
}

func id(b byte) ID { return ID(bytes.Repeat([]byte{b}, 16)) }
