package crypto

import (
	"bytes"
	"errors"
	"io"
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
