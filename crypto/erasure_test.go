package crypto

import (
	"bytes"
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"testing"
)

func testErasure() Erasure {
	return Erasure{
		Instance: id(0x11), Vault: id(0x22), Number: 1000, Link: Link{0: 1, 31: 2}, ErasedAt: 1_795_166_100_123,
		Compacted: 1_795_166_101_000, Before: 4096, After: 2048, Repository: "ann/api", By: "ann",
	}
}

func TestAReceiptIsForOneErasureOfOneNotary(t *testing.T) {
	n := testNotary(1)
	signature, err := n.SignErasure(testErasure())
	if err != nil {
		t.Fatal(err)
	}
	holds := func(key string, e Erasure, signature []byte) bool {
		ok, err := ErasureSigned(key, e, signature)
		if err != nil {
			t.Fatal(err)
		}
		return ok
	}
	if !holds(n.PublicKey(), testErasure(), signature) {
		t.Fatal("its own signature does not hold")
	}
	for name, change := range map[string]func(*Erasure){
		"instance":   func(e *Erasure) { e.Instance[15]++ },
		"vault":      func(e *Erasure) { e.Vault[0]++ },
		"number":     func(e *Erasure) { e.Number++ },
		"link":       func(e *Erasure) { e.Link[31]++ },
		"time":       func(e *Erasure) { e.ErasedAt++ },
		"compacted":  func(e *Erasure) { e.Compacted-- },
		"before":     func(e *Erasure) { e.Before++ },
		"after":      func(e *Erasure) { e.After++ },
		"repository": func(e *Erasure) { e.Repository += "x" },
		"account":    func(e *Erasure) { e.By = "" },
		"their end":  func(e *Erasure) { e.Repository, e.By = "ann/apia", "nn" },
	} {
		other := testErasure()
		if change(&other); holds(n.PublicKey(), other, signature) {
			t.Errorf("it holds for another %s", name)
		}
	}
	if holds(testNotary(2).PublicKey(), testErasure(), signature) {
		t.Error("it holds for another notary")
	}
	for _, wrong := range [][]byte{nil, signature[:63], append(bytes.Clone(signature), 0)} {
		if holds(n.PublicKey(), testErasure(), wrong) {
			t.Errorf("a signature of %d bytes holds", len(wrong))
		}
	}
	for _, key := range []string{"", "AAAA", n.PublicKey() + "A", n.PublicKey()[1:]} {
		if _, err := ErasureSigned(key, testErasure(), signature); !errors.Is(err, ErrNoNotaryKey) {
			t.Errorf("key %q: %v", key, err)
		}
	}
}

// TestReceiptsAreSignedAsEver holds text and signature against what the first
// release made of them.
func TestReceiptsAreSignedAsEver(t *testing.T) {
	const want = "636f666665722f657261737572652d726563656970742f763100111111111111111111111111111111112222222222222222222222222222222200000000000003e80100000000000000000000000000000000000000000000000000000000000002000001a1f83cda9b000001a1f83cde08000000000000100000000000000008000000000000000007616e6e2f6170690000000000000003616e6e"
	text := testErasure().text()
	if got := hex.EncodeToString(text); got != want {
		t.Errorf("the text is %s", got)
	}
	n := testNotary(1)
	signature, err := n.SignErasure(testErasure())
	if err != nil || !ed25519.Verify(n.state.public, text, signature) {
		t.Errorf("the signature does not hold, %v", err)
	}
	n.Destroy()
	if _, err := n.SignErasure(testErasure()); !errors.Is(err, ErrDestroyed) {
		t.Errorf("after it was destroyed: %v", err)
	}
}
