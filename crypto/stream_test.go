package crypto

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
)

func encryptAll(t testing.TB, plain []byte, recipients ...string) []byte {
	t.Helper()
	var buf bytes.Buffer
	w, err := Encrypt(&buf, recipients...)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(plain); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func TestStreamOpensForEachOfItsRecipientsOnly(t *testing.T) {
	m, i, other := mustMaster(t), mustIdentity(t), mustIdentity(t)
	plain := bytes.Repeat([]byte("backup "), 30000)
	file := encryptAll(t, plain, m.Recipient(), i.Recipient())
	for name, decrypt := range map[string]func(io.Reader) (io.Reader, error){"master": m.Decrypt, "recovery key": i.Decrypt} {
		r, err := decrypt(bytes.NewReader(file))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, plain) {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}
	_, err := other.Decrypt(bytes.NewReader(file))
	wrong, ok := errors.AsType[*KeyError](err)
	if !ok || wrong.Wanted != m.Fingerprint()+" or "+i.Fingerprint() || wrong.Offered != other.Fingerprint() {
		t.Errorf("another key: %v", err)
	}
}

func TestIncompleteStreamIsDamaged(t *testing.T) {
	i := mustIdentity(t)
	file := encryptAll(t, bytes.Repeat([]byte("x"), 200000), i.Recipient())
	for _, cut := range []int{0, 10, 1000, len(file) / 2, len(file) - 1} {
		r, err := i.Decrypt(bytes.NewReader(file[:cut]))
		if err == nil {
			_, err = io.ReadAll(r)
		}
		if !errors.Is(err, ErrDamaged) {
			t.Errorf("cut to %d: %v", cut, err)
		}
	}
}

func TestStreamNeedsUsableRecipients(t *testing.T) {
	for _, recipients := range [][]string{nil, {""}, {mustIdentity(t).Recipient(), "age1x"}} {
		if _, err := Encrypt(io.Discard, recipients...); !errors.Is(err, ErrRecipient) {
			t.Errorf("%d recipients: %v", len(recipients), err)
		}
	}
}

func TestAStreamToAPassphrase(t *testing.T) {
	plain := bytes.Repeat([]byte("backup "), 30000)
	var file bytes.Buffer
	w, err := EncryptPassphrase(&file, []byte("words"), DefaultWorkFactor)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(plain); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := DecryptPassphrase(bytes.NewReader(file.Bytes()), []byte("words"))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, plain) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	for _, wrong := range []string{"", "word", "words "} {
		if _, err := DecryptPassphrase(bytes.NewReader(file.Bytes()), []byte(wrong)); !errors.Is(err, ErrWrongPassphrase) {
			t.Errorf("%q: %v", wrong, err)
		}
	}
	r, err = DecryptPassphrase(bytes.NewReader(file.Bytes()[:file.Len()-1]), []byte("words"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(r); !errors.Is(err, ErrDamaged) {
		t.Errorf("cut: %v", err)
	}
	key := encryptAll(t, plain, mustIdentity(t).Recipient())
	if _, err := DecryptPassphrase(bytes.NewReader(key), []byte("words")); !errors.Is(err, ErrDamaged) {
		t.Errorf("a file to a key: %v", err)
	}
	if _, err := EncryptPassphrase(&file, nil, DefaultWorkFactor); err == nil {
		t.Error("an empty passphrase is taken")
	}
	if _, err := EncryptPassphrase(&file, []byte("words"), MinWorkFactor-1); !errors.Is(err, ErrWorkFactor) {
		t.Errorf("a low work factor: %v", err)
	}
	if e, err := LookAt(&file); err != nil || !e.Passphrase || len(e.Keys) > 0 {
		t.Errorf("%+v, %v", e, err)
	}
}

func TestWhatAnAgeFileSaysToEverybody(t *testing.T) {
	var to, want []string
	for range 12 { // more than a file of one key has room for
		i := mustIdentity(t)
		to, want = append(to, i.Recipient()), append(want, i.Fingerprint())
	}
	e, err := LookAt(bytes.NewReader(encryptAll(t, []byte("x"), to...)))
	if err != nil || e.Passphrase || !slices.Equal(e.Keys, want) {
		t.Errorf("%+v, %v", e, err)
	}
	for _, other := range []string{"", "hello", "age-encryption.org/v1\n"} {
		if _, err := LookAt(strings.NewReader(other)); !errors.Is(err, ErrDamaged) {
			t.Errorf("%q: %v", other, err)
		}
	}
}

func TestASealedIdentityOpensInItsPlace(t *testing.T) {
	k := testDataKey(1)
	i, sealed, err := k.NewIdentity([]byte("here"))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := k.OpenIdentity(sealed, []byte("here")); err != nil || got.Reveal() != i.Reveal() {
		t.Errorf("%v", err)
	}
	if _, err := k.OpenIdentity(sealed, []byte("there")); !errors.Is(err, ErrOpen) {
		t.Errorf("elsewhere: %v", err)
	}
	if _, err := testDataKey(2).OpenIdentity(sealed, []byte("here")); !errors.Is(err, ErrOpen) {
		t.Errorf("with another key: %v", err)
	}
	if f, err := RecipientFingerprint(i.Recipient()); err != nil || f != i.Fingerprint() {
		t.Errorf("%s, %v", f, err)
	}
	if _, err := RecipientFingerprint("age1x"); !errors.Is(err, ErrRecipient) {
		t.Errorf("no recipient: %v", err)
	}
}

func TestAMasterIsReadAsItWasWritten(t *testing.T) {
	m := mustMaster(t)
	if got, err := ParseMaster(m.File()); err != nil || got.Fingerprint() != m.Fingerprint() {
		t.Errorf("%v", err)
	}
	if _, err := ParseMaster([]byte("hello\n")); !errors.Is(err, ErrDamaged) {
		t.Errorf("%v", err)
	}
}
