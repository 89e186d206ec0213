package cryptotest_test

import (
	"testing"

	"coffer/crypto"
	"coffer/crypto/cryptotest"
)

func TestCheapKDFWorksThroughThePublicAPI(t *testing.T) {
	cryptotest.CheapKDF()
	m, err := crypto.NewMaster()
	if err != nil {
		t.Fatal(err)
	}
	file, err := crypto.WrapPassphrase(m, []byte("x"), crypto.DefaultWorkFactor)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := crypto.UnwrapPassphrase(file, []byte("x")); err != nil {
		t.Error(err)
	}
	if _, err := crypto.WrapPassphrase(m, []byte("x"), crypto.MinWorkFactor-1); err == nil {
		t.Error("a low work factor was taken")
	}
}
