// Package offline seals the last known good copy of an environment that a
// client keeps on its own machine, for the hour in which the server is not
// reached.
//
// It knows no files, no keyring and no server; every function is pure but for
// the nonce. Its invariant: a copy opens only with the key it was sealed with,
// and only as what it is: the server, repository, environment, user, revision
// and time on its label are bound to the values. It cannot tell an older copy
// put back in place from the newest one: only its age speaks against it.
package offline

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/crypto/chacha20poly1305"
)

// Why a copy does not open.
var (
	ErrDamaged = errors.New("the copy is damaged or was altered")
	ErrKey     = errors.New("the copy was sealed with another key")
	ErrOther   = errors.New("the copy is one of something else")
)

// Place is what a copy is of, and whose it is.
type Place struct {
	Server      string `json:"server"`
	Repository  string `json:"repoFullName"`
	Environment string `json:"environment"`
	User        string `json:"user"`
}

// Label is what may be read of a copy without its key.
type Label struct {
	Place
	Revision uint64    `json:"revision"`
	Taken    time.Time `json:"taken"`
	KeyID    string    `json:"keyId"` // which key opens it
}

// magic opens every copy; another format gets another number.
const magic = "coffer offline copy 1\n"

// Seal makes a copy of values. The label's key id is filled in.
//
// A random nonce of 24 bytes never repeats under one key in practice, so that
// no counter has to survive on the machine. The whole head is associated data:
// a label that was edited, or put before the values of another copy, is refused.
func Seal(key Key, l Label, values map[string]string) ([]byte, error) {
	l.KeyID = key.ID()
	label, err := json.Marshal(l)
	if err != nil {
		return nil, fmt.Errorf("offline: %w", err)
	}
	plain, err := json.Marshal(values)
	if err != nil {
		// The encoder's words may quote a value.
		return nil, errors.New("offline: the values are no text")
	}
	head := append([]byte(magic), append(label, '\n')...)
	nonce := make([]byte, chacha20poly1305.NonceSizeX)
	if _, err := rand.Read(nonce); err != nil {
		return nil, fmt.Errorf("offline: %w", err)
	}
	aead, err := chacha20poly1305.NewX(key[:])
	if err != nil {
		return nil, fmt.Errorf("offline: %w", err)
	}
	return aead.Seal(append(bytes.Clone(head), nonce...), nonce, plain, head), nil
}

// ReadLabel reads the label of a copy. What it says is only proven by Open.
func ReadLabel(data []byte) (*Label, error) {
	l, _, err := cut(data)
	return l, err
}

// cut splits a copy into its label and the length of its head.
func cut(data []byte) (l *Label, head int, err error) {
	rest, ok := bytes.CutPrefix(data, []byte(magic))
	if !ok {
		return nil, 0, ErrDamaged
	}
	line, _, ok := bytes.Cut(rest, []byte("\n"))
	l = new(Label)
	if !ok || json.Unmarshal(line, l) != nil {
		return nil, 0, ErrDamaged
	}
	return l, len(magic) + len(line) + 1, nil
}

// Open reads the copy of a place.
func Open(key Key, want Place, data []byte) (*Label, map[string]string, error) {
	l, head, err := cut(data)
	switch {
	case err != nil:
		return nil, nil, err
	case l.KeyID != key.ID():
		return nil, nil, ErrKey
	case len(data) < head+chacha20poly1305.NonceSizeX:
		return nil, nil, ErrDamaged
	}
	aead, err := chacha20poly1305.NewX(key[:])
	if err != nil {
		return nil, nil, fmt.Errorf("offline: %w", err)
	}
	nonce, sealed := data[head:head+chacha20poly1305.NonceSizeX], data[head+chacha20poly1305.NonceSizeX:]
	plain, err := aead.Open(nil, nonce, sealed, data[:head])
	if err != nil {
		return nil, nil, ErrDamaged
	}
	if l.Place != want {
		return nil, nil, ErrOther
	}
	values := map[string]string{}
	if json.Unmarshal(plain, &values) != nil {
		return nil, nil, ErrDamaged
	}
	return l, values, nil
}

// Key seals and opens copies. It prints as its id.
type Key [chacha20poly1305.KeySize]byte

// NewKey makes a random key.
func NewKey() (Key, error) {
	var k Key
	_, err := rand.Read(k[:])
	return k, err
}

// ParseKey reads what Text wrote.
func ParseKey(text string) (Key, error) {
	var k Key
	raw, err := hex.DecodeString(strings.TrimSpace(text))
	if err != nil || len(raw) != len(k) {
		return k, errors.New("offline: this is no key") // never with a piece of it
	}
	return Key(raw), nil
}

// Text is the key itself, to be kept.
func (k Key) Text() string { return hex.EncodeToString(k[:]) }

// ID names the key without telling it: the hash of 256 random bits.
func (k Key) ID() string {
	sum := sha256.Sum256(append([]byte("coffer offline key id\x00"), k[:]...))
	return hex.EncodeToString(sum[:8])
}

// String is the id.
func (k Key) String() string { return k.ID() }

// GoString is the id.
func (k Key) GoString() string { return k.ID() }

// Format prints the id, whatever the verb.
func (k Key) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(k.ID())) }
