package crypto

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"testing"
)

func testNotary(fill byte) *Notary { return newNotary(bytes.Repeat([]byte{fill}, KeySize)) }

func testStatement() Statement {
	return Statement{
		About: Checkpoint, Instance: id(0x11), Number: 1000, Link: Link{0: 1, 31: 2}, At: 1_795_166_100_123,
		Base: 7, Vault: id(0x22), VaultNumber: 3,
	}
}

func mustSign(t testing.TB, n *Notary, s Statement) []byte {
	t.Helper()
	signature, err := n.Sign(s)
	if err != nil {
		t.Fatal(err)
	}
	return signature
}

func TestASignatureIsForOneStatementOfOneNotary(t *testing.T) {
	n := testNotary(1)
	s := testStatement()
	signature := mustSign(t, n, s)
	if !n.Signed(s, signature) {
		t.Fatal("its own signature does not hold")
	}
	for name, change := range map[string]func(*Statement){
		"about":        func(s *Statement) { s.About = Base },
		"instance":     func(s *Statement) { s.Instance[15]++ },
		"number":       func(s *Statement) { s.Number++ },
		"link":         func(s *Statement) { s.Link[31]++ },
		"time":         func(s *Statement) { s.At++ },
		"base":         func(s *Statement) { s.Base++ },
		"vault":        func(s *Statement) { s.Vault[0]++ },
		"vault number": func(s *Statement) { s.VaultNumber++ },
	} {
		other := testStatement()
		if change(&other); n.Signed(other, signature) {
			t.Errorf("it holds for another %s", name)
		}
	}
	if testNotary(2).Signed(s, signature) {
		t.Error("it holds for another notary")
	}
	for _, wrong := range [][]byte{nil, signature[:63], append(bytes.Clone(signature), 0)} {
		if n.Signed(s, wrong) {
			t.Errorf("a signature of %d bytes holds", len(wrong))
		}
	}
}

// TestOldStatementsStillVerify holds text and signature against what was once
// written: files that were exported carry them.
func TestOldStatementsStillVerify(t *testing.T) {
	var v struct{ PublicKey, Text, Signature string }
	if err := json.Unmarshal(readVector(t, "statement.json"), &v); err != nil {
		t.Fatal(err)
	}
	public, err := base64.StdEncoding.DecodeString(v.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := hex.DecodeString(v.Text)
	signature, _ := hex.DecodeString(v.Signature)
	if !ed25519.Verify(public, text, signature) {
		t.Error("the signature does not hold by plain Ed25519")
	}
	if !bytes.Equal(text, testStatement().text()) {
		t.Errorf("the text of a statement changed: %x", testStatement().text())
	}
	n := testNotary(0x77)
	if n.PublicKey() != v.PublicKey || !n.Signed(testStatement(), signature) {
		t.Error("the notary does not know its own signature")
	}
}

func TestWriteStatementVector(t *testing.T) {
	if !*update {
		t.Skip("only with -update")
	}
	if _, err := os.Stat("testdata/statement.json"); err == nil {
		return
	}
	n := testNotary(0x77)
	data, err := json.MarshalIndent(map[string]string{
		"PublicKey": n.PublicKey(), "Text": hex.EncodeToString(testStatement().text()),
		"Signature": hex.EncodeToString(mustSign(t, n, testStatement())),
	}, "", "\t")
	if err == nil {
		err = os.WriteFile("testdata/statement.json", append(data, '\n'), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestANotaryOpensInItsPlaceOnly(t *testing.T) {
	k := testDataKey(1)
	place := RecordContext(id(1), "audit/notary")
	n, sealed := k.NewNotary(place)
	again, err := k.OpenNotary(sealed, place)
	if err != nil {
		t.Fatal(err)
	}
	if again.PublicKey() != n.PublicKey() || !n.Signed(testStatement(), mustSign(t, again, testStatement())) {
		t.Error("it opened to another key")
	}
	if _, err := k.OpenNotary(sealed, RecordContext(id(1), "audit/chain")); !errors.Is(err, ErrOpen) {
		t.Errorf("in another place: %v", err)
	}
	n.Destroy()
	n.Destroy()
	if _, err := n.Sign(testStatement()); !errors.Is(err, ErrDestroyed) {
		t.Errorf("Sign after Destroy: %v", err)
	}
}

func BenchmarkSign(b *testing.B) {
	n := testNotary(1)
	for b.Loop() {
		if _, err := n.Sign(testStatement()); err != nil {
			b.Fatal(err)
		}
	}
}
