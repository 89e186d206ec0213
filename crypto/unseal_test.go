package crypto

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"filippo.io/age"

	"coffer/crypto/internal/cost"
)

func TestPassphraseOpensItsFile(t *testing.T) {
	m := mustMaster(t)
	file, err := WrapPassphrase(m, []byte("correct horse"), DefaultWorkFactor)
	if err != nil {
		t.Fatal(err)
	}
	got, err := UnwrapPassphrase(file, []byte("correct horse"))
	if err != nil {
		t.Fatal(err)
	}
	if got.Recipient() != m.Recipient() || got.Fingerprint() != m.Fingerprint() {
		t.Error("another master came out")
	}
	for _, wrong := range []string{"", "correct horse ", "battery"} {
		if _, err := UnwrapPassphrase(file, []byte(wrong)); !errors.Is(err, ErrWrongPassphrase) {
			t.Errorf("%q: %v", wrong, err)
		}
	}
}

func TestPassphraseIsRefusedWhenWeak(t *testing.T) {
	m := mustMaster(t)
	if _, err := WrapPassphrase(m, nil, DefaultWorkFactor); err == nil {
		t.Error("empty passphrase was taken")
	}
	for _, factor := range []int{-1, 0, 16, 21, 31} {
		if _, err := WrapPassphrase(m, []byte("x"), factor); !errors.Is(err, ErrWorkFactor) {
			t.Errorf("work factor %d: %v", factor, err)
		}
	}
}

func TestWorkFactorIsTheOneAskedForOutsideTests(t *testing.T) {
	cost.TestOnlyCheap(false)
	defer cost.TestOnlyCheap(true)
	for _, asked := range []int{MinWorkFactor, DefaultWorkFactor, MaxWorkFactor} {
		if got := effectiveWorkFactor(asked); got != asked {
			t.Errorf("asked for %d, got %d", asked, got)
		}
	}
}

func TestAbsurdWorkFactorIsRefusedWithoutDoingTheWork(t *testing.T) {
	file, err := WrapPassphrase(mustMaster(t), []byte("x"), DefaultWorkFactor)
	if err != nil {
		t.Fatal(err)
	}
	for _, factor := range []string{"21", "30", "99", "100000000000000000000000000"} {
		planted := bytes.Replace(file, fmt.Appendf(nil, " %d\n", testOnlyWorkFactor), []byte(" "+factor+"\n"), 1)
		if _, err := UnwrapPassphrase(planted, []byte("x")); !errors.Is(err, ErrWorkFactor) {
			t.Errorf("%s: %v", factor, err)
		}
	}
	for _, factor := range []string{"0", "-3", "+4", "04", "x"} {
		planted := bytes.Replace(file, fmt.Appendf(nil, " %d\n", testOnlyWorkFactor), []byte(" "+factor+"\n"), 1)
		if _, err := UnwrapPassphrase(planted, []byte("x")); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", factor, err)
		}
	}
}

func TestIdentityOpensItsFile(t *testing.T) {
	m, i, other := mustMaster(t), mustIdentity(t), mustIdentity(t)
	file, err := WrapIdentity(m, i.Recipient())
	if err != nil {
		t.Fatal(err)
	}
	got, err := UnwrapIdentity(file, i)
	if err != nil {
		t.Fatal(err)
	}
	if got.Fingerprint() != m.Fingerprint() {
		t.Error("another master came out")
	}

	_, err = UnwrapIdentity(file, other)
	wrong, ok := errors.AsType[*KeyError](err)
	if !ok || !errors.Is(err, ErrWrongKey) {
		t.Fatalf("wrong key: %v", err)
	}
	if wrong.Wanted != i.Fingerprint() || wrong.Offered != other.Fingerprint() {
		t.Errorf("%+v, want %s and %s", wrong, i.Fingerprint(), other.Fingerprint())
	}
}

func TestKindsOfMethodFilesAreNotConfused(t *testing.T) {
	m, i := mustMaster(t), mustIdentity(t)
	byPassphrase, err := WrapPassphrase(m, []byte("x"), DefaultWorkFactor)
	if err != nil {
		t.Fatal(err)
	}
	byKey, err := WrapIdentity(m, i.Recipient())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := UnwrapIdentity(byPassphrase, i); !errors.Is(err, ErrDamaged) {
		t.Errorf("passphrase file with a key: %v", err)
	}
	if _, err := UnwrapPassphrase(byKey, []byte("x")); !errors.Is(err, ErrDamaged) {
		t.Errorf("key file with a passphrase: %v", err)
	}
}

func TestFileWithForeignContentIsDamaged(t *testing.T) {
	i := mustIdentity(t)
	to, err := age.ParseHybridRecipient(i.Recipient())
	if err != nil {
		t.Fatal(err)
	}
	for _, content := range []string{"", "\n", "hello", i.Reveal(), i.Reveal() + "\r\n", strings.ToLower(i.Reveal()) + "\n"} {
		file, err := encryptKey([]byte(content), to)
		if err != nil {
			t.Fatal(err)
		}
		_, err = UnwrapIdentity(file, i)
		if !errors.Is(err, ErrDamaged) {
			t.Errorf("%.10q: %v", content, err)
		}
		if err != nil && len(content) > 20 && strings.Contains(err.Error(), content[30:50]) {
			t.Errorf("the error quotes the key: %v", err)
		}
	}
}

func TestDamagedMethodFileNeverOpens(t *testing.T) {
	m, i := mustMaster(t), mustIdentity(t)
	byPassphrase, err := WrapPassphrase(m, []byte("x"), DefaultWorkFactor)
	if err != nil {
		t.Fatal(err)
	}
	everyDamage(byPassphrase, func(what string, bad []byte) {
		if _, err := UnwrapPassphrase(bad, []byte("x")); err == nil {
			t.Errorf("passphrase file, %s: opened", what)
		}
	})
	byKey, err := WrapIdentity(m, i.Recipient())
	if err != nil {
		t.Fatal(err)
	}
	everyDamage(byKey, func(what string, bad []byte) {
		_, err := UnwrapIdentity(bad, i)
		if !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrWrongKey) {
			t.Errorf("key file, %s: %v", what, err)
		}
	})
}

// everyDamage calls try with every flipped byte of file (every fifth of a hybrid
// one, where each try costs a decapsulation), with every truncation and with
// something appended. The bit that is flipped varies, so that letters also turn
// into other letters and not only into another case.
func everyDamage(file []byte, try func(what string, bad []byte)) {
	step := 1
	if len(file) > 1000 {
		step = 5
	}
	for i := 0; i < len(file); i += step {
		bad := bytes.Clone(file)
		bad[i] ^= 1 << (i % 8)
		try(fmt.Sprintf("byte %d flipped", i), bad)
		try(fmt.Sprintf("cut to %d", i), file[:i])
	}
	try("appended", append(bytes.Clone(file), 0))
	try("doubled", append(bytes.Clone(file), file...))
	try("too long", append(bytes.Clone(file), make([]byte, maxKeyFile)...))
}

func TestRecipientIsRefusedWhenClassicOrSecret(t *testing.T) {
	m, i := mustMaster(t), mustIdentity(t)
	classic, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"", "age1", classic.Recipient().String(), i.Reveal(), i.Recipient()[:100]} {
		_, err := WrapIdentity(m, text)
		if !errors.Is(err, ErrRecipient) {
			t.Errorf("%.20q: %v", text, err)
		}
		if err != nil && len(text) > 60 && strings.Contains(err.Error(), text[20:60]) {
			t.Errorf("the error quotes what was pasted: %v", err)
		}
	}
	if _, err := WrapIdentity(m, " "+i.Recipient()+"\n"); err != nil {
		t.Error(err)
	}
}
